"""Whatever a file holds, validation ends with findings: never a traceback, never a flood."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.findings import Severity
from repo_layout.adapters.cue import Cue
from repo_layout.validate import MOST_OF_A_FILE
from tests.checks.documents import SCALARS
from tests.checks.estates import findings_of, judged, minimal

FILES = sorted(minimal())


@settings(max_examples=60)
@given(
    path=st.sampled_from(FILES),
    at=st.integers(0, 40),
    line=st.one_of(st.text(max_size=30), st.sampled_from([str(s) for s in SCALARS]), st.just("- {}"), st.just("a: [b")),
    instead=st.booleans(),
)
def test_a_line_of_anything_anywhere_gives_findings_or_none(path: str, at: int, line: str, instead: bool) -> None:
    lines = minimal()[path].decode().split("\n")
    at %= len(lines)
    lines[at : at + instead] = [line]
    verdict = judged(minimal() | {path: "\n".join(lines).encode()})
    assert verdict.refused or verdict.estate is not None
    assert all(finding.place.file for finding in verdict.findings)


def test_thousands_of_faults_in_one_file_are_counted_not_listed(cue: Cue) -> None:
    flood = b"apiVersion: ebbtide/v1\nkind: Directory\nentries:\n" + b"  - {}\n" * 4000
    findings = findings_of(minimal() | {"directory.yaml": flood}, cue)
    assert len(findings) == MOST_OF_A_FILE + 1
    assert any("15800 more findings" in finding.message for finding in findings)


def test_thousands_of_unknown_fields_are_counted_not_listed(cue: Cue) -> None:
    flood = b"".join(b"field%d: 1\n" % n for n in range(4000))
    path = "contracts/tides/forecast.yaml"
    findings = findings_of(minimal() | {path: minimal()[path] + flood}, cue)
    assert len(findings) == MOST_OF_A_FILE + 1
    assert all(finding.severity is Severity.ERROR for finding in findings)

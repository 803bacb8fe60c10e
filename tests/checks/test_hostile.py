"""Whatever a file holds, validation ends with findings: never a traceback, never a flood."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_reader import SEEDS, fuzz_reader
from contracts.findings import Severity
from repo_layout.adapters.cue import Cue
from repo_layout.load import MOST_OF_A_FILE
from repo_layout.tree import Odd, Oddity, Tree
from repo_layout.validate import validate
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


def test_a_key_written_thousands_of_times_is_counted_not_listed(cue: Cue) -> None:
    path = "contracts/tides/forecast.yaml"
    findings = findings_of(minimal() | {path: b"k: 1\n" * 3000}, cue)
    assert len(findings) == MOST_OF_A_FILE + 1
    assert any("2799 more findings" in finding.message for finding in findings)


def test_a_file_of_another_folders_kind_gives_one_finding_that_says_where_it_belongs(cue: Cue) -> None:
    contract = minimal()["contracts/tides/forecast.yaml"]
    (finding,) = findings_of(minimal() | {"pools/north/extra.yaml": contract}, cue)
    assert (finding.code, finding.place.file, finding.place.line) == ("EBT-123", "pools/north/extra.yaml", 2)
    assert "contracts/<team>/<workload>.yaml" in finding.hint


@pytest.mark.parametrize("odd", [Odd(".", Oddity.NOT_CLONED), Odd("zz/x.yaml", Oddity.TOO_MANY)])
def test_a_root_that_was_not_read_is_never_said_to_lack_a_file(cue: Cue, odd: Odd) -> None:
    codes = {finding.code for finding in validate(Tree("0" * 40, {}, (odd,)), cue=cue).findings}
    assert codes
    assert "EBT-125" not in codes


@settings(max_examples=150, deadline=None)
@given(
    seed=st.sampled_from(sorted(SEEDS)),
    cut=st.tuples(st.integers(0, 2000), st.integers(0, 40)),
    put=st.one_of(st.binary(max_size=40), st.text(st.sampled_from("{}[]:#-|>'\" \n&*!%@`~0x"), max_size=30)),
)
def test_a_sample_with_anything_in_it_keeps_every_promise_of_the_reader(
    seed: str, cut: tuple[int, int], put: bytes | str
) -> None:
    content, at = SEEDS[seed], cut[0] % (len(SEEDS[seed]) + 1)
    inserted = put if isinstance(put, bytes) else put.encode()
    fuzz_reader(content[:at] + inserted + content[at + cut[1] :])


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=400), st.text(max_size=200).map(str.encode)))
def test_any_bytes_keep_every_promise_of_the_reader(content: bytes) -> None:
    fuzz_reader(content)

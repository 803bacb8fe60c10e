"""Every sample is judged as its name says, and every code has a sample and a section in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contracts.findings import Severity
from repo_layout.adapters.cue import Cue
from repo_layout.codes import RULES
from repo_layout.layout import Kind
from repo_layout.load import judge
from repo_layout.source import Source
from repo_layout.strict_yaml import parse
from tests.checks.estates import BOUNDARY, INVALID, ROOT, files_of, findings_of, judged, laid_over, minimal, source_of

REFUSALS = ROOT / "docs" / "refusals.md"
CONTRACTS = ROOT / "contracts" / "samples"

# No file can hold these; the tests of their readers and adapters bring them about.
NOT_IN_FILES = {
    **dict.fromkeys(
        ("EBT-136", "EBT-137", "EBT-138", "EBT-139", "EBT-140", "EBT-141"), "an entry of the tree, not a file"
    ),
    **dict.fromkeys(("EBT-301", "EBT-302", "EBT-303"), "a repository or a disk that does not give the content"),
    **dict.fromkeys(("EBT-310", "EBT-311", "EBT-312"), "a schema checker that is missing or does not answer"),
    "EBT-313": "more wrong files than a sample should hold",
}
SAMPLES = sorted(INVALID.iterdir())


def test_the_minimal_estate_has_no_finding(cue: Cue) -> None:
    verdict = judged(minimal(), cue)
    assert verdict.findings == ()
    assert verdict.estate is not None


def test_the_reference_estate_has_notes_only(cue: Cue) -> None:
    verdict = judged(files_of(ROOT / "repo_layout" / "estate"), cue)
    assert [finding for finding in verdict.findings if finding.severity is not Severity.NOTE] == []
    assert verdict.estate is not None


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_sample_is_refused_with_exactly_the_code_in_its_name(sample: Path, cue: Cue) -> None:
    files, day = laid_over(sample)
    findings = findings_of(files, cue, day=day)
    assert {finding.code for finding in findings} == {sample.name[:7]}, findings


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_sample_does_not_need_the_schema_layer_to_be_refused(sample: Path) -> None:
    files, day = laid_over(sample)
    assert sample.name[:7] in {finding.code for finding in findings_of(files, day=day)}


@pytest.mark.parametrize("sample", sorted(BOUNDARY.iterdir()), ids=lambda path: path.name)
def test_a_sample_at_the_boundary_is_just_within_the_rule_in_its_name(sample: Path, cue: Cue) -> None:
    files, day = laid_over(sample)
    findings = findings_of(files, cue, day=day)
    assert sample.name[:7] not in {finding.code for finding in findings}
    assert all(finding.severity is Severity.NOTE for finding in findings), findings
    assert any(beyond.name[:7] == sample.name[:7] for beyond in SAMPLES)


def test_every_code_has_a_sample_or_a_reason() -> None:
    sampled = {sample.name[:7] for sample in SAMPLES}
    assert sampled | NOT_IN_FILES.keys() == RULES.keys()
    assert not sampled & NOT_IN_FILES.keys()


def test_every_code_has_a_section_under_its_title() -> None:
    sections = dict(re.findall(r"^### (EBT-\d{3}): (.+)$", REFUSALS.read_text(encoding="utf-8"), re.MULTILINE))
    assert sections == RULES


def _contract(path: Path) -> Source:
    parsed = parse(path.name, path.read_bytes())
    assert isinstance(parsed.data, dict), parsed.findings
    return source_of(Kind.CONTRACT, parsed.data)


@pytest.mark.parametrize("path", sorted((CONTRACTS / "valid").iterdir()), ids=lambda path: path.name)
def test_a_valid_contract_stays_under_25_lines_and_both_layers_take_it(path: Path, cue: Cue) -> None:
    source = _contract(path)
    assert judge(source).faults == ()
    assert not cue.judge([source]).faults
    assert len(path.read_text(encoding="utf-8").splitlines()) < 25


def test_there_is_a_valid_contract_for_every_tier() -> None:
    tiers = {str(_contract(path).data["tier"]) for path in (CONTRACTS / "valid").iterdir()}
    assert tiers == {"anchored", "resumable", "staged", "requeued", "scavenger"}


@pytest.mark.parametrize("path", sorted((CONTRACTS / "invalid").iterdir()), ids=lambda path: path.name)
def test_an_invalid_contract_has_the_findings_that_its_comments_announce(path: Path, cue: Cue) -> None:
    """A comment `# EBT-120: words` ends each line that is wrong; the finding stands there and holds the words."""
    lines = path.read_text(encoding="utf-8").splitlines()
    wanted = [
        (at, code, words)
        for at, line in enumerate(lines, start=1)
        for code, words in re.findall(r"# (EBT-\d{3}): ([^#]+?)(?= #|$)", line)
    ]
    findings = findings_of(minimal() | {"contracts/tides/forecast.yaml": path.read_bytes()}, cue)
    found = [(f.place.line, f.code) for f in findings if f.place.file == "contracts/tides/forecast.yaml"]
    assert sorted(found) == sorted((at, code) for at, code, _ in wanted), findings
    for at, code, words in wanted:
        texts = [
            f"{f.message} {f.seen} {f.expected} {f.hint}" for f in findings if (f.place.line, f.code) == (at, code)
        ]
        assert any(words in text for text in texts), (words, texts)

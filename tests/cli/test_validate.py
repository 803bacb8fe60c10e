"""`ebbtide validate`: findings as people and machines read them, what is read, and the exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from repo_layout.adapters.git_lay import Authorship, files_below, lay
from tests.cli.conftest import ROOT, Run, typed

SAMPLES = ROOT / "repo_layout" / "samples"
ESTATE = ROOT / "repo_layout" / "estate"
AUTHORSHIP = Authorship("Ann", "ann@example.org", 1_790_000_000, "Lay it down\n")


def timeless(text: str) -> str:
    """A screen without what differs from run to run."""
    return re.sub(r"\d+\.\d\d s", "0.00 s", text).replace(f"{ROOT}{os.sep}", "")


@pytest.mark.parametrize("name", ["EBT-116-ambiguous-scalar", "EBT-212-other-currency", "EBT-118-unknown-field"])
def test_findings_read_as_reviewed(here: Run, golden: Callable[[str, str], None], name: str) -> None:
    ended = here("validate", str(SAMPLES / "invalid" / name))
    assert ended.code == 1
    golden(f"validate_{name}", timeless(ended.out))


def test_a_minimal_estate_holds(here: Run, golden: Callable[[str, str], None]) -> None:
    ended = here("validate", str(SAMPLES / "valid" / "minimal"))
    assert ended.code == 0
    golden("validate_minimal", timeless(ended.out))


def test_the_document_says_the_same_as_the_text(here: Run) -> None:
    where = str(SAMPLES / "invalid" / "EBT-116-ambiguous-scalar")
    text, document = here("validate", where).out, json.loads(here("validate", where, "--output", "json").out)
    assert document["errors"] == len(document["findings"]) == 3
    for finding in document["findings"]:
        assert finding["code"] in text
        assert finding["message"] in text


def test_a_commit_is_read_and_a_work_tree_only_when_asked(here: Run, tmp_path: Path) -> None:
    commit = lay(tmp_path / "estate.git", files_below(SAMPLES / "valid" / "minimal"), AUTHORSHIP)
    assert json.loads(here("validate", str(tmp_path / "estate.git"), "--output", "json").out)["commit"] == commit
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(tmp_path / "estate.git"), str(clone)], check=True)
    (clone / "ebbtide.yaml").write_text("estate: [", encoding="utf-8")
    assert here("validate", str(clone)).code == 0
    assert here("validate", str(clone), "--worktree").code == 1


def test_laying_the_same_files_down_gives_the_same_commit_anywhere(tmp_path: Path) -> None:
    files = files_below(ESTATE)
    first, again = lay(tmp_path / "a.git", files, AUTHORSHIP), lay(tmp_path / "a.git", files, AUTHORSHIP)
    assert first == again == lay(tmp_path / "b.git", dict(reversed(files.items())), AUTHORSHIP)


def test_another_estate_is_never_laid_over_one_that_is_there(here: Run, tmp_path: Path) -> None:
    lay(tmp_path / "a.git", {"ebbtide.yaml": b"a\n"}, AUTHORSHIP)
    with pytest.raises(Exception, match="already holds another estate"):
        lay(tmp_path / "a.git", {"ebbtide.yaml": b"b\n"}, AUTHORSHIP)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "there is no nowhere"),
        (("",), "the path is empty"),
        ((str(ESTATE), "--commit", ""), "--commit is empty"),
        ((str(ROOT / "README.md"),), "is no folder"),
        ((str(ROOT / "docs" / "adr"), "--worktree"), "there is no estate in"),
        (("x" * 5000,), "x..."),
        ((str(ESTATE), "--commit", "HEAD"), "is no Git repository"),
        (("https://example.invalid/x.git", "--worktree"), "no files on disk"),
        (("ftp://example.invalid/x.git",), "none of"),
    ],
)
def test_what_cannot_be_read_ends_with_2_and_the_next_step(here: Run, words: tuple[str, ...], said: str) -> None:
    ended = here("validate", *words)
    assert ended.code == 2
    assert said in ended.err
    assert "  next: " in ended.err
    assert not ended.out


def test_without_the_schema_checker_nothing_is_called_clean() -> None:
    ended = typed("validate", str(SAMPLES / "valid" / "minimal"), EBBTIDE_CUE="/nonexistent/cue")
    assert ended.code == 2
    assert "EBT-310" in ended.out


def test_a_reader_that_leaves_early_is_no_error() -> None:
    where = str(SAMPLES / "invalid" / "EBT-116-ambiguous-scalar")
    done = subprocess.run(
        ["bash", "-c", f'set -o pipefail; "$PYTHON" -m ebbtide validate {where} --output json | head -c 1'],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHON": sys.executable},
        cwd=ROOT,
    )
    assert done.stdout == "{"
    assert not done.stderr


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which $V judges a sample that does not hold."""
    sample = SAMPLES / "invalid" / "EBT-116-ambiguous-scalar"
    variables = {**os.environ, "V": f"{sys.executable} -m ebbtide validate {sample}"}
    return subprocess.run(["bash", "-c", line], check=False, capture_output=True, text=True, env=variables, cwd=ROOT)


@pytest.mark.parametrize("line", ["$V > /dev/full", "$V --output json > /dev/full"])
def test_a_result_that_cannot_be_written_is_no_verdict(line: str) -> None:
    done = shell(line)
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "code"), [("$V >&-", 1), ("$V 2>&-", 1), ("$V/none 2>&-", 2), ("$V/none 2>/dev/full", 2), ("$V <&-", 1)]
)
def test_a_closed_stream_changes_no_exit_code(line: str, code: int) -> None:
    done = shell(line)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)


def test_a_path_cannot_steer_the_terminal_or_break_a_line(tmp_path: Path) -> None:
    folder = tmp_path / "contracts" / "tides"
    folder.mkdir(parents=True)
    (folder / "a\x1b[31m\nforged.yaml:1:1 EBT-000.yaml").write_text("a: 1\n", encoding="utf-8")
    (folder / "plain.yaml").write_text("a: 1\n", encoding="utf-8")
    (folder / "\u0430.yaml").write_text("a: 1\n", encoding="utf-8")
    ended = typed("validate", str(tmp_path), PYTHONIOENCODING="ascii")
    assert ended.code == 1
    assert "\x1b" not in ended.out
    assert "\nforged" not in ended.out
    assert json.loads(typed("validate", str(tmp_path), "--output", "json", PYTHONIOENCODING="ascii").out)["findings"]


def test_colour_is_for_terminals_only() -> None:
    where = str(SAMPLES / "invalid" / "EBT-116-ambiguous-scalar")
    assert "\x1b[" not in typed("validate", where).out

"""`ebbtide init`: what it lays down holds, is the person's own, teaches, and never takes the place of anything."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from contracts.findings import Severity
from ebbtide.init_files import CI, Names, files_of
from repo_layout.adapters.cue import Cue
from repo_layout.canonical_text import formatted
from repo_layout.layout import Located, locate
from repo_layout.tree import Tree
from repo_layout.validate import validate
from tests.cli.conftest import ROOT, Ended, Run, typed

WHO = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "Ann Example"), ("EMAIL", "ann@example.org"))
}
NAMES = Names("shore", "west-coast", "tides")


@pytest.fixture(name="me")
def _me(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person whom Git knows."""
    for name, value in WHO.items():
        monkeypatch.setenv(name, value)


def git(*words: str, at: Path) -> str:
    return subprocess.run(["git", *words], cwd=at, check=True, capture_output=True, text=True).stdout.strip()


def laid(here: Run, folder: Path, *words: str) -> Ended:
    ended = here("init", str(folder), *words)
    assert (ended.code, ended.err) == (0, ""), ended
    return ended


@pytest.mark.usefixtures("me")
@pytest.mark.parametrize("host", CI)
def test_what_is_laid_holds_without_one_finding_and_is_committed_whole(here: Run, tmp_path: Path, host: str) -> None:
    folder = tmp_path / "My Estate"
    laid(here, folder, "--host", host)
    judged = here("validate", str(folder), "--output", "json")
    assert (judged.code, json.loads(judged.out)["findings"]) == (0, [])
    assert git("status", "--porcelain", at=folder) == ""
    assert git("log", "--format=%an <%ae>|%cn|%s|%D", at=folder) == (
        "Ann Example <ann@example.org>|Ann Example|Lay down the estate my-estate|HEAD -> main"
    )


@pytest.mark.parametrize("host", CI)
def test_the_bounds_can_be_kept_by_any_names(host: str) -> None:
    files = files_of(NAMES, host)
    verdict = validate(Tree("worktree", files), cue=Cue.found(os.environ))
    assert verdict.findings == ()
    assert verdict.estate is not None
    assert len({pool.aggregate for pool in verdict.estate.pools if "committed" not in pool.name}) >= 8
    assert len({group.name for group in verdict.estate.groups}) >= 4
    assert {contract.runs_on.kubernetes is None for contract in verdict.estate.contracts} == {True, False}
    assert [path for path, text in files.items() if b"first-team" in text or b"north" in text] == []


@pytest.mark.usefixtures("me")
def test_a_wrong_edit_is_refused_where_it_stands(here: Run, tmp_path: Path) -> None:
    folder = tmp_path / "shore"
    laid(here, folder)
    contract = folder / "contracts" / "first-team" / "example-service.yaml"
    contract.write_text(contract.read_text("utf-8").replace("floor: 2 ", "floor: 30 "), encoding="utf-8")
    ended = here("validate", str(folder), "--worktree", "--output", "json")
    assert ended.code == 1
    assert {"EBT-150"} <= {finding["code"] for finding in json.loads(ended.out)["findings"]}


def test_every_line_with_an_example_says_why_it_matters() -> None:
    """A reader who replaces the lines with `change:`, and those below such a comment, has replaced every invention."""
    told = 0
    for path, content in files_of(NAMES, "none").items():
        for line in content.decode().splitlines():
            if "change:" not in line or path == "README.md":
                continue
            told += 1
            assert len(line.split("change:")[1].split()) >= 3, (path, line)
    assert told >= 80
    contract = files_of(NAMES, "none")["contracts/tides/example-service.yaml"].decode()
    invented = [line for line in contract.splitlines() if re.match(r"(name|unit|maximum|floor|minimum):", line)]
    assert len(invented) == 5
    assert [line for line in invented if "# change:" not in line] == []


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_the_templates_of_ci_are_laid_as_they_are(host: str) -> None:
    files = files_of(NAMES, host)
    sources = {
        ".github/workflows/ebbtide.yml": "github/ebbtide.yml",
        ".github/ebbtide-comment.py": "comment.py",
        ".gitlab-ci.yml": "gitlab/ebbtide.gitlab-ci.yml",
        ".gitlab/ebbtide-comment.py": "comment.py",
    }
    for path in CI[host]:
        assert files[path] == (ROOT / "deploy" / "ci" / sources[path]).read_bytes()


@pytest.mark.parametrize("host", CI)
def test_every_file_has_a_place_in_an_estate_or_is_none_of_its_business(host: str) -> None:
    strange = [path for path in files_of(NAMES, host) if not isinstance(locate(path), Located | None)]
    assert strange == []


@pytest.mark.usefixtures("me")
def test_a_folder_that_holds_anything_is_left_as_it_is(here: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    ended = here("init", str(tmp_path))
    assert (ended.code, ended.out) == (2, "")
    assert "holds notes.txt" in ended.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.usefixtures("me")
def test_a_repository_without_a_commit_is_filled_on_its_own_branch(here: Run, tmp_path: Path) -> None:
    git("init", "-q", "-b", "trunk", at=tmp_path)
    laid(here, tmp_path, "--estate", "shore")
    assert git("log", "--format=%s on %D", at=tmp_path) == "Lay down the estate shore on HEAD -> trunk"
    for file in tmp_path.iterdir():
        if file.name != ".git":
            subprocess.run(["rm", "-r", str(file)], check=True)
    again = here("init", str(tmp_path))
    assert again.code == 2
    assert "with commits already" in again.err


@pytest.mark.usefixtures("me")
def test_a_repository_is_never_made_inside_another(here: Run, tmp_path: Path) -> None:
    git("init", "-q", at=tmp_path)
    inner = tmp_path / "estate"
    ended = here("init", str(inner))
    assert ended.code == 2
    assert "--no-git" in ended.err
    assert not inner.exists()
    laid(here, inner, "--no-git")
    assert not (inner / ".git").exists()
    assert here("validate", str(inner)).code == 0


def test_without_an_identity_nothing_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "estate"
    ended = typed("init", str(folder), HOME=str(tmp_path), **dict.fromkeys(WHO, ""))
    assert ended.code == 2
    assert "git config --global user.name" in ended.err
    assert not folder.exists()
    assert typed("init", str(folder), "--no-git", HOME=str(tmp_path)).code == 0


@pytest.mark.usefixtures("me")
def test_a_dry_run_lists_the_files_and_writes_none(here: Run, tmp_path: Path) -> None:
    folder = tmp_path / "estate"
    ended = laid(here, folder, "--dry-run", "--host", "gitlab", "--region", "west")
    assert not folder.exists()
    listed = ended.out.splitlines()[1:]
    assert [line.strip() for line in listed] == list(files_of(Names("estate", "west", "first-team"), "gitlab"))
    document = json.loads(laid(here, folder, "--dry-run", "--output", "json").out)
    assert document["dry_run"] is True
    assert document["commit"] == ""
    assert document["files"] == list(files_of(Names("estate", "north", "first-team"), "github"))


@pytest.mark.usefixtures("me")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--estate", "North Sea"), "--estate 'North Sea' makes no name"),
        (("--region", "x" * 50), "makes no name"),
        (("--team", "-a"), "--team '-a' makes no name"),
        (("--team", "no_underscores"), "makes no name"),
    ],
)
def test_a_name_that_nothing_can_carry_is_refused(here: Run, tmp_path: Path, words: tuple[str, str], said: str) -> None:
    ended = here("init", str(tmp_path / "estate"), f"{words[0]}={words[1]}")
    assert ended.code == 2
    assert said in ended.err
    assert not (tmp_path / "estate").exists()


@pytest.mark.usefixtures("me")
def test_git_says_in_its_own_words_why_it_does_not_commit(here: Run, tmp_path: Path) -> None:
    git("init", "-q", at=tmp_path)
    hook = tmp_path / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not on a Sunday >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    ended = here("init", str(tmp_path))
    assert ended.code == 2
    assert "git commit" in ended.err
    assert "not on a Sunday" in ended.err


@pytest.mark.parametrize(
    "names", [NAMES, Names("an-estate-of-a-long-name", "r", "a-team-of-a-very-long-name")], ids=str
)
def test_what_is_laid_needs_no_formatting(names: Names) -> None:
    for path, content in files_of(names, "github").items():
        if isinstance(locate(path), Located):
            assert formatted(path, content).text == content.decode(), path


def test_the_estate_that_is_laid_needs_no_warning_either() -> None:
    verdict = validate(Tree("worktree", files_of(NAMES, "github")), cue=Cue.found(os.environ))
    assert [finding for finding in verdict.findings if finding.severity is not Severity.NOTE] == []


@pytest.mark.usefixtures("me")
def test_the_first_plan_of_a_new_estate_can_be_looked_at(here: Run, tmp_path: Path) -> None:
    folder = tmp_path / "estate"
    laid(here, folder)
    ended = here("plan", "--estate", str(folder), "--region", "north", "--empty", "--model")
    assert ended.code in (0, 1)
    assert "example-service" in ended.out


@pytest.mark.usefixtures("me")
def test_what_is_asked_inside_an_estate_is_asked_of_it(
    here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid(here, tmp_path / "shore", "--region", "west")
    monkeypatch.chdir(tmp_path / "shore")
    told = here("explain", "contract", "example-service")
    assert (told.code, told.err) == (0, "")
    assert "contracts/first-team/example-service.yaml" in told.out
    planned = here("plan", "--region", "west", "--empty", "--model", "--output", "json")
    assert {step["workload"] for step in json.loads(planned.out)["steps"]} >= {"example-service"}, planned.err
    ran = here("run", "--once", "--region", "west", "--model", "--state", str(tmp_path / "run"), "--at", "00:01")
    assert (ran.code in (0, 1), ran.err) == (True, "")
    monkeypatch.chdir(tmp_path)
    assert "there is no contract 'example-service'" in here("explain", "contract", "example-service").err

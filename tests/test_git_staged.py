"""What is staged is read as the next commit would have it, whatever else lies in the work tree."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from contracts.errors import Refused
from repo_layout.adapters.git import read_staged
from repo_layout.reviewed_text import MAX_BYTES
from repo_layout.tree import MAX_FOLDERS, WORKTREE, Odd, Oddity
from tests.git_scratch import git


@pytest.fixture(name="work")
def _work(tmp_path: Path) -> Path:
    """A clone with two staged files, one of them changed since."""
    git("init", "-q", "-b", "main", at=tmp_path)
    (tmp_path / "contracts" / "tides").mkdir(parents=True)
    (tmp_path / "ebbtide.yaml").write_text("a: 1\n", encoding="utf-8")
    (tmp_path / "contracts" / "tides" / "x.yaml").write_text("b: 1\n", encoding="utf-8")
    git("add", "--all", at=tmp_path)
    (tmp_path / "ebbtide.yaml").write_text("a: 2\n", encoding="utf-8")
    (tmp_path / "junk.txt").write_text("junk", encoding="utf-8")
    return tmp_path


def test_neither_an_unstaged_edit_nor_an_untracked_file_is_read(work: Path) -> None:
    tree = read_staged(work)
    assert (tree.commit, dict(tree.files)) == (
        WORKTREE,
        {"contracts/tides/x.yaml": b"b: 1\n", "ebbtide.yaml": b"a: 1\n"},
    )


def test_a_folder_of_a_larger_repository_is_read_alone(work: Path) -> None:
    assert dict(read_staged(work, below="contracts/").files) == {"tides/x.yaml": b"b: 1\n"}


def test_the_index_of_a_partial_commit_is_the_one_that_git_names(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = work / ".git" / "next-index-1.lock"
    shutil.copy(work / ".git" / "index", other)
    monkeypatch.setenv("GIT_INDEX_FILE", str(other))
    git("rm", "-q", "--cached", "--force", "ebbtide.yaml", at=work)  # in the usual index, which is not asked
    assert "ebbtide.yaml" in read_staged(work).files


def test_what_is_odd_is_said_and_not_read(work: Path) -> None:
    (work / "link.yaml").symlink_to("ebbtide.yaml")
    (work / "run.yaml").write_text("c: 1\n", encoding="utf-8")
    (work / "run.yaml").chmod(0o755)
    (work / "large.yaml").write_bytes(b"#" * (MAX_BYTES + 1))
    deep = Path(*["d"] * (MAX_FOLDERS + 1), "x.yaml")
    (work / deep).parent.mkdir(parents=True)
    (work / deep).write_text("d: 1\n", encoding="utf-8")
    git("add", "--all", at=work)
    assert set(read_staged(work).odd) == {
        Odd("link.yaml", Oddity.SYMLINK),
        Odd("run.yaml", Oddity.EXECUTABLE),
        Odd("large.yaml", Oddity.TOO_LARGE, MAX_BYTES + 1),
        Odd(deep.as_posix(), Oddity.TOO_DEEP),
    }


def test_content_that_is_gone_from_the_repository_is_no_empty_file(work: Path) -> None:
    for folder in (work / ".git" / "objects").iterdir():
        if len(folder.name) == 2:
            shutil.rmtree(folder)
    assert {odd.oddity for odd in read_staged(work).odd} == {Oddity.NOT_STORED}


def test_a_merge_in_the_middle_is_refused(work: Path) -> None:
    git("commit", "-qam", "one", at=work)
    git("switch", "-qc", "other", at=work)
    for branch, value in (("other", 3), ("main", 4)):
        git("switch", "-q", branch, at=work)
        (work / "ebbtide.yaml").write_text(f"a: {value}\n", encoding="utf-8")
        git("commit", "-qam", branch, at=work)
    with pytest.raises(Exception, match="merge"):
        git("merge", "-q", "other", at=work)
    with pytest.raises(Refused, match="not resolved"):
        read_staged(work)


def test_a_repository_without_anything_staged_is_empty(tmp_path: Path) -> None:
    git("init", "-q", at=tmp_path)
    assert dict(read_staged(tmp_path).files) == {}
    assert os.environ.get("GIT_INDEX_FILE") is None

"""Reading commits and work trees: every odd entry is one finding, every bad repository one clear error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contracts.errors import Refused
from contracts.findings import Severity, exit_code
from repo_layout import strict_yaml
from repo_layout.adapters import git
from repo_layout.codes import RULES
from repo_layout.tree import Tree
from tests.git_scratch import COMMITTED_AT_S, EXECUTABLE, SUBMODULE, SYMLINK, Scratch
from tests.git_scratch import git as run_git

ESTATE = {"ebbtide.yaml": b"a: 1\n", "contracts/search/indexer.yaml": b"b: 2\n", "CODEOWNERS": b"* @x\n"}


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch.made(tmp_path / "origin.git")


def changed_paths(repository: str, base: str, head: str) -> tuple[str, ...]:
    """What a pull request of `head` changes."""
    return git.paths_between(repository, git.merge_base(repository, base, head), head)


def codes(tree: Tree) -> list[tuple[str, str]]:
    assert all(finding.code in RULES for finding in tree.findings)
    return [(finding.code, finding.place.file) for finding in tree.findings]


def test_a_commit_of_a_bare_repository_is_read_without_a_work_tree(scratch: Scratch) -> None:
    commit = scratch.commit(ESTATE)
    tree = git.read_commit(str(scratch.path), "main")
    assert tree.commit == commit
    assert tree.files == ESTATE
    assert list(tree.files) == sorted(ESTATE)
    assert tree.committed_at == COMMITTED_AT_S * 1000
    assert tree.findings == ()


def test_the_commit_is_read_and_not_what_lies_in_the_work_tree(scratch: Scratch, tmp_path: Path) -> None:
    scratch.commit(ESTATE)
    clone = tmp_path / "clone"
    run_git("clone", "-q", scratch.url, str(clone), at=tmp_path)
    (clone / "ebbtide.yaml").write_bytes(b"edited: 1\n")
    assert git.read_commit(str(clone), "HEAD").files["ebbtide.yaml"] == b"a: 1\n"
    edited = git.read_worktree(clone)
    assert edited.files == ESTATE | {"ebbtide.yaml": b"edited: 1\n"}
    assert (edited.commit, edited.committed_at, edited.findings) == ("worktree", 0, ())


def test_odd_entries_are_one_finding_each_and_the_rest_is_read(scratch: Scratch) -> None:
    commit = scratch.commit(ESTATE)
    odd: dict[str | bytes, bytes | tuple[str, bytes]] = dict(ESTATE.items())
    scratch.commit(
        odd
        | {
            "pools/north/link.yaml": (SYMLINK, b"../../ebbtide.yaml"),
            "contracts/vendored": (SUBMODULE, commit.encode()),
            "pools/north/run.yaml": (EXECUTABLE, b"c: 3\n"),
            "pools/north/big.yaml": b"x" * 10_000_000,
            b"pools/north/caf\xe9.yaml": b"d: 4\n",
            "pools/" + "d/" * 12 + "deep.yaml": b"e: 5\n",
            "docs/picture.png": b"\x89PNG" * 100_000,
            "docs/link": (SYMLINK, b"picture.png"),
        }
    )
    tree = git.read_commit(str(scratch.path), "main")
    assert codes(tree) == [
        ("EBT-137", "contracts/vendored"),
        ("EBT-141", "pools/" + "d/" * 7 + "d"),
        ("EBT-101", "pools/north/big.yaml"),
        ("EBT-139", "pools/north/caf\\xe9.yaml"),
        ("EBT-136", "pools/north/link.yaml"),
        ("EBT-138", "pools/north/run.yaml"),
    ]
    assert "10000000" in tree.findings[2].message
    assert tree.files == ESTATE | {"pools/north/run.yaml": b"c: 3\n"}
    assert exit_code(tree.findings) == 1


def test_a_partial_clone_gives_one_finding_a_file_and_judges_the_others(scratch: Scratch, tmp_path: Path) -> None:
    scratch.commit(ESTATE)
    clone = scratch.clone(tmp_path / "partial", "--filter=blob:none")
    run_git("cat-file", "-p", "HEAD:ebbtide.yaml", at=clone)
    tree = git.read_commit(str(clone), "HEAD")
    assert codes(tree) == [("EBT-301", "contracts/search/indexer.yaml")]
    finding = tree.findings[0]
    assert (finding.severity, finding.message) == (Severity.UNJUDGED, "content not in this partial clone")
    assert exit_code(tree.findings) == 2
    assert tree.files == {"ebbtide.yaml": b"a: 1\n"}
    assert "git fetch --refetch --no-filter" in finding.hint
    run_git("fetch", "-q", "--refetch", "--no-filter", "origin", at=clone)
    assert git.read_commit(str(clone), "HEAD").files == ESTATE


def test_a_partial_clone_without_folders_says_which(scratch: Scratch, tmp_path: Path) -> None:
    scratch.commit(ESTATE)
    clone = scratch.clone(tmp_path / "partial", "--filter=tree:0")
    assert codes(git.read_commit(str(clone), "HEAD")) == [("EBT-301", ".")]


def test_content_lost_from_a_whole_repository_is_told_apart(scratch: Scratch) -> None:
    scratch.commit(ESTATE)
    blob = scratch.git("rev-parse", "main:ebbtide.yaml")
    (scratch.path / "objects" / blob[:2] / blob[2:]).unlink()
    tree = git.read_commit(str(scratch.path), "main")
    assert codes(tree) == [("EBT-302", "ebbtide.yaml")]
    assert "contracts/search/indexer.yaml" in tree.files


def test_a_damaged_object_is_a_finding(scratch: Scratch) -> None:
    scratch.commit(ESTATE)
    blob = scratch.git("rev-parse", "main:ebbtide.yaml")
    stored = scratch.path / "objects" / blob[:2] / blob[2:]
    stored.chmod(0o644)
    stored.write_bytes(b"rubbish")
    assert codes(git.read_commit(str(scratch.path), "main")) == [("EBT-302", "ebbtide.yaml")]


def test_a_shallow_clone_is_read_and_says_what_it_lacks(scratch: Scratch, tmp_path: Path) -> None:
    first = scratch.commit(ESTATE)
    second = scratch.commit(ESTATE | {"directory.yaml": b"c: 1\n"}, parent=first)
    clone = str(scratch.clone(tmp_path / "shallow", "--depth=1"))
    assert git.read_commit(clone, second).files["directory.yaml"] == b"c: 1\n"
    for revision in ("HEAD~1", first):
        with pytest.raises(Refused, match="shallow clone and may lack it; git fetch --unshallow"):
            git.read_commit(clone, revision)
    with pytest.raises(Refused, match="shallow clone"):
        changed_paths(clone, first, second)


def test_a_shallow_clone_with_both_ends_does_not_guess_what_lies_between(scratch: Scratch, tmp_path: Path) -> None:
    first = scratch.commit(ESTATE)
    second = scratch.commit(ESTATE | {"directory.yaml": b"c: 1\n"}, parent=first)
    third = scratch.commit(ESTATE | {"directory.yaml": b"c: 2\n"}, parent=second)
    clone = scratch.clone(tmp_path / "shallow", "--depth=1")
    run_git("fetch", "-q", "--depth=1", "origin", first, at=clone)
    with pytest.raises(Refused, match="the parents between them are missing"):
        changed_paths(str(clone), first, third)
    run_git("fetch", "-q", "--unshallow", "origin", at=clone)
    assert changed_paths(str(clone), first, third) == ("directory.yaml",)


def test_changed_paths_are_those_of_the_branch_alone(scratch: Scratch) -> None:
    first = scratch.commit(ESTATE)
    branch = scratch.commit({"ebbtide.yaml": b"a: 1\n", "new.yaml": b"n: 1\n"}, parent=first, branch="topic")
    main = scratch.commit(ESTATE | {"ebbtide.yaml": b"a: 2\n"}, parent=first)
    expected = ("CODEOWNERS", "contracts/search/indexer.yaml", "new.yaml")
    assert changed_paths(str(scratch.path), "main", "topic") == expected
    assert changed_paths(str(scratch.path), main, branch) == expected
    assert changed_paths(str(scratch.path), main, main) == ()


def test_commits_without_a_common_line_are_not_compared(scratch: Scratch) -> None:
    one = scratch.commit(ESTATE)
    other = scratch.commit({"a": b"b"}, branch="other")
    with pytest.raises(Refused, match="no common commit"):
        changed_paths(str(scratch.path), one, other)


@pytest.mark.parametrize(
    ("revision", "said"),
    [
        ("nowhere", 'there is no revision "nowhere"'),
        ("main~9", 'there is no revision "main~9"'),
        ("0" * 40, "there is no revision"),
        ("", "there is no revision"),
        ("main..main", "there is no revision"),
        ("@{", "there is no revision"),
        ("a\0b", "there is no revision"),
        ("main^{tree}", "names a tree, not a commit"),
        ("main:ebbtide.yaml", "names a blob, not a commit"),
        ("tree-tag", "names a tree, not a commit"),
    ],
)
def test_a_revision_that_is_no_commit_is_refused(scratch: Scratch, revision: str, said: str) -> None:
    scratch.commit(ESTATE)
    scratch.git("tag", "-a", "-m", "t", "tree-tag", "main^{tree}")
    with pytest.raises(Refused, match=said.replace("{", r"\{").replace("^", r"\^")):
        git.read_commit(str(scratch.path), revision)


def test_an_annotated_tag_of_a_tag_is_followed_to_its_commit(scratch: Scratch) -> None:
    commit = scratch.commit(ESTATE)
    scratch.git("tag", "-a", "-m", "t", "v1", "main")
    scratch.git("tag", "-a", "-m", "t", "v1-again", "v1")
    assert git.read_commit(str(scratch.path), "v1-again").commit == commit


def test_a_repository_that_is_none_or_empty_is_refused(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "absent", tmp_path / "file", tmp_path, Path("a\0b")):
        with pytest.raises(Refused, match="cannot open a Git repository"):
            git.read_commit(str(path), "HEAD")
    for revision in ("HEAD", "main"):
        with pytest.raises(Refused, match="no commits yet"):
            git.read_commit(str(scratch.path), revision)


def test_a_folder_inside_a_repository_is_not_taken_for_it(scratch: Scratch, tmp_path: Path) -> None:
    scratch.commit(ESTATE)
    run_git("clone", "-q", scratch.url, str(tmp_path / "clone"), at=tmp_path)
    with pytest.raises(Refused, match="cannot open a Git repository"):
        git.read_commit(str(tmp_path / "clone" / "contracts"), "HEAD")


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder away needs root")
def test_a_repository_of_another_user_is_refused_with_the_way_out(scratch: Scratch, tmp_path: Path) -> None:
    scratch.commit(ESTATE)
    for path in (scratch.path, *scratch.path.rglob("*")):
        os.chown(path, 12345, 12345)
    with pytest.raises(Refused, match=r"belongs to another user.*safe\.directory"):
        git.read_commit(str(scratch.path), "main")
    with pytest.raises(Refused, match=r"belongs to another user.*safe\.directory"):
        git.follow(scratch.url, "main", None, cache=tmp_path / "cache")


def test_a_file_url_is_read_in_place(scratch: Scratch, tmp_path: Path) -> None:
    commit = scratch.commit(ESTATE)
    assert git.read_commit(scratch.url, "main").commit == commit
    assert git.read_commit(scratch.url, "main", cache=tmp_path / "cache").commit == commit
    assert not (tmp_path / "cache").exists()


def test_an_address_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="needs a cache folder"):
        git.read_commit("https://git.example.org/estate.git", "main")
    for address in ("ssh://git@git.example.org/estate", "git@git.example.org:estate", "ftp://x/y"):
        with pytest.raises(Refused, match="the address is none of file, http, https"):
            git.read_commit(address, "main", cache=tmp_path)


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(Refused) as caught:
        git.read_commit("https://bot:secret@git.example.org/estate.git", "main")
    assert "secret" not in str(caught.value)
    assert "https://***@git.example.org/estate.git" in str(caught.value)


@pytest.mark.parametrize(("limit", "value"), [("MAX_FILES", 2), ("MAX_TOTAL_BYTES", 9)])
def test_more_than_an_estate_holds_stops_the_reading_with_one_finding(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(f"repo_layout.tree.{limit}", value)
    scratch.commit({f"f{n}.yaml": b"a: 1\n" for n in range(5)})
    tree = git.read_commit(str(scratch.path), "main")
    assert [code for code, _ in codes(tree)] == ["EBT-141"]
    assert list(tree.files) == ["f0.yaml", "f1.yaml"]


def test_a_linked_work_tree_is_read_without_its_git_file(scratch: Scratch, tmp_path: Path) -> None:
    commit = scratch.commit(ESTATE)
    scratch.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"), "main")
    assert git.read_worktree(tmp_path / "linked").files == ESTATE
    assert git.read_commit(str(tmp_path / "linked"), "HEAD").commit == commit


def test_a_work_tree_is_read_without_following_links_or_nested_repositories(tmp_path: Path) -> None:
    root = tmp_path / "estate"
    for folder in (
        "contracts/search",
        ".git/objects",
        "pools/vendored/.git",
        "docs",
        "pools/north",
        "pools/" + "d/" * 12,
    ):
        (root / folder).mkdir(parents=True)
    secret = tmp_path / "secret.yaml"
    secret.write_bytes(b"s: 1\n")
    (root / "ebbtide.yaml").write_bytes(b"a: 1\n")
    (root / ".git/config").write_bytes(b"x")
    (root / "pools/vendored/x.yaml").write_bytes(b"x: 1\n")
    (root / "contracts/search/link.yaml").symlink_to(secret)
    (root / "contracts/linked").symlink_to(tmp_path)
    (root / "docs/big.bin").write_bytes(b"x" * 100_000)
    (root / "pools/north/big.yaml").write_bytes(b"x" * 10_000_000)
    (root / "pools/north/run.yaml").write_bytes(b"r: 1\n")
    (root / "pools/north/run.yaml").chmod(0o755)
    os.mkfifo(root / "pools/north/pipe.yaml")
    (Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.yaml"))).write_bytes(b"c: 1\n")
    tree = git.read_worktree(root)
    assert codes(tree) == [
        ("EBT-139", "caf\\xe9.yaml"),
        ("EBT-136", "contracts/linked"),
        ("EBT-136", "contracts/search/link.yaml"),
        ("EBT-141", "pools/" + "d/" * 7 + "d"),
        ("EBT-101", "pools/north/big.yaml"),
        ("EBT-140", "pools/north/pipe.yaml"),
        ("EBT-138", "pools/north/run.yaml"),
        ("EBT-137", "pools/vendored"),
    ]
    assert tree.files == {"ebbtide.yaml": b"a: 1\n", "pools/north/run.yaml": b"r: 1\n"}


def test_a_work_tree_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no folder"):
        git.read_worktree(tmp_path / "absent")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"a: 1\r\n", "EBT-104"),
        (b"\xef\xbb\xbfa: 1\n", "EBT-103"),
        (b"a:\n\tb: 1\n", "EBT-105"),
        (bytes(range(256)), "EBT-102"),
        (b"version https://git-lfs.github.com/spec/v1\n", "EBT-108"),
    ],
)
def test_line_ends_and_marks_reach_the_checks_unchanged(scratch: Scratch, content: bytes, code: str) -> None:
    scratch.commit({"ebbtide.yaml": content, ".gitattributes": b"* text=auto eol=lf\n"})
    read = git.read_commit(str(scratch.path), "main").files["ebbtide.yaml"]
    assert read == content
    assert [finding.code for finding in strict_yaml.parse("ebbtide.yaml", read).findings] == [code]

"""Reading the estate out of Git: a commit, a work tree, what changed between two commits, a followed branch.

Commands and reconcilers call these names and nothing else of the Git adapters. Every error is one of
`contracts.errors`; what concerns single files is a finding of the tree. It must not know what the files mean.
"""

from __future__ import annotations

from pathlib import Path

import pygit2

from contracts.errors import Refused
from repo_layout.adapters.git_follow import brought, follow
from repo_layout.adapters.git_index import read_staged
from repo_layout.adapters.git_open import commit_of, open_for_reading, translated
from repo_layout.adapters.git_tree import tree_of
from repo_layout.adapters.worktree import read_worktree
from repo_layout.tree import Tree

__all__ = [
    "brought", "follow", "merge_base", "named", "paths_between", "read_commit", "read_staged", "read_worktree",
]  # fmt: skip


def read_commit(repository: str, revision: str, *, cache: Path | None = None) -> Tree:
    """The files of one commit.

    `repository` is a path or file URL (bare or not, also of a shallow or partial clone), or an http or https URL, which
    is fetched into a bare repository below `cache`. `revision` is anything that `git rev-parse` takes for one commit.
    """
    opened = open_for_reading(repository, revision, cache)
    return tree_of(opened, commit_of(opened, revision))


def paths_between(repository: str, old: str, new: str, *, cache: Path | None = None) -> tuple[str, ...]:
    """The sorted paths in which two commits differ, whatever lies between them."""
    opened = open_for_reading(repository, new, cache)
    before, after = commit_of(opened, old), commit_of(opened, new)
    with translated(f"compare {before.id} with {after.id}"):
        deltas = list(before.tree.diff_to_tree(after.tree).deltas)
        raw = {side.raw_path for delta in deltas for side in (delta.old_file, delta.new_file)}
    return tuple(sorted(path.decode("utf-8", "backslashreplace") for path in raw))


def named(repository: str, *revisions: str, cache: Path | None = None) -> tuple[str, ...]:
    """The commits that revisions name, as 40 hex digits; a remote repository is brought up to date for the first."""
    opened = open_for_reading(repository, revisions[0], cache)
    return tuple(str(commit_of(opened, revision).id) for revision in revisions)


def merge_base(repository: str, base: str, head: str, *, cache: Path | None = None) -> str:
    """The commit at which the lines of `base` and `head` parted, `base` itself where `head` grew out of it.

    `Refused` when they share no commit, as after a rewritten history, or when a shallow clone leaves it open.
    """
    opened = open_for_reading(repository, head, cache)
    return str(_parted(opened, commit_of(opened, base), commit_of(opened, head)).id)


def _parted(repository: pygit2.Repository, old: pygit2.Commit, new: pygit2.Commit) -> pygit2.Commit:
    """The merge base; in a shallow clone only where the stored history settles it."""
    try:
        base = repository.merge_base(old.id, new.id)
        gaps = repository.is_shallow
    except (KeyError, pygit2.GitError):
        base, gaps = None, True
    if base is not None and (base == old.id or not gaps):
        return commit_of(repository, str(base))
    if gaps:
        raise Refused(
            f"cannot compare {old.id} with {new.id}: the parents between them are missing, as in a shallow clone;"
            " git fetch --unshallow brings them"
        )
    raise Refused(f"cannot compare {old.id} with {new.id}: no common commit is stored here")

"""Reads what is staged: the files as the next commit would have them, whatever else lies in the work tree.

`git.read_staged` is its public name; a hook that runs before a commit asks for it. It must not know what the files
mean.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from contracts.errors import Refused
from repo_layout.adapters.git_open import open_local, translated
from repo_layout.adapters.git_tree import content_of, odd_of
from repo_layout.layout import is_ignored, is_read
from repo_layout.tree import MAX_FOLDERS, WORKTREE, Odd, Oddity, Tree, TreeDraft


def read_staged(repository: Path, *, below: str = "") -> Tree:
    """The staged files of the repository at exactly this path, of the folder `below` (ending in a slash) alone.

    Git names the index of a partial commit to its hooks in GIT_INDEX_FILE, and that one is read. Refused: a merge that
    is not resolved.
    """
    opened = open_local(repository)
    draft = TreeDraft()
    with translated(f"read what is staged in {repository}"):
        index = pygit2.Index(os.environ.get("GIT_INDEX_FILE") or str(Path(opened.path) / "index"))
        if index.conflicts is not None:
            raise Refused(f"{repository} has a merge that is not resolved: resolve it, and git add what it left")
        for path, entry in _entries(index, below):
            content = entry if isinstance(entry, Odd) else content_of(opened, path, entry.id, Oddity.NOT_STORED)
            if not draft.add(path, content):
                break
            if not isinstance(entry, Odd) and entry.mode == FileMode.BLOB_EXECUTABLE:
                draft.add(path, Odd(path, Oddity.EXECUTABLE))
    return draft.finish(WORKTREE)


def _entries(index: pygit2.Index, below: str) -> Iterator[tuple[str, pygit2.IndexEntry | Odd]]:
    """Every file that is to be read, and what is odd on the way."""
    for entry in index:
        if not entry.path.startswith(below):
            continue
        path = entry.path[len(below) :]
        if odd := odd_of(path, entry.mode):
            yield path, odd
        elif path.count("/") > MAX_FOLDERS:
            if not is_ignored(path):
                yield path, Odd(path, Oddity.TOO_DEEP)
        elif is_read(path):
            yield path, entry

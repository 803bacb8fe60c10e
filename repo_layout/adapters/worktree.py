"""Reads the files of a folder on disk as they are, for local edits before a commit.

`git.read_worktree` is its public name. It follows no symbolic link, enters no nested repository and loads nothing above
the size limit. It must not know Git's object store.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from contracts.errors import Refused
from contracts.values import shorten
from repo_layout.layout import is_ignored, is_read
from repo_layout.reviewed_text import MAX_BYTES
from repo_layout.tree import MAX_FOLDERS, WORKTREE, Odd, Oddity, Tree, TreeDraft


def read_worktree(path: Path) -> Tree:
    """The files below a folder, committed or not; `.git` is left out."""
    if not path.is_dir():
        raise Refused(f"there is no folder {shorten(str(path))} to read")
    draft = TreeDraft()
    for name, found in _entries(os.fsencode(path)):
        content = found if isinstance(found, Odd) else _content(name, found)
        if not draft.add(name, content):
            break
        if not isinstance(found, Odd) and isinstance(content, bytes) and _is_executable(found):
            draft.add(name, Odd(name, Oddity.EXECUTABLE))
    return draft.finish(WORKTREE)


def _is_executable(entry: os.DirEntry[bytes]) -> bool:
    return bool(
        entry.stat(follow_symlinks=False).st_mode & stat.S_IXUSR
    )  # the entry has kept it since its size was asked


def _entries(root: bytes) -> Iterator[tuple[str, os.DirEntry[bytes] | Odd]]:
    """Every file that is to be read, and what is odd on the way."""
    todo: list[tuple[str, bytes]] = [("", root)]
    while todo:
        prefix, folder = todo.pop()
        entries = _listed(prefix, folder)
        if isinstance(entries, Odd):
            yield prefix, entries
            continue
        for entry in entries:
            name, oddity = _kind(prefix, entry)
            if oddity is not None:
                yield name, Odd(name, oddity)
            elif not entry.is_dir(follow_symlinks=False):
                if is_read(name):
                    yield name, entry
            elif name.count("/") >= MAX_FOLDERS and not is_ignored(f"{name}/"):
                yield name, Odd(name, Oddity.TOO_DEEP)
            elif name.count("/") < MAX_FOLDERS:
                todo.append((f"{name}/", entry.path))


def _listed(prefix: str, folder: bytes) -> list[os.DirEntry[bytes]] | Odd:
    """A folder's entries in order; `.git`, a folder or a link's file, is left out at the root and odd below it."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return Odd(prefix or ".", Oddity.NOT_READABLE)
    kept = [entry for entry in entries if entry.name != b".git"]
    return Odd(prefix.rstrip("/"), Oddity.SUBMODULE) if prefix and len(kept) < len(entries) else kept


def _kind(prefix: str, entry: os.DirEntry[bytes]) -> tuple[str, Oddity | None]:
    """The entry's path below the root, and what is odd about the entry itself."""
    try:
        name = prefix + entry.name.decode("utf-8")
    except UnicodeDecodeError:
        return prefix + entry.name.decode("utf-8", "backslashreplace"), Oddity.BAD_NAME
    if entry.is_symlink():
        return name, Oddity.SYMLINK
    if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
        return name, None
    return name, Oddity.NOT_REGULAR


def _content(name: str, entry: os.DirEntry[bytes]) -> bytes | Odd:
    """At most one byte more than the limit is read, whatever the file's size says by then."""
    try:
        size = entry.stat(follow_symlinks=False).st_size
        if size > MAX_BYTES:
            return Odd(name, Oddity.TOO_LARGE, size)
        descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError:
        return Odd(name, Oddity.NOT_READABLE)
    return content if len(content) <= MAX_BYTES else Odd(name, Oddity.TOO_LARGE, len(content))

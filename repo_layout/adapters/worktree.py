"""Reads the files of a folder on disk as they are, for local edits before a commit.

`git.read_worktree` is its public name. It follows no symbolic link, enters no nested repository and loads nothing above
the size limit. It must not know Git's object store.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from contracts.errors import Refused
from contracts.values import shorten
from repo_layout.layout import is_ignored, is_read
from repo_layout.reviewed_text import MAX_BYTES
from repo_layout.tree import MAX_FILES, MAX_FOLDERS, WORKTREE, Odd, Oddity, Tree


def read_worktree(path: Path) -> Tree:
    """The files below a folder, committed or not; `.git` is left out."""
    if not path.is_dir():
        raise Refused(f"there is no folder {shorten(str(path))} to read")
    files: dict[str, bytes] = {}
    odd: list[Odd] = []
    for name, found in _entries(os.fsencode(path)):
        if isinstance(found, Odd):
            odd.append(found)
            continue
        if len(files) >= MAX_FILES:
            odd.append(Odd(name, Oddity.TOO_MANY))
            break
        content = _content(name, found)
        if isinstance(content, Odd):
            odd.append(content)
            continue
        files[name] = content
        if found.stat(follow_symlinks=False).st_mode & stat.S_IXUSR:
            odd.append(Odd(name, Oddity.EXECUTABLE))
    return Tree(WORKTREE, MappingProxyType(dict(sorted(files.items()))), tuple(sorted(odd, key=lambda o: o.path)))


def _entries(root: bytes) -> Iterator[tuple[str, os.DirEntry[bytes] | Odd]]:
    """Every file that is to be read, and what is odd on the way."""
    todo: list[tuple[str, bytes]] = [("", root)]
    while todo:
        prefix, folder = todo.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            yield prefix, Odd(prefix or ".", Oddity.NOT_READABLE)
            continue
        if prefix and any(entry.name == b".git" for entry in entries):
            yield prefix, Odd(prefix.rstrip("/"), Oddity.SUBMODULE)
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
            elif name != ".git" and name.count("/") < MAX_FOLDERS:
                todo.append((f"{name}/", entry.path))


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

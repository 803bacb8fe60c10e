"""Reads the files of one commit out of Git's object store, without a work tree.

`git.read_commit` calls it. It loads no content above the size limit and none that the layout ignores, and reports what
it could not load instead of failing. It must not know what the files mean.
"""

from __future__ import annotations

from collections.abc import Iterator

import pygit2
from pygit2.enums import FileMode

from repo_layout.adapters.git_open import is_partial, translated
from repo_layout.layout import is_ignored, is_read
from repo_layout.reviewed_text import MAX_BYTES
from repo_layout.tree import MAX_FOLDERS, Odd, Oddity, Tree, TreeDraft

_ODD_MODES = {FileMode.LINK: Oddity.SYMLINK, FileMode.COMMIT: Oddity.SUBMODULE}


def tree_of(repository: pygit2.Repository, commit: pygit2.Commit) -> Tree:
    """The commit's files; what is absent from a partial clone is odd, the rest is there."""
    absent = Oddity.NOT_CLONED if is_partial(repository) else Oddity.NOT_STORED
    draft = TreeDraft()
    with translated(f"read the files of {commit.id}"):
        for path, entry in _entries(repository, commit, absent):
            content = entry if isinstance(entry, Odd) else content_of(repository, path, entry.id, absent)
            if not draft.add(path, content):
                break
            if not isinstance(entry, Odd) and entry.filemode == FileMode.BLOB_EXECUTABLE:
                draft.add(path, Odd(path, Oddity.EXECUTABLE))
    return draft.finish(str(commit.id), commit.commit_time * 1000)


def _entries(
    repository: pygit2.Repository, commit: pygit2.Commit, absent: Oddity
) -> Iterator[tuple[str, pygit2.Object | Odd]]:
    """Every file that is to be read, and what is odd on the way."""
    todo: list[tuple[str, pygit2.Oid]] = [("", commit.tree_id)]
    while todo:
        prefix, oid = todo.pop()
        try:
            tree = repository[oid]
        except (KeyError, pygit2.GitError):
            yield prefix, Odd(prefix or ".", absent)
            continue
        for entry in tree if isinstance(tree, pygit2.Tree) else ():
            path, odd = _path(prefix, entry)
            if odd is not None:
                yield path, odd
            elif entry.filemode != FileMode.TREE:
                if is_read(path):
                    yield path, entry
            elif path.count("/") >= MAX_FOLDERS and not is_ignored(f"{path}/"):
                yield path, Odd(path, Oddity.TOO_DEEP)
            elif path.count("/") < MAX_FOLDERS:
                todo.append((f"{path}/", entry.id))


def _path(prefix: str, entry: pygit2.Object) -> tuple[str, Odd | None]:
    """The entry's path in the tree, and what is odd about the entry itself."""
    raw = entry.raw_name or b""
    try:
        path = prefix + raw.decode("utf-8")
    except UnicodeDecodeError:
        path = prefix + raw.decode("utf-8", "backslashreplace")
        return path, Odd(path, Oddity.BAD_NAME)
    return path, odd_of(path, FileMode(entry.filemode))


def odd_of(path: str, mode: FileMode) -> Odd | None:
    """What is odd about an entry of this mode."""
    oddity = _ODD_MODES.get(mode)
    return Odd(path, oddity) if oddity else None


def content_of(repository: pygit2.Repository, path: str, blob: pygit2.Oid, absent: Oddity) -> bytes | Odd:
    """A file's bytes, unless it is too large or not stored here."""
    try:
        _, size = repository.odb.read_header(blob)
        if size > MAX_BYTES:
            return Odd(path, Oddity.TOO_LARGE, size)
        _, content = repository.odb.read(blob)
    except (KeyError, pygit2.GitError):
        return Odd(path, absent)
    return content

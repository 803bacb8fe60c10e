"""Lays files into a Git repository of its own, with everything fixed: the same files make the same commit anywhere.

`ebbtide demo` lays the reference estate down with it. It writes a bare repository and never touches a work tree, and
refuses to write into one that it did not make.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pygit2
from pygit2.enums import FileMode

from contracts.errors import Refused
from repo_layout.adapters.git_open import open_local, translated

BRANCH = "refs/heads/main"


@dataclass(frozen=True, slots=True)
class Authorship:
    """Who, when (whole seconds since the epoch, UTC) and in which words."""

    name: str
    email: str
    at_s: int
    message: str


def lay(path: Path, files: Mapping[str, bytes], authorship: Authorship) -> str:
    """The id of a commit without parents that holds exactly `files`, on the branch `main` of a bare repository at
    `path`, which is made when it is missing. Doing it again changes nothing.

    Refused: the branch there already names another commit.
    """
    repository = open_local(path) if path.exists() else _made(path)
    with translated(f"lay {len(files)} files into {path.name}"):
        who = pygit2.Signature(authorship.name, authorship.email, authorship.at_s, 0)
        tree = tree_of_files(repository, files)
        commit = repository.create_commit(None, who, who, authorship.message, tree, [])
        there = repository.references.get(BRANCH)
        if there is not None and there.target != commit:
            raise Refused(f"{path} already holds another estate, commit {str(there.target)[:12]}: name another folder")
        if there is None:
            repository.references.create(BRANCH, commit)
            repository.set_head(BRANCH)
    return str(commit)


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its path in the repository."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def _made(path: Path) -> pygit2.Repository:
    path.parent.mkdir(parents=True, exist_ok=True)
    with translated(f"make a repository in {path.name}"):
        return pygit2.init_repository(str(path), bare=True, initial_head="main")


def tree_of_files(repository: pygit2.Repository, files: Mapping[str, bytes]) -> pygit2.Oid:
    """The tree of the files, built from the leaves up."""
    blobs = {name: repository.create_blob(content) for name, content in files.items()}
    return _folder(repository, {PurePosixPath(name).parts: blob for name, blob in blobs.items()})


def _folder(repository: pygit2.Repository, entries: Mapping[tuple[str, ...], pygit2.Oid]) -> pygit2.Oid:
    builder = repository.TreeBuilder()
    for name in _firsts(entries):
        inside = {parts[1:]: blob for parts, blob in entries.items() if parts[0] == name}
        if () in inside:
            builder.insert(name, inside[()], FileMode.BLOB)
        else:
            builder.insert(name, _folder(repository, inside), FileMode.TREE)
    return builder.write()


def _firsts(entries: Iterable[tuple[str, ...]]) -> list[str]:
    return sorted({parts[0] for parts in entries})

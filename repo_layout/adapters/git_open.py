"""Opens Git repositories, local or by URL, and resolves revisions; the one place that turns pygit2's errors into ours.

Used by the other Git adapters only. It never touches a work tree, searches no parent folder, and switches off none of
libgit2's safety checks.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pygit2
from pygit2.enums import FetchPrune, RepositoryOpenFlag

from contracts.errors import Refused, Transient
from contracts.values import shorten

CONNECT_TIMEOUT_MS = 10_000  # a code host that does not answer in ten seconds is not there
IDLE_TIMEOUT_MS = 30_000  # between two packets, for a host that packs a large answer
LONGEST_SHOWN = 300  # a path or address has to be seen whole to be mended
_SCHEMES = frozenset({"http", "https", "file"})
_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Head:
    """One reference that a remote advertises; `target` is the name behind a symbolic one."""

    commit: str
    target: str | None


def shown(address: str) -> str:
    """The address without credentials, for messages."""
    return shorten(re.sub(r"(?<=://)[^/@]*@", "***@", address), LONGEST_SHOWN)


@contextlib.contextmanager
def translated(doing: str) -> Iterator[None]:
    """Errors of pygit2 become `Refused`: what it reads locally will not mend itself."""
    try:
        yield
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        text = _text(error)
        if "not owned by current user" in text:
            raise Refused(
                f"cannot {doing}: the repository belongs to another user, and Git does not trust it; run as its owner,"
                " or allow it with: git config --global --add safe.directory PATH"
            ) from error
        raise Refused(f"cannot {doing}: {text}") from error


@contextlib.contextmanager
def reaching(address: str) -> Iterator[None]:
    """Errors on the way to a remote become `Transient`: whatever it answered, it was no word about the estate."""
    try:
        yield
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        text = _text(error)
        if "not owned by current user" in text:
            with translated(f"read {shown(address)}"):
                raise
        if "authentication" in text or "status code: 401" in text or "status code: 403" in text:
            raise Refused(f"{shown(address)} refuses access: {text}; give an address with read permission") from error
        raise Transient(f"Git unreachable: {shown(address)} gave no Git answer: {text}") from error


def _text(error: Exception) -> str:
    return shown(str(error.args[0]) if error.args else type(error).__name__)


def is_url(repository: str) -> bool:
    """Whether this is an address with a scheme, or the short form for SSH, rather than a path."""
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*://|[\w.-]+@[\w.-]+:", repository))


def open_local(path: str | Path) -> pygit2.Repository:
    """The repository at exactly this path, bare or not."""
    with translated(f"open a Git repository at {shown(str(path))}"):
        return pygit2.Repository(str(path), RepositoryOpenFlag.NO_SEARCH)


def open_for_reading(repository: str, revision: str, cache: Path | None) -> pygit2.Repository:
    """A local repository as it is, or the copy of a remote one, brought up to date unless it holds the commit.

    A file URL is local: a copy would forget that the repository is shallow, and cannot be made of a partial one.
    """
    if not is_url(repository):
        return open_local(repository)
    if repository.startswith("file://"):
        return open_local(unquote(urlsplit(repository).path))
    copy = cached_copy(repository, cache)
    if not (_COMMIT.fullmatch(revision) and has_commit(copy, revision)):
        heads = remote_heads(copy, repository)
        if not heads:
            raise Refused(f"{shown(repository)} has no branches: nothing was committed there yet")
        fetch(copy, repository, ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"], prune=True)
        if "HEAD" in heads and (target := heads["HEAD"].target):
            with translated("note the default branch"):
                copy.set_head(target)
    return copy


def cached_copy(address: str, cache: Path | None) -> pygit2.Repository:
    """The bare repository below `cache` that mirrors this address, made when it is not there."""
    if is_url(address) and address.partition("://")[0].lower() not in _SCHEMES:
        raise Refused(
            f"cannot read {shown(address)}: the address is none of {', '.join(sorted(_SCHEMES))}, nor a path;"
            " clone it with git and name the clone"
        )
    if cache is None:
        raise Refused(f"cannot read {shown(address)}: a remote repository needs a cache folder")
    path = cache / f"{hashlib.sha256(_absolute(address).encode()).hexdigest()[:16]}.git"
    if path.exists():
        return _opened_copy(path)
    with translated(f"make a cache in {shown(str(cache))}"):
        return pygit2.init_repository(str(path), bare=True)


def _opened_copy(path: Path) -> pygit2.Repository:
    try:
        copy = pygit2.Repository(str(path), RepositoryOpenFlag.NO_SEARCH)
        copy.lookup_reference("HEAD")  # which a full disk leaves empty
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        raise Refused(f"the copy in {shown(str(path))} is damaged: {_text(error)}; remove it and try again") from error
    return copy


def _absolute(address: str) -> str:
    return address if is_url(address) else str(Path(address).absolute())


def remote_heads(copy: pygit2.Repository, address: str) -> dict[str, Head]:
    """What the remote advertises right now, whatever the copy holds."""
    pygit2.settings.server_connect_timeout = CONNECT_TIMEOUT_MS
    pygit2.settings.server_timeout = IDLE_TIMEOUT_MS
    with reaching(address):
        listed = copy.remotes.create_anonymous(_absolute(address)).list_heads()
        return {head.name: Head(str(head.oid), head.symref_target) for head in listed if head.name is not None}


def fetch(copy: pygit2.Repository, address: str, refspecs: list[str], *, prune: bool = False) -> None:
    """Bring the copy's references up to the remote's."""
    how = FetchPrune.PRUNE if prune else FetchPrune.NO_PRUNE
    with reaching(address):
        copy.remotes.create_anonymous(_absolute(address)).fetch(refspecs, prune=how)


def has_commit(repository: pygit2.Repository, commit: str) -> bool:
    """Whether the commit object itself is stored here."""
    with translated(f"look up {commit}"):
        return isinstance(repository.get(commit), pygit2.Commit)


def commit_of(repository: pygit2.Repository, revision: str) -> pygit2.Commit:
    """The commit that a revision names, tags followed."""
    name = shorten(revision)
    try:
        named = repository.revparse_single(revision)
        found = named.peel(None) if isinstance(named, pygit2.Tag) else named
    except (KeyError, pygit2.GitError, ValueError) as error:
        if not repository.raw_listall_references() or (revision == "HEAD" and repository.head_is_unborn):
            raise Refused(f'there is no "{name}": the repository has no commits yet') from error
        if repository.is_shallow:
            hint = "this is a shallow clone and may lack it; git fetch --unshallow brings the rest"
            raise Refused(f'there is no revision "{name}" here: {hint}') from error
        raise Refused(f'there is no revision "{name}" in this repository, or it is ambiguous') from error
    if not isinstance(found, pygit2.Commit):
        raise Refused(f'"{name}" names a {found.type_str}, not a commit')
    return found


def is_partial(repository: pygit2.Repository) -> bool:
    """Whether some remote promised objects that were not fetched."""
    with translated("read the repository's configuration"):
        return any(entry.name.startswith("remote.") and entry.name.endswith(".promisor") for entry in repository.config)

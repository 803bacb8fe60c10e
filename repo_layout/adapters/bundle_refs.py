"""Bundles on their way through Git: one commit a version on `refs/ebbtide/bundles/<region>`, published and fetched.

CI publishes, reconcilers fetch. A version is published only on top of the tip that was seen when it was signed, so two
runs at once cannot both succeed and nothing is lost; history stays. Nothing that comes from here is believed because it
came from here: `repo_layout.taking` verifies it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pygit2
from pygit2.enums import FileMode
from pygit2.remotes import PushUpdate  # noqa: TC002 - one way to import, as everywhere

from contracts.errors import Refused, Transient
from contracts.values import shorten
from repo_layout.adapters.git_lay import Authorship, tree_of_files
from repo_layout.adapters.git_open import (
    cached_copy,
    fetch,
    is_url,
    open_local,
    reaching,
    remote_heads,
    shown,
    translated,
)

BUNDLES = "refs/ebbtide/bundles/"
MAX_FILES = 400_000
"""Two signers of a region of 100,000 workloads."""
MAX_TOTAL_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Published:
    """The files of one published version, and the commit that holds them."""

    commit: str
    files: Mapping[str, bytes]


def ref_of(region: str) -> str:
    """The ref of a region's bundles. Raises `Refused` for a name that makes no ref."""
    ref = BUNDLES + region
    if "/" in region or not pygit2.reference_is_valid_name(ref):
        raise Refused(f'"{shorten(region)}" is not the name of a region')
    return ref


def tip_of(repository: str, region: str, *, cache: Path | None = None) -> str | None:
    """The commit that the region's ref names now, None where nothing was published yet."""
    ref = ref_of(region)
    if (path := _local(repository)) is not None:
        here = open_local(path)
        with translated(f"read {ref}"):
            found = here.references.get(ref)
            return str(found.target) if found is not None else None
    head = remote_heads(cached_copy(repository, cache), repository).get(ref)
    return head.commit if head is not None else None


def published_regions(repository: str, *, cache: Path | None = None) -> tuple[str, ...]:
    """The sorted names of the regions that have a ref."""
    if (path := _local(repository)) is not None:
        with translated("list what was published"):
            names = list(open_local(path).references)
    else:
        names = list(remote_heads(cached_copy(repository, cache), repository))
    return tuple(sorted(name.removeprefix(BUNDLES) for name in names if name.startswith(BUNDLES)))


def fetch_bundles(repository: str, region: str, *, cache: Path | None = None) -> Published:
    """The files of the newest published version, in memory.

    `Transient` when the remote gave no Git answer; `Refused` when nothing was published, or more than one may be.
    """
    ref = ref_of(region)
    tip = tip_of(repository, region, cache=cache)
    if tip is None:
        raise Refused(f"{shown(repository)} has no {ref}: nothing was published there yet (ebbtide publish)")
    if (path := _local(repository)) is not None:
        here = open_local(path)
    else:
        here = cached_copy(repository, cache)
        fetch(here, repository, [f"+{ref}:{ref}"])
        if here.get(tip) is None:
            raise Transient(f"{ref} of {shown(repository)} moved away from {tip} while it was read")
    with translated(f"read {ref}"):
        commit = here[tip].peel(pygit2.Commit)
        return Published(tip, dict(_limited(_files(commit.tree, ""))))


def publish(
    repository: str,
    region: str,
    files: Mapping[str, bytes],
    *,
    expected: str | None,
    authorship: Authorship,
    cache: Path | None = None,
) -> str:
    """The id of a new commit with exactly these files, on the region's ref, on top of the tip `expected` (None: first).

    `Refused` when the ref is not there any more: another run published meanwhile, and nothing was changed.
    """
    ref = ref_of(region)
    path = _local(repository)
    here = open_local(path) if path is not None else cached_copy(repository, cache)
    if path is None and expected is not None and here.get(expected) is None:
        fetch(here, repository, [f"+{ref}:{ref}"])
    if expected is not None and here.get(expected) is None:
        raise _raced(ref, expected)
    with translated(f"write {len(files)} files"):
        who = pygit2.Signature(authorship.name, authorship.email, authorship.at_s, 0)
        tree = tree_of_files(here, files)
        parents = [expected] if expected is not None else []
        commit = here.create_commit(None, who, who, authorship.message, tree, parents)
    if path is not None:
        _move(here, ref, expected, commit)
    else:
        _push(here, repository, ref, expected, commit)
    return str(commit)


def _move(here: pygit2.Repository, ref: str, expected: str | None, commit: pygit2.Oid) -> None:
    """Move a local ref from the expected tip, in Git's own lock."""
    with translated(f"move {ref}"):
        found = here.references.get(ref)
        if (str(found.target) if found is not None else None) != expected:
            raise _raced(ref, expected)
        try:
            if found is None:
                here.references.create(ref, commit, force=False)
            else:
                # libgit2 writes it only while the ref still is what was looked up.
                found.set_target(commit)
        except (pygit2.GitError, ValueError) as error:
            now = here.references.get(ref)
            if (str(now.target) if now is not None else None) != expected:
                raise _raced(ref, expected) from error
            raise


class _Lease(pygit2.RemoteCallbacks):
    """Sees what the remote has before anything is sent, and what it says about the update."""

    def __init__(self, expected: str | None) -> None:
        super().__init__()
        self.expected = expected or "0" * 40
        self.held = True
        self.refusal = ""

    def push_negotiation(self, updates: list[PushUpdate]) -> None:
        """Go on only while the remote's ref is what was expected; the server compares it once more as it writes."""
        self.held = all(str(update.src) == self.expected for update in updates)
        if not self.held:
            raise pygit2.GitError("the lease is lost")

    def push_update_reference(self, refname: str, message: str | None) -> None:  # noqa: ARG002 - pygit2's own
        """The remote's word about the ref; None is yes."""
        self.refusal = message or ""


def _push(here: pygit2.Repository, address: str, ref: str, expected: str | None, commit: pygit2.Oid) -> None:
    lease = _Lease(expected)
    with translated("hold what is to be pushed"):
        mine = here.references.create(f"refs/ebbtide/publishing/{ref.removeprefix(BUNDLES)}", commit, force=True)
    with reaching(address):
        remote = here.remotes.create_anonymous(address)
        try:
            remote.push([f"{mine.name}:{ref}"], callbacks=lease)
        except pygit2.GitError:
            if not lease.held or _moved(here, address, ref, expected):
                raise _raced(ref, expected) from None
            raise
    if lease.refusal:
        if _moved(here, address, ref, expected):
            raise _raced(ref, expected)
        raise Refused(f"{shown(address)} refused {ref}: {shorten(lease.refusal)}; allow this account to push that ref")


def _moved(here: pygit2.Repository, address: str, ref: str, expected: str | None) -> bool:
    head = remote_heads(here, address).get(ref)
    return (head.commit if head is not None else None) != expected


def _raced(ref: str, expected: str | None) -> Refused:
    was = f"not at {expected[:12]} any more" if expected is not None else "there already"
    return Refused(f"{ref} is {was}: another run published meanwhile; sign again with the next version and publish")


def _local(repository: str) -> str | None:
    if not is_url(repository):
        return repository
    return unquote(urlsplit(repository).path) if repository.startswith("file://") else None


def _files(tree: pygit2.Tree, above: str) -> Iterator[tuple[str, pygit2.Blob]]:
    """Every file below, two levels deep as a bundle is; links and submodules are no files of one."""
    for entry in tree:
        if isinstance(entry, pygit2.Blob) and entry.filemode != FileMode.LINK:
            yield f"{above}{entry.name}", entry
        elif isinstance(entry, pygit2.Tree) and not above:
            yield from _files(entry, f"{entry.name}/")


def _limited(files: Iterator[tuple[str, pygit2.Blob]]) -> Iterator[tuple[str, bytes]]:
    total = 0
    for number, (name, blob) in enumerate(files, start=1):
        total += blob.size
        if number > MAX_FILES or total > MAX_TOTAL_BYTES:
            raise Refused(f"what was published is larger than {MAX_FILES:,} files or {MAX_TOTAL_BYTES:,} bytes")
        yield name, blob.data

"""Follows one branch of a remote for a reconciler: where its tip is, and whether it grew out of what was verified.

The tip is what the remote advertises, never what a fetch left in a local reference: a refspec without `+` leaves a
rewritten branch where it was and reports success. It must not decide what to do about the answer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import pygit2

from contracts.errors import Refused, Transient
from contracts.values import shorten
from repo_layout.adapters.git_open import cached_copy, fetch, has_commit, remote_heads, shown, translated
from repo_layout.history import Followed, follow_on


def follow(remote: str, branch: str, last_verified: str | None, *, cache: Path) -> Followed:
    """The branch's tip and its relation to the last verified commit (40 hex digits, or None before the first).

    `Transient` when the remote gave no Git answer, or an empty one after something was verified; `Refused` when the
    branch does not exist there or the history at hand cannot settle the relation.
    """
    reference = f"refs/heads/{branch}"
    if not pygit2.reference_is_valid_name(reference):
        raise Refused(f'"{shorten(branch)}" is not a branch name')
    if last_verified is not None and not re.fullmatch(r"[0-9a-f]{40}", last_verified, re.ASCII):
        raise Refused(f'"{shorten(last_verified)}" is not a commit of 40 hex digits')
    copy = cached_copy(remote, cache)
    heads = remote_heads(copy, remote)
    if not heads and last_verified is not None:
        raise Transient(
            f"Git unreachable: {shown(remote)} shows no branch at all, though {last_verified} was read there"
        )
    if reference not in heads:
        raise Refused(f'{shown(remote)} has no branch "{shorten(branch)}"')
    tip = heads[reference].commit
    fetch(copy, remote, [f"+{reference}:refs/ebbtide/followed/{branch}"])
    if not has_commit(copy, tip):
        raise Transient(f"branch {branch} of {shown(remote)} moved away from {tip} while it was read")
    fork = None if last_verified in {None, tip} else _fork(copy, tip, str(last_verified))
    return follow_on(branch=branch, tip=tip, last_verified=last_verified, fork=fork)


FAR = 10_000
"""Merges that are looked back on for the one that brought a file; an approval expires long before."""


def brought(remote: str, tip: str, paths: Iterable[str], *, cache: Path) -> dict[str, str]:
    """The merge on the branch's own line that brought each file of the tip as it came last; without those of which the
    history at hand does not tell.
    """
    copy, found = cached_copy(remote, cache), {}
    for path in paths:
        try:
            found[path] = _brought(copy, tip, path)
        except (KeyError, pygit2.GitError):
            continue
    return found


def _brought(copy: pygit2.Repository, tip: str, path: str) -> str:
    """Raises `KeyError` for a file that is not there, or older than what is looked back on."""
    commit = copy[pygit2.Oid(hex=tip)].peel(pygit2.Commit)
    _ = commit.tree[path]
    for _ in itertools.repeat(None, FAR):
        if not commit.parent_ids:
            return str(commit.id)
        parent = copy[commit.parent_ids[0]].peel(pygit2.Commit)
        if path not in parent.tree:
            return str(commit.id)
        commit = parent
    raise KeyError(path)


def _fork(copy: pygit2.Repository, tip: str, verified: str) -> str | None:
    """The best common ancestor, None where there surely is none; refuses to guess from a history with gaps."""
    try:
        if has_commit(copy, verified):
            base = copy.merge_base(pygit2.Oid(hex=tip), pygit2.Oid(hex=verified))
        else:
            # Everything behind the tip is walked: with no gap in it, a commit that is not stored is not behind the tip.
            base = None
            for _ in copy.walk(pygit2.Oid(hex=tip)):
                pass
    except (KeyError, pygit2.GitError) as error:
        raise Refused(_gap(tip, verified, str(error.args[0]))) from error
    with translated("see whether the copy is shallow"):
        shallow = copy.is_shallow
    if shallow and (base is None or str(base) != verified):
        raise Refused(_gap(tip, verified, "the copy is shallow"))
    return None if base is None else str(base)


def _gap(tip: str, verified: str, why: str) -> str:
    return (
        f"cannot tell whether {tip} follows {verified}: parents are missing from the history ({why});"
        " the remote is a shallow clone, follow a whole one or run git fetch --unshallow there"
    )

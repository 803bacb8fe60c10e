"""The adapter's own look before it acts: owned projects, our mark, an id that exists.

Every provider adapter calls these before a call that changes something. Plan and guard look as well, each in code of
their own; nothing here may be shared with them, or one mistake would pass all three.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping

from contracts.errors import Breach, Gone, Refused
from pools.model import Pool
from pools.provider import CreateRequest, Mark, Server


def check_create(
    request: CreateRequest, *, estate: str, region: str, projects: Collection[str], pools: Mapping[str, Pool]
) -> Pool:
    """The pool to create in. Raises `Breach` outside our estate, region or projects, `Refused` for an unknown pool,
    an empty name, or user data over the pool's limit (counted after base64).
    """
    if (request.mark.estate, request.mark.region) != (estate, region):
        raise Breach(
            f"{request.mark.name!r}: a mark of {request.mark.estate}/{request.mark.region} in {estate}/{region}"
        )
    if request.project not in projects:
        raise Breach(f"{request.mark.name!r}: project {request.project!r} is not ours")
    if not request.mark.name:
        raise Refused("a server without a name has no key and cannot be created once")
    pool = pools.get(request.pool)
    if pool is None:
        raise Refused(f"{request.mark.name!r}: pool {request.pool!r} is unknown to the provider")
    encoded = len(base64.b64encode(request.user_data))
    if encoded > pool.user_data_limit:
        raise Refused(f"{request.mark.name!r}: {encoded} bytes of user data, {pool.name} takes {pool.user_data_limit}")
    return pool


def check_delete(
    server: str, found: Server | None, *, expected: Mark, estate: str, projects: Collection[str]
) -> Server:
    """The server to delete. Raises as `Provider.delete` promises."""
    row = _existing(server, found, projects)
    if row.mark is None:
        raise Breach(f"{server}: carries no mark, so it is not ours to delete")
    if row.mark.estate != estate or row.mark.key != expected.key:
        raise Breach(f"{server}: carries {'/'.join(row.mark.key)}, expected {'/'.join(expected.key)}")
    if row.mark.epoch > expected.epoch:
        raise Breach(f"{server}: marked in epoch {row.mark.epoch}, we act in the earlier {expected.epoch}")
    return row


def check_mark(
    server: str, found: Server | None, *, mark: Mark | None, estate: str, projects: Collection[str]
) -> Server:
    """The server to mark, or to disown when `mark` is None. Raises as `Provider.mark` promises."""
    row = _existing(server, found, projects)
    if row.mark is not None and row.mark.estate != estate:
        raise Breach(f"{server}: carries the mark of estate {row.mark.estate!r}")
    if mark is not None and mark.estate != estate:
        raise Breach(f"{server}: we do not put on the mark of estate {mark.estate!r}")
    return row


def _existing(server: str, found: Server | None, projects: Collection[str]) -> Server:
    """The row behind an id that is not empty, in an owned project."""
    if not server:
        raise Refused("an empty id names no server")
    if found is None:
        raise Gone(f"{server}: not there")
    if found.project not in projects:
        raise Breach(f"{server}: project {found.project!r} is not ours")
    return found

"""Which rows of a listing are ours, which of them the fleet does not know yet, and which a person has to look at.

Called by `census` once a cycle. Only our mark makes a row ours: another estate's, region's or partition's is foreign,
a row without one is nobody's, and neither is ever touched. A row of ours that the fleet lost (an empty memory after a
restart) comes back from its mark, whether it has a contract still or not. What carries our mark and makes no sense is
quarantined: shown, never acted on; so is what a partition left behind that nobody leads any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from contracts.frozen import replace
from ledger.causes import Cause
from ledger.events import Event, EventType, Paid
from pools.provider import Mark, Server, Status
from reconciler.billing import purpose
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance, Phase
from reconciler.ports import NodeView

GOING = frozenset({Status.ERROR, Status.DELETING})
"""A server that says so is no one to rely on."""

NO_NODES: Mapping[str, NodeView] = MappingProxyType({})

PAID = frozenset(paid.value for paid in Paid)


@dataclass(frozen=True, slots=True)
class Stray:
    """A server under our mark that is quarantined, and why."""

    row: Server
    reason: str


@dataclass(frozen=True, slots=True)
class Twin:
    """A second server under one key, and the one that stays."""

    row: Server
    kept: Server


@dataclass
class Rows:
    """One listing, sorted: `known` by name, `restored` instances made from marks, names `found` again that were held to
    be gone, second servers under one key, strays, and how many are foreign.
    """

    known: dict[str, Server] = field(default_factory=dict)
    restored: list[Instance] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    twins: list[Twin] = field(default_factory=list)
    strays: list[Stray] = field(default_factory=list)
    foreign: int = 0

    @property
    def seconds(self) -> frozenset[str]:
        """Names under which a second server stands, that steps in for the one that stays if that one fails."""
        return frozenset(_name(twin.row) for twin in self.twins if twin.row.status not in GOING)


def sort_rows(
    servers: tuple[Server, ...],
    instances: Mapping[str, Instance],
    *,
    estate: str,
    region: str,
    partition: str = "",
    led: frozenset[str] = frozenset({""}),
    projects: frozenset[str],
    workloads: frozenset[str],
    nodes: Mapping[str, NodeView] = NO_NODES,
) -> Rows:
    """The listing's rows by what they are to us; of twins, the one stays on which the node runs that their scheduler
    shows (of `nodes`), or else the one we know, or else the oldest that is not going away already. `led` are the
    region's partitions that have a leader.
    """
    rows, owner = Rows(), (estate, region, partition)
    known_rows, row_of, known_of, gone = rows.known, rows.known.get, instances.get, Phase.GONE
    twins: list[Server] = []
    unknown: list[str] = []
    for server in servers:
        mark = server.mark
        if mark is None or not server.id:
            continue
        if (mark.estate != estate or mark.region != region or mark.partition != partition) or (
            server.project not in projects
        ):
            rows.foreign += 1
            if mark.owner[:2] == owner[:2] and mark.partition not in led and mark.workload in workloads:
                of = f"partition {mark.partition}" if mark.partition else "the undivided region"
                rows.strays.append(Stray(server, f"it is of {of}, which nobody leads in this commit"))
            continue
        name = mark.name
        known, other = known_of(name), row_of(name)
        if other is None:
            known_rows[name] = server
            if known is None or known.phase is gone:
                unknown.append(name)
            continue
        known_rows[name], twin = sorted((server, other), key=partial(_order, known, nodes.get(name)))
        twins.append(twin)
    rows.twins = [Twin(twin, rows.known[_name(twin)]) for twin in twins]
    _unknown(unknown, rows, instances)
    return rows


def _order(known: Instance | None, view: NodeView | None, row: Server) -> tuple[bool, bool, bool, bool, int, str]:
    """Of several servers under one key the first stays: the one on which the node runs, by its scheduler's `view`. One
    that is counted on and is in error gives its key to one that is not: no boot has failed while another server may
    still come of it.
    """
    runs = view.server if view is not None else ""
    other = known is None or row.id != known.server
    broken = known is not None and known.supply and row.status is Status.ERROR
    return row.id != runs, other or broken, row.status in GOING, other, row.created_at, row.id


def _unknown(names: Iterable[str], rows: Rows, instances: Mapping[str, Instance]) -> None:
    """Sort the rows of servers that the fleet does not know as there: found again, made from marks, or strays."""
    for name in names:
        known, server = instances.get(name), rows.known[name]
        if known is not None and known.server == server.id:
            if known.end_told:  # the provider's own word: a listing that is old or untrue shows what once was
                del rows.known[name]
            else:
                rows.found.append(name)
            continue
        reason = _unreadable(server.mark)
        if reason:
            rows.strays.append(Stray(server, reason))
            del rows.known[name]
            continue
        found = server.mark and from_mark(
            server.mark, server=server.id, project=server.project, pool=server.pool, at=server.created_at
        )
        if found:
            rows.restored.append(found)


def missed(rows: Rows, instances: Mapping[str, Instance]) -> bool:
    """Whether the stream says nothing now of the start of one that came back from its mark: that may have been said
    while nobody could read the mark, or before the instance was given up for lost, and the stream went on. A listing
    that is behind the stream shows as building what has long begun.
    """
    return any(not instances[back.name].started_at for back in rows.restored)


def tell_strays(strays: Iterable[Stray], told: frozenset[str], scribe: Scribe) -> list[Event]:
    """An event for each server that comes into quarantine now. Each time has its own event: the reason may be another,
    and only the leader of a term sees it.
    """
    return [
        scribe.event(
            EventType.QUARANTINED,
            f"{stray.row.id}/{scribe.epoch}/{scribe.now}",
            Cause.NOT_OURS,
            pool=stray.row.pool,
            instance=stray.row.mark.name if stray.row.mark else "",
            data={"server": stray.row.id, "reason": stray.reason},
        )
        for stray in strays
        if stray.row.id not in told
    ]


def _name(server: Server) -> str:
    return server.mark.name if server.mark else server.name


def _unreadable(mark: Mark | None) -> str:
    """Why no instance can be made from a mark; empty when one can."""
    if mark is None or not mark.name:
        return "its mark has no key"
    if not mark.workload:
        return "its mark names no workload"
    if mark.paid not in PAID or mark.units < 1:
        return f"its mark says {mark.units} units paid as {mark.paid!r}"
    return ""


def from_mark(mark: Mark, *, server: str, project: str, pool: str, at: int) -> Instance | None:
    """What a mark brings back; None when it makes no sense. Why it was asked for nobody remembers: its request stands
    in the ledger.
    """
    if mark.paid not in PAID or mark.units < 1:
        return None
    found = Instance(
        name=mark.name,
        pool=pool,
        project=project,
        workload=mark.workload,
        units=mark.units,
        paid=Paid(mark.paid),
        phase=Phase.BOOTING,
        requested_at=at,
        epoch=mark.epoch,
        server=server,
        cause_event=event_id(EventType.INSTANCE_REQUESTED, mark.region, mark.name),
    )
    return replace(found, cause=purpose(found, mark.seat))

"""A chronicle made of a ledger alone, for worlds that keep none: what was requested stands until it failed or ended.

The checkers of bounds, floors, owners, causes, debts and money judge such a region as they judge a hunted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ledger.events import Event, EventType
from pools.provider import Lifecycle, LifecycleKind, Notice, NoticeKind
from repo_layout.model import Estate
from simulation import check_bounds, check_causes, check_debts, check_floors, check_money, check_owners, check_told
from simulation.check_reading import Broken, Checker, Reader
from simulation.chronicle import Act, Call, Chronicle, Ended, Led, Look, Moved, Reviewed
from simulation.cloud_model import EndCause, InvoiceLine

LISTING_AGE_MS = 180_000
"""The ledger does not say when a leader last listed; no longer ago than the estate allows."""

ENDS = (EventType.INSTANCE_FAILED, EventType.INSTANCE_ENDED, EventType.INSTANCE_LOST)
"""Whichever is told first: the end of a bill may wait for the provider's word."""


def checkers() -> tuple[Checker, ...]:
    """Those that need nothing but events, and what follows from them."""
    return (
        check_bounds.Placements(),
        check_floors.Committed(),
        check_causes.Whole(),
        check_owners.Mixed(),
        check_debts.PaidOnce(),
        check_told.Versions(),
        check_money.Usage(),
        check_money.Invoice(),
        check_money.Authority(),
    )


def chronicle(
    events: Sequence[Event], estate: Estate, region: str, *, end: int, stream: Sequence[Lifecycle]
) -> Chronicle:
    """What the events tell, as a world would have written it; `stream` is what the cloud said of its servers."""
    told = Chronicle(events={"a": list(events)}, end=end)
    start = events[0].recorded_at
    told.reviewed.append(Reviewed(start, events[0].commit, 1, estate))
    told.led.append(Led(start, "a", 1))
    projects = {pool.name: pool.project for pool in estate.pools_of(region)}
    whole = frozenset(projects.values())
    refused = {(e.instance, e.recorded_at) for e in events if e.type is EventType.INSTANCE_FAILED}
    billed = {e.instance for e in events if e.type is EventType.INSTANCE_STARTED}
    over: set[str] = set()
    said = {happened.name for happened in stream if happened.kind in (LifecycleKind.DELETED, LifecycleKind.FAILED)}
    for event in events:
        at, name = event.recorded_at, event.instance
        if event.type is EventType.CLAIM_CHANGED:
            told.wanted.append((at, event.workload, int(event.data["units"])))
        elif event.type in (EventType.NOTICE_RECEIVED, EventType.NOTICE_WITHDRAWN):
            told.given.append((at, _notice(event)))
        elif event.type is EventType.RELEASE_ASKED:
            told.acts.append(Act(at, "a", 1, Call.ASK_RETURN, name))
        ends = event.type in ENDS or (event.type is EventType.RELEASE_ASKED and name not in billed)
        if ends and name not in over:
            over.add(name)
            # nothing tells the end of what was released and never ran
            told.ended.append(Ended(at, name, name, None, EndCause.DELETED, None, told=name in said))
        if event.type is EventType.INSTANCE_REQUESTED:
            told.looks.append(_clear_look(at, whole))
            told.acts += [] if (name, at) in refused else [_created(event, projects[event.pool])]
    told.moved += [Moved(m.at, m.name, m.name, m.pool) for m in stream if m.kind is LifecycleKind.MOVED]
    return told


def _clear_look(at: int, whole: frozenset[str]) -> Look:
    return Look(
        at=at,
        replica="a",
        epoch=1,
        leads=True,
        whole=whole,
        listed_at=at - LISTING_AGE_MS,
        told=True,
        silent=frozenset(),
        git=True,
        clock=True,
        disk=True,
        pending=0,
        stopped="",
    )


def _created(event: Event, project: str) -> Act:
    return Act(
        at=event.recorded_at,
        replica="a",
        epoch=1,
        call=Call.CREATE,
        name=event.instance,
        server=event.instance,
        project=project,
        pool=event.pool,
        workload=event.workload,
        units=int(event.data["units"]),
        paid=str(event.data["paid"]),
    )


def _notice(event: Event) -> Notice:
    kind = NoticeKind(str(event.data.get("kind", "reclaim")))
    return Notice(
        id=event.id,
        server=event.instance,
        name=event.instance,
        pool=event.pool,
        reclaim=str(event.data["reclaim"]),
        kind=kind,
        issued_at=event.occurred_at,
        ends_at=int(event.data.get("ends_at", 0)),
        withdrawn=event.type is EventType.NOTICE_WITHDRAWN,
    )


def broken(told: Chronicle, region: str, invoice: Iterable[InvoiceLine] = ()) -> list[Broken]:
    """What these checkers find; the invoice's servers are known by their names."""
    told.invoice = tuple(replace(line, server=line.name) for line in invoice)
    return Reader(region, checkers()).close(told)


def names(found: Iterable[Broken]) -> set[str]:
    """Which checkers found something."""
    return {each.checker for each in found}

"""How one thing led to another: chains of causes as values, for `ebbtide explain` and the report.

Pure: the caller brings the events (from ClickHouse, or from a list). An event names the one before it by `caused_by`;
following it up ends at a notice, a claim or a reviewed file, following it down ends at lost work and money.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ledger.events import Event, EventType
from ledger.money import rounded

DEEPEST = 64
"""Steps between an event and its root; more is a loop."""


@dataclass(frozen=True, slots=True)
class Chain:
    """All that led to one event (`up`, with it, root first) and all that followed (`down`, with it, by time)."""

    event_id: str
    up: tuple[Event, ...]
    down: tuple[Event, ...]
    costs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a story: how deep below its root it stands, what happened, and the ticks that were paid for it.

    `ticks` is None for events that no money follows from.
    """

    depth: int
    event: Event
    what: str
    ticks: int | None


def chain_up(events: Iterable[Event], event_id: str) -> tuple[Event, ...]:
    """The event and all that caused it, root first, as far as the events reach; empty for an unknown id."""
    known = {event.id: event for event in events}
    path: list[Event] = []
    at = known.get(event_id)
    while at is not None and len(path) <= DEEPEST and at not in path:
        path.append(at)
        at = known.get(at.caused_by)
    return tuple(reversed(path))


def chain_down(events: Iterable[Event], event_id: str) -> tuple[Event, ...]:
    """The event and all that it led to, by time; empty for an unknown id."""
    known = {event.id: event for event in events}
    below = _followers(known.values())
    found: dict[str, Event] = {}
    edge = [known[event_id]] if event_id in known else []
    while edge:
        found.update((event.id, event) for event in edge)
        edge = [after for event in edge for after in below.get(event.id, ()) if after.id not in found]
    return tuple(sorted(found.values(), key=_by_time))


def chain(events: Iterable[Event], event_id: str) -> Chain:
    """Both, from a list of events, without costs."""
    everything = tuple(events)
    return Chain(event_id, chain_up(everything, event_id), chain_down(everything, event_id))


def told(events: Iterable[Event], costs: Mapping[str, int] | None = None) -> tuple[Step, ...]:
    """The events as a story: each below what caused it, what happened first standing first.

    Events whose cause is not among them begin at depth 0. Every event stands in the story exactly once.
    """
    known = {event.id: event for event in events}
    below = _followers(known.values())
    roots = sorted((event for event in known.values() if event.caused_by not in known), key=_by_time)
    steps: list[Step] = []
    seen: set[str] = set()
    waiting = [(0, event) for event in reversed(roots)]
    while waiting:
        depth, event = waiting.pop()
        if event.id in seen:
            continue
        seen.add(event.id)
        steps.append(Step(depth, event, sentence(event), (costs or {}).get(event.id)))
        waiting.extend((depth + 1, after) for after in reversed(below.get(event.id, ())))
    looped = sorted((event for event in known.values() if event.id not in seen), key=_by_time)
    steps.extend(Step(0, event, sentence(event), (costs or {}).get(event.id)) for event in looped)
    return tuple(steps)


def told_chain(chain_of: Chain) -> tuple[Step, ...]:
    """A chain's story, from its root down past the event asked for."""
    return told((*chain_of.up, *chain_of.down), chain_of.costs)


def sentence(event: Event) -> str:
    """What happened, in one plain line with its numbers."""
    template = _SENTENCES.get(event.type, event.type.value)
    facts = {name: getattr(event, name) or "-" for name in ("region", "workload", "pool", "instance", "actor")}
    if "unit_ms" in event.data:
        facts["unit_minutes"] = f"{int(event.data['unit_ms']) / 60_000:,.1f}"
    return template.format_map(facts | dict(event.data) | {"cause": event.cause.value})


def priced(step: Step, currency: str) -> str:
    """The step's money for people, empty where there is none."""
    return "" if step.ticks is None else f"{rounded(step.ticks, places=4)} {currency}"


_SENTENCES: Mapping[EventType, str] = {
    EventType.RATE_KNOWN: "pool {pool} costs {rate} {currency} an hour, guaranteed {guaranteed}",
    EventType.CLAIM_CHANGED: "{workload} claims {units} units",
    EventType.INSTANCE_REQUESTED: "{instance} requested in {pool} for {workload}, {units} units paid as {paid}",
    EventType.INSTANCE_FAILED: "{instance} could not be had in {pool}: {error}",
    EventType.INSTANCE_STARTED: "{instance} started in {pool} for {workload}, {units} units paid as {paid}",
    EventType.INSTANCE_JOINED: "{instance} joined its scheduler",
    EventType.INSTANCE_MOVED: "{instance} was moved to {pool}",
    EventType.INSTANCE_ENDED: "{instance} ended",
    EventType.RELEASE_ASKED: "{instance} is to be released",
    EventType.NOTICE_RECEIVED: "{instance} has notice of {reclaim} ({kind})",
    EventType.NOTICE_WITHDRAWN: "the notice of {reclaim} for {instance} was withdrawn",
    EventType.DRAIN_STARTED: "{instance} drains",
    EventType.DRAIN_ENDED: "{instance} drained: {outcome}",
    EventType.INSTANCE_LOST: "{instance} was lost",
    EventType.INSTANCE_FOUND: "{instance} was given up, and is there",
    EventType.USAGE: "{units} of {of_units} slots of {instance} {use}, paid as {paid}",
    EventType.WORK_LOST: "{workload} does {unit_minutes} unit-minutes of work again",
    EventType.RESTORED: "{workload} restored in {duration_ms} ms",
    EventType.STORAGE_CHARGED: "{workload} is charged {amount} {currency} for checkpoint storage",
    EventType.FOOTPRINT_CHARGED: "the orchestrator costs {amount} {currency}",
    EventType.FALLBACK_RESERVED: "{amount} {currency} reserved for fallback of {workload} by {authority}",
    EventType.FALLBACK_RETURNED: "fallback of {workload} returned to {authority}",
    EventType.POOL_EXCLUDED: "{pool} takes no placement: {cause}",
    EventType.POOL_PROBED: "{pool} is probed with one instance",
    EventType.POOL_READMITTED: "{pool} takes placement again",
    EventType.GUARD_REFUSED: "the guard refused to {action}: {cause}",
    EventType.SHORTFALL_BEGAN: "{workload} is short of {missing_units} units",
    EventType.SHORTFALL_ENDED: "{workload} has its minimum again",
    EventType.QUARANTINED: "{instance} is quarantined",
    EventType.TWIN_REMOVED: "{instance} has a second server, {server}, which is deleted",
    EventType.LEADER_BEGAN: "a replica leads the partition, term {term}",
    EventType.BREAKER_TRIPPED: "{breaker} stops actions: {message}",
    EventType.BREAKER_CLEARED: "{breaker} is over",
    EventType.STOP_CHANGED: "{who} ordered {order}: {reason}",
    EventType.LISTING_ACCEPTED: "{who} accepted a listing",
    EventType.DAY_OPENED: "{who} opened {day} for reservations",
    EventType.REMOVAL_APPROVED: "{approver} approved that {taken_units} of {before_units} units are taken away",
    EventType.TWIN_REMOVED: "{instance} has a second server, {server}, which is deleted",
}


def _followers(events: Iterable[Event]) -> dict[str, list[Event]]:
    below: dict[str, list[Event]] = {}
    for event in sorted(events, key=_by_time):
        below.setdefault(event.caused_by, []).append(event)
    return below


def _by_time(event: Event) -> tuple[int, str]:
    return event.occurred_at, event.id

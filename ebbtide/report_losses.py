"""What the dearest losses cost and how each came about: notice, drain, loss, replacement, work done again, money.

Pure; called by `report_data`. Events name what caused them, so a loss's money is found by following ids: the work lost
with it, its own draining time, the boots of what was requested in its place, and the loading of its restored units.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ebbtide.report_reading import Fate, Taking
from ledger.events import Event, EventType, Use
from ledger.story import sentence


@dataclass(frozen=True, slots=True)
class Told:
    """One line of a loss's chain: when, what happened, and the ticks paid for it where money follows."""

    at: int
    step: str
    what: str
    event_id: str
    ticks: int | None


@dataclass(frozen=True, slots=True)
class Loss:
    """One instance that was taken back, with its chain and its money in ticks."""

    taking: Taking
    redone: int
    draining: int
    restarting: int
    redone_unit_ms: int
    chain: tuple[Told, ...]

    @property
    def ticks(self) -> int:
        """All that was paid because of it."""
        return self.redone + self.draining + self.restarting


STEPS: Mapping[EventType, str] = {
    EventType.NOTICE_RECEIVED: "notice",
    EventType.DRAIN_STARTED: "drain begins",
    EventType.DRAIN_ENDED: "drain ends",
    EventType.INSTANCE_LOST: "loss",
    EventType.INSTANCE_ENDED: "server ends",
    EventType.INSTANCE_REQUESTED: "replacement asked for",
    EventType.INSTANCE_STARTED: "replacement starts",
    EventType.INSTANCE_JOINED: "replacement joins",
    EventType.WORK_LOST: "work to redo",
    EventType.RESTORED: "work restored",
    EventType.USAGE: "paid without work",
}


def paid_ids(events: Iterable[Event]) -> tuple[str, ...]:
    """The events whose costs `dearest` needs: lost work, and slots that drained or restarted."""
    dead = (Use.DRAINING.value, Use.RESTARTING.value)
    return tuple(
        e.id for e in events if e.type is EventType.WORK_LOST or (e.type is EventType.USAGE and e.data["use"] in dead)
    )


def dearest(
    events: Sequence[Event], found: Iterable[Taking], costs: Mapping[str, int], *, most: int = 10
) -> tuple[Loss, ...]:
    """The takings that cost most, dearest first, ties by time; `costs` are ticks by event id."""
    below: dict[str, list[Event]] = defaultdict(list)
    known: dict[str, Event] = {}
    for event in sorted(events, key=lambda e: (e.occurred_at, e.id)):
        known[event.id] = event
        below[event.caused_by].append(event)
    losses = [_loss(taking, known, below, costs) for taking in found]
    return tuple(sorted(losses, key=lambda one: (-one.ticks, one.taking.at, one.taking.instance))[:most])


def _loss(
    taking: Taking, known: Mapping[str, Event], below: Mapping[str, list[Event]], costs: Mapping[str, int]
) -> Loss:
    chain = [known[taking.cause_id]]
    queue = list(chain)
    while queue:
        for event in below.get(queue.pop(0).id, ()):
            if _belongs(event, taking) and event not in chain:
                chain.append(event)
                queue.append(event)
    if taking.event_id not in {event.id for event in chain}:
        chain.append(known[taking.event_id])
    lost = [e for e in chain if e.type is EventType.WORK_LOST]
    usage = [e for e in chain if e.type is EventType.USAGE]
    shown = sorted(chain, key=lambda e: (e.occurred_at, list(STEPS).index(e.type), e.id))
    return Loss(
        taking=taking,
        redone=sum(costs.get(e.id, 0) for e in lost),
        draining=sum(costs.get(e.id, 0) for e in usage if e.data["use"] == Use.DRAINING.value),
        restarting=sum(costs.get(e.id, 0) for e in usage if e.data["use"] == Use.RESTARTING.value),
        redone_unit_ms=sum(int(e.data["unit_ms"]) for e in lost),
        chain=_told(shown, costs),
    )


def _told(events: Iterable[Event], costs: Mapping[str, int]) -> tuple[Told, ...]:
    """One line for each event; restored units and slots without work are many, and stand in one line of each kind."""
    groups: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        many = event.type in (EventType.RESTORED, EventType.USAGE)
        groups.setdefault((STEPS[event.type], str(event.data.get("use", "")) if many else event.id), []).append(event)
    lines = []
    for (step, _), group in groups.items():
        ticks = [costs[e.id] for e in group if e.id in costs]
        what = _what(group[0]) if len(group) == 1 else _what_all(group)
        lines.append(Told(group[0].occurred_at, step, what, group[0].id, sum(ticks) if ticks else None))
    return tuple(lines)


def _what_all(group: Sequence[Event]) -> str:
    """Several events of one kind in one sentence."""
    places = len({event.instance for event in group})
    on = f"{places} instances" if places > 1 else group[0].instance
    if group[0].type is EventType.RESTORED:
        last = span(group[-1].occurred_at - group[0].occurred_at)
        return f"{len(group)} units go on, on {on}, the last one {last} after the first"
    slots = sum(int(e.data["units"]) * (int(e.data["to_ms"]) - int(e.data["from_ms"])) for e in group)
    return f"slots of {on} {group[0].data['use']}, {span(slots)} of slot time in all"


def _belongs(event: Event, taking: Taking) -> bool:
    """Whether an event below a loss is its own: what happened to it, and to what stands in for it, until it serves."""
    if event.type is EventType.USAGE:
        return event.data["use"] == Use.RESTARTING.value or (
            event.data["use"] == Use.DRAINING.value and event.instance == taking.instance
        )
    if event.type in (EventType.DRAIN_STARTED, EventType.DRAIN_ENDED, EventType.WORK_LOST, EventType.INSTANCE_ENDED):
        return event.instance == taking.instance
    if event.type is EventType.INSTANCE_LOST:
        return event.instance == taking.instance
    return event.type in STEPS


def _what(event: Event) -> str:
    """The event in words, with times in seconds and minutes where the ledger counts milliseconds."""
    if event.type is EventType.WORK_LOST:
        return f"{event.workload} does {span(int(event.data['unit_ms']))} of unit work again"
    if event.type is EventType.RESTORED:
        duration = int(event.data["duration_ms"])
        return f"a unit goes on, on {event.instance}" + (f" after {span(duration)} of loading" if duration else "")
    if event.type is EventType.USAGE:
        length = span(int(event.data["to_ms"]) - int(event.data["from_ms"]))
        return (
            f"{event.data['units']} of {event.data['of_units']} slots of {event.instance} {event.data['use']}, {length}"
        )
    return sentence(event)


def span(ms: int) -> str:
    """A length of time for people: seconds below two minutes, then minutes, then hours."""
    if ms < 120_000:
        return f"{ms / 1000:.0f} s" if ms >= 10_000 or ms == 0 else f"{ms / 1000:.1f} s"
    if ms < 7_200_000:
        return f"{ms / 60_000:.0f} min"
    return f"{ms / 3_600_000:.1f} h"


FATES: Mapping[Fate, str] = {
    Fate.RETURNED: "drained, given back before its notice ended",
    Fate.ENDED: "taken at the end of its notice",
    Fate.UNNOTICED: "lost without notice",
}
"""How an instance ended, in words."""

"""One instance's life as values: why it was asked for, what took it, what replaced it, and what all of that cost.

`ebbtide explain action` builds it from ledger events and renders it. Pure: the caller brings the events of the
instance, of what followed, and the ticks paid for each of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ledger.events import Event, EventType, Use


@dataclass(frozen=True, slots=True)
class Drain:
    """One drain; `ended` is None when the node was gone first."""

    began: Event
    ended: Event | None


@dataclass(frozen=True, slots=True)
class Replacement:
    """An instance asked for to make this one good, with its start and its join where they came."""

    requested: Event
    started: Event | None
    joined: Event | None


@dataclass(frozen=True, slots=True)
class Share:
    """What slots of the instance did: slot-milliseconds and ticks."""

    unit_ms: int
    ticks: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What the end of the instance cost, in ticks, by what was paid for nothing."""

    redone: int
    draining: int
    restarting: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.redone + self.draining + self.restarting


@dataclass(frozen=True, slots=True)
class Life:
    """Everything the ledger holds about one instance. `root` is why it was asked for, as far up as the chain goes."""

    instance: str
    workload: str
    pool: str
    root: tuple[Event, ...]
    requested: Event | None
    started: Event | None
    joined: Event | None
    ended: Event | None
    failed: Event | None
    released: Event | None
    lost: Event | None
    notices: tuple[Event, ...]
    withdrawn: tuple[Event, ...]
    drains: tuple[Drain, ...]
    work_lost: tuple[Event, ...]
    restores: tuple[Event, ...]
    replacements: tuple[Replacement, ...]
    uses: Mapping[str, Share]
    cost: Cost
    costs: Mapping[str, int]

    @property
    def taken(self) -> bool:
        """Whether the provider took it."""
        back = {event.caused_by for event in self.withdrawn}
        return self.lost is not None or any(notice.id not in back for notice in self.notices)


def life(
    instance: str, own: Sequence[Event], *, root: Sequence[Event], after: Sequence[Event], costs: Mapping[str, int]
) -> Life:
    """The life from its own events, the chain above its request, and all that followed its notice, loss and work."""
    by_type: dict[EventType, list[Event]] = defaultdict(list)
    for event in own:
        by_type[event.type].append(event)

    def first(kind: EventType) -> Event | None:
        return next(iter(by_type[kind]), None)

    ended = {event.caused_by: event for event in by_type[EventType.DRAIN_ENDED]}
    subject = own[0]
    return Life(
        instance=instance,
        workload=next((event.workload for event in own if event.workload), ""),
        pool=next((event.pool for event in own if event.pool), subject.pool),
        root=tuple(root),
        requested=first(EventType.INSTANCE_REQUESTED),
        started=first(EventType.INSTANCE_STARTED),
        joined=first(EventType.INSTANCE_JOINED),
        ended=first(EventType.INSTANCE_ENDED),
        failed=first(EventType.INSTANCE_FAILED),
        released=first(EventType.RELEASE_ASKED),
        lost=first(EventType.INSTANCE_LOST),
        notices=tuple(by_type[EventType.NOTICE_RECEIVED]),
        withdrawn=tuple(by_type[EventType.NOTICE_WITHDRAWN]),
        drains=tuple(Drain(event, ended.get(event.id)) for event in by_type[EventType.DRAIN_STARTED]),
        work_lost=tuple(by_type[EventType.WORK_LOST]),
        restores=tuple(event for event in after if event.type is EventType.RESTORED),
        replacements=_replacements(instance, after),
        uses=_uses(by_type[EventType.USAGE], costs),
        cost=_cost(own, after, costs),
        costs=costs,
    )


def causes_to_follow(own: Iterable[Event]) -> tuple[str, ...]:
    """The ids of an instance's events below which stands what its end led to."""
    kinds = (EventType.NOTICE_RECEIVED, EventType.INSTANCE_LOST, EventType.WORK_LOST)
    return tuple(event.id for event in own if event.type in kinds)


def _replacements(instance: str, after: Iterable[Event]) -> tuple[Replacement, ...]:
    others: dict[str, dict[EventType, Event]] = defaultdict(dict)
    for event in after:
        if event.instance and event.instance != instance:
            others[event.instance].setdefault(event.type, event)
    return tuple(
        Replacement(
            found[EventType.INSTANCE_REQUESTED],
            found.get(EventType.INSTANCE_STARTED),
            found.get(EventType.INSTANCE_JOINED),
        )
        for found in others.values()
        if EventType.INSTANCE_REQUESTED in found
    )


def _uses(usage: Iterable[Event], costs: Mapping[str, int]) -> dict[str, Share]:
    sums: dict[str, tuple[int, int]] = {}
    for event in usage:
        unit_ms, ticks = sums.get(str(event.data["use"]), (0, 0))
        length = int(event.data["to_ms"]) - int(event.data["from_ms"])
        sums[str(event.data["use"])] = unit_ms + length * int(event.data["units"]), ticks + costs.get(event.id, 0)
    return {use.value: Share(*sums[use.value]) for use in Use if use.value in sums}


def _cost(own: Iterable[Event], after: Iterable[Event], costs: Mapping[str, int]) -> Cost:
    """Work redone and own slots that drained, and slots elsewhere that booted or loaded because of it."""
    every = {event.id: event for event in (*own, *after)}
    paid = {"redone": 0, "draining": 0, "restarting": 0}
    mine = {event.id for event in own}
    for event in every.values():
        ticks = costs.get(event.id, 0)
        if event.type is EventType.WORK_LOST:
            paid["redone"] += ticks
        elif event.type is EventType.USAGE:
            use = event.data["use"]
            if use == Use.DRAINING.value and event.id in mine:
                paid["draining"] += ticks
            elif use == Use.RESTARTING.value and event.id not in mine:
                paid["restarting"] += ticks
    return Cost(**paid)

"""How much of a workload could fall together, and how much did: bounds judged from events, apart from the planner.

Called by `simulation.summary`. Units are counted over capacity domains and bounding correlation groups with the one
function of `correlation_groups.spread`; D is the claim that the ledger holds. Written apart from planner and guard on
purpose. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from correlation_groups.spread import limit, lot
from ledger.causes import Cause
from ledger.events import Event, EventType, Paid
from ledger.reports import Period
from reconciler.desired import Partition

WINDOW_MS = 180_000
"""What falls within three minutes falls together (the design's window for learning groups)."""

MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class Act:
    """One request of ours after which a workload had more `units` in a place than the `allowed` of its `desired`."""

    event: str
    at: int
    workload: str
    place: str
    units: int
    allowed: int
    desired: int


@dataclass(frozen=True, slots=True)
class Fall:
    """Running units of one workload that fell within one window, in one place or (place empty) in several at once.

    A drain says how many units it ended; an instance that fell without notice counts with all that it could hold.
    `allowed` is the bound for the `desired` units of that moment, `allowed_then` the one that held when the last of
    what fell was asked for: claims shrink, and what stands above the new bound leaves at its pace.
    """

    at: int
    workload: str
    place: str
    units: int
    allowed: int
    desired: int
    allowed_then: int

    @property
    def permille(self) -> int:
        """The loss in thousandths of the bound of its moment: over 1000 is more than that."""
        return self.units * 1000 // self.allowed

    @property
    def broke(self) -> bool:
        """Whether it exceeds the bound even as it was when the units were placed."""
        return self.units > max(self.allowed, self.allowed_then)


@dataclass(frozen=True, slots=True)
class _Loss:
    at: int
    pool: str
    units: int
    desired: int
    desired_then: int


@dataclass(frozen=True, slots=True)
class Concentration:
    """`acts` broke a bound (the first ones listed, `broken` counts all of `requests`); `worst_place` is the largest
    fall in one domain or group against its bound, `worst_together` the largest of everything that fell in a window
    against the group bound. `falls_over` windows exceeded the bound of one place, `falls_broke` of them also the one
    that held when the units were placed.
    """

    requests: int
    broken: int
    acts: tuple[Act, ...]
    worst_place: Fall | None
    worst_together: Fall | None
    falls_over: int
    falls_broke: int


@dataclass
class _Standing:
    """What the events have said so far."""

    part: Partition
    claimed: dict[str, int] = field(default_factory=dict)
    units: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    held: dict[str, tuple[str, str, int, int]] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)

    def desired(self, workload: str) -> int:
        return max(0, self.claimed.get(workload, 0) - self.part.contract_by_name[workload].floor)

    def places(self, pool: str) -> tuple[str, ...]:
        domain = self.part.pool_by_name[pool].domain
        return (domain, *self.part.groups.get(domain, ()))

    def allowed(self, workload: str, place: str, pool: str, units: int) -> int:
        shares = self.part.shares[workload]
        domain = self.part.pool_by_name[pool].domain
        share = shares.pool_permille if place == domain else shares.group_permille
        gang = self.part.contract_by_name[workload].gang_size
        return limit(share, self.desired(workload), lot(units, gang).units)

    def exempt(self, workload: str) -> bool:
        gang = self.part.contract_by_name[workload].gang_size
        return self.desired(workload) <= gang > 1

    def add(self, event: Event, units: int) -> None:
        self.held[event.instance] = event.workload, event.pool, units, self.desired(event.workload)
        for place in self.places(event.pool):
            self.units[event.workload, place] += units

    def move(self, instance: str, pool: str) -> None:
        workload, _, units, desired = self.held[instance]
        self.remove(instance)
        self.held[instance] = workload, pool, units, desired
        for place in self.places(pool):
            self.units[workload, place] += units

    def remove(self, instance: str) -> None:
        if instance in self.held:
            workload, pool, units, _ = self.held.pop(instance)
            for place in self.places(pool):
                self.units[workload, place] -= units


def concentration(events: Sequence[Event], part: Partition, period: Period) -> Concentration:
    """Acts and falls of the period against the bounds of `part`; events stand in the order in which they were told."""
    standing = _Standing(part)
    withdrawn = {e.instance for e in events if e.type is EventType.NOTICE_WITHDRAWN}
    acts: list[Act] = []
    fell: dict[str, list[_Loss]] = defaultdict(list)
    seen: set[str] = set()
    requests = 0
    for event in events:
        _follow(standing, event)
        inside = period.from_ms <= event.occurred_at < period.to_ms
        if event.type is EventType.INSTANCE_REQUESTED and event.data["paid"] == Paid.RECLAIMABLE.value:
            requests += inside
            acts += _judged(standing, event) if inside else []
        elif inside and _falls(event, withdrawn) and event.instance not in seen and event.instance in standing.held:
            seen.add(event.instance)
            workload, pool, holds, then = standing.held[event.instance]
            if units := int(event.data.get("units", holds)):
                fell[workload].append(_Loss(event.occurred_at, pool, units, standing.desired(workload), then))
        if event.type in (EventType.INSTANCE_ENDED, EventType.INSTANCE_LOST):
            standing.remove(event.instance)
    places, together = _windows(fell, standing)
    return Concentration(
        requests=requests,
        broken=len({act.event for act in acts}),
        acts=tuple(acts[:MOST_LISTED]),
        worst_place=max(places, key=_worst, default=None),
        worst_together=max(together, key=_worst, default=None),
        falls_over=sum(fall.permille > 1000 for fall in places),
        falls_broke=sum(fall.broke for fall in places),
    )


def _follow(standing: _Standing, event: Event) -> None:
    """Claims, and instances that are asked for, fail, or are let go before they started."""
    match event.type:
        case EventType.CLAIM_CHANGED:
            standing.claimed[event.workload] = int(event.data["units"])
        case EventType.INSTANCE_REQUESTED if event.data["paid"] == Paid.RECLAIMABLE.value:
            standing.add(event, int(event.data["units"]))
        case EventType.INSTANCE_STARTED:
            standing.started.add(event.instance)
        case EventType.INSTANCE_MOVED if event.instance in standing.held:
            standing.move(event.instance, event.pool)
        case EventType.INSTANCE_FAILED:
            standing.remove(event.instance)
        case EventType.RELEASE_ASKED if event.instance not in standing.started:
            standing.remove(event.instance)
        case _:
            return


def _judged(standing: _Standing, event: Event) -> list[Act]:
    """The bounds that stand broken after this request."""
    workload = event.workload
    if standing.exempt(workload):
        return []
    found = []
    for place in standing.places(event.pool):
        allowed = standing.allowed(workload, place, event.pool, int(event.data["units"]))
        units = standing.units[workload, place]
        if units > allowed:
            desired = standing.desired(workload)
            found.append(Act(event.id, event.occurred_at, workload, place, units, allowed, desired))
    return found


def _falls(event: Event, withdrawn: set[str]) -> bool:
    """Whether units fall here: a drain on a notice that stands, or a loss without one."""
    noticed = event.type is EventType.DRAIN_STARTED and event.caused_by.startswith(EventType.NOTICE_RECEIVED.value)
    unnoticed = event.type is EventType.INSTANCE_LOST and event.cause is Cause.LOST_WITHOUT_NOTICE
    return unnoticed or (noticed and event.instance not in withdrawn)


def _windows(fell: Mapping[str, list[_Loss]], standing: _Standing) -> tuple[list[Fall], list[Fall]]:
    """For every fall, the window that it opens: by place, and all places together against the group bound."""
    places: list[Fall] = []
    together: list[Fall] = []
    for workload, losses in fell.items():
        losses.sort(key=lambda loss: loss.at)
        shares = standing.part.shares[workload]
        gang = standing.part.contract_by_name[workload].gang_size
        for number, first in enumerate(losses):
            if first.desired <= gang > 1:
                continue
            window = [loss for loss in losses[number:] if loss.at < first.at + WINDOW_MS]
            domains = {standing.part.pool_by_name[loss.pool].domain for loss in window}
            for place, here in _by_place(window, standing).items():
                share = shares.pool_permille if place in domains else shares.group_permille
                places.append(_fall(workload, place, here, share=share, gang=gang))
            together.append(_fall(workload, "", window, share=shares.group_permille, gang=gang))
    return places, together


def _fall(workload: str, place: str, losses: Sequence[_Loss], *, share: int, gang: int) -> Fall:
    largest = max(lot(loss.units, gang).units for loss in losses)
    desired, then = losses[0].desired, max(loss.desired_then for loss in losses)
    return Fall(
        at=losses[0].at,
        workload=workload,
        place=place,
        units=sum(loss.units for loss in losses),
        allowed=limit(share, desired, largest),
        desired=desired,
        allowed_then=limit(share, then, largest),
    )


def _by_place(window: Iterable[_Loss], standing: _Standing) -> dict[str, list[_Loss]]:
    found: dict[str, list[_Loss]] = defaultdict(list)
    for loss in window:
        for place in standing.places(loss.pool):
            found[place].append(loss)
    return found


def _worst(fall: Fall) -> tuple[int, int, int, str]:
    return fall.permille, fall.units, -fall.at, fall.workload

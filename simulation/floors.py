"""Whether promised capacity stood: floors on committed capacity, and minimums, minute by minute, from events alone.

Called by `simulation.summary`. It believes joins, drains and ends, never what a planner intended. Times are
milliseconds since the epoch. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ledger.events import Event, EventType, Paid
from ledger.reports import Period
from reconciler.desired import Partition

COMMITTED = frozenset({Paid.FLOOR.value, Paid.FALLBACK.value})


@dataclass(frozen=True, slots=True)
class Floors:
    """`contracts` promise `units` on committed capacity; `kept` of them had all of theirs the whole time.

    `below` holds the others: workload -> milliseconds with less than the floor.
    """

    contracts: int
    units: int
    kept: int
    below: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A workload had fewer running units than its minimum; `to_ms` is the period's end where it lasted."""

    workload: str
    tier: int
    from_ms: int
    to_ms: int
    missing_units: int
    event: str

    @property
    def minutes(self) -> int:
        """Its length, minutes begun counted whole."""
        return -(-(self.to_ms - self.from_ms) // 60_000)


def floors(events: Sequence[Event], part: Partition, period: Period) -> Floors:
    """How long each contract with a floor had fewer units on joined committed instances than it promises."""
    promised = {c.name: c.floor for c in part.contracts if c.floor}
    below: dict[str, int] = {}
    changes = _changes(events)
    for workload, floor in promised.items():
        missing = _below(changes.get(workload, ()), floor, period)
        if missing:
            below[workload] = missing
    return Floors(len(promised), sum(promised.values()), len(promised) - len(below), below)


def shortfalls(events: Iterable[Event], part: Partition, period: Period) -> tuple[Shortfall, ...]:
    """Every shortfall that touches the period, cut to it, strictest tier first."""
    began: dict[str, Event] = {}
    found = []

    def close(begin: Event, to_ms: int) -> None:
        contract = part.contract_by_name.get(begin.workload)
        start, end = max(begin.occurred_at, period.from_ms), min(to_ms, period.to_ms)
        if contract is not None and start < end:
            missing = int(begin.data["missing_units"])
            found.append(Shortfall(begin.workload, contract.tier.rank, start, end, missing, begin.id))

    for event in events:
        if event.type is EventType.SHORTFALL_BEGAN:
            began[event.workload] = event
        elif event.type is EventType.SHORTFALL_ENDED and event.workload in began:
            close(began.pop(event.workload), event.occurred_at)
    for event in began.values():
        close(event, period.to_ms)
    return tuple(sorted(found, key=lambda s: (s.tier, s.workload, s.from_ms)))


def _changes(events: Iterable[Event]) -> dict[str, list[tuple[int, int]]]:
    """Workload -> (time, change in units) of committed instances that are nodes."""
    units: dict[str, int] = {}
    standing: set[str] = set()
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        name = event.instance
        if event.type is EventType.INSTANCE_STARTED and event.data["paid"] in COMMITTED:
            units[name] = int(event.data["units"])
        if name not in units:
            continue
        comes = event.type is EventType.INSTANCE_JOINED or (
            event.type is EventType.DRAIN_ENDED and event.data["outcome"] == "withdrawn"
        )
        leaves = event.type in (EventType.DRAIN_STARTED, EventType.INSTANCE_LOST, EventType.INSTANCE_ENDED)
        if comes and name not in standing:
            standing.add(name)
            changes[event.workload].append((event.occurred_at, units[name]))
        elif leaves and name in standing:
            standing.discard(name)
            changes[event.workload].append((event.occurred_at, -units[name]))
    return changes


def _below(changes: Iterable[tuple[int, int]], floor: int, period: Period) -> int:
    """Milliseconds of the period in which the running sum of changes is less than the floor."""
    standing, since, missing = 0, period.from_ms, 0
    for at, change in sorted(changes):
        until = min(max(at, period.from_ms), period.to_ms)
        if standing < floor:
            missing += until - since
        standing, since = standing + change, until
    return missing + (period.to_ms - since if standing < floor else 0)

"""What a day's events say, as values for pictures: takings, waves, exclusions, drains and who fell together.

Pure; called by `report_data`. An instance counts once: by the end of its notice, or by its loss when none came. It
knows neither pictures nor money.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ledger.events import Event, EventType, Paid

SAME_WAVE_MS = 180_000
"""Takings in one hall at most this far apart are one wave: DESIGN's three minutes for falling together."""

SMALL_WORKLOAD = 8
"""Below this many units a workload cannot be spread over eight pools, so its shares say nothing about spread."""


class Fate(Enum):
    """How an instance that the provider took back ended."""

    RETURNED = "returned"
    ENDED = "ended"
    UNNOTICED = "unnoticed"


@dataclass(frozen=True, slots=True)
class Taking:
    """One instance that the provider took back: when it was told (or fell), where, and how it ended.

    `event_id` is its loss when there is one, else its notice; `cause_id` is the root: the notice, or the loss itself.
    """

    at: int
    instance: str
    pool: str
    workload: str
    fate: Fate
    event_id: str
    cause_id: str


@dataclass(frozen=True, slots=True)
class Bin:
    """Instances taken back in one interval of the day, by how they ended."""

    at: int
    returned: int
    ended: int
    unnoticed: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.returned + self.ended + self.unnoticed


@dataclass(frozen=True, slots=True)
class FoundWave:
    """Takings of one hall that came within three minutes of each other."""

    hall: str
    begins: int
    ends: int
    instances: int


@dataclass(frozen=True, slots=True)
class Closed:
    """A time in which a pool took no placement; open ones end with the day."""

    pool: str
    begins: int
    ends: int
    cause: str


@dataclass(frozen=True, slots=True)
class Probe:
    """One instance sent to a pool to see whether it holds; `succeeded` when an earlier one did."""

    pool: str
    at: int
    succeeded: bool


@dataclass(frozen=True, slots=True)
class DrainTime:
    """One drain that answered a notice: how long it took and how it ended."""

    tier: str
    duration_ms: int
    outcome: str


@dataclass(frozen=True, slots=True)
class HallShare:
    """How much of a hall's lent instances fell in a wave."""

    hall: str
    fallen: int
    stood: int

    @property
    def share(self) -> float:
        """Fallen over stood, 0 for an empty hall."""
        return self.fallen / self.stood if self.stood else 0.0


def takings(events: Iterable[Event], from_ms: int, to_ms: int) -> tuple[Taking, ...]:
    """Every instance taken back in `from_ms..to_ms`, once, in the order of time; withdrawn notices took nothing."""
    notices: dict[str, Event] = {}
    losses: dict[str, Event] = {}
    for event in sorted(events, key=lambda e: (e.occurred_at, e.id)):
        if event.type is EventType.NOTICE_RECEIVED:
            notices.setdefault(event.instance, event)
        elif event.type is EventType.NOTICE_WITHDRAWN:
            notices.pop(event.instance, None)
        elif event.type is EventType.INSTANCE_LOST:
            losses.setdefault(event.instance, event)
    found = []
    for name in sorted(notices.keys() | losses.keys()):
        notice, loss = notices.get(name), losses.get(name)
        first = notice or loss
        if first is None or not from_ms <= first.occurred_at < to_ms:
            continue
        # a loss after a notice that the node never saw is one without
        warned = notice is not None and (loss is None or bool(loss.data["noticed"]))
        fate = Fate.UNNOTICED if not warned else Fate.ENDED if loss is not None else Fate.RETURNED
        last = loss or first
        found.append(Taking(first.occurred_at, name, last.pool, last.workload, fate, last.id, first.id))
    return tuple(sorted(found, key=lambda t: (t.at, t.instance)))


def binned(found: Iterable[Taking], from_ms: int, to_ms: int, width_ms: int) -> tuple[Bin, ...]:
    """Takings counted in intervals of `width_ms`, empty ones included."""
    counts: dict[int, dict[Fate, int]] = {at: dict.fromkeys(Fate, 0) for at in range(from_ms, to_ms, width_ms)}
    for taking in found:
        if from_ms <= taking.at < to_ms:
            counts[from_ms + (taking.at - from_ms) // width_ms * width_ms][taking.fate] += 1
    return tuple(Bin(at, c[Fate.RETURNED], c[Fate.ENDED], c[Fate.UNNOTICED]) for at, c in counts.items())


def waves(found: Iterable[Taking], hall_of: Mapping[str, str]) -> tuple[FoundWave, ...]:
    """The day's waves, largest first, ties to the earlier one."""
    halls: dict[str, list[int]] = defaultdict(list)
    for taking in found:
        halls[hall_of.get(taking.pool, taking.pool)].append(taking.at)
    result = []
    for hall, times in halls.items():
        begins = before = times[0]
        count = 0
        for at in (*times, None):
            if at is None or at - before > SAME_WAVE_MS:
                result.append(FoundWave(hall, begins, before, count))
                begins, count = at or 0, 0
            before, count = at or 0, count + 1
    return tuple(sorted(result, key=lambda w: (-w.instances, w.begins, w.hall)))


def closures(events: Iterable[Event], from_ms: int, to_ms: int) -> tuple[tuple[Closed, ...], tuple[Probe, ...]]:
    """Times of exclusion and the probes that ended them, cut to the day; empty without such events."""
    opened: dict[str, Event] = {}
    closed: list[Closed] = []
    probes: list[Probe] = []

    def close(pool: str, at: int) -> None:
        event = opened.pop(pool, None)
        if event is not None and at > from_ms and event.occurred_at < to_ms:
            closed.append(Closed(pool, max(from_ms, event.occurred_at), min(to_ms, at), event.cause.value))

    for event in sorted(events, key=lambda e: (e.occurred_at, e.id)):
        if event.type is EventType.POOL_EXCLUDED:
            close(event.pool, event.occurred_at)
            opened[event.pool] = event
        elif event.type in (EventType.POOL_PROBED, EventType.POOL_READMITTED):
            close(event.pool, event.occurred_at)
            if event.type is EventType.POOL_PROBED and from_ms <= event.occurred_at < to_ms:
                probes.append(Probe(event.pool, event.occurred_at, event.cause.value == "probe_succeeded"))
    for pool in sorted(opened):
        close(pool, to_ms)
    return tuple(sorted(closed, key=lambda c: (c.begins, c.pool))), tuple(probes)


def drain_times(events: Sequence[Event], tier_of: Mapping[str, str], from_ms: int, to_ms: int) -> tuple[DrainTime, ...]:
    """Drains that answered a notice (not our own returns) and ended in the day."""
    notices = {event.id for event in events if event.type is EventType.NOTICE_RECEIVED}
    begun = {e.id: e for e in events if e.type is EventType.DRAIN_STARTED and e.caused_by in notices}
    return tuple(
        DrainTime(
            tier_of.get(event.workload, ""),
            event.occurred_at - begun[event.caused_by].occurred_at,
            str(event.data["outcome"]),
        )
        for event in events
        if event.type is EventType.DRAIN_ENDED and event.caused_by in begun and from_ms <= event.occurred_at < to_ms
    )


@dataclass(frozen=True, slots=True)
class _Standing:
    pool: str
    workload: str
    units: int


class _Sweep:
    """The reclaimable instances that stand, moved forward from instant to instant."""

    def __init__(self, events: Iterable[Event]) -> None:
        kinds = (EventType.INSTANCE_STARTED, EventType.INSTANCE_ENDED)
        self._ahead = sorted((e for e in events if e.type in kinds), key=lambda e: (e.occurred_at, e.id), reverse=True)
        self.up: dict[str, _Standing] = {}

    def until(self, at: int) -> Mapping[str, _Standing]:
        """What stands just before `at`, which never lies before the last one asked for."""
        while self._ahead and self._ahead[-1].occurred_at < at:
            event = self._ahead.pop()
            if event.type is EventType.INSTANCE_ENDED:
                self.up.pop(event.instance, None)
            elif event.data["paid"] == Paid.RECLAIMABLE.value:
                self.up[event.instance] = _Standing(event.pool, event.workload, int(event.data["units"]))
        return self.up


def hall_shares(
    events: Sequence[Event], found: Sequence[Taking], hall_of: Mapping[str, str], wave: FoundWave
) -> tuple[HallShare, ...]:
    """For each hall, how many of its lent instances stood before the wave and how many of those fell in it."""
    fell = {t.instance for t in found if wave.begins <= t.at <= wave.ends}
    stood: dict[str, int] = dict.fromkeys(sorted(set(hall_of.values())), 0)
    fallen = dict(stood)
    for name, one in _Sweep(events).until(wave.begins).items():
        hall = hall_of.get(one.pool, one.pool)
        stood[hall] = stood.get(hall, 0) + 1
        fallen[hall] = fallen.get(hall, 0) + (name in fell)
    return tuple(HallShare(hall, fallen[hall], count) for hall, count in stood.items())


def worst_shares(
    events: Sequence[Event], found: Sequence[Taking], hall_of: Mapping[str, str], waves_of_day: Sequence[FoundWave]
) -> tuple[tuple[str, float], ...]:
    """`(workload, the largest share of its lent units that one wave took)`, worst first; small workloads left out."""
    sweep = _Sweep(events)
    worst: dict[str, float] = {}
    for wave in sorted(waves_of_day, key=lambda w: w.begins):
        up = sweep.until(wave.begins)
        fell = [
            t.instance
            for t in found
            if wave.begins <= t.at <= wave.ends and hall_of.get(t.pool, t.pool) == wave.hall and t.instance in up
        ]
        hit = {up[name].workload for name in fell}
        units = dict.fromkeys(hit, 0)
        for one in up.values():
            if one.workload in hit:
                units[one.workload] += one.units
        for workload in hit:
            lost = sum(up[name].units for name in fell if up[name].workload == workload)
            if units[workload] >= SMALL_WORKLOAD:
                worst[workload] = max(worst.get(workload, 0.0), lost / units[workload])
    return tuple(sorted(worst.items(), key=lambda item: (-item[1], item[0])))

"""A game day: hours without control plane while tenants take capacity back, and what happens when it returns.

The region fills under the real loop; then every replica is dead for some hours, nodes go on draining by themselves, and
nothing is replaced; then a replica is back. Tells what the nodes did alone, what was missing, and cycle by cycle how
the region was put right. Called by `ebbtide simulate --scenario no-control-plane`; it decides nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ledger.events import Event, EventType
from pools.provider import Status
from reconciler.desired import Partition
from reconciler.pacing import RAMP_CYCLES, ramp_share
from simulation.cloud_model import EndCause, Happening, HappeningKind
from simulation.day import Day, setting
from simulation.leader import Leader
from simulation.policies import Policy, ours
from simulation.world import Progress, World

HOUR_MS = 3_600_000
RECORDED_RATE = 0.024
"""Losses per node-hour: the mean of the recorded cluster trace, which docs/limits.md states."""

MARKS_H = (1, 4, 12)
"""Hours after which docs/limits.md says what to expect."""

BACK_H = 6
"""Watched after the return: the ramp, the rate limit and the slowest restore fit several times."""

AGAIN = 0.98
"""As much of what is wanted runs again as before, to the two per cent that boots and joins at any time."""


@dataclass(frozen=True, slots=True)
class Absence:
    """When nobody decides: [begins, ends), hours after the day's begin."""

    begins_h: int
    hours: int

    @classmethod
    def worst(cls, day: Day, hours: int, day_begins: int) -> Absence:
        """The hours of the day in which most is taken back, the earliest of them."""
        taken: Counter[int] = Counter()
        for wave in day.waves:
            taken[(wave.at - day_begins) // HOUR_MS] += round(1000 * (wave.share or 0.0))
        choices = range(max(1, 24 - hours + 1))
        begins = max(choices, key=lambda h: (sum(taken[h + k] for k in range(hours)), -h))
        return cls(begins, hours)


@dataclass(frozen=True, slots=True)
class Standing:
    """The region at one moment: `alive` lent instances that serve, units that run and that are wanted, and contracts
    that run fewer units than their minimum.
    """

    at: int
    alive: int
    running: int
    wanted: int
    short: int


@dataclass(frozen=True, slots=True)
class Cycle:
    """One cycle after the return: what was asked for, released and refused, and what ran when it was decided."""

    at: int
    acquired: int
    replaced: int
    released: int
    refused: Mapping[str, int]
    standing: Standing


@dataclass
class Told:
    """What is noted while the scenario runs."""

    standings: list[Standing] = field(default_factory=list)
    ended: list[Happening] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    cycles: list[Cycle] = field(default_factory=list)

    def record(self, events: Sequence[Event]) -> None:
        """As a world's keeper."""
        self.events += events


@dataclass(frozen=True, slots=True)
class Short:
    """What was missing so many hours after the control plane went, of the lent instances that stood when it did."""

    hours: int
    lost: int
    of: int
    standing: Standing

    @property
    def share(self) -> float:
        """Lost, as a share."""
        return self.lost / self.of if self.of else 0.0

    @property
    def expected(self) -> float:
        """The same at the recorded mean rate, if losses fall evenly over what is left: 1 - e^(-rate x hours)."""
        return 1 - math.exp(-RECORDED_RATE * self.hours)


@dataclass(frozen=True, slots=True)
class Report:
    """The whole game day. `drains` counts what nodes began alone, by outcome; `losses` what ended, by the cloud's word.
    `largest` are the most instances that were asked for, replaced and released in the guard's window after the return, and
    `limits` what the region's settings allow of each. Times count from the return: until as much of what is wanted runs
    `again` as before, until it is `settled` (as much as at the end of the watch), until no more contracts are below
    their minimum than before; None where that did not come.
    """

    region: str
    title: str
    absence: Absence
    began: int
    ended: int
    before: Standing
    drains: Mapping[str, int]
    losses: Mapping[str, int]
    short: tuple[Short, ...]
    acted_while_away: int
    cycles: tuple[Cycle, ...]
    largest: tuple[int, int, int]
    limits: tuple[int, int, int]
    ramp: tuple[float, ...]
    again_after_ms: int | None
    settled_after_ms: int | None
    floors_after_ms: int | None
    broken: tuple[str, ...] = ()


class Away(Leader):
    """The real loop, dead between two moments."""

    def __init__(self, world: World, policy: Policy, *, begins: int, ends: int, told: Told) -> None:
        super().__init__(world, policy)
        self._around, self._begins, self._ends, self._told = world, begins, ends, told

    def next_at(self) -> int:
        """As the loop would, and at the end of the absence what fell into it."""
        due = super().next_at()
        return self._ends if self._begins <= due < self._ends else due

    def poke(self) -> None:
        """Nobody hears it meanwhile."""
        if not self._begins <= self._around.now < self._ends:
            super().poke()

    def act(self) -> bool:
        """One cycle, noted once the absence is over."""
        now, world, told = self._around.now, self._around, self._told
        before, standing = Counter(world.run_result.refusals), standing_of(world)
        since = len(told.events)
        done = super().act()
        if now >= self._ends:
            asked = Counter(_asked(event) for event in told.events[since:])
            told.cycles.append(
                Cycle(
                    at=now,
                    acquired=asked["acquired"],
                    replaced=asked["replaced"],
                    released=asked["released"],
                    refused=dict(Counter(world.run_result.refusals) - before),
                    standing=standing,
                )
            )
        return done


def _asked(event: Event) -> str:
    """What an event asks of the cloud, if anything."""
    if event.type is EventType.INSTANCE_REQUESTED:
        lost = event.caused_by.startswith(("notice.", "instance.lost"))
        return "replaced" if lost else "acquired"
    return "released" if event.type is EventType.RELEASE_ASKED else ""


def standing_of(world: World) -> Standing:
    """The region as it stands now, by the cloud's and the schedulers' word."""
    records = world.cloud.state.records.values()
    lent = [r for r in records if r.server.mark is not None and r.server.mark.paid == "reclaimable"]
    workloads = world.work.workloads.values()
    return Standing(
        at=world.now,
        alive=sum(r.server.status is Status.ACTIVE for r in lent),
        running=sum(w.running for w in workloads),
        wanted=sum(w.target for w in workloads),
        short=sum(w.running < min(w.contract.minimum, w.target) for w in workloads),
    )


def run_absence(
    part: Partition,
    day: Day,
    *,
    seed: int,
    hours: int,
    day_begins: int,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Let the game day pass."""
    absence = Absence.worst(day, hours, day_begins)
    begins, ends = (day_begins + h * HOUR_MS for h in (absence.begins_h, absence.begins_h + hours))
    told = Told()
    made = setting(part.estate, part.region, day, seed=seed, hours=absence.begins_h + hours + BACK_H)
    world = World(made, ours(part), told, lambda w, p: Away(w, p, begins=begins, ends=ends, told=told))

    def hear(happened: Happening) -> None:
        if happened.kind is HappeningKind.ENDED:
            told.ended.append(happened)

    world.hear = hear
    for at in [begins - 1, *(begins + h * HOUR_MS - 1 for h in MARKS_H if h <= hours)]:
        world.at(at, lambda: told.standings.append(standing_of(world)))
    world.run(progress)
    return _report(part, day, absence, told, begins=begins, ends=ends)


def _report(part: Partition, day: Day, absence: Absence, told: Told, *, begins: int, ends: int) -> Report:
    before, *later = told.standings
    lost = [one for one in told.ended if begins <= one.at < ends and one.cause is not EndCause.DELETED]
    lent = {
        e.instance for e in told.events if e.type is EventType.INSTANCE_REQUESTED and e.data["paid"] == "reclaimable"
    }
    short = tuple(
        Short(h, sum(one.name in lent for one in lost if one.at < begins + h * HOUR_MS), before.alive, standing)
        for h, standing in zip([h for h in MARKS_H if h <= absence.hours], later, strict=True)
    )
    limits = part.estate.region(part.region).guard
    window = limits.window * 1000
    goal = AGAIN * before.running / max(1, before.wanted)
    last = told.cycles[-1].standing
    settled = AGAIN * last.running / max(1, last.wanted)
    return Report(
        region=part.region,
        title=day.title,
        absence=absence,
        began=begins,
        ended=ends,
        before=before,
        drains=_drains(told.events, begins, ends),
        losses=dict(Counter(one.cause.value for one in lost if one.cause is not None)),
        short=short,
        acted_while_away=sum(bool(_asked(event)) for event in told.events if begins <= event.occurred_at < ends),
        cycles=tuple(told.cycles),
        largest=(
            _most([(c.at, c.acquired) for c in told.cycles], window),
            _most([(c.at, c.replaced) for c in told.cycles], window),
            _most([(c.at, c.released) for c in told.cycles], window),
        ),
        limits=(limits.acquire_count, limits.replace_count, limits.release_count),
        ramp=tuple(ramp_share(number) for number in range(RAMP_CYCLES)),
        again_after_ms=_since(ends, told.cycles, lambda s: s.running >= goal * s.wanted),
        settled_after_ms=_since(ends, told.cycles, lambda s: s.running >= settled * s.wanted),
        floors_after_ms=_since(ends, told.cycles, lambda s: s.short <= before.short),
    )


def _since(ends: int, cycles: Sequence[Cycle], reached: Callable[[Standing], bool]) -> int | None:
    """How long after the return a cycle found the region so."""
    return next((cycle.at - ends for cycle in cycles if reached(cycle.standing)), None)


def _drains(events: Sequence[Event], begins: int, ends: int) -> dict[str, int]:
    """Drains that began while nobody decided, and how each of them ended."""
    begun = {e.id for e in events if e.type is EventType.DRAIN_STARTED and begins <= e.occurred_at < ends}
    ended = [e for e in events if e.type is EventType.DRAIN_ENDED and e.caused_by in begun]
    outcomes = Counter(str(event.data["outcome"]) for event in ended)
    return {
        "begun": len(begun),
        "verified": outcomes["verified"],
        "overrun": outcomes["overrun"],
        "withdrawn": outcomes["withdrawn"],
        "cut_off": len(begun) - len(ended),
    }


def _most(counts: Sequence[tuple[int, int]], window: int) -> int:
    """The largest sum within any window that ends with a cycle."""
    return max((sum(n for at, n in counts if end - window < at <= end) for end, _ in counts), default=0)

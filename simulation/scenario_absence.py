"""A game day: hours without control plane while tenants take capacity back, and what happens when it returns.

A whole region fills under two replicas of the real reconciler; then both are dead for some hours, nodes go on draining
by themselves, and nothing is replaced; then they start again from their journals. Tells what the nodes did alone, what
was missing, and cycle by cycle how the region was put right, with every checker over it. Called by `ebbtide simulate
--scenario no-control-plane`; it decides nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ledger.events import Event, EventType
from pools.provider import Status
from reconciler.pacing import RAMP_CYCLES, ramp_share
from simulation.check_reading import Broken
from simulation.checking import Checks
from simulation.chronicle import Act, Call, Chronicle
from simulation.cloud_model import EndCause
from simulation.day import Day
from simulation.hunted import START, Ground, HuntedWorld, hunted
from simulation.replicas import Replicas
from simulation.world import Progress, World

HOUR_MS = 3_600_000
RECORDED_RATE = 0.024
"""Losses per node-hour: the mean of the recorded cluster trace, which docs/limits.md states."""

MARKS_H = (1, 4, 12)
"""Hours after which docs/limits.md says what to expect."""

FILLS_H = 3
"""Before the control plane may go, the region fills."""

REPLICAS = 2
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
    def worst(cls, day: Day, hours: int) -> Absence:
        """The hours of the day in which most is taken back, the earliest of them, once the region is full."""
        taken: Counter[int] = Counter()
        for wave in day.waves:
            taken[(wave.at - START) // HOUR_MS] += round(1000 * (wave.share or 0.0))
        choices = range(FILLS_H, max(FILLS_H, 24 - hours) + 1)
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
    """One cycle after the return: what was asked for (replacements among it), given back and refused, and what ran."""

    at: int
    acquired: int
    released: int
    refused: Mapping[str, int]
    standing: Standing


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
    `largest` are the most instances acquired (replacements among them) and released in one window of the guard after
    the return, and `limits` what the region's settings allow. Times count from the return: until as much of what is
    wanted runs `again` as before, until it is `settled` (as much as at the end of the watch), until no more contracts
    are below their minimum than before; None where that did not come.
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
    largest: tuple[int, int]
    limits: tuple[int, int]
    ramp: tuple[float, ...]
    again_after_ms: int | None
    settled_after_ms: int | None
    floors_after_ms: int | None
    broken: tuple[Broken, ...] = ()


class Watching:
    """What is noted while the scenario runs: the region at some moments, and every cycle after the return."""

    def __init__(self, ends: int) -> None:
        self.ends = ends
        self.standings: list[Standing] = []
        self.cycles: list[Cycle] = []
        self.world: World | None = None
        self._acts = 0
        self._refused: Counter[str] = Counter()

    def mark(self) -> None:
        """The region as it stands now."""
        if self.world is not None:
            self.standings.append(standing_of(self.world))

    def after(self, chronicle: Chronicle) -> None:
        """A cycle of the leader is over."""
        world = self.world
        if world is None:
            return
        asked = Counter(map(_asked, chronicle.acts[self._acts :]))
        refused = Counter(world.run_result.refusals)
        if world.now >= self.ends:
            self.cycles.append(
                Cycle(
                    at=world.now,
                    acquired=asked[Call.CREATE],
                    released=asked[Call.ASK_RETURN],
                    refused=dict(refused - self._refused),
                    standing=standing_of(world),
                )
            )
        self._acts, self._refused = len(chronicle.acts), refused


def _asked(act: Act) -> Call | None:
    """What an act asked of cloud or node, if it changed anything."""
    return act.call if act.fresh and act.call in (Call.CREATE, Call.ASK_RETURN) else None


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
    ground: Ground, day: Day, *, seed: int, hours: int, progress: Callable[[Progress], None] | None = None
) -> Report:
    """Let the game day pass."""
    absence = Absence.worst(day, hours)
    begins, ends = (START + h * HOUR_MS for h in (absence.begins_h, absence.begins_h + hours))
    watching = Watching(ends)
    days = (absence.begins_h + hours + BACK_H) / 24
    lived = hunted(seed, days, (), ground, after=watching.after, replicas=REPLICAS)
    world = watching.world = lived.world
    world.cloud.schedule(day.waves)
    lived.chronicle.quiet_from = ends
    world.at(begins, lambda: _kill(lived, ends))
    for at in [begins - 1, *(begins + h * HOUR_MS - 1 for h in MARKS_H if h <= hours)]:
        world.at(at, watching.mark)
    world.run(progress)
    broken = Checks(ground.region).close(lived.chronicle)
    return _report(ground, day, absence, watching, lived.chronicle, broken)


def _kill(lived: HuntedWorld, until: int) -> None:
    """Every replica's process ends, and none starts before `until`."""
    control = lived.world.control
    if not isinstance(control, Replicas):
        raise TypeError("a hunted world has replicas")
    for replica in control.all:
        replica.kill()
        replica.start_at = until


def _report(
    ground: Ground,
    day: Day,
    absence: Absence,
    watching: Watching,
    chronicle: Chronicle,
    broken: Sequence[Broken],
) -> Report:
    before, *later = watching.standings
    begins, ends = before.at + 1, watching.ends
    lost = [one for one in chronicle.ended if begins <= one.at < ends and one.cause is not EndCause.DELETED]
    lent = [one for one in lost if one.mark is not None and one.mark.paid == "reclaimable"]
    short = tuple(
        Short(h, sum(one.at < begins + h * HOUR_MS for one in lent), before.alive, standing)
        for h, standing in zip([h for h in MARKS_H if h <= absence.hours], later, strict=True)
    )
    cycles = watching.cycles
    limits = ground.estate.region(ground.region).guard
    window = limits.window * 1000
    goal = AGAIN * before.running / max(1, before.wanted)
    last = cycles[-1].standing
    settled = AGAIN * last.running / max(1, last.wanted)
    return Report(
        region=ground.region,
        title=day.title,
        absence=absence,
        began=begins,
        ended=ends,
        before=before,
        drains=_drains(chronicle.events[""], begins, ends),
        losses=dict(Counter(one.cause.value for one in lost)),
        short=short,
        acted_while_away=sum(begins <= act.at < ends for act in chronicle.acts),
        cycles=tuple(cycles),
        largest=(
            _most([(c.at, c.acquired) for c in cycles], window),
            _most([(c.at, c.released) for c in cycles], window),
        ),
        limits=(limits.acquire_count + limits.replace_count, limits.release_count),
        ramp=tuple(ramp_share(number) for number in range(RAMP_CYCLES)),
        again_after_ms=_since(ends, cycles, lambda s: s.running >= goal * s.wanted),
        settled_after_ms=_since(ends, cycles, lambda s: s.running >= settled * s.wanted),
        floors_after_ms=_since(ends, cycles, lambda s: s.short <= before.short),
        broken=tuple(broken),
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

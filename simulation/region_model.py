"""Draws a region's losses from a seed, so that a user without recorded traces has a history of the same kind.

The simulated cloud, the demo and the replay call `sample`; the result has the shape of an imported trace and says by
its source sentence that it is a model. The model knows parameters and a topology, and nothing of workloads or planners.

Losses come in waves of one aggregate, waves come in episodes, and episodes start by a Poisson process whose rate
changes with the hour, the weekday and a slow random factor: a cluster process (Neyman and Scott, Statistical approach
to problems of cosmology, JRSS B 20, 1958) driven by a log-Gaussian Cox process (Moller, Syversveen and Waagepetersen,
Log Gaussian Cox processes, Scand. J. Stat. 25, 1998). A node that is away cannot be lost, so the process is thinned by
its own past.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from contracts.errors import Refused
from simulation.region_parameters import DAYS_A_WEEK, HOURS_A_DAY, RegionParameters, Table, Train
from simulation.trace import KINDS, NEVER, Columns, Floats, Ints, OutageKind, Trace, TraceNode, build
from simulation.trace_measures import HOUR_MS, WAVE_MS, cut

DAY_MS: Final = HOURS_A_DAY * HOUR_MS
EPOCH_WEEKDAY: Final = 3
"""The first of January 1970 was a Thursday; Monday counts as 0."""
WARM_UP_DAYS: Final = 30
"""Drawn before the start and cut off, so that a sample opens with nodes away and episodes under way."""
MOST_DAYS: Final = 4000
LEAST_OUTAGE_MS: Final = 120_000
"""Shorter absences are flaps and no losses, as for the recorded trace that the parameters come from."""

_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class PoolShape:
    """A pool and how many nodes it has."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class AggregateShape:
    """A host aggregate and its pools; neighbours in this order count as neighbours in the building."""

    name: str
    pools: tuple[PoolShape, ...]


@dataclass(frozen=True, slots=True)
class HallShape:
    """A hall and its aggregates."""

    name: str
    aggregates: tuple[AggregateShape, ...]


@dataclass(frozen=True, slots=True)
class _Wave:
    """A wave before it meets the nodes: its episode's kind, its share beyond two nodes, whether it is the last one."""

    at: int
    aggregate: int
    train: Train
    share: float
    last: bool


@dataclass(frozen=True, slots=True)
class _Region:
    """A topology in numbers: nodes in order, each with its pool; aggregates as ranges of nodes, each with its hall."""

    pools: tuple[tuple[str, str, str], ...]
    pool_of_node: Ints
    names: tuple[str, ...]
    first: tuple[int, ...]
    hall_of_aggregate: tuple[int, ...]

    @property
    def aggregates(self) -> int:
        """How many aggregates there are."""
        return len(self.hall_of_aggregate)

    def nodes_of(self, aggregate: int) -> slice:
        """The nodes of an aggregate."""
        return slice(self.first[aggregate], self.first[aggregate + 1])


def topology_from(rows: Iterable[tuple[str, str, str, int]]) -> tuple[HallShape, ...]:
    """Halls from rows of pool, hall, aggregate and size in nodes, in the order in which each first appears."""
    halls: dict[str, dict[str, list[PoolShape]]] = {}
    for pool, hall, aggregate, size in rows:
        halls.setdefault(hall, {}).setdefault(aggregate, []).append(PoolShape(pool, size))
    return tuple(
        HallShape(hall, tuple(AggregateShape(name, tuple(pools)) for name, pools in aggregates.items()))
        for hall, aggregates in halls.items()
    )


def topology_of(trace: Trace) -> tuple[HallShape, ...]:
    """The halls, aggregates, pools and sizes of a trace, so that a model can be drawn for the same machine."""
    return topology_from((pool.name, pool.hall, pool.aggregate, pool.size) for pool in trace.pools)


def sample(parameters: RegionParameters, topology: Sequence[HallShape], *, start: int, days: int, seed: int) -> Trace:
    """A trace of `days` days from `start` (milliseconds) over a topology; equal arguments give an equal trace.

    Outages that began before `start` and last into it are in the trace, as in a part that `cut` takes from a record.
    Ends are drawn for every outage; those past the trace's end stay in it as they were drawn. Refused: no pools, two
    of one name, a pool without nodes, less than one day or more than `MOST_DAYS`.
    """
    if not 1 <= days <= MOST_DAYS:
        raise Refused(f"the region model draws 1 to {MOST_DAYS} days, not {days}")
    region = _region(topology)
    begin, end = start - WARM_UP_DAYS * DAY_MS, start + days * DAY_MS
    waves = _schedule(parameters, region, begin, end, seed)
    rows = _Losses(parameters, region, seed).run(waves, _single_times(parameters, region, begin, end, seed), end)
    whole = build(
        f"region-model-{seed}",
        source=f"Drawn from the region model with seed {seed}; {parameters.source}",
        span=(begin, end),
        pools=region.pools,
        nodes=[TraceNode(n, int(p), begin) for n, p in zip(region.names, region.pool_of_node, strict=True)],
        outages=rows,
        notes=(f"{parameters.no_notice_share:.0%} of losses come without notice: an assumption, no source records it",),
    )
    return cut(whole, start, end)


def _region(topology: Sequence[HallShape]) -> _Region:
    pools: list[tuple[str, str, str]] = []
    pool_of_node: list[int] = []
    names: list[str] = []
    first = [0]
    halls: list[int] = []
    for number, hall in enumerate(topology):
        for aggregate in hall.aggregates:
            for pool in aggregate.pools:
                if pool.size < 1:
                    raise Refused(f"pool {pool.name} has {pool.size} nodes; the region model needs at least one")
                pool_of_node.extend([len(pools)] * pool.size)
                names.extend(f"{pool.name}/n{i + 1:03d}" for i in range(pool.size))
                pools.append((pool.name, hall.name, aggregate.name))
            if len(names) > first[-1]:
                first.append(len(names))
                halls.append(number)
    if not pools:
        raise Refused("the region model needs a topology with at least one pool")
    if len({name for name, _, _ in pools}) < len(pools):
        raise Refused("two pools of the topology have the same name")
    return _Region(tuple(pools), np.array(pool_of_node, dtype=np.int64), tuple(names), tuple(first), tuple(halls))


def _schedule(parameters: RegionParameters, region: _Region, begin: int, end: int, seed: int) -> list[_Wave]:
    """Every wave of every aggregate in order of time; each aggregate draws from a stream of its own."""
    found: list[_Wave] = []
    for aggregate in range(region.aggregates):
        rng = np.random.default_rng([seed, 1, aggregate])
        size = region.first[aggregate + 1] - region.first[aggregate]
        for at in _episode_starts(parameters, rng, size, begin, end):
            found.extend(wave for wave in _episode(parameters, rng, int(at), aggregate) if wave.at < end)
    return sorted(found, key=lambda wave: (wave.at, wave.aggregate))


def _episode_starts(
    parameters: RegionParameters, rng: np.random.Generator, size: int, begin: int, end: int
) -> list[int]:
    """Instants of a Poisson process whose rate is constant within each hour."""
    chosen = parameters.episodes
    days = -(-(end - begin) // DAY_MS) + 1
    rate = chosen.per_100_nodes_a_day * size / 100 * _lognormal(rng, chosen.spread_sigma, 1)[0]
    hours = np.arange(begin // HOUR_MS, -(-end // HOUR_MS), dtype=np.int64)
    day = hours // HOURS_A_DAY
    slow = _memory(rng, chosen.memory_sigma, chosen.memory_half_life_days, days)[day - day[0]]
    hour_weight = _weights(chosen.hour_weights_utc)[hours % HOURS_A_DAY]
    day_weight = _weights(chosen.weekday_weights)[(day + EPOCH_WEEKDAY) % DAYS_A_WEEK]
    counts = rng.poisson(rate / HOURS_A_DAY * slow * hour_weight * day_weight)
    starts = np.repeat(hours * HOUR_MS, counts) + rng.integers(0, HOUR_MS, int(counts.sum()))
    return [int(at) for at in np.sort(starts) if begin <= at < end]


def _memory(rng: np.random.Generator, sigma: float, half_life_days: float, days: int) -> Floats:
    """A daily factor with mean 1 whose logarithm is an autoregression of the first order (Box and Jenkins, 1970)."""
    keep = 0.5 ** (1 / half_life_days)
    shocks = rng.standard_normal(days)
    level = np.empty(days)
    level[0] = shocks[0]
    for day in range(1, days):
        level[day] = keep * level[day - 1] + math.sqrt(1 - keep * keep) * shocks[day]
    return np.exp(sigma * level - sigma * sigma / 2)


def _episode(parameters: RegionParameters, rng: np.random.Generator, at: int, aggregate: int) -> list[_Wave]:
    train = parameters.storms if rng.random() < parameters.episodes.storm_share else parameters.ordinary
    count = max(1, round(float(train.waves.at(rng.random()))))
    gaps = 1000 * train.gap_s.at(rng.random(count - 1))
    times = at + np.concatenate((np.zeros(1), np.cumsum(gaps))).astype(np.int64)
    memory = train.share_memory
    scores = math.sqrt(memory) * rng.standard_normal() + math.sqrt(1 - memory) * rng.standard_normal(count)
    shares = train.share_beyond_two.at(np.array([_NORMAL.cdf(float(score)) for score in scores]))
    return [
        _Wave(int(time), aggregate, train, float(share), number == count - 1)
        for number, (time, share) in enumerate(zip(times, shares, strict=True))
    ]


def _single_times(
    parameters: RegionParameters, region: _Region, begin: int, end: int, seed: int
) -> list[tuple[int, int]]:
    """Instants and nodes of losses on their own, drawn for every node as if it were always up."""
    rng = np.random.default_rng([seed, 2])
    weight = _lognormal(rng, parameters.singles.pool_sigma, len(region.pools))[region.pool_of_node]
    counts = rng.poisson(parameters.singles.per_node_hour * (end - begin) / HOUR_MS * weight)
    nodes = np.repeat(np.arange(len(region.names)), counts)
    times = rng.integers(begin, end, len(nodes))
    return sorted(zip(times.tolist(), nodes.tolist(), strict=True))


class _Losses:
    """Walks the waves and single losses in order of time and keeps until when each node is away."""

    def __init__(self, parameters: RegionParameters, region: _Region, seed: int) -> None:
        self._p = parameters
        self._region = region
        self._rng = np.random.default_rng([seed, 3])
        self._away_until = np.full(len(region.names), -NEVER, dtype=np.int64)
        self._pull = _lognormal(self._rng, parameters.waves.pool_sigma, len(region.pools))[region.pool_of_node]
        self._rows: list[tuple[Ints, Ints, Ints]] = []

    def run(self, waves: Sequence[_Wave], singles: Sequence[tuple[int, int]], end: int) -> Columns:
        """All losses before `end` as columns; the last wave may reach past it."""
        ahead = 0
        for wave in waves:
            while ahead < len(singles) and singles[ahead][0] < wave.at:
                self._single(*singles[ahead])
                ahead += 1
            self._wave(wave)
        for single in singles[ahead:]:
            self._single(*single)
        node, begins, ends = (self._column(i) for i in range(3))
        unnoticed = self._rng.random(len(node)) < self._p.no_notice_share
        kind = np.where(unnoticed, KINDS.index(OutageKind.NO_NOTICE), KINDS.index(OutageKind.RECLAIM))
        inside = begins < end
        return Columns(node[inside], begins[inside], ends[inside], kind[inside].astype(np.int64))

    def _column(self, index: int) -> Ints:
        return np.concatenate([np.zeros(0, dtype=np.int64), *(row[index] for row in self._rows)])

    def _single(self, at: int, node: int) -> None:
        if self._away_until[node] <= at:
            nodes = np.array([node], dtype=np.int64)
            self._lose(nodes, nodes * 0 + at, self._lengths(self._p.lengths.single_s, 1))

    def _wave(self, wave: _Wave) -> None:
        chosen = self._p.waves
        table = self._p.lengths.last_s if wave.last else wave.train.inside_s
        common = int(self._lengths(table, 1)[0])
        ready = self._ready(wave.at, wave.aggregate)
        count = 2 + round(wave.share * max(len(ready) - 2, 0))
        falls = [(ready, count)]
        if count >= chosen.join_least_share * len(ready):
            for other, share in self._joining(wave.aggregate):
                near = self._ready(wave.at, other)
                falls.append((near, round(share * len(near))))
        for up, most in falls:
            nodes = self._pick(up, min(most, len(up)))
            if not len(nodes):
                continue
            lengths = self._lengths(table, len(nodes))
            lengths[self._rng.random(len(nodes)) < self._p.lengths.common_share] = common
            later = 1000 * chosen.spread_s.at(self._rng.random(len(nodes)))
            later[self._rng.random(len(nodes)) < chosen.first_second_share] = 0
            later[0] = 0  # a wave opens with its first loss
            self._lose(nodes, wave.at + np.minimum(later, WAVE_MS - 1).astype(np.int64), lengths)

    def _joining(self, aggregate: int) -> list[tuple[int, float]]:
        """The other aggregates that fall with one: some of its hall, or all of its hall and of one other or more."""
        chosen = self._p.waves
        home = self._region.hall_of_aggregate[aggregate]
        falling: set[int] = set()
        others = sorted(set(self._region.hall_of_aggregate) - {home})
        if others and self._rng.random() < 1 - (1 - chosen.region_join_share) ** len(others):
            sure = others[int(self._rng.integers(0, len(others)))]
            falling = {home, sure} | {o for o in others if self._rng.random() < chosen.region_more_share}
        found: list[tuple[int, float]] = []
        for other, hall in enumerate(self._region.hall_of_aggregate):
            near = hall == home and self._rng.random() < chosen.hall_join_share
            if other != aggregate and (near or hall in falling):
                found.append((other, float(chosen.joined_share.at(self._rng.random()))))
        return found

    def _ready(self, at: int, aggregate: int) -> Ints:
        nodes = self._region.nodes_of(aggregate)
        ready: Ints = np.flatnonzero(self._away_until[nodes] <= at).astype(np.int64) + nodes.start
        return ready

    def _pick(self, ready: Ints, count: int) -> Ints:
        """`count` of the nodes that are up: neighbours, or scattered ones."""
        if self._rng.random() < self._p.waves.block_share:
            first = int(self._rng.integers(0, max(len(ready), 1)))
            block: Ints = ready[(first + np.arange(count)) % max(len(ready), 1)]
            return block
        # Weighted choice without replacement: the smallest of exponential keys (Efraimidis and Spirakis, 2006).
        keys = self._rng.exponential(size=len(ready)) / self._pull[ready]
        scattered: Ints = ready[np.sort(np.argsort(keys)[:count])]
        return scattered

    def _lengths(self, table: Table, count: int) -> Ints:
        lengths = np.maximum(1000 * table.at(self._rng.random(count)), LEAST_OUTAGE_MS)
        return lengths.astype(np.int64)

    def _lose(self, nodes: Ints, starts: Ints, lengths: Ints) -> None:
        ends = starts + lengths
        self._away_until[nodes] = ends
        self._rows.append((nodes, starts, ends))


def _lognormal(rng: np.random.Generator, sigma: float, count: int) -> Floats:
    """Lognormal factors with mean 1."""
    return np.exp(sigma * rng.standard_normal(count) - sigma * sigma / 2)


def _weights(values: Sequence[float]) -> Floats:
    """The same weights with mean 1."""
    weights = np.array(values, dtype=np.float64)
    scaled: Floats = weights / weights.mean()
    return scaled

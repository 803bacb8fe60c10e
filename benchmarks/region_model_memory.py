"""How long rates of loss stay what they were: measured on a trace, and fitted to the record by drawing.

`benchmarks.region_model` prints the measures and `benchmarks.fit_region_model` calls `calibrated`. Over 18 months a
memory of months biases every closed estimate, so the memory's parameters come by simulated moments (McFadden, A method
of simulated moments, Econometrica 57, 1989): the point of a small grid whose draws look most like the record.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from simulation.region_model import DAY_MS, sample, topology_of
from simulation.region_parameters import RegionParameters
from simulation.trace import Columns, Floats, Trace, build
from simulation.trace_measures import HOUR_MS, Grouping, exposure_hours, losses, waves

MEMORY_DAYS: Final = 30
SPREADS: Final = (0.0, 0.3)
SIGMAS: Final = (0.8, 1.0, 1.2, 1.4)
HALF_LIVES_DAYS: Final = (15.0, 30.0, 60.0)
SEEDS: Final = (11, 12, 13, 14)
LEAST_HOURS: Final = 1000
"""A month of an aggregate counts from so many node-hours at risk on; fewer show chance."""


def calibrated(parameters: RegionParameters, record: Trace) -> RegionParameters:
    """The same parameters with the spread of aggregates and the memory that draw most like the record.

    Distance is the sum of squared relative errors of `moments`, each the median over `SEEDS`. The rate of episodes
    stays as counted: the factors have mean 1, and a rate scaled to a few draws would only fit those draws.
    """
    seen = moments(record)
    best, least = parameters, np.inf
    for spread, sigma, half_life in itertools.product(SPREADS, SIGMAS, HALF_LIVES_DAYS):
        update = {"spread_sigma": spread, "memory_sigma": sigma, "memory_half_life_days": half_life}
        tried = parameters.model_copy(update={"episodes": parameters.episodes.model_copy(update=update)})
        drawn = np.median([moments(model) for model in drawn_like(record, tried)], axis=0)
        distance = float((((drawn - seen) / seen) ** 2).sum())
        if distance < least:
            best, least = tried, distance
    return best


def drawn_like(record: Trace, parameters: RegionParameters) -> list[Trace]:
    """One model trace a seed, with the record's topology, span and joining nodes."""
    days = (record.ends_at - record.starts_at) // DAY_MS + 1
    shape = topology_of(record)
    drawn = (sample(parameters, shape, start=record.starts_at, days=days, seed=seed) for seed in SEEDS)
    return [present_as(model, record) for model in drawn]


def moments(trace: Trace) -> Floats:
    """What the memory shows in: the spread of aggregates, of their months, how months follow, and what a ranking gains.

    Standard deviation of aggregates' mean logarithmic monthly rate; of the months about it; their correlation one and
    two months apart; `calm_fifth`; `next_day_rank`; the ninth decile of pools' monthly rates; the median and the upper
    quartile of the hours between an aggregate's waves.
    """
    edges = np.arange(trace.starts_at, trace.ends_at, MEMORY_DAYS * DAY_MS)
    lost, hours = losses(trace, edges), exposure_hours(trace, edges)
    means: list[float] = []
    products: tuple[list[float], ...] = ([], [], [])
    for name in sorted({pool.aggregate for pool in trace.pools}):
        mine = np.array([pool.aggregate == name for pool in trace.pools])
        at_risk = hours[:, mine].sum(axis=1)
        seen = at_risk > LEAST_HOURS
        if seen.sum() < 3:
            continue
        months = np.log((lost[:, mine].sum(axis=1)[seen] + 1) / at_risk[seen])
        means.append(float(months.mean()))
        months = months - months.mean()
        for lag, found in enumerate(products):
            found.extend((months[lag:] * months[: len(months) - lag]).tolist())
    square, one, two = (float(np.mean(found)) for found in products)
    root = float(np.sqrt(square))
    gaps = wave_gaps_h(trace)
    level = np.quantile((lost / np.maximum(hours, 1))[hours >= 24], 0.9)
    memory = [float(np.std(means)), root, one / square, two / square, calm_fifth(trace), next_day_rank(trace)]
    return np.array([*memory, float(level), *np.quantile(gaps, (0.5, 0.75)).tolist()])


def wave_gaps_h(trace: Trace) -> Floats:
    """Hours between waves of one aggregate."""
    starts: dict[str, list[int]] = {}
    for wave in waves(trace, Grouping.AGGREGATE):
        starts.setdefault(wave.group, []).append(wave.start)
    hours: Floats = np.concatenate([np.diff(times) for times in starts.values()]) / HOUR_MS
    return hours


def present_as(model: Trace, record: Trace) -> Trace:
    """The model with its nodes joining when the record's do: the record's clusters come one after the other."""
    nodes = [replace(node, joined_at=seen.joined_at) for node, seen in zip(model.nodes, record.nodes, strict=True)]
    table = model.outages
    keep = (table.start >= record.joined[table.node]) & (table.start < record.ends_at)
    return build(
        model.name,
        source=model.source,
        span=(record.starts_at, record.ends_at),
        pools=[(pool.name, pool.hall, pool.aggregate) for pool in model.pools],
        nodes=nodes,
        outages=Columns(table.node[keep], table.start[keep], table.end[keep], table.kind[keep]),
    )


def _past_and_next(trace: Trace) -> Iterator[tuple[Floats, Floats, Floats]]:
    """For each day after the first 30: pools' rates over the past 30 days, and their losses and hours of the day."""
    edges = np.arange(trace.starts_at, trace.ends_at, DAY_MS)
    lost, hours = losses(trace, edges).astype(np.float64), exposure_hours(trace, edges)
    for day in range(MEMORY_DAYS, len(hours)):
        past = hours[day - MEMORY_DAYS : day].sum(axis=0)
        seen = (past >= 24 * MEMORY_DAYS) & (hours[day] >= 24)
        if seen.sum() >= 10:
            rates = lost[day - MEMORY_DAYS : day].sum(axis=0)[seen] / past[seen]
            yield rates, lost[day][seen], hours[day][seen]


def next_day_rank(trace: Trace) -> float:
    """Mean rank correlation (Spearman, 1904) between pools' rates of the past 30 days and of the next day."""
    found = [_rank_correlation(past, lost / hours) for past, lost, hours in _past_and_next(trace)]
    return float(np.mean(found))


def calm_fifth(trace: Trace) -> float:
    """Rate of loss of the fifth of pools that was calmest over the past 30 days, over that of all pools.

    How much a planner that ranks by the past gains; 1 is nothing.
    """
    calm = np.zeros(2)
    every = np.zeros(2)
    for past, lost, hours in _past_and_next(trace):
        chosen = np.argsort(past, kind="stable")[: len(past) // 5]
        calm += (lost[chosen].sum(), hours[chosen].sum())
        every += (lost.sum(), hours.sum())
    return float((calm[0] / calm[1]) / (every[0] / every[1]))


def _rank_correlation(a: Floats, b: Floats) -> float:
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: Floats) -> Floats:
    """Ranks with ties at their mean."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle: Floats = (ends - (counts - 1) / 2)[place]
    return middle

"""How often aggregates of a hall, and halls of a region, fall together beyond chance.

Called by `benchmarks.fit_region_model`. Chance is what the record shows when one side is shifted by whole weeks.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Final

import numpy as np

from benchmarks.region_model_record import Record
from simulation.region_model import DAY_MS
from simulation.trace import NEVER, Floats, Ints
from simulation.trace_measures import WAVE_MS, Grouping, waves

FALLEN: Final = 0.2
"""An aggregate or hall has fallen when this share of it is lost at once: the traces' own word for a joint fall."""
SHIFT_DAYS: Final = (-28, -21, -14, -7, 7, 14, 21, 28)
"""Whole weeks keep hour and weekday, so shifted records show how often groups fall together by chance alone."""


def hall_joins(record: Record) -> tuple[float, list[float]]:
    """How likely another aggregate of the hall falls with one that falls, and how deep the lesser of the two."""
    hall_of = {pool.aggregate: pool.hall for pool in record.trace.pools}
    times, shares = _falls(record)
    pairs = [(a, b) for a in sorted(times) for b in sorted(times) if a < b and hall_of[a] == hall_of[b]]
    lesser = [share for a, b in pairs for share in _lesser(times[a], times[b], shares[a], shares[b])]
    chances = sum(len(times[a]) + len(times[b]) for a, b in pairs)
    return _beyond_chance([(times[a], times[b]) for a, b in pairs]) / max(chances, 1), lesser


def region_joins(record: Record) -> tuple[float, float]:
    """How likely another hall falls with an aggregate that falls, and each further hall where two fell already."""
    trace = record.trace
    hall_of = {pool.aggregate: pool.hall for pool in trace.pools}
    halls: dict[str, list[int]] = defaultdict(list)
    for wave in waves(trace, Grouping.HALL):
        if wave.share >= FALLEN:
            halls[wave.group].append(wave.start)
    times = {name: np.array(starts, dtype=np.int64) for name, starts in sorted(halls.items())}
    pairs = list(itertools.combinations(times, 2))
    chances: dict[str, int] = defaultdict(int)
    for aggregate, falls in _falls(record)[0].items():
        chances[hall_of[aggregate]] += len(falls)
    first = _beyond_chance([(times[a], times[b]) for a, b in pairs])
    joined = [
        sum(bool((np.abs(times[other] - start) <= WAVE_MS).any()) for other in times if other != name)
        for name, starts in times.items()
        for start in starts
    ]
    several = [count for count in joined if count > 0]
    further = sum(count - 1 for count in several) / max(1, len(several) * (len(times) - 2))
    return first / max(1, sum(chances[a] + chances[b] for a, b in pairs)), further


def _falls(record: Record) -> tuple[dict[str, Ints], dict[str, Floats]]:
    """Starts and shares of the waves in which an aggregate fell."""
    big = {name: [w for w in found if w.share >= FALLEN] for name, found in record.waves.items()}
    times = {name: np.array([w.start for w in found], dtype=np.int64) for name, found in big.items()}
    return times, {name: np.array([w.share for w in found], dtype=np.float64) for name, found in big.items()}


def _beyond_chance(pairs: list[tuple[Ints, Ints]]) -> float:
    """Joint falls of the pairs, less how many there are when one side is shifted by whole weeks; each counts once."""
    together = sum(_matches(a, b) for a, b in pairs)
    chance = float(np.mean([sum(_matches(a, b + days * DAY_MS) for a, b in pairs) for days in SHIFT_DAYS]))
    return max(0.0, together - chance)


def _matches(a: Ints, b: Ints) -> int:
    return int((_nearest(a, b) <= WAVE_MS).sum())


def _nearest(a: Ints, b: Ints) -> Ints:
    """For each of `a` the distance to the nearest of `b`, both sorted; very far where there is none."""
    fenced = np.concatenate((np.array([-NEVER]), b, np.array([NEVER])))
    place = np.searchsorted(fenced, a)
    distance: Ints = np.minimum(fenced[place] - a, a - fenced[place - 1])
    return distance


def _lesser(a: Ints, b: Ints, of_a: Floats, of_b: Floats) -> list[float]:
    found = np.flatnonzero(_nearest(a, b) <= WAVE_MS)
    return [float(min(of_a[i], of_b[int(np.argmin(np.abs(b - a[i])))])) for i in found]

"""How well the interruption estimate foretells the recorded losses; one JSON object on the last line.

`EBBTIDE_TRACES=FOLDER python -m benchmarks.ranker` walks the cluster failure trace hour by hour: 90 days of warm-up, 60
scored, in five windows; the last two were not used for tuning. "Persistence" is the line to beat: the last hour's rate
of each pool, floored so that it can be scored at all, and, to be fair to it, also mixed with the long-term mean at the
mixing weight that suits it best in hindsight. `--tune` lists other memories on the first three windows.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from benchmarks.region_model_record import failure_trace
from pools.interruption import Floats, History, Outlook, Topology, hazards, observe_arrays
from simulation.trace import Trace
from simulation.trace_measures import HOUR_MS, exposure_hours, hour_edges, losses

WARM_UP_H: Final = 90 * 24
SCORED_H: Final = 60 * 24
WINDOWS: Final = (120, 300, 420, 200, 480)
"""Days on which a scored window begins; the last two are held out of tuning."""
TUNED: Final = 3
LEAST_HOURS: Final = 100.0
"""A pool-day with fewer node-hours says little of a rate and does not count for coverage."""
SHARE_PLACED: Final = 0.3
FLOOR_RATE: Final = 1e-4
AGES_H: Final = (0.0, 1.0, 6.0, 24.0, 168.0, 1e9)


@dataclass(frozen=True, slots=True)
class Record:
    """The trace by hour and pool."""

    topology: Topology
    hours: Floats
    lost: Floats


@dataclass(frozen=True, slots=True)
class Foretold:
    """What the estimate said before each scored hour, and what happened."""

    mean: Floats
    upper: Floats
    slow: Floats
    hours: Floats
    lost: Floats
    ms_per_update: float


def record_of(trace: Trace) -> Record:
    """Hourly node-hours and losses, with clusters and sites as groups."""
    edges = hour_edges(trace.starts_at, (trace.ends_at - trace.starts_at) // HOUR_MS)
    groups: dict[str, list[str]] = {}
    for pool in trace.pools:
        groups.setdefault(f"site {pool.hall}", []).append(pool.name)
        groups.setdefault(f"cluster {pool.aggregate}", []).append(pool.name)
    topology = Topology.of([pool.name for pool in trace.pools], groups)
    return Record(topology, exposure_hours(trace, edges), losses(trace, edges).astype(np.float64))


def foretell(record: Record, outlook: Outlook, first: int) -> Foretold:
    """The estimates before each hour of one window, after a warm-up from nothing."""
    history = History.empty(record.topology, outlook)
    start = max(0, first - WARM_UP_H)
    means, uppers, slows = [], [], []
    began = time.perf_counter()
    for hour in range(start, first + SCORED_H):
        found = hazards(history)
        if hour >= first:
            means.append(found.mean)
            uppers.append(found.upper)
            slows.append(found.slow_mean)
        history = observe_arrays(
            history, now=(hour + 1) * HOUR_MS, exposure_hours=record.hours[hour], losses=record.lost[hour]
        )
    spent = (time.perf_counter() - began) * 1000 / (first + SCORED_H - start)
    window = slice(first, first + SCORED_H)
    return Foretold(
        np.array(means), np.array(uppers), np.array(slows), record.hours[window], record.lost[window], spent
    )


def deviance(lost: Floats, expected: Floats) -> float:
    """Poisson deviance; smaller is better, 0 is a prophet."""
    mu = np.maximum(expected, 1e-12)
    terms = np.where(lost > 0, lost * np.log(np.maximum(lost, 1e-12) / mu), 0.0) - (lost - mu)
    return float(2 * terms.sum())


def persistence(record: Record, first: int) -> tuple[float, float]:
    """Deviance of "same as the last hour", and of its best mixture with the long-term mean."""
    window, before = slice(first, first + SCORED_H), slice(first - 1, first + SCORED_H - 1)
    last = record.lost[before] / np.maximum(record.hours[before], 1e-9)
    long_term = record.lost[:first].sum() / record.hours[:first].sum()
    plain = deviance(record.lost[window], np.maximum(last, FLOOR_RATE) * record.hours[window])
    mixed = min(
        deviance(record.lost[window], (share * last + (1 - share) * long_term) * record.hours[window])
        for share in (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
    )
    return plain, mixed


def coverage(told: Foretold) -> float:
    """Share of pool-days whose rate stayed at or below the upper quantile said at the day's start."""
    days = len(told.lost) // 24
    lost = told.lost[: days * 24].reshape(days, 24, -1).sum(1)
    hours = told.hours[: days * 24].reshape(days, 24, -1).sum(1)
    counted = hours >= LEAST_HOURS
    return float((lost <= told.upper[: days * 24 : 24] * hours)[counted].mean())


def deciles(told: list[Foretold]) -> list[tuple[float, float]]:
    """Foretold and seen losses per node-hour, in ten groups of equal exposure by what was foretold."""
    mean, hours, lost = (
        np.concatenate([column.ravel() for column in columns])
        for columns in ([w.mean for w in told], [w.hours for w in told], [w.lost for w in told])
    )
    order = np.argsort(mean, kind="stable")
    group = np.minimum(9, (np.cumsum(hours[order]) * 10 / hours.sum()).astype(int))
    rows = []
    for number in range(10):
        chosen = order[group == number]
        exposed = float(hours[chosen].sum())
        rows.append((float((mean * hours)[chosen].sum()) / exposed, float(lost[chosen].sum()) / exposed))
    return rows


def placed_loss_pct(scores: Floats, told: Foretold) -> float:
    """Losses per placed node-hour in percent when the calmest pools carry 30 % of what is up, with free moves."""
    order = np.argsort(scores, axis=1, kind="stable")
    hours, lost = np.take_along_axis(told.hours, order, 1), np.take_along_axis(told.lost, order, 1)
    taken = np.cumsum(hours, 1) - hours < SHARE_PLACED * hours.sum(1, keepdims=True)
    return 100 * float((lost * taken).sum() / (hours * taken).sum())


def age_ratios(trace: Trace) -> list[tuple[float, float]]:
    """Losses by hours since the node came up, over what its pool's mean rate expects: (age from, ratio)."""
    table = trace.outages
    order = np.lexsort((table.start, table.node))
    node, start, end = table.node[order], table.start[order], trace.away_until[order]
    first = np.append(True, node[1:] != node[:-1])
    came_up = np.where(first, trace.joined[node], np.append(0, end[:-1]))
    lived = (start - came_up) / HOUR_MS
    last = np.append(node[1:] != node[:-1], True)
    rest = (trace.left[node[last]] - end[last]) / HOUR_MS
    spans, pool = np.append(lived, rest), trace.pool_of_node[np.append(node, node[last])]
    died = np.append(np.ones(len(lived)), np.zeros(len(rest)))
    rate = np.bincount(pool, died) / np.maximum(1e-9, np.bincount(pool, spans))
    rows = []
    for low, high in itertools.pairwise(AGES_H):
        exposed = np.clip(spans - low, 0, high - low)
        seen = float((died * ((spans >= low) & (spans < high))).sum())
        rows.append((low, seen / float((exposed * rate[pool]).sum())))
    return rows


def tune(record: Record) -> None:
    """Other memories on the windows that are for tuning."""
    for memories, strength in (
        ((720.0,), ()),
        ((720.0, 24.0), (1.0,)),
        ((720.0, 24.0, 1.0), (1.0, 0.3)),
        ((720.0, 168.0, 24.0, 1.0), (2.0, 1.0, 0.3)),
        ((720.0, 168.0, 24.0, 1.0), (4.0, 2.0, 1.0)),
        ((336.0, 72.0, 12.0, 1.0), (1.0, 1.0, 0.3)),
    ):
        told = [foretell(record, Outlook(memories, strength), day * 24) for day in WINDOWS[:TUNED]]
        missed = sum(deviance(t.lost, t.mean * t.hours) for t in told)
        print(
            f"memories {memories} strength {strength}: deviance {missed:.0f},"
            f" coverage {median(coverage(t) for t in told):.3f},"
            f" placed loss {median(placed_loss_pct(t.mean, t) for t in told):.3f} %"
        )


def main() -> int:
    """Print the tables and the result."""
    trace = failure_trace()
    record = record_of(trace)
    if "--tune" in sys.argv[1:]:
        tune(record)
    outlook = Outlook()
    told = [foretell(record, outlook, day * 24) for day in WINDOWS]
    ratios, fair, covered = [], [], []
    for day, window in zip(WINDOWS, told, strict=True):
        ours = deviance(window.lost, window.mean * window.hours)
        plain, mixed = persistence(record, day * 24)
        ratios.append(ours / plain)
        fair.append(ours / mixed)
        covered.append(coverage(window))
        print(
            f"day {day}: deviance {ours:.0f}, persistence {plain:.0f}, best mixture {mixed:.0f};"
            f" coverage of upper({outlook.quantile}) {covered[-1]:.3f};"
            f" placed loss {placed_loss_pct(window.mean, window):.3f} %, 30 days alone"
            f" {placed_loss_pct(window.slow, window):.3f} %"
        )
    print("foretold and seen losses per node-hour by decile of exposure:")
    for foretold, seen in deciles(told):
        print(f"  {foretold:.5f}  {seen:.5f}")
    print("losses by hours since the node came up, over its pool's mean rate:")
    for age, ratio in age_ratios(trace):
        print(f"  from {age:g} h: {ratio:.2f}")
    result = {
        "bench": "ranker",
        "deviance_over_persistence": round(median(ratios), 3),
        "deviance_over_best_mixture": round(median(fair), 3),
        "coverage": round(median(covered), 3),
        "coverage_held_out": round(median(covered[TUNED:]), 3),
        "nominal": outlook.quantile,
        "foretold_over_seen": round(
            sum(float((w.mean * w.hours).sum()) for w in told) / sum(float(w.lost.sum()) for w in told), 3
        ),
        "ms_per_update": round(median(w.ms_per_update for w in told), 4),
        "pools": len(record.topology.pools),
        "runs": len(WINDOWS),
    }
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

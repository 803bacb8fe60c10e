"""How near the region model and the record are: quantiles side by side, then one JSON object on the last line.

`EBBTIDE_TRACES=FOLDER python -m benchmarks.region_model` draws the model for the record's own topology and span, once a
seed, and measures both with the same code. Whether planners rank alike on both is the replay benchmark's to show.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Final

import numpy as np

from benchmarks.region_model_memory import calm_fifth, next_day_rank, present_as, wave_gaps_h
from benchmarks.region_model_record import failure_trace
from simulation.region_model import DAY_MS, sample, topology_of
from simulation.region_parameters import packaged
from simulation.trace import Floats, Trace
from simulation.trace_measures import HOUR_MS, WAVE_MS, Grouping, exposure_hours, hour_edges, losses, waves

SEEDS: Final = (1, 2, 3, 4, 5)
LEVELS: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
LAGS: Final = (1, 6, 24, 168)
FALLEN: Final = 0.2
LEAST_UP: Final = 200
"""The worst window counts from here on: in its first weeks the record holds a few dozen nodes, and all may fall."""


def wave_shares(trace: Trace) -> Floats:
    """Share of the aggregate that each wave of two or more takes."""
    return np.array([wave.share for wave in waves(trace, Grouping.AGGREGATE)])


def hall_shares(trace: Trace) -> Floats:
    """Share of the hall that each wave of two or more takes."""
    return np.array([wave.share for wave in waves(trace, Grouping.HALL)])


def lengths_h(trace: Trace) -> Floats:
    """Hours that nodes stay away, cut at the end of the trace."""
    hours: Floats = (trace.away_until - trace.outages.start) / HOUR_MS
    return hours


def pool_rates(trace: Trace) -> Floats:
    """Losses per node-hour at risk, a pool."""
    edges = (trace.starts_at, trace.ends_at)
    rates: Floats = losses(trace, edges)[0] / np.maximum(exposure_hours(trace, edges)[0], 1)
    return rates


def pool_month_rates(trace: Trace) -> Floats:
    """Losses per node-hour at risk, a pool and 30 days, for months with at least a node-day at risk."""
    edges = np.arange(trace.starts_at, trace.ends_at, 30 * DAY_MS)
    hours = exposure_hours(trace, edges)
    rates: Floats = (losses(trace, edges) / np.maximum(hours, 1))[hours >= 24]
    return rates


MEASURES: Final[dict[str, Callable[[Trace], Floats]]] = {
    "wave_share_of_aggregate": wave_shares,
    "wave_share_of_hall": hall_shares,
    "hours_between_waves": wave_gaps_h,
    "outage_hours": lengths_h,
    "losses_per_node_hour_by_pool": pool_rates,
    "losses_per_node_hour_by_pool_month": pool_month_rates,
}


def scalars(trace: Trace) -> dict[str, float]:
    """Single figures: level, memory from hour to hour, and how much falls at once."""
    edges = hour_edges(trace.starts_at, (trace.ends_at - trace.starts_at) // HOUR_MS)
    lost, hours = losses(trace, edges), exposure_hours(trace, edges)
    present = float((trace.left - trace.joined.clip(trace.starts_at)).sum()) / HOUR_MS
    found = {
        "losses_per_node_hour": float(lost.sum() / hours.sum()),
        "share_of_time_up": float(hours.sum() / present),
        "pool_hours_with_loss": float((lost[hours > 0] > 0).mean()),
        "next_hour_repeats": float((lost[1:] > 0)[lost[:-1] > 0].mean()),
    }
    found.update({f"autocorrelation_{lag}h": _autocorrelation(lost, lag) for lag in LAGS})
    found["next_day_rank"] = next_day_rank(trace)
    found["calm_fifth_rate"] = calm_fifth(trace)
    found["worst_window_share"] = max(wave.share for wave in waves(trace, Grouping.REGION) if wave.up >= LEAST_UP)
    found["windows_two_halls_fall_a_year"] = _two_halls(trace) * 365 * DAY_MS / (trace.ends_at - trace.starts_at)
    return found


def _autocorrelation(lost: np.ndarray, lag: int) -> float:
    """Mean over pools of the correlation of hourly counts of losses with those `lag` hours later."""
    centred = lost - lost.mean(axis=0)
    spread = (centred**2).mean(axis=0)
    seen = spread > 0
    return float(((centred[:-lag] * centred[lag:]).mean(axis=0)[seen] / spread[seen]).mean())


def _two_halls(trace: Trace) -> int:
    """Waves of one hall that lose a fifth or more of it while another hall does too."""
    halls: dict[str, list[int]] = {}
    for wave in waves(trace, Grouping.HALL):
        if wave.share >= FALLEN:
            halls.setdefault(wave.group, []).append(wave.start)
    events = sorted((start, name) for name, starts in halls.items() for start in starts)
    count, last = 0, -WAVE_MS
    for (before, a), (after, b) in itertools.pairwise(events):
        if a != b and after - before <= WAVE_MS and after - last > WAVE_MS:
            count, last = count + 1, after
    return count


def main() -> int:
    """Measure, print the table and the JSON line."""
    record = failure_trace()
    days = (record.ends_at - record.starts_at) // DAY_MS + 1
    shape = topology_of(record)
    began = time.perf_counter()
    drawn_models = [sample(packaged(), shape, start=record.starts_at, days=days, seed=seed) for seed in SEEDS]
    seconds = (time.perf_counter() - began) / len(SEEDS)
    models = [present_as(model, record) for model in drawn_models]
    print(f"record: {record.name}, {days} days; model: median of seeds {SEEDS[0]} to {SEEDS[-1]}")
    print(f"{'quantile':<38}{'':<8}" + "".join(f"{level:>10}" for level in LEVELS))
    figures: dict[str, object] = {"bench": "region-model", "trace": record.name, "sample_seconds": round(seconds, 3)}
    for name, measure in MEASURES.items():
        seen = [float(q) for q in np.quantile(measure(record), LEVELS)]
        drawn = [float(q) for q in np.median([np.quantile(measure(model), LEVELS) for model in models], axis=0)]
        for label, row in (("record", seen), ("model", drawn)):
            print(f"{name:<38}{label:<8}" + "".join(f"{value:>10.4g}" for value in row))
        figures[name] = {"record": _rounded(seen), "model": _rounded(drawn)}
    one, many = scalars(record), [scalars(model) for model in models]
    print(f"{'figure':<38}{'record':>10}{'model':>10}{'lowest':>10}{'highest':>10}")
    for name, value in one.items():
        drawn = [each[name] for each in many]
        print(f"{name:<38}{value:>10.4g}{median(drawn):>10.4g}{min(drawn):>10.4g}{max(drawn):>10.4g}")
        figures[name] = {"record": _rounded([value])[0], "model": _rounded([median(drawn)])[0]}
    figures["runs"] = len(SEEDS)
    print(json.dumps(figures))
    return 0


def _rounded(values: list[float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


if __name__ == "__main__":
    sys.exit(main())

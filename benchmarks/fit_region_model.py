"""Fits the region model to the recorded cluster failure trace and writes its reviewed parameter file.

`EBBTIDE_TRACES=FOLDER python -m benchmarks.fit_region_model [FILE]` reads the record, estimates every parameter by the
rule beside it and writes `simulation/data/region_model.yaml` (or FILE). The same record gives the same file to the
byte: numbers are rounded to three digits. Absences that the record does not see to end are left out of the lengths;
they are a few in a thousand.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Final

import numpy as np

from benchmarks.region_model_joins import FALLEN, hall_joins, region_joins
from benchmarks.region_model_memory import HALF_LIVES_DAYS, SIGMAS, SPREADS, calibrated
from benchmarks.region_model_record import STORM_WAVES, Episode, Record, failure_trace, record_of
from benchmarks.region_model_text import render
from simulation.region_model import DAY_MS, EPOCH_WEEKDAY
from simulation.region_parameters import PACKAGED, Episodes, Lengths, RegionParameters, Singles, Table, Train, Waves
from simulation.trace import Floats, Trace
from simulation.trace_measures import HOUR_MS, Wave, exposure_hours, losses, up

LEVELS: Final = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)
NO_NOTICE: Final = 0.05
"""Assumed: the share that a replay usually states, since no public source records notices."""
COMMON: Final = 0.1
"""Nodes whose length is within this part of the wave's median returned together."""
DIGITS: Final = 3


def fit(trace: Trace, *, source: str) -> RegionParameters:
    """The parameters of the region model for a trace, but for the memory that `calibrated` finds; deterministic."""
    record = record_of(trace)
    return RegionParameters(
        format=1,
        source=source,
        no_notice_share=NO_NOTICE,
        episodes=fit_episodes(record),
        ordinary=fit_train(record, [e for e in record.every if len(e) < STORM_WAVES]),
        storms=fit_train(record, [e for e in record.every if len(e) >= STORM_WAVES]),
        waves=fit_waves(record),
        lengths=fit_lengths(record),
        singles=fit_singles(record),
    )


def fit_episodes(record: Record) -> Episodes:
    """Rates and weights by counting; spread and memory stand at the first point that `calibrated` will try."""
    starts = np.array([episode[0].start for episode in record.every], dtype=np.int64)
    hour = np.bincount(starts // HOUR_MS % 24, minlength=24) / len(starts) * 24
    weekday = np.bincount((starts // DAY_MS + EPOCH_WEEKDAY) % 7, minlength=7) / len(starts) * 7
    storms = sum(len(episode) >= STORM_WAVES for episode in record.every)
    return Episodes(
        per_100_nodes_a_day=_rounded(100 * len(starts) / _node_days(record.trace)),
        spread_sigma=SPREADS[0],
        memory_sigma=SIGMAS[0],
        memory_half_life_days=HALF_LIVES_DAYS[0],
        storm_share=_rounded(storms / len(record.every)),
        hour_weights_utc=tuple(_rounded(float(w)) for w in hour),
        weekday_weights=tuple(_rounded(float(w)) for w in weekday),
    )


def fit_train(record: Record, episodes: Sequence[Episode]) -> Train:
    """Waves of one kind of episode; lengths weigh as many times as nodes fell, for a node's length is what matters."""
    chosen = [wave for episode in episodes for wave in episode]
    inside = [wave for episode in episodes for wave in episode[:-1]]
    return Train(
        waves=_table([float(len(episode)) for episode in episodes]),
        gap_s=_table([(b.start - a.start) / 1000 for e in episodes for a, b in itertools.pairwise(e)]),
        share_beyond_two=_table([_beyond_two(wave) for wave in chosen]),
        share_memory=_rounded(_share_memory(episodes)),
        inside_s=_table(_middles(record, inside)),
    )


def fit_waves(record: Record) -> Waves:
    """Neighbourhood, spread in time and what falls together."""
    every = [wave for found in record.waves.values() for wave in found]
    start = record.trace.outages.start
    offsets = np.concatenate([start[list(wave.outages[1:])] - wave.start for wave in every]) / 1000
    hall_join, joined = hall_joins(record)
    region_join, region_more = region_joins(record)
    return Waves(
        block_share=_rounded(_block_share(record)),
        pool_sigma=_rounded(_pool_sigma(record)),
        first_second_share=_rounded(float((offsets == 0).mean())),
        spread_s=_table([float(offset) for offset in offsets[offsets > 0]]),
        join_least_share=FALLEN,
        hall_join_share=_rounded(hall_join),
        region_join_share=_rounded(region_join),
        region_more_share=_rounded(region_more),
        joined_share=_table(joined),
    )


def fit_lengths(record: Record) -> Lengths:
    """Medians of the last waves' absences, single absences, and how many of a wave's nodes are near its median."""
    common = [
        float((np.abs(lengths - np.median(lengths)) <= COMMON * np.median(lengths)).mean())
        for found in record.waves.values()
        for lengths in (_ended(record, wave) for wave in found)
        if len(lengths)
    ]
    return Lengths(
        last_s=_table(_middles(record, [episode[-1] for episode in record.every])),
        single_s=_table([float(length) for wave in record.singles for length in _ended(record, wave)]),
        common_share=_rounded(float(np.mean(common))),
    )


def fit_singles(record: Record) -> Singles:
    """Single losses over the hours at risk; the pools' spread is what the counts vary beyond a Poisson law."""
    trace = record.trace
    hours = exposure_hours(trace, (trace.starts_at, trace.ends_at))[0]
    pools = [int(trace.pool_of_outage[wave.outages[0]]) for wave in record.singles]
    counts = np.bincount(pools, minlength=len(trace.pools))
    rate = counts.sum() / hours.sum()
    expected = rate * hours
    excess = float(((counts - expected) ** 2 - counts).sum() / (expected**2).sum())
    return Singles(per_node_hour=_rounded(float(rate)), pool_sigma=_rounded(float(np.sqrt(np.log1p(max(excess, 0))))))


def _node_days(trace: Trace) -> float:
    """Days that all nodes were present, up or not."""
    return float((trace.left - trace.joined).sum()) / DAY_MS


def _beyond_two(wave: Wave) -> float:
    return min(1.0, (wave.lost - 2) / max(wave.up - 2, 1))


def _middles(record: Record, chosen: Sequence[Wave]) -> list[float]:
    """The median absence of each wave, once for each node that fell."""
    found: list[float] = []
    for wave in chosen:
        lengths = _ended(record, wave)
        if len(lengths):
            found.extend([float(np.median(lengths))] * len(lengths))
    return found


def _share_memory(episodes: Sequence[Episode]) -> float:
    """How alike the shares of an episode's waves are: their intraclass correlation on the normal scale.

    One-way analysis of variance (Fisher, Statistical Methods for Research Workers, 1925), over episodes of two waves or
    more.
    """
    shares = np.array([_beyond_two(wave) for episode in episodes for wave in episode])
    noise = np.random.default_rng(0).random(len(shares)) * 1e-9  # ties, such as whole aggregates, in no set order
    rank = np.argsort(np.argsort(shares + noise))
    normal = NormalDist()
    score = np.array([normal.inv_cdf((int(r) + 0.5) / len(rank)) for r in rank])
    parts = np.split(score, np.cumsum([len(episode) for episode in episodes])[:-1])
    chosen = [part for part in parts if len(part) > 1]
    within = sum(float(((p - p.mean()) ** 2).sum()) for p in chosen) / sum(len(p) - 1 for p in chosen)
    return max(0.0, 1 - within / float(np.concatenate(chosen).var()))


def _block_share(record: Record) -> float:
    """Waves of a tenth to six tenths whose nodes lie in less than half the runs that chance would give.

    Of n nodes up, k fallen at random lie in k (n - k + 1) / n runs on average (Wald and Wolfowitz, 1940).
    """
    trace = record.trace
    aggregates = sorted(record.waves)
    home = np.array([aggregates.index(p.aggregate) for p in trace.pools])[trace.pool_of_node]
    blocks = total = 0
    for number, name in enumerate(aggregates):
        for wave in record.waves[name]:
            if wave.lost < 5 or not 0.1 < wave.share < 0.6:
                continue
            ready = np.flatnonzero(up(trace, wave.start - 1) & (home == number))
            place = np.searchsorted(ready, np.unique(trace.outages.node[list(wave.outages)]))
            runs = 1 + int((np.diff(place) > 1).sum())
            total += 1
            blocks += runs < 0.5 * len(place) * (len(ready) - len(place) + 1) / max(len(ready), 1)
    return blocks / max(total, 1)


def _pool_sigma(record: Record) -> float:
    """Spread of the logarithm of a pool's rate over its aggregate's rate."""
    trace = record.trace
    edges = (trace.starts_at, trace.ends_at)
    hours, lost = exposure_hours(trace, edges)[0], losses(trace, edges)[0]
    ratios: list[float] = []
    for name in record.waves:
        mine = np.array([pool.aggregate == name for pool in trace.pools])
        ratios.extend(np.log((lost[mine] / hours[mine]) / (lost[mine].sum() / hours[mine].sum())).tolist())
    return float(np.std(ratios))


def _ended(record: Record, wave: Wave) -> Floats:
    return np.array([record.lengths_s[i] for i in wave.outages if record.ended[i]], dtype=np.float64)


def _table(values: list[float]) -> Table:
    quantiles = np.quantile(np.array(values, dtype=np.float64), LEVELS)
    return Table(levels=LEVELS, values=tuple(_rounded(max(float(q), 1e-3)) for q in quantiles))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def main() -> int:
    """Fit, write, and say where."""
    trace = failure_trace()
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("simulation") / "data" / PACKAGED
    target.write_text(
        render(calibrated(fit(trace, source="fitted to the cluster failure trace g5k06."), trace)), encoding="utf-8"
    )
    figures = {"bench": "fit-region-model", "losses": len(trace.outages), "nodes": len(trace.nodes), "runs": 1}
    print(f"{target} is written")
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fits the region model to the recorded cluster failure trace and writes its reviewed parameter file.

`EBBTIDE_TRACES=FOLDER python -m benchmarks.fit_region_model [FILE]` reads the record, estimates every parameter by the
rule beside it and writes `simulation/data/region_model.yaml` (or FILE). The same record gives the same file to the
byte: numbers are rounded to three digits. Absences that the record does not see to end are left out of the lengths;
they are a few in a thousand.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Final

import numpy as np

from benchmarks.region_model_text import render
from contracts.errors import Refused
from simulation.region_model import DAY_MS, EPOCH_WEEKDAY
from simulation.region_parameters import (
    PACKAGED,
    Episodes,
    Lengths,
    RegionParameters,
    Singles,
    Table,
    Waves,
)
from simulation.trace import NEVER, Floats, Ints, Trace
from simulation.trace_formats import TraceFormat, find_traces, read
from simulation.trace_measures import HOUR_MS, WAVE_MS, Grouping, Wave, exposure_hours, losses, up, waves

LEVELS: Final = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)
EPISODE_GAP_MS: Final = 2 * HOUR_MS
"""Waves of an aggregate closer than this belong to one episode: times between waves have a gap in their density from
about one hour, the length of a short job, to four hours."""
FALLEN: Final = 0.2
"""An aggregate or hall has fallen when this share of it is lost at once: the traces' own word for a joint fall."""
SHIFT_DAYS: Final = (-28, -21, -14, -7, 7, 14, 21, 28)
"""Whole weeks keep hour and weekday, so shifted records show how often groups fall together by chance alone."""
NO_NOTICE: Final = 0.05
"""Assumed: the share that a replay usually states, since no public source records notices."""
COMMON: Final = 0.1
"""Nodes whose length is within this part of the wave's median returned together."""
DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class Record:
    """A trace with the groupings that every estimate needs: each aggregate's waves, and its episodes of waves."""

    trace: Trace
    waves: dict[str, tuple[Wave, ...]]
    singles: tuple[Wave, ...]
    episodes: dict[str, tuple[tuple[Wave, ...], ...]]
    lengths_s: Floats
    ended: tuple[bool, ...]


def record_of(trace: Trace) -> Record:
    """The groupings of a trace."""
    grouped: dict[str, list[Wave]] = defaultdict(list)
    singles: list[Wave] = []
    for wave in waves(trace, Grouping.AGGREGATE, least=1):
        if wave.lost > 1:
            grouped[wave.group].append(wave)
        else:
            singles.append(wave)
    ends = np.minimum(trace.outages.end, trace.ends_at)
    return Record(
        trace=trace,
        waves={name: tuple(found) for name, found in sorted(grouped.items())},
        singles=tuple(singles),
        episodes={name: _episodes(found) for name, found in sorted(grouped.items())},
        lengths_s=(ends - trace.outages.start) / 1000,
        ended=tuple((trace.outages.end < NEVER).tolist()),
    )


def fit(trace: Trace, *, source: str) -> RegionParameters:
    """The parameters of the region model for a trace; deterministic."""
    record = record_of(trace)
    return RegionParameters(
        format=1,
        source=source,
        no_notice_share=NO_NOTICE,
        episodes=fit_episodes(record),
        waves=fit_waves(record),
        lengths=fit_lengths(record),
        singles=fit_singles(record),
    )


def fit_episodes(record: Record) -> Episodes:
    """Rates by counting, weights by counting, the slow factor by the method of moments."""
    node_days = _node_days(record.trace)
    rates = {name: len(found) / node_days[name] for name, found in record.episodes.items()}
    starts = np.array([e[0].start for found in record.episodes.values() for e in found], dtype=np.int64)
    hour = np.bincount(starts // HOUR_MS % 24, minlength=24) / len(starts) * 24
    weekday = np.bincount((starts // DAY_MS + EPOCH_WEEKDAY) % 7, minlength=7) / len(starts) * 7
    sigma, half_life = _slow_factor(record)
    every = [episode for found in record.episodes.values() for episode in found]
    gaps = [(b.start - a.start) / 1000 for e in every for a, b in itertools.pairwise(e)]
    return Episodes(
        per_100_nodes_a_day=_rounded(100 * len(starts) / sum(node_days.values())),
        spread_sigma=_rounded(float(np.std(np.log(list(rates.values())), ddof=1))),
        memory_sigma=_rounded(sigma),
        memory_half_life_days=_rounded(half_life),
        hour_weights_utc=tuple(_rounded(float(w)) for w in hour),
        weekday_weights=tuple(_rounded(float(w)) for w in weekday),
        waves=_table([float(len(e)) for e in every]),
        gap_s=_table(gaps),
    )


def fit_waves(record: Record) -> Waves:
    """Shares, their memory, neighbourhood, spread in time and what falls together."""
    every = [wave for found in record.waves.values() for wave in found]
    start = record.trace.outages.start
    offsets = np.concatenate([start[list(wave.outages[1:])] - wave.start for wave in every]) / 1000
    hall_join, joined = _hall_joins(record)
    region_join, region_more = _region_joins(record)
    return Waves(
        share_of_aggregate=_table([wave.share for wave in every]),
        share_memory=_rounded(_share_memory(record)),
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
    """Medians of the waves' absences, and how many of a wave's nodes are near its median."""
    inside: list[float] = []
    last: list[float] = []
    common: list[float] = []
    for episodes in record.episodes.values():
        for episode in episodes:
            for number, wave in enumerate(episode):
                lengths = _ended(record, wave)
                if not len(lengths):
                    continue
                middle = float(np.median(lengths))
                (last if number == len(episode) - 1 else inside).append(middle)
                common.append(float((np.abs(lengths - middle) <= COMMON * middle).mean()))
    single = [float(length) for wave in record.singles for length in _ended(record, wave)]
    return Lengths(
        inside_s=_table(inside),
        last_s=_table(last),
        single_s=_table(single),
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


def _episodes(found: list[Wave]) -> tuple[tuple[Wave, ...], ...]:
    runs: list[list[Wave]] = []
    for wave in found:
        if runs and wave.start - runs[-1][-1].start <= EPISODE_GAP_MS:
            runs[-1].append(wave)
        else:
            runs.append([wave])
    return tuple(tuple(run) for run in runs)


def _node_days(trace: Trace) -> dict[str, float]:
    """Days that the nodes of each aggregate were present, up or not."""
    days: dict[str, float] = defaultdict(float)
    for number, pool in enumerate(trace.pools):
        mine = trace.pool_of_node == number
        days[pool.aggregate] += float((trace.left[mine] - trace.joined[mine]).sum()) / DAY_MS
    return days


def _slow_factor(record: Record) -> tuple[float, float]:
    """Sigma and half-life in days of the logarithm of the daily factor.

    For counts driven by a lognormal factor with autocorrelation r^k the covariance over the squared mean at lag k is
    exp(sigma^2 r^k) - 1 (Moller, Syversveen and Waagepetersen, 1998, theorem 1); the line through log(log(1 + c)) over
    lags of one to 28 days gives both. Counts are divided by their weekday's mean first.
    """
    lags = np.arange(1, 29)
    products = np.zeros((2, len(lags)))
    for name, found in record.episodes.items():
        days = _daily(found, record.trace, name)
        products[0] += [float(((days[:-k] - 1) * (days[k:] - 1)).sum()) for k in lags]
        products[1] += [len(days) - k for k in lags]
    ratio = products[0] / products[1]
    good = ratio > 0
    slope, level = np.polyfit(lags[good], np.log(np.log1p(ratio[good])), 1)
    return float(np.exp(level / 2)), float(min(365.0, np.log(0.5) / min(slope, -1e-3)))


def _daily(found: tuple[tuple[Wave, ...], ...], trace: Trace, aggregate: str) -> Floats:
    first = min(pool.joined_at for pool in trace.pools if pool.aggregate == aggregate) // DAY_MS + 1
    days = np.bincount(
        [day - first for day in (e[0].start // DAY_MS for e in found) if day >= first],
        minlength=trace.ends_at // DAY_MS - first,
    ).astype(np.float64)
    weekday = (np.arange(len(days)) + first + EPOCH_WEEKDAY) % 7
    means = np.array([days[weekday == each].mean() for each in range(7)])
    scaled: Floats = days / np.maximum(means[weekday], 1e-9)
    return scaled


def _share_memory(record: Record) -> float:
    """The correlation of two waves' shares within an episode on the normal scale: the intraclass correlation of a
    one-way analysis of variance (Fisher, 1925), of episodes with at most 20 waves, so that no storm outweighs the rest.
    """
    every = [e for found in record.episodes.values() for e in found]
    shares = np.array([wave.share for e in every for wave in e])
    noise = np.random.default_rng(0).random(len(shares)) * 1e-9  # ties, such as whole aggregates, in no set order
    rank = np.argsort(np.argsort(shares + noise))
    normal = NormalDist()
    score = np.array([normal.inv_cdf((int(r) + 0.5) / len(rank)) for r in rank])
    parts = np.split(score, np.cumsum([len(e) for e in every])[:-1])
    chosen = [part for part in parts if 2 <= len(part) <= 20]
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


def _hall_joins(record: Record) -> tuple[float, list[float]]:
    """How likely another aggregate of the hall falls with one that falls, and how deep the lesser of the two."""
    hall_of = {pool.aggregate: pool.hall for pool in record.trace.pools}
    times, shares = _falls(record)
    pairs = [(a, b) for a in sorted(times) for b in sorted(times) if a < b and hall_of[a] == hall_of[b]]
    lesser = [share for a, b in pairs for share in _lesser(times[a], times[b], shares[a], shares[b])]
    chances = sum(len(times[a]) + len(times[b]) for a, b in pairs)
    return _beyond_chance([(times[a], times[b]) for a, b in pairs]) / max(chances, 1), lesser


def _region_joins(record: Record) -> tuple[float, float]:
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


def _ended(record: Record, wave: Wave) -> Floats:
    return np.array([record.lengths_s[i] for i in wave.outages if record.ended[i]], dtype=np.float64)


def _table(values: list[float]) -> Table:
    quantiles = np.quantile(np.array(values, dtype=np.float64), LEVELS)
    return Table(levels=LEVELS, values=tuple(_rounded(max(float(q), 1e-3)) for q in quantiles))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def main() -> int:
    """Fit, write, and say where."""
    folder = os.environ.get("EBBTIDE_TRACES")
    if not folder:
        raise Refused("EBBTIDE_TRACES must name the folder of recorded traces")
    found = [trace for trace in find_traces(Path(folder)) if trace.format is TraceFormat.FAILURE_TRACE]
    if len(found) != 1:
        raise Refused(f"{folder}: {len(found)} cluster failure traces where one was expected")
    trace = read(found[0])
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("simulation") / "data" / PACKAGED
    target.write_text(render(fit(trace, source="fitted to the cluster failure trace g5k06.")), encoding="utf-8")
    print(f"{target}: fitted to {len(trace.outages)} losses of {len(trace.nodes)} nodes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

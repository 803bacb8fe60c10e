"""The record as the fit of the region model sees it: waves of each aggregate, and runs of waves that make episodes.

Called by `benchmarks.fit_region_model` and `benchmarks.region_model`; it groups, and estimates nothing.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from contracts.errors import Refused
from simulation.trace import NEVER, Flags, Floats, Trace
from simulation.trace_formats import TraceFormat, find_traces, read
from simulation.trace_measures import HOUR_MS, Grouping, Wave, waves

EPISODE_GAP_MS: Final = 2 * HOUR_MS
"""Waves of an aggregate closer than this belong to one episode: times between waves have a gap in their density from
about one hour, the length of a short job, to four hours."""
STORM_WAVES: Final = 20
"""Episodes from here on are storms: fourteen of them hold an eighth of the losses."""

Episode = tuple[Wave, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A trace with the groupings that every estimate needs: each aggregate's waves, and its episodes of waves."""

    trace: Trace
    waves: dict[str, tuple[Wave, ...]]
    singles: tuple[Wave, ...]
    episodes: dict[str, tuple[Episode, ...]]
    lengths_s: Floats
    ended: Flags

    @property
    def every(self) -> tuple[Episode, ...]:
        """All episodes of all aggregates."""
        return tuple(episode for found in self.episodes.values() for episode in found)


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
        ended=trace.outages.end < NEVER,
    )


def failure_trace() -> Trace:
    """The cluster failure trace in the folder that EBBTIDE_TRACES names; Refused where there is not exactly one."""
    folder = os.environ.get("EBBTIDE_TRACES")
    if not folder:
        raise Refused("EBBTIDE_TRACES must name the folder of recorded traces")
    found = [trace for trace in find_traces(Path(folder)) if trace.format is TraceFormat.FAILURE_TRACE]
    if len(found) != 1:
        raise Refused(f"{folder}: {len(found)} cluster failure traces where one was expected")
    return read(found[0])


def _episodes(found: list[Wave]) -> tuple[Episode, ...]:
    runs: list[list[Wave]] = []
    for wave in found:
        if runs and wave.start - runs[-1][-1].start <= EPISODE_GAP_MS:
            runs[-1].append(wave)
        else:
            runs.append([wave])
    return tuple(tuple(run) for run in runs)

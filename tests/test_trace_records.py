"""The importers on the recorded files themselves, against what their README says of them, and the model beside them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fit_region_model import fit
from benchmarks.region_model_text import render
from simulation.region_model import DAY_MS, sample, topology_of
from simulation.region_parameters import packaged
from simulation.trace import OutageKind, Trace
from simulation.trace_catalogue import sources
from simulation.trace_formats import TraceFormat, find_traces, load, read
from simulation.trace_measures import Grouping, exposure_hours, hour_edges, losses, waves

CALIBRATED = ("spread_sigma", "memory_sigma", "memory_half_life_days")


@pytest.fixture(scope="module")
def failure_trace(traces_folder: Path) -> Trace:
    (found,) = (trace for trace in find_traces(traces_folder) if trace.format is TraceFormat.FAILURE_TRACE)
    return read(found)


@pytest.mark.trace
def test_the_folder_holds_every_format_and_each_trace_loads(traces_folder: Path) -> None:
    found = find_traces(traces_folder)
    assert {trace.format for trace in found} == set(TraceFormat)
    for trace in found:
        loaded = read(trace)
        edges = hour_edges(loaded.starts_at, -(-(loaded.ends_at - loaded.starts_at) // 3_600_000))
        assert losses(loaded, edges).sum() == len(loaded.outages)
        assert exposure_hours(loaded, edges).min() > -1e-6


@pytest.mark.trace
def test_the_cluster_trace_has_74_pools_in_nine_aggregates_of_four_halls(failure_trace: Trace) -> None:
    assert len(failure_trace.pools) == 74
    assert len({pool.aggregate for pool in failure_trace.pools}) == 9
    assert len({pool.hall for pool in failure_trace.pools}) == 4
    assert max(pool.size for pool in failure_trace.pools) == 9
    assert len(failure_trace.nodes) == 621  # of 623; two were never available
    assert len(failure_trace.outages) == 118_436


@pytest.mark.trace
def test_the_cluster_trace_falls_in_large_waves(failure_trace: Trace) -> None:
    same_second = Counter(failure_trace.outages.start.tolist())
    assert 2300 < sum(count >= 10 for count in same_second.values()) <= 2414
    large = sum(wave.lost for wave in waves(failure_trace, Grouping.AGGREGATE, least=5))
    assert large > 0.8 * len(failure_trace.outages)


@pytest.mark.trace
def test_the_lifetimes_hold_the_limit_the_stops_and_the_wrong_rows(traces_folder: Path) -> None:
    trace = load("lifetimes_until_2019-03-28", folder=traces_folder)
    kinds = Counter(outage.kind for outage in trace.outages)
    assert kinds == {OutageKind.AGE_LIMIT: 198, OutageKind.RECLAIM: 156}
    assert len(trace.nodes) - len(trace.outages) == 286
    assert "24 stated lifetimes" in trace.notes[-1]


@pytest.mark.trace
def test_each_spot_set_stands_in_both_readings(traces_folder: Path) -> None:
    sets = [trace for trace in find_traces(traces_folder) if trace.format is TraceFormat.SPOT_AVAILABILITY]
    assert len(sets) == 6
    assert len({trace.path for trace in sets}) == 3


@pytest.mark.trace
def test_the_packaged_parameters_are_the_fit_to_the_record(failure_trace: Trace) -> None:
    found = fit(failure_trace, source=packaged().source)
    drawn = {field: getattr(packaged().episodes, field) for field in CALIBRATED}  # a minute's work, not repeated here
    found = found.model_copy(update={"episodes": found.episodes.model_copy(update=drawn)})
    assert render(found) == render(packaged())


@pytest.mark.trace
def test_the_model_loses_as_the_record_does(failure_trace: Trace) -> None:
    days = (failure_trace.ends_at - failure_trace.starts_at) // DAY_MS
    models = [
        sample(packaged(), topology_of(failure_trace), start=failure_trace.starts_at, days=days, seed=seed)
        for seed in (1, 2, 3)
    ]

    def rate(trace: Trace) -> float:
        edges = (trace.starts_at, trace.ends_at)
        return float(losses(trace, edges).sum() / exposure_hours(trace, edges).sum())

    assert rate(failure_trace) / 1.6 < float(np.median([rate(model) for model in models])) < rate(failure_trace) * 1.6
    for level in (0.75, 0.9):
        seen = float(np.quantile([wave.share for wave in waves(failure_trace, Grouping.AGGREGATE)], level))
        drawn = float(np.median([np.quantile([w.share for w in waves(m, Grouping.AGGREGATE)], level) for m in models]))
        assert seen / 1.4 < drawn < seen * 1.4


def test_the_catalogue_names_a_source_for_every_importer_and_no_address() -> None:
    assert {source.format for source in sources()} >= set(TraceFormat)
    for source in sources():
        assert source.traps
        text = " ".join((source.name, source.what, source.obtain, source.shape, source.terms, *source.traps))
        assert "://" not in text

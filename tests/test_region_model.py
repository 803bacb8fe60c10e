"""The region model: one seed is one history, and what it draws is what its parameters say."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fit_region_model import fit
from benchmarks.region_model_text import render
from contracts.errors import Refused
from simulation.region_model import (
    DAY_MS,
    AggregateShape,
    HallShape,
    PoolShape,
    sample,
    topology_from,
    topology_of,
)
from simulation.region_parameters import RegionParameters, Table, packaged, parse
from simulation.trace import OutageKind, Trace
from simulation.trace_measures import HOUR_MS, Grouping, exposure_hours, losses, waves

START = 1_767_225_600_000  # the first of January 2026, a Thursday


def region(halls: int = 4, aggregates: int = 2, pools: int = 4, size: int = 10) -> tuple[HallShape, ...]:
    return tuple(
        HallShape(
            f"h{h}",
            tuple(
                AggregateShape(f"h{h}/a{a}", tuple(PoolShape(f"h{h}/a{a}/p{p}", size) for p in range(pools)))
                for a in range(aggregates)
            ),
        )
        for h in range(halls)
    )


def changed(part: str, **values: object) -> RegionParameters:
    """The packaged parameters with some values of one part replaced."""
    whole = packaged()
    return whole.model_copy(update={part: getattr(whole, part).model_copy(update=values)})


@pytest.fixture(scope="module")
def year() -> Trace:
    return sample(packaged(), region(), start=START, days=365, seed=7)


def test_one_seed_is_one_history() -> None:
    one, again, other = (sample(packaged(), region(), start=START, days=20, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one.outages != other.outages


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 4), st.integers(1, 12))
def test_every_sample_is_a_valid_trace_of_its_topology(seed: int, halls: int, pools: int, size: int) -> None:
    shape = region(halls, 1, pools, size)
    trace = sample(packaged(), shape, start=START, days=3, seed=seed)  # `build` refuses what contradicts itself
    assert topology_of(trace) == shape
    assert (trace.starts_at, trace.ends_at) == (START, START + 3 * DAY_MS)
    assert bool((trace.outages.start < trace.ends_at).all())
    assert bool((trace.away_until > trace.starts_at).all())


def test_a_sample_opens_with_nodes_already_away(year: Trace) -> None:
    assert int((year.outages.start < START).sum()) > 0
    assert exposure_hours(year, (START, START + HOUR_MS)).sum() < 320


def test_sizes_of_waves_follow_their_table(year: Trace) -> None:
    shares = np.array([(w.lost - 2) / max(w.up - 2, 1) for w in waves(year, Grouping.AGGREGATE)])
    for level in (0.75, 0.9):
        expected = float(packaged().ordinary.share_beyond_two.at(level))
        assert expected / 1.6 < float(np.quantile(shares, level)) < min(1.01, expected * 1.6)


def test_lengths_of_single_losses_follow_their_table() -> None:
    quiet = changed("episodes", per_100_nodes_a_day=1e-6)
    trace = sample(quiet, region(), start=START, days=365, seed=7)
    lengths = (trace.outages.end - trace.outages.start) / 1000
    for level in (0.25, 0.5, 0.75, 0.9):
        expected = float(quiet.lengths.single_s.at(level))
        assert expected / 1.4 < float(np.quantile(lengths, level)) < expected * 1.4


def test_single_losses_come_at_their_rate() -> None:
    quiet = changed("episodes", per_100_nodes_a_day=1e-6)
    trace = sample(quiet, region(), start=START, days=365, seed=7)
    edges = (trace.starts_at, trace.ends_at)
    rate = losses(trace, edges).sum() / exposure_hours(trace, edges).sum()
    assert rate == pytest.approx(quiet.singles.per_node_hour, rel=0.3)


def test_episodes_start_in_the_hours_and_on_the_days_that_are_weighted() -> None:
    hours = [0.0] * 24
    hours[9] = 1.0
    days = [0.0] * 7
    days[3] = 1.0
    busy = changed("episodes", hour_weights_utc=tuple(hours), weekday_weights=tuple(days))
    one = Table(levels=(0.0, 1.0), values=(1.0, 1.0))
    busy = busy.model_copy(
        update={
            "ordinary": busy.ordinary.model_copy(update={"waves": one}),
            "storms": busy.storms.model_copy(update={"waves": one}),
            "singles": busy.singles.model_copy(update={"per_node_hour": 0.0}),
        }
    )
    trace = sample(busy, region(), start=START, days=60, seed=5)
    starts = {wave.start for wave in waves(trace, Grouping.AGGREGATE) if wave.start >= START}
    assert starts
    assert {at % DAY_MS // HOUR_MS for at in starts} == {9}
    assert {(at // DAY_MS + 3) % 7 for at in starts} == {3}


def test_losses_without_notice_come_at_the_assumed_share(year: Trace) -> None:
    kinds = Counter(outage.kind for outage in year.outages)
    assert set(kinds) == {OutageKind.RECLAIM, OutageKind.NO_NOTICE}
    assert kinds[OutageKind.NO_NOTICE] / kinds.total() == pytest.approx(packaged().no_notice_share, rel=0.2)


def test_halls_fall_together_only_where_the_parameters_let_them() -> None:
    def together(share: float) -> int:
        linked = changed("waves", region_join_share=share, region_more_share=1.0)
        found = waves(sample(linked, region(), start=START, days=120, seed=9), Grouping.HALL)
        big = sorted(wave.start for wave in found if wave.share >= 0.2)
        return sum(b - a < 1000 for a, b in itertools.pairwise(big))

    assert together(0.0) * 10 < together(0.2)


def test_a_fit_to_a_sample_finds_the_parameters_again() -> None:
    truth = changed("episodes", spread_sigma=0.0, memory_sigma=0.1)
    found = fit(sample(truth, region(), start=START, days=365, seed=7), source="a sample.")
    assert found.episodes.per_100_nodes_a_day == pytest.approx(truth.episodes.per_100_nodes_a_day, rel=0.6)
    assert found.singles.per_node_hour == pytest.approx(truth.singles.per_node_hour, rel=0.5)
    assert found.lengths.common_share == pytest.approx(truth.lengths.common_share, abs=0.1)
    assert found.waves.first_second_share == pytest.approx(truth.waves.first_second_share, abs=0.1)
    for level in (0.5, 0.75):
        assert float(found.ordinary.gap_s.at(level)) == pytest.approx(float(truth.ordinary.gap_s.at(level)), rel=0.5)


def test_the_packaged_file_is_what_the_writer_writes() -> None:
    assert parse(render(packaged()), "again.yaml") == packaged()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format: 1", "format: 2", "format: Input should be less"),
        ("no_notice_share: 0.05", "no_notice_share: 5", "no_notice_share: "),
        ("no_notice_share: 0.05", "no_notice: 0.05", "no_notice"),
        ("  levels: [0.0, 0.05,", "  levels: [0.0, 0.00,", "levels must rise"),
        ("  levels: [0.0, 0.05,", "  levels: [0.01, 0.05,", "levels must run from 0 to 1"),
        ("format: 1", "format: [1", r"x\.yaml:\d+:\d+: "),
    ],
)
def test_a_wrong_parameter_file_is_refused_with_its_place(old: str, new: str, message: str) -> None:
    text = render(packaged())
    assert old in text
    with pytest.raises(Refused, match=r"x\.yaml.*" + message if "yaml" not in message else message):
        parse(text.replace(old, new, 1), "x.yaml")


@given(st.lists(st.floats(0.01, 1e6), min_size=2, max_size=8), st.floats(0, 1))
def test_a_table_never_leaves_its_ends_and_never_falls(values: list[float], level: float) -> None:
    levels = tuple(float(x) for x in np.linspace(0, 1, len(values)))
    table = Table(levels=levels, values=tuple(sorted(values)))
    low, at, high = (float(table.at(x)) for x in (0.0, level, 1.0))
    assert low * 0.999999 <= at <= high * 1.000001
    assert float(table.at(level / 2)) <= at * 1.000001


@pytest.mark.parametrize(
    ("shape", "days", "message"),
    [
        ((), 1, "at least one pool"),
        (region(1, 1, 1, 0), 1, "has 0 nodes"),
        (region(1) + region(1), 1, "same name"),
        (region(1), 0, "not 0"),
        (region(1), 5000, "not 5000"),
    ],
)
def test_a_topology_or_time_that_makes_no_region_is_refused(
    shape: tuple[HallShape, ...], days: int, message: str
) -> None:
    with pytest.raises(Refused, match=message):
        sample(packaged(), shape, start=START, days=days, seed=1)


def test_a_topology_from_rows_keeps_pools_together_by_hall_and_aggregate() -> None:
    rows = [("p1", "h1", "a1", 3), ("p2", "h2", "a2", 4), ("p3", "h1", "a1", 5)]
    assert topology_from(rows) == (
        HallShape("h1", (AggregateShape("a1", (PoolShape("p1", 3), PoolShape("p3", 5))),)),
        HallShape("h2", (AggregateShape("a2", (PoolShape("p2", 4),)),)),
    )

"""The shape of a trace and what a replay asks of it, held against twins that count one millisecond range at a time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import Refused
from simulation.trace import Columns, Outage, OutageKind, Trace, TraceNode, build
from simulation.trace_measures import (
    HOUR_MS,
    WAVE_MS,
    Grouping,
    cut,
    exposure_hours,
    exposure_in,
    hour_edges,
    lose_notice,
    losses,
    losses_in,
    nodes_away,
    outages_in,
    up,
    up_by_pool,
    waves,
)

POOLS = (("p1", "h1", "a1"), ("p2", "h1", "a2"), ("p3", "h2", "a3"))
END = 1_000_000
Row = tuple[int, int, int | None, OutageKind]


def trace_of(rows: list[Row], nodes: list[TraceNode] | None = None) -> Trace:
    present = nodes or [TraceNode(f"n{i}", i % 3, 0) for i in range(6)]
    return build("t", source="made by hand", span=(0, END), pools=POOLS, nodes=present, outages=Columns.of(rows))


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Up to nine nodes in three pools, each joining, leaving and falling at drawn instants, some never returning."""
    nodes: list[TraceNode] = []
    rows: list[Row] = []
    for index in range(draw(st.integers(3, 9))):
        joined = draw(st.integers(0, END // 2))
        left = draw(st.none() | st.integers(joined + 1, END))
        nodes.append(TraceNode(f"n{index}", index % 3, joined, left))
        limit = END if left is None else left
        points = sorted(draw(st.sets(st.integers(joined, limit - 1), max_size=8)))
        pairs = list(zip(points[::2], points[1::2], strict=False))
        rows.extend((index, start, end, OutageKind.RECLAIM) for start, end in pairs[:-1])
        if pairs:
            last = draw(st.sampled_from((pairs[-1][1], None)))
            rows.append((index, pairs[-1][0], last, OutageKind.RECLAIM))
    return trace_of(draw(st.permutations(rows)), nodes)


def is_up(trace: Trace, node: int, at: int) -> bool:
    """The simple twin: present, and inside no outage."""
    one = trace.nodes[node]
    if at < one.joined_at or at >= (trace.ends_at if one.left_at is None else one.left_at):
        return False
    mine = [outage for outage in trace.outages if outage.node == one.name]
    return not any(o.start <= at and (o.end is None or at < o.end) for o in mine)


@given(traces(), st.integers(0, END - 1))
def test_a_node_is_up_exactly_when_it_is_present_and_in_no_outage(trace: Trace, at: int) -> None:
    assert up(trace, at).tolist() == [is_up(trace, node, at) for node in range(len(trace.nodes))]
    away = set(nodes_away(trace, at))
    assert away.isdisjoint({n.name for n, here in zip(trace.nodes, up(trace, at), strict=True) if here})
    assert up_by_pool(trace, at).sum() == up(trace, at).sum()


@given(traces(), st.lists(st.integers(0, END), min_size=2, max_size=6, unique=True))
def test_exposure_is_the_time_that_nodes_were_up(trace: Trace, points: list[int]) -> None:
    edges = sorted(points)
    marks = {0, END, *edges, *trace.outages.start.tolist(), *trace.away_until.tolist()}
    steps = sorted(marks | set(trace.joined.tolist()) | set(trace.left.tolist()))
    twin = np.zeros((len(edges) - 1, 3))
    for begin, end in itertools.pairwise(steps):
        for window in range(len(edges) - 1):
            if edges[window] <= begin and end <= edges[window + 1]:
                for node in range(len(trace.nodes)):
                    twin[window, trace.nodes[node].pool] += (end - begin) * is_up(trace, node, begin)
    assert np.allclose(exposure_hours(trace, edges) * HOUR_MS, twin, atol=1e-3)


@given(traces(), st.lists(st.integers(0, END), min_size=2, max_size=6, unique=True))
def test_losses_count_each_start_once_in_its_window(trace: Trace, points: list[int]) -> None:
    edges = sorted(points)
    counted = losses(trace, edges)
    for window, (begin, end) in enumerate(itertools.pairwise(edges)):
        inside = [o.pool for o in trace.outages if begin <= o.start < end]
        assert counted[window].tolist() == [inside.count(pool) for pool, _, _ in POOLS]
        assert losses_in(trace, begin, end) == {pool: inside.count(pool) for pool, _, _ in POOLS}
        assert len(list(outages_in(trace, begin, end))) == len(inside)


@given(traces(), st.sampled_from(Grouping))
def test_waves_hold_each_loss_once_and_last_no_longer_than_the_window(trace: Trace, by: Grouping) -> None:
    found = waves(trace, by, least=1)
    held = [index for wave in found for index in wave.outages]
    assert sorted(held) == list(range(len(trace.outages)))
    for wave in found:
        starts = [trace.outages[index].start for index in wave.outages]
        assert min(starts) == wave.start
        assert max(starts) - wave.start <= WAVE_MS
        pools = {pool.name for pool in trace.pools if by.of(pool) == wave.group}
        assert {trace.outages[index].pool for index in wave.outages} <= pools
    for group in {wave.group for wave in found}:
        starts = [wave.start for wave in found if wave.group == group]
        assert all(b - a > WAVE_MS for a, b in itertools.pairwise(starts))


@given(traces(), st.sampled_from(Grouping))
def test_a_wave_knows_how_many_were_up_just_before_it(trace: Trace, by: Grouping) -> None:
    for wave in waves(trace, by, least=1):
        members = [i for i, node in enumerate(trace.nodes) if by.of(trace.pools[node.pool]) == wave.group]
        first = trace.outages[wave.outages[0]].node
        joined_now = {i for i in members if trace.nodes[i].joined_at == wave.start}
        back_now = {trace.nodes[i].name for i in members if not is_up(trace, i, wave.start - 1)} | {first}
        surely = [i for i in members if is_up(trace, i, wave.start - 1)]
        assert len(surely) <= wave.up <= len(surely) + len(joined_now) + len(back_now)


@given(traces(), st.integers(0, END - 2), st.integers(1, END))
def test_a_part_of_a_trace_says_the_same_about_its_own_time(trace: Trace, start: int, length: int) -> None:
    end = min(END, start + length)
    part = cut(trace, start, end)
    assert exposure_in(part, start, end) == pytest.approx(exposure_in(trace, start, end))
    assert losses_in(part, start, end) == losses_in(trace, start, end)


def test_a_part_outside_the_trace_is_refused() -> None:
    with pytest.raises(Refused, match="holds 0 to 1000000"):
        cut(trace_of([]), 0, END + 1)


def test_losses_in_two_halls_are_one_wave_of_the_region_and_none_of_a_hall() -> None:
    trace = trace_of([(0, 1000, 200_000, OutageKind.RECLAIM), (2, 1000 + WAVE_MS, None, OutageKind.RECLAIM)])
    assert waves(trace, Grouping.HALL) == ()
    (wave,) = waves(trace, Grouping.REGION)
    assert (wave.lost, wave.up) == (2, 6)
    assert wave.share == pytest.approx(1 / 3)


def test_a_loss_one_millisecond_after_the_window_is_no_part_of_the_wave() -> None:
    rows: list[Row] = [(0, 0, 500, OutageKind.RECLAIM), (3, WAVE_MS + 1, None, OutageKind.RECLAIM)]
    assert waves(trace_of(rows), Grouping.POOL) == ()


def test_outages_read_in_order_of_start_as_values() -> None:
    trace = trace_of([(1, 500, None, OutageKind.RECLAIM), (0, 100, 300, OutageKind.AGE_LIMIT)])
    assert list(trace.outages) == [
        Outage("n0", "p1", 100, 300, OutageKind.AGE_LIMIT),
        Outage("n1", "p2", 500, None, OutageKind.RECLAIM),
    ]
    assert trace.outages[-1:] == (trace.outages[1],)


def test_a_trace_cannot_be_changed_through_its_columns() -> None:
    trace = trace_of([(1, 500, None, OutageKind.RECLAIM)])
    with pytest.raises(ValueError, match="read-only"):
        trace.outages.start[0] = 1


def test_equal_histories_are_equal_and_hash_alike_whatever_order_they_came_in() -> None:
    rows: list[Row] = [(1, 500, None, OutageKind.RECLAIM), (0, 100, 300, OutageKind.RECLAIM)]
    one, other = trace_of(rows), trace_of(rows[::-1])
    assert one == other
    assert hash(one) == hash(other)
    assert one != trace_of(rows[:1])


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 100, 100, OutageKind.RECLAIM)],
        [(0, 100, 300, OutageKind.RECLAIM), (0, 299, 400, OutageKind.RECLAIM)],
        [(0, 100, None, OutageKind.RECLAIM), (0, 400, 500, OutageKind.RECLAIM)],
        [(0, END, None, OutageKind.RECLAIM)],
    ],
    ids=["no length", "overlap", "after one that never ends", "after the trace"],
)
def test_outages_that_contradict_themselves_are_refused(rows: list[Row]) -> None:
    with pytest.raises(Refused, match="node n0"):
        trace_of(rows)


def test_an_outage_before_its_node_joined_is_refused() -> None:
    with pytest.raises(Refused, match="node n0"):
        trace_of([(0, 5, 10, OutageKind.RECLAIM)], [TraceNode(f"n{i}", i, 6) for i in range(3)])


def test_a_pool_without_nodes_and_a_trace_without_time_are_refused() -> None:
    with pytest.raises(Refused, match="pool p3 has no node"):
        trace_of([], [TraceNode("a", 0, 0), TraceNode("b", 1, 0)])
    with pytest.raises(Refused, match="spans no time"):
        build("t", source="", span=(5, 5), pools=POOLS, nodes=[], outages=Columns.of([]))


def test_edges_that_do_not_rise_are_refused() -> None:
    with pytest.raises(Refused, match="rise"):
        losses(trace_of([]), (5, 5))


def test_hours_follow_each_other_from_the_start() -> None:
    assert hour_edges(7, 2).tolist() == [7, 7 + HOUR_MS, 7 + 2 * HOUR_MS]


def test_the_stated_share_of_losses_loses_its_notice_and_nothing_else_changes() -> None:
    rows: list[Row] = [(i % 6, 1000 * i, 1000 * i + 1, OutageKind.RECLAIM) for i in range(600)]
    marked = lose_notice(trace_of(rows), share=0.05, seed=3)
    silent = [o for o in marked.outages if o.kind is OutageKind.NO_NOTICE]
    assert 10 <= len(silent) <= 60
    assert marked.outages.start.tolist() == trace_of(rows).outages.start.tolist()
    assert marked == lose_notice(trace_of(rows), share=0.05, seed=3)
    assert marked != lose_notice(trace_of(rows), share=0.05, seed=4)

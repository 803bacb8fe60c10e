"""What a replay asks of a trace: hours of exposure, losses, who is away when, and which losses came together.

Pure functions over `simulation.trace`; the replay benchmark, the simulated cloud and the fit of the region model call
them. Windows are half open, [start, end), in milliseconds; hours of exposure are node-hours in which a node was present
and up, which is the time at risk that a rate is divided by.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from contracts.errors import Refused
from simulation.trace import KINDS, Columns, Flags, Floats, Ints, Outage, OutageKind, Outages, Trace, TracePool

HOUR_MS = 3_600_000
WAVE_MS = 180_000
"""Losses of one group within three minutes are one wave: the window in which the design bounds a workload's loss."""


class Grouping(enum.Enum):
    """Which nodes count as one group when waves are looked for."""

    POOL = "pool"
    AGGREGATE = "aggregate"
    HALL = "hall"
    REGION = "region"

    def of(self, pool: TracePool) -> str:
        """The name of the group that a pool belongs to; the whole region is one group without a name of its own."""
        match self:
            case Grouping.POOL:
                return pool.name
            case Grouping.AGGREGATE:
                return pool.aggregate
            case Grouping.HALL:
                return pool.hall
            case Grouping.REGION:
                return "region"


@dataclass(frozen=True, slots=True)
class Wave:
    """Losses of one group that start within `WAVE_MS` of the first.

    `outages` are indices into the trace's outages, in order; `lost` counts them; `up` is how many of the group's nodes
    were up just before the first, so that `share` is the part of the group that fell.
    """

    group: str
    start: int
    outages: tuple[int, ...]
    up: int

    @property
    def lost(self) -> int:
        """How many losses the wave holds; a node that falls twice in it counts twice."""
        return len(self.outages)

    @property
    def share(self) -> float:
        """Part of the group's nodes that were up and fell, at most 1."""
        return min(1.0, self.lost / max(self.up, 1))


def hour_edges(start: int, hours: int) -> Ints:
    """The `hours` + 1 edges of consecutive hours from `start`, for `exposure_hours` and `losses`."""
    return np.arange(hours + 1, dtype=np.int64) * HOUR_MS + start


def exposure_hours(trace: Trace, edges: Sequence[int] | Ints) -> Floats:
    """Node-hours at risk, shape (bins, pools): the time that each pool's nodes were present and up in each bin."""
    at = _edges(edges)
    present = _overlap(trace, at, trace.pool_of_node, trace.joined, trace.left)
    away = _overlap(trace, at, trace.pool_of_outage, trace.outages.start, trace.away_until)
    return (present - away) / HOUR_MS


def losses(trace: Trace, edges: Sequence[int] | Ints) -> Ints:
    """Starts of outages, shape (bins, pools)."""
    at = _edges(edges)
    counts = np.zeros((len(at) - 1, len(trace.pools)), dtype=np.int64)
    where = np.searchsorted(at, trace.outages.start, side="right") - 1
    inside = (where >= 0) & (where < len(at) - 1)
    np.add.at(counts, (where[inside], trace.pool_of_outage[inside]), 1)
    return counts


def exposure_in(trace: Trace, start: int, end: int) -> dict[str, float]:
    """Node-hours at risk per pool name in one window."""
    row = exposure_hours(trace, (start, end))[0]
    return {pool.name: float(hours) for pool, hours in zip(trace.pools, row, strict=True)}


def losses_in(trace: Trace, start: int, end: int) -> dict[str, int]:
    """Losses per pool name in one window."""
    row = losses(trace, (start, end))[0]
    return {pool.name: int(count) for pool, count in zip(trace.pools, row, strict=True)}


def up(trace: Trace, at: int) -> Flags:
    """For each node whether it is present and up at that instant."""
    flags: Flags = (trace.joined <= at) & (at < trace.left)
    table = trace.outages
    seen = int(np.searchsorted(table.start, at, side="right"))
    flags[table.node[:seen][trace.away_until[:seen] > at]] = False
    return flags


def nodes_away(trace: Trace, at: int) -> tuple[str, ...]:
    """Names of the nodes that are present but down at that instant, in the trace's order."""
    there = (trace.joined <= at) & (at < trace.left) & ~up(trace, at)
    return tuple(trace.nodes[i].name for i in np.flatnonzero(there))


def up_by_pool(trace: Trace, at: int) -> Ints:
    """How many nodes of each pool are up at that instant."""
    return np.bincount(trace.pool_of_node[up(trace, at)], minlength=len(trace.pools)).astype(np.int64)


def outages_in(trace: Trace, start: int, end: int) -> Iterator[Outage]:
    """The outages that start in the window, in order: what a simulated cloud takes back, and until when."""
    first, last = np.searchsorted(trace.outages.start, (start, end))
    return (trace.outages[i] for i in range(int(first), int(last)))


def waves(trace: Trace, by: Grouping, *, least: int = 2, within_ms: int = WAVE_MS) -> tuple[Wave, ...]:
    """Every wave of at least `least` losses, in order of start and group.

    A wave opens with a loss that no earlier wave of its group holds and takes every loss of the group that starts
    within `within_ms` of it, so no wave is longer than that and each loss belongs to exactly one wave of a grouping.
    """
    groups = [by.of(pool) for pool in trace.pools]
    names = sorted(set(groups))
    code = np.array([names.index(group) for group in groups], dtype=np.int64)
    found: list[Wave] = []
    for number, name in enumerate(names):
        members = np.flatnonzero(code[trace.pool_of_outage] == number)
        cuts = _group_waves(trace, name, code[trace.pool_of_node] == number, members, within_ms)
        found.extend(wave for wave in cuts if wave.lost >= least)
    return tuple(sorted(found, key=lambda wave: (wave.start, wave.group)))


def cut(trace: Trace, start: int, end: int) -> Trace:
    """The part of a trace in [start, end): outages that touch it, with what ends later marked as not seen to end."""
    if not trace.starts_at <= start < end <= trace.ends_at:
        raise Refused(f"trace {trace.name} holds {trace.starts_at} to {trace.ends_at} ms, not {start} to {end}")
    keep = (trace.outages.start < end) & (trace.away_until > start)
    return replace(trace, starts_at=start, ends_at=end, outages=_chosen(trace, keep, trace.outages.kind))


def lose_notice(trace: Trace, *, share: float, seed: int) -> Trace:
    """The same trace with `share` of its losses, drawn one by one, marked as lost without a notice.

    No public source records notices, so a replay states its rule: this one, with 0.05 as the usual share.
    """
    drawn = np.random.default_rng(seed).random(len(trace.outages)) < share
    kind = np.where(drawn, KINDS.index(OutageKind.NO_NOTICE), trace.outages.kind).astype(np.int64)
    return replace(trace, outages=_chosen(trace, np.ones(len(kind), dtype=np.bool_), kind))


def _chosen(trace: Trace, keep: Flags, kind: Ints) -> Outages:
    table = trace.outages
    rows = Columns(table.node[keep], table.start[keep], table.end[keep], kind[keep])
    names = tuple((node.name, trace.pools[node.pool].name) for node in trace.nodes)
    return Outages(rows.node, rows.start, rows.end, rows.kind, names=names)


def _edges(edges: Sequence[int] | Ints) -> Ints:
    at = np.asarray(edges, dtype=np.int64)
    if len(at) < 2 or bool((np.diff(at) <= 0).any()):
        raise Refused(f"edges of windows must be two or more and rise; {len(at)} were given")
    return at


def _overlap(trace: Trace, edges: Ints, pool: Ints, start: Ints, end: Ints) -> Floats:
    """Milliseconds that the intervals of each pool cover of each bin, counted once per interval.

    The integral of the number of open intervals up to t is sum(max(0, t - start)) - sum(max(0, t - end)); each sum
    comes from sorted values and their running total, so bins cost a binary search instead of a pass.
    """
    covered = np.zeros((len(edges) - 1, len(trace.pools)))
    for number in range(len(trace.pools)):
        mine = pool == number
        total = _ramp(start[mine], edges) - _ramp(end[mine], edges)
        covered[:, number] = np.diff(total)
    return covered


def _ramp(points: Ints, at: Ints) -> Ints:
    ordered = np.sort(points)
    running = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(ordered - at[0])))
    seen = np.searchsorted(ordered, at, side="right")
    total: Ints = seen * (at - at[0]) - running[seen]
    return total


def _group_waves(trace: Trace, name: str, nodes: Flags, members: Ints, within_ms: int) -> Iterator[Wave]:
    starts = trace.outages.start[members]
    ready_at, gone_at = _up_steps(trace, nodes, members)
    first = 0
    while first < len(starts):
        begin = int(starts[first])
        last = int(np.searchsorted(starts, begin + within_ms, side="right"))
        ups = int(np.searchsorted(ready_at, begin, side="right") - np.searchsorted(gone_at, begin, side="left"))
        yield Wave(name, begin, tuple(members[first:last].tolist()), ups)
        first = last


def _up_steps(trace: Trace, nodes: Flags, members: Ints) -> tuple[Ints, Ints]:
    """Sorted instants at which a node of the group comes up and goes away; their counts differ by how many are up.

    A node that leaves while it is away has gone once already, so its return is the instant at which it leaves.
    """
    ready = np.concatenate((trace.joined[nodes], trace.away_until[members]))
    gone = np.concatenate((trace.left[nodes], trace.outages.start[members]))
    return np.sort(ready), np.sort(gone)

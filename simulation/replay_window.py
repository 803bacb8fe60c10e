"""One stretch of a trace made ready for a replay: what happens when, and what a ranker could know of it.

Called by `simulation.replay` once per window; all policies and seeds of that window share the result, because neither
losses nor what is learnt from them depends on who is placed where. It knows no workload, price or policy.

Stated rules. A loss is the start of an outage of at least `Rules.least_outage_s`. Its notice comes `Rules.notice_s`
before it, but for `Rules.no_notice_share` of losses, drawn one by one, which come without. The ranker hears of every
loss in a pool and of the pool's hours at risk, once every `RANK_MS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from contracts.errors import Refused
from pools.interruption import Hazards, History, Outlook, Topology, hazards, observe_arrays
from pools.ranking import settle
from simulation.trace import Flags, Floats, Ints, Outages, Trace, TracePool
from simulation.trace_measures import HOUR_MS, exposure_hours, losses, up

RANK_MS = 900_000
"""Every 15 minutes. The product ranks every five; a replay of months affords a third of that."""

DAY_MS = 24 * HOUR_MS

SETTLE_MS = DAY_MS
"""Work is placed this long before the score starts, so that the first placement and its boots are not scored."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What no trace records and a replay therefore states."""

    least_outage_s: int = 120
    notice_s: int = 120
    no_notice_share: float = 0.05

    def describe(self) -> str:
        """The rule in words."""
        return (
            f"a loss is an outage of at least {self.least_outage_s} s, notice {self.notice_s} s before it,"
            f" {self.no_notice_share:.0%} without"
        )


@dataclass(frozen=True)
class Window:
    """A trace in columns over [place_at, ends_at), scored from `score_at`; pools are in the order of their names.

    `starts` and `ends` are each loss's instants and `node` whose it is, in order of start. `published` holds for every
    multiple of `RANK_MS` from `place_at` the hazards that a ranking rests on (mean, upper, slow mean, slow upper by
    pool), and `version` counts their changes. `rate` is each pool's loss rate over the scored part (for adverse prices
    only; no planner sees it); `usual_up` nodes are up on average over it.
    """

    trace: Trace
    pools: tuple[TracePool, ...]
    topology: Topology
    score_at: int
    ends_at: int
    pool_of_node: tuple[int, ...]
    up_at_start: Flags
    node: Ints
    starts: Ints
    ends: Ints
    published: Floats
    version: Ints
    rate: Floats
    usual_up: float

    @property
    def place_at(self) -> int:
        """When work is first placed."""
        return self.score_at - SETTLE_MS

    @property
    def hours(self) -> float:
        """Hours that are scored."""
        return (self.ends_at - self.score_at) / HOUR_MS

    def hazards_at(self, at: int) -> tuple[int, Hazards]:
        """The ranker's last word at an instant, and its version."""
        step = min((at - self.place_at) // RANK_MS, len(self.published) - 1)
        return int(self.version[step]), Hazards(self.topology, *self.published[step])


def groups_of(pools: Sequence[TracePool]) -> tuple[tuple[str, str], ...]:
    """For each pool its bounding groups, the aggregate and the hall."""
    return tuple((f"aggregate/{pool.aggregate}", f"hall/{pool.hall}") for pool in pools)


def topology_of(pools: Sequence[TracePool]) -> Topology:
    """The ranker's view of pools and groups."""
    groups: dict[str, list[str]] = {}
    for pool, names in zip(pools, groups_of(pools), strict=True):
        for name in names:
            groups.setdefault(name, []).append(pool.name)
    return Topology.of([pool.name for pool in pools], groups)


def with_losses_of(trace: Trace, rules: Rules) -> Trace:
    """The trace without the outages that are no loss by the stated rule; their node counts as up."""
    table = trace.outages
    keep = trace.away_until - table.start >= rules.least_outage_s * 1000
    names = tuple((node.name, trace.pools[node.pool].name) for node in trace.nodes)
    kept = Outages(table.node[keep], table.start[keep], table.end[keep], table.kind[keep], names=names)
    return replace(trace, outages=kept)


def window(
    trace: Trace, *, score_at: int, days: int, warm_up_days: int, rules: Rules, outlook: Outlook | None = None
) -> Window:
    """The window that warms up before `score_at` and is scored for `days` days.

    Refused: a window that the trace does not hold.
    """
    begin = score_at - warm_up_days * DAY_MS
    ends_at = score_at + days * DAY_MS
    if not (trace.starts_at <= begin < score_at - SETTLE_MS < score_at < ends_at <= trace.ends_at):
        have = (trace.ends_at - trace.starts_at) / DAY_MS
        raise Refused(
            f"trace {trace.name} holds {have:.0f} days; it has no {warm_up_days} days of warm-up (at least 2) and"
            f" {days} days to score around day {(score_at - trace.starts_at) / DAY_MS:.0f}"
        )
    place_at = score_at - SETTLE_MS
    lossy = with_losses_of(trace, rules)
    order = sorted(range(len(trace.pools)), key=lambda p: trace.pools[p].name)
    rank = np.argsort(np.array(order))
    pools = tuple(trace.pools[p] for p in order)
    topology = topology_of(pools)
    edges = np.concatenate((np.arange(begin, place_at, HOUR_MS), np.arange(place_at, ends_at + 1, RANK_MS)))
    seen = (losses(lossy, edges)[:, order].astype(np.float64), exposure_hours(lossy, edges)[:, order])
    published, version = _published(topology, edges, seen, place_at, outlook)
    table = lossy.outages
    keep = (table.start >= place_at) & (table.start < ends_at)
    scored = (score_at, ends_at)
    exposure = exposure_hours(lossy, scored)[0][order]
    return Window(
        trace=lossy,
        pools=pools,
        topology=topology,
        score_at=score_at,
        ends_at=ends_at,
        pool_of_node=tuple(rank[lossy.pool_of_node].tolist()),
        up_at_start=up(lossy, place_at),
        node=table.node[keep],
        starts=table.start[keep],
        ends=lossy.away_until[keep],
        published=published,
        version=version,
        rate=losses(lossy, scored)[0][order] / np.maximum(exposure, 1.0),
        usual_up=float(exposure.sum()) / ((ends_at - score_at) / HOUR_MS),
    )


def _published(
    topology: Topology, edges: Ints, seen: tuple[Floats, Floats], place_at: int, outlook: Outlook | None
) -> tuple[Floats, Ints]:
    """Settled hazards at each ranking from `place_at` on, learnt from losses and hours of all bins."""
    lost, hours = seen
    history = History.empty(topology, outlook)
    rows: list[Floats] = []
    versions: list[int] = []
    last: Floats | None = None
    for i, at in enumerate(edges[1:].tolist()):
        history = observe_arrays(history, now=at, exposure_hours=hours[i], losses=lost[i])
        if at < place_at:
            continue
        fresh = hazards(history)
        settled = settle(last, np.stack((fresh.mean, fresh.upper, fresh.slow_mean, fresh.slow_upper)))
        changed = last is None or not np.array_equal(settled, last)
        versions.append((versions[-1] if versions else 0) + changed)
        rows.append(settled if changed or last is None else last)
        last = rows[-1]
    return np.stack(rows), np.array(versions, dtype=np.int64)


def coming(win: Window) -> Sequence[Ints]:
    """For each pool the sorted instants of its losses, for hindsight."""
    pools = np.array(win.pool_of_node, dtype=np.int64)[win.node]
    return [win.starts[pools == p] for p in range(len(win.pools))]

"""Small traces for the replay: four halls of two aggregates with three pools of twelve nodes each."""

from __future__ import annotations

import random
from collections.abc import Sequence

from simulation.replay_window import DAY_MS
from simulation.trace import Columns, OutageKind, Trace, TraceNode, build

HALLS, AGGREGATES, POOLS, NODES = 4, 2, 3, 12
HOUR = 3_600_000

Away = tuple[int, int, int]
"""Node index, start and end in milliseconds."""


def trace(outages: Sequence[Away], *, days: int = 12) -> Trace:
    """A trace of 288 nodes with these outages."""
    pools = [
        (f"h{h}/a{a}/p{p}", f"h{h}", f"h{h}/a{a}")
        for h in range(HALLS)
        for a in range(AGGREGATES)
        for p in range(POOLS)
    ]
    nodes = [TraceNode(f"{pools[i // NODES][0]}/n{i % NODES}", i // NODES, 0) for i in range(len(pools) * NODES)]
    rows = [(node, start, end, OutageKind.UNAVAILABLE) for node, start, end in outages]
    return build(
        "small", source="made by hand", span=(0, days * DAY_MS), pools=pools, nodes=nodes, outages=Columns.of(rows)
    )


def stormy(seed: int, *, days: int = 12, bad: int = 5) -> Trace:
    """Waves that take a whole pool, mostly one of the first `bad` pools, and single losses anywhere."""
    rng = random.Random(seed)
    count = HALLS * AGGREGATES * POOLS
    away: list[Away] = []
    for hour in range(days * 24):
        begin = hour * HOUR
        if rng.random() < 0.4:
            pool = rng.randrange(bad) * 4 % count if rng.random() < 0.8 else rng.randrange(count)
            lasts = rng.randrange(10, 50) * 60_000
            away += [(pool * NODES + n, begin + 300_000 + n * 1000, begin + 300_000 + lasts) for n in range(NODES)]
    return trace(away, days=days)

"""Turns a count of available nodes over time into nodes with absences, for sources that record counts only.

Called by the importers of spot availability and of membership logs; pure. A count names no node, so nodes are slots:
slot k is there while the count exceeds k. What joined last is lost first, which keeps the number of losses and every
total exact and makes the lower slots calmer than the upper ones; a replay over one pool must not read more into it.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulation.trace import OutageKind, TraceNode

Row = tuple[int, int, int | None, OutageKind]


def slots(
    steps: Sequence[tuple[int, int]], *, label: str, pool: int, first_node: int, ends_at: int
) -> tuple[list[TraceNode], list[Row]]:
    """Nodes and losses of one pool from (instant, count) steps in rising order, each count holding to the next step.

    A slot joins when the count first exceeds it; slots never reached do not exist. `first_node` is the index that the
    pool's first node will have in the trace. A pool that ends before the trace has its nodes leave at `ends_at`.
    """
    nodes: list[TraceNode] = []
    rows: list[Row] = []
    away: dict[int, int] = {}
    count = 0
    for at, now in steps:
        for slot in range(count, now):
            if slot == len(nodes):
                nodes.append(TraceNode(f"{label}/n{slot + 1:03d}", pool, at, ends_at))
            else:
                rows.append((first_node + slot, away.pop(slot), at, OutageKind.RECLAIM))
        for slot in range(now, count):
            away[slot] = at
        count = now
    rows.extend((first_node + slot, at, None, OutageKind.RECLAIM) for slot, at in sorted(away.items()))
    return nodes, rows

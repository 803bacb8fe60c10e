"""Reads the cluster failure trace in the Failure Trace Archive's tab-separated form (data set g5k06).

Called by `simulation.trace_formats`; pure: bytes in, trace out. A site becomes a hall, a cluster a host aggregate, and
blocks of nine nodes of a cluster, in the order of their numbers, a pool. The file records availability, not reclaims,
and its traps are met here: see `parse`.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from contracts.errors import Place, Refused
from simulation.trace import MOST_NODES, Columns, OutageKind, Trace, TraceNode, build

POOL_NODES: Final = 9
"""Nodes of one pool: with 623 nodes it gives 74 pools, about half of what the reference region has."""
LEAST_OUTAGE_S: Final = 120
"""Shorter absences are flaps of the monitor and no loss; the node counts as up through them."""
_FIELDS: Final = 9

Interval = tuple[int, int, bool]
"""Start and end in whole Unix seconds, and whether the node was available."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A node's place in the machine, in an order in which node 9 comes before node 10."""

    site: str
    cluster: str
    number: int
    name: str


def parse(data: bytes, file: str, *, name: str) -> Trace:
    """The trace in an `event_trace` table, already unpacked; `file` is named in errors.

    A node's leading unavailable interval, which mostly says that it is not built yet, is dropped and the node joins at
    its end. A loss is the start of an unavailable interval of at least `LEAST_OUTAGE_S`; unavailable intervals that
    touch are one. One that lasts to the end of the record has no end. Refused: a line with another number of fields,
    numbers or event type, a node name of another shape, intervals of one node that overlap.
    """
    intervals = _intervals(data, file)
    if not intervals:
        raise Refused(f"{Place(file)}: it holds no event")
    order = sorted(intervals, key=lambda node: (node.site, node.cluster, node.number, node.name))
    ends_at = max(rows[-1][1] for rows in intervals.values())
    starts_at = min(rows[0][0] for rows in intervals.values())
    pools, nodes, kept = _lay_out(order, intervals, ends_at)
    outages: list[tuple[int, int, int | None, OutageKind]] = []
    flaps = 0
    for index, rows in enumerate(kept):
        for start, end, available in rows:
            if available:
                continue
            if end - start < LEAST_OUTAGE_S and end < ends_at:
                flaps += 1
                continue
            outages.append((index, start * 1000, None if end >= ends_at else end * 1000, OutageKind.UNAVAILABLE))
    return build(
        name,
        source="Cluster node availability over 18 months, Failure Trace Archive data set g5k06 (Grid'5000, 2005-2006).",
        span=(starts_at * 1000, ends_at * 1000),
        pools=pools,
        nodes=nodes,
        outages=Columns.of(outages),
        notes=(
            "availability of nodes, not reclaims by a provider",
            f"{flaps} absences under {LEAST_OUTAGE_S} s count as flaps, not as losses",
            f"{len(order) - len(nodes)} nodes were never available and are left out",
        ),
    )


def _lay_out(
    order: list[_Node], intervals: dict[_Node, list[Interval]], ends_at: int
) -> tuple[list[tuple[str, str, str]], list[TraceNode], list[list[Interval]]]:
    """Pools, nodes and the intervals of each node from its joining on; a block is counted before nodes are left out."""
    pools: list[tuple[str, str, str]] = []
    nodes: list[TraceNode] = []
    kept: list[list[Interval]] = []
    rank: dict[tuple[str, str], int] = defaultdict(int)
    for node in order:
        block = rank[node.site, node.cluster] // POOL_NODES + 1
        rank[node.site, node.cluster] += 1
        rows = _merged(intervals[node])
        while rows and not rows[0][2]:
            rows = rows[1:]
        if not rows or rows[0][0] >= ends_at:
            continue
        aggregate = f"{node.site}/{node.cluster}"
        pool = (f"{aggregate}/p{block:02d}", node.site, aggregate)
        if not pools or pools[-1] != pool:
            pools.append(pool)
        nodes.append(TraceNode(node.name, len(pools) - 1, rows[0][0] * 1000))
        kept.append(rows)
    return pools, nodes, kept


def _merged(rows: list[Interval]) -> list[Interval]:
    """Intervals of positive length in order, neighbours of one kind that touch put together."""
    merged: list[Interval] = []
    for start, end, available in rows:
        if start == end:
            continue
        if merged and merged[-1][2] == available and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end, available)
        else:
            merged.append((start, end, available))
    return merged


def _intervals(data: bytes, file: str) -> dict[_Node, list[Interval]]:
    """Every node's intervals in order of time."""
    raw: dict[str, list[Interval]] = {}
    for number, line in enumerate(_text(data, file).splitlines(), start=1):
        if line.startswith("#") or not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != _FIELDS:
            raise Refused(f"{Place(file, number, 1)}: {len(fields)} tab-separated fields where {_FIELDS} were expected")
        try:
            kind, start, end = int(fields[5]), int(fields[6]), int(fields[7])
        except ValueError:
            raise Refused(
                f"{Place(file, number, 1)}: type, start and stop must be whole numbers: {line[:80]!r}"
            ) from None
        if kind not in (0, 1) or end < start:
            raise Refused(f"{Place(file, number, 1)}: type must be 0 or 1 and stop not before start: {line[:80]!r}")
        label = fields[4].strip()
        if label not in raw and len(raw) >= MOST_NODES:
            raise Refused(f"{Place(file, number, 1)}: more than {MOST_NODES} nodes")
        raw.setdefault(label, []).append((start, end, kind == 1))
    return {_node(label, file): _ordered(rows, label, file) for label, rows in raw.items()}


def _ordered(rows: list[Interval], label: str, file: str) -> list[Interval]:
    rows = sorted(rows)
    for before, after in itertools.pairwise(rows):
        if before[1] > after[0]:
            raise Refused(f"{Place(file)}: node {label} has two intervals at once, at {after[0]} s")
    return rows


def _node(label: str, file: str) -> _Node:
    parts = label.split("/")
    digits = parts[-1].removeprefix("node")
    if len(parts) != 4 or not digits.isascii() or not digits.isdigit():
        raise Refused(f"{Place(file)}: node name {label[:80]!r} is not of the form GRID/SITE/CLUSTER/nodeNUMBER")
    return _Node(parts[1], parts[2], int(digits), "/".join(parts[1:]))


def _text(data: bytes, file: str) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Refused(f"{Place(file, line, 1)}: a byte that is no ASCII text") from None

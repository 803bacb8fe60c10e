"""The one shape in memory of a recorded or modelled history of losses: pools, their nodes, and when each was away.

Importers and the region model build it; the replay benchmark and the simulated cloud read it. It knows nothing of file
formats, notices, prices or workloads. Instants are integer milliseconds since the Unix epoch in UTC; a source that
records no date counts from 0. Everything is frozen; the columns are read-only numpy arrays, because one public trace
alone holds more than a hundred thousand outages.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from contracts.errors import Refused

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEVER: int = 2**62
"""Stands in columns for an end that the record does not show; `Outage.end` says None for it."""

MOST_NODES = 1_000_000
"""More nodes than one region's census; a file that asks for more is refused before it fills the memory."""


class OutageKind(enum.Enum):
    """Why a node was away, as far as the source says."""

    UNAVAILABLE = "unavailable"  # the source records availability only
    RECLAIM = "reclaim"  # the provider took the capacity back
    AGE_LIMIT = "age-limit"  # the provider ends every node at a stated age
    NO_NOTICE = "no-notice"  # drawn, or marked by a stated rule, as lost without a notice


KINDS: tuple[OutageKind, ...] = tuple(OutageKind)
"""The order that the `kind` column counts in."""


@dataclass(frozen=True, slots=True)
class TraceNode:
    """One node: `pool` is an index into the trace's pools; it is present in [joined_at, left_at), None: to the end."""

    name: str
    pool: int
    joined_at: int
    left_at: int | None = None


@dataclass(frozen=True, slots=True)
class TracePool:
    """One pool: `size` counts every node it ever had; `joined_at` and `left_at` span its nodes' presence."""

    name: str
    hall: str
    aggregate: str
    size: int
    joined_at: int
    left_at: int | None


@dataclass(frozen=True, slots=True)
class Outage:
    """One absence: away in [start, end); `end` None means that the record ends first, or the node never returns."""

    node: str
    pool: str
    start: int
    end: int | None
    kind: OutageKind


class Outages(Sequence[Outage]):
    """All outages in order of start, then node: a sequence of `Outage` over read-only columns.

    `node` holds indices into the trace's nodes, `start` and `end` milliseconds (`NEVER` for None), `kind` indices into
    `KINDS`. Read the columns for speed and the items for clarity.
    """

    __slots__ = ("_names", "end", "kind", "node", "start")

    def __init__(self, node: Ints, start: Ints, end: Ints, kind: Ints, *, names: tuple[tuple[str, str], ...]) -> None:
        order = np.lexsort((node, start))
        self.node, self.start, self.end, self.kind = (_frozen(column[order]) for column in (node, start, end, kind))
        self._names = names

    @overload
    def __getitem__(self, index: int) -> Outage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Outage]: ...
    def __getitem__(self, index: int | slice) -> Outage | Sequence[Outage]:
        """One outage, or a tuple of them."""
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        node, pool = self._names[int(self.node[index])]
        end = int(self.end[index])
        kind = KINDS[int(self.kind[index])]
        return Outage(node, pool, int(self.start[index]), None if end >= NEVER else end, kind)

    def __len__(self) -> int:
        return len(self.start)

    def __iter__(self) -> Iterator[Outage]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outages) and self._names == other._names and self._bytes() == other._bytes()

    def __hash__(self) -> int:
        return hash(self._bytes())

    def _bytes(self) -> bytes:
        return b"".join(column.tobytes() for column in (self.node, self.start, self.end, self.kind))


@dataclass(frozen=True)
class Trace:
    """One history over [starts_at, ends_at): what was there, and what went away when.

    `source` is one sentence for a report; `notes` say what the importer dropped, corrected or assumed, with counts.
    No node has two outages at once, and each outage lies in its node's presence: `build` sees to it.
    """

    name: str
    source: str
    starts_at: int
    ends_at: int
    pools: tuple[TracePool, ...]
    nodes: tuple[TraceNode, ...]
    outages: Outages
    notes: tuple[str, ...] = ()

    @cached_property
    def pool_of_node(self) -> Ints:
        """For each node the index of its pool."""
        return _frozen(np.array([node.pool for node in self.nodes], dtype=np.int64))

    @cached_property
    def joined(self) -> Ints:
        """For each node the instant from which it is present."""
        return _frozen(np.array([node.joined_at for node in self.nodes], dtype=np.int64))

    @cached_property
    def left(self) -> Ints:
        """For each node the instant from which it is gone for good, at most `ends_at`."""
        return _frozen(
            np.array(
                [self.ends_at if n.left_at is None else min(n.left_at, self.ends_at) for n in self.nodes], np.int64
            )
        )

    @cached_property
    def pool_of_outage(self) -> Ints:
        """For each outage the index of its pool."""
        return _frozen(self.pool_of_node[self.outages.node])

    @cached_property
    def away_until(self) -> Ints:
        """For each outage its end, at most the instant at which its node leaves."""
        return _frozen(np.minimum(self.outages.end, self.left[self.outages.node]))


@dataclass(frozen=True, slots=True)
class Columns:
    """Outages as an importer gathered them, in any order; the meaning of each column is that of `Outages`."""

    node: Ints
    start: Ints
    end: Ints
    kind: Ints

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int | None, OutageKind]]) -> Columns:
        """Columns from rows of node index, start, end (None: not seen) and kind."""
        ends = [NEVER if end is None else end for _, _, end, _ in rows]
        return cls(
            np.array([row[0] for row in rows], dtype=np.int64),
            np.array([row[1] for row in rows], dtype=np.int64),
            np.array(ends, dtype=np.int64),
            np.array([KINDS.index(row[3]) for row in rows], dtype=np.int64),
        )


def build(
    name: str,
    *,
    source: str,
    span: tuple[int, int],
    pools: Sequence[tuple[str, str, str]],
    nodes: Sequence[TraceNode],
    outages: Columns,
    notes: Sequence[str] = (),
) -> Trace:
    """A checked trace over `span` from pools (name, hall, aggregate), nodes and outages in any order.

    Refused: an empty or reversed span, a pool without nodes, an outage of no length or outside its node's presence,
    two outages of one node at once, more than `MOST_NODES` nodes.
    """
    starts_at, ends_at = span
    if not starts_at < ends_at:
        raise Refused(f"trace {name}: it spans no time, from {starts_at} to {ends_at} ms")
    if len(nodes) > MOST_NODES:
        raise Refused(f"trace {name}: {len(nodes)} nodes, and at most {MOST_NODES} are read")
    names = tuple((node.name, pools[node.pool][0]) for node in nodes)
    trace = Trace(
        name=name,
        source=source,
        starts_at=starts_at,
        ends_at=ends_at,
        pools=_pools(name, pools, nodes),
        nodes=tuple(nodes),
        outages=Outages(outages.node, outages.start, outages.end, outages.kind, names=names),
        notes=tuple(notes),
    )
    _check(trace)
    return trace


def _pools(trace: str, pools: Sequence[tuple[str, str, str]], nodes: Sequence[TraceNode]) -> tuple[TracePool, ...]:
    members: list[list[TraceNode]] = [[] for _ in pools]
    for node in nodes:
        members[node.pool].append(node)
    rows: list[TracePool] = []
    for (name, hall, aggregate), inside in zip(pools, members, strict=True):
        if not inside:
            raise Refused(f"trace {trace}: pool {name} has no node")
        leaves = [node.left_at for node in inside if node.left_at is not None]
        left_at = max(leaves) if len(leaves) == len(inside) else None
        rows.append(TracePool(name, hall, aggregate, len(inside), min(n.joined_at for n in inside), left_at))
    return tuple(rows)


def _check(trace: Trace) -> None:
    """Refuse a trace whose outages contradict each other or their nodes' presence."""
    table = trace.outages
    wrong = (table.end <= table.start) | (table.start < trace.joined[table.node])
    wrong |= table.start >= trace.left[table.node]
    by_node = np.lexsort((table.start, table.node))
    same = table.node[by_node][1:] == table.node[by_node][:-1]
    overlap = same & (table.start[by_node][1:] < table.end[by_node][:-1])
    wrong[by_node[1:][overlap]] = True
    if wrong.any():
        bad = table[int(np.flatnonzero(wrong)[0])]
        raise Refused(
            f"trace {trace.name}: the outage of node {bad.node} from {bad.start} to {bad.end} ms has no length, "
            f"lies outside the node's presence or overlaps another one of that node"
        )


def _frozen(column: Ints) -> Ints:
    column.flags.writeable = False
    return column

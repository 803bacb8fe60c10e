"""The columns of the linear program by array: every pool that every workload may use, in lots.

Built once per full plan from a `Standing` whose floors are settled. Also here: what a column may hold at most, which
already carries the rounded shares and the part of the rule of eight domains that concerns a single domain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from reconciler.placement_line import Line
from reconciler.placement_state import Standing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of one eligibility class: `lines` of the table, `columns` of it, `shape` rows by columns."""

    lines: slice
    columns: slice
    shape: tuple[int, int]

    def of(self, values: Floats) -> Floats:
        """The block's part of an array over all columns, as a matrix of lines by columns (a view)."""
        return values[self.columns].reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Table:
    """Arrays over all columns, sorted by line: `start[i]:start[i+1]` are the columns of line i.

    Lines of one eligibility class follow each other, so that their columns are a matrix: see `blocks`.
    `scopes` are the domain and the bounding groups of a column (padded with `scope_count`, a scope without a bound);
    `wanted` is in units, rounded up to what whole lots can serve; `reach` the most units that lots may end at.
    """

    lines: list[Line]
    blocks: list[Block]
    start: Ints
    line: Ints
    column: Ints
    pool: Ints
    domain: Ints
    quantum: Floats
    per_lot: Floats
    cost: Floats
    most: Floats
    scopes: Ints
    scope_count: int
    wanted: Floats
    reach: Floats
    limits: Floats

    @property
    def size(self) -> int:
        """Number of columns."""
        return int(self.line.size)


def table(standing: Standing) -> Table:
    """The columns of all interruptible lines that want anything."""
    lines = [line for line in standing.lines if not line.is_floor and line.wanted > 0 and line.addable]
    first: dict[int, int] = {}
    for number, line in enumerate(lines):
        first.setdefault(id(line.shape), number)
    lines.sort(key=lambda line: first[id(line.shape)])
    counts = np.array([line.addable for line in lines], dtype=np.int64)
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    shapes = _Shapes(standing)
    parts = [shapes.arrays(line) for line in lines]
    pool = _joined([p.pool for p in parts])
    domain = _joined([p.domain for p in parts])
    quantum = _joined([p.quantum for p in parts]).astype(np.float64)
    owner = np.repeat(np.arange(len(lines)), counts)
    cost = _joined([np.array(line.costs[: line.addable], dtype=np.int64) for line in lines]).astype(np.float64)
    wanted = np.array([_rounded_up(line) for line in lines], dtype=np.float64)
    reach = np.array(
        [
            line.wanted + line.largest - 1 if line.smallest != line.largest else w
            for line, w in zip(lines, wanted, strict=True)
        ],
        dtype=np.float64,
    )
    share = np.array([line.pool_share for line in lines], dtype=np.float64)[owner]
    single = (reach - np.array([(line.required - 1) * line.smallest for line in lines]))[owner]
    most = np.minimum(np.maximum(quantum, share), np.maximum(single, quantum)) // quantum
    limits = np.array([_group_limit(line) for line in lines], dtype=np.float64)
    return Table(
        lines=lines,
        blocks=_blocks(lines, start),
        start=start,
        line=owner,
        column=_joined([np.arange(n) for n in counts]),
        pool=pool,
        domain=domain,
        quantum=quantum,
        per_lot=_joined([p.per_lot for p in parts]).astype(np.float64),
        cost=cost * quantum,
        most=most,
        scopes=np.concatenate([p.scopes for p in parts]) if parts else np.zeros((0, 1), dtype=np.int64),
        scope_count=len(standing.domain_names) + len(standing.group_names),
        wanted=wanted,
        reach=reach,
        limits=limits,
    )


def _blocks(lines: list[Line], start: Ints) -> list[Block]:
    blocks: list[Block] = []
    for _, group in groupby(enumerate(lines), key=lambda pair: id(pair[1].shape)):
        numbers = [number for number, _ in group]
        begin, end = numbers[0], numbers[-1] + 1
        columns = slice(int(start[begin]), int(start[end]))
        blocks.append(Block(slice(begin, end), columns, (end - begin, lines[begin].addable)))
    return blocks


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _rounded_up(line: Line) -> int:
    """Whole lots end at a multiple of the lots' common divisor, so nothing less is ever paid for."""
    step = math.gcd(*line.shape.quanta)
    return -(-line.wanted // step) * step


def _group_limit(line: Line) -> int:
    """Units that lots can hold in one group: its bound, rounded down to whole lots."""
    step = math.gcd(*line.shape.quanta)
    return max(line.largest, line.group_share) // step * step


@dataclass(frozen=True, slots=True)
class _Arrays:
    pool: Ints
    domain: Ints
    quantum: Ints
    per_lot: Ints
    scopes: Ints


class _Shapes:
    """Arrays of each eligibility class, made once."""

    def __init__(self, standing: Standing) -> None:
        self._known: dict[int, _Arrays] = {}
        self._domains = len(standing.domain_names)
        self._none = self._domains + len(standing.group_names)
        self._width = max((len(g) for g in standing.pool_groups), default=0)

    def arrays(self, line: Line) -> _Arrays:
        known = self._known.get(id(line.shape))
        if known is None:
            shape = line.shape
            scopes = np.full((len(shape.pools), 1 + self._width), self._none, dtype=np.int64)
            scopes[:, 0] = shape.domains
            for row, groups in zip(scopes, shape.groups, strict=True):
                row[1 : 1 + len(groups)] = [self._domains + g for g in groups]
            known = _Arrays(
                np.array(shape.pools, dtype=np.int64),
                np.array(shape.domains, dtype=np.int64),
                np.array(shape.quanta, dtype=np.int64),
                np.array(shape.per_lot, dtype=np.int64),
                scopes,
            )
            self._known[id(line.shape)] = known
        return known

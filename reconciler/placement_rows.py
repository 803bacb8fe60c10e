"""The rows of placement's linear program: what they are, what a column has in each, what a dual solution makes of them.

Fixed rows come first: what each line wants, the joint capacity of domains, headroom of pools and limits of teams, as
far as they can bind at all. Bounds of a line over a scope (or over several domains, for the rule of eight) follow as
they are found broken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import highspy
import numpy as np

from reconciler.placement_state import Standing
from reconciler.placement_table import Floats, Ints, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOLERANCE = 1e-6


@dataclass(slots=True)
class Rows:
    """Row numbers by what they bound; -1 where a row does not exist."""

    table: Table
    capacity_row: Ints  # [domain, dimension]
    capacity: Floats
    pool_row: Ints
    headroom: Floats
    team_row: Ints
    team_left: Floats
    size: Floats  # [pool, dimension]
    count: int
    scope_row: Ints  # [line, scope]
    scope_dual: Floats = field(init=False)
    bound_limit: list[float] = field(default_factory=list)
    bound_line: list[int] = field(default_factory=list)
    bound_scopes: list[frozenset[int]] = field(default_factory=list)
    cuts: dict[int, list[int]] = field(default_factory=dict)
    fixed: int = 0

    def __post_init__(self) -> None:
        self.scope_dual = np.zeros(self.scope_row.shape)
        self.fixed = self.count

    def lower(self) -> Floats:
        """Lower sides of the fixed rows."""
        side = np.full(self.fixed, -highspy.kHighsInf)
        side[: len(self.table.lines)] = self.table.wanted
        return side

    def upper(self) -> Floats:
        """Upper sides of the fixed rows."""
        side = np.full(self.fixed, highspy.kHighsInf)
        for row, limit in (
            (self.capacity_row, self.capacity),
            (self.pool_row, self.headroom),
            (self.team_row, self.team_left),
        ):
            chosen = row >= 0
            side[row[chosen]] = limit[chosen]
        return side

    def entries(self, fresh: Ints) -> tuple[Ints, Ints, Floats]:
        """The matrix of new columns, by column, as HiGHS takes it."""
        table = self.table
        line, pool, domain = table.line[fresh], table.pool[fresh], table.domain[fresh]
        quantum, per_lot = table.quantum[fresh], table.per_lot[fresh]
        ncu = np.array([one.need.milli_ncu for one in table.lines], dtype=np.float64)[line]
        team = np.array([one.team for one in table.lines], dtype=np.int64)[line]
        rows = [line, self.pool_row[pool], self.team_row[team]]
        values = [quantum, per_lot, quantum * ncu]
        for dimension in range(self.size.shape[1]):
            rows.append(self.capacity_row[domain, dimension])
            values.append(per_lot * self.size[pool, dimension])
        for place in range(table.scopes.shape[1]):
            rows.append(self.scope_row[line, table.scopes[fresh, place]])
            values.append(quantum)
        number = np.tile(np.arange(fresh.size), len(rows))
        row = np.concatenate(rows)
        value = np.concatenate(values)
        extra = self._cut_entries(fresh)
        number, row, value = (np.concatenate(pair) for pair in zip((number, row, value), extra, strict=True))
        keep = (row >= 0) & (value != 0)
        number, row, value = number[keep], row[keep], value[keep]
        order = np.lexsort((row, number))
        starts = np.searchsorted(number[order], np.arange(fresh.size))
        return starts, row[order], value[order]

    def _cut_entries(self, fresh: Ints) -> tuple[Ints, Ints, Floats]:
        number: list[int] = []
        row: list[int] = []
        for n, column in enumerate(fresh):
            for cut in self.cuts.get(int(self.table.line[column]), ()):
                if int(self.table.domain[column]) in self.bound_scopes[cut]:
                    number.append(n)
                    row.append(self.fixed + cut)
        chosen = fresh[np.array(number, dtype=np.int64)]
        return np.array(number, dtype=np.int64), np.array(row, dtype=np.int64), self.table.quantum[chosen]

    def bind(self, line: int, scopes: frozenset[int], limit: float, order: Ints) -> Ints:
        """Notes a bound as the next row; returns the places in `order` of the columns it counts."""
        number = len(self.bound_limit)
        self.bound_limit.append(limit)
        self.bound_line.append(line)
        self.bound_scopes.append(scopes)
        if len(scopes) == 1:
            self.scope_row[line, min(scopes)] = self.fixed + number
        else:
            self.cuts.setdefault(line, []).append(number)
        self.count += 1
        mine = np.flatnonzero(self.table.line[order] == line)
        held = np.isin(self.table.scopes[order[mine]], np.array(sorted(scopes))).any(axis=1)
        return mine[held]

    def reduced(self, duals: Floats) -> Floats:
        """Reduced costs of every column of the table, in the master or not."""
        table = self.table
        price = np.zeros(len(self.size))
        for dimension in range(self.size.shape[1]):
            price += self.size[:, dimension] * _dual_of(duals, self.capacity_row[self._pool_domain, dimension])
        price += _dual_of(duals, self.pool_row)
        ncu = np.array([one.need.milli_ncu for one in table.lines], dtype=np.float64)
        team = np.array([one.team for one in table.lines], dtype=np.int64)
        unit = duals[: len(table.lines)] + ncu * _dual_of(duals, self.team_row)[team]
        self.scope_dual[:] = 0.0
        for number, (line, scopes) in enumerate(zip(self.bound_line, self.bound_scopes, strict=True)):
            for scope in scopes:
                self.scope_dual[line, scope] += duals[self.fixed + number]
        per_unit = unit[table.line]
        for place in range(table.scopes.shape[1]):
            per_unit += self.scope_dual[table.line, table.scopes[:, place]]
        return table.cost - table.per_lot * price[table.pool] - table.quantum * per_unit

    @property
    def _pool_domain(self) -> Ints:
        result = np.zeros(len(self.size), dtype=np.int64)
        result[self.table.pool] = self.table.domain
        return result

    def fixed_value(self, duals: Floats) -> float:
        """What the duals alone are worth: the sum of dual times right-hand side."""
        total = float(np.dot(duals[: len(self.table.lines)], self.table.wanted))
        for row, limit in (
            (self.capacity_row, self.capacity),
            (self.pool_row, self.headroom),
            (self.team_row, self.team_left),
        ):
            chosen = row >= 0
            total += float(np.dot(duals[row[chosen]], limit[chosen]))
        return total + float(np.dot(duals[self.fixed :], np.array(self.bound_limit)))

    def broken(self, order: Ints, lots: Floats) -> list[tuple[int, frozenset[int], float]]:
        """Bounds without a row that this solution breaks: scopes over their limit, and sums over several domains."""
        table = self.table
        used = np.flatnonzero(lots > _TOLERANCE)
        columns = order[used]
        units = lots[used] * table.quantum[columns]
        width = table.scope_count + 1
        held = np.zeros((len(table.lines), width))
        for place in range(table.scopes.shape[1]):
            np.add.at(held, (table.line[columns], table.scopes[columns, place]), units)
        held[:, table.scope_count] = 0.0
        domains = self.capacity_row.shape[0]
        over = held > table.limits[:, None] + _TOLERANCE
        share = np.array([max(one.largest, one.pool_share) for one in table.lines], dtype=np.float64)
        over[:, :domains] = held[:, :domains] > share[:, None] + _TOLERANCE
        over &= self.scope_row < 0
        found: list[tuple[int, frozenset[int], float]] = []
        for line, scope in zip(*np.nonzero(over), strict=True):
            limit = share[line] if scope < domains else table.limits[line]
            found.append((int(line), frozenset((int(scope),)), float(limit)))
        return found + self._broken_sums(held[:, :domains])

    def _broken_sums(self, held: Floats) -> list[tuple[int, frozenset[int], float]]:
        found = []
        for number, line in enumerate(self.table.lines):
            most = min(line.required - 1, held.shape[1])
            if most < 2:
                continue
            top = np.argsort(-held[number], kind="stable")[:most]
            sums = np.cumsum(held[number][top])
            limits = self.table.reach[number] - (line.required - np.arange(1, most + 1)) * line.smallest
            excess = sums - limits
            worst = int(np.argmax(excess))
            if worst > 0 and excess[worst] > 1e-4:
                found.append((number, frozenset(int(d) for d in top[: worst + 1]), float(limits[worst])))
        return found


def _dual_of(duals: Floats, row: Ints) -> Floats:
    return np.where(row >= 0, duals[np.maximum(row, 0)], 0.0)


def fixed_rows(standing: Standing, columns: Table) -> Rows:
    """The rows that stand from the start; capacity and headroom only where all columns together could exceed them."""
    pools = len(standing.pool_size)
    lots = np.bincount(columns.pool, weights=columns.most * columns.per_lot, minlength=pools)
    size = np.array(standing.pool_size, dtype=np.float64).reshape(pools, -1)
    domain = np.array(standing.pool_domain, dtype=np.int64)
    free = np.maximum(0.0, np.array(standing.free, dtype=np.float64))
    headroom = np.maximum(0.0, np.array(standing.headroom, dtype=np.float64))
    count = len(columns.lines)
    pool_row = np.full(pools, -1, dtype=np.int64)
    # A pool's headroom that its domain's capacity implies needs no row of its own.
    with np.errstate(divide="ignore", invalid="ignore"):
        implied = np.where(size > 0, free[domain] / size, np.inf).min(axis=1, initial=np.inf)
    binding = np.flatnonzero((lots > headroom) & (headroom < np.floor(implied)))
    pool_row[binding] = count + np.arange(binding.size)
    count += binding.size
    use = np.zeros_like(free)
    np.add.at(use, domain, lots[:, None] * size)
    capacity_row = np.full(free.shape, -1, dtype=np.int64)
    tight = np.argwhere((use > free) & ~_covered(free, size, domain))
    capacity_row[tight[:, 0], tight[:, 1]] = count + np.arange(len(tight))
    count += len(tight)
    left = np.array(standing.team_left, dtype=np.float64)
    team_row = np.full(left.size, -1, dtype=np.int64)
    limited = np.flatnonzero(left < 1e15)
    team_row[limited] = count + np.arange(limited.size)
    count += limited.size
    return Rows(
        table=columns,
        capacity_row=capacity_row,
        capacity=free,
        pool_row=pool_row,
        headroom=headroom,
        team_row=team_row,
        team_left=left,
        size=size,
        count=count,
        scope_row=np.full((len(columns.lines), columns.scope_count + 1), -1, dtype=np.int64),
    )


def _covered(free: Floats, size: Floats, domain: Ints) -> NDArray[np.bool_]:
    """Dimensions that another dimension of the same domain implies: its rows all use at least as large a part of it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(size > 0, size / free[domain], 0.0)
    covered = np.zeros(free.shape, dtype=bool)
    for d in range(len(free)):
        rows = part[domain == d]
        for a in range(free.shape[1]):
            for b in range(free.shape[1]):
                if (
                    a != b
                    and not covered[d, b]
                    and (rows[:, b] >= rows[:, a]).all()
                    and (b < a or (rows[:, b] > rows[:, a]).any())
                ):
                    covered[d, a] = True
    return covered

"""The linear program of placement by column and row generation, and the lower bound it proves.

A workload uses a dozen of its many pools, and meets a few of its many bounds. So the master program starts with the
columns that the greedy plan uses and the cheapest ones, and grows: columns whose reduced cost is negative come in
(column generation: Desrosiers and Luebbecke, A Primer in Column Generation, 2005), and so do the bounds that the
last solution breaks. After every round the duals give a bound on the whole program, columns never seen included
(Lagrangian: rows are priced, each workload then takes its best columns up to what it wants), so that stopping early
is honest. Budgets are rounds, never seconds; HiGHS runs its simplex on one thread.

The rule of eight domains enters as what it implies for sums: any k domains hold at most the wanted units less one lot
for each of the (required - k) others. The single domain (k = 1) is in the columns' limits; broken ones are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from reconciler.placement_rows import Rows, fixed_rows
from reconciler.placement_solver import solver
from reconciler.placement_state import Standing
from reconciler.placement_table import Floats, Ints, Table

ROUNDS = 14
"""Rounds of generation at most; the gap closes in 8 to 10 on the benchmark's regional instance."""

LARGE = 200_000
"""Columns from which a plan stops after `LARGE_ROUNDS`."""

LARGE_ROUNDS = 5
"""Rounds for a large program: its value is then within 0.5 % of the end, which takes ten more rounds to prove."""

ENOUGH_PPM = 500
"""Stop when the master is within this of the bound (parts per million): a tenth of the gap that rounding costs."""

FEW_BROKEN = 50
"""With at most one bound broken for so many workloads, rounding, which keeps them all, costs next to nothing more."""

CHEAPEST = 6
"""Cheapest columns of each workload that the first master gets beside those of the greedy plan."""

MOST_NEW = 8
"""Columns per workload that one round of pricing adds at most."""

INERTIA = 0.3
"""Weight of the earlier duals in pricing. Smoothing (Wentges 1997) keeps prices from swinging."""

_ALL_COLUMNS = 4_000
"""With at most this many columns, the first master holds them all."""

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The fractional answer: columns of the table with their lots, reduced costs per unit of *all* columns (what a unit
    costs there, capacity priced in), units left out per line and what one counts, the value and the proven bound (1e-6
    per hour, what is left out included).
    """

    used: Ints
    lots: Floats
    priced: Floats
    short: Floats
    short_cost: Floats
    value: float
    bound: float
    rounds: int


def solve(
    standing: Standing,
    columns: Table,
    started: Ints,
    most_short: Floats,
    *,
    rounds: int | None = None,
    short_cost: Floats | None = None,
) -> Relaxed | None:
    """Solves the program; None where HiGHS gives up on it.

    `started` are columns that carry a feasible start, which leaves `most_short` units out.
    `rounds` overrides the budget, and `short_cost` what a unit left out counts, for a benchmark that proves a bound.
    """
    budget = rounds or (ROUNDS if columns.size < LARGE else LARGE_ROUNDS)
    costs = short_costs(columns) if short_cost is None else short_cost
    return _Master(standing, columns, started, most_short, costs).run(budget)


class _Master:
    """The growing program: rows of `Rows`, one shortage column per line first, then columns of the table."""

    def __init__(
        self, standing: Standing, columns: Table, started: Ints, most_short: Floats, short_cost: Floats
    ) -> None:
        self.table = columns
        self.rows: Rows = fixed_rows(standing, columns)
        self.solver = solver(threads=1, random_seed=1, solver="simplex")
        self.short_cost = short_cost
        self.most_short = most_short
        self.units = columns.most * columns.quantum
        self.inside = np.zeros(columns.size, dtype=bool)
        self.order = np.zeros(0, dtype=np.int64)
        self._open()
        self._bring(self._first(started))

    def run(self, budget: int) -> Relaxed | None:
        """Rounds of solving, pricing and binding, until the bound is near or the budget is spent.

        Where the solver gives up, the round before is the answer; None in the first.
        """
        best_bound = -np.inf
        steady: Floats = np.zeros(0)
        answer: Relaxed | None = None
        for number in range(budget):
            self.solver.run()
            if self.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                break
            solution = self.solver.getSolution()
            values = np.array(solution.col_value)
            value = float(self.solver.getInfo().objective_function_value)
            broken = self.rows.broken(self.order, values[len(self.table.lines) :])
            duals = np.array(solution.row_dual)
            moving = answer is None or abs(value - answer.value) > value * ENOUGH_PPM / 1_000_000
            if steady.size and moving:
                # New rows were unpriced when the best duals were found.
                steady = np.concatenate([steady, np.zeros(duals.size - steady.size)])
                steady = INERTIA * steady + (1 - INERTIA) * duals
            else:
                steady = duals
            reduced = self.rows.reduced(steady)
            bound = self._bound(steady, reduced)
            trial = steady
            fresh = self._attractive(reduced)
            if not fresh.size:
                trial = duals
                reduced = self.rows.reduced(duals)
                bound = max(bound, self._bound(duals, reduced))
                fresh = self._attractive(reduced)
            best_bound = max(best_bound, bound)
            lots = values[len(self.table.lines) :]
            answer = Relaxed(
                used=self.order[lots > _TOLERANCE],
                lots=lots[lots > _TOLERANCE],
                priced=reduced / self.table.quantum + trial[: len(self.table.lines)][self.table.line],
                short=values[: len(self.table.lines)],
                short_cost=self.short_cost,
                value=value,
                bound=best_bound,
                rounds=number + 1,
            )
            gap_ppm = (value - best_bound) * 1_000_000 / max(1.0, abs(best_bound))
            if gap_ppm < ENOUGH_PPM and len(broken) * FEW_BROKEN <= len(self.table.lines):
                break
            if not broken and not fresh.size:
                break
            self._bound_rows(broken)
            self._bring(fresh)
        return answer

    def _open(self) -> None:
        rows = self.rows
        empty = np.zeros(0)
        none = np.zeros(0, dtype=np.int32)
        starts = np.zeros(rows.count, dtype=np.int32)
        self.solver.addRows(rows.count, rows.lower(), rows.upper(), 0, starts, none, empty)
        lines = len(self.table.lines)
        index = np.arange(lines, dtype=np.int32)
        self.solver.addCols(
            lines, self.short_cost, np.zeros(lines), self.most_short, lines, index, index, np.ones(lines)
        )

    def _first(self, started: Ints) -> Ints:
        table = self.table
        if table.size <= _ALL_COLUMNS:
            return np.arange(table.size)
        chosen = np.zeros(table.size, dtype=bool)
        chosen[_least(table, table.cost / table.quantum, CHEAPEST)] = True
        chosen[started] = True
        return np.flatnonzero(chosen)

    def _bring(self, fresh: Ints) -> None:
        fresh = fresh[~self.inside[fresh]]
        if not fresh.size:
            return
        self.inside[fresh] = True
        self.order = np.concatenate([self.order, fresh])
        starts, index, value = self.rows.entries(fresh)
        table = self.table
        self.solver.addCols(
            fresh.size,
            table.cost[fresh],
            np.zeros(fresh.size),
            table.most[fresh],
            index.size,
            starts.astype(np.int32),
            index.astype(np.int32),
            value,
        )

    def _bound_rows(self, broken: list[tuple[int, frozenset[int], float]]) -> None:
        offset = len(self.table.lines)
        for line, scopes, limit in broken:
            members = self.rows.bind(line, scopes, limit, self.order)
            values = self.table.quantum[self.order[members]]
            index = (members + offset).astype(np.int32)
            self.solver.addRow(-highspy.kHighsInf, limit, index.size, index, values)

    def _attractive(self, reduced: Floats) -> Ints:
        """The most negative columns of each line, at most `MOST_NEW`."""
        table = self.table
        per_unit = reduced / table.quantum
        per_unit[self.inside] = 0.0
        found = _least(table, per_unit, MOST_NEW)
        return found[per_unit[found] * table.quantum[found] < -_TOLERANCE * np.maximum(1.0, table.cost[found])]

    def _bound(self, duals: Floats, reduced: Floats) -> float:
        """The Lagrangian bound of these duals: each line fills its best columns, up to what its lots may reach."""
        table = self.table
        fixed = self.rows.fixed_value(duals)
        slack = np.minimum(0.0, self.short_cost - duals[: len(table.lines)])
        fixed += float(np.dot(slack, self.most_short))
        per_unit = np.minimum(0.0, reduced / table.quantum)
        for block in table.blocks:
            fixed += _best_fill(block.of(per_unit), block.of(self.units), table.reach[block.lines])
        return fixed


def _least(table: Table, values: Floats, most: int) -> Ints:
    """The columns of each line with its `most` least values, in the order of the table."""
    found = []
    for block in table.blocks:
        lines, width = block.shape
        if width <= most:
            found.append(np.arange(block.columns.start, block.columns.stop))
            continue
        least = np.argpartition(block.of(values), most - 1, axis=1)[:, :most]
        least.sort(axis=1)
        found.append((least + block.columns.start + width * np.arange(lines)[:, None]).ravel())
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _best_fill(per_unit: Floats, units: Floats, reach: Floats) -> float:
    """The least value of each line's units over its columns, at most `units` in each and `reach` in all; the sum."""
    # So many of a line's best columns hold all that it may reach, whichever they are.
    least = units.min(axis=1)
    enough = int(np.ceil((reach / np.maximum(1.0, least)).max())) if least.min() > 0 else per_unit.shape[1]
    if enough < per_unit.shape[1]:
        best = np.argpartition(per_unit, enough - 1, axis=1)[:, :enough]
        per_unit = np.take_along_axis(per_unit, best, axis=1)
        units = np.take_along_axis(units, best, axis=1)
    order = np.argsort(per_unit, axis=1, kind="stable")
    per_unit = np.take_along_axis(per_unit, order, axis=1)
    units = np.take_along_axis(units, order, axis=1)
    before = np.cumsum(units, axis=1) - units
    return float((per_unit * np.clip(reach[:, None] - before, 0.0, units)).sum())


def short_costs(columns: Table) -> Floats:
    """What leaving one unit out counts: above any unit's cost, and four times as much for each stricter tier.

    Greedy has settled who may stay short and by how much, so this only has to be worth serving and to prefer strict
    tiers; a steeper ladder costs the simplex its accuracy.
    """
    tiers = np.array([line.need.tier for line in columns.lines], dtype=np.float64)
    ncu = np.array([line.need.milli_ncu for line in columns.lines], dtype=np.float64)
    if not columns.size:
        return np.zeros(0)
    dearest = float((columns.cost / columns.quantum / np.maximum(1.0, ncu[columns.line])).max())
    return 3.0 * dearest * np.maximum(1.0, ncu) * 4.0 ** (5 - tiers)

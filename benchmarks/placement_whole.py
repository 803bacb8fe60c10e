"""The peer of the placement benchmark: HiGHS on the whole linear program at once, and the bound that plans are held to.

The whole program has every column and every bound of every workload as a row, with the same rounded limits as the
planner. The sums that express the rule of eight domains are left out here (they would be exponentially many), which
makes it easier for HiGHS; the bound of `proof` has them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import highspy
import numpy as np

from reconciler import placement_lp
from reconciler.placement_rows import fixed_rows
from reconciler.placement_solver import solver as silent
from reconciler.placement_state import Standing
from reconciler.placement_table import Floats, Ints, Table, table
from reconciler.problem import Placement, Problem

LEFT_OUT_PRICE = 3.0
"""What a unit left out counts, in dearest offers: enough that no plan is better for leaving one out."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What HiGHS did: solving time (building left out), whether it came to the end, and the value where it did."""

    seconds: float
    finished: bool
    value: float


def solve_whole(problem: Problem, *, solver: str, limit_s: float) -> Whole:
    """Solves the whole program, at most `limit_s` seconds: then its time is a lower bound.

    A second thread is allowed: the planner's own solver has one.
    """
    standing = Standing(problem)
    columns = table(standing)
    rows = fixed_rows(standing, columns)
    lower, upper = rows.lower(), rows.upper()
    pairs = np.unique(columns.line[:, None] * (columns.scope_count + 1) + columns.scopes)
    line, scope = np.divmod(pairs, columns.scope_count + 1)
    real = scope < columns.scope_count
    line, scope = line[real], scope[real]
    rows.scope_row[line, scope] = rows.count + np.arange(line.size)
    share = np.array([max(one.largest, one.pool_share) for one in columns.lines], dtype=np.float64)
    bounds = np.where(scope < len(standing.domain_names), share[line], columns.limits[line])
    program = _program(columns, rows.entries(np.arange(columns.size)), rows.count + line.size)
    program.row_lower_ = np.concatenate([lower, np.full(line.size, -highspy.kHighsInf)])
    program.row_upper_ = np.concatenate([upper, bounds])
    # The planner's solver has fixed the process-wide scheduler to one thread; HiGHS refuses another number until reset.
    highspy.Highs.resetGlobalScheduler(True)  # noqa: FBT003 - the binding takes no names
    highs = silent(threads=2, solver=solver, time_limit=limit_s)
    if highs.passModel(program) == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS refuses the whole program")
    began = time.perf_counter()
    if highs.run() == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS could not run on the whole program")
    seconds = time.perf_counter() - began
    highspy.Highs.resetGlobalScheduler(True)  # noqa: FBT003 - for the planner's next solver, which has one thread again
    finished = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return Whole(seconds, finished, float(highs.getInfo().objective_function_value))


def _program(columns: Table, matrix: tuple[Ints, Ints, Floats], rows: int) -> highspy.HighsLp:
    """The program's columns: those of the table, then one per workload for the units it leaves out."""
    starts, index, value = matrix
    lines = len(columns.lines)
    price = LEFT_OUT_PRICE * float((columns.cost / columns.quantum).max())
    program = highspy.HighsLp()
    program.num_col_ = columns.size + lines
    program.num_row_ = rows
    program.col_cost_ = np.concatenate([columns.cost, np.full(lines, price)])
    program.col_lower_ = np.zeros(columns.size + lines)
    program.col_upper_ = np.concatenate([columns.most, columns.wanted])
    program.a_matrix_.num_col_ = columns.size + lines
    program.a_matrix_.num_row_ = rows
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.concatenate([starts, index.size + np.arange(lines + 1)]).astype(np.int32)
    program.a_matrix_.index_ = np.concatenate([index, np.arange(lines)]).astype(np.int32)
    program.a_matrix_.value_ = np.concatenate([value, np.ones(lines)])
    return program


@dataclass(frozen=True, slots=True)
class Proof:
    """A plan's value and a lower bound of any plan's, both with what is left out at the same price (1e-6 per hour)."""

    value: float
    bound: float
    left_out: int

    @property
    def gap_pct(self) -> float:
        """How far the plan may be from the best, per cent."""
        return (self.value / self.bound - 1) * 100


def proof(problem: Problem, plan: Placement, rounds: int) -> Proof:
    """The bound is the planner's own program with `rounds` to prove it.

    A unit left out counts `LEFT_OUT_PRICE` times the dearest offer, in plan and bound alike and whatever its tier: a
    ladder of tiers would drown the cost, and the planner may only leave out what the program leaves out, too.
    """
    standing = Standing(problem)
    columns = table(standing)
    used = {(c.workload, c.pool): c.instances for c in plan.counts}
    names = [p.name for p in standing.problem.pools]
    placed = np.zeros(len(columns.lines))
    started = []
    for i, (line, pool) in enumerate(zip(columns.line.tolist(), columns.pool.tolist(), strict=True)):
        instances = used.get((columns.lines[line].need.workload, names[pool]))
        if instances:
            started.append(i)
            placed[line] += instances / columns.per_lot[i] * columns.quantum[i]
    short = np.maximum(0.0, columns.wanted - placed)
    price = LEFT_OUT_PRICE * float((columns.cost / columns.quantum).max())
    relaxed = placement_lp.solve(
        standing,
        columns,
        np.array(started),
        columns.wanted.copy() if short.any() else np.zeros(len(columns.lines)),
        rounds=rounds,
        short_cost=np.full(len(columns.lines), price),
    )
    if relaxed is None:
        raise RuntimeError("HiGHS did not solve the planner's program")
    left_out = sum(s.units for s in plan.shortfalls)
    return Proof(plan.cost_micro + price * float(short.sum()), relaxed.bound, left_out)

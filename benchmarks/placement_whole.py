"""The peer of the placement benchmark: HiGHS on the whole linear program at once, and the bound that plans are held to.

The whole program has every column and every bound of every workload as a row, with the same rounded limits as the
planner. The sums that express the rule of eight domains are left out here (they would be exponentially many), which
makes it easier for HiGHS; the bound of `proven_bound` has them.
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
from reconciler.placement_table import table
from reconciler.problem import Placement, Problem


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
    starts, index, value = rows.entries(np.arange(columns.size))
    program = highspy.HighsLp()
    program.num_col_ = columns.size
    program.num_row_ = rows.count + line.size
    program.col_cost_ = columns.cost
    program.col_lower_ = np.zeros(columns.size)
    program.col_upper_ = columns.most
    program.row_lower_ = np.concatenate([lower, np.full(line.size, -highspy.kHighsInf)])
    program.row_upper_ = np.concatenate([upper, bounds])
    program.a_matrix_.num_col_ = columns.size
    program.a_matrix_.num_row_ = rows.count + line.size
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.append(starts, index.size).astype(np.int32)
    program.a_matrix_.index_ = index.astype(np.int32)
    program.a_matrix_.value_ = value
    # The planner's solver has fixed the process-wide scheduler to one thread; HiGHS refuses another number until reset.
    highspy.Highs.resetGlobalScheduler(True)  # noqa: FBT003 - the binding takes no names
    highs = silent(threads=2, solver=solver, time_limit=limit_s)
    if highs.passModel(program) == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS refuses the whole program")
    began = time.perf_counter()
    if highs.run() == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS could not run on the whole program")
    seconds = time.perf_counter() - began
    finished = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return Whole(seconds, finished, float(highs.getInfo().objective_function_value))


def proven_bound(problem: Problem, plan: Placement, rounds: int) -> float:
    """A lower bound of any plan's cost: the planner's own program, with rounds to prove it and every unit placed."""
    standing = Standing(problem)
    columns = table(standing)
    used = {(c.workload, c.pool) for c in plan.counts}
    names = [p.name for p in problem.pools]
    started = [
        i
        for i, (line, pool) in enumerate(zip(columns.line, columns.pool, strict=True))
        if (columns.lines[int(line)].need.workload, names[int(pool)]) in used
    ]
    none_short = np.zeros(len(columns.lines))
    return placement_lp.solve(standing, columns, np.array(started), none_short, rounds=rounds).bound

"""Placement of one region, 140 pools x 220 workloads: gap to the bound, time, re-plan after an exclusion, memory.

`python -m benchmarks.placement`. The gap is the plan's cost over the proven lower bound, after rounding, everything
placed. Re-planning: the fullest pool is lost and excluded, and its work is placed anew. Memory is the process's peak
before HiGHS solves the whole program.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from dataclasses import dataclass, replace

from benchmarks.placement_instance import instance
from benchmarks.placement_whole import proven_bound, solve_whole
from reconciler.placement import place
from reconciler.problem import Held, Placement, Problem

SCARCE_LOAD = 1.15
"""Demand over capacity of the scarce case: then shares of teams and tiers decide, and no bound on cost applies."""


@dataclass(frozen=True, slots=True)
class Size:
    """One size of the benchmark."""

    name: str
    pools: int
    workloads: int
    seed: int
    runs: int
    solver: str
    limit_s: float
    rounds: int


REGION = Size("placement", 140, 220, seed=3, runs=5, solver="simplex", limit_s=60.0, rounds=30)


def carried_out(problem: Problem, plan: Placement) -> Problem:
    """The problem of the next cycle, all of the plan running."""
    units = {(n.workload, o.pool): o.units for n in problem.needs for o in n.offers}
    held = tuple(
        Held(c.workload, c.pool, c.instances, units[c.workload, c.pool], movable=c.instances) for c in plan.counts
    )
    used: dict[str, int] = {}
    for count in plan.counts:
        used[count.pool] = used.get(count.pool, 0) + count.instances
    pools = tuple(replace(p, headroom=p.headroom - used.get(p.name, 0)) for p in problem.pools)
    return replace(problem, held=held, pools=pools, max_moves=0)


def excluded(problem: Problem) -> Problem:
    """The fullest pool lost and excluded."""
    used: dict[str, int] = {}
    for held in problem.held:
        used[held.pool] = used.get(held.pool, 0) + held.instances
    fullest = max(sorted(used), key=lambda name: used[name])
    pools = tuple(replace(p, headroom=0) if p.name == fullest else p for p in problem.pools)
    return replace(problem, pools=pools, held=tuple(h for h in problem.held if h.pool != fullest))


def timed(problem: Problem, runs: int, *, full: bool) -> tuple[Placement, float]:
    """The plan and the median of its seconds; all runs must answer alike."""
    seconds = []
    plans = []
    for _ in range(runs):
        began = time.perf_counter()
        plans.append(place(problem, mode="full" if full else "auto"))
        seconds.append(time.perf_counter() - began)
    if any(plan != plans[0] for plan in plans):
        raise RuntimeError("the same problem was answered differently")
    return plans[0], statistics.median(seconds)


def run(size: Size) -> None:
    """Measures one size and prints the figures, one JSON object last."""
    problem = instance(size.pools, size.workloads, seed=size.seed)
    plan, seconds = timed(problem, size.runs, full=True)
    left = sum(s.units for s in plan.shortfalls)
    print(
        f"{sum(len(n.offers) for n in problem.needs)} offers, plan of {len(plan.counts)} counts, {left} units left out"
    )
    _, replan = timed(excluded(carried_out(problem, plan)), size.runs, full=False)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.perf_counter()
    greedy = place(problem, mode="incremental")
    greedy_s = time.perf_counter() - began
    bound = proven_bound(problem, plan, size.rounds)
    gap = (plan.cost_micro / bound - 1) * 100
    print(
        f"bound {bound / 1e6:.1f}, plan {plan.cost_micro / 1e6:.1f}, greedy alone {greedy.cost_micro / 1e6:.1f}"
        f" ({greedy_s:.1f} s)"
    )
    scarce = instance(size.pools, size.workloads, seed=size.seed, load=SCARCE_LOAD)
    answer, scarce_s = timed(scarce, 1, full=False) if size.pools <= 500 else (None, 0.0)
    if answer is not None:
        tiers = {n.workload: n.tier for n in scarce.needs}
        by_tier = {t: sum(s.units for s in answer.shortfalls if tiers[s.workload] == t) for t in range(1, 6)}
        print(f"scarce (load {SCARCE_LOAD}): {scarce_s:.2f} s, units left out per tier {by_tier}")
    whole = solve_whole(problem, solver=size.solver, limit_s=size.limit_s)
    print(
        f"HiGHS ({size.solver}) on the whole program: {whole.seconds:.1f} s, "
        + (f"value {whole.value / 1e6:.1f}" if whole.finished else "not finished: its time is a lower bound")
    )
    figures = {
        "bench": size.name,
        "gap_pct": round(gap, 3),
        "seconds": round(seconds, 3),
        "highs_seconds": round(whole.seconds, 3),
        "replan_ms": round(replan * 1000, 1),
        "rss_mib": round(rss),
        "runs": size.runs,
    }
    print(json.dumps(figures))
    if left:
        sys.exit("units were left out: the gap means nothing")


if __name__ == "__main__":
    run(REGION)

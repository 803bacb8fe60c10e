"""Placement of one region, 140 pools x 220 workloads: gap to the bound, time, re-plan after an exclusion, memory.

`python -m benchmarks.placement`. Five regions by seed; times are medians over them, the gap is the worst. It is the
plan's value over the proven lower bound, after rounding, with what is left out priced alike in both: in some regions
rounded shares of small GPU workloads cannot be met by anyone. Re-planning: the fullest pool is lost and excluded, and
its work is placed anew. Memory is the process's peak before HiGHS solves the whole program.
"""

from __future__ import annotations

import json
import resource
import statistics
import time
from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.placement_instance import instance
from benchmarks.placement_whole import Proof, proof, solve_whole
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
    seeds: tuple[int, ...]
    runs: int
    solver: str
    limit_s: float
    rounds: int


REGION = Size("placement", 140, 220, seeds=(1, 2, 3, 4, 5), runs=3, solver="simplex", limit_s=60.0, rounds=40)


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


@dataclass(frozen=True, slots=True)
class Timed:
    """A plan and its median seconds: by the clock, and of the processor."""

    plan: Placement
    seconds: float
    cpu_s: float


def timed(problem: Problem, runs: int, *, mode: Literal["auto", "full", "incremental"]) -> Timed:
    """Plans `runs` times; all runs must answer alike."""
    seconds, cpu, plans = [], [], []
    for _ in range(runs):
        began, began_cpu = time.perf_counter(), time.process_time()
        plans.append(place(problem, mode=mode))
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
    if any(plan != plans[0] for plan in plans):
        raise RuntimeError("the same problem was answered differently")
    return Timed(plans[0], statistics.median(seconds), statistics.median(cpu))


@dataclass(frozen=True, slots=True)
class Result:
    """One region's figures; `rss_mib` is the process's peak so far."""

    gap_pct: float
    seconds: float
    highs_seconds: float
    replan_ms: float
    rss_mib: float


def measure(size: Size, seed: int) -> Result:
    """Plans one region, plans it again after an exclusion, proves the gap and lets HiGHS solve the whole program."""
    problem = instance(size.pools, size.workloads, seed=seed)
    full = timed(problem, size.runs, mode="full")
    again = timed(excluded(carried_out(problem, full.plan)), size.runs, mode="auto")
    rss_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    greedy = timed(problem, 1, mode="incremental")
    proven = proof(problem, full.plan, size.rounds)
    greedy_gap = proof_gap(greedy.plan, proven)
    whole = solve_whole(problem, solver=size.solver, limit_s=size.limit_s)
    print(
        f"seed {seed}: {sum(len(n.offers) for n in problem.needs)} offers, {len(full.plan.counts)} counts, "
        f"{proven.left_out} units left out; gap {proven.gap_pct:.2f} % (greedy alone {greedy_gap}); "
        f"{full.seconds:.2f} s ({full.cpu_s:.2f} s of processor), re-plan {again.seconds * 1000:.0f} ms "
        f"({again.cpu_s * 1000:.0f} ms), HiGHS ({size.solver}) on the whole program {whole.seconds:.2f} s"
        + ("" if whole.finished else ", not finished: a lower bound"),
        flush=True,
    )
    return Result(proven.gap_pct, full.seconds, whole.seconds, again.seconds * 1000, rss_mib)


def proof_gap(greedy: Placement, proven: Proof) -> str:
    """Greedy's gap where it leaves nothing out."""
    if greedy.shortfalls:
        return f"leaves {sum(s.units for s in greedy.shortfalls)} units out"
    return f"{(greedy.cost_micro / proven.bound - 1) * 100:.2f} %"


def scarce(size: Size, seed: int) -> None:
    """Prints whom a region that is too small leaves out."""
    problem = instance(size.pools, size.workloads, seed=seed, load=SCARCE_LOAD)
    answer = timed(problem, 1, mode="full")
    tiers = {n.workload: n.tier for n in problem.needs}
    by_tier = {t: sum(s.units for s in answer.plan.shortfalls if tiers[s.workload] == t) for t in range(1, 6)}
    print(f"scarce (load {SCARCE_LOAD}): {answer.seconds:.2f} s, units left out per tier {by_tier}")


def run(size: Size) -> None:
    """Measures one size and prints the figures, one JSON object last."""
    results = [measure(size, seed) for seed in size.seeds]
    if size.pools <= 500:
        scarce(size, size.seeds[0])
    figures = {
        "bench": size.name,
        "gap_pct": round(max(r.gap_pct for r in results), 3),
        "seconds": round(statistics.median(r.seconds for r in results), 3),
        "highs_seconds": round(statistics.median(r.highs_seconds for r in results), 3),
        "replan_ms": round(statistics.median(r.replan_ms for r in results), 1),
        # Later regions are measured after HiGHS has had the whole program of the first.
        "rss_mib": round(results[0].rss_mib),
        "runs": size.runs * len(size.seeds),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    run(REGION)

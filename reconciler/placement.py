"""Where each workload's units stand: the planner's entry.

The loop calls `place` once a cycle per partition; `ebbtide plan`, the replay and the simulation call the same function.
It decides counts per workload and pool, nothing else: which server goes is the diff's, when is pacing's. It must not
know time, providers or files. Same problem, same answer, byte for byte: integers, sorted orders, budgets in rounds.

Two paths (ADR 0010): *incremental* starts from what is held and repairs it in integer steps; *full* solves the linear
program first and lets the same steps round it. `auto` chooses by the problem alone, see `wants_full`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from reconciler.placement_greedy import drop_loose, grow, move_for_gain, shrink_excess, trim
from reconciler.placement_lack import obstacles
from reconciler.placement_line import Line
from reconciler.placement_state import Standing
from reconciler.problem import (
    UNKNOWN_POOL,
    BoundState,
    Count,
    Move,
    Placement,
    Problem,
    Scope,
    Shortfall,
)

Mode = Literal["auto", "incremental", "full"]

FULL_SHARE_PERMILLE = 250
"""With more than this share of all wanted units to be placed anew, the order of greedy steps starts to matter (it is
2 to 4 % above the linear bound on a first plan), and a linear program costs little beside what is being booted."""


def place(problem: Problem, *, mode: Mode = "auto", last: Placement | None = None) -> Placement:
    """The placement of one partition. `last` is reused where it answered an equal problem.

    Never raises for want of capacity: what could not be placed is in `shortfalls`, with what stood in the way.
    """
    if last is not None and mode in ("auto", last.mode) and last.problem == problem:
        return last
    standing = Standing(problem)
    full = mode == "full" or (mode == "auto" and wants_full(standing))
    moves = run_steps(standing)
    if not full:
        return finish(standing, moves, mode="incremental")
    # Imported late: the solver costs 0.15 s and 30 MiB, and an ordinary cycle does without.
    from reconciler.placement_full import place_full  # noqa: PLC0415

    rounded = place_full(problem, standing)
    if rounded is None:
        return finish(standing, moves, mode="full")
    greedy = finish(standing, moves, mode="full", bound_micro=rounded.bound_micro(standing))
    answer = finish(rounded.standing, rounded.moves, mode="full", bound_micro=rounded.bound_micro(rounded.standing))
    return min(answer, greedy, key=_worth)


def _worth(placement: Placement) -> tuple[int, ...]:
    """Fewest floor units short, then fewest milli-NCU short tier by tier, then least cost."""
    problem = placement.problem
    needs = {need.workload: need for need in problem.needs} if problem else {}
    short = [0] * 6
    for one in placement.shortfalls:
        need = needs[one.workload]
        short[0] += one.floor_units * need.milli_ncu
        short[need.tier] += one.units * need.milli_ncu
    return (*short, placement.cost_micro)


def wants_full(standing: Standing) -> bool:
    """Whether so much is to be placed anew that the linear program is worth its time: by the problem alone."""
    rest = [line for line in standing.lines if not line.is_floor]
    wanted = sum(line.wanted * line.need.milli_ncu for line in rest)
    short = sum(line.short * line.need.milli_ncu for line in rest if line.addable)
    return short * 1000 > wanted * FULL_SHARE_PERMILLE


def run_steps(standing: Standing, order: Callable[[Line], Sequence[int]] | None = None) -> list[Move]:
    """All integer steps over a fresh standing, growth in the given order of columns; returns the moves."""
    trim(standing)
    grow(standing, order)
    drop_loose(standing)
    return shrink_excess(standing) + move_for_gain(standing)


def finish(standing: Standing, moves: list[Move], *, mode: str, bound_micro: int | None = None) -> Placement:
    """The frozen answer of a standing whose steps are done."""
    counts: list[Count] = []
    shortfalls: list[Shortfall] = []
    excesses: list[BoundState] = []
    cost = 0
    names = [pool.name for pool in standing.problem.pools]
    for need in standing.problem.needs:  # in the order of their names
        floor, rest = standing.line_of(need.workload)
        placed: list[tuple[str, int]] = []
        for line in (floor, rest):
            for k, lots in enumerate(line.have):
                if lots:
                    placed.append((names[line.pools[k]], lots * line.per_lot[k]))
                    cost += lots * line.quanta[k] * line.costs[k]
        if rest.unknown_instances:
            placed.append((UNKNOWN_POOL, rest.unknown_instances))
        placed.sort()
        counts += [Count(need.workload, pool, instances) for pool, instances in placed]
        excesses += _excesses(standing, rest)
        if floor.short or rest.short:
            lacks = obstacles(standing, rest if rest.short else floor)
            shortfalls.append(Shortfall(need.workload, floor.short, rest.short, lacks))
    return Placement(
        counts=tuple(counts),
        shortfalls=tuple(shortfalls),
        excesses=tuple(sorted(excesses, key=lambda e: (e.workload, e.scope.value, e.name))),
        moves=tuple(sorted(moves, key=lambda m: (m.workload, m.source, m.target, m.cause.value))),
        exempt=tuple(sorted(line.need.workload for line in standing.lines if line.exempt)),
        cost_micro=cost,
        mode=mode,
        bound_micro=bound_micro,
        problem=standing.asked,
    )


def _excesses(standing: Standing, line: Line) -> list[BoundState]:
    found = []
    workload = line.need.workload
    kept = line.kept
    for domain, bound in kept.over_domains.items():
        found.append(BoundState(workload, Scope.DOMAIN, standing.domain_names[domain], kept.domains[domain], bound))
    for group, bound in kept.over_groups.items():
        found.append(BoundState(workload, Scope.GROUP, standing.group_names[group], kept.groups[group], bound))
    if line.required > len(line.domain_lots) and line.placed >= line.wanted > 0:
        found.append(BoundState(workload, Scope.POOLS, "", len(line.domain_lots), line.required))
    return found

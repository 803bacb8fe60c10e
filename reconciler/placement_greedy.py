"""Placement by integer steps from what is held: trim, floors, growth by tier, then moves that pay.

This is the path of an ordinary cycle, and the end of the full one (which only tells it what to prefer). Growth is
cheapest pool first. Where a tier contends for capacity, it is filled again one lot at a time, always for the team and
then the workload that stands lowest for its weight: progressive filling, which ends in the weighted max-min share
(Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from reconciler.placement_lack import waits_for_domains
from reconciler.placement_line import Line
from reconciler.placement_repair import fill_again, repair
from reconciler.placement_state import Standing
from reconciler.problem import Move, MoveCause

Step = tuple[Line, int, int]
"""Line, column, lots: one addition of this run."""

_LEVEL_SCALE = 1_000_000
"""Levels are compared as integers; this many steps per milli-NCU and weight keep weights up to 1e6 apart."""


def trim(standing: Standing) -> None:
    """Gives back what is not wanted: empty lots first, then what stands in an excess, then the dearest.

    A lot goes only if what is left still carries the wanted units, and never the last one of a domain that the count
    of domains needs.
    """
    for line in standing.lines:
        surplus = line.placed - line.wanted
        if surplus < line.smallest or not any(line.have):
            continue
        columns = [k for k, lots in enumerate(line.have) if lots]
        rank = {k: i for i, k in enumerate(standing.order(line))}
        columns.sort(key=lambda k: (k < line.addable, not _in_excess(line, k), -line.costs[k], -rank.get(k, 0)))
        for idle_only in (True, False):
            for k in columns:
                _trim_column(standing, line, k, idle_only=idle_only)


def _trim_column(standing: Standing, line: Line, k: int, *, idle_only: bool) -> None:
    quantum = line.quanta[k]
    lots = min(line.have[k], (line.placed - line.wanted) // quantum)
    if idle_only:
        lots = min(lots, line.idle.get(k, 0))
    if not line.is_floor and len(line.domain_lots) <= line.required:
        lots = min(lots, line.domain_lots[line.domains[k]] - 1) if line.have[k] else 0
    if lots > 0:
        standing.release(line, k, lots)


def _in_excess(line: Line, k: int) -> bool:
    """Whether the column's domain or one of its groups holds more than its bound, by what the plan keeps."""
    if line.is_floor:
        return False
    quantum = line.quanta[k]
    domain = line.domains[k]
    if line.domain_units.get(domain, 0) + line.unknown_units > max(quantum, line.pool_share):
        return True
    share = max(quantum, line.group_share) - line.unknown_units
    return any(line.group_units.get(g, 0) > share for g in line.groups[k])


def grow(
    standing: Standing, order: Callable[[Line], Sequence[int]] | None = None, *, only_floors: bool = False
) -> None:
    """Floors of all tiers first, then fallback, then the interruptible units, strictest tier first.

    `order` gives the columns of a line in order of preference; by default the cheapest first.
    """
    preferred = order or standing.order
    bought = [line for line in standing.lines if line.is_floor and line.need.fallback]
    for line in bought:  # what is bought waits until every floor has what it can have
        line.wanted -= line.need.fallback
    if bought:
        _grow_tiers(standing, preferred, only_floors=True)
    for line in bought:
        line.wanted += line.need.fallback
    _grow_tiers(standing, preferred, only_floors=only_floors)
    if not only_floors:
        repair(standing, preferred)


def _grow_tiers(standing: Standing, preferred: Callable[[Line], Sequence[int]], *, only_floors: bool) -> None:
    wanting = [line for line in standing.lines if line.placed < line.wanted and (line.is_floor or not only_floors)]
    wanting.sort(key=lambda line: (not line.is_floor, line.need.tier, line.addable, -line.short, line.need.workload))
    for _, lines in groupby(wanting, key=lambda line: (line.is_floor, line.need.tier)):
        _grow_tier(standing, list(lines), preferred)


def _grow_tier(standing: Standing, lines: list[Line], preferred: Callable[[Line], Sequence[int]]) -> None:
    for line in lines:
        for k in sorted(line.loose):
            if line.short:
                standing.complete(line, k)
    steps: list[Step] = []
    for line in lines:
        steps += fill_again(standing, line, preferred(line))
    if _contended(standing, lines, steps):
        for line, k, lots in reversed(steps):
            standing.undo(line, k, lots)
        steps = fill_max_min(standing, lines, preferred)
    spare = 0
    for line, k, lots in reversed(steps):
        spare += _give_up_spare(standing, line, k, lots)
    if spare and any(line.short for line in lines):
        for line in lines:
            fill_again(standing, line, preferred(line))


def _give_up_spare(standing: Standing, line: Line, k: int, lots: int) -> int:
    """Takes back what a later, larger lot made superfluous, unless a domain would fall out of the count."""
    spare = min(lots, (line.placed - line.wanted) // line.quanta[k])
    if not line.is_floor and len(line.domain_lots) <= line.required:
        spare = min(spare, line.domain_lots[line.domains[k]] - 1)
    if spare > 0:
        standing.undo(line, k, spare)
    return max(0, spare)


def _contended(standing: Standing, lines: list[Line], steps: list[Step]) -> bool:
    """Whether a short line could have had what another line of its tier took in this run."""
    short = [line for line in lines if line.short]
    if not short:
        return False
    takers: dict[int, set[int]] = {}
    teams: dict[int, set[int]] = {}
    for line, k, _ in steps:
        takers.setdefault(line.domains[k], set()).add(id(line))
        teams.setdefault(line.team, set()).add(id(line))
    for line in short:
        own = {id(line)}
        if standing.team_left[line.team] < line.smallest * line.need.milli_ncu and teams.get(line.team, own) - own:
            return True
        if any(takers.get(line.domains[k], own) - own for k in range(line.addable)):
            return True
    return False


def fill_max_min(standing: Standing, lines: list[Line], preferred: Callable[[Line], Sequence[int]]) -> list[Step]:
    """Progressive filling: one lot at a time for the lowest team, in it for the lowest workload; returns the lots."""
    live = {id(line): list(preferred(line)) for line in lines}
    weights = [t.weight for t in standing.problem.teams]
    queues: dict[int, list[tuple[int, int, int, Line]]] = {}
    for rank, line in enumerate(sorted(lines, key=lambda one: standing.salt(one.need.workload))):
        if line.short:
            heapq.heappush(queues.setdefault(line.team, []), (_level(line), rank, id(line), line))
    teams = [
        (standing.team_used[t] * _LEVEL_SCALE // weights[t], standing.salt(standing.problem.teams[t].name), t)
        for t in queues
    ]
    heapq.heapify(teams)
    steps: list[Step] = []
    while teams:
        _, salt, team = heapq.heappop(teams)
        queue = queues[team]
        _, rank, key, line = heapq.heappop(queue)
        column = _add_one(standing, line, live[key])
        if column is not None:
            steps.append((line, column, 1))
        if column is not None and line.short:
            heapq.heappush(queue, (_level(line), rank, key, line))
        if queue:
            heapq.heappush(teams, (standing.team_used[team] * _LEVEL_SCALE // weights[team], salt, team))
    return steps


def _level(line: Line) -> int:
    return line.placed * line.need.milli_ncu * _LEVEL_SCALE // line.need.weight


def _add_one(standing: Standing, line: Line, columns: list[int]) -> int | None:
    """Adds one lot in the first column that takes it, and names it; forgets columns that can never take one again."""
    for k in list(columns):
        if standing.room(line, k, 1):
            standing.add(line, k, 1)
            return k
        if not waits_for_domains(standing, line, k):
            columns.remove(k)
    return None


def drop_loose(standing: Standing) -> None:
    """Ends instances of gangs that could not be made whole: they can do no work."""
    for line in standing.lines:
        line.loose.clear()


def shrink_excess(standing: Standing) -> list[Move]:
    """Moves lots out of inherited excesses, at most `max_excess_moves`, each only to where every bound has room."""
    left = standing.problem.max_excess_moves
    moves: list[Move] = []
    for line in standing.lines:
        if left <= 0:
            break
        if line.is_floor or line.exempt:
            continue
        for source in _excess_columns(line):
            left = _move_out(standing, line, source, left, moves)
    return moves


def _crowded(line: Line, k: int) -> bool:
    """Whether the line uses too few domains and the column's holds more than one lot."""
    return len(line.domain_lots) < line.required and line.domain_lots.get(line.domains[k], 0) > 1


def _move_out(standing: Standing, line: Line, source: int, left: int, moves: list[Move]) -> int:
    while left > 0 and source in _excess_columns(line):
        crowded = _crowded(line, source)
        columns = standing.order(line)
        if crowded:
            columns = [k for k in columns if line.domains[k] not in line.domain_lots]
        target = _swap(standing, line, source, columns)
        if target is None:
            break
        moves.append(_move(standing, line, (source, target), 1, MoveCause.EXCESS))
        left -= 1
    return left


def _excess_columns(line: Line) -> list[int]:
    """Columns with lots to move whose domain, or a group of it, would still be over its bound with the plan done."""
    movable = [k for k, lots in line.movable.items() if lots and line.have[k]]
    if not movable:
        return []
    kept = line.kept
    over = kept.over_groups
    return [
        k
        for k in movable
        if line.domains[k] in kept.over_domains
        or (over and not over.keys().isdisjoint(line.groups[k]))
        or _crowded(line, k)
    ]


def _swap(standing: Standing, line: Line, source: int, targets: Iterable[int]) -> int | None:
    """Moves one lot to the first target that has room, without touching a bound, for what is still wanted of it."""
    keep = min(line.placed, line.wanted)
    standing.release(line, source, 1)
    missing = keep - line.placed
    if missing > 0:
        for target in targets:
            if target not in line.rooms:
                continue
            lots = -(-missing // line.quanta[target])
            if target != source and standing.room(line, target, lots) >= lots:
                standing.add(line, target, lots)
                line.movable[source] -= 1
                return target
    standing.restore(line, source, 1)
    return None


def _move(standing: Standing, line: Line, ends: tuple[int, int], lots: int, cause: MoveCause) -> Move:
    source, target = ends
    pools = standing.problem.pools
    return Move(
        workload=line.need.workload,
        source=pools[line.pools[source]].name,
        target=pools[line.pools[target]].name,
        instances=lots * line.per_lot[source],
        cause=cause,
        gain_micro=lots * _gain(standing, line, source, target),
    )


def _gain(standing: Standing, line: Line, source: int, target: int) -> int:
    """What moving one lot saves over the horizon, less the interruption it causes (1e-6 of the currency)."""
    units = line.quanta[source]
    there = -(-units // line.quanta[target]) * line.quanta[target]
    saved = units * line.costs[source] - there * line.costs[target]
    return saved * standing.problem.horizon_h - units * line.need.move_cost_micro


def _gains(standing: Standing, line: Line, targets: Callable[[Line], Sequence[int]]) -> Iterator[tuple[int, int, int]]:
    """The best paying move out of each column with lots to move: gain, source, target."""
    horizon_h = standing.problem.horizon_h
    least = line.costs[standing.order(line)[0]] * horizon_h + line.need.move_cost_micro
    # Nothing moves while offers are collected, so each target is asked once.
    room: dict[int, int] = {}
    for source, movable in line.movable.items():
        if not (movable and line.have[source]) or source >= line.addable or line.costs[source] * horizon_h <= least:
            continue
        for target in targets(line):
            gain = _gain(standing, line, source, target)
            if gain <= 0:
                break
            if target not in room:
                room[target] = standing.room(line, target, 1)
            if target != source and room[target]:
                yield gain, source, target
                break


def move_for_gain(standing: Standing, columns: Callable[[Line], Sequence[int]] | None = None) -> list[Move]:
    """The moves that pay, best first, at most `max_moves` lots; `columns` restricts the targets of a line."""
    if standing.problem.max_moves <= 0:
        return []
    targets = columns or standing.order
    offers: list[tuple[int, int, int, int, Line]] = []
    for number, line in enumerate(standing.lines):
        if not line.is_floor and line.addable and line.movable:
            offers += [
                (-gain, number, source, target, line) for gain, source, target in _gains(standing, line, targets)
            ]
    offers.sort(key=lambda offer: offer[:4])
    left = standing.problem.max_moves
    moves: list[Move] = []
    for _, _, source, target, line in offers:
        lots = 0
        while lots < left and line.movable[source] and line.have[source]:
            if _swap(standing, line, source, (target,)) is None:
                break
            lots += 1
        if lots:
            moves.append(_move(standing, line, (source, target), lots, MoveCause.GAIN))
            left -= lots
    return moves

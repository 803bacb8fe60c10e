"""The full path of placement: the linear program first, then the same integer steps, which it tells what to prefer.

The greedy plan of the same problem comes first: it is fair where capacity is short, its columns start the program, and
it is the answer if rounding should end worse. Rounding takes the whole part of each column, then fills the rest by
largest remainder and priced cost (capacity's shadow price included).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contracts.frozen import replace
from reconciler import placement_lp
from reconciler.placement_greedy import drop_loose, grow, move_for_gain, shrink_excess, trim
from reconciler.placement_line import Line
from reconciler.placement_state import Standing
from reconciler.placement_table import Floats, Ints, Table, table
from reconciler.problem import Move, Problem


@dataclass(frozen=True, slots=True)
class Rounded:
    """The rounded plan and its moves, with what the linear program has proven."""

    standing: Standing
    moves: list[Move]
    _columns: Table
    _relaxed: placement_lp.Relaxed
    _most_short: Floats

    def bound_micro(self, plan: Standing) -> int | None:
        """A lower bound of the hourly cost of any plan that leaves out what `plan` does.

        None where instances are held (the program was solved as if none were), and where it proves nothing: `plan`
        leaves out more than the program was allowed to, or so much more than it did that the difference eats the bound.
        """
        if plan.problem.held:
            return None
        placed = [plan.line_of(line.need.workload)[1].placed for line in self._columns.lines]
        short = np.maximum(0.0, self._columns.wanted - np.array(placed))
        if (short > self._most_short).any():
            return None
        bound = round(self._relaxed.bound - float(np.dot(short, self._relaxed.short_cost)))
        return bound if bound > 0 else None


def place_full(problem: Problem, greedy: Standing) -> Rounded | None:
    """The rounded plan; None where nothing is to be spread or the solver gives up: greedy is the answer then.

    `greedy` is a standing of the same problem after all steps. Where instances are held, the program is solved as if
    none were, and says what growth prefers; what runs moves only for a gain of its own.
    """
    empty = Standing(_emptied(problem))
    grow(empty, only_floors=True)
    columns = table(empty)
    if not columns.size:
        return None
    started, most_short = _start(columns, greedy)
    relaxed = placement_lp.solve(empty, columns, started, most_short)
    if relaxed is None:
        return None
    standing = Standing(problem)
    trim(standing)
    grow(standing, only_floors=True)
    preference = _Preference(columns, relaxed)
    preference.take_whole(standing)
    preference.take_remainders(standing)
    grow(standing, preference.order)
    drop_loose(standing)
    moves = shrink_excess(standing) + move_for_gain(standing)
    return Rounded(standing, moves, columns, relaxed, most_short)


def _emptied(problem: Problem) -> Problem:
    """The same region with nothing held: what our instances hold is free again, and may be asked for again."""
    if not problem.held:
        return problem
    back = Counter[str]()
    for held in problem.held:
        back[held.pool] += held.instances
    pools = tuple(replace(p, headroom=p.headroom + back[p.name]) for p in problem.pools)
    return replace(problem, pools=pools, held=())


def _start(columns: Table, greedy: Standing) -> tuple[Ints, Floats]:
    started: list[int] = []
    short: list[float] = []
    for number, line in enumerate(columns.lines):
        twin = greedy.line_of(line.need.workload)[1]
        started += [int(columns.start[number]) + k for k, lots in enumerate(twin.have[: line.addable]) if lots]
        short.append(float(max(0.0, columns.wanted[number] - twin.placed)))
    return np.array(started, dtype=np.int64), np.array(short)


class _Preference:
    """What the relaxed answer says about each line: whole lots to take, and the order for the rest."""

    def __init__(self, columns: Table, relaxed: placement_lp.Relaxed) -> None:
        self._columns = columns
        self._relaxed = relaxed
        self._number = {line.need.workload: i for i, line in enumerate(columns.lines)}
        self._lots: list[dict[int, float]] = [{} for _ in columns.lines]
        for column, lots in zip(relaxed.used, relaxed.lots, strict=True):
            self._lots[int(columns.line[column])][int(columns.column[column])] = float(lots)

    def take_whole(self, standing: Standing) -> None:
        """Adds the whole part of every column, as far as the bounds let it."""
        for number, model in enumerate(self._columns.lines):
            line = standing.line_of(model.need.workload)[1]
            for k, lots in sorted(self._lots[number].items()):
                missing = int(lots + 1e-6) - line.have[k]
                if missing > 0 and line.short:
                    room = standing.room(line, k, min(missing, -(-line.short // line.quanta[k])))
                    if room:
                        standing.add(line, k, room)

    def take_remainders(self, standing: Standing) -> None:
        """One lot more in the columns with the largest remainders, of all lines alike, where a line is still short."""
        waiting = []
        for number, model in enumerate(self._columns.lines):
            line = standing.line_of(model.need.workload)[1]
            if line.short:
                waiting += [
                    (int(lots + 1e-6) - lots, number, k) for k, lots in self._lots[number].items() if lots % 1 > 1e-6
                ]
        for _, number, k in sorted(waiting):
            line = standing.line_of(self._columns.lines[number].need.workload)[1]
            if line.short >= line.quanta[k] and standing.room(line, k, 1):
                standing.add(line, k, 1)

    def order(self, line: Line) -> Sequence[int]:
        """Largest remainders first, then by priced cost."""
        number = None if line.is_floor else self._number.get(line.need.workload)
        if number is None:
            return range(line.addable)
        lots = self._lots[number]
        first = sorted(lots, key=lambda k: (-(lots[k] - int(lots[k] + 1e-6)), k))
        start, end = self._columns.start[number], self._columns.start[number + 1]
        priced = self._relaxed.reduced[start:end] / self._columns.quantum[start:end]
        rest = np.argsort(priced.round(3), kind="stable").tolist()
        return [*first, *(k for k in rest if k not in lots)]

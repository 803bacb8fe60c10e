"""Filling of one line, and repair of a plan that ends short: another workload steps aside for it.

Greedy steps and rounding give each workload the places it likes best, also where a later one can stand nowhere else.
Growth calls this at its end. A short line takes a lot in a column that its own bounds allow and capacity refuses; one
other line gives up what it took *in this run* in the same domain and is filled again elsewhere. What ran before is
never touched, no line ends with less than it had, and every addition passes `Standing.room`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from correlation_groups.spread import keeps_pools
from reconciler.placement_line import Line
from reconciler.placement_state import Standing

BUDGET = 600
"""Exchanges tried in one plan at most: some 0.1 s. A region that is short by bad luck needs a few dozen."""

_LOOKS_PER_TRY = 10
"""Lines looked at, and fillings tried, for each exchange that the budget allows: in a region that is simply too small
nearly all are in vain."""

_LOTS_ASIDE = 4
"""Lots that one line gives up at most for one lot of another: lots of one region differ by this factor at most."""

_OWN_COLUMNS = 12
"""Columns of a line from which its own pairs are not tried: there is little to puzzle with many lots."""

Order = Callable[[Line], Sequence[int]]
Step = tuple[Line, int, int]


def repair(standing: Standing, order: Order) -> int:
    """Serves short lines by exchanges, strictest tier first; returns how many succeeded."""
    if not any(line.fresh for line in standing.lines):
        return 0
    short = [
        line for line in standing.lines if line.short and line.addable and not line.is_floor and not _is_full(line)
    ]
    short.sort(key=lambda line: (line.need.tier, standing.salt(line.need.workload)))
    run = _Run(standing, order)
    for line in short:
        while line.short and run.left > 0 and (run.reseat(line) or run.serve(line)):
            pass
    if run.done:
        # What an exchange left over may fit someone; nothing may be left for the next cycle to find.
        for line in short:
            fill_again(standing, line, order(line))
    return run.done


def _is_full(line: Line) -> bool:
    """Whether no exchange can place more of the line: the shares of places that cover its columns are used up."""
    return line.shape.most(line.pool_share, line.group_share) - line.placed < line.smallest


def fill(standing: Standing, line: Line, columns: Sequence[int]) -> list[Step]:
    """Adds what the line is short of, column after column; returns the additions.

    Where lots differ, whole lots come first and only then one that holds more than is still wanted, the smallest first:
    the units beyond are paid for and do nothing.
    """
    steps = _fill(standing, line, columns, beyond=line.smallest == line.largest)
    short = line.short
    if short and short < line.largest and line.smallest != line.largest:
        # Columns of smaller lots have just refused one.
        for quantum in sorted({q for q in line.shape.quanta if q > short}):
            if line.short:
                steps += _fill(standing, line, (k for k in columns if line.quanta[k] == quantum), beyond=True)
    return steps


def _fill(standing: Standing, line: Line, columns: Iterable[int], *, beyond: bool) -> list[Step]:
    steps = []
    rooms = line.rooms
    for k in columns:
        short = line.wanted - line.placed
        if short <= 0 or not rooms:
            break
        if k not in rooms:
            continue
        lots = -(-short // line.quanta[k]) if beyond else short // line.quanta[k]
        lots = standing.room(line, k, lots)
        if lots:
            standing.add(line, k, lots)
            steps.append((line, k, lots))
            rooms = line.rooms
    return steps


def fill_again(standing: Standing, line: Line, columns: Sequence[int]) -> list[Step]:
    """`fill`, repeated while the count of domains opens columns that it had refused at first."""
    steps = fill(standing, line, columns)
    done = steps
    while line.short and done and len(line.domain_lots) <= line.required:
        done = fill(standing, line, columns)
        steps += done
    return steps


class _Run:
    """One repair: who took what in which domain, and what is left of the budget."""

    def __init__(self, standing: Standing, order: Order) -> None:
        self.standing = standing
        self.order = order
        self.left = BUDGET * _LOOKS_PER_TRY
        self.done = 0
        self.takers: dict[int, list[Line]] = {}
        for line in standing.lines:
            if not line.is_floor:
                for domain in {line.domains[k] for k in line.fresh}:
                    self.takers.setdefault(domain, []).append(line)

    def reseat(self, line: Line) -> bool:
        """Takes up to two of the line's own lots elsewhere where that makes place for more; whether it did.

        A small workload is a puzzle of its own: a dozen units in lots of two and four, each in a hall and a power
        domain that hold no other.
        """
        if not line.fresh:
            return False
        order = self.order(line)
        largest_first = sorted(order, key=lambda k: -line.quanta[k])
        if self._refill(line, dict(line.fresh), largest_first):
            return True
        own = sorted(line.fresh)
        if len(own) > _OWN_COLUMNS:
            return False
        for leaving in [*((c,) for c in own), *combinations(own, 2)]:
            if self.left <= 0:
                return False
            columns = [k for k in order if k not in leaving]
            if self._refill(line, dict.fromkeys(leaving, 1), [*columns, *leaving]):
                return True
        return False

    def _refill(self, line: Line, leaving: dict[int, int], columns: Sequence[int]) -> bool:
        """Takes lots back and fills anew in the given order; undone unless the line ends with more."""
        standing = self.standing
        self.left -= 1
        before = line.placed
        for c, lots in leaving.items():
            standing.undo(line, c, lots)
        steps = fill_again(standing, line, columns)
        if line.placed > before and self._counts(line):
            self.done += 1
            self._note(line)
            return True
        for _, c, lots in reversed(steps):
            standing.undo(line, c, lots)
        for c, lots in leaving.items():
            standing.add(line, c, lots)
        return False

    def _note(self, line: Line) -> None:
        for domain in {line.domains[k] for k in line.fresh}:
            takers = self.takers.setdefault(domain, [])
            if line not in takers:
                takers.append(line)

    def serve(self, line: Line) -> bool:
        """One more lot for the line by one exchange."""
        standing = self.standing
        for k in self.order(line):
            if k not in line.rooms:
                continue
            if standing.room(line, k, 1):
                standing.add(line, k, 1)
                return True
            if not standing.allowed(line, k):
                continue
            for other in self.takers.get(line.domains[k], ()):
                if self.left <= 0:
                    return False
                self.left -= 1
                if other is not line and self._movable_elsewhere(other, line.domains[k]):
                    self.left -= _LOOKS_PER_TRY - 1
                    if self._exchange(line, k, other):
                        self.done += 1
                        return True
        return False

    def _movable_elsewhere(self, other: Line, domain: int) -> bool:
        standing = self.standing
        return any(other.domains[k] != domain and standing.room(other, k, 1) for k in range(other.addable))

    def _exchange(self, line: Line, k: int, other: Line) -> bool:
        """Whether `other` could step aside in the domain of `k` for one lot of `line`; undone where it could not."""
        standing = self.standing
        before = min(other.placed, other.wanted)
        aside: list[Step] = []
        for source in [c for c in other.fresh if other.domains[c] == line.domains[k]]:
            while len(aside) < _LOTS_ASIDE and other.fresh.get(source) and not standing.room(line, k, 1):
                standing.undo(other, source, 1)
                aside.append((other, source, 1))
        taken = standing.room(line, k, 1) > 0
        if taken:
            standing.add(line, k, 1)
        again = fill(standing, other, self.order(other)) if taken else []
        if taken and min(other.placed, other.wanted) >= before and self._counts(other):
            self._note(other)
            self._note(line)
            return True
        for one, column, lots in reversed(again):
            standing.undo(one, column, lots)
        if taken:
            standing.undo(line, k, 1)
        for one, column, lots in reversed(aside):
            standing.add(one, column, lots)
        return False

    @staticmethod
    def _counts(other: Line) -> bool:
        return keeps_pools(
            units=other.placed,
            domains=len(other.domain_lots),
            desired=other.wanted,
            required=other.required,
            largest_quantum=other.largest,
        )

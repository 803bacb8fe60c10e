"""Makes a failing history small: fewer faults first, then less time, until nothing more can go.

Pure: it is given the faults' names, the days, and a question that runs a history and says whether it still fails in the
same way. Delta debugging after A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (IEEE
Transactions on Software Engineering 28(2), 2002): `ddmin` there, with its two reductions. Called by `simulation.hunt`;
it knows neither worlds nor checkers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

HALVINGS = 4
"""Of the days: a sixteenth of a day is one hour and a half, and a person reads that."""


class Spent(Exception):  # noqa: N818 - it ends a search early and is no error
    """The bounded number of runs is used up; what was found until then stands."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest that was found. `minimal` says that no single fault can be left out: the search came to its end."""

    faults: tuple[str, ...]
    days: float
    runs: int
    minimal: bool


class Asking:
    """Asks whether a history fails, each one once, and at most `budget` of them. Remembers the smallest that did."""

    def __init__(self, fails: Callable[[tuple[str, ...], float], bool], *, days: float, budget: int) -> None:
        self._fails = fails
        self._known: dict[tuple[tuple[str, ...], float], bool] = {}
        self.left = budget
        self.days = days
        self.best: tuple[str, ...] | None = None

    @property
    def runs(self) -> int:
        """Histories that ran."""
        return len(self._known)

    def __call__(self, faults: Sequence[str]) -> bool:
        """Whether these faults in the present days still fail. Raises `Spent`."""
        return self.within(faults, self.days)

    def within(self, faults: Sequence[str], days: float) -> bool:
        """The same for other days."""
        question = tuple(faults), days
        if question not in self._known:
            if not self.left:
                raise Spent
            self.left -= 1
            self._known[question] = self._fails(*question)
        if self._known[question]:
            self.best, self.days = question
        return self._known[question]


def ddmin(items: Sequence[str], fails: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """A part of `items` that still fails and of which no single item can go; `fails(items)` holds already.

    Order is kept. At most about n^2 + 3n questions, log n where one item is to blame.
    """
    found = tuple(items)
    if found and fails(()):
        return ()
    parts = 2
    while len(found) > 1:
        pieces = _split(found, parts)
        smaller = _first(pieces, fails)
        if smaller is not None:
            found, parts = smaller, 2
            continue
        rests = [tuple(item for item in found if item not in piece) for piece in pieces]
        smaller = _first(rests if parts > 2 else [], fails)  # of two pieces each is the other's rest
        if smaller is not None:
            found, parts = smaller, max(parts - 1, 2)
        elif parts < len(found):
            parts = min(2 * parts, len(found))
        else:
            break
    return found


def shrink(
    faults: Sequence[str],
    days: float,
    fails: Callable[[tuple[str, ...], float], bool],
    *,
    before: Sequence[str] | None = None,
    broke_after_days: float | None = None,
    budget: int,
) -> Reduced:
    """The smallest history that fails as the whole one does, which is taken as known.

    `before` are the faults that had begun when it broke and `broke_after_days` when that was: a first guess that makes
    every later run shorter. Nothing is believed without a run. After `budget` runs the best until then is returned.
    """
    asking = Asking(fails, days=days, budget=budget)
    found, minimal = tuple(faults), False
    try:
        for fewer, less in _guesses(found, days, before, broke_after_days):
            if asking.within(fewer, less):
                found = fewer
                break
        found = ddmin(found, asking)
        minimal = True
        _less_time(found, asking)
    except Spent:
        found = asking.best if asking.best is not None else found
    return Reduced(found, asking.days, asking.runs, minimal)


def _guesses(
    faults: tuple[str, ...], days: float, before: Sequence[str] | None, broke: float | None
) -> list[tuple[tuple[str, ...], float]]:
    """Histories that end soon after the breach, with what had begun by then; the boldest first."""
    begun = tuple(before) if before is not None else faults
    ends = [_rounded_up(broke)] if broke is not None else []
    tried = [(begun, end) for end in ends if end < days]
    return [*tried, *([(begun, days)] if begun != faults else [])]


def _less_time(faults: tuple[str, ...], asking: Asking) -> None:
    """Bisect the days downwards, in parts of a thousandth."""
    low, high = 0.0, asking.days
    for _ in range(HALVINGS):
        middle = round((low + high) / 2, 3)
        if not low < middle < high:
            return
        if asking.within(faults, middle):
            high = middle
        else:
            low = middle


def _rounded_up(days: float) -> float:
    """To the next fiftieth of a day after the next: about half an hour in which the breach can show."""
    return (int(days * 50) + 2) / 50


def _split(items: tuple[str, ...], parts: int) -> list[tuple[str, ...]]:
    edges = [len(items) * part // parts for part in range(parts + 1)]
    return [items[low:high] for low, high in pairwise(edges) if low < high]


def _first(choices: Sequence[tuple[str, ...]], fails: Callable[[Sequence[str]], bool]) -> tuple[str, ...] | None:
    return next((choice for choice in choices if fails(choice)), None)

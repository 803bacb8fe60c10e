"""What each compared planner believes a pool costs, and which bounds it keeps.

All of them ask the same planner, `reconciler.placement.place`, with the same demand, capacity, minimum lifetime and cost
of a move. A view differs in the offers it makes, in the shares it asks for, and in how long its belief holds:

ebbtide      the ranking's expected cost of a useful unit-hour, from hazards learnt so far
price-first  what the rate card says, without any bound
random       every pool alike under the bounds, ties by the planner's own hash: a random spread
hindsight    the same ranking as ebbtide, but with the losses that the coming hour really brings
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from correlation_groups.spread import Shares
from pools.interruption import Hazards
from pools.ranking import MICRO, move_cost_micro, rank
from reconciler.problem import Offers
from simulation.replay_window import COMING_MS, Window, coming
from simulation.replay_work import GUARANTEED_MICRO, Work
from simulation.trace import Floats, Ints

FREE = Shares(pool_permille=1000, group_permille=1000, pools=1)
"""No spread at all."""

HORIZON_H = 4
"""Over which a move must pay, as in the reference estate."""



class View(Protocol):
    """One planner's belief; `name` is the policy's."""

    name: str
    shares: Shares
    horizon_h: int

    def offers(self, at: int) -> Sequence[Offers]:
        """By workload index; the same object as long as nothing changed."""
        ...


@dataclass
class Static:
    """A belief that never changes."""

    name: str
    shares: Shares
    fixed: Sequence[Offers]
    horizon_h: int = HORIZON_H

    def offers(self, at: int) -> Sequence[Offers]:
        """Always the same."""
        del at
        return self.fixed


@dataclass
class Learning:
    """Ebbtide's: the ranking of the hazards published last."""

    win: Window
    work: Work
    name: str = "ebbtide"
    shares: Shares = field(default_factory=Shares)
    horizon_h: int = HORIZON_H
    _version: int = -1
    _offers: Sequence[Offers] = ()

    def offers(self, at: int) -> Sequence[Offers]:
        """The ranking as of the last quarter of an hour."""
        version, known = self.win.hazards_at(at)
        if version != self._version:
            self._version = version
            self._offers = _ranked(self.work, known)
        return self._offers


@dataclass
class Hindsight:
    """The same ranking and bounds with the next hour's losses for hazards; a move has to pay within that hour."""

    win: Window
    work: Work
    name: str = "hindsight"
    shares: Shares = field(default_factory=Shares)
    horizon_h: int = 1
    _losses: Sequence[Ints] = ()

    def offers(self, at: int) -> Sequence[Offers]:
        """The ranking of what will happen in the hour from now."""
        if not self._losses:
            self._losses = coming(self.win)
        sizes = np.array([pool.size for pool in self.win.pools], dtype=np.float64)
        ahead = np.array([np.searchsorted(t, at + COMING_MS) - np.searchsorted(t, at) for t in self._losses])
        rate: Floats = np.maximum(ahead / sizes, 1e-6)
        return _ranked(self.work, Hazards(self.win.topology, rate, rate, rate, rate))


def _ranked(work: Work, known: Hazards) -> Sequence[Offers]:
    """Offers of every eligible pool at its cost by the ranking, for each workload."""
    ranking = rank(work.board, known, work.rates)
    names, units = work.board.pools, (1,) * len(work.board.pools)
    by_class = [
        Offers(names, units, tuple(np.where(row > 0, row, 100 * GUARANTEED_MICRO).tolist()))
        for row in ranking.costs.cost
    ]
    return [by_class[work.board.class_of[c.name]] for c in work.contracts]


def _same_for_all(work: Work, costs: Sequence[int]) -> Sequence[Offers]:
    one = Offers(work.board.pools, (1,) * len(work.board.pools), tuple(costs))
    return [one] * len(work.contracts)


def _price_first(win: Window, work: Work) -> View:
    del win
    return Static("price-first", FREE, _same_for_all(work, work.rates.asked.tolist()))


def _random(win: Window, work: Work) -> View:
    return Static("random", Shares(), _same_for_all(work, [MICRO] * len(win.pools)))


VIEWS: dict[str, Callable[[Window, Work], View]] = {
    "ebbtide": Learning,
    "price-first": _price_first,
    "random": _random,
    "hindsight": Hindsight,
}
"""By name of the policy."""


def move_costs(win: Window, work: Work) -> Sequence[int]:
    """What interrupting one unit costs each workload, in 1e-6; the same for all planners."""
    some = np.full(len(win.pools), 0.001)
    found = move_cost_micro(rank(work.board, Hazards(win.topology, some, some, some, some), work.rates))
    return [found[c.name] for c in work.contracts]

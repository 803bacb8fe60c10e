"""What each compared planner believes a pool costs, and which bounds it keeps.

All of them ask the same planner, `reconciler.placement.place`, with the same demand, capacity, minimum lifetime and
cost of a move. A view differs in the offers it makes, in the shares it asks for, and in how long its belief holds:

ebbtide      the ranking's expected cost of a useful unit-hour, from hazards learnt so far
price-first  what the rate card says, without any bound
random       every pool alike under the bounds, ties by the planner's own hash: a random spread
hindsight    the same ranking as ebbtide, but with the losses that the coming hour really brings (72h: three days)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from correlation_groups.spread import Shares
from pools.interruption import Hazards
from pools.ranking import DROPS, MICRO, Drop, move_cost_micro, rank
from reconciler.problem import Offers
from simulation.replay_window import HOUR_MS, Window, coming
from simulation.replay_work import GUARANTEED_MICRO, Work
from simulation.trace import Floats, Ints

FREE = Shares(pool_permille=1000, group_permille=1000, pools=1)
"""No spread at all."""

HORIZON_H = 4
"""Over which a move must pay, as in the reference estate."""


DEAREST_MICRO = 100 * GUARANTEED_MICRO
"""The cost of a pool in which work would make no progress."""


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
    """The same ranking, bounds and tolerances with the losses of the next `knows_h` hours for hazards.

    What comes after is what the ranker believes, spread over the horizon in which a move has to pay, so that hindsight
    is never the more ignorant of the two.
    """

    win: Window
    work: Work
    name: str = "hindsight"
    shares: Shares = field(default_factory=Shares)
    horizon_h: int = HORIZON_H
    knows_h: int = 1
    _losses: Sequence[Ints] = ()

    def offers(self, at: int) -> Sequence[Offers]:
        """The ranking of what will happen in the hours from now."""
        if not self._losses:
            self._losses = coming(self.win)
        until = at + self.knows_h * HOUR_MS
        ahead = np.array([np.searchsorted(t, until) - np.searchsorted(t, at) for t in self._losses])
        lost = ahead / np.array([pool.size for pool in self.win.pools], dtype=np.float64)
        _, known = self.win.hazards_at(at)
        after = max(0, self.horizon_h - self.knows_h)
        rate: Floats = np.maximum((lost + known.mean * after) / (self.knows_h + after), 1e-6)
        return _ranked(self.work, replace(known, mean=rate, upper=rate))


def _hindsight_days(win: Window, work: Work) -> View:
    return Hindsight(win, work, name="hindsight-72h", knows_h=72)


def _ranked(work: Work, known: Hazards) -> Sequence[Offers]:
    """Offers for each workload: the pools it tolerates, at their cost by the ranking."""
    ranking = rank(work.board, known, work.rates)
    names = np.array(work.board.pools)
    banned = ranking.costs.drop == DROPS.index(Drop.INTOLERABLE)
    # a pool about to fall may cost more than any number says: dear, and not unknown, so that work leaves it
    costs = np.where(ranking.costs.cost > 0, ranking.costs.cost, DEAREST_MICRO)
    by_class = []
    for row in range(len(costs)):
        kept = np.flatnonzero(~banned[row])
        by_class.append(Offers(tuple(names[kept].tolist()), (1,) * len(kept), tuple(costs[row, kept].tolist())))
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
    "hindsight-72h": _hindsight_days,
}
"""By name of the policy."""


def move_costs(win: Window, work: Work) -> Sequence[int]:
    """What interrupting one unit costs each workload, in 1e-6; the same for all planners."""
    some = np.full(len(win.pools), 0.001)
    found = move_cost_micro(rank(work.board, Hazards(win.topology, some, some, some, some), work.rates))
    return [found[c.name] for c in work.contracts]

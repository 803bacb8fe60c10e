"""What each compared planner believes a pool costs, and which bounds it keeps.

All of them ask the same planner, `reconciler.placement.place`, with the same demand, capacity, minimum lifetime and
cost of a move. A view differs in the offers it makes, in the shares it asks for, and in how long its belief holds:

ebbtide      the ranking's expected cost of a useful unit-hour, from hazards learnt so far
price-first  what the rate card says, without any bound; patient: it weighs lost hours as we do before it moves
random       every pool alike under the bounds, ties by the planner's own hash: a random spread
hindsight    the same ranking as ebbtide, but with the losses that the coming hour really brings (72h: three days)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from correlation_groups.spread import Shares
from pools.exclusion import Interrupted, Signs, State, admitted, update
from pools.interruption import Hazards
from pools.ranking import DROPS, MICRO, Drop, move_cost_micro, rank
from reconciler.desired import MOVE_MARGIN
from reconciler.problem import Offers
from repo_layout.documents import Movement
from simulation.replay_window import Window, coming
from simulation.replay_work import GUARANTEED_MICRO, LOST_HOUR_WEIGHT, Work
from simulation.trace import Floats, Ints
from simulation.trace_measures import HOUR_MS

FREE = Shares(pool_permille=1000, group_permille=1000, pools=1)
"""No spread at all."""

HORIZON_H = Movement().horizon // 3600
"""Over which a move must pay: the product's own."""

DEAREST_MICRO = 100 * GUARANTEED_MICRO
"""The cost of a pool in which work would make no progress."""


@dataclass(frozen=True, slots=True)
class Told:
    """What happened to our own instances since the last plan, by index of pool: interruptions (pool, instant, whether
    noticed), how many joined, how many boot, how many stand.
    """

    interrupted: Sequence[tuple[int, int, bool]]
    joined: Mapping[int, int]
    starting: Mapping[int, int]
    alive: Mapping[int, int]


class View(Protocol):
    """One planner's belief; `name` is the policy's.

    `waits` says whether a move is judged as the product judges it: an hour of lost work weighs more than its money,
    and the gain must be a margin above the cost.
    """

    name: str
    shares: Shares
    horizon_h: int
    waits: bool

    def offers(self, at: int) -> Sequence[Offers]:
        """By workload index; the same object as long as nothing changed."""
        ...

    def admits(self, at: int, told: Told) -> Mapping[int, int]:
        """How many more instances each excluded pool may take; pools that are not in it have no limit."""
        ...


@dataclass
class Static:
    """A belief that never changes."""

    name: str
    shares: Shares
    fixed: Sequence[Offers]
    waits: bool = False
    horizon_h: int = HORIZON_H

    def offers(self, at: int) -> Sequence[Offers]:
        """Always the same."""
        del at
        return self.fixed

    def admits(self, at: int, told: Told) -> Mapping[int, int]:
        """Nothing is excluded."""
        del at, told
        return {}


@dataclass
class Learning:
    """Ebbtide's: the ranking of the hazards published last."""

    win: Window
    work: Work
    name: str = "ebbtide"
    shares: Shares = field(default_factory=Shares)
    horizon_h: int = HORIZON_H
    waits: bool = True
    promised_ms: int = 120_000
    _version: int = -1
    _offers: Sequence[Offers] = ()
    _excluded: State | None = None

    def offers(self, at: int) -> Sequence[Offers]:
        """The ranking as of the last quarter of an hour."""
        version, known = self.win.hazards_at(at)
        if version != self._version:
            self._version = version
            self._offers = _ranked(self.work, known)
        return self._offers

    def admits(self, at: int, told: Told) -> Mapping[int, int]:
        """What the exclusion loop allows after what our own instances met."""
        names = self.work.board.pools
        state = self._excluded or State(seed=self.work.contracts[0].name, pools=len(names))
        _, known = self.win.hazards_at(at)
        signs = Signs(
            interrupted=tuple(
                Interrupted(names[p], when, self.promised_ms if noticed else None, self.promised_ms)
                for p, when, noticed in told.interrupted
            ),
            hazard={names[p]: float(known.upper[p]) for p, _, _ in told.interrupted},
            alive={names[p]: count for p, count in told.alive.items()},
            joined={names[p]: count for p, count in told.joined.items()},
            starting={names[p]: count for p, count in told.starting.items()},
        )
        self._excluded, _ = update(state, signs, at)
        index = self.work.board.pools.index
        limits = ((name, admitted(self._excluded, name, at)) for name in self._excluded.records)
        return {index(name): most for name, most in limits if most is not None}


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
    waits: bool = True
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

    def admits(self, at: int, told: Told) -> Mapping[int, int]:
        """Nothing is excluded: what is known needs no guess."""
        del at, told
        return {}


def _hindsight_days(win: Window, work: Work) -> View:
    return Hindsight(win, work, name="hindsight-72h", knows_h=72)


def _ranked(work: Work, known: Hazards) -> Sequence[Offers]:
    """Offers for each workload: the pools it tolerates, at their cost by the ranking."""
    ranking = rank(work.board, known, work.rates)
    names = np.array(work.board.pools)
    banned = np.isin(ranking.costs.drop, [DROPS.index(Drop.INTOLERABLE), DROPS.index(Drop.DEARER)])
    # a pool about to fall may cost more than any number says: dear, and not unknown, so that work leaves it
    costs = np.where(ranking.costs.cost > 0, ranking.costs.cost, DEAREST_MICRO)
    by_class: list[Offers] = []
    shared: dict[bytes, tuple[tuple[str, ...], tuple[int, ...]]] = {}  # the planner indexes equal columns once
    for row in range(len(costs)):
        kept = np.flatnonzero(~banned[row])
        pools, units = shared.setdefault(kept.tobytes(), (tuple(names[kept].tolist()), (1,) * len(kept)))
        by_class.append(Offers(pools, units, tuple(costs[row, kept].tolist())))
    return [by_class[work.board.class_of[c.name]] for c in work.contracts]


def _same_for_all(work: Work, costs: Sequence[int]) -> Sequence[Offers]:
    one = Offers(work.board.pools, (1,) * len(work.board.pools), tuple(costs))
    return [one] * len(work.contracts)


def _price_first(win: Window, work: Work) -> View:
    del win
    return Static("price-first", FREE, _same_for_all(work, work.rates.asked.tolist()))


def _patient(win: Window, work: Work) -> View:
    del win
    return Static("price-first-patient", FREE, _same_for_all(work, work.rates.asked.tolist()), waits=True)


def _random(win: Window, work: Work) -> View:
    return Static("random", Shares(), _same_for_all(work, [MICRO] * len(win.pools)))


VIEWS: dict[str, Callable[[Window, Work], View]] = {
    "ebbtide": Learning,
    "price-first": _price_first,
    "random": _random,
    "hindsight": Hindsight,
    "hindsight-72h": _hindsight_days,
    "price-first-patient": _patient,
}
"""By name of the policy."""


def move_costs(win: Window, work: Work, *, waits: bool) -> Sequence[int]:
    """What a move must gain per unit of each workload, in 1e-6: the same hours for all planners, in money alone or as
    the product asks.
    """
    some = np.full(len(win.pools), 0.001)
    found = move_cost_micro(rank(work.board, Hazards(win.topology, some, some, some, some), work.rates))
    scale = MOVE_MARGIN if waits else 1 / (1 + LOST_HOUR_WEIGHT)
    return [round(found[c.name] * scale) for c in work.contracts]

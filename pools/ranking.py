"""What one useful unit-hour costs in each pool, for each kind of contract, once interruptions are paid for.

Called by the appraisal every five minutes. Pure; knows no placement, no capacity and no clock: exclusion and forward
capacity bound supply elsewhere. A pool that a contract may not use, or that would cost more than it saves, is dropped
with a reason. Money is in integers of 1e-6 of the currency, per unit-hour; hazards are per instance-hour.

The formulas stand in `costs`. A board is what does not change within one commit (contracts grouped into classes of
equal cost parameters, as arrays); a ranking is a board with hazards and rates.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pools.board import Board
from pools.interruption import Hazards
from pools.kinds import Kind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

MICRO = 1_000_000

SETTLED_OCTAVES = 0.25
"""A published hazard stays until the estimate has left it by this many powers of two (19 %): costs move by a tenth of
that at most, and a ranking that does not change lets the planner keep its plan."""


class Drop(enum.Enum):
    """Why a pool is not offered to a contract."""

    NOT_ELIGIBLE = "not_eligible"
    NO_RATE = "no_rate"
    NEVER_INTERRUPTED = "never_interrupted"
    INTOLERABLE = "intolerable"
    NO_PROGRESS = "no_progress"
    DEARER = "dearer"


DROPS: tuple[Drop, ...] = tuple(Drop)
"""The order that the `drop` array counts in; -1 there is a pool that is offered."""


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """What is asked and what a guaranteed instance of the same flavor costs, 1e-6 per instance-hour, in the board's
    order of pools; -1 where it is not known.
    """

    asked: Ints
    guaranteed: Ints

    @classmethod
    def of(cls, board: Board, asked: Mapping[str, Decimal], guaranteed: Mapping[str, Decimal]) -> Rates:
        """From a rate card. A committed pool costs its guaranteed rate, whatever the card asks."""
        sure = np.array([_micro(guaranteed.get(name)) for name in board.pools], dtype=np.int64)
        now = np.array([_micro(asked.get(name)) for name in board.pools], dtype=np.int64)
        return cls(np.where(board.committed, sure, now), sure)

    def same_as(self, other: Rates) -> bool:
        """Whether every rate is equal."""
        return np.array_equal(self.asked, other.asked) and np.array_equal(self.guaranteed, other.guaranteed)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One pool for one workload, with every term of its cost.

    Money in 1e-6 per unit-hour: `rate_micro` is asked, `guaranteed_micro` the guaranteed one, `fallback_micro` the
    expected fallback, `cost_micro` the whole. `hazard` is interruptions per unit-hour as the cost counts them (upper
    quantile for strict tiers, the whole gang's for gangs), `slow_hazard` what was held against the tolerance; `lost_h`
    and `restart_h` hours per interruption. `reason` is None for a pool that is offered.
    """

    pool: str
    units: int
    cost_micro: int
    rate_micro: int
    guaranteed_micro: int
    hazard: float
    slow_hazard: float
    lost_h: float
    restart_h: float
    fallback_micro: int
    reason: Drop | None


@dataclass(frozen=True, slots=True)
class Costs:
    """Arrays of classes by pools."""

    cost: Ints
    rate: Floats
    guaranteed: Floats
    hazard: Floats
    slow: Floats
    lost_h: Floats
    fallback: Floats
    drop: Ints


@dataclass(frozen=True)
class Ranking:
    """The costs of one moment. `offers` is in the board's order of pools, which is by name."""

    board: Board
    costs: Costs

    def offered(self, workload: str) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
        """Pools, units per instance and cost of a useful unit-hour, by column, of what one workload is offered."""
        return self.columns(self.board.class_of[workload])

    def columns(self, row: int) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
        """`offered` of one class."""
        kept = np.flatnonzero(self.costs.drop[row] < 0)
        return (
            tuple([self.board.pools[i] for i in kept.tolist()]),
            tuple(self.board.units[row, kept].tolist()),
            tuple(self.costs.cost[row, kept].tolist()),
        )

    def rows(self, workload: str) -> Iterator[Ranked]:
        """Every pool of the region for one workload, cheapest first, dropped ones last."""
        row = self.board.class_of[workload]
        order = np.lexsort((self.costs.cost[row], self.costs.drop[row] >= 0))
        return (self._ranked(row, int(pool)) for pool in order)

    def dropped(self, workload: str) -> dict[str, Drop]:
        """The pools that the workload might use by their attributes and is not offered, and why."""
        row = self.board.class_of[workload]
        return {
            self.board.pools[i]: DROPS[drop]
            for i, drop in enumerate(self.costs.drop[row].tolist())
            if drop >= 0 and DROPS[drop] is not Drop.NOT_ELIGIBLE
        }

    def _ranked(self, row: int, pool: int) -> Ranked:
        costs, drop = self.costs, int(self.costs.drop[row, pool])
        return Ranked(
            pool=self.board.pools[pool],
            units=int(self.board.units[row, pool]),
            cost_micro=int(costs.cost[row, pool]),
            rate_micro=round(float(costs.rate[row, pool])),
            guaranteed_micro=round(float(costs.guaranteed[row, pool])),
            hazard=float(costs.hazard[row, pool]),
            slow_hazard=float(costs.slow[row, pool]),
            lost_h=float(costs.lost_h[row, pool]),
            restart_h=float(self.board.kinds[row].restart_h),
            fallback_micro=round(float(costs.fallback[row, pool])),
            reason=None if drop < 0 else DROPS[drop],
        )


def settle(published: Floats | None, fresh: Floats) -> Floats:
    """The hazards to publish: each old one that is still near enough, the fresh one elsewhere, in steps of an octave's
    64th, so that equal inputs give equal bytes.
    """
    stepped = np.exp2(np.round(np.log2(np.maximum(fresh, 1e-9)) * 64) / 64)
    if published is None or published.shape != stepped.shape:
        return stepped
    near = np.abs(np.log2(published) - np.log2(stepped)) <= SETTLED_OCTAVES
    return np.where(near, published, stepped)


def rank(board: Board, hazards: Hazards, rates: Rates) -> Ranking:
    """The ranking of one moment; hazards and rates are in the board's order of pools."""
    return Ranking(board, costs(board, hazards, rates))


def costs(board: Board, hazards: Hazards, rates: Rates) -> Costs:
    """Cost of a useful unit-hour of every class in every pool, and why a pool is dropped.

    From a checkpoint: rate / (1 - h (L + R)), the renewal-reward share of time that is not lost. From scratch:
    rate x (e^(hT) - 1) / (hT) x (1 + hR), the expected paid time of a run of T hours under a constant hazard (Duda
    1983, The effects of checkpointing on program execution time, with one restart R per interruption); its expected
    loss per interruption is L = 1/h - T / (e^(hT) - 1). Expected fallback is h x share x hours x guaranteed rate.
    Where the assumptions weigh lost hours, h (L + R) x weight x guaranteed rate is added: whoever waits for them.

    A committed pool is offered whatever is known of its rate, since a floor stands there by contract and nowhere else;
    one whose rate nobody tells costs as much as the dearest that is known.
    """
    col = board.columns
    joint = np.maximum(1, -(-col.gang // np.maximum(1, board.units))).astype(np.float64)
    committed = board.committed
    mean = np.where(committed, 0.0, hazards.mean * joint)
    counted = np.where(committed, 0.0, np.where(col.strict, hazards.upper, hazards.mean) * joint)
    slow = np.where(committed, 0.0, np.where(col.strict, hazards.slow_upper, hazards.slow_mean) * joint)
    units = np.maximum(1, board.units)
    rate, guaranteed = rates.asked / units, rates.guaranteed / units
    lost_h = _lost_h(board, counted)
    inflation = _inflation(board, counted, lost_h)
    fallback = counted * col.fallback_h * np.maximum(0.0, guaranteed)
    waited = counted * (lost_h + col.restart_h) * col.weight * np.maximum(0.0, guaranteed)
    cost = rate * inflation + fallback + waited
    unknown = (rates.asked < 0) | (rates.guaranteed < 0)
    dearest = np.where(board.eligible, np.maximum(0.0, guaranteed), 0.0).max(axis=1, keepdims=True, initial=0.0)
    cost = np.where(unknown & committed, dearest, cost)
    # whether it saves anything is judged by the mean hazard: a strict tier's caution is no price
    lost_mean_h = _lost_h(board, mean)
    weighed_h = col.fallback_h + (lost_mean_h + col.restart_h) * col.weight
    expected = rate * _inflation(board, mean, lost_mean_h) + mean * weighed_h * np.maximum(0.0, guaranteed)
    # the first that holds is the reason
    reasons: tuple[tuple[Drop, Flags], ...] = (
        (Drop.NOT_ELIGIBLE, ~board.eligible),
        (Drop.NEVER_INTERRUPTED, np.broadcast_to(col.never & ~committed, board.eligible.shape)),
        (Drop.NO_RATE, np.broadcast_to(unknown & ~committed, board.eligible.shape)),
        (Drop.DEARER, (rate > guaranteed) & ~committed),
        (Drop.INTOLERABLE, slow > col.tolerance),
        (Drop.NO_PROGRESS, counted * (lost_h + col.restart_h) >= 1.0),
        (Drop.DEARER, (expected > guaranteed) & ~committed),
    )
    drop = np.select([flags for _, flags in reasons], [DROPS.index(name) for name, _ in reasons], default=-1)
    whole = np.where(np.isfinite(cost) & (cost < 2**53), np.rint(np.minimum(cost, 2**53)), 0).astype(np.int64)
    return Costs(whole, rate, guaranteed, counted, slow, lost_h, fallback, drop.astype(np.int64))


def _lost_h(board: Board, hazard: Floats) -> Floats:
    """Hours of work lost per interruption: declared by the checkpoint, or what a run from scratch has done by then."""
    run = board.columns.run_h
    x = np.minimum(hazard * run, 50.0)
    # 1/h - T/(e^x - 1) = T (1/x - 1/(e^x - 1)); its series at 0 is T (1/2 - x/12)
    small = x < 1e-4
    safe = np.where(small, 1.0, x)
    scratch = run * np.where(small, 0.5 - x / 12, 1 / safe - 1 / np.expm1(safe))
    return np.where(board.columns.from_scratch, scratch, board.columns.lost_h)


def _inflation(board: Board, hazard: Floats, lost_h: Floats) -> Floats:
    """Paid hours per useful hour; infinite where there is no progress."""
    col = board.columns
    share = hazard * (lost_h + col.restart_h)
    x = np.minimum(hazard * col.run_h, 50.0)
    small = x < 1e-9
    runs = np.where(small, 1.0, np.expm1(x) / np.where(small, 1.0, x)) * (1 + hazard * col.restart_h)
    kept = np.where(share < 1, 1 / np.maximum(1e-12, 1 - share), np.inf)
    return np.where(col.from_scratch, runs, kept)


def move_cost_micro(ranking: Ranking) -> dict[str, int]:
    """What interrupting one unit now costs each workload, in 1e-6: (L + R) at the cheapest guaranteed unit rate.

    L is that of a drain of our own: with notice, so an on-notice checkpoint loses nothing, a run from scratch half of
    itself; the drain budget is added, for while it drains it does no work.
    """
    sure = guaranteed_micro(ranking)
    kinds = ranking.board.kinds
    return {
        name: round((kinds[row].drained_h + kinds[row].restart_h) * (1 + kinds[row].weight) * sure.get(name, 0))
        for name, row in ranking.board.class_of.items()
    }


def guaranteed_micro(ranking: Ranking) -> dict[str, int]:
    """The guaranteed rate of a unit-hour of each workload, in 1e-6: the cheapest that its eligible pools tell; absent
    where none tells.
    """
    usable = ranking.board.eligible & (ranking.costs.guaranteed >= 0)
    least = np.where(usable, ranking.costs.guaranteed, np.inf).min(axis=1, initial=np.inf)
    rates = [round(rate) if math.isfinite(rate) else None for rate in least.tolist()]
    return {name: rate for name, row in ranking.board.class_of.items() if (rate := rates[row]) is not None}


def explain(ranking: Ranking, workload: str, *, currency: str) -> str:
    """Every term of every pool of one workload as lines of text, with units."""
    kind: Kind = ranking.board.kinds[ranking.board.class_of[workload]]
    lines = [f"{workload}: {kind.describe()}"]
    for row in ranking.rows(workload):
        if row.reason is Drop.NOT_ELIGIBLE:
            continue
        verdict = f"{_money(row.cost_micro)} {currency} per useful unit-hour"
        if row.reason is not None:
            verdict = f"not offered ({row.reason.value})"
        lines.append(
            f"  {row.pool}: {verdict}; rate {_money(row.rate_micro)} {currency}/unit-h"
            f" (guaranteed {_money(row.guaranteed_micro)}), {row.units} units/instance,"
            f" interruptions {row.hazard:.5f}/unit-h (tolerance judged at {row.slow_hazard:.5f}/unit-h),"
            f" lost {row.lost_h:.4f} h and restart {row.restart_h:.4f} h per interruption,"
            f" fallback {_money(row.fallback_micro)} {currency}/unit-h"
        )
    return "\n".join(lines)


def _money(micro: int) -> str:
    return "unknown" if micro < 0 else f"{Decimal(micro) / MICRO:.6f}"


@lru_cache(maxsize=1 << 12)  # a rate card says the same of nearly every pool all day
def _micro(amount: Decimal | None) -> int:
    return -1 if amount is None or amount < 0 else int((amount * MICRO).to_integral_value())

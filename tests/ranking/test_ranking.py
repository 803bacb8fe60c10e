"""The cost of a useful unit-hour against numbers worked out by hand, and what is dropped."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.model import Checkpoint, Contract, Fallback
from contracts.tiers import PRESETS
from contracts.values import Money
from pools.board import board as board_of_pools
from pools.interruption import Floats, Hazards, Topology
from pools.kinds import Assumptions
from pools.model import CHECKPOINT_THROUGHPUT
from pools.ranking import Drop, Ranked, Ranking, Rates, explain, guaranteed_micro, move_cost_micro, rank, settle
from tests.ranking.samples import TierName, board_of, contract, pool

POOLS = (pool("p1"), pool("p2", vcpu=16), pool("safe", committed=True))
ASKED = {"p1": Decimal("0.20"), "p2": Decimal("0.40")}
SURE = {"p1": Decimal("0.50"), "p2": Decimal("1.00"), "safe": Decimal("0.52")}


def hazards_of(
    names: tuple[str, ...], *, mean: float, upper: float | None = None, slow: float | None = None
) -> Hazards:
    def flat(value: float) -> Floats:
        return np.full(len(names), value)

    top = upper if upper is not None else mean
    return Hazards(Topology.of(names, {}), flat(mean), flat(top), flat(slow or mean), flat(slow or top))


def ranked(
    chosen: Contract,
    *,
    mean: float,
    upper: float | None = None,
    slow: float | None = None,
    asked: dict[str, Decimal] | None = None,
    sure: dict[str, Decimal] | None = None,
) -> Ranking:
    board = board_of(chosen, pools=POOLS)
    rates = Rates.of(board, asked if asked is not None else ASKED, sure if sure is not None else SURE)
    return rank(board, hazards_of(board.pools, mean=mean, upper=upper, slow=slow), rates)


def row(ranking: Ranking, name: str = "p1") -> Ranked:
    return next(r for r in ranking.rows("w") if r.pool == name)


def test_periodic_work_costs_rate_over_the_share_of_time_that_is_kept() -> None:
    # staged: interval 1800 s, so L = 0.25 h; start-up 60 s + join 180 s, so R = 1/15 h; unit rate 0.10
    found = row(ranked(contract(), mean=0.03))
    assert found.lost_h == pytest.approx(0.25)
    assert found.restart_h == pytest.approx(1 / 15)
    assert found.cost_micro == round(100_000 / (1 - 0.03 * (0.25 + 1 / 15)))
    assert found.units == 2


def test_work_from_scratch_costs_its_expected_run_time() -> None:
    # requeued: T = 1 h, R = 180 s = 0.05 h; e^0.1 - 1 over 0.1, times 1 + 0.1 x 0.05
    found = row(ranked(contract(tier="requeued"), mean=0.1))
    assert found.cost_micro == round(100_000 * (math.expm1(0.1) / 0.1) * 1.005)
    assert found.lost_h == pytest.approx(1 / 0.1 - 1 / math.expm1(0.1))


def test_work_with_a_checkpoint_on_notice_loses_only_when_there_is_no_notice() -> None:
    # resumable: interval 900 s; 5 % of interruptions come without notice: 0.05 x 0.125 h
    assert row(ranked(contract(tier="resumable"), mean=0.01)).lost_h == pytest.approx(0.05 * 0.125)


def test_a_pool_too_slow_for_the_checkpoint_is_not_eligible() -> None:
    # two units an instance write side by side, at 200 MiB/s for 90 s
    preset = PRESETS[contract(tier="resumable").tier].checkpoint
    fits = preset.model_copy(update={"size": 45 * CHECKPOINT_THROUGHPUT})
    large = preset.model_copy(update={"size": 45 * CHECKPOINT_THROUGHPUT + 1})
    assert row(ranked(contract(tier="resumable", checkpoint=fits), mean=0.01)).reason is None
    assert row(ranked(contract(tier="resumable", checkpoint=large), mean=0.01)).reason is Drop.NOT_ELIGIBLE


def test_a_checkpoint_on_notice_alone_loses_half_the_run_without_notice() -> None:
    alone = Checkpoint(mode="on-notice", size=1024, start_up=0)
    found = row(ranked(contract(checkpoint=alone, expected_run_s=7200), mean=0.01))
    assert found.lost_h == pytest.approx(0.05 * 1.0)


def test_strict_tiers_pay_for_the_upper_quantile_and_others_for_the_mean() -> None:
    strict = row(ranked(contract(tier="resumable"), mean=0.01, upper=0.04))
    loose = row(ranked(contract(tier="staged"), mean=0.01, upper=0.04))
    assert (strict.hazard, loose.hazard) == (0.04, 0.01)


def test_fallback_is_added_where_it_is_allowed() -> None:
    paid = Fallback(allowed=True, authority="x", limit_per_day=Money(Decimal(5), "EUR"))
    without, with_it = row(ranked(contract(), mean=0.1)), row(ranked(contract(fallback=paid), mean=0.1))
    # 0.1 interruptions/h x 5 % x 0.5 h x 0.25 guaranteed per unit-hour
    assert with_it.fallback_micro == round(0.1 * 0.05 * 0.5 * 250_000)
    assert with_it.cost_micro - without.cost_micro == with_it.fallback_micro


def test_a_pool_above_the_tolerance_is_dropped_by_name() -> None:
    # staged tolerates 0.20 an hour, judged by the slow mean
    assert ranked(contract(), mean=0.01, slow=0.21).dropped("w") == {"p1": Drop.INTOLERABLE, "p2": Drop.INTOLERABLE}
    assert ranked(contract(), mean=0.22, slow=0.19).dropped("w") == {}


def test_work_that_would_make_no_progress_is_not_eligible() -> None:
    slow = Checkpoint(mode="periodic", interval=36_000, start_up=0)
    tolerant = contract(tier="scavenger", checkpoint=slow, restart="from-checkpoint")
    # L + R = 5.05 h: no progress from 0.198 an hour on
    assert row(ranked(tolerant, mean=0.21)).reason is Drop.NO_PROGRESS
    assert row(ranked(tolerant, mean=0.01)).reason is None


def test_a_reclaimable_pool_dearer_than_guaranteed_gets_no_work_for_savings_sake() -> None:
    # C23: reclaimable 0.0937 against 0.0912 guaranteed for the same flavor
    found = ranked(
        contract(),
        mean=0.001,
        asked={"p1": Decimal("0.0937"), "p2": Decimal("0.05")},
        sure={"p1": Decimal("0.0912"), "p2": Decimal("0.18"), "safe": Decimal("0.0912")},
    )
    assert found.dropped("w") == {"p1": Drop.DEARER}
    assert found.offered("w")[0] == ("p2", "safe")


def test_a_cheap_rate_that_interruptions_make_dearer_is_dropped_too() -> None:
    # 0.24 / (1 - 0.09 x 19/60) = 0.2470 > 0.245 guaranteed, for each of two units
    found = ranked(contract(), mean=0.09, asked={"p1": Decimal("0.48")}, sure={"p1": Decimal("0.49")})
    assert found.dropped("w")["p1"] is Drop.DEARER


def test_waiting_for_lost_hours_counts_when_a_pool_is_held_against_the_guaranteed_rate() -> None:
    # 0.10 / (1 - 0.03 x 19/60) = 0.101 in money, and 0.03 x 19/60 x 30 = 0.285 guaranteed hours of waiting: it takes a
    # guaranteed rate of 0.141 for each of the two units
    for guaranteed, reason in ((Decimal("0.50"), None), (Decimal("0.28"), Drop.DEARER)):
        sure = {**SURE, "p1": guaranteed}
        weighed = Assumptions(lost_hour_weight=30)
        board = board_of_pools((contract(),), POOLS, verification_margin_s=5, assumptions=weighed)
        found = rank(board, hazards_of(board.pools, mean=0.03), Rates.of(board, ASKED, sure))
        assert row(found).reason is reason
        assert row(ranked(contract(), mean=0.03, sure=sure)).reason is None


def test_a_pool_without_a_rate_gets_no_new_work() -> None:
    found = ranked(contract(), mean=0.01, asked={"p1": Decimal("0.2")})
    assert found.offered("w")[0] == ("p1", "safe")
    assert found.dropped("w") == {"p2": Drop.NO_RATE}


def test_committed_capacity_is_offered_behind_what_is_dearest_where_nobody_tells_its_rate() -> None:
    unrated = {name: rate for name, rate in SURE.items() if name != "safe"}
    found = row(ranked(contract(), mean=0.01, sure=unrated), "safe")
    assert (found.cost_micro, found.reason) == (250_000, None)
    found = row(ranked(contract(), mean=0.01, asked={}, sure={}), "safe")
    assert (found.cost_micro, found.reason) == (0, None)


def test_committed_capacity_is_offered_at_the_guaranteed_rate() -> None:
    found = row(ranked(contract(), mean=5.0), "safe")
    assert (found.cost_micro, found.reason, found.hazard) == (260_000, None, 0.0)


def test_work_that_must_never_be_interrupted_sees_committed_pools_only() -> None:
    assert ranked(contract(restart="never", floor=100), mean=0.0001).offered("w")[0] == ("safe",)


def test_interrupting_a_unit_costs_what_a_drain_of_our_own_loses() -> None:
    found = ranked(contract(), mean=0.01)
    assert guaranteed_micro(found) == {"w": 250_000}
    assert move_cost_micro(found) == {"w": round((0.25 + 1 / 15 + 60 / 3600) * 250_000)}
    kept = ranked(contract(tier="resumable"), mean=0.01)
    # with notice an on-notice checkpoint loses nothing: start-up 120 s + join 180 s + drain 90 s
    assert move_cost_micro(kept) == {"w": round(390 / 3600 * 250_000)}


def test_contracts_with_equal_parameters_share_one_class_and_others_do_not() -> None:
    board = board_of(contract("a"), contract("b"), contract("c", tier="requeued"), pools=POOLS)
    assert board.class_of["a"] == board.class_of["b"] != board.class_of["c"]


def test_the_explanation_names_every_term_with_its_unit() -> None:
    text = explain(ranked(contract(), mean=0.03), "w", currency="EUR")
    for term in ("per useful unit-hour", "EUR/unit-h", "interruptions 0.03000/unit-h", "lost 0.2500 h", "fallback"):
        assert term in text


def test_settled_hazards_do_not_move_for_noise() -> None:
    first = settle(None, np.array([0.010, 0.020]))
    same = settle(first, np.array([0.0105, 0.0195]))
    moved = settle(first, np.array([0.013, 0.0195]))
    assert same.tobytes() == first.tobytes()
    assert moved[0] != first[0]
    assert moved[1] == first[1]


@settings(max_examples=60, deadline=None)
@given(
    hazard=st.floats(1e-4, 0.4),
    more=st.floats(1.01, 3),
    rate=st.integers(1, 400),
    tier=st.sampled_from(get_args(TierName)),
)
def test_cost_rises_with_hazard_and_with_rate(hazard: float, more: float, rate: int, tier: TierName) -> None:
    chosen = contract(tier=tier).model_copy(update={"tolerance": Decimal(100)})
    dear = {"p1": Decimal(1), "p2": Decimal(1), "safe": Decimal(1)}

    def cost(h: float, milli: int) -> Ranked:
        return row(ranked(chosen, mean=h, asked={"p1": Decimal(milli) / 1000, "p2": Decimal(1)}, sure=dear))

    low, high, pricey = cost(hazard, rate), cost(hazard * more, rate), cost(hazard, rate + 10)
    assert low.cost_micro <= high.cost_micro or high.reason is Drop.NO_PROGRESS
    assert low.cost_micro < pricey.cost_micro


def test_a_gang_over_several_instances_is_interrupted_by_each_of_them() -> None:
    alone = ranked(contract(), mean=0.01)
    kinds = tuple(replace(kind, gang=4) for kind in alone.board.kinds)
    board = replace(alone.board, kinds=kinds)
    found = rank(board, hazards_of(board.pools, mean=0.01), Rates.of(board, ASKED, SURE))
    # two units per instance: four units stand on two instances
    assert row(found).hazard == pytest.approx(0.02)

"""What a replay counts, decides and refuses."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from contracts.errors import Refused
from correlation_groups.spread import Shares
from reconciler.problem import Offers
from simulation.replay import POLICIES, Plan, Summary, cells, regret, replay, summaries, whole_from
from simulation.replay_policies import FREE, Told
from simulation.replay_quality import quality
from simulation.replay_run import CYCLE_MS, Record, Run, Stay
from simulation.replay_score import score
from simulation.replay_window import DAY_MS, SETTLE_MS, Rules, Window, window
from simulation.replay_work import Prices, Work, savings, work_of
from simulation.trace import Trace
from simulation.trace_formats import load
from tests.replay.histories import HOUR, NODES, stormy, trace

TOLD = Rules(no_notice_share=0.0)
SUDDEN = Rules(no_notice_share=1.0)
SCORE_AT = 5 * DAY_MS
PLAN = Plan(policies=(*POLICIES, "hindsight-72h"), seeds=(1,), days=3, warm_up_days=4)


def made(history: Trace, rules: Rules = TOLD, days: int = 2) -> Window:
    return window(history, score_at=SCORE_AT, days=days, warm_up_days=4, rules=rules)


@dataclass
class OnePool:
    """A planner that knows one pool only, without bounds."""

    work: Work
    pool: str
    name: str = "one"
    shares: Shares = FREE
    horizon_h: int = 1
    waits: bool = False
    known: Sequence[Offers] = field(default_factory=list)

    def offers(self, at: int) -> Sequence[Offers]:
        del at
        return self.known or [Offers((self.pool,), (1,), (1,))] * len(self.work.contracts)

    def admits(self, at: int, told: Told) -> Mapping[int, int]:
        del at, told
        return {}


def one_unit(win: Window, tier: str) -> Work:
    """The work of seed 1 with nothing wanted but one unit of one workload."""
    work = work_of(win, seed=1, prices=Prices.NEUTRAL)
    chosen = next(i for i, c in enumerate(work.contracts) if c.tier.value == tier)
    desired = tuple(int(i == chosen) for i in range(len(work.desired)))
    return dataclasses.replace(work, desired=desired, minimum=desired)


def history_of(tier: str, rules: Rules, away: Sequence[tuple[int, int, int]]) -> tuple[Work, Record]:
    win = made(trace(away), rules)
    work = one_unit(win, tier)
    return work, Run(win, work, OnePool(work, "h0/a0/p0"), rules=rules, seed=1).run()


def lost_stay(record: Record) -> Stay:
    return next(s for s in record.stays if s.lost)


def all_of_first_pool(start: int) -> list[tuple[int, int, int]]:
    return [(n, start, start + HOUR) for n in range(NODES)]


def test_a_run_from_scratch_redoes_what_it_had_done_since_its_last_start() -> None:
    start = SCORE_AT + 10 * HOUR + 7 * 60_000
    work, record = history_of("requeued", SUDDEN, all_of_first_pool(start))
    stay = lost_stay(record)
    contract = next(c for c in work.contracts if c.tier.value == "requeued")
    placed = SCORE_AT - SETTLE_MS
    began = placed + 180_000  # it joins after three minutes and has no start-up
    assert (stay.at, stay.works_from, stay.until) == (placed, began, start)
    assert stay.redone_ms == (start - began) % (contract.expected_run * 1000)


def test_a_checkpoint_on_notice_loses_nothing_and_without_notice_a_part_of_its_interval() -> None:
    start = SCORE_AT + 10 * HOUR
    work, told = history_of("anchored", TOLD, all_of_first_pool(start))
    _, sudden = history_of("anchored", SUDDEN, all_of_first_pool(start))
    interval = next(c for c in work.contracts if c.tier.value == "anchored").checkpoint.interval
    assert interval
    assert lost_stay(told).redone_ms == 0
    assert lost_stay(told).works_until == start - 120_000
    stay = lost_stay(sudden)
    assert stay.redone_ms == (start - stay.works_from) % (interval * 1000)


def test_wasted_work_and_shortfall_of_one_loss_are_what_a_hand_computes() -> None:
    start = SCORE_AT + 10 * HOUR
    win = made(trace(all_of_first_pool(start)), SUDDEN)
    work = one_unit(win, "anchored")
    record = Run(win, work, OnePool(work, "h0/a0/p0"), rules=SUDDEN, seed=1).run()
    found = score(win, work, record, policy="one", prices="neutral", seed=1)
    back = start + HOUR  # the only pool returns an hour later and the next cycle takes it
    boot = 180_000 + 30_000
    works_from = back + CYCLE_MS + boot
    redone = lost_stay(record).redone_ms
    useful = (start - SCORE_AT) + (win.ends_at - works_from) - redone
    assert found.wasted_pct == pytest.approx(100 * (redone + boot) / useful)
    assert found.shortfall_minutes == pytest.approx((works_from - start) / 60_000)
    assert found.longest_shortfall_minutes == found.shortfall_minutes
    assert found.lost == 1


def test_equal_arguments_give_equal_scores() -> None:
    history = stormy(3)
    one = Plan(seeds=(2,), prices=(Prices.ADVERSE,), days=2, warm_up_days=4)
    assert replay(history, one) == replay(history, one)


@pytest.fixture(scope="module")
def stormy_rows() -> dict[tuple[str, str], Summary]:
    return {(s.policy, s.prices): s for s in summaries(replay(stormy(7), PLAN))}


def test_planners_under_bounds_lose_at_most_the_bound_in_three_minutes(
    stormy_rows: dict[tuple[str, str], Summary],
) -> None:
    for (policy, _), row in stormy_rows.items():
        if policy != "price-first":
            assert row.worst_share_over_bound <= 1.0


def test_price_first_breaks_the_bound_that_it_does_not_keep(stormy_rows: dict[tuple[str, str], Summary]) -> None:
    assert stormy_rows["price-first", "adverse"].worst_share_over_bound > 1.0


def test_knowing_three_days_loses_at_most_a_thousandth_more_than_knowing_none(
    stormy_rows: dict[tuple[str, str], Summary],
) -> None:
    for prices in ("neutral", "adverse"):
        ours, best = (stormy_rows[p, prices].loss_pct for p in ("ebbtide", "hindsight-72h"))
        assert best <= ours + 0.1


def test_ours_leaves_less_than_half_of_the_way_to_hindsight(stormy_rows: dict[tuple[str, str], Summary]) -> None:
    for prices in ("neutral", "adverse"):
        names = ("ebbtide", "price-first", "hindsight-72h")
        left = regret(*(stormy_rows[name, prices].wasted_pct for name in names))
        assert left is not None
        assert left < 0.5


def test_ours_wastes_less_than_price_first_where_the_cheap_pools_fall(
    stormy_rows: dict[tuple[str, str], Summary],
) -> None:
    ours, cheap = (stormy_rows[p, "adverse"].wasted_pct for p in ("ebbtide", "price-first"))
    assert ours < cheap


def test_adverse_savings_make_the_most_interrupted_fifth_the_cheapest() -> None:
    rate = np.arange(20, dtype=np.float64)
    dealt = savings(rate, seed=4, prices=Prices.ADVERSE)
    assert set(np.argsort(-dealt)[:4].tolist()) == {16, 17, 18, 19}
    assert sorted(dealt) == sorted(savings(rate, seed=4, prices=Prices.NEUTRAL))


def test_sizes_sum_to_the_stated_share_of_what_is_up() -> None:
    win = made(trace([]))
    work = work_of(win, seed=9, prices=Prices.NEUTRAL)
    assert work.units == max(len(work.contracts), round(0.3 * 288))


def test_a_policy_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(Refused, match="no policy 'cheapest'"):
        cells(trace([]), dataclasses.replace(PLAN, policies=("cheapest",)))


def test_a_trace_that_is_too_short_is_refused_with_its_days() -> None:
    with pytest.raises(Refused, match="its whole days are 8, and those to score 90"):
        cells(trace([]), dataclasses.replace(PLAN, days=90))


def test_a_trace_that_ends_while_it_is_learnt_has_no_day_to_score_and_not_less() -> None:
    with pytest.raises(Refused, match="its whole days are 0, and those to score 1"):
        cells(trace([]), dataclasses.replace(PLAN, warm_up_days=90, days=1))


def test_the_score_starts_when_every_hall_has_joined() -> None:
    assert whole_from(trace([])) == 0
    assert min(cell.score_at for cell in cells(trace([]), PLAN)) == 4 * DAY_MS


def test_a_regret_is_none_where_hindsight_gains_nothing() -> None:
    assert regret(0.4, 0.8, 0.2) == pytest.approx(1 / 3)
    assert regret(0.4, 0.2, 0.2) is None


def test_the_ranker_beats_the_last_hour_on_a_stormy_history() -> None:
    found = quality(made(stormy(5), days=6))
    assert found.squared < found.last_squared
    assert found.coverage >= 0.9
    assert found.deciles[-1][1] > found.deciles[0][1]


@pytest.mark.trace
def test_three_days_of_the_record_keep_the_bounds(traces_folder: Path) -> None:
    record = load("grid5000_fta_2005_2006", folder=traces_folder)
    plan = Plan(policies=("ebbtide", "price-first"), seeds=(1,), prices=(Prices.ADVERSE,), days=3)
    ours, cheap = replay(record, plan)
    assert ours.worst_share_over_bound <= 1.0
    assert ours.wasted_pct < cheap.wasted_pct

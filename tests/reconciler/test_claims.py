"""Claims: level-triggered, capped, whole gangs, and never moved by silence."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from contracts.model import Eligibility, Gang
from reconciler.claims import SHRINK_AFTER_MS, Claim, claim_of, claims
from reconciler.ports import Demand, SchedulerView
from tests.reconciler.builders import FORECAST, HINDCAST, KUBERNETES, MINUTE, START, contract

FLOOR, MAXIMUM = 4, 40


def view(units: Mapping[str, int], *silent: str, contradiction: str = "") -> SchedulerView:
    demands = {name: Demand(name, 0, 0, count, contradiction) for name, count in units.items()}
    return SchedulerView(START, demands, {}, frozenset(silent))


def claim(
    units: int | None, *, before: Claim | None = None, now: int = START, silent: bool = False, contradiction: str = ""
) -> Claim:
    """The claim of `forecast` when so many units are asked for."""
    shown = view(
        {} if units is None else {FORECAST: units}, *([KUBERNETES] if silent else []), contradiction=contradiction
    )
    return claims((contract(),), shown, {FORECAST: before} if before else {}, now)[FORECAST]


def gang_of(size: int, *, maximum: int) -> Claim:
    eligibility = Eligibility(gang=Gang(size=size))
    return claim_of(contract(eligibility=eligibility, floor=0, minimum=0, maximum=maximum), 10)


def test_a_claim_is_never_above_the_contracts_maximum() -> None:
    assert claim(1_000).total == MAXIMUM


def test_the_floor_is_claimed_first_and_stands_without_any_work() -> None:
    assert claim(3) == Claim(FORECAST, FLOOR, 0)
    assert claim(0) == Claim(FORECAST, FLOOR, 0)
    assert claim(10) == Claim(FORECAST, FLOOR, 6)


def test_a_started_gang_is_claimed_whole() -> None:
    assert gang_of(4, maximum=24).interruptible == 12


def test_a_gang_that_does_not_fit_under_the_maximum_is_left_out() -> None:
    assert gang_of(4, maximum=11).interruptible == 8


def test_work_that_never_restarts_claims_nothing_above_its_floor() -> None:
    assert claim_of(contract(restart="never"), 30) == Claim(FORECAST, FLOOR, 0)


def test_running_starting_and_pending_units_are_one_need() -> None:
    shown = SchedulerView(START, {FORECAST: Demand(FORECAST, 3, 4, 5)}, {})
    assert claims((contract(),), shown, {}, START)[FORECAST].total == 12


def test_a_silent_scheduler_keeps_the_last_claim() -> None:
    before = claim(20)
    held = claim(None, before=before, silent=True)
    assert held.total == before.total
    assert held.held


def test_a_silent_scheduler_holds_no_claim_above_a_maximum_that_was_lowered() -> None:
    shown = view({}, KUBERNETES)
    lowered = contract(maximum=10)
    assert claims((lowered,), shown, {FORECAST: Claim(FORECAST, FLOOR, 36)}, START)[FORECAST].total == 10


def test_a_lowered_maximum_holds_at_once_and_not_after_ten_minutes() -> None:
    lowered = contract(maximum=10)
    now = claims((lowered,), view({FORECAST: 40}), {FORECAST: Claim(FORECAST, FLOOR, 36)}, START)
    assert now[FORECAST].total == 10


def test_silence_of_one_cluster_moves_no_claim_of_another() -> None:
    both = (contract(), contract(HINDCAST))
    shown = view({HINDCAST: 5}, KUBERNETES)
    found = claims(both, shown, {FORECAST: Claim(FORECAST, FLOOR, 9)}, START)
    assert (found[FORECAST].total, found[HINDCAST].total) == (13, 5)


def test_a_claim_grows_at_once() -> None:
    assert claim(30, before=claim(10)).total == 30


def test_a_claim_shrinks_only_after_ten_minutes() -> None:
    before = claim(30)
    lower = claim(10, before=before)
    assert lower.total == 30
    almost = claim(10, before=lower, now=START + SHRINK_AFTER_MS - 1)
    assert almost.total == 30
    assert claim(10, before=almost, now=START + SHRINK_AFTER_MS).total == 10


def test_a_claim_shrinks_to_the_most_that_was_asked_for_meanwhile() -> None:
    lower = claim(10, before=claim(30))
    peak = claim(22, before=lower, now=START + 5 * MINUTE)
    assert claim(8, before=peak, now=START + SHRINK_AFTER_MS).total == 22


def test_a_silent_scheduler_does_not_begin_the_wait_anew() -> None:
    lower = claim(10, before=claim(30))
    silent = claim(None, before=lower, now=START + 5 * MINUTE, silent=True)
    assert (silent.total, silent.held) == (30, True)
    assert claim(10, before=silent, now=START + SHRINK_AFTER_MS).total == 10


def test_a_claim_that_is_asked_for_again_forgets_that_it_was_lower() -> None:
    lower = claim(10, before=claim(30))
    again = claim(30, before=lower, now=START + 5 * MINUTE)
    assert claim(10, before=again, now=START + SHRINK_AFTER_MS).total == 30


def test_a_claim_from_before_another_leaders_term_is_not_held_any_longer() -> None:
    """Whoever led meanwhile let it shrink and placed by less: what is remembered would allow one unit too many."""
    before = {FORECAST: Claim(FORECAST, FLOOR, 21)}
    after = claims((contract(),), view({FORECAST: 24}), before, START, after_others=True)[FORECAST]
    assert after == Claim(FORECAST, FLOOR, 20)
    silent = claims((contract(),), view({}, KUBERNETES), before, START, after_others=True)[FORECAST]
    assert (silent.total, silent.held) == (25, True)


def test_stale_demand_multiplies_nothing() -> None:
    """C65: two live pods of fifty deleted owners are a claim of two; a contradiction frees its capacity at once."""
    assert claim(2).total == FLOOR
    ghost = claim(0, before=claim(30), contradiction="Admitted and Evicted at once, without a pod")
    assert ghost == Claim(FORECAST, FLOOR, 0)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 900_000)), max_size=20))
def test_no_sequence_of_demands_leads_above_the_maximum_or_below_the_floor(steps: list[tuple[int, int]]) -> None:
    before, now, asked = None, START, 0
    for units, wait in steps:
        now += wait
        before = claim(units, before=before, now=now)
        asked = max(asked, units)
        assert FLOOR <= before.total <= min(MAXIMUM, max(FLOOR, asked))
        assert before.total >= min(MAXIMUM, units)

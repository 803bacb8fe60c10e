"""What is judged by more than the last look: fallback that nobody pays for, and calls that take effect late."""

from __future__ import annotations

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from simulation.chronicle import Call
from tests.reconciler.builders import FORECAST, KEPT, MINUTE, PROJECT, estate
from tests.simulation.chronicles import DOMAINS, Story, grown

BLIND: dict[str, dict[str, object]] = {"git": {"git": False}, "listing": {"whole": frozenset()}}
HOUR = 60 * MINUTE


def paid_for(units: int, *, late: str = "0") -> Story:
    """Two units of fallback that stand, at one euro an hour each, and an hour reserved for so many."""
    story = grown()
    story.event(
        EventType.RATE_KNOWN,
        f"{KEPT}/{story.at}",
        pool=KEPT,
        data={"rate": "1.00", "guaranteed": "1.00", "currency": "EUR", "effective_from": story.at},
    )
    for number in range(2):
        story.buy(f"b{number}", KEPT, paid="fallback", cause=Cause.SHORTFALL)
    story.settle("b0", "b1")
    reserve(story, units, late=late)
    return story


def reserve(story: Story, units: int, *, late: str = "0") -> None:
    """An hour is reserved for so many units, beside what stood unpaid before."""
    story.event(
        EventType.FALLBACK_RESERVED,
        f"{FORECAST}/{story.at}",
        workload=FORECAST,
        data={
            "amount": str(units + int(late)),
            "late": late,
            "unreserved": "0",
            "currency": "EUR",
            "authority": "tides-lead",
            "day": "2026-01-01",
        },
    )


def give_back(story: Story, cause: Cause) -> None:
    """The arbiter says that nothing is granted any more."""
    story.event(
        EventType.FALLBACK_RETURNED,
        f"{FORECAST}/{story.at}",
        cause=cause,
        workload=FORECAST,
        data={"authority": "tides-lead"},
    )


def blind(story: Story) -> bool:
    return "check_blind.Acts" in story.breaks()


@pytest.mark.parametrize("seen", BLIND.values(), ids=BLIND)
def test_what_was_given_back_before_the_look_goes_back(seen: dict[str, object]) -> None:
    story = paid_for(2)
    story.look()
    give_back(story, Cause.RECLAIMABLE_HELD)
    story.wait(5 * MINUTE)
    story.look(**seen)
    story.give_back("b0", Cause.RECLAIMABLE_HELD)
    assert not blind(story)


@pytest.mark.parametrize(("cause", "wrong"), [(Cause.RECLAIMABLE_HELD, True), (Cause.AUTHORITY_SPENT, False)])
@pytest.mark.parametrize("seen", BLIND.values(), ids=BLIND)
def test_only_a_lack_of_money_gives_back_on_a_blind_look(seen: dict[str, object], cause: Cause, wrong: bool) -> None:
    story = paid_for(2)
    story.wait(5 * MINUTE)
    story.look(**seen)
    give_back(story, cause)
    story.give_back("b0", Cause.RECLAIMABLE_HELD)
    assert blind(story) is wrong


@pytest.mark.parametrize("seen", BLIND.values(), ids=BLIND)
def test_what_stands_beyond_the_paid_hour_goes_back_and_the_rest_stays(seen: dict[str, object]) -> None:
    story = paid_for(1)
    story.wait(5 * MINUTE)
    story.look(**seen)
    story.give_back("b0", Cause.RECLAIMABLE_HELD)
    assert not blind(story)
    story.look(**seen)
    story.give_back("b1", Cause.RECLAIMABLE_HELD)
    assert blind(story)


@pytest.mark.parametrize("seen", BLIND.values(), ids=BLIND)
def test_what_no_money_is_left_for_goes_back_by_that_name_too_and_the_rest_stays(seen: dict[str, object]) -> None:
    story = paid_for(1)
    story.wait(5 * MINUTE)
    story.look(**seen)
    story.give_back("b0", Cause.AUTHORITY_SPENT)
    assert not blind(story)
    story.look(**seen)
    story.give_back("b1", Cause.AUTHORITY_SPENT)
    assert blind(story)


def test_an_hour_that_is_over_and_money_for_what_is_past_pay_for_nothing_now() -> None:
    over = paid_for(2)
    over.wait(HOUR)
    over.look(git=False)
    over.give_back("b0", Cause.RECLAIMABLE_HELD)
    late = paid_for(1, late="1")
    late.look(git=False)
    late.give_back("b0", Cause.RECLAIMABLE_HELD)
    assert not blind(over)
    assert not blind(late)


@pytest.mark.parametrize(("before_the_end", "wrong"), [(12, True), (10, False)])
def test_what_the_next_hour_is_not_paid_for_goes_back_in_time_for_its_end(before_the_end: int, wrong: bool) -> None:
    story = paid_for(2)
    story.wait(HOUR - before_the_end * MINUTE)
    reserve(story, 1)
    story.look(git=False)
    story.give_back("b0", Cause.AUTHORITY_SPENT)
    assert blind(story) is wrong


def test_what_a_former_leader_reserved_pays_for_nothing_that_the_present_one_knows_of() -> None:
    story = paid_for(2)
    story.wait(5 * MINUTE)
    story.lead("r1", story.epoch + 1)
    reserve(story, 1)
    story.look(git=False)
    story.give_back("b0", Cause.RECLAIMABLE_HELD)
    assert not blind(story)


def test_money_that_was_found_again_stands_behind_what_is_there() -> None:
    story = paid_for(2)
    give_back(story, Cause.AUTHORITY_SPENT)
    reserve(story, 2)
    story.wait(5 * MINUTE)
    story.look(git=False)
    story.give_back("b0", Cause.RECLAIMABLE_HELD)
    assert blind(story)


@pytest.mark.parametrize(("reserved", "wrong"), [(2, True), (1, False)])
def test_a_removal_that_waits_keeps_fallback_as_far_as_it_is_paid_for(reserved: int, wrong: bool) -> None:
    story = paid_for(2)
    story.want(14)
    story.looks(12)
    story.review(estate(("contracts/tides/forecast.yaml", "maximum: 40", "maximum: 8")), "c2")
    reserve(story, reserved)
    story.looks(1)
    story.give_back("b0", Cause.RECLAIMABLE_HELD)
    assert ("check_removals.Waits" in story.breaks()) is wrong


@pytest.mark.parametrize(("sent_blind", "wrong"), [(False, False), (True, True)])
def test_a_call_that_takes_effect_late_rests_on_the_look_before_it_went_out(sent_blind: bool, wrong: bool) -> None:
    story = grown()
    story.look(**({"whole": frozenset()} if sent_blind else {}))
    story.wait(1000)
    story.request("x", DOMAINS[0])
    sent = story.at
    story.wait(MINUTE)
    story.look(**({} if sent_blind else {"whole": frozenset()}))
    story.act(
        Call.CREATE, "x", project=PROJECT, pool=DOMAINS[0], workload=FORECAST, units=1, paid="reclaimable", sent_at=sent
    )
    assert blind(story) is wrong

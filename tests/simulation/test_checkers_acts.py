"""The checkers of what is done find what they look for: a clean history, and one for each promise that breaks it."""

from __future__ import annotations

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from simulation.checking import Checks
from simulation.chronicle import Call, Moved, NodeWord
from simulation.cloud_model import EndCause
from tests.reconciler.builders import ADOPTED_SERVER, FORECAST, KEPT, MINUTE, REGION, START, estate, with_region
from tests.simulation.chronicles import DOMAINS, Story, asked_back, eventful, grown

LIMITS = with_region("    guard: {releaseCount: 2, releaseShare: 50, acquireCount: 16, replaceCount: 2}")


def test_nothing_is_broken_in_a_history_that_keeps_every_promise() -> None:
    assert eventful().broken() == []


def test_reading_it_act_by_act_says_the_same_as_reading_it_at_once() -> None:
    story = eventful()
    for number in range(3):
        story.create(f"x{number}", DOMAINS[0])
    at_once = story.broken()
    assert {found.checker for found in at_once} >= {"check_told.Requests", "check_bounds.Placements"}
    checks, found = Checks(REGION), []
    for minute in range((story.at - START) // MINUTE):
        found += checks.see(story.until(START + minute * MINUTE))
    assert found + checks.close(story.told) == at_once


# -- bounds -----------------------------------------------------------------------------------------------------------


def stands_over(story: Story, *pools: str) -> None:
    """One more lent server in each of the pools."""
    story.look()
    for pool in pools:
        story.buy(f"x{len(story.told.acts)}", pool)


def test_two_of_eight_units_fit_a_domain_and_three_do_not() -> None:
    story = grown()
    story.want(12)
    stands_over(story, DOMAINS[0])
    assert "check_bounds.Placements" not in story.breaks()
    stands_over(story, DOMAINS[0], DOMAINS[0])
    assert "check_bounds.Placements" in story.breaks()


def test_three_of_eight_units_fit_a_hall_and_four_do_not() -> None:
    story = grown()
    stands_over(story, DOMAINS[0])
    assert "check_bounds.Placements" not in story.breaks()
    stands_over(story, DOMAINS[1])
    assert "check_bounds.Placements" in story.breaks()


def test_a_server_of_unknown_pool_counts_in_every_scope() -> None:
    story = grown()
    for name in ("r2", "r4"):
        story.told.moved.append(Moved(story.at, f"s-{name}", name, ""))
    story.wait(MINUTE)
    story.look()
    story.buy("x", DOMAINS[0])
    assert "check_bounds.Placements" in story.breaks()


def test_what_moved_after_the_listing_counts_nowhere_against_who_acts() -> None:
    story = grown()
    story.look()
    story.wait(1000)
    for name in ("r2", "r4"):
        story.told.moved.append(Moved(story.at, f"s-{name}", name, DOMAINS[0]))
    story.buy("x", DOMAINS[0])
    assert "check_bounds.Placements" not in story.breaks()


def test_few_domains_may_not_take_what_eight_domains_need() -> None:
    story = Story()
    story.want(12)
    story.room()
    story.look()
    for number, pool in enumerate((*DOMAINS[:3], DOMAINS[0])):
        story.buy(f"r{number}", pool)
    assert "check_bounds.Placements" in story.breaks()


@pytest.mark.parametrize(("deposed", "begun", "wrong"), [(True, 0, False), (False, 0, True), (True, 2 * MINUTE, True)])
def test_what_was_in_flight_when_another_term_began_is_no_placement_of_now(
    *, deposed: bool, begun: int, wrong: bool
) -> None:
    """Who stood still within its own term is judged as ever, and so is what a deposed leader began in the next one."""
    story = Story()
    story.want(12)
    story.room()
    story.look()
    for number, pool in enumerate(DOMAINS[:3]):
        story.buy(f"r{number}", pool)
    story.request("r3", DOMAINS[0])
    story.wait(1)
    sent_at = story.at + begun
    story.wait(MINUTE)
    if deposed:
        story.lead("b", 2)
    story.wait(2 * MINUTE)
    if deposed:
        story.lead("c", 3)
    story.act(
        Call.CREATE,
        "r3",
        epoch=1,
        pool=DOMAINS[0],
        workload=FORECAST,
        units=1,
        paid="reclaimable",
        sent_at=sent_at,
    )
    assert ("check_bounds.Placements" in story.breaks()) is wrong


@pytest.mark.parametrize("leaving", [False, True])
def test_what_the_same_list_lets_go_keeps_no_domain_from_being_reached(leaving: bool) -> None:
    story = Story()
    story.want(12)
    story.room()
    story.look()
    for number, pool in enumerate((*DOMAINS[:3], DOMAINS[0])):
        if leaving and number == 3:
            story.event(EventType.RELEASE_ASKED, "r1", caused_by=story.claim, instance="r1", workload=FORECAST)
        story.buy(f"r{number}", pool)
    assert ("check_bounds.Placements" in story.breaks()) is not leaving


@pytest.mark.parametrize(
    ("cause", "later", "wrong"),
    [
        (Cause.REBALANCE, ("a", 2), False),
        (Cause.CLAIM_SHRANK, ("a", 2), True),
        (Cause.CLAIM_SHRANK, ("b", 1), True),
        (Cause.CLAIM_SHRANK, ("a", 1), False),
    ],
)
def test_whose_release_stands_keeps_no_domain_from_being_reached(
    cause: Cause, later: tuple[str, int], wrong: bool
) -> None:
    """Who is relieved stands once however long a stop keeps it; another release binds the term that decided it."""
    story = Story()
    story.want(12)
    story.room()
    story.look()
    for number, pool in enumerate(DOMAINS[:3]):
        story.buy(f"r{number}", pool)
    story.event(EventType.RELEASE_ASKED, "r0", cause=cause, caused_by=story.claim, instance="r0", workload=FORECAST)
    story.wait(MINUTE)
    story.lead(*later)
    story.looks(24)
    story.buy("r3", DOMAINS[0])
    assert ("check_bounds.Placements" in story.breaks()) is wrong


@pytest.mark.parametrize("failed", [False, True])
def test_what_was_given_up_keeps_no_domain_from_being_reached(failed: bool) -> None:
    story = Story()
    story.want(12)
    story.room()
    story.look()
    for number, pool in enumerate((*DOMAINS[:3], DOMAINS[0])):
        if failed and number == 3:
            about = {"instance": "r0", "workload": FORECAST}
            story.event(EventType.INSTANCE_FAILED, "r0", caused_by=story.claim, data={"error": ""}, **about)
        story.buy(f"r{number}", pool)
    assert ("check_bounds.Placements" in story.breaks()) is not failed


def test_a_second_server_under_one_key_keeps_no_domain_from_being_reached() -> None:
    story = grown()
    story.want(13)
    story.looks(1)
    story.create("r0", DOMAINS[0], server="twin")
    story.looks(1)
    story.buy("x", DOMAINS[2])
    assert "check_bounds.Placements" not in story.breaks(since=story.at)


def test_a_waiver_of_the_class_widens_the_bound_and_one_of_another_class_does_not() -> None:
    over = with_settings_bound(50)
    story = grown(over)
    stands_over(story, DOMAINS[0], DOMAINS[0])
    assert "check_bounds.Placements" not in story.breaks()


def with_settings_bound(share: int) -> tuple[str, str, str]:
    """A swap that widens the estate's own bounds."""
    return (
        "ebbtide.yaml",
        'spendCeilingPerDay: "50.00 EUR"',
        f'spendCeilingPerDay: "50.00 EUR"\nbounds: {{poolShare: {share}, groupShare: {share}}}',
    )


@pytest.mark.parametrize(("pool", "wrong"), [(DOMAINS[0], True), (DOMAINS[7], False)])
def test_strict_work_uses_no_domain_in_which_no_notice_would_reach_it(pool: str, *, wrong: bool) -> None:
    """The unit that takes over from an uncovered one may go to its domain, and otherwise leaves room to reach it."""
    story = grown()
    story.want(12)
    story.wait(1)
    story.node("r7", NodeWord.UNCOVERED)
    story.wait(MINUTE)
    stands_over(story, pool)
    assert ("check_bounds.Placements" in story.breaks()) is wrong


# -- floors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pool", "paid"), [(KEPT, "reclaimable"), (DOMAINS[0], "floor"), ("nowhere", "floor")])
def test_work_stands_where_its_payment_says(pool: str, paid: str) -> None:
    story = grown()
    story.look()
    story.buy("x", pool, paid=paid)
    assert "check_floors.Committed" in story.breaks()


def test_a_lost_floor_comes_back_within_twelve_clear_looks() -> None:
    story = grown()
    story.wait(1)
    story.gone("f0", EndCause.LOST, f"instance.requested/{REGION}/f0")
    story.looks(11)
    assert "check_floors.Restored" not in story.breaks()
    story.looks(1)
    assert "check_floors.Restored" in story.breaks()


def test_whom_git_offers_an_older_commit_raises_no_floor() -> None:
    for offered, wrong in (("c1", False), ("c2", True)):
        story = grown()
        story.review(estate(("contracts/tides/forecast.yaml", "floor: 4", "floor: 6")), "c2")
        story.looks(13, commit=offered)
        assert ("check_floors.Restored" in story.breaks()) is wrong


def test_a_floor_waits_while_committed_capacity_is_full() -> None:
    story = grown()
    story.gone("f0", EndCause.LOST, f"instance.requested/{REGION}/f0")
    for _ in range(14):
        story.wait(MINUTE)
        story.room(**{KEPT: 0})
        story.look()
    assert "check_floors.Restored" not in story.breaks()


# -- ours -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "marked",
    [{"estate": "elsewhere"}, {"region": "south"}, {"epoch": 9}, {"name": "another"}],
    ids=lambda marked: next(iter(marked)),
)
def test_a_server_with_another_mark_is_not_deleted(marked: dict[str, str | int]) -> None:
    story = grown()
    story.look()
    story.act(Call.DELETE, "z", server="foreign", stood=story.mark("z", **marked))
    assert "check_ours.Touched" in story.breaks()


def test_a_server_without_a_mark_is_not_deleted() -> None:
    story = grown()
    story.act(Call.DELETE, "z", server="foreign", stood=None)
    assert "check_ours.Touched" in story.breaks()


def test_nothing_happens_outside_owned_projects() -> None:
    story = grown()
    story.request("x", DOMAINS[0])
    story.act(Call.CREATE, "x", pool=DOMAINS[0], project="theirs", workload="forecast", units=1, paid="reclaimable")
    assert "check_ours.Touched" in story.breaks()


def test_a_mark_is_put_only_on_what_a_reviewed_file_hands_over() -> None:
    for server, wrong in ((ADOPTED_SERVER, False), ("somebody's", True)):
        story = grown()
        story.look()
        story.act(Call.MARK, "x", server=server, pool=KEPT, workload="forecast", units=1, paid="floor", stood=None)
        assert ("check_ours.Touched" in story.breaks()) is wrong


# -- blast radius and ramp --------------------------------------------------------------------------------------------


def many_lost(story: Story, count: int) -> list[str]:
    """Losses, one for each of the first lent servers; the ids of their events."""
    found = []
    for number in range(count):
        loss = f"instance.lost/{REGION}/r{number}"
        story.gone(f"r{number}", EndCause.LOST, f"instance.requested/{REGION}/r{number}")
        found.append(loss)
    return found


def test_two_replacements_fit_the_window_and_three_do_not() -> None:
    for count in (2, 3):
        story = grown(LIMITS)
        losses = many_lost(story, count)
        story.looks(1)
        for number, loss in enumerate(losses):
            story.buy(f"x{number}", DOMAINS[number], cause=Cause.LOST_WITHOUT_NOTICE, caused_by=loss)
        assert ("check_blast.Radius" in story.breaks()) is (count == 3)


def test_who_is_asked_back_again_counts_no_second_time() -> None:
    story = grown(LIMITS)
    story.looks(1)
    story.want(10)
    story.looks(5)
    for _ in range(2):
        for number in range(2):
            asked_back(story, f"r{number}")
        story.wait(MINUTE)
    assert "check_blast.Radius" not in story.breaks()


def test_a_second_server_under_one_key_counts_no_second_time() -> None:
    story = grown(LIMITS)
    losses = many_lost(story, 2)
    story.looks(1)
    for number, loss in enumerate(losses):
        story.buy(f"x{number}", DOMAINS[number], cause=Cause.LOST_WITHOUT_NOTICE, caused_by=loss)
        story.create(f"x{number}", DOMAINS[number], server=f"twin-{number}")
    assert "check_blast.Radius" not in story.breaks()


def test_two_releases_fit_the_window_and_three_do_not() -> None:
    for count in (2, 3):
        story = grown(LIMITS)
        story.looks(1)
        story.want(12 - count)
        story.looks(5)
        for number in range(count):
            story.give_back(f"r{number}")
        assert ("check_blast.Radius" in story.breaks()) is (count == 3)


@pytest.mark.parametrize(("cause", "counts"), [(Cause.AUTHORITY_SPENT, False), (Cause.NEVER_JOINED, True)])
def test_fallback_that_goes_back_before_it_is_a_node_counts_in_no_window(cause: Cause, counts: bool) -> None:
    story = grown(LIMITS)
    story.looks(5)
    for number in range(3):
        story.buy(f"b{number}", KEPT, paid="fallback")
    story.looks(1)
    for number in range(3):
        story.event(EventType.RELEASE_ASKED, f"b{number}", cause=cause, instance=f"b{number}", workload=FORECAST)
    story.looks(1)
    for number in range(3):
        story.act(Call.DELETE, f"b{number}")
    assert ("check_blast.Radius" in story.breaks()) is counts


def test_more_than_the_stated_number_may_not_be_acquired_in_a_window() -> None:
    for count in (16, 17):
        story = grown(LIMITS)
        story.want(40)
        story.looks(4)
        for number in range(count):
            story.buy(f"x{number}", DOMAINS[number % 8])
        assert ("check_blast.Radius" in story.breaks()) is (count == 17)


@pytest.mark.parametrize(
    "blindness",
    [{"whole": frozenset()}, {"git": False}, {"clock": False}, {"stopped": "drill"}],
    ids=["listing", "git", "clock", "stop"],
)
def test_the_first_cycles_after_blindness_ramp(blindness: dict[str, object]) -> None:
    for after, allowed in ((1, 2), (2, 4), (3, 8), (4, 16)):
        for count in (allowed, allowed + 1):
            story = grown(LIMITS)
            story.want(40)
            story.looks(1, **blindness)
            story.looks(after)
            for number in range(count):
                story.buy(f"x{number}", DOMAINS[number % 8])
            assert ("check_blast.Ramp" in story.breaks(since=story.at)) is (count > allowed and after < 4)


def test_an_hour_without_any_look_is_an_outage_too() -> None:
    story = grown(LIMITS)
    story.want(40)
    story.wait(60 * MINUTE)
    story.look()
    for number in range(3):
        story.buy(f"x{number}", DOMAINS[number])
    assert "check_blast.Ramp" in story.breaks(since=story.at)

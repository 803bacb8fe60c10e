"""The checkers of stops, leases, reclaims and reviewed removals find what they look for."""

from __future__ import annotations

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from simulation.check_purse import Purse
from simulation.check_scene import Scene, Stand
from simulation.chronicle import Act, Call, NodeWord, Stopped
from simulation.cloud_model import EndCause
from simulation.faults import Fault
from tests.reconciler.builders import MINUTE, REGION, estate
from tests.simulation.chronicles import DOMAINS, Story, grown

TERM_AND_CALL = 25_000


# -- stop -------------------------------------------------------------------------------------------------------------


def test_a_stop_holds_after_five_seconds_and_at_once_where_it_was_seen() -> None:
    for late, seen, wrong in ((5000, "", False), (5001, "", True), (0, "drill", True)):
        story = grown()
        story.look(stopped=seen)
        story.told.stops.append(Stopped(story.at, "drill"))
        story.wait(late)
        story.buy("x", DOMAINS[0])
        assert ("check_stop.Acts" in story.breaks()) is wrong


def test_a_stop_that_was_taken_off_stops_nothing() -> None:
    story = grown()
    story.told.stops.append(Stopped(story.at, "drill"))
    story.wait(MINUTE)
    story.told.stops.append(Stopped(story.at, ""))
    story.look()
    story.buy("x", DOMAINS[0])
    assert "check_stop.Acts" not in story.breaks()


@pytest.mark.parametrize(("begun", "wrong"), [(0, False), (6000, True)])
def test_a_stop_calls_nothing_back_that_was_in_flight(*, begun: int, wrong: bool) -> None:
    """What its caller began counts by when that was: also where a later look of whoever acted saw the stop."""
    story = grown()
    story.look()
    story.request("x", DOMAINS[0])
    began = story.at + begun
    story.wait(1)
    story.told.stops.append(Stopped(story.at, "drill"))
    story.wait(10 * MINUTE)
    story.look(stopped="drill")
    story.act(Call.CREATE, "x", pool=DOMAINS[0], workload="forecast", units=1, paid="reclaimable", sent_at=began)
    assert ("check_stop.Acts" in story.breaks()) is wrong


@pytest.mark.parametrize(("begun", "wrong"), [(5000, False), (5001, True)])
@pytest.mark.parametrize("again", ["", "people"], ids=["taken off", "stopped for another reason"])
def test_a_call_that_was_begun_under_a_stop_counts_whatever_the_switch_says_when_it_lands(
    *, again: str, begun: int, wrong: bool
) -> None:
    story = grown()
    story.look()
    story.request("x", DOMAINS[0])
    story.told.stops.append(Stopped(story.at, "drill"))
    sent_at = story.at + begun
    story.wait(begun)
    if again:
        story.told.stops.append(Stopped(story.at, again))
    story.wait(10 * MINUTE)
    story.told.stops.append(Stopped(story.at, ""))
    story.act(Call.CREATE, "x", pool=DOMAINS[0], workload="forecast", units=1, paid="reclaimable", sent_at=sent_at)
    assert ("check_stop.Acts" in story.breaks()) is wrong


# -- fencing ----------------------------------------------------------------------------------------------------------


def deposed(story: Story, after: int) -> None:
    """Another replica takes over, so long after the last renewal."""
    story.lead("a", 1, renewed=True)
    story.wait(after)
    story.lead("b", 2)


def test_one_call_of_a_deposed_leader_may_land_and_no_second_one() -> None:
    for calls in (1, 2):
        story = grown()
        story.look()
        deposed(story, TERM_AND_CALL)
        story.wait(1)
        for number in range(calls):
            story.request(f"x{number}", DOMAINS[number])
            story.act(
                Call.CREATE,
                f"x{number}",
                epoch=1,
                pool=DOMAINS[number],
                workload="forecast",
                units=1,
                paid="reclaimable",
            )
        assert ("check_fencing.Acts" in story.breaks()) is (calls == 2)


def test_a_call_in_flight_that_is_sent_twice_is_one_call() -> None:
    story = grown()
    story.look()
    deposed(story, TERM_AND_CALL)
    story.wait(1)
    story.request("x", DOMAINS[0])
    about = {"epoch": 1, "pool": DOMAINS[0], "workload": "forecast", "units": 1, "paid": "reclaimable"}
    for server in ("s-x", "twin"):
        story.act(Call.CREATE, "x", server=server, **about)
    assert "check_fencing.Acts" not in story.breaks()
    story.wait(1)
    story.act(Call.CREATE, "x", server="third", **about)
    assert "check_fencing.Acts" in story.breaks()


def test_nobody_acts_whom_the_store_never_named() -> None:
    story = grown()
    story.act(Call.REMOVE_NODE, "r0", replica="c", epoch=7)
    assert "check_fencing.Acts" in story.breaks()


def test_an_epoch_serves_one_term() -> None:
    story = grown()
    story.wait(MINUTE)
    story.lead("a", 1)
    story.look()
    story.buy("x", DOMAINS[0])
    assert "check_fencing.Epochs" in story.breaks()


@pytest.mark.parametrize(("lost", "stands", "wrong"), [(True, False, False), (True, True, True), (False, False, True)])
def test_an_epoch_serves_again_only_where_a_lost_site_left_nothing_of_ours(
    lost: bool, stands: bool, wrong: bool
) -> None:
    """What stands was made in an earlier term, and says since when there was time for others."""
    story = grown() if stands else Story()
    story.wait(MINUTE)
    story.lead("b", 2)
    story.look(replica="b")
    story.act(Call.REMOVE_NODE, "r0", replica="b")
    story.wait(MINUTE)
    if lost:
        story.told.faults = (Fault("site_lost", 1, story.at - 1, story.at),)
    story.lead("c", 2)
    story.look(replica="c")
    story.act(Call.REMOVE_NODE, "r1", replica="c")
    assert ("check_fencing.Epochs" in story.breaks()) is wrong


def test_nobody_acts_below_the_epoch_of_a_mark_that_was_listed() -> None:
    story = grown()
    story.lead("a", 2)
    story.look()
    story.buy("x", DOMAINS[0])
    story.wait(MINUTE)
    story.lead("a", 1)
    story.look()
    story.act(Call.REMOVE_NODE, "r0", epoch=1)
    assert "check_fencing.Epochs" in story.breaks()


@pytest.mark.parametrize(("after", "wrong"), [(TERM_AND_CALL, False), (TERM_AND_CALL - 1, True), (10_000, True)])
def test_a_new_leader_waits_the_term_and_one_call(after: int, wrong: bool) -> None:
    story = grown()
    story.wait(MINUTE)
    deposed(story, after)
    story.look(replica="b")
    story.act(Call.REMOVE_NODE, "r0", replica="b")
    assert ("check_fencing.Waits" in story.breaks()) is wrong


# -- reclaims, removals, covered --------------------------------------------------------------------------------------


def test_nothing_is_bought_under_a_reclaim_that_was_told() -> None:
    for told in (False, True):
        story = grown()
        story.look()
        story.wait(1000)
        story.reclaim("h1-general-a")
        if told:
            story.look()
        story.buy("x", DOMAINS[0])
        assert ("check_reclaims.Acquired" in story.breaks()) is told


@pytest.mark.parametrize(("later", "wrong"), [(1, False), (0, True)])
def test_a_reclaim_that_opened_behind_the_answer_was_not_told_in_that_cycle(later: int, wrong: bool) -> None:
    """The provider is slow: it answers for its signals, and for its listing seconds later."""
    story = grown()
    told_at = story.wait(1000).at
    story.wait(later)
    story.reclaim("h1-general-a")
    story.wait(5000)
    story.look(told_at=told_at)
    story.buy("x", DOMAINS[0])
    assert ("check_reclaims.Acquired" in story.breaks()) is wrong


def smaller(maximum: int) -> tuple[str, str, str]:
    return "contracts/tides/forecast.yaml", "maximum: 40", f"maximum: {maximum}"


@pytest.mark.parametrize(("approved", "wrong"), [(False, True), (True, False)])
def test_a_large_removal_waits_for_an_approval(approved: bool, wrong: bool) -> None:
    story = grown()
    story.review(estate(smaller(8)), "c2", approved=approved)
    story.looks(1)
    story.give_back("r0")
    assert ("check_removals.Waits" in story.breaks()) is wrong


def test_what_demand_gave_up_needs_no_approval() -> None:
    story = grown()
    story.review(estate(smaller(8)), "c2")
    story.want(5)
    story.looks(8)
    story.give_back("r0")
    assert "check_removals.Waits" not in story.breaks()


def test_no_older_commit_comes_back_and_none_that_nobody_reviewed() -> None:
    for first, then in (("c2", "c1"), ("c1", "unknown")):
        story = grown()
        story.review(estate(smaller(41)), "c2")
        story.want(13)
        for number, commit in enumerate((first, then)):
            told = f"r{number}"
            story.event(EventType.RELEASE_ASKED, told, commit=commit, workload="forecast", instance=told)
        assert "check_removals.NeverBack" in story.breaks()


def test_whatever_a_leader_told_under_a_commit_puts_it_in_force() -> None:
    story = grown()
    story.review(estate(smaller(41)), "c2")
    story.event(EventType.CLAIM_CHANGED, "forecast/1", commit="c2", workload="forecast", data={"units": 3})
    story.event(EventType.RELEASE_ASKED, "r0", commit="c1", workload="forecast", instance="r0")
    assert "check_removals.NeverBack" in story.breaks()


@pytest.mark.parametrize("lost_after", [False, True])
def test_what_was_accepted_is_forgotten_with_a_lost_site_and_not_before(lost_after: bool) -> None:
    story = grown()
    story.review(estate(smaller(41)), "c2")
    lost_at = story.at + MINUTE * (3 if lost_after else 1)
    story.told.faults = (Fault("site_lost", 1, lost_at, lost_at + MINUTE),)
    story.wait(2 * MINUTE)
    story.event(EventType.CLAIM_CHANGED, "forecast/1", commit="c2", workload="forecast", data={"units": 3})
    story.wait(2 * MINUTE)
    story.event(EventType.RELEASE_ASKED, "r0", commit="c1", workload="forecast", instance="r0")
    assert ("check_removals.NeverBack" in story.breaks()) is not lost_after


def test_fallback_without_money_goes_back_whatever_commit_is_in_hand() -> None:
    for cause in (Cause.AUTHORITY_SPENT, Cause.CLAIM_SHRANK):
        story = grown()
        story.review(estate(smaller(41)), "c2")
        story.event(EventType.CLAIM_CHANGED, "forecast/1", commit="c2", workload="forecast", data={"units": 3})
        story.event(EventType.RELEASE_ASKED, "r0", cause=cause, commit="c1", workload="forecast", instance="r0")
        assert ("check_removals.NeverBack" in story.breaks()) is (cause is Cause.CLAIM_SHRANK)


def test_strict_work_does_not_stay_on_what_no_notice_reaches() -> None:
    for looks in (11, 12):
        story = grown()
        story.wait(1)
        story.node("r0", NodeWord.UNCOVERED)
        story.looks(looks)
        assert ("check_covered.Strict" in story.breaks()) is (looks == 12)


@pytest.mark.parametrize(("silent", "after", "wrong"), [(20, 0, False), (20, 11, False), (20, 12, True), (0, 12, True)])
def test_while_nobody_says_what_lending_costs_strict_work_has_no_other_place(
    silent: int, after: int, wrong: bool
) -> None:
    story = grown()
    story.wait(1)
    story.node("r0", NodeWord.UNCOVERED)
    story.looks(silent, rated=False)
    story.looks(after, rated=True)
    assert ("check_covered.Strict" in story.breaks()) is wrong


@pytest.mark.parametrize("failed", [False, True])
def test_what_was_given_up_before_it_was_a_node_is_no_place_for_strict_work(failed: bool) -> None:
    story = grown()
    story.buy("x", DOMAINS[2])
    asked = f"instance.requested/{REGION}/x"
    if failed:
        story.event(EventType.INSTANCE_FAILED, "x", caused_by=asked, instance="x", data={"error": "no host"})
    story.wait(1)
    story.node("r0", NodeWord.UNCOVERED)
    story.looks(12)
    assert ("check_covered.Strict" in story.breaks()) is failed


@pytest.mark.parametrize(("wanted", "wrong"), [(12, True), (11, False)])
def test_what_a_lost_floor_lacks_is_no_place_that_is_lent(wanted: int, wrong: bool) -> None:
    """Seven covered lent units are all that goes beyond a floor of four when eleven are wanted."""
    story = grown()
    story.want(wanted)
    story.wait(1)
    story.node("r7", NodeWord.UNCOVERED)
    for number in range(4):
        story.gone(f"f{number}", EndCause.LOST, f"instance.requested/{REGION}/f{number}")
    story.looks(12)
    assert ("check_covered.Strict" in story.breaks()) is wrong


# -- an epoch that serves again, since store and disks of the term before went with its site --------------------------


def tripped(story: Story) -> None:
    """A leader tells that something stops the region."""
    told: dict[str, str | int] = {"breaker": "clock_jumped", "message": "set"}
    story.event(EventType.BREAKER_TRIPPED, f"clock_jumped/{story.at}", cause=Cause.CLOCK_JUMPED, data=told)


@pytest.mark.parametrize(("later", "wrong"), [(("a", 1), True), (("a", 2), False), (("b", 1), False)])
def test_who_leads_later_tells_nothing_as_over_that_only_the_term_before_told(
    later: tuple[str, int], wrong: bool
) -> None:
    story = grown()
    tripped(story)
    story.wait(MINUTE)
    story.lead(*later)
    story.looks(20, replica=later[0])
    assert ("check_liveness.Cleared" in story.breaks()) is wrong


def test_a_breaker_has_its_time_to_be_over_however_fast_looks_follow_each_other() -> None:
    for fast in (True, False):
        story = grown()
        tripped(story)
        story.told.quiet_from = story.at
        for _ in range(20):
            story.wait(5000 if fast else 5 * MINUTE)
            story.look()
        assert ("check_liveness.Cleared" in story.breaks()) is not fast


@pytest.mark.parametrize(("later", "wrong"), [(("a", 1), True), (("a", 2), False), (("b", 1), False)])
def test_each_term_believes_a_loss_once(later: tuple[str, int], wrong: bool) -> None:
    story = grown()
    for replica, epoch in (("a", 1), later):
        story.lead(replica, epoch)
        story.lost("r0", f"instance.requested/{REGION}/r0", subject=f"r0/{story.at}")
        story.wait(MINUTE)
    told = [found.sentence for found in story.broken() if found.checker == "check_told.Losses"]
    assert any("2 times" in sentence for sentence in told) is wrong


@pytest.mark.parametrize(("later", "lacks"), [(("a", 1), False), (("a", 2), True), (("b", 1), True)])
def test_what_was_reserved_in_the_term_before_pays_for_nothing_that_is_known(
    later: tuple[str, int], lacks: bool
) -> None:
    story, scene, purse = grown(), Scene(REGION), Purse()
    stand = Stand("s-x", "x", "p", "forecast", 1, "fallback", 0, ("a", 1), [(0, DOMAINS[0])])
    scene.by_workload["forecast"]["s-x"] = stand
    rate = {"rate": "2.00", "guaranteed": "2.00", "currency": "EUR", "effective_from": 0}
    purse.hear(scene, story.event(EventType.RATE_KNOWN, DOMAINS[0], pool=DOMAINS[0], data=rate))
    for number, (replica, epoch) in enumerate((("a", 1), later)):
        scene.now = MINUTE * (1 + number)
        scene.epochs.setdefault((replica, epoch), scene.now)
        data = {"amount": "1.00", "currency": "EUR", "authority": "lead", "day": "2026-01-01"}
        paid = story.event(
            EventType.FALLBACK_RESERVED, f"forecast/{number}", workload="forecast", epoch=epoch, data=data
        )
        purse.hear(scene, paid)
    assert purse.lacks(scene, "forecast", Act(scene.now, *later, Call.ASK_RETURN, "x")) is lacks

"""The checkers of owners and debts find what they look for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.events import EventType
from simulation.chronicle import NEVER, Call, Ended, NodeWord
from simulation.cloud_model import EndCause
from tests.reconciler.builders import KEPT, MINUTE, PROJECT, REGION
from tests.simulation.chronicles import DOMAINS, asked_back, eventful, found, grown


@pytest.mark.parametrize("change", [{"workload": "hindcast"}, {"pool": KEPT}], ids=["workload", "pool"])
def test_an_instance_has_one_owner_and_one_pool(change: dict[str, str]) -> None:
    story = eventful()
    told = found(story, EventType.INSTANCE_STARTED, "r1")
    story.told.events["a"].append(replace(told, id="again", **change))  # type: ignore[arg-type]  # the dataclass checks the names
    assert "check_owners.Mixed" in story.breaks()


def test_an_instance_is_requested_once() -> None:
    story = eventful()
    again = found(story, EventType.INSTANCE_REQUESTED, "r1")
    story.told.events["a"].append(replace(again, id="again"))
    assert "check_owners.Mixed" in story.breaks()


def test_of_two_servers_under_one_key_one_goes_within_twelve_clear_looks() -> None:
    for looks in (11, 12):
        story = grown()
        story.create("r1", DOMAINS[1], server="s-twin")
        story.looks(looks)
        assert ("check_owners.Twins" in story.breaks()) is (looks == 12)


def test_a_pair_waits_while_others_are_parted_and_no_longer() -> None:
    for later in (11, 12):
        story = grown()
        for key in ("r1", "r2"):
            story.create(key, DOMAINS[1], server=f"s-twin-{key}")
        story.looks(8)
        story.act(Call.DELETE, "r1", server="s-twin-r1")
        story.told.ended.append(Ended(story.at, "s-twin-r1", "r1", None, EndCause.DELETED, None))
        story.looks(1)
        story.looks(later)
        assert ("check_owners.Twins" in story.breaks()) is (later == 12)


@pytest.mark.parametrize("why", ["", "failed", "released"])
def test_of_two_servers_under_one_key_never_both_are_deleted(why: str) -> None:
    story = grown()
    story.create("r1", DOMAINS[1], server="s-twin")
    story.look()
    asked = f"instance.requested/{REGION}/r1"
    if why == "failed":
        story.event(EventType.INSTANCE_FAILED, "r1", caused_by=asked, instance="r1", data={"error": "no host"})
    elif why == "released":
        asked_back(story, "r1")
    story.act(Call.DELETE, "r1", server="s-twin")
    assert "check_owners.Twins" not in story.breaks()
    story.act(Call.DELETE, "r1")
    assert ("check_owners.Twins" in story.breaks()) is (not why)


def test_both_servers_under_one_key_may_end_in_one_instant_and_are_missed_all_the_same() -> None:
    story = grown()
    story.create("r1", DOMAINS[1], server="s-twin")
    story.look()
    for server in ("s-twin", "s-r1"):
        story.told.ended.append(Ended(story.at, server, "r1", None, EndCause.DELETED, None))
        story.act(Call.DELETE, "r1", server=server)
    assert "check_owners.Twins" in story.breaks()


def test_a_payment_that_was_told_as_failed_and_joins_all_the_same_counts() -> None:
    for joins in (True, False):
        story = eventful()
        cause = found(story, EventType.INSTANCE_LOST, "r0").id
        story.request("x", DOMAINS[1], caused_by=cause)
        story.create("x", DOMAINS[1])
        asked = f"instance.requested/{REGION}/x"
        story.event(EventType.INSTANCE_FAILED, "x", caused_by=asked, instance="x", data={"error": "timed out"})
        story.request("y", DOMAINS[3], caused_by=cause)
        if joins:
            story.wait(MINUTE)
            story.node("x", NodeWord.JOINED)
        assert ("check_debts.PaidOnce" in story.breaks()) is joins


def test_the_last_leader_knows_what_stands_and_nothing_else() -> None:
    story = eventful()
    story.close_books()
    assert story.told.known is not None
    for known in (story.told.known - {"s-r1"}, story.told.known | {"s-r0"}, story.told.known | {"imagined"}):
        story.told.known = known
        assert "check_owners.Forgotten" in {b.checker for b in story.broken(closed=False)}


@pytest.mark.parametrize("known", [True, False])
def test_a_second_server_is_not_forgotten_while_the_other_of_its_key_is_known(known: bool) -> None:
    story = grown()
    story.create("r1", DOMAINS[1], server="s-twin")
    story.looks(1)
    story.wait(5 * MINUTE)
    story.close_books()
    assert story.told.known is not None
    story.told.known = story.told.known - {"s-twin"} - (frozenset() if known else {"s-r1"})
    assert ("check_owners.Forgotten" in {b.checker for b in story.broken(closed=False)}) is not known


def test_a_new_leader_need_not_know_what_no_whole_listing_showed_it() -> None:
    for whole in (frozenset[str](), frozenset({PROJECT})):
        story = eventful()
        story.lead("b", 2)
        story.wait(MINUTE)
        story.look(replica="b", whole=whole)
        story.close_books()
        assert story.told.known is not None
        story.told.known -= {"s-r1"}
        assert ("check_owners.Forgotten" in {b.checker for b in story.broken(closed=False)}) is bool(whole)


def test_a_leader_may_believe_in_a_server_that_never_was_until_a_listing_could_say_so() -> None:
    for minutes in (1, 30):
        story = eventful()
        story.close_books()
        assert story.told.known is not None
        story.request("x", DOMAINS[1])
        story.wait(minutes * MINUTE)
        story.told.end = max(story.told.end, story.at)
        story.told.known |= {f"{NEVER}x"}
        assert ("check_owners.Forgotten" in {b.checker for b in story.broken(closed=False)}) is (minutes == 30)


def test_a_debt_is_paid_once_unless_the_payment_failed() -> None:
    for fails in (True, False):
        story = eventful()
        cause = found(story, EventType.INSTANCE_LOST, "r0").id
        story.request("x", DOMAINS[1], caused_by=cause)
        if fails:
            asked = f"instance.requested/{REGION}/x"
            story.event(EventType.INSTANCE_FAILED, "x", caused_by=asked, instance="x", data={"error": "no host"})
        story.request("y", DOMAINS[3], caused_by=cause)
        assert ("check_debts.PaidOnce" in story.breaks()) is not fails


def test_no_second_victim_is_given_back() -> None:
    for victims in (1, 2):
        story = grown()
        story.want(11)
        story.looks(6)
        for number in range(victims):
            asked_back(story, f"r{number}")
        assert ("check_debts.ReleasedOnce" in story.breaks()) is (victims == 2)


def test_a_node_is_asked_back_once() -> None:
    story = grown()
    story.want(11)
    story.looks(6)
    asked_back(story, "r0")
    story.wait(1000)
    story.act(Call.ASK_RETURN, "r0", server="", project="", ends_at=story.at + 120_000)
    assert "check_debts.ReleasedOnce" in story.breaks()

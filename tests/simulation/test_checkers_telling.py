"""The checkers of what is told find what they look for: drains, events, causes, owners, debts, money and liveness."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from simulation.check_drains import outcomes
from simulation.chronicle import Call, Ended, NodeWord
from simulation.cloud_model import EndCause
from tests.reconciler.builders import FORECAST, MINUTE, REGION
from tests.simulation.chronicles import DOMAINS, asked_back, eventful, found, grown, without

# -- drains -----------------------------------------------------------------------------------------------------------


def test_a_node_is_not_deleted_undrained_before_its_end() -> None:
    for after, drains, wrong in ((119_999, False, True), (120_000, False, False), (30_000, True, False)):
        story = grown()
        story.want(11)
        story.looks(6)
        ends_at = asked_back(story, "r0")
        if drains:
            story.drain("r0", f"release.asked/{REGION}/r0", ends_at)
            story.at -= 20_000
        story.wait(after)
        story.act(Call.DELETE, "r0")
        assert ("check_drains.BeforeDelete" in story.breaks()) is wrong


def test_a_node_that_nobody_asked_is_not_deleted() -> None:
    story = grown()
    story.act(Call.DELETE, "r0")
    assert "check_drains.BeforeDelete" in story.breaks()


@pytest.mark.parametrize(
    ("server", "wrong"), [("s-r1", True), ("s-twin", False)], ids=["the node", "the one that never was one"]
)
def test_of_two_servers_under_one_key_the_one_that_is_the_node_is_not_deleted_undrained(
    server: str, wrong: bool
) -> None:
    story = grown()
    story.create("r1", DOMAINS[1], server="s-twin")
    story.look()
    story.act(Call.DELETE, "r1", server=server)
    assert ("check_drains.BeforeDelete" in story.breaks()) is wrong


def test_a_second_server_that_joins_after_the_look_was_no_node_to_anybody() -> None:
    for joins_before in (True, False):
        story = grown()
        story.create("x", DOMAINS[1])
        story.create("x", DOMAINS[1], server="s-twin")
        story.wait(1000)
        if joins_before:
            story.node("x", NodeWord.JOINED)
        story.wait(1000)
        story.look()
        story.wait(1000)
        if not joins_before:
            story.node("x", NodeWord.JOINED)
        story.act(Call.DELETE, "x")
        assert ("check_drains.BeforeDelete" in story.breaks()) is joins_before


def test_what_never_became_a_node_is_deleted_without_a_drain() -> None:
    story = grown()
    story.look()
    story.buy("x", DOMAINS[0])
    story.act(Call.DELETE, "x")
    assert "check_drains.BeforeDelete" not in story.breaks()


def test_a_drain_ends_inside_its_window_or_is_an_overrun() -> None:
    for took, outcome, wrong in (
        (120_000, "verified", False),
        (120_001, "verified", True),
        (121_000, "overrun", False),
        (121_001, "overrun", True),
    ):
        story = grown()
        said = story.notice("r0", DOMAINS[0])
        story.drain("r0", story.heard(said), said.ends_at, took=took, outcome=outcome)
        assert ("check_drains.Windows" in story.breaks()) is wrong


@pytest.mark.parametrize(("took", "wrong"), [(1000, False), (1001, True)])
def test_a_drain_that_was_asked_for_after_its_end_is_over_a_moment_after_it_began(took: int, wrong: bool) -> None:
    story = grown()
    story.node("r0", NodeWord.HEARD)
    story.node("r0", NodeWord.DRAINING, ends_at=story.at - MINUTE)
    story.wait(took)
    story.node("r0", NodeWord.OVERRUN)
    assert ("check_drains.Windows" in story.breaks()) is wrong


def test_a_drain_that_says_nothing_by_its_end_is_found() -> None:
    story = grown()
    story.node("r0", NodeWord.HEARD)
    story.node("r0", NodeWord.DRAINING, ends_at=story.at + 120_000)
    story.wait(2 * MINUTE)
    assert "check_drains.Windows" not in story.breaks()
    story.wait(MINUTE)
    assert "check_drains.Windows" in story.breaks()


def test_a_notice_that_a_living_agent_heard_opens_a_drain_within_two_seconds() -> None:
    for after, wrong in ((2000, False), (2001, True)):
        story = grown()
        story.node("r0", NodeWord.HEARD)
        story.wait(after)
        story.node("r0", NodeWord.DRAINING, ends_at=story.at + 118_000)
        story.wait(1000)
        story.node("r0", NodeWord.VERIFIED)
        assert ("check_drains.Windows" in story.breaks()) is wrong


def test_a_notice_that_opens_no_drain_is_found() -> None:
    story = grown()
    story.node("r0", NodeWord.HEARD)
    story.wait(MINUTE)
    assert "check_drains.Windows" in story.breaks()


def test_no_node_drains_that_heard_nothing() -> None:
    story = grown()
    story.node("r0", NodeWord.DRAINING, ends_at=story.at + 120_000)
    story.node("r0", NodeWord.VERIFIED)
    assert "check_drains.Windows" in story.breaks()


def test_a_later_word_never_extends_a_drain() -> None:
    story = grown()
    story.node("r0", NodeWord.HEARD)
    story.node("r0", NodeWord.DRAINING, ends_at=story.at + 60_000)
    story.node("r0", NodeWord.DRAINING, ends_at=story.at + 120_000)
    story.node("r0", NodeWord.VERIFIED)
    assert "check_drains.Windows" in story.breaks()


def test_a_drain_is_told_for_a_notice_or_return_of_that_instance() -> None:
    for cause in (f"release.asked/{REGION}/r8", "nothing"):
        story = eventful()
        began = found(story, EventType.DRAIN_STARTED, "r0")
        without(story, EventType.DRAIN_STARTED, "r0")
        story.told.events[""].append(replace(began, caused_by=cause))
        assert "check_drains.Outcomes" in story.breaks()


def test_verified_is_told_only_where_the_node_said_so_in_time() -> None:
    story = eventful()
    story.told.nodes = [n for n in story.told.nodes if (n.name, n.word) != ("r0", NodeWord.VERIFIED)]
    assert "check_drains.Outcomes" in story.breaks()


def test_an_instance_drains_once_at_a_time() -> None:
    story = eventful()
    began = found(story, EventType.DRAIN_STARTED, "r0")
    story.told.events[""].insert(1, replace(began, id="again"))
    assert "check_drains.Outcomes" in story.breaks()


def test_a_drain_without_a_received_end_counts_as_unknown() -> None:
    story = eventful()
    assert outcomes(iter(story.all_events())) == {"verified": 2, "withdrawn": 0, "overrun": 0, "unknown": 0}
    without(story, EventType.DRAIN_ENDED, "r0")
    assert outcomes(iter(story.all_events())) == {"verified": 1, "withdrawn": 0, "overrun": 0, "unknown": 1}


# -- what is told -----------------------------------------------------------------------------------------------------


def test_what_is_done_was_written_down_before() -> None:
    story = grown()
    story.look()
    story.create("x", DOMAINS[0])
    story.wait(1)
    story.request("x", DOMAINS[0])
    assert "check_told.Requests" in story.breaks()
    assert "check_told.Requests" in without(eventful(), EventType.RELEASE_ASKED, "r8").breaks()


def test_what_is_done_is_what_was_written_down() -> None:
    story = grown()
    story.look()
    story.request("x", DOMAINS[0])
    story.create("x", DOMAINS[1])
    assert "check_told.Requests" in story.breaks()


@pytest.mark.parametrize("change", [{"occurred_at": 1}, {"data": {"noticed": 0}}, {"cause": Cause.NOTICE}], ids=str)
def test_no_event_is_told_in_two_versions(change: dict[str, object]) -> None:
    story = eventful()
    loss = found(story, EventType.INSTANCE_LOST, "r0")
    story.told.events["b"] = [replace(loss, recorded_at=story.at, epoch=2)]
    assert "check_told.Versions" not in story.breaks()
    story.told.events["b"].append(replace(loss, **change))  # type: ignore[arg-type]  # the dataclass checks the names
    assert "check_told.Versions" in story.breaks()


def test_what_was_believed_lost_stands_beside_the_providers_word_and_never_under_its_id() -> None:
    asked = f"instance.requested/{REGION}/r0"
    for beside in (True, False):
        story = grown()
        story.look(hidden=frozenset({"s-r0"}))
        story.lost("r0", asked, subject=f"r0/{story.at}" if beside else "")
        story.wait(MINUTE)
        story.gone("r0", EndCause.LOST, asked)
        breaks = story.breaks()
        assert ("check_told.Versions" in breaks) is not beside
        assert "check_told.Losses" not in breaks


def test_one_term_believes_a_loss_once() -> None:
    story = grown()
    story.look(hidden=frozenset({"s-r0"}))
    for _ in range(2):
        story.lost("r0", f"instance.requested/{REGION}/r0", subject=f"r0/{story.at}")
        story.wait(MINUTE)
    assert "check_told.Losses" in story.breaks()


def test_every_loss_is_told() -> None:
    assert "check_told.Losses" in without(eventful(), EventType.INSTANCE_LOST, "r0").breaks()


def test_no_loss_is_told_twice() -> None:
    story = eventful()
    story.lost("r0", f"instance.requested/{REGION}/r0", subject="r0/again")
    assert "check_told.Losses" in story.breaks()


def test_what_stands_is_not_told_as_lost_unless_a_listing_hid_it() -> None:
    for hidden, wrong in ((frozenset[str](), True), (frozenset({"s-r0"}), False)):
        story = grown()
        story.look(hidden=hidden)
        story.lost("r0", f"instance.requested/{REGION}/r0")
        assert ("check_told.Losses" in story.breaks()) is wrong


def test_every_notice_is_told() -> None:
    assert "check_told.Notices" in without(eventful(), EventType.NOTICE_RECEIVED, "r0").breaks()


def test_of_a_server_that_was_given_back_no_notice_and_no_loss_is_told() -> None:
    for given_back in (True, False):
        story = grown()
        if given_back:
            story.act(Call.UNMARK, "r0")
        story.wait(MINUTE)
        said = story.notice("r0", DOMAINS[0])
        story.wait(said.ends_at - story.at)
        story.told.ended.append(Ended(story.at, "s-r0", "r0", None, EndCause.RECLAIMED, said))
        story.looks(6)
        broken = {name for name in story.breaks() if name in ("check_told.Notices", "check_told.Losses")}
        assert bool(broken) is not given_back


def test_no_notice_is_told_that_nobody_said() -> None:
    story = eventful()
    story.told.given.clear()
    assert "check_told.Notices" in story.breaks()


def test_no_withdrawal_is_told_that_nobody_said() -> None:
    story = eventful()
    event = found(story, EventType.NOTICE_RECEIVED, "r0")
    story.event(
        EventType.NOTICE_WITHDRAWN, "r0", caused_by=event.id, instance="r0", workload=FORECAST, data={"reclaim": "rc"}
    )
    assert "check_told.Notices" in story.breaks()

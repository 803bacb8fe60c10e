"""Words that reach a node late, or never: returns that another leader may decide anew, notices that were taken back."""

from __future__ import annotations

import pytest

from ledger.events import EventType
from simulation.chronicle import Call, NodeWord
from tests.reconciler.builders import MINUTE, REGION
from tests.simulation.chronicles import asked_back, grown

# -- drains -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heard", "later"),
    [(False, ("a", 2)), (False, ("b", 1)), (True, ("a", 2)), (True, ("b", 1)), (False, ("a", 1))],
)
def test_what_no_node_heard_of_another_leader_may_decide_anew(heard: bool, later: tuple[str, int]) -> None:
    """Also one in whose term an epoch serves again, since the site of the one before was lost."""
    story = grown()
    story.want(11)
    story.looks(6)
    asked_back(story, "r0")
    if heard:
        story.node("r0", NodeWord.HEARD, ends_at=story.at + 120_000, notice=f"release.asked/{REGION}/r0/1")
    story.wait(1000)
    who = {"replica": later[0], "epoch": later[1]}
    story.act(Call.ASK_RETURN, "r0", server="", project="", ends_at=story.at + 9, **who)
    told = [b.sentence for b in story.broken() if b.checker == "check_debts.ReleasedOnce"]
    assert any(" and at " in sentence for sentence in told) is (heard or later == ("a", 1))


@pytest.mark.parametrize(
    ("decided", "stopped", "wrong"),
    [(1, True, False), (2, True, True), (1, False, True)],
    ids=["the same return", "another one", "the same while it drains"],
)
def test_a_node_whose_drain_was_stopped_may_be_told_again_of_the_return_that_it_was_asked_for_and_of_no_other(
    *, decided: int, stopped: bool, wrong: bool
) -> None:
    story = grown()
    story.want(11)
    story.looks(6)
    for for_ in (1, decided):
        about = f"release.asked/{REGION}/r0/{for_}"
        story.act(Call.ASK_RETURN, "r0", server="", project="", ends_at=story.at + 2 * MINUTE, for_=about)
        story.node("r0", NodeWord.HEARD, ends_at=story.at + 2 * MINUTE, notice=about)
        if stopped:
            story.node("r0", NodeWord.WITHDRAWN)
        story.wait(5 * MINUTE)
    told = [b.sentence for b in story.broken() if b.checker == "check_debts.ReleasedOnce"]
    assert any(" and at " in sentence for sentence in told) is wrong


def test_looks_that_follow_each_other_faster_than_cycles_do_give_no_more_time() -> None:
    story = grown()
    story.want(11)
    story.looks(6)
    asked_back(story, "r0")
    for looks in (6, 5, 1):
        for _ in range(looks):
            story.looks(1)
            story.wait(MINUTE)
            story.look()
        assert ("check_liveness.Drained" in story.breaks()) is (looks == 1)


@pytest.mark.parametrize(
    ("drains", "another", "wrong"), [(False, False, True), (False, True, False), (True, True, True)]
)
def test_a_return_that_no_node_heard_of_binds_who_asked_for_it(drains: bool, another: bool, wrong: bool) -> None:
    story = grown()
    story.want(11)
    story.looks(6)
    ends_at = asked_back(story, "r0")
    if drains:
        story.node("r0", NodeWord.HEARD, ends_at=ends_at)
        story.node("r0", NodeWord.DRAINING, ends_at=ends_at)
    if another:
        story.lead("b", story.epoch + 1)
    story.looks(12, replica="b" if another else "a")
    assert ("check_liveness.Drained" in story.breaks()) is wrong


@pytest.mark.parametrize("first", [False, True], ids=["after its notice", "before its notice"])
def test_a_notice_that_was_taken_back_opens_no_drain(first: bool) -> None:
    story = grown()
    words = [NodeWord.HEARD, NodeWord.TAKEN_BACK]
    for word in reversed(words) if first else words:
        story.node("r0", word, notice="n-1", ends_at=story.at + 2 * MINUTE)
    story.wait(MINUTE)
    assert "check_drains.Windows" not in story.breaks()
    story.node("r0", NodeWord.HEARD, notice="n-2", ends_at=story.at + 2 * MINUTE)
    story.wait(MINUTE)
    assert "check_drains.Windows" in story.breaks()


@pytest.mark.parametrize(
    ("late", "until", "wrong"),
    [(0, 120_000, False), (0, 120_001, True), (60_001, 120_000, False), (60_001, 120_001, True)],
)
def test_a_drain_works_to_the_earliest_honest_end(late: int, until: int, wrong: bool) -> None:
    story = grown()
    story.node("r0", NodeWord.HEARD, ends_at=story.at - late if late else story.at + 120_000)
    story.node("r0", NodeWord.DRAINING, ends_at=story.at + until)
    story.wait(1000)
    story.node("r0", NodeWord.VERIFIED)
    assert ("check_drains.Windows" in story.breaks()) is wrong


@pytest.mark.parametrize(
    ("cause", "wrong"),
    [(f"notice.received/{REGION}/n-1/r0", False), (f"release.asked/{REGION}/r0/1", True)],
    ids=["a notice that the stream lost", "a return that nobody wrote down"],
)
def test_only_a_notice_that_its_node_heard_explains_a_drain_that_the_ledger_does_not(cause: str, wrong: bool) -> None:
    story = grown()
    heard = "n-1" if not wrong else cause
    ends_at = story.at + 2 * MINUTE
    story.node("r0", NodeWord.HEARD, notice=heard, ends_at=ends_at)
    story.node("r0", NodeWord.DRAINING, ends_at=ends_at)
    story.event(
        EventType.DRAIN_STARTED, "r0/1", who="", caused_by=cause, instance="r0", data={"ends_at": ends_at, "units": 1}
    )
    assert ("check_drains.Outcomes" in story.breaks()) is wrong


@pytest.mark.parametrize(
    ("drained", "wrong"), [(False, True), (True, False)], ids=["never drained", "drained when that was looked at"]
)
def test_a_notice_that_is_taken_back_after_the_look_excuses_the_delete_of_what_was_drained(
    drained: bool, wrong: bool
) -> None:
    story = grown()
    ends_at = story.at + 10 * MINUTE
    story.node("r0", NodeWord.HEARD, notice="n-1", ends_at=ends_at)
    story.node("r0", NodeWord.DRAINING, ends_at=ends_at)
    if drained:
        story.node("r0", NodeWord.VERIFIED)
        story.wait(1000)
    story.look()
    if not drained:
        story.wait(1000)
        story.node("r0", NodeWord.VERIFIED)
    story.wait(1000)
    story.node("r0", NodeWord.WITHDRAWN)
    story.act(Call.DELETE, "r0")
    assert ("check_drains.BeforeDelete" in story.breaks()) is wrong


@pytest.mark.parametrize("after", [False, True], ids=["before the call went out", "under the call"])
def test_one_that_joins_under_a_delete_in_flight_was_no_node_to_drain(after: bool) -> None:
    story = grown()
    story.create("x", story.pool_of("r0"))
    story.wait(MINUTE)
    if not after:
        story.node("x", NodeWord.JOINED)
    sent_at = story.at
    story.wait(1000)
    if after:
        story.node("x", NodeWord.JOINED)
    story.act(Call.DELETE, "x", sent_at=sent_at)
    assert ("check_drains.BeforeDelete" in story.breaks()) is not after


@pytest.mark.parametrize(
    ("seen", "gone", "wrong"),
    [
        ({}, False, True),
        ({"hidden": frozenset({"s-r0"})}, False, False),
        ({"hidden": frozenset({"s-r0"}), "half_shown": frozenset({"r0"})}, False, True),
        ({"whole": frozenset()}, False, False),
        ({}, True, False),
    ],
    ids=["listed", "hidden", "a row without an id", "not listed whole", "ended"],
)
def test_the_node_of_a_server_that_a_row_shows_stays_in_its_scheduler(
    seen: dict[str, object], gone: bool, wrong: bool
) -> None:
    story = grown()
    if gone:
        story.act(Call.DELETE, "r0")
    story.wait(MINUTE)
    story.look(**seen)
    story.act(Call.REMOVE_NODE, "r0")
    assert any("taken out of its scheduler" in found.sentence for found in story.broken()) is wrong

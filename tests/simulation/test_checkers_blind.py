"""The checker of what stops while an input is late, partial or untrue bites on each row of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from simulation.chronicle import Call
from simulation.faults import Fault
from tests.reconciler.builders import FORECAST, KEPT, MINUTE, REGION, SECOND, with_region
from tests.simulation.chronicles import DOMAINS, Story, grown

EVERYTHING: dict[str, dict[str, object]] = {
    "lease": {"leads": False},
    "clock": {"clock": False},
    "journal": {"disk": False},
    "listing": {"whole": frozenset()},
    "unexplained": {"hidden": frozenset({"s-r0", "s-r1", "s-r2", "s-r3"})},
}
CHANGE: dict[str, dict[str, object]] = {"git": {"git": False}, "scheduler": {"silent": frozenset({"north-k8s"})}}


def bought_blind(seen: dict[str, object], *, replaces: bool) -> set[str]:
    """What is found when one server is bought on such a look, as growth or for a loss."""
    story = grown()
    loss = story.lost("r0", f"instance.requested/{REGION}/r0")
    story.told.spool_limit = 1000
    story.look(**seen)
    if replaces:
        story.buy("x", DOMAINS[0], cause=Cause.LOST_WITHOUT_NOTICE, caused_by=loss)
    else:
        story.buy("x", DOMAINS[0])
    return story.breaks()


@pytest.mark.parametrize("replaces", [False, True], ids=["growth", "replacement"])
@pytest.mark.parametrize("seen", EVERYTHING.values(), ids=EVERYTHING)
def test_nothing_at_all_is_bought_while(seen: dict[str, object], replaces: bool) -> None:
    assert "check_blind.Acts" in bought_blind(seen, replaces=replaces)


@pytest.mark.parametrize("seen", [*CHANGE.values(), {"pending": 1000}], ids=[*CHANGE, "spool"])
def test_growth_stops_and_replacement_goes_on_while(seen: dict[str, object]) -> None:
    assert "check_blind.Acts" in bought_blind(seen, replaces=False)
    assert "check_blind.Acts" not in bought_blind(seen, replaces=True)


def test_a_notice_explains_that_a_server_is_hidden() -> None:
    for noticed, wrong in ((1, True), (4, False)):
        story = grown()
        for number in range(noticed):
            story.notice(f"r{number}", DOMAINS[number])
        story.wait(1)
        story.look(hidden=frozenset({"s-r0", "s-r1", "s-r2", "s-r3", "s-r4"}))
        story.buy("x", DOMAINS[4])
        assert ("check_blind.Acts" in story.breaks()) is wrong


@pytest.mark.parametrize(("share", "wrong"), [(34, False), (33, True)])
def test_what_goes_in_the_cycle_that_saw_it_makes_no_loss_improbable(share: int, wrong: bool) -> None:
    """Four of twelve are a third, whatever is deleted before the purchase."""
    story = grown(with_region(f"    guard: {{improbableShare: {share}}}"))
    story.look(hidden=frozenset({"s-r0", "s-r1", "s-r2", "s-r3"}))
    for name in ("r6", "r7"):
        story.act(Call.DELETE, name)
    story.buy("x", DOMAINS[4])
    assert ("check_blind.Acts" in story.breaks()) is wrong


def test_nothing_is_blind_on_a_clear_look() -> None:
    assert "check_blind.Acts" not in bought_blind({}, replaces=False)


@pytest.mark.parametrize("seen", [*EVERYTHING.values(), *CHANGE.values()], ids=[*EVERYTHING, *CHANGE])
def test_nothing_is_given_back_while(seen: dict[str, object]) -> None:
    story = grown()
    story.want(11)
    story.look(**seen)
    story.give_back("r0")
    assert "check_blind.Acts" in story.breaks()


@pytest.mark.parametrize(("before", "wrong"), [(10 * MINUTE, False), (MINUTE, True)])
def test_a_return_that_waited_for_a_disk_to_be_written_down_was_agreed_before(before: int, wrong: bool) -> None:
    story = grown()
    paid: dict[str, str | int] = {"amount": "9.00", "currency": "EUR", "authority": "lead", "day": "2026-01-01"}
    story.event(EventType.FALLBACK_RESERVED, FORECAST, workload=FORECAST, data=paid)
    story.buy("b", KEPT, paid="fallback")
    story.settle("b")
    story.looks(3)
    story.event(
        EventType.FALLBACK_RETURNED,
        FORECAST,
        cause=Cause.RECLAIMABLE_HELD,
        workload=FORECAST,
        occurred_at=story.at - before,
        data={"authority": "lead"},
    )
    story.look(whole=frozenset())
    story.give_back("b", Cause.RECLAIMABLE_HELD)
    assert ("check_blind.Acts" in story.breaks()) is wrong


def test_nothing_is_lent_where_nobody_told_of_reclaims_for_long() -> None:
    story = grown()
    story.looks(2, told=False)
    story.buy("x", DOMAINS[0])
    assert "check_blind.Acts" in story.breaks()


@pytest.mark.parametrize(("decided", "wrong"), [(1, False), (2, True)], ids=["the return of before", "another one"])
def test_a_return_was_agreed_when_what_it_carries_was_decided(decided: int, wrong: bool) -> None:
    """A node was to go back and never heard of it; who decides that anew on a blind look goes on with nothing."""
    story = grown()
    story.want(11)
    story.looks(6)
    for number in (1, 2):
        story.event(EventType.RELEASE_ASKED, f"r0/{number}", caused_by=story.claim, instance="r0", workload=FORECAST)
        story.wait(MINUTE)
        if number == 1:
            story.look(git=False)
    about = f"release.asked/{REGION}/r0/{decided}"
    story.act(Call.ASK_RETURN, "r0", server="", project="", for_=about, ends_at=story.at + 2 * MINUTE)
    assert ("check_blind.Acts" in story.breaks()) is wrong


# -- what has to be missed --------------------------------------------------------------------------------------------

ASKED = f"instance.requested/{REGION}/r3"
OTHERS = frozenset({"s-r0", "s-r1", "s-r2"})


def missed(story: Story, fourth: str, **seen: object) -> bool:
    """Whether a purchase is held against a look that lacks three servers and a fourth one."""
    story.look(hidden=OTHERS | {f"s-{fourth}"}, **seen)
    story.buy("x", DOMAINS[4])
    return any("gone at once" in found.sentence for found in story.broken())


def failed(story: Story) -> None:
    story.event(EventType.INSTANCE_FAILED, "r3", caused_by=ASKED, instance="r3", data={"error": ""})


def agreed(story: Story) -> None:
    story.event(EventType.RELEASE_ASKED, "r3", caused_by=story.claim, instance="r3", workload=FORECAST)


def noticed(story: Story) -> None:
    """The notice was heard, and taken back without a word in the stream."""
    said = story.notice("r3", DOMAINS[3])
    story.heard(said)
    story.told.given.append((story.at + 1, replace(said, withdrawn=True)))


def lost(story: Story) -> None:
    story.look(hidden=OTHERS | {"s-r3"})
    story.lost("r3", ASKED)


def twinned(story: Story) -> None:
    story.create("r3", DOMAINS[3], server="s-twin")


@pytest.mark.parametrize("half", [frozenset(), frozenset({"r3"})], ids=["two rows", "one of them without an id"])
def test_who_is_listed_by_its_key_is_not_missed_for_a_second_server(half: frozenset[str]) -> None:
    story = grown()
    twinned(story)
    story.wait(MINUTE)
    assert not missed(story, "r3", half_shown=half)


def nothing(_: Story) -> None:
    pass


@pytest.mark.parametrize("explain", [nothing, failed, agreed, noticed, lost])
def test_who_has_to_be_missed_is_not_let_go(explain: Callable[[Story], None]) -> None:
    story = grown()
    explain(story)
    story.wait(MINUTE)
    assert missed(story, "r3") is (explain is nothing)


def test_what_was_told_as_lost_in_the_cycle_that_lacks_it_is_gone_at_once() -> None:
    story = grown()
    story.look(hidden=OTHERS | {"s-r3"})
    story.lost("r3", ASKED)
    story.buy("x", DOMAINS[4])
    assert "check_blind.Acts" in story.breaks()


def test_what_was_found_again_is_missed_once_more() -> None:
    story = grown()
    told = story.lost("r3", ASKED)
    story.wait(MINUTE)
    story.event(
        EventType.INSTANCE_FOUND,
        f"r3/{story.at}",
        cause=Cause.FOUND_AGAIN,
        caused_by=told,
        instance="r3",
        workload=FORECAST,
        data={"to_ms": 0},
    )
    assert missed(story, "r3")


@pytest.mark.parametrize(
    ("age", "half", "wrong"),
    [(59 * SECOND, False, False), (60 * SECOND, False, True), (SECOND, True, True)],
    ids=["too young to be listed", "old enough", "shown without an id"],
)
def test_what_was_just_made_is_not_missed_unless_a_row_without_an_id_shows_it(
    age: int, half: bool, wrong: bool
) -> None:
    story = grown()
    story.buy("y", DOMAINS[3])
    story.wait(age)
    assert missed(story, "y", half_shown=frozenset({"y"} if half else ())) is wrong


@pytest.mark.parametrize(("shown", "half"), [(True, False), (False, True), (False, False)])
def test_what_no_answer_named_and_no_listing_showed_cannot_be_missed(shown: bool, half: bool) -> None:
    story = grown()
    story.request("y", DOMAINS[3])
    about = {"pool": DOMAINS[3], "workload": FORECAST, "units": 1, "paid": "reclaimable"}
    story.act(Call.CREATE, "y", answered=False, **about)
    story.looks(1, hidden=frozenset() if shown else frozenset({"s-y"}))
    story.wait(5 * MINUTE)
    assert missed(story, "y", half_shown=frozenset({"y"} if half else ())) is (shown or half)


@pytest.mark.parametrize(
    ("seen", "warned", "wrong"),
    [
        ({"unseen": frozenset({"r3"})}, False, False),
        ({}, True, True),
        ({"silent": frozenset({"north-k8s"})}, True, False),
        ({"unseen": frozenset({"r3"}), "half_shown": frozenset({"r3"})}, False, True),
    ],
    ids=["its scheduler", "an advisory that its scheduler contradicts", "an advisory", "a row without an id"],
)
def test_what_a_second_source_bears_out_is_explained(seen: dict[str, object], warned: bool, wrong: bool) -> None:
    story = grown()
    if warned:
        story.told.faults = (Fault("false_advisory", 1, story.at, story.at + MINUTE, "h2-general-b"),)
    assert missed(story, "r3", **seen) is wrong

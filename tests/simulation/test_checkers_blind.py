"""The checker of what stops while an input is late, partial or untrue bites on each row of the table."""

from __future__ import annotations

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from simulation.chronicle import Call
from tests.reconciler.builders import FORECAST, KEPT, MINUTE, REGION, with_region
from tests.simulation.chronicles import DOMAINS, grown

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

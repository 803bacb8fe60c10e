"""Notices: heard once, at their earliest end, until every one of them is withdrawn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from pools.provider import Lifecycle, LifecycleKind, Notice, NoticeKind, Signals
from reconciler.census import take
from reconciler.evidence import _interrupted
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.sight import Census
from tests.reconciler.builders import (
    POOL,
    SECOND,
    START,
    fleet,
    instance,
    listing,
    name,
    node,
    part,
    row,
    scribe,
    sight,
)

WINDOW = 120 * SECOND


def notice(
    of: Instance,
    *,
    ends: int = WINDOW,
    reclaim: str = "rc-1",
    withdrawn: bool = False,
    at: int = START,
    kind: NoticeKind = NoticeKind.RECLAIM,
) -> Notice:
    return Notice(
        f"{reclaim}/{of.server}/{ends}",
        of.server,
        of.name,
        of.pool,
        reclaim,
        kind,
        at,
        START + ends,
        withdrawn,
    )


def heard(known: Fleet, *notices: Notice) -> Census:
    """One pass in which everything known is listed and is a node."""
    signals = Signals(START, "1", notices=notices)
    instances = known.instances.values()
    nodes = {i.name: node(i) for i in instances if i.joined_at}
    return take(known, sight(*[row(i) for i in instances], signals=signals, nodes=nodes), scribe())


def one(census: Census) -> Instance:
    return census.fleet.instances[name(1)]


HERE = instance()


def test_a_notice_makes_the_instance_drain_and_owes_its_replacement() -> None:
    census = heard(fleet(HERE), notice(HERE))
    assert (one(census).phase, one(census).ends_at) == (Phase.DRAINING, START + WINDOW)
    assert [(d.instance, d.cause) for d in census.fleet.debts] == [(HERE.name, Cause.NOTICE)]


def test_a_notice_said_twice_is_one_notice() -> None:
    once = heard(fleet(HERE), notice(HERE), notice(HERE))
    twice = heard(once.fleet, notice(HERE))
    assert len(once.notices) == 1
    assert not twice.notices
    assert not twice.events
    assert twice.fleet.debts == once.fleet.debts


def test_a_later_end_never_extends_and_an_earlier_one_holds() -> None:
    first = heard(fleet(HERE), notice(HERE))
    assert one(heard(first.fleet, notice(HERE, ends=2 * WINDOW))).ends_at == START + WINDOW
    earlier = heard(first.fleet, notice(HERE, ends=30 * SECOND))
    assert one(earlier).ends_at == START + 30 * SECOND


def test_a_notice_that_comes_late_still_counts_from_its_own_end() -> None:
    late = heard(fleet(HERE), notice(HERE, ends=-5 * SECOND, at=START - WINDOW))
    assert one(late).ends_at == START - 5 * SECOND
    assert late.events[0].occurred_at == START - WINDOW


def test_a_withdrawn_notice_gives_the_instance_back_and_owes_nothing() -> None:
    census = heard(heard(fleet(HERE), notice(HERE)).fleet, notice(HERE, withdrawn=True))
    assert one(census).phase is Phase.SERVING
    assert (one(census).ends_at, one(census).noticed) == (0, False)
    assert not census.fleet.debts
    assert [event.type for event in census.events] == [EventType.NOTICE_WITHDRAWN]


def test_a_withdrawal_holds_after_the_end_was_moved_earlier() -> None:
    moved = heard(heard(fleet(HERE), notice(HERE)).fleet, notice(HERE, ends=30 * SECOND))
    assert not one(heard(moved.fleet, notice(HERE, ends=30 * SECOND, withdrawn=True))).noticed


def test_of_two_reclaims_the_one_that_is_not_withdrawn_still_takes_the_instance() -> None:
    both = heard(fleet(HERE), notice(HERE), notice(HERE, ends=30 * SECOND, reclaim="rc-2"))
    left = heard(both.fleet, notice(HERE, ends=30 * SECOND, reclaim="rc-2", withdrawn=True))
    assert one(left).noticed
    assert one(left).ends_at == START + WINDOW
    assert left.fleet.debts
    assert not one(heard(left.fleet, notice(HERE, withdrawn=True))).noticed


def test_a_withdrawal_of_what_was_never_said_changes_nothing() -> None:
    known = fleet(HERE)
    assert heard(known, notice(HERE, withdrawn=True)).fleet.instances == known.instances


def test_a_withdrawal_that_comes_before_its_notice_in_one_answer_is_still_the_last_word() -> None:
    census = heard(fleet(HERE), notice(HERE, withdrawn=True), notice(HERE))
    assert (one(census).noticed, one(census).phase) == (False, HERE.phase)
    assert not census.fleet.debts
    assert [event.type for event in census.events] == [EventType.NOTICE_RECEIVED, EventType.NOTICE_WITHDRAWN]


def test_a_withdrawn_notice_does_not_undo_our_own_release() -> None:
    told = f"release.asked/north/{HERE.name}/1"
    leaving = replace(HERE, phase=Phase.DRAINING, released=True, release_event=told, ends_at=START + 60 * SECOND)
    census = heard(heard(fleet(leaving), notice(HERE)).fleet, notice(HERE, withdrawn=True))
    assert (one(census).phase, one(census).released) == (Phase.DRAINING, True)
    assert one(census).ends_at == START + 60 * SECOND


def test_a_notice_for_what_failed_or_is_gone_is_not_heard() -> None:
    assert not heard(fleet(replace(HERE, phase=Phase.FAILED)), notice(HERE)).notices
    shown = sight(signals=Signals(START, "1", notices=(notice(HERE),)))
    assert not take(fleet(replace(HERE, phase=Phase.GONE)), shown, scribe()).notices


def test_after_a_restart_a_standing_notice_is_heard_with_the_listing_that_brings_the_instance_back() -> None:
    signals = Signals(START, "1", notices=(notice(HERE),))
    nodes = {HERE.name: node(HERE)}
    census = take(Fleet(), sight(row(HERE), signals=signals, nodes=nodes), scribe())
    assert one(census).noticed
    assert not census.unheard


def test_a_notice_that_nobody_can_place_yet_is_asked_for_again() -> None:
    shown = replace(sight(signals=Signals(START, "1", notices=(notice(HERE),))), listing=listing(complete=False))
    assert take(Fleet(), shown, scribe()).unheard
    assert not take(Fleet(), replace(shown, listing=listing()), scribe()).unheard


# -- drills -----------------------------------------------------------------------------------------------------------


def test_a_drill_is_heard_as_a_notice_is_and_marked() -> None:
    known = instance()
    census = heard(fleet(known), notice(known, kind=NoticeKind.DRILL))
    after = census.fleet.instances[known.name]
    assert after.phase is Phase.DRAINING
    assert after.drill
    (event,) = [e for e in census.events if e.type is EventType.NOTICE_RECEIVED]
    assert (event.data["kind"], event.data["drill"]) == ("drill", 1)
    assert not heard(fleet(known), notice(known)).fleet.instances[known.name].drill


def test_a_drill_that_meets_a_real_notice_is_none_any_more_and_is_one_again_when_that_is_withdrawn() -> None:
    known = instance()
    drill = notice(known, kind=NoticeKind.DRILL)
    both = heard(fleet(known), drill, notice(known, ends=WINDOW // 2)).fleet
    assert not both.instances[known.name].drill
    assert both.instances[known.name].ends_at == START + WINDOW // 2
    again = heard(both, notice(known, withdrawn=True)).fleet.instances[known.name]
    assert again.drill
    assert (again.ends_at, again.reclaim) == (START + WINDOW, "rc-1")
    over = heard(both, notice(known, withdrawn=True), replace(drill, withdrawn=True)).fleet.instances[known.name]
    assert over.supply


def test_what_is_lost_in_a_drill_says_so_and_speaks_against_no_pool() -> None:
    known = instance()
    drained = heard(fleet(known), notice(known, kind=NoticeKind.DRILL)).fleet
    census = take(drained, sight(nodes={}), scribe())
    (lost,) = [e for e in census.events if e.type is EventType.INSTANCE_LOST]
    assert (lost.cause, lost.data["drill"]) == (Cause.ENDED_BEFORE_ITS_TIME, 1)
    assert census.losses
    assert not list(_interrupted(part(), census))
    real = take(heard(fleet(known), notice(known)).fleet, sight(nodes={}), scribe())
    assert list(_interrupted(part(), real))


def test_a_withdrawal_of_a_notice_that_never_came_tells_both() -> None:
    census = heard(fleet(HERE), notice(HERE, withdrawn=True))
    assert one(census).supply
    received, withdrawn = census.events
    assert (received.type, withdrawn.type) == (EventType.NOTICE_RECEIVED, EventType.NOTICE_WITHDRAWN)
    assert withdrawn.caused_by == received.id
    assert received == heard(fleet(HERE), notice(HERE)).events[0], "as the notice itself would have been told"


def test_a_loss_leads_to_the_notice_that_stands() -> None:
    first, second = notice(HERE), notice(HERE, reclaim="rc-2", ends=2 * WINDOW)
    known = heard(fleet(HERE), first, second).fleet
    stays = one(heard(known, replace(first, withdrawn=True)))
    assert stays.first_notice == (START + 2 * WINDOW, f"notice.received/north/{second.id}/{HERE.name}")


@pytest.mark.parametrize("released", [False, True])
def test_a_notice_that_comes_with_the_end_of_what_is_gone_stands_in_its_loss(released: bool) -> None:
    told = f"notice.received/north/{notice(HERE).id}/{HERE.name}"
    drained = replace(HERE, phase=Phase.DRAINING, released=True, release_event=told)
    gone = take(fleet(drained if released else HERE), sight(now=START + WINDOW), scribe(START + WINDOW)).fleet
    assert gone.instances[HERE.name].phase is Phase.GONE
    end = Lifecycle(START + WINDOW, LifecycleKind.DELETED, HERE.server, HERE.name, POOL, taken=True)
    said = Signals(START + WINDOW, "1", notices=(notice(HERE),), lifecycle=(end,))
    late = take(gone, sight(now=START + WINDOW, signals=said), scribe(START + WINDOW))
    (loss,) = [event for event in late.events if event.type is EventType.INSTANCE_LOST]
    assert (loss.id, loss.cause) == (f"instance.lost/north/{HERE.name}", Cause.LOST_AFTER_NOTICE)
    assert (loss.caused_by, loss.data["noticed"]) == (told, 1)
    assert told in [event.id for event in late.events]


def test_a_notice_that_came_while_its_server_was_held_to_be_gone_stands_when_it_is_found_again() -> None:
    gone = take(fleet(HERE), sight(), scribe()).fleet
    late = take(gone, sight(signals=Signals(START, "1", notices=(notice(HERE),))), scribe()).fleet
    assert late.instances[HERE.name].phase is Phase.GONE
    found = one(take(late, sight(row(HERE), nodes={HERE.name: node(HERE)}), scribe()))
    assert (found.phase, found.noticed, found.ends_at) == (Phase.DRAINING, True, START + WINDOW)
    assert found.cause_event == f"notice.received/north/{notice(HERE).id}/{HERE.name}"
    assert one(heard(fleet(found), replace(notice(HERE), withdrawn=True))).supply, "and is taken back like any other"

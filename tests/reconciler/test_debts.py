"""What is owed for a notice or a loss: paid by whoever saw it happen, and never a second time by who comes after."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.provider import Lifecycle, LifecycleKind, Notice, NoticeKind, Signals
from reconciler.census import take
from reconciler.fleet import Debt, Fleet, Instance, Phase
from reconciler.sight import Census, Sight
from reconciler.steady import not_ahead
from tests.reconciler.builders import FORECAST, MINUTE, SECOND, START, Region, fleet, instance, node, row, scribe, sight

HERE, THERE = instance(), instance(2)
OWED = Debt(FORECAST, "eb-north-1-000777", Cause.NOTICE, "notice.received/north/n")


def said(at: int) -> Signals:
    notice = Notice("n", HERE.server, HERE.name, HERE.pool, "rc", NoticeKind.RECLAIM, at, at + 2 * MINUTE)
    return Signals(START, "1", notices=(notice,))


def shown(signals: Signals, **more: bool) -> Sight:
    nodes = {one.name: node(one) for one in (HERE, THERE)}
    return sight(row(HERE), row(THERE), signals=signals, nodes=nodes, **more)


def passed(known: Fleet, seen: Sight, epoch: int = 2) -> Census:
    return take(known, seen, replace(scribe(seen.now), epoch=epoch))


def owed(census: Census) -> list[str]:
    return [debt.instance for debt in census.fleet.debts]


def test_who_saw_all_that_happened_owes_for_it() -> None:
    assert owed(passed(fleet(HERE, THERE), shown(said(START - SECOND)))) == [HERE.name]


def test_an_empty_memory_owes_nothing_for_what_was_said_before_it() -> None:
    census = passed(fleet(), shown(said(START - SECOND)))
    assert census.fleet.instances[HERE.name].noticed
    assert not owed(census)


def test_it_owes_for_what_is_said_later() -> None:
    first = passed(fleet(), shown(Signals(START, "1")))
    later = replace(shown(said(START + SECOND)), now=START + MINUTE)
    assert owed(passed(first.fleet, later)) == [HERE.name]


@pytest.mark.parametrize(("behind", "owes"), [((1, 3), True), ((2, 1), True), ((1, 2), False), ((0, 0), False)])
def test_what_others_asked_for_behind_the_last_word_may_have_paid_every_debt(
    behind: tuple[int, int], owes: bool
) -> None:
    known = replace(fleet(HERE), debts=(OWED,), known=behind)  # the second of term 1 comes to light
    assert owed(passed(known, shown(said(START - SECOND)), epoch=3)) == ([OWED.instance, HERE.name] if owes else [])


@pytest.mark.parametrize(("behind", "owes"), [((1, 3), True), ((1, 2), False), ((0, 0), True)])
def test_what_others_asked_for_and_lost_again_may_have_paid_as_well(behind: tuple[int, int], owes: bool) -> None:
    known = replace(fleet(HERE), debts=(OWED,), known=behind)
    mark = row(THERE).mark  # the second of term 1 came and went
    ends = tuple(
        Lifecycle(START - MINUTE, kind, THERE.server, THERE.name, THERE.pool, "", THERE.project, mark)
        for kind in (LifecycleKind.ACTIVE, LifecycleKind.DELETED)
    )
    seen = sight(row(HERE), nodes={HERE.name: node(HERE)}, signals=Signals(START, "1", lifecycle=ends))
    first = passed(known, seen, epoch=3)
    assert owed(first) == ([OWED.instance] if owes else [])
    again = replace(first.fleet, debts=(OWED,))
    assert owed(passed(again, seen, epoch=3)) == [OWED.instance], "what is said again is no news"


def test_nothing_is_owed_in_place_of_what_is_there() -> None:
    debt = Debt(FORECAST, THERE.name, Cause.LOST_WITHOUT_NOTICE, "instance.lost/north/n")
    known = replace(fleet(HERE), debts=(debt, OWED), known=(1, 3))
    assert owed(passed(known, shown(Signals(START, "1")))) == [OWED.instance]


def test_what_this_term_asked_for_itself_pays_for_nothing_else() -> None:
    known = replace(fleet(HERE), debts=(OWED,))
    assert owed(passed(known, shown(Signals(START, "1")), epoch=1)) == [OWED.instance]


def test_a_clock_that_ran_ahead_forgives_nothing_that_is_yet_to_come() -> None:
    region = Region()
    memory = replace(region.reconciler.memory, fleet=replace(Fleet(), answered_until=START + MINUTE))
    assert not_ahead(memory, START).fleet.answered_until == START


def test_what_was_given_up_and_came_after_all_has_paid_what_it_was_bought_for() -> None:
    given_up = instance(1, phase=Phase.FAILED, joined_at=0, cause=Cause.NEVER_JOINED)
    debt = Debt(FORECAST, given_up.name, Cause.NOTICE, OWED.cause_event)
    known = replace(fleet(given_up), debts=(debt, OWED))
    seen = sight(row(given_up), nodes={given_up.name: node(given_up)})
    assert owed(passed(known, seen, epoch=1)) == [OWED.instance]
    assert owed(passed(known, sight(row(given_up)), epoch=1)) == [given_up.name, OWED.instance]


def test_a_create_that_was_asked_again_has_not_failed_yet() -> None:
    region = Region()
    region.cloud.script.fail("create", times=20)
    region.schedulers.want(FORECAST, 4)
    for _ in range(4):
        region.cycle(seconds=50)
    assert not region.told(EventType.INSTANCE_FAILED)


def test_a_floor_is_replaced_though_nobody_told_a_rate_for_hours_and_lent_work_waits_for_one() -> None:
    region = Region().settled(forecast=20)
    region.cloud.script.fail("rates", times=1000)
    region.cycles(14, seconds=300)
    gone = [*(one for one in region.ours() if one.paid is Paid.FLOOR), next(iter(lent(region)))]
    assert len(gone) == 5
    stood = len(lent(region))
    for one in gone:
        region.cloud.lose(one.server, reason="host failed")
    region.cycles(4)
    assert sum(one.units for one in region.ours(phase=Phase.SERVING) if one.paid is Paid.FLOOR) == 4
    assert len(lent(region)) == stood - 1
    assert not region.told(EventType.FALLBACK_RESERVED)


def lent(region: Region) -> list[Instance]:
    return [one for one in region.ours(phase=Phase.SERVING) if one.paid is Paid.RECLAIMABLE]

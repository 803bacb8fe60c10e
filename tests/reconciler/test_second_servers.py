"""What is told of two servers that had one key, and of one that never ran: each id says one thing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import LifecycleKind, Status
from reconciler.fleet import Debt, Phase
from tests.reconciler.builders import FORECAST, HOUR, MINUTE, START, fleet, instance, name, node, row, sight
from tests.reconciler.test_takeover import ACTIVE, BORN, ENDED, life, marked, passed, said, stream


def test_each_of_two_servers_under_one_key_has_an_end_and_a_loss_of_its_own() -> None:
    """Whoever knew one of them, or none: no id says two things, and what the stream tells of both is told."""
    twin = tuple(replace(one, at=one.at + (one.at == ENDED)) for one in life(marked(), server="twin"))
    both = sight(signals=stream(*life(marked()), *twin))
    knew = [fleet(instance(started_at=0, requested_at=BORN, server=server)) for server in ("server-1", "twin")]
    told = [passed(known, both).events for known in (fleet(), *knew)]
    told.append(passed(knew[0], sight(signals=stream(*life(marked())))).events)
    first: dict[str, Event] = {}
    assert all(first.setdefault(event.id, event) == event for events in told for event in events)
    lost = [[event.occurred_at for event in events if event.type is EventType.INSTANCE_LOST] for events in told]
    assert [sorted(times) for times in lost[:3]] == [[ENDED, ENDED + 1]] * 3
    assert [event.occurred_at for event in told[0] if event.type is EventType.INSTANCE_ENDED] == [ENDED + 1]


def test_what_the_provider_took_before_it_ran_is_lost_and_has_no_bill() -> None:
    hung = tuple(one for one in life(marked()) if one.kind is not LifecycleKind.ACTIVE)
    events = passed(fleet(), sight(signals=stream(*hung))).events
    assert [(event.type, event.occurred_at) for event in events] == [(EventType.INSTANCE_LOST, ENDED)]


def test_a_row_that_is_shown_twice_is_no_second_server() -> None:
    known = instance(started_at=ACTIVE, requested_at=BORN)
    assert not passed(fleet(known), sight(row(known), row(known))).fleet.instances[name(1)].twinned


def test_a_second_server_that_never_ran_ends_no_bill() -> None:
    twin = said(LifecycleKind.DELETED, ENDED - 1, marked(), taken=False, server="twin")
    events = passed(fleet(), sight(signals=stream(*life(marked()), twin))).events
    assert [event.occurred_at for event in events if event.type is EventType.INSTANCE_ENDED] == [ENDED]


def test_who_takes_the_key_over_does_not_end_when_the_other_did() -> None:
    """Its notices nobody kept: its loss is told at its own time, beside what whoever heard all of them tells."""
    both = (*life(marked()), *(replace(one, at=one.at + (one.at == ENDED)) for one in life(marked(), server="twin")))
    known = instance(requested_at=BORN, started_at=ACTIVE, twinned=True)
    early = said(LifecycleKind.DELETED, ENDED - 500, marked(), taken=True)
    taken = passed(fleet(known), sight(row(known, id="twin"), signals=stream(early)))
    assert [one.occurred_at for one in taken.events if one.type is EventType.INSTANCE_LOST] == [ENDED - 500]
    last = passed(taken.fleet, sight(signals=stream(both[-1])))
    told = {one.type: one for one in last.events}
    lost, ended = told[EventType.INSTANCE_LOST], told[EventType.INSTANCE_ENDED]
    assert (lost.id, lost.occurred_at) == (f"instance.lost/north/{name(1)}/{ENDED + 1}", ENDED + 1)
    assert (ended.id, ended.occurred_at) == (f"instance.ended/north/{name(1)}/twin", ENDED + 1)


def test_who_takes_the_key_over_takes_no_release_and_no_notice_over() -> None:
    """It may be a node that works: its end is decided anew, within the limits, and it drains first."""
    let_go = instance(
        phase=Phase.DRAINING,
        released=True,
        release_event=f"release.asked/north/{name(1)}/5",
        drain_asked=True,
        asked=1,
        ends_at=ENDED,
        notices=(("r1", ENDED),),
        noticed=True,
        cause=Cause.CLAIM_SHRANK,
    )
    over = said(LifecycleKind.DELETED, ENDED - 500, marked(), taken=False)
    shown = row(let_go, id="twin")
    after = passed(fleet(let_go), sight(shown, signals=stream(over))).fleet.instances[name(1)]
    assert (after.server, after.phase, after.cause) == ("twin", Phase.BOOTING, Cause.CLAIM_GREW)
    assert (after.released, after.release_event, after.drain_asked, after.ends_at) == (False, "", False, 0)
    assert (after.noticed, after.notices) == (False, ())
    assert after.node_once
    # past its agreed end it is so though nobody tells that it came
    unsaid = passed(fleet(let_go), sight(shown)).fleet.instances[name(1)]
    assert unsaid == after


@pytest.mark.parametrize(
    ("joined_at", "minutes", "server", "phase"),
    [
        (START - HOUR, 1, "server-1", Phase.DRAINING),
        (START - HOUR, -1, "twin", Phase.JOINED),
        (START - MINUTE, 1, "twin", Phase.JOINED),
        (0, 1, "twin", Phase.BOOTING),
    ],
    ids=["its node drains", "its end has come", "the node is another one", "no node"],
)
def test_who_drains_keeps_its_key_until_its_end_though_a_listing_shows_another_one_alone(
    joined_at: int, minutes: int, server: str, phase: Phase
) -> None:
    """Half a listing that calls itself whole ends no drain, and gives no node that works away."""
    draining = instance(
        phase=Phase.DRAINING, released=True, drain_asked=True, busy_units=0, ends_at=START + minutes * MINUTE
    )
    nodes = {name(1): node(draining, joined_at=joined_at)} if joined_at else {}
    census = passed(fleet(draining), sight(row(draining, id="twin"), nodes=nodes))
    after = census.fleet.instances[name(1)]
    assert (after.server, after.phase, after.released) == (server, phase, server == "server-1")


STANDS = Debt(FORECAST, name(1), Cause.NOTICE, "notice.received/north/n/r1")


@pytest.mark.parametrize("debts", [(STANDS,), ()], ids=["still owed", "paid by others"])
@pytest.mark.parametrize("joined", [True, False], ids=["a node", "no node yet"])
def test_who_takes_the_key_over_takes_no_failure_over_and_pays_what_is_owed(
    *, debts: tuple[Debt, ...], joined: bool
) -> None:
    """The boot that failed was the other one's. If its own fails as well, the debt that it paid stands again."""
    failed = instance(phase=Phase.FAILED, joined_at=0, started_at=0, busy_units=0, cause=Cause.CREATE_FAILED)
    nodes = {name(1): node(failed)} if joined else {}
    known = replace(fleet(failed), debts=debts)
    census = passed(known, sight(row(failed, id="twin"), nodes=nodes))
    after = census.fleet.instances[name(1)]
    assert (after.server, after.supply, after.released) == ("twin", True, False)
    assert census.fleet.debts == ()
    if not joined:
        again = passed(census.fleet, sight(row(failed, id="twin", status=Status.ERROR)))
        assert again.fleet.instances[name(1)].phase is Phase.FAILED
        assert again.fleet.debts == debts
        at_once = passed(known, sight(row(failed, id="twin", status=Status.ERROR)))
        assert at_once.fleet.instances[name(1)].phase is Phase.FAILED
        assert at_once.fleet.debts == debts


@pytest.mark.parametrize("status", [Status.ACTIVE, Status.ERROR])
def test_a_boot_that_fails_owes_nothing_while_a_second_server_has_its_key(status: Status) -> None:
    """It has the key and pays: bought once more, one notice would be paid by two."""
    asked = instance(phase=Phase.BOOTING, joined_at=0, started_at=0, requested_at=START)
    boots = replace(asked, cause=Cause.NOTICE, cause_event=STANDS.cause_event)
    both = (row(boots, status=Status.ERROR), row(boots, id="twin", status=status))
    census = passed(fleet(boots), sight(*both))
    after, works = census.fleet.instances[name(1)], status is Status.ACTIVE
    assert (after.phase, after.server == "twin") == (Phase.BOOTING if works else Phase.FAILED, works)
    assert census.fleet.debts == (() if works else (STANDS,))


@pytest.mark.parametrize(("status", "phase"), [(Status.ACTIVE, Phase.BOOTING), (Status.ERROR, Phase.FAILED)])
def test_what_failed_for_want_of_an_answer_and_came_after_all_is_there(status: Status, phase: Phase) -> None:
    """No server of it had failed: the first that has the key is what was asked for."""
    failed = instance(phase=Phase.FAILED, server="", joined_at=0, started_at=0, cause=Cause.CREATE_FAILED)
    known = replace(fleet(failed), debts=(STANDS,))
    census = passed(known, sight(row(failed, id="server-1", status=status)))
    after = census.fleet.instances[name(1)]
    assert (after.server, after.phase) == ("server-1", phase)
    assert census.fleet.debts == (() if phase is Phase.BOOTING else (STANDS,))
    assert not census.failures

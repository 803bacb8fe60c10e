"""What is told of two servers that had one key, and of one that never ran: each id says one thing."""

from __future__ import annotations

from dataclasses import replace

from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import LifecycleKind
from reconciler.fleet import Phase
from tests.reconciler.builders import fleet, instance, name, row, sight
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
    # of one that no listing shows, and whose end nobody told, the release stands
    hidden = passed(fleet(let_go), sight(shown)).fleet.instances[name(1)]
    assert (hidden.server, hidden.phase, hidden.released) == ("twin", Phase.DRAINING, True)

"""The provider lists its servers, but tells nothing: bills wait for its own times, and nothing is forgotten."""

from __future__ import annotations

from dataclasses import replace

from ledger.causes import Cause
from ledger.events import EventType
from pools.provider import Lifecycle, LifecycleKind, Notice, NoticeKind, Signals
from reconciler.census import take
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.sight import Census, Sight
from tests.reconciler.builders import HOUR, MINUTE, START, fleet, instance, listing, name, scribe, sight

SILENT = Signals(0, "1")
LEFT = instance(phase=Phase.DRAINING, released=True, deregistered=True)


def passed(fleet_: Fleet, shown: Sight) -> Census:
    return take(fleet_, shown, scribe(shown.now))


def deaf(known: Instance = LEFT) -> Fleet:
    """After a pass in which the listing lacks it and nobody told anything."""
    census = passed(fleet(known), sight(signals=SILENT))
    assert census.fleet.instances[name(1)].phase is Phase.GONE
    assert not [e for e in census.events if e.type is EventType.INSTANCE_ENDED]
    return passed(census.fleet, sight(now=START + MINUTE, signals=SILENT)).fleet


def told(*lifecycle: Lifecycle, notices: tuple[Notice, ...] = ()) -> Sight:
    return sight(now=START + 2 * MINUTE, signals=Signals(START + 2 * MINUTE, "2", notices, lifecycle=lifecycle))


def test_a_bill_ends_at_the_time_that_the_provider_tells_later() -> None:
    ended = Lifecycle(START - 3 * MINUTE, LifecycleKind.DELETED, LEFT.server, LEFT.name, LEFT.pool)
    census = passed(deaf(), told(ended))
    (event,) = census.events
    assert (event.type, event.occurred_at) == (EventType.INSTANCE_ENDED, START - 3 * MINUTE)
    assert name(1) not in passed(census.fleet, sight(now=START + 2 * HOUR)).fleet.instances


def test_a_bill_stays_open_while_the_stream_says_nothing_newer_than_its_end() -> None:
    other = Lifecycle(START - MINUTE, LifecycleKind.CREATED, "server-9", name(9), LEFT.pool)
    census = passed(deaf(), told(other))
    assert not census.events
    assert name(1) in census.fleet.instances


def test_a_bill_that_the_provider_never_ends_is_ended_when_it_was_missed() -> None:
    newer = Lifecycle(START + MINUTE, LifecycleKind.CREATED, "server-9", name(9), LEFT.pool)
    (event,) = passed(deaf(), told(newer)).events
    assert (event.type, event.occurred_at) == (EventType.INSTANCE_ENDED, START)
    (event,) = passed(deaf(), sight(now=START + 61 * MINUTE)).events
    assert (event.type, event.occurred_at) == (EventType.INSTANCE_ENDED, START)


def test_a_bill_that_the_provider_never_ends_is_not_ended_before_the_listing_that_misses_it() -> None:
    gone = passed(fleet(LEFT), sight(now=START - 5 * MINUTE, signals=SILENT, listing=listing(at=START))).fleet
    other = Lifecycle(START - MINUTE, LifecycleKind.CREATED, "server-9", name(9), LEFT.pool)
    assert not passed(gone, told(other)).events  # its own end may still follow
    newer = Lifecycle(START + MINUTE, LifecycleKind.CREATED, "server-9", name(9), LEFT.pool)
    (event,) = passed(gone, told(newer)).events
    assert (event.type, event.occurred_at) == (EventType.INSTANCE_ENDED, START)


def test_what_started_and_ended_unheard_is_billed_all_the_same() -> None:
    never = replace(LEFT, started_at=0, joined_at=0)
    census = passed(
        deaf(never),
        told(
            Lifecycle(START - 5 * MINUTE, LifecycleKind.ACTIVE, LEFT.server, LEFT.name, LEFT.pool),
            Lifecycle(START - 3 * MINUTE, LifecycleKind.DELETED, LEFT.server, LEFT.name, LEFT.pool),
        ),
    )
    assert [e.type for e in census.events] == [EventType.INSTANCE_STARTED, EventType.INSTANCE_ENDED]


def test_a_notice_that_is_heard_after_its_instance_is_gone_stands_in_the_ledger_and_owes_nothing() -> None:
    ends_at = START - 2 * MINUTE
    late = Notice("n-1", LEFT.server, LEFT.name, LEFT.pool, "r-1", NoticeKind.RECLAIM, START - 4 * MINUTE, ends_at)
    census = passed(deaf(), told(notices=(late,)))
    assert (EventType.NOTICE_RECEIVED, Cause.NOTICE) in [(e.type, e.cause) for e in census.events]
    assert not census.fleet.debts

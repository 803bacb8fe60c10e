"""What a server costs follows the provider's own words: where it started, where it was moved to, and when."""

from __future__ import annotations

from ledger.events import EventType
from pools.provider import Lifecycle, LifecycleKind, Signals, Status
from reconciler.census import Census, Sight, take
from reconciler.fleet import Fleet, Phase
from tests.reconciler.builders import MINUTE, OTHER_POOL, START, fleet, instance, row, scribe, sight


def passed(fleet_: Fleet, shown: Sight) -> Census:
    return take(fleet_, shown, scribe(shown.now))


def test_a_move_is_billed_from_the_providers_own_time_and_told_once() -> None:
    here = instance()
    said = Signals(START, "1", lifecycle=(Lifecycle(START - MINUTE, LifecycleKind.MOVED, "", here.name, OTHER_POOL),))
    moved = passed(fleet(here), sight(row(here, pool=OTHER_POOL, status=Status.MOVED), signals=said))
    (event,) = moved.events
    assert (event.type, event.occurred_at, event.pool) == (EventType.INSTANCE_MOVED, START - MINUTE, OTHER_POOL)
    assert not passed(moved.fleet, sight(row(here, pool=OTHER_POOL, status=Status.MOVED))).events


def test_a_move_that_only_the_listing_shows_is_billed_from_then_on() -> None:
    here = instance()
    (event,) = passed(fleet(here), sight(row(here, pool=OTHER_POOL, status=Status.MOVED))).events
    assert (event.type, event.occurred_at, event.pool) == (EventType.INSTANCE_MOVED, START, OTHER_POOL)
    assert not passed(fleet(here), sight(row(here, pool="", status=Status.MOVED))).events  # nobody says where


def test_a_server_that_moved_before_its_start_was_heard_is_billed_where_it_started() -> None:
    asked = instance(phase=Phase.BOOTING, started_at=0, joined_at=0, busy_units=0, requested_at=START - 3 * MINUTE)
    first = asked.pool
    said = (
        Lifecycle(START - 2 * MINUTE, LifecycleKind.ACTIVE, asked.server, asked.name, first),
        Lifecycle(START - MINUTE, LifecycleKind.MOVED, asked.server, asked.name, OTHER_POOL),
    )
    known = passed(fleet(asked), sight(row(asked, pool=OTHER_POOL, status=Status.MOVED))).fleet
    census = passed(known, sight(row(asked, pool=OTHER_POOL), signals=Signals(START, "1", lifecycle=said)))
    assert [(e.type, e.pool) for e in census.events] == [
        (EventType.INSTANCE_STARTED, first),
        (EventType.INSTANCE_MOVED, OTHER_POOL),
    ]

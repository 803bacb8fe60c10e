"""The census of servers that the provider moved: where they are, and where they are billed."""

from __future__ import annotations

import pytest

from contracts.frozen import replace
from ledger.events import EventType
from pools.provider import Lifecycle, LifecycleKind, Signals, Status
from tests.reconciler.builders import MINUTE, OTHER_POOL, START, fleet, instance, listing, row, sight
from tests.reconciler.test_census import after, booting, passed


def test_a_moved_server_changes_its_pool_and_an_unsaid_pool_is_unknown() -> None:
    here = instance()
    moved = passed(fleet(here), sight(row(here, pool=OTHER_POOL, status=Status.MOVED)))
    assert after(moved).pool == OTHER_POOL
    lost_track = passed(moved.fleet, sight(row(here, pool="", status=Status.MOVED)))
    assert after(lost_track).pool == ""
    assert after(passed(moved.fleet, sight(row(here, pool="")))).pool == OTHER_POOL


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


@pytest.mark.parametrize("behind", [10_000, 5 * MINUTE])
def test_a_move_that_only_the_listing_shows_is_billed_from_no_time_before_it(behind: int) -> None:
    """A look that goes on for long, a clock of ours that runs behind, and one in doubt, which stands still."""
    here = instance()
    rows = row(here, pool=OTHER_POOL, status=Status.MOVED)
    early = sight(rows, now=START - behind, listing=listing(rows, at=START))
    (event,) = passed(fleet(here), early).events
    assert (event.type, event.occurred_at, event.pool) == (EventType.INSTANCE_MOVED, START, OTHER_POOL)


def test_a_failure_that_only_the_listing_shows_is_told_at_its_time() -> None:
    here = instance()
    rows = row(here, status=Status.ERROR)
    early = sight(rows, now=START - 10_000, listing=listing(rows, at=START))
    (event,) = passed(fleet(here), early).events
    assert (event.type, event.occurred_at) == (EventType.INSTANCE_LOST, START)


def test_a_listing_from_before_a_move_moves_nothing_back() -> None:
    here = instance()
    said = Signals(START, "1", lifecycle=(Lifecycle(START - MINUTE, LifecycleKind.MOVED, "", here.name, OTHER_POOL),))
    lying = passed(fleet(here), sight(row(here), signals=said))
    assert [(e.occurred_at, e.pool) for e in lying.events] == [(START - MINUTE, OTHER_POOL)]
    assert after(lying).pool == OTHER_POOL


def test_a_server_that_moved_before_its_start_was_heard_is_billed_where_it_started() -> None:
    asked = booting(server="server-1")
    first = asked.pool
    said = (
        Lifecycle(START - 2 * MINUTE, LifecycleKind.ACTIVE, "server-1", asked.name, first),
        Lifecycle(START - MINUTE, LifecycleKind.MOVED, "server-1", asked.name, OTHER_POOL),
    )
    known = passed(fleet(asked), sight(row(asked, pool=OTHER_POOL, status=Status.MOVED))).fleet
    census = passed(known, sight(row(asked, pool=OTHER_POOL), signals=Signals(START, "1", lifecycle=said)))
    assert [(e.type, e.pool) for e in census.events] == [
        (EventType.INSTANCE_STARTED, first),
        (EventType.INSTANCE_MOVED, OTHER_POOL),
    ]


def test_a_listing_that_shows_where_a_moved_server_once_was_tells_no_move_back() -> None:
    here = instance()
    said = Signals(START, "1", lifecycle=(Lifecycle(START - MINUTE, LifecycleKind.MOVED, "", here.name, OTHER_POOL),))
    moved = passed(fleet(here), sight(row(here, pool=OTHER_POOL, status=Status.MOVED), signals=said))
    stale = passed(moved.fleet, sight(row(here)))
    assert (after(stale).pool, stale.events) == (OTHER_POOL, [])
    back = Signals(START, "2", lifecycle=(Lifecycle(START, LifecycleKind.MOVED, "", here.name, here.pool),))
    assert after(passed(stale.fleet, sight(row(here), signals=back))).pool == here.pool


def test_where_the_stream_alone_says_a_server_started_no_listing_shows_a_move_to_it() -> None:
    asked = replace(booting(server="server-1"), pool="")
    said = (Lifecycle(START - MINUTE, LifecycleKind.ACTIVE, "server-1", asked.name, OTHER_POOL),)
    known = passed(fleet(asked), sight(row(asked, pool=""), signals=Signals(START, "1", lifecycle=said)))
    (event,) = known.events
    assert (event.type, event.occurred_at, event.pool) == (EventType.INSTANCE_STARTED, START - MINUTE, OTHER_POOL)
    assert after(known).pool == OTHER_POOL
    assert not passed(known.fleet, sight(row(asked, pool=OTHER_POOL))).events


def test_a_move_that_a_clock_behind_sees_is_billed_from_the_start_and_not_before_it() -> None:
    here = replace(instance(), started_at=START + MINUTE)
    (event,) = passed(fleet(here), sight(row(here, pool=OTHER_POOL, status=Status.MOVED))).events
    assert (event.type, event.occurred_at, event.pool) == (EventType.INSTANCE_MOVED, START + MINUTE, OTHER_POOL)

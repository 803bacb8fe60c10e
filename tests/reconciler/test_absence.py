"""Listings that lack rows, and servers that come back after they were held to be gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from pools.provider import Advisory, Lifecycle, LifecycleKind, Mark, Signals, Status
from reconciler.census import take
from reconciler.doubts import BELIEVED_AFTER_MS, BELIEVED_LISTINGS
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.sight import Census, Sight
from reconciler.steps import StepKind
from tests.reconciler.builders import (
    ESTATE,
    FORECAST,
    HOUR,
    MINUTE,
    POOL,
    REGION,
    SECOND,
    START,
    Region,
    fleet,
    instance,
    listing,
    node,
    row,
    scribe,
    sight,
)

SILENT = frozenset({FORECAST})
HERE = instance()
SHOWN = {HERE.name: node(HERE)}


def passed(known: Fleet, shown: Sight) -> Census:
    return take(known, shown, scribe(shown.now))


def after(census: Census) -> Instance:
    return census.fleet.instances[HERE.name]


def types(census: Census) -> list[EventType]:
    return [event.type for event in census.events]


def lost() -> Fleet:
    """A fleet whose one instance a listing lacked, while its scheduler did not show it either."""
    census = passed(fleet(HERE), sight())
    assert after(census).phase is Phase.GONE
    return census.fleet


def silent(at: int) -> Sight:
    """A whole listing without it, while nobody else speaks for it or against it."""
    return sight(now=at, silent_workloads=SILENT)


def test_what_its_scheduler_shows_is_never_gone_by_listings_however_many() -> None:
    known = fleet(HERE)
    for minute in range(120):
        census = passed(known, sight(now=START + minute * MINUTE, nodes=SHOWN))
        known = census.fleet
        assert after(census).phase is Phase.SERVING
        assert census.unexplained == [HERE.name]
        assert not census.losses


def test_an_advisory_explains_no_absence_of_a_node_that_is_shown() -> None:
    signals = Signals(START, "1", advisories=(Advisory(POOL, START - HOUR, START + HOUR),))
    assert not passed(fleet(HERE), sight(signals=signals, nodes=SHOWN)).losses


def test_the_providers_own_word_of_its_end_outweighs_a_scheduler_that_lags() -> None:
    end = Lifecycle(START - SECOND, LifecycleKind.DELETED, HERE.server, HERE.name, POOL)
    census = passed(fleet(HERE), sight(signals=Signals(START, "1", lifecycle=(end,)), nodes=SHOWN))
    assert census.losses[0].at == START - SECOND


def test_its_word_is_remembered_until_a_listing_follows_it() -> None:
    end = Lifecycle(START - SECOND, LifecycleKind.DELETED, HERE.server, HERE.name, POOL)
    told = passed(fleet(HERE), sight(row(HERE), signals=Signals(START, "1", lifecycle=(end,)), nodes=SHOWN)).fleet
    census = passed(told, sight(now=START + MINUTE, nodes=SHOWN))
    assert census.losses[0].at == START - SECOND


def test_a_noticed_node_that_is_shown_and_still_drains_has_not_ended_before_its_time() -> None:
    noticed = replace(
        HERE,
        noticed=True,
        phase=Phase.DRAINING,
        ends_at=START + MINUTE,
        notices=(("r1", START + MINUTE),),
        notice_events=(("r1", "notice.received/1"),),
    )
    census = passed(fleet(noticed), sight(nodes=SHOWN))
    assert after(census).phase is Phase.DRAINING
    assert not census.unexplained, "a notice stands on it: it is no riddle"
    done = {HERE.name: node(HERE, drained="verified")}
    early = passed(fleet(noticed), sight(nodes=done))
    assert after(early).phase is Phase.DRAINING, "a notice explains nothing before its end"
    ended = passed(early.fleet, sight(now=START + MINUTE, nodes=done))
    assert after(ended).phase is Phase.GONE
    assert [loss.cause for loss in ended.losses] == [Cause.LOST_AFTER_NOTICE]


def test_what_the_provider_took_is_told_as_lost_though_we_asked_to_have_it_deleted() -> None:
    noticed = replace(HERE, noticed=True, released=True, phase=Phase.DRAINING, ends_at=START, started_at=1)
    ends = {
        taken: Lifecycle(START, LifecycleKind.DELETED, HERE.server, HERE.name, POOL, taken=taken)
        for taken in (True, False)
    }
    told = {
        taken: passed(fleet(noticed), sight(now=START + MINUTE, signals=Signals(START + MINUTE, "1", lifecycle=(end,))))
        for taken, end in ends.items()
    }
    lost = {
        taken: [e.occurred_at for e in census.events if e.type is EventType.INSTANCE_LOST]
        for taken, census in told.items()
    }
    assert lost == {True: [START], False: []}
    agreed = fleet(replace(noticed, release_event="release.asked/1"))
    heard = passed(agreed, sight(now=START + MINUTE, signals=Signals(START + MINUTE, "1", lifecycle=(ends[True],))))
    assert EventType.INSTANCE_LOST not in [e.type for e in heard.events], "an agreed return is no loss"


def word(at: int, kind: LifecycleKind = LifecycleKind.DELETED) -> Signals:
    """The provider says that it took the server at `at`."""
    mark = Mark(ESTATE, REGION, HERE.name, HERE.epoch, HERE.workload, HERE.units, HERE.paid.value)
    end = Lifecycle(at, kind, HERE.server, HERE.name, POOL, "", HERE.project, mark, taken=True)
    return Signals(at, "1", lifecycle=(end,))


def told_lost(census: Census) -> list[tuple[str, int]]:
    return [(e.id, e.occurred_at) for e in census.events if e.type is EventType.INSTANCE_LOST]


def test_the_providers_time_of_a_loss_stands_whatever_our_clock_says() -> None:
    behind = passed(fleet(HERE), sight(now=START - MINUTE, signals=word(START)))
    assert told_lost(behind) == [(f"instance.lost/north/{HERE.name}", START)]


def test_what_was_believed_lost_is_told_once_more_by_the_providers_word() -> None:
    believed = lost()
    (belief,) = {i.cause_event for i in believed.instances.values()}
    assert belief == f"instance.lost/north/{HERE.name}/{START}"
    heard = passed(believed, sight(now=START + MINUTE, signals=word(START - SECOND)))
    assert told_lost(heard) == [(f"instance.lost/north/{HERE.name}", START - SECOND)]
    assert not told_lost(passed(heard.fleet, sight(now=START + MINUTE, signals=word(START - SECOND)))), "once"


def test_what_we_asked_to_have_deleted_is_lost_once_the_provider_says_later_that_it_took_it() -> None:
    asked = replace(HERE, noticed=True, released=True, phase=Phase.DRAINING, ends_at=START, started_at=1)
    gone = passed(fleet(asked), sight())
    assert not told_lost(gone)
    heard = passed(gone.fleet, sight(now=START + MINUTE, signals=word(START - SECOND)))
    assert told_lost(heard) == [(f"instance.lost/north/{HERE.name}", START - SECOND)]
    assert not told_lost(passed(heard.fleet, sight(now=START + MINUTE, signals=word(START - SECOND)))), "once"


def test_one_that_failed_before_it_ran_is_not_lost_while_nobody_says_that_it_is_gone() -> None:
    asked = replace(HERE, phase=Phase.BOOTING, started_at=0, joined_at=0, requested_at=START - SECOND)
    census = passed(fleet(asked), sight(signals=word(START, LifecycleKind.FAILED)))
    assert not told_lost(census)
    assert after(census).supply


def test_a_release_is_over_when_its_end_has_passed_whatever_its_scheduler_still_shows() -> None:
    for ends_at, phase in ((START + 1, Phase.DRAINING), (START, Phase.GONE)):
        released = replace(HERE, released=True, phase=Phase.DRAINING, ends_at=ends_at)
        assert after(passed(fleet(released), sight(nodes=SHOWN))).phase is phase


def test_where_nobody_else_speaks_for_it_enough_whole_listings_over_enough_time_are_believed() -> None:
    known = fleet(HERE)
    step = BELIEVED_AFTER_MS // (BELIEVED_LISTINGS - 1)
    for number in range(BELIEVED_LISTINGS - 1):
        known = passed(known, silent(START + number * step)).fleet
        assert known.instances[HERE.name].phase is Phase.SERVING
    census = passed(known, silent(START + BELIEVED_AFTER_MS))
    assert after(census).phase is Phase.GONE
    assert census.losses[0].cause is Cause.LOST_WITHOUT_NOTICE
    assert census.losses[0].at == START


def test_listings_alone_end_nothing_before_the_end_that_its_notice_gives() -> None:
    ends_at = START + 4 * BELIEVED_AFTER_MS
    known = fleet(replace(HERE, noticed=True, phase=Phase.DRAINING, ends_at=ends_at))
    drained = {HERE.name: node(HERE, drained="verified")}
    for now in range(START, ends_at, MINUTE):
        known = passed(known, sight(now=now, nodes=drained)).fleet
        assert known.instances[HERE.name].phase is Phase.DRAINING
    assert after(passed(known, sight(now=ends_at, nodes=drained))).phase is Phase.GONE


def test_many_listings_in_a_short_time_are_not_enough() -> None:
    known = fleet(HERE)
    for second in range(60):
        known = passed(known, silent(START + second * SECOND)).fleet
    assert known.instances[HERE.name].phase is Phase.SERVING


def test_the_same_listing_again_is_one_witness() -> None:
    known = fleet(HERE)
    for minute in range(20):
        old = replace(silent(START + minute * MINUTE), listing=listing(at=START))
        known = passed(known, old).fleet
    assert known.instances[HERE.name].missing_listings == 1
    assert known.instances[HERE.name].phase is Phase.SERVING


def test_a_create_is_as_young_as_the_slower_of_our_clock_and_the_providers_says() -> None:
    asked = fleet(replace(HERE, server="", phase=Phase.REQUESTED, started_at=0, joined_at=0, requested_at=START))
    for now, listed_at in ((START + SECOND, START + 3 * MINUTE), (START + 3 * MINUTE, START + SECOND)):
        assert after(passed(asked, sight(now=now, listing=listing(at=listed_at)))).phase is Phase.REQUESTED
    assert after(passed(asked, sight(now=START + MINUTE))).phase is Phase.FAILED


# -- found again ------------------------------------------------------------------------------------------------------


def test_what_was_held_to_be_gone_and_is_listed_again_is_ours_in_its_own_phase() -> None:
    census = passed(lost(), sight(row(HERE), now=START + MINUTE, nodes=SHOWN))
    assert after(census).phase is Phase.SERVING
    assert after(census).joined_at == HERE.joined_at
    assert types(census) == [EventType.INSTANCE_FOUND]
    (found,) = census.events
    assert found.cause is Cause.FOUND_AGAIN
    assert found.caused_by == f"instance.lost/north/{HERE.name}/{START}"
    assert found.data == {"to_ms": 0}, "its bill was not said to have an end"


def test_the_end_that_a_bill_was_said_to_have_is_named_as_none() -> None:
    closed = passed(lost(), sight(now=START + 61 * MINUTE)).fleet
    (found,) = passed(closed, sight(row(HERE), now=START + 62 * MINUTE, nodes=SHOWN)).events
    assert found.data == {"to_ms": START}


def test_nothing_is_owed_any_more_for_what_is_found_again() -> None:
    assert [debt.instance for debt in lost().debts] == [HERE.name]
    assert not passed(lost(), sight(row(HERE), now=START + MINUTE, nodes=SHOWN)).fleet.debts


def test_one_that_is_found_again_and_lost_once_more_has_another_loss_and_another_end() -> None:
    back = passed(lost(), sight(row(HERE), now=START + MINUTE, nodes=SHOWN)).fleet
    gone = passed(back, sight(now=START + 2 * MINUTE))
    events = [*gone.events, *passed(gone.fleet, sight(now=START + 63 * MINUTE)).events]
    ids = {event.id for event in events}
    assert ids == {
        f"instance.lost/north/{HERE.name}/{START + 2 * MINUTE}",
        f"instance.ended/north/{HERE.name}/{START + 2 * MINUTE}",
    }
    assert {event.occurred_at for event in events} == {START + 2 * MINUTE}


def test_a_listing_that_shows_what_the_provider_said_had_ended_brings_nobody_back() -> None:
    end = Lifecycle(START, LifecycleKind.DELETED, HERE.server, HERE.name, POOL)
    gone = passed(fleet(HERE), sight(signals=Signals(START, "1", lifecycle=(end,)))).fleet
    census = passed(gone, sight(row(HERE), now=START + MINUTE))
    assert after(census).phase is Phase.GONE
    assert not census.events
    assert not census.strays


def test_a_release_goes_on_where_a_listing_hid_its_server_for_a_while() -> None:
    released = replace(HERE, released=True, phase=Phase.DRAINING, ends_at=START, drain_asked=True)
    gone = passed(fleet(released), sight()).fleet
    census = passed(gone, sight(row(HERE), now=START + MINUTE))
    assert (after(census).phase, after(census).released) == (Phase.DRAINING, True)


@pytest.mark.parametrize("status", [Status.ACTIVE, Status.UNKNOWN, Status.BUILDING])
def test_what_only_its_mark_remembers_is_never_said_to_have_never_joined(status: Status) -> None:
    old = row(replace(HERE, requested_at=START - HOUR), status=status)
    census = passed(Fleet(), sight(old))
    for minute in range(60):
        census = passed(census.fleet, sight(old, now=START + minute * MINUTE))
    assert after(census).phase is Phase.BOOTING
    assert not census.failures


def test_what_an_empty_memory_finds_and_no_scheduler_shows_is_released_before_anything_ends_it() -> None:
    region = Region().settled(forecast=12)
    away = region.busy()
    region.schedulers.leave(away)
    region.reconciler = region.leader()
    kinds = [
        step.kind
        for _ in range(20)
        for step in region.cycle().allowed
        if step.instance == away and step.kind in (StepKind.RELEASE, StepKind.DELETE)
    ]
    assert kinds[:2] == [StepKind.RELEASE, StepKind.DELETE]
    (release,) = region.told(EventType.RELEASE_ASKED)
    assert release.cause is Cause.LEFT_SCHEDULER
    assert not region.told(EventType.INSTANCE_FAILED)

"""The start of a bill is a fact that the provider's stream says: whoever hears it tells it, whatever else it missed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Lifecycle, LifecycleKind, Status
from reconciler.fleet import Fleet, Instance, Phase
from tests.reconciler.builders import (
    FORECAST,
    MINUTE,
    POOL,
    Region,
    fleet,
    instance,
    name,
    node,
    row,
    sight,
)
from tests.reconciler.test_takeover import (
    ACTIVE,
    BORN,
    ENDED,
    NOTICED,
    about,
    facts,
    life,
    marked,
    notice,
    passed,
    said,
    stream,
)

STARTED = EventType.INSTANCE_STARTED


def unbegun(**changes: object) -> Instance:
    """One that was asked for and answered, and of whose start nothing was said yet."""
    made = instance(requested_at=BORN, started_at=0, joined_at=0, busy_units=0, phase=Phase.BOOTING)
    return replace(made, **changes)  # type: ignore[arg-type]  # the dataclass checks the names


def starts(events: list[Event]) -> list[tuple[str, int]]:
    return [(event.id, event.occurred_at) for event in events if event.type is STARTED]


BEGAN = [(about(STARTED), ACTIVE)]


# -- what vanished without a word --------------------------------------------------------------------------------------


def test_of_what_vanished_without_a_word_start_and_notices_are_told_and_no_end() -> None:
    census = passed(fleet(), sight(signals=stream(*life(marked())[:2], notices=(notice(),))))
    assert facts(census.events) == [
        (STARTED, ACTIVE, Cause.CLAIM_GREW, about(EventType.INSTANCE_REQUESTED)),
        (EventType.NOTICE_RECEIVED, NOTICED, Cause.NOTICE, ""),
    ]
    assert (census.fleet.instances, census.fleet.debts, census.losses, census.notices) == ({}, (), [], [])


def test_who_finds_it_listed_later_tells_the_same_start() -> None:
    shown = sight(signals=stream(*life(marked())[:2]))
    hidden = passed(fleet(), shown)
    listed = passed(hidden.fleet, replace(sight(row(instance())), signals=shown.signals))
    assert [event.id for event in listed.events] == [about(STARTED)]
    assert listed.events == [event for event in hidden.events if event.type is STARTED]


def test_a_node_whose_server_vanished_without_a_word_is_not_held_to_be_gone() -> None:
    left = {name(1): node(instance())}
    census = passed(fleet(), sight(signals=stream(*life(marked())[:2]), nodes=left))
    assert not census.fleet.instances
    assert name(1) in census.unexplained


def test_an_adopted_server_without_an_end_is_told_by_whoever_marked_it() -> None:
    """It began as somebody else's: where it stood when it became ours, the stream does not say."""
    mark = replace(marked(), name="old-1", since=ACTIVE + MINUTE)
    moved = said(LifecycleKind.MOVED, ENDED, mark)
    assert not passed(fleet(), sight(signals=stream(moved))).events


def test_of_two_servers_under_one_key_the_one_that_ran_and_vanished_has_its_start_told() -> None:
    never = (
        said(LifecycleKind.CREATED, BORN, marked(), server="twin"),
        said(LifecycleKind.DELETED, ENDED, marked(), server="twin"),
    )
    assert starts(passed(fleet(), sight(signals=stream(*life(marked())[:2], *never))).events) == BEGAN


def test_a_site_that_lost_everything_tells_the_start_of_what_vanished_meanwhile() -> None:
    """The leader of before never came to hear of it: its disk, its store and its server are gone without a word."""
    region = Region()
    region.schedulers.want(FORECAST, 1)
    region.cycle()
    server = next(one for one in region.servers())
    assert server.mark is not None
    vanished = server.mark.name
    region.now += MINUTE
    region.cloud.settle()
    region.cloud.lose(server.id)
    assert not [event for event in region.told(STARTED) if event.instance == vanished]
    region.journal.content = None
    region.reconciler = region.leader()
    region.cycle(600)
    assert [event.instance for event in region.told(STARTED) if event.instance == vanished] == [vanished]
    assert not [event for event in region.told(EventType.INSTANCE_LOST) if event.instance == vanished]


# -- what was heard from the middle on ---------------------------------------------------------------------------------


def test_an_end_that_is_heard_without_its_beginning_is_told_once_the_stream_is_read_again() -> None:
    """A listing hid it when it began, or it was another leader's: told now, its loss would lack its notice."""
    lived = life(marked())
    end = sight(signals=stream(lived[-1]), from_beginning=False)
    census = passed(fleet(), end)
    assert not census.events
    assert census.cursor("7", "8") == ""
    again = passed(census.fleet, sight(signals=stream(*lived, notices=(notice(),))))
    assert not again.missed
    assert starts(again.events) == BEGAN
    assert [event.cause for event in again.events if event.type is EventType.INSTANCE_LOST] == [Cause.LOST_AFTER_NOTICE]


def test_an_end_whose_beginning_the_provider_keeps_no_more_is_told_as_it_is() -> None:
    census = passed(fleet(), sight(signals=stream(life(marked())[-1])))
    assert not census.missed
    assert [event.type for event in census.events] == [EventType.INSTANCE_LOST]


def test_a_life_that_is_heard_whole_is_told_at_once_wherever_the_stream_was_taken_up() -> None:
    census = passed(fleet(), sight(signals=stream(*life(marked())), from_beginning=False))
    assert not census.missed
    assert starts(census.events) == BEGAN


@pytest.mark.parametrize("status", [Status.BUILDING, Status.ACTIVE, Status.MOVED])
def test_what_comes_back_from_its_mark_has_the_stream_read_again_whatever_its_row_says(status: Status) -> None:
    """A listing may be behind the stream, and a server that moved ran before it did."""
    census = passed(Fleet(), sight(row(instance(), status=status)))
    assert census.cursor("7", "8") == ""
    again = passed(census.fleet, sight(row(instance()), signals=stream(*life(marked())[:2])))
    assert starts(again.events) == BEGAN
    assert again.cursor("", "8") == "8"


# -- what was said of another server, or of one that stood nobody knew where -------------------------------------------

OTHER = tuple(replace(one, server="twin") for one in life(marked()))


def test_the_start_of_the_server_that_takes_a_key_over_is_asked_for_again() -> None:
    known = passed(fleet(unbegun()), sight(row(instance()), signals=stream(*OTHER[:2])))
    assert not starts(known.events)
    stepped = passed(known.fleet, sight(row(instance(), id="twin")))
    assert stepped.cursor("7", "8") == ""
    again = passed(stepped.fleet, sight(row(instance(), id="twin"), signals=stream(*OTHER[:2])))
    assert starts(again.events) == BEGAN


def test_who_takes_a_key_over_whose_bill_has_begun_asks_for_nothing() -> None:
    assert not passed(fleet(instance()), sight(row(instance(), id="twin"))).missed


def nowhere(*lifecycle: Lifecycle) -> tuple[Lifecycle, ...]:
    return tuple(replace(one, pool="") for one in lifecycle)


def test_a_start_that_says_no_place_is_told_once_a_listing_says_it() -> None:
    told = stream(*nowhere(*life(marked())[:2]))
    placeless = unbegun(pool="")
    first = passed(fleet(placeless), sight(row(placeless), signals=told))
    assert not starts(first.events)
    shown = row(instance())
    second = passed(first.fleet, sight(shown))
    assert second.cursor("7", "8") == ""
    third = passed(second.fleet, sight(shown, signals=told))
    assert starts(third.events) == BEGAN
    assert [event.pool for event in third.events if event.type is STARTED] == [POOL]

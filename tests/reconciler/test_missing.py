"""What a listing lacks of what others speak of, and of what an improbable share is one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pools.provider import Lifecycle, LifecycleKind, Listing, Part, Signals
from reconciler.blast_radius import GuardState, rooms
from reconciler.census import take
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.pacing import RAMP_CYCLES
from reconciler.sight import Census, Sight
from reconciler.steps import StepKind
from tests.reconciler.builders import (
    FORECAST,
    HOUR,
    MINUTE,
    POOL,
    PROJECT,
    REGION,
    SECOND,
    START,
    fleet,
    instance,
    node,
    part,
    row,
    scribe,
    sight,
)

SILENT = frozenset({FORECAST})
HERE = instance()


def passed(known: Fleet, shown: Sight) -> Census:
    return take(known, shown, scribe(shown.now))


def after(census: Census) -> Instance:
    return census.fleet.instances[HERE.name]


# -- a row without an id ----------------------------------------------------------------------------------------------

YOUNG = replace(HERE, phase=Phase.REQUESTED, server="", started_at=0, joined_at=0, requested_at=START - SECOND)
UNANSWERED = replace(YOUNG, requested_at=START - HOUR)
AGED = replace(HERE, missing_since=START - HOUR, missing_at=START - MINUTE, missing_listings=9)


@pytest.mark.parametrize(
    "known",
    [HERE, AGED, YOUNG, UNANSWERED, replace(YOUNG, phase=Phase.BOOTING, server="server-1")],
    ids=["left its scheduler", "missing for long", "just asked for", "never answered", "booting"],
)
def test_what_a_row_without_an_id_is_marked_with_is_neither_gone_nor_young_nor_unanswered(known: Instance) -> None:
    half = row(known, id="")
    census = passed(fleet(known), sight(half))
    assert (after(census).phase, census.unexplained) == (known.phase, [HERE.name])
    assert not census.losses
    assert not census.failures
    assert after(census).missing_listings == 0, "no witness that it is gone"


@pytest.mark.parametrize(
    ("known", "absent"),
    [
        (replace(HERE, phase=Phase.FAILED), 1),
        (replace(HERE, phase=Phase.DRAINING, released=True, ends_at=START), 1),
        (replace(HERE, phase=Phase.DRAINING, noticed=True, ends_at=START), 1),
    ],
    ids=["failed", "released", "noticed"],
)
def test_what_was_let_go_waits_for_its_row_to_go_and_is_no_riddle(known: Instance, absent: int) -> None:
    census = passed(fleet(known), sight(row(known, id="")))
    assert (after(census).phase, census.unexplained, census.absent) == (known.phase, [], absent)
    assert after(passed(census.fleet, sight(now=START + MINUTE))).phase is Phase.GONE


def test_the_providers_word_and_a_person_outweigh_a_row_without_an_id() -> None:
    half = row(HERE, id="")
    assert after(passed(fleet(HERE), sight(half, signals=said(LifecycleKind.DELETED)))).phase is Phase.GONE
    known = passed(fleet(HERE), sight(half)).fleet
    assert after(passed(known, sight(half, now=START + MINUTE, accepted_at=START))).phase is Phase.GONE


# -- the provider's stream --------------------------------------------------------------------------------------------


def said(kind: LifecycleKind) -> Signals:
    """The provider says a second ago what became of the server."""
    return Signals(START, "1", lifecycle=(Lifecycle(START - SECOND, kind, "server-1", HERE.name, POOL),))


@pytest.mark.parametrize("made", [True, False])
def test_what_the_stream_says_runs_was_made_though_its_answer_never_came(made: bool) -> None:
    census = passed(fleet(UNANSWERED), sight(signals=said(LifecycleKind.ACTIVE) if made else None))
    assert (after(census).phase, len(census.failures)) == ((Phase.REQUESTED, 0) if made else (Phase.FAILED, 1))
    assert census.unexplained == ([HERE.name] if made else [])
    over = passed(census.fleet, sight(now=START + MINUTE, signals=said(LifecycleKind.DELETED)))
    assert after(over).phase is Phase.GONE


# -- what stands ------------------------------------------------------------------------------------------------------

FIVE_LACK = [instance(number) for number in range(10, 50)]
LISTED = [row(one) for one in FIVE_LACK[5:]]
ASKED = replace(YOUNG, requested_at=START - SECOND)


def many(one: Instance) -> list[Instance]:
    return [replace(one, name=f"eb-north-1-{900 + number:06d}") for number in range(20)]


@pytest.mark.parametrize(
    "beside",
    [
        ASKED,
        replace(HERE, phase=Phase.DRAINING, noticed=True, ends_at=START + HOUR),
        UNANSWERED,
        replace(ASKED, phase=Phase.FAILED),
    ],
    ids=["just asked for", "noticed and not listed", "never answered", "failed before it was"],
)
def test_what_nobody_shows_and_no_riddle_is_makes_no_share_smaller(beside: Instance) -> None:
    census = passed(fleet(*FIVE_LACK, *many(beside)), sight(*LISTED, silent_workloads=SILENT))
    assert (len(census.unexplained), census.stands) == (5, 40)


@pytest.mark.parametrize(
    ("known", "stands"), [(replace(HERE, project="other"), 60), (replace(ASKED, project="other"), 40)]
)
def test_what_an_incomplete_listing_may_hide_stands_and_what_was_only_asked_for_does_not(
    known: Instance, stands: int
) -> None:
    parts = (Part(PROJECT, complete=True), Part("other", complete=False))
    shown = sight(projects=frozenset({PROJECT, "other"}), silent_workloads=SILENT)
    there = many(replace(known, project="other"))
    census = passed(fleet(*FIVE_LACK, *there), replace(shown, listing=Listing(START, tuple(LISTED), parts)))
    assert (len(census.unexplained), census.stands) == (5, stands)


def test_what_the_provider_said_had_ended_stands_no_more_though_a_listing_shows_it() -> None:
    ended = [instance(number) for number in range(60, 80)]
    over = [Lifecycle(START, LifecycleKind.DELETED, one.server, one.name, one.pool) for one in ended]
    nodes = {one.name: node(one) for one in ended}
    known = fleet(*FIVE_LACK, *ended)
    for minute in (0, 3, 6):
        told = Signals(START, "1", lifecycle=tuple(over) if not minute else ())
        shown = sight(*LISTED, *map(row, ended), now=START + minute * MINUTE, signals=told, nodes=nodes)
        census = passed(known, replace(shown, silent_workloads=SILENT))
        assert (len(census.unexplained), census.stands) == (5, 40)
        assert not census.losses, "five of forty are an improbable share"
        assert sum(one.stands for one in census.fleet.instances.values()) == 35
        known = census.fleet


@pytest.mark.parametrize(
    ("beside", "allowed"),
    [
        (instance(900), 3),
        (instance(900, phase=Phase.DRAINING, released=True), 3),
        (instance(900, phase=Phase.DRAINING, released=True, end_told=True), 2),
        (instance(900, end_told=True), 2),
        (instance(900, missing_since=START), 2),
        (instance(900, phase=Phase.REQUESTED, server="", started_at=0, joined_at=0), 2),
        (instance(900, phase=Phase.GONE), 2),
    ],
    ids=["stands", "drains", "ended, by the provider", "lost, by the provider", "missing", "only asked for", "gone"],
)
def test_a_share_of_releases_is_one_of_what_stands(beside: Instance, allowed: int) -> None:
    known, seen = fleet(*[instance(n) for n in range(1, 60)], beside), GuardState(cycles_since_blind=RAMP_CYCLES)
    assert rooms(known, part().estate.region(REGION).guard, seen)[StepKind.RELEASE].left == allowed


def test_what_ended_before_anybody_listed_it_is_left_out_once() -> None:
    parts = (Part(PROJECT, complete=True), Part("other", complete=False))
    asked = replace(ASKED, server="", project="other")
    over = (Lifecycle(START, LifecycleKind.DELETED, "server-9", asked.name, asked.pool),)
    for end in ((), over):
        shown = sight(projects=frozenset({PROJECT, "other"}), signals=Signals(START, "1", lifecycle=end))
        census = passed(fleet(*FIVE_LACK[5:], asked), replace(shown, listing=Listing(START, tuple(LISTED), parts)))
        assert census.stands == 35


def test_an_improbable_share_is_believed_no_sooner_for_what_is_on_its_way_out() -> None:
    leaving = many(replace(HERE, phase=Phase.DRAINING, noticed=True, ends_at=START + HOUR))
    for beside, gone in ((leaving, 0), ([instance(number) for number in range(60, 80)], 5)):
        known = fleet(*FIVE_LACK, *beside)
        for minute in (0, 3, 6):
            rows = [*LISTED, *map(row, beside if gone else ())]
            census = passed(known, sight(*rows, now=START + minute * MINUTE, silent_workloads=SILENT))
            known = census.fleet
        assert len(census.losses) == gone

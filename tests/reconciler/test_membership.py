"""A node is what its scheduler shows: what left it serves nobody, and is drained and replaced when it stays away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from pools.provider import Status
from reconciler.census import take
from reconciler.fleet import Phase
from reconciler.membership import as_node
from reconciler.outcomes import released
from reconciler.steps import StepKind
from tests.reconciler.builders import (
    FORECAST,
    START,
    Region,
    fleet,
    instance,
    node,
    of_kind,
    row,
    scribe,
    sight,
    step,
)

JOIN_TIMEOUT_S = 600


def away() -> tuple[Region, str]:
    """A settled region in which one busy node left its scheduler while its server lives."""
    region = Region().settled(forecast=12)
    gone = region.busy()
    region.schedulers.leave(gone)
    return region, gone


def test_a_node_that_left_its_scheduler_runs_nothing_and_stays_supply_for_the_join_timeout() -> None:
    region, gone = away()
    region.cycle()
    instance = region.reconciler.memory.fleet.instances[gone]
    assert instance.supply
    assert not instance.ready
    assert instance.busy_units == 0
    assert not of_kind(region.cycle(JOIN_TIMEOUT_S - 120), StepKind.RELEASE)


def test_a_node_that_stays_away_is_released_replaced_and_then_deleted() -> None:
    region, gone = away()
    supply = region.supply()
    region.cycle()
    (release,) = of_kind(region.cycle(JOIN_TIMEOUT_S), StepKind.RELEASE)
    assert (release.instance, release.cause) == (gone, Cause.LEFT_SCHEDULER)
    assert region.reconciler.memory.fleet.instances[gone].phase is Phase.DRAINING
    server = region.server_id(gone)
    for _ in range(4):
        region.cycle()
    assert server not in region.cloud.servers
    assert region.supply() == supply
    assert not region.told(EventType.INSTANCE_LOST)


def test_a_node_that_comes_back_in_time_goes_on() -> None:
    region, gone = away()
    region.cycle()
    region.schedulers.join(gone, busy=1)
    region.cycle()
    assert region.reconciler.memory.fleet.instances[gone].ready
    assert not of_kind(region.cycle(JOIN_TIMEOUT_S), StepKind.RELEASE)


def test_a_silent_scheduler_is_no_word_about_its_nodes() -> None:
    region, gone = away()
    region.schedulers.silent.add(region.part.contract_by_name[FORECAST].cluster)
    region.cycle()
    region.cycle(JOIN_TIMEOUT_S)
    assert region.reconciler.memory.fleet.instances[gone].ready


def test_a_node_heard_of_its_release_when_it_drains_and_not_when_it_answers() -> None:
    told = instance(1, phase=Phase.DRAINING, released=True, asked=1, ends_at=START)
    working = node(told)
    assert not as_node(told, working, scribe(), silent=False)[0].drain_asked
    assert as_node(told, replace(working, draining_until=START), scribe(), silent=False)[0].drain_asked
    assert as_node(told, replace(working, drained="overrun"), scribe(), silent=False)[0].drain_asked


@pytest.mark.parametrize(("joined_at", "settled"), [(0, False), (START, True)], ids=["never a node", "once a node"])
def test_no_such_node_settles_the_drain_of_one_that_had_joined_alone(joined_at: int, settled: bool) -> None:
    """What boots and may be a node that nobody shows is none yet, and is asked again once it is one."""
    one = instance(1, joined_at=joined_at, unsure_since=START)
    release = step(StepKind.RELEASE, 1)
    assert released(one, release, ends_at=START, heard=True, gone=True).drain_asked is settled


@pytest.mark.parametrize(
    ("status", "shown", "phase"),
    [
        (Status.ACTIVE, True, Phase.SERVING),
        (Status.ACTIVE, False, Phase.FAILED),
        (Status.ERROR, True, Phase.FAILED),
        (Status.DELETING, True, Phase.DRAINING),
    ],
    ids=["it works", "no node", "broken", "it goes away"],
)
def test_one_that_was_given_up_and_came_after_all_is_capacity(status: Status, shown: bool, phase: Phase) -> None:
    given_up = instance(1, phase=Phase.FAILED, joined_at=0, cause_event="instance.failed/north/x/1")
    nodes = {given_up.name: node(given_up)} if shown else {}
    after = take(fleet(given_up), sight(row(given_up, status=status), nodes=nodes), scribe())
    found = after.fleet.instances[given_up.name]
    assert (found.phase, found.released) == (phase, phase is Phase.DRAINING)
    told = [event.caused_by for event in after.events if event.type is EventType.INSTANCE_FOUND]
    assert told == ["instance.failed/north/x/1"] * (phase is Phase.SERVING)


@pytest.mark.parametrize(
    "asked", [{"released": True}, {"release_event": "release.asked/north/x/1"}, {"end_told": True}], ids=str
)
def test_what_came_after_its_own_end_was_asked_for_or_told_is_drained(asked: dict[str, object]) -> None:
    given_up = instance(1, phase=Phase.FAILED, joined_at=0, **asked)
    after = take(fleet(given_up), sight(row(given_up), nodes={given_up.name: node(given_up)}), scribe())
    found = after.fleet.instances[given_up.name]
    assert (found.phase, found.released) == (Phase.DRAINING, True)


def test_a_node_that_was_lost_in_error_and_works_again_may_be_lost_once_more() -> None:
    known = instance(1)
    broken = take(fleet(known), sight(row(known, status=Status.ERROR)), scribe())
    assert [debt.instance for debt in broken.fleet.debts] == [known.name]
    back = take(broken.fleet, sight(row(known), now=START + 1, nodes={known.name: node(known)}), scribe(START + 1))
    again = take(back.fleet, sight(row(known, status=Status.ERROR), now=START + 2), scribe(START + 2))
    assert (back.fleet.instances[known.name].phase, back.fleet.debts) == (Phase.SERVING, ())
    lost = [event.id for census in (broken, again) for event in census.events if event.type is EventType.INSTANCE_LOST]
    assert len(set(lost)) == 2


def test_a_boot_has_not_failed_while_its_scheduler_shows_the_node() -> None:
    """The server that is in error is not the only one that has its key."""
    booting = instance(1, phase=Phase.BOOTING, joined_at=0)
    for nodes, phase in (({booting.name: node(booting)}, Phase.SERVING), ({}, Phase.FAILED)):
        after = take(fleet(booting), sight(row(booting, status=Status.ERROR), nodes=nodes), scribe())
        assert after.fleet.instances[booting.name].phase is phase
        assert bool(after.failures) is (phase is Phase.FAILED)


@pytest.mark.parametrize(
    ("release", "drained", "works"),
    [("", "", True), ("", "verified", False), ("release.asked/north/x/1", "", False)],
    ids=["it works", "drained before it heard", "a release was agreed"],
)
def test_what_was_deleted_in_a_drain_that_was_taken_back_works_again(release: str, drained: str, works: bool) -> None:
    """The deletion that was asked for after its drain did not happen, and its notice is no more."""
    deleted = instance(
        1, phase=Phase.DRAINING, released=True, release_event=release, drain_asked=True, cause=Cause.NOTICE_WITHDRAWN
    )
    after, _ = as_node(deleted, replace(node(deleted), drained=drained), scribe(), silent=False)
    assert (after.supply, after.released) == (works, not works)

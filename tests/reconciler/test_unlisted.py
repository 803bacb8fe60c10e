"""What an empty memory cannot miss and others show: it counts as missing until somebody says otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pools.provider import Lifecycle, LifecycleKind, Signals
from reconciler.census import take
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.sight import Census, Sight
from reconciler.steps import StepKind
from tests.reconciler.builders import (
    FORECAST,
    HOUR,
    MINUTE,
    START,
    Region,
    fleet,
    instance,
    listing,
    node,
    of_kind,
    row,
    scribe,
    sight,
)

LACKING = instance(1)


def begun(one: Instance, at: int, kind: LifecycleKind = LifecycleKind.CREATED) -> Lifecycle:
    return Lifecycle(at, kind, one.server, one.name, one.pool, "", one.project, row(one).mark)


def looked(shown: Sight, known: Fleet | None = None) -> Census:
    return take(known or fleet(), shown, replace(scribe(shown.now), epoch=2))


def doubts(shown: Sight, known: Fleet | None = None) -> list[str]:
    return looked(shown, known).unexplained


def stream(*said: Lifecycle) -> Signals:
    return Signals(START, "9", lifecycle=said)


YOUNG = stream(begun(LACKING, START - 2 * MINUTE))
OLD = stream(begun(LACKING, START - HOUR))
NODE = {LACKING.name: node(LACKING)}


@pytest.mark.parametrize(
    "shown",
    [
        sight(nodes=NODE),
        sight(signals=YOUNG),
        sight(signals=OLD, nodes=NODE),
        sight(signals=OLD, silent_workloads=frozenset({FORECAST})),
        sight(row(LACKING, id="")),
    ],
    ids=["its scheduler", "the stream", "both", "the stream while its scheduler is silent", "a row without an id"],
)
def test_what_another_shows_and_a_whole_listing_lacks_is_missing(shown: Sight) -> None:
    found = looked(shown)
    assert (found.unexplained, found.beside) == ([LACKING.name], 1)
    assert not found.fleet.instances
    assert not found.losses


@pytest.mark.parametrize(
    "shown",
    [
        sight(row(LACKING), nodes=NODE, signals=OLD),
        sight(nodes=NODE, listing=listing(complete=False)),
        sight(nodes=NODE, listing=None),
        sight(nodes={LACKING.name: node(LACKING, drained="verified")}),
        sight(nodes={LACKING.name: node(LACKING, draining_until=START)}),
        sight(nodes={LACKING.name: node(LACKING, joined_at=START - 1)}),
        sight(signals=OLD),
        sight(signals=stream(*YOUNG.lifecycle, begun(LACKING, START - MINUTE, LifecycleKind.DELETED))),
        sight(row(LACKING, mark=None), nodes=NODE),
    ],
    ids=["listed", "partly", "unlisted", "drained", "over", "new", "no node", "told over", "not ours any more"],
)
def test_what_is_listed_over_too_young_or_denied_is_not_missing(shown: Sight) -> None:
    assert doubts(shown) == []


ENDED = (*OLD.lifecycle, begun(LACKING, START - 30 * MINUTE, LifecycleKind.DELETED))
SECOND = begun(replace(LACKING, server="server-2"), START - HOUR)


@pytest.mark.parametrize(
    ("shown", "stands"),
    [
        (sight(nodes=NODE, signals=stream(*ENDED)), False),
        (sight(nodes=NODE, signals=stream(*ENDED, SECOND)), True),
        (sight(row(LACKING, id=""), nodes=NODE, signals=stream(*ENDED)), True),
        (
            sight(nodes=NODE, signals=stream(*ENDED, SECOND, replace(SECOND, at=START, kind=LifecycleKind.DELETED))),
            False,
        ),
    ],
    ids=["alone", "the stream began a second", "a row without an id", "the second ended too"],
)
def test_the_node_of_what_ended_may_be_that_of_a_second_server_under_its_key(shown: Sight, stands: bool) -> None:
    """What is gone leaves its scheduler; a node that may be another's stays there, and that one is missed."""
    found = looked(shown)
    assert [one.phase for one in found.fleet.instances.values()] == ([] if stands else [Phase.GONE])
    assert found.unexplained == ([LACKING.name] if stands else [])


def test_what_the_stream_said_once_is_remembered_until_it_is_listed_or_told_over() -> None:
    known = looked(sight(signals=YOUNG)).fleet
    later = START + MINUTE
    assert doubts(sight(now=later), known) == [LACKING.name]
    assert doubts(sight(row(LACKING), now=later), known) == []
    over = Signals(later, "10", lifecycle=(begun(LACKING, later, LifecycleKind.DELETED),))
    assert doubts(sight(now=later, signals=over), known) == []
    assert doubts(sight(now=START + 11 * MINUTE), known) == []  # its scheduler would show it by now


def test_a_person_accepts_the_listing_that_lacked_it_and_none_from_before() -> None:
    known = looked(sight(nodes=NODE)).fleet
    later = sight(now=START + MINUTE, nodes=NODE)
    assert doubts(replace(later, accepted_at=START - 1), known) == [LACKING.name]
    assert doubts(replace(later, accepted_at=START), known) == []


def test_what_nobody_lists_stands_until_it_is_listed_or_a_person_accepts_that_it_is_not() -> None:
    partly = sight(signals=YOUNG, listing=listing(complete=False))
    assert looked(partly).unlisted == {FORECAST: 1}
    assert looked(sight(row(LACKING), signals=YOUNG)).unlisted == {}
    lacked = looked(sight(signals=YOUNG))
    assert lacked.unlisted == {FORECAST: 1}
    later = sight(now=START + MINUTE)
    assert looked(replace(later, accepted_at=START), lacked.fleet).unlisted == {}
    assert looked(sight(nodes=NODE)).unlisted == {}, "of a node alone nobody knows the workload"


def test_a_leader_that_remembers_nothing_does_not_take_half_a_listing_for_the_whole() -> None:
    region = Region().settled(forecast=20)
    hidden = region.servers()[::2]
    for server in hidden:
        del region.cloud.servers[server.id]
    region.reconciler = region.leader()
    decision = region.cycle(seconds=300)
    assert not of_kind(decision, StepKind.ACQUIRE)
    assert not of_kind(decision, StepKind.REPLACE)
    for server in hidden:
        region.cloud.servers[server.id] = server
    region.cycles(6)
    assert region.supply() == 20
    assert len(region.servers()) == 20

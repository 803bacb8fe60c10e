"""That nobody shows a node is no proof that there is none: whoever may be there is asked to drain before it ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.errors import Gone, Transient
from ledger.causes import Cause
from pools.provider import Status
from reconciler.census import take
from reconciler.diff import Inputs as Difference
from reconciler.diff import Naming, difference
from reconciler.fleet import Fleet, Phase
from reconciler.membership import as_node
from reconciler.steps import StepKind
from tests.reconciler.builders import (
    HINDCAST,
    MINUTE,
    PROJECT,
    REGION,
    SECOND,
    START,
    Region,
    fleet,
    instance,
    name,
    node,
    of_kind,
    row,
    scribe,
    sight,
)


class Unseen:
    """Nodes that are there and that no scheduler shows: `names` answer when they are asked to drain."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.asked: dict[str, int] = {}
        self.silent = False

    def ask_return(self, name: str, *, ends_at: int, cause_event: str) -> None:
        """As the seam promises."""
        if self.silent:
            raise Transient(cause_event)
        if name not in self.names:
            raise Gone(name)
        self.asked.setdefault(name, ends_at)


def booted(unseen: Unseen) -> tuple[Region, str]:
    """A region whose one server runs, and no scheduler shows it."""
    region = Region().settled()
    region.schedulers.want(HINDCAST, 1)
    region.cycle()
    region.cycle()
    (server,) = region.servers(HINDCAST)
    assert server.status is Status.ACTIVE
    region.reconciler.acting.ports = replace(region.reconciler.ports, nodes=unseen)
    return region, server.name


def test_one_that_never_joined_is_asked_to_drain_and_ends_when_that_is_over() -> None:
    unseen = Unseen()
    region, name = booted(unseen)
    unseen.names.add(name)
    server = region.server_id(name)
    (release,) = of_kind(region.cycle(11 * 60), StepKind.RELEASE)
    assert (release.instance, release.cause) == (name, Cause.NEVER_JOINED)
    assert unseen.asked[name] == region.now + 2 * MINUTE
    region.cycle(60)
    assert server in region.cloud.servers
    region.cycle(60)
    assert server not in region.cloud.servers


def test_where_nobody_answers_it_is_deleted_in_the_next_cycle() -> None:
    region, name = booted(Unseen())
    server = region.server_id(name)
    region.cycle(11 * 60)
    region.cycle(20)
    assert server not in region.cloud.servers


def test_a_node_that_turns_up_when_its_server_is_about_to_be_deleted_drains_first() -> None:
    unseen = Unseen()
    region, name = booted(unseen)
    server = region.server_id(name)
    region.schedulers.want(HINDCAST, 0)
    while not of_kind(region.cycle(60), StepKind.RELEASE):
        assert region.now < START + 9 * 60 * MINUTE
    unseen.names.add(name)
    assert of_kind(region.cycle(20), StepKind.DELETE)
    assert server in region.cloud.servers
    assert unseen.asked[name] == region.now + 2 * MINUTE
    region.cycle(121)
    assert server not in region.cloud.servers


def test_while_nobody_can_say_whether_a_node_is_there_its_server_stands() -> None:
    unseen = Unseen()
    region, name = booted(unseen)
    server = region.server_id(name)
    region.cycle(11 * 60)
    unseen.silent = True
    region.cycle(20)
    assert server in region.cloud.servers
    unseen.silent = False
    region.cycle(20)
    assert server not in region.cloud.servers


def test_a_node_that_drains_for_a_notice_is_not_seen_to_have_heard_of_its_release() -> None:
    told = instance(
        1,
        phase=Phase.DRAINING,
        released=True,
        noticed=True,
        asked=1,
        ends_at=START,
        release_event="release.asked/r/1/2",
    )
    for_notice = node(told, draining_until=START + MINUTE, draining_for="notice.received/r/n-1/1")
    assert not as_node(told, for_notice, scribe(), silent=False)[0].drain_asked
    heard = as_node(told, replace(for_notice, draining_for=told.release_event), scribe(), silent=False)[0]
    assert (heard.drain_asked, heard.ends_at) == (True, START + MINUTE)


def test_a_release_that_its_node_never_heard_of_ends_no_drain_for_a_notice() -> None:
    told = instance(
        1,
        phase=Phase.DRAINING,
        released=True,
        noticed=True,
        asked=9,
        ends_at=START,
        notices=(("n-1", START + MINUTE),),
        release_event=f"release.asked/{REGION}/{name(1)}/1",
    )
    inputs = Difference(
        wanted=(),
        fleet=fleet(told),
        claims={},
        claim_events={},
        naming=Naming(REGION, 1, 500),
        now=START + SECOND,
        drained={},
        owned_projects=frozenset({PROJECT}),
        shown=frozenset({told.name}),
    )
    assert not difference(inputs).steps
    (step,) = difference(replace(inputs, now=START + MINUTE)).steps
    assert step.kind is StepKind.DELETE


def steps_of(known: Fleet) -> list[StepKind]:
    """What follows for a fleet that nobody wants anything of."""
    inputs = Difference(
        wanted=(),
        fleet=known,
        claims={},
        claim_events={},
        naming=Naming(REGION, 1, 500),
        now=START,
        drained={},
        owned_projects=frozenset({PROJECT}),
    )
    return [step.kind for step in difference(inputs).steps]


def test_what_never_ran_by_the_providers_word_is_deleted_and_nobody_is_asked() -> None:
    dead = instance(1, phase=Phase.FAILED, cause=Cause.NEVER_JOINED, joined_at=0, started_at=0)
    for at, kind in ((0, StepKind.DELETE), (START, StepKind.RELEASE)):
        assert steps_of(fleet(replace(dead, started_at=at))) == [kind]


@pytest.mark.parametrize(
    ("given_up", "status", "kind"),
    [
        ({"cause": Cause.CREATE_FAILED, "joined_at": 0, "server": ""}, Status.ACTIVE, StepKind.RELEASE),
        ({"cause": Cause.CREATE_FAILED, "joined_at": 0, "server": ""}, Status.BUILDING, StepKind.RELEASE),
        ({"cause": Cause.CREATE_FAILED, "joined_at": 0}, Status.ERROR, StepKind.DELETE),
        ({"cause": Cause.NEVER_JOINED, "joined_at": 0, "started_at": 0}, Status.ACTIVE, StepKind.RELEASE),
        ({"cause": Cause.LOST_WITHOUT_NOTICE}, Status.ACTIVE, StepKind.RELEASE),
        ({"cause": Cause.LOST_WITHOUT_NOTICE}, Status.ERROR, StepKind.DELETE),
    ],
    ids=["no answer came", "it boots", "in error", "its start is untold", "in error no more", "a node in error"],
)
def test_what_was_given_up_and_runs_all_the_same_is_asked_to_drain(
    given_up: dict[str, Cause | int | str], status: Status, kind: StepKind
) -> None:
    """Its scheduler does not answer: nobody can say whether it joined."""
    one = instance(1, phase=Phase.FAILED, **given_up)
    shown = sight(row(instance(1), status=status), silent_workloads=frozenset({one.workload}))
    found = take(fleet(one), shown, scribe()).fleet
    assert steps_of(found) == [kind]

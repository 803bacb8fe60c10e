"""What is shown just as it is known is passed by: the same census comes of it as of a look at every instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from ledger.events import Paid
from pools.provider import Lifecycle, LifecycleKind, Mark, Notice, NoticeKind, Server, Signals, Status
from reconciler import census
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.passed_by import InStep, Others
from reconciler.ports import NodeView
from reconciler.sight import Census, Sight
from tests.reconciler.builders import (
    FORECAST,
    HOUR,
    MINUTE,
    OTHER_POOL,
    POOL,
    PROJECT,
    REGION,
    START,
    fleet,
    instance,
    name,
    node,
    row,
    scribe,
)
from tests.reconciler.builders import sight as shown

times = st.sampled_from([0, START - 2 * HOUR, START - MINUTE])

known = st.fixed_dictionaries(
    {},
    optional={
        "phase": st.sampled_from(Phase),
        "pool": st.sampled_from([POOL, OTHER_POOL, ""]),
        "server": st.sampled_from(["", "another"]),
        "paid": st.sampled_from(Paid),
        "joined_at": times,
        "ended_at": times,
        "left_at": times,
        "busy_units": st.integers(0, 1),
        "covered": st.booleans(),
        "released": st.booleans(),
        "noticed": st.booleans(),
        "ends_at": times,
        "drain_asked": st.booleans(),
        "deregistered": st.booleans(),
        "end_told": st.booleans(),
        "missing_since": times,
        "missing_listings": st.integers(0, 3),
        "unsure_since": times,
        "moving_to": st.sampled_from([name(1), name(2), name(99)]),
        "project": st.sampled_from([PROJECT, "another"]),
        "release_event": st.sampled_from(["", "notice.received/x", "release.asked/x/7"]),
    },
)

listed = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(Status),
        "pool": st.sampled_from([POOL, OTHER_POOL, ""]),
        "id": st.sampled_from(["", "another"]),
        "project": st.sampled_from([PROJECT, "another"]),
        "mark": st.sampled_from([None, Mark("another", REGION, name(1), 1, FORECAST, 1, "floor")]),
    },
)

viewed = st.fixed_dictionaries(
    {},
    optional={
        "joined_at": st.sampled_from([START - 2 * HOUR, START]),
        "busy_units": st.integers(0, 1),
        "covered": st.booleans(),
        "drained": st.sampled_from(["", "verified", "overrun"]),
        "draining_until": times,
    },
)


@st.composite
def regions(draw: st.DrawFn) -> tuple[Fleet, Sight]:
    """A fleet, most of it shown as it is known, and the rest in any way."""
    instances: list[Instance] = []
    rows: list[Server] = []
    nodes: dict[str, NodeView] = {}
    ends: list[Lifecycle] = []
    said: list[Notice] = []
    for number in range(1, draw(st.integers(1, 12)) + 1):
        plain = instance(number)
        odd = draw(st.integers(0, 2)) == 0
        one = replace(plain, **draw(known)) if odd else plain
        if not odd or draw(st.booleans()):
            instances.append(one)
        if not odd or draw(st.integers(0, 3)):
            rows.append(row(one, **(draw(listed) if draw(st.booleans()) else {})))
        if draw(st.integers(0, 7)) == 0:  # listed twice, or the same key for two servers
            rows.append(row(one, **draw(listed)))
        if not odd or draw(st.integers(0, 3)):
            nodes[one.name] = node(one, **(draw(viewed) if draw(st.booleans()) else {}))
        if draw(st.integers(0, 5)) == 0:
            kind = draw(st.sampled_from(LifecycleKind))
            ends.append(Lifecycle(START - MINUTE, kind, one.server, one.name, one.pool, taken=draw(st.booleans())))
        if draw(st.integers(0, 7)) == 0:
            said.append(
                Notice(str(number), one.server, one.name, one.pool, "r", NoticeKind.RECLAIM, START, START + HOUR)
            )
    if draw(st.booleans()):
        rows, nodes = draw(st.permutations(rows)), dict(draw(st.permutations(list(nodes.items()))))
    seen = shown(*rows, nodes=nodes, signals=Signals(START, "1", tuple(said), lifecycle=tuple(ends)))
    return fleet(*instances), replace(seen, listing=None) if draw(st.integers(0, 9)) == 0 else seen


def every(fleet_: Fleet, seen: Sight) -> Census:
    """The same pass, that passes nobody by."""

    def all_of_it(instances: Mapping[str, Instance], sight: Sight) -> Others:
        return Others(sight.listing.servers if sight.listing else (), dict(instances), dict(sight.nodes))

    with patch.object(census, "others", all_of_it):
        return census.take(fleet_, seen, scribe())


@given(regions())
def test_who_is_shown_as_ever_may_be_passed_by(region: tuple[Fleet, Sight]) -> None:
    known_, seen = region
    found, whole = census.take(known_, seen, scribe()), every(known_, seen)
    assert found == whole
    assert list(found.fleet.instances) == list(whole.fleet.instances), "their order decides what comes first"


def test_a_fleet_that_is_shown_as_ever_keeps_its_very_instances() -> None:
    known_ = fleet(*(instance(number) for number in range(1, 9)))
    alive = known_.instances.values()
    found = census.take(known_, shown(*map(row, alive), nodes={i.name: node(i) for i in alive}), scribe())
    assert all(found.fleet.instances[i.name] is i for i in alive)
    assert not found.events


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.lists(st.sampled_from("abcdefghx"), max_size=12))
def test_who_is_asked_for_in_whatever_order_is_given_once_and_the_rest_is_left(of: list[str], asked: list[str]) -> None:
    plain = {key: key.upper() for key in of}
    walk = InStep(dict(plain))
    ask = walk.answers()
    assert [ask(key) for key in asked] == [plain.pop(key, None) for key in asked]
    ask("")
    assert walk.left == plain
    if not walk.late:
        assert list(walk.left) == list(plain), "they stand in the order that they had"


def test_who_is_shown_in_the_order_of_the_fleet_is_never_looked_up() -> None:
    class Watched(dict[str, int]):
        looked: list[object]

        def __contains__(self, key: object) -> bool:
            self.looked.append(key)
            return super().__contains__(key)

    of = Watched({name(number): number for number in range(1, 9)})
    of.looked = []
    walk = InStep(of)
    ask = walk.answers()
    shown_ = [number for number in range(1, 9) if number != 4]
    assert [ask(name(number)) for number in shown_] == shown_
    assert of.looked == [name(5)], "only where one was left out"
    assert walk.left == {name(4): 4}
    assert not walk.late

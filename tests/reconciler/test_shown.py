"""What is shown just as it is known is passed by: the same census comes of it as of a look at every instance."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from ledger.events import Paid
from pools.provider import Lifecycle, LifecycleKind, Server, Signals, Status
from reconciler import census
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.ports import NodeView
from reconciler.sight import Census, Sight
from tests.reconciler.builders import HOUR, MINUTE, OTHER_POOL, POOL, START, fleet, instance, name, node, row, scribe
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
        "release_event": st.sampled_from(["", "notice.received/x", "release.asked/x/7"]),
    },
)

listed = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(Status),
        "pool": st.sampled_from([POOL, OTHER_POOL, ""]),
        "id": st.sampled_from(["", "another"]),
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
    for number in range(1, draw(st.integers(1, 12)) + 1):
        plain = instance(number)
        odd = draw(st.integers(0, 2)) == 0
        one = replace(plain, **draw(known)) if odd else plain
        if not odd or draw(st.booleans()):
            instances.append(one)
        if not odd or draw(st.integers(0, 3)):
            rows.append(row(one, **(draw(listed) if draw(st.booleans()) else {})))
        if not odd or draw(st.integers(0, 3)):
            nodes[one.name] = node(one, **(draw(viewed) if draw(st.booleans()) else {}))
        if draw(st.integers(0, 5)) == 0:
            kind = draw(st.sampled_from(LifecycleKind))
            ends.append(Lifecycle(START - MINUTE, kind, one.server, one.name, one.pool, taken=draw(st.booleans())))
    seen = shown(*draw(st.permutations(rows)), nodes=nodes, signals=Signals(START, "1", lifecycle=tuple(ends)))
    return fleet(*instances), replace(seen, listing=None) if draw(st.integers(0, 9)) == 0 else seen


def every(fleet_: Fleet, seen: Sight) -> Census:
    """The same pass, that passes nobody by."""
    with patch.object(census, "as_ever", lambda *_: False):
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

"""When a drain counts as over for whoever ends servers: what a node did for a notice it may have undone since it was
shown, and then it works.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from pools.provider import Signals
from reconciler.census import take
from reconciler.cycle import Seen
from reconciler.eyes import behind
from reconciler.fleet import Instance, Phase
from reconciler.membership import drained
from reconciler.ports import SchedulerView
from reconciler.steps import StepKind
from tests.reconciler.builders import (
    MINUTE,
    SECOND,
    START,
    Region,
    fleet,
    instance,
    listing,
    name,
    node,
    of_kind,
    row,
    scribe,
    sight,
)

NOTICE, RETURN = f"{EventType.NOTICE_RECEIVED.value}/north/n-1", f"{EventType.RELEASE_ASKED.value}/north/r-1"
DRAINED = node(instance(), busy_units=0, drained="verified", draining_for=NOTICE)


@pytest.mark.parametrize(
    ("told_at", "listed_at", "old"),
    [
        (START, START, False),
        (START + 2 * SECOND, START + 2 * SECOND, False),
        (START + 2 * SECOND + 1, START, True),
        (0, START + 2 * SECOND + 1, True),
        (START - MINUTE, None, False),
        (0, None, True),
    ],
    ids=[
        "as new",
        "two clocks",
        "older than the stream",
        "than the listing",
        "no listing",
        "nothing to hold it against",
    ],
)
def test_a_view_is_behind_where_the_provider_spoke_after_it(told_at: int, listed_at: int | None, *, old: bool) -> None:
    shown = listing(at=listed_at) if listed_at is not None else None
    view = SchedulerView(START, {}, {})
    seen = Seen(START + MINUTE, Signals(told_at, "1"), shown, view, None, None, None)
    assert behind(seen) is old


@pytest.mark.parametrize(
    ("outcome", "for_", "old", "found"),
    [
        ("verified", NOTICE, False, "verified"),
        ("overrun", "", False, "overrun"),
        ("verified", NOTICE, True, ""),
        ("verified", "", True, ""),
        ("verified", RETURN, True, "verified"),
        ("withdrawn", RETURN, False, ""),
    ],
)
def test_an_old_view_is_believed_of_a_drain_that_nobody_can_take_back(
    outcome: str, for_: str, found: str, *, old: bool
) -> None:
    assert drained(replace(DRAINED, drained=outcome, draining_for=for_), behind=old) == found


WORKING = instance()
NOTICED = instance(phase=Phase.DRAINING, noticed=True, notices=(("rc-1", START + MINUTE),), ends_at=START + MINUTE)
ASKED = instance(phase=Phase.DRAINING, released=True, release_event=RETURN, asked=1, ends_at=START + MINUTE)


@pytest.mark.parametrize("view", [{"drained": "verified"}, {"draining_until": START + SECOND}], ids=["over", "goes on"])
def test_a_return_that_nobody_remembers_is_taken_up_by_a_new_view_alone(view: dict[str, str | int]) -> None:
    """What an old one shows may be the drain of a server that has ended, whose key another has now."""
    seen = node(WORKING, busy_units=0, draining_for=RETURN, **view)
    old, new = (
        take(fleet(WORKING), sight(row(WORKING), nodes={name(1): seen}, behind=late), scribe())
        for late in (True, False)
    )
    assert (old.fleet.instances[name(1)].supply, new.fleet.instances[name(1)].supply) == (True, False)


@pytest.mark.parametrize("known", [WORKING, NOTICED, ASKED], ids=["works", "noticed", "asked to return"])
def test_a_drain_of_an_old_view_changes_nothing_and_of_a_new_one_ends_the_server(known: Instance) -> None:
    old, new = (
        take(fleet(known), sight(row(known), nodes={known.name: DRAINED}, behind=late), scribe())
        for late in (True, False)
    )
    after = old.fleet.instances[known.name]
    assert (after.phase is Phase.DRAINING, after.drain_asked) == (known is not WORKING, False)
    assert (dict(old.drained), dict(new.drained)) == ({}, {name(1): "verified"})
    assert new.fleet.instances[known.name].phase is Phase.DRAINING


def test_a_node_whose_notice_was_taken_back_is_not_deleted_by_what_its_scheduler_showed_before() -> None:
    region = Region().settled(forecast=12)
    one = region.busy()
    shown = region.schedulers.nodes[one]
    region.schedulers.nodes[one] = replace(shown, drained="verified", busy_units=0, draining_for=NOTICE)
    region.schedulers.stale_ms = MINUTE
    assert not of_kind(region.cycle(), StepKind.DELETE)
    assert region.reconciler.memory.fleet.instances[one].supply
    region.schedulers.stale_ms = 0
    assert [(s.instance, s.cause) for s in of_kind(region.cycle(), StepKind.DELETE)] == [(one, Cause.DRAINED)]

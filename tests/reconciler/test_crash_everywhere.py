"""Killed at every effect of a history, and started on its disk or on an empty one: nothing is lost or doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest

from ledger.events import EventType
from tests.reconciler import crashes
from tests.reconciler.crashes import History, history

PLAYS = [crashes.growth, crashes.notice, crashes.loss, crashes.release, crashes.fallback, crashes.adoption]


@cache
def calm(play: Callable[[History], None]) -> History:
    return history(play)


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_killed_anywhere_with_its_disk_a_region_goes_on_as_if_nothing_had_happened(
    play: Callable[[History], None],
) -> None:
    before = calm(play)
    assert len(before.fuse.points) >= 8
    for at in range(len(before.fuse.points)):
        after = history(play, at=at)
        where = f"{at}: {before.fuse.points[at]}"
        assert after.restarts == 1, where
        assert crashes.outline(after) == crashes.outline(before), where
        assert after.region.cloud.created == before.region.cloud.created, where
        assert len(after.asked) == len(before.asked), where
        assert settled(after) == settled(before), where
        told = Counter(event.id for event in after.events)
        assert not [id_ for id_, times in told.items() if times > 1], where
        assert_whole(after, where)


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_killed_anywhere_and_started_on_an_empty_disk_nothing_is_bought_twice_or_forgotten(
    play: Callable[[History], None],
) -> None:
    before = calm(play)
    for at in range(len(before.fuse.points)):
        after = history(play, at=at, empty_disk=True)
        where = f"{at}: {before.fuse.points[at]}"
        assert after.region.cloud.created == before.region.cloud.created, where
        assert len(after.asked) == len(before.asked), where
        assert settled(after) == settled(before), where
        assert_whole(after, where)


def settled(run: History) -> Counter[tuple[str, str]]:
    """What stands at the end, as the cloud has it."""
    return Counter((s.mark.workload, s.mark.paid) for s in run.region.cloud.servers.values() if s.mark is not None)


def assert_whole(run: History, where: str) -> None:
    """Every server of ours is remembered and the other way round, and every one was asked for in the ledger."""
    ours = {s.mark.name: s.id for s in run.region.cloud.servers.values() if s.mark is not None}
    fleet = run.region.reconciler.memory.fleet
    known = {i.name: i.server for i in fleet.alive()}
    assert known == ours, where
    assert ours.keys() <= {event.instance for event in run.told(EventType.INSTANCE_REQUESTED)}, where
    assert not run.region.reconciler.unrecorded, where
    assert not run.region.reconciler.acting.brake.breach, where

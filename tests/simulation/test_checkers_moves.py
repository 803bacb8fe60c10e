"""Whose work another takes over counts once by the bounds' checker, as long as both stand."""

from __future__ import annotations

import pytest

from ledger.causes import Cause
from ledger.events import Event, EventType
from simulation.cloud_model import EndCause
from tests.reconciler.builders import FORECAST, MINUTE
from tests.simulation.chronicles import DOMAINS, Story


def move(story: Story, name: str, pool: str, source: str) -> Event:
    """It is asked for in a pool, and takes over from `source` if that is said."""
    return story.event(
        EventType.INSTANCE_REQUESTED,
        name,
        cause=Cause.REBALANCE,
        caused_by=story.claim,
        workload=FORECAST,
        pool=pool,
        instance=name,
        data={"units": 1, "paid": "reclaimable"} | ({"takes_over": source} if source else {}),
    )


@pytest.mark.parametrize(
    ("relieves", "lost", "wrong"), [(True, False, False), (False, False, True), (True, True, True)]
)
def test_who_is_relieved_counts_once_however_long_it_has_to_stay(*, relieves: bool, lost: bool, wrong: bool) -> None:
    """Nobody asks it back while Git is away. Where who takes over is lost, it stays after all, and counts."""
    story = Story()
    story.want(13)
    story.room()
    story.look()
    for number, pool in enumerate((DOMAINS[0], DOMAINS[2], DOMAINS[4])):
        story.buy(f"r{number}", pool)
    asked = move(story, "x", DOMAINS[2], "r2" if relieves else "")
    story.create("x", DOMAINS[2])
    story.wait(MINUTE)
    if lost:
        story.gone("x", EndCause.LOST, asked.id)
        story.buy("y", DOMAINS[2])
    for _ in range(24):
        story.looks(1, git=False)
    story.buy("r3", DOMAINS[0])
    assert ("check_bounds.Placements" in story.breaks()) is wrong


@pytest.mark.parametrize(
    ("relieves", "failed", "epoch", "wrong"),
    [(True, False, 1, False), (False, False, 1, True), (True, True, 1, True), (True, False, 2, True)],
)
def test_what_got_no_answer_yet_may_reach_its_domain(*, relieves: bool, failed: bool, epoch: int, wrong: bool) -> None:
    """It counts with its units and whom it relieves, until the ledger says that it failed or another term begins."""
    story = Story()
    story.want(12)
    story.room()
    story.look()
    for number, pool in enumerate(DOMAINS[:4]):
        story.buy(f"r{number}", pool)
    move(story, "late", DOMAINS[4], "r1" if relieves else "")
    story.wait(MINUTE)
    if failed:
        about = {"instance": "late", "workload": FORECAST}
        story.event(EventType.INSTANCE_FAILED, "late", caused_by=story.claim, data={"error": ""}, **about)
    if epoch > 1:
        story.lead("a", epoch)
    story.look()
    story.buy("x", DOMAINS[0])
    assert ("check_bounds.Placements" in story.breaks()) is wrong

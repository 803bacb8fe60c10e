"""Whose work another takes over counts once by the bounds' checker, as long as both stand."""

from __future__ import annotations

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from simulation.cloud_model import EndCause
from tests.reconciler.builders import FORECAST, MINUTE
from tests.simulation.chronicles import DOMAINS, Story


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
    takes_over = {"takes_over": "r2"} if relieves else {}
    asked = story.event(
        EventType.INSTANCE_REQUESTED,
        "x",
        cause=Cause.REBALANCE,
        caused_by=story.claim,
        workload=FORECAST,
        pool=DOMAINS[2],
        instance="x",
        data={"units": 1, "paid": "reclaimable", **takes_over},
    )
    story.create("x", DOMAINS[2])
    story.wait(MINUTE)
    if lost:
        story.gone("x", EndCause.LOST, asked.id)
        story.buy("y", DOMAINS[2])
    for _ in range(24):
        story.looks(1, git=False)
    story.buy("r3", DOMAINS[0])
    assert ("check_bounds.Placements" in story.breaks()) is wrong

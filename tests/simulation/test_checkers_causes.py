"""The checkers of causes find what hangs in the air, and nothing that nobody could tell."""

from __future__ import annotations

from ledger.causes import Cause
from ledger.events import EventType
from tests.reconciler.builders import FORECAST, MINUTE, REGION
from tests.simulation.chronicles import DOMAINS, eventful, grown


def test_every_cause_is_in_the_ledger() -> None:
    for cause in ("", "nothing"):
        story = eventful()
        story.event(EventType.INSTANCE_JOINED, "r1", instance="r1", workload=FORECAST, caused_by=cause)
        assert "check_causes.Whole" in story.breaks()


def test_a_notice_that_reached_its_node_and_not_the_stream_is_told_by_nobody() -> None:
    for streamed in (False, True):
        story = eventful()
        other = story.notice("r1", DOMAINS[1])  # of the same server: not the one that it drains for
        cause = f"notice.received/{REGION}/{other.id if streamed else 'rc-2/s-r1'}/r1"
        story.drain("r1", cause, story.at + MINUTE)
        for checker in ("check_causes.Whole", "check_drains.Outcomes"):
            assert (checker in story.breaks()) is streamed


def test_a_request_without_a_cause_is_one_that_its_commits_estate_adopts() -> None:
    for pool, cause, wrong in (
        (DOMAINS[0], Cause.ADOPTION_REVIEWED, False),
        (DOMAINS[1], Cause.ADOPTION_REVIEWED, True),
        (DOMAINS[0], Cause.CLAIM_GREW, True),
    ):
        story = grown()
        story.request("old", pool, cause=cause, caused_by="")
        assert ("check_causes.Whole" in story.breaks()) is wrong


def test_a_cause_may_be_told_a_little_later() -> None:
    story = eventful()
    later = f"claim.changed/{REGION}/late"
    story.event(EventType.INSTANCE_JOINED, "r1", instance="r1", workload=FORECAST, caused_by=later)
    story.event(EventType.CLAIM_CHANGED, "late", workload=FORECAST, data={"units": 11})
    assert "check_causes.Whole" not in story.breaks()

"""What the guard refused stands in the ledger once, however long it goes on."""

from __future__ import annotations

from ledger.causes import Cause
from ledger.events import EventType, Paid
from reconciler.refusals import QUIET_MS, tell
from reconciler.steps import Refusal, Step, StepKind
from tests.reconciler.builders import MINUTE, POOL, PROJECT, START, scribe


def refusal(workload: str = "forecast", cause: Cause = Cause.RAMP, kind: StepKind = StepKind.ACQUIRE) -> Refusal:
    step = Step(
        kind, workload, POOL, PROJECT, "eb-north-1-000001", 1, Paid.RECLAIMABLE, Cause.CLAIM_GREW, cause_event="claim-1"
    )
    return Refusal(step, cause, "3 acquired in 5 min, 3 allowed")


def test_a_refusal_that_goes_on_is_told_once_with_its_numbers_and_its_cause() -> None:
    events, given = tell([refusal(), refusal()], {}, scribe(START))
    (event,) = events
    assert (event.type, event.cause, event.workload) == (EventType.GUARD_REFUSED, Cause.RAMP, "forecast")
    assert event.caused_by == "claim-1"
    assert event.data == {"action": "acquire", "steps": 2, "message": "3 acquired in 5 min, 3 allowed"}
    for cycle in range(1, 100):
        events, given = tell([refusal()], given, scribe(START + cycle * 5 * MINUTE))
        assert not events


def test_another_workload_and_another_cause_are_told_apart() -> None:
    _, given = tell([refusal()], {}, scribe(START))
    events, _ = tell([refusal(), refusal("hindcast"), refusal(cause=Cause.BOUND)], given, scribe(START + MINUTE))
    assert [(e.workload, e.cause) for e in events] == [("hindcast", Cause.RAMP), ("forecast", Cause.BOUND)]


def test_a_cause_that_comes_back_after_a_quiet_hour_is_told_again() -> None:
    _, given = tell([refusal()], {}, scribe(START))
    _, given = tell([], given, scribe(START + QUIET_MS - 1))
    assert not tell([refusal()], given, scribe(START + QUIET_MS - 1))[0]
    assert tell([refusal()], given, scribe(START + QUIET_MS))[0]


def test_only_what_exists_is_named_as_an_instance() -> None:
    (asked,), _ = tell([refusal()], {}, scribe(START))
    (ending,), _ = tell([refusal(kind=StepKind.RELEASE)], {}, scribe(START))
    assert (asked.instance, ending.instance) == ("", "eb-north-1-000001")


def test_what_stops_the_whole_region_is_told_by_its_breaker_and_not_once_a_workload() -> None:
    for cause in (Cause.STOPPED, Cause.CLOCK_JUMPED, Cause.IMPROBABLE_LOSS, Cause.LISTING_STALE, Cause.LEASE_LOST):
        assert tell([refusal(cause=cause), refusal("hindcast", cause=cause)], {}, scribe(START)) == ((), {})

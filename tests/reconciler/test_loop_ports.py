"""The loop over fakes: ports that fail, what is written down first, and schedulers that fall silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.errors import Breach, Transient
from ledger.causes import Cause
from ledger.events import EventType
from pools.fake import FakeProvider
from pools.provider import Listing, Mark, Server
from reconciler.cadence import POKE_MS, following
from reconciler.steps import StepKind
from tests.reconciler.builders import (
    ESTATE,
    FORECAST,
    HINDCAST,
    KUBERNETES,
    MINUTE,
    POOL,
    REGION,
    SECOND,
    Region,
    of_kind,
)

# -- ports that fail --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call", ["signals", "rates", "forward_capacity", "instances", "quota", "create", "delete", "mark"]
)
@pytest.mark.parametrize("error", [Transient("503"), Breach("not ours"), KeyError("a defect"), OSError("reset")])
def test_no_failure_of_the_provider_ends_a_cycle(call: str, error: Exception) -> None:
    region = Region().settled(10)
    region.cloud.script.fail(call, times=3, error=lambda: error)  # type: ignore[arg-type, return-value]  # defects too
    region.schedulers.want(FORECAST, 20)
    region.cloud.lose(region.ours()[-1].server, reason="host failed")
    for _ in range(4):
        region.cycle()
    assert region.supply() >= 9


@pytest.mark.parametrize("error", [Transient("silent"), ValueError("a defect")])
def test_no_failure_of_schedulers_nodes_recorder_or_switch_ends_a_cycle(error: Exception) -> None:
    region = Region().settled(20)
    region.schedulers.fail("view", error)
    region.schedulers.fail("remove_node", error, error)
    region.nodes.fail("ask_return", error)
    region.recorder.fail("record", error)
    region.stop.fail("reason", error)
    region.schedulers.want(FORECAST, 10)
    region.cycles(20)
    assert region.supply() >= 10


class Late(FakeProvider):
    """Gives the listing that stood when it was made, after so many seconds."""

    def __init__(self, region: Region, seconds: int) -> None:
        super().__init__(region.cloud)
        self._old, self._region, self._seconds = super().instances(), region, seconds

    def instances(self) -> Listing:
        """An old answer, and a slow one."""
        self._region.now += self._seconds * SECOND
        return self._old


@pytest.mark.parametrize(("seconds", "stopped"), [(30, set()), (31, {Cause.LISTING_STALE})])
def test_a_listing_is_as_old_as_it_is_once_a_slow_provider_has_answered(seconds: int, stopped: set[Cause]) -> None:
    region = Region()
    region.reconciler.ports = replace(region.reconciler.ports, provider=Late(region, seconds))
    region.schedulers.want(FORECAST, 20)
    decision = region.cycle(150)
    assert {refusal.cause for refusal in decision.refused if refusal.cause is Cause.LISTING_STALE} == stopped
    assert bool(of_kind(decision, StepKind.ACQUIRE)) is not bool(stopped)


def test_a_breach_stops_everything_and_says_so() -> None:
    region = Region()
    region.cloud.script.fail("create", error=lambda: Breach("the mark is another's"))
    region.schedulers.want(FORECAST, 20)
    region.cycle()
    before = len(region.cloud.servers)
    decision = region.cycle()
    assert not decision.allowed
    assert "the mark is another's" in decision.refused[0].message
    assert len(region.cloud.servers) == before


def test_the_stop_switch_is_heard_between_two_steps() -> None:
    region = Region()
    region.schedulers.want(FORECAST, 10)
    made = region.cloud.plant

    def stop_after_three(*args: object, **more: object) -> Server:
        if region.cloud.created == 2:
            region.stop.why = "enough"
        return made(*args, **more)  # type: ignore[arg-type]  # handed on as it came

    region.cloud.plant = stop_after_three  # type: ignore[method-assign]  # the fake's stage, not our code
    region.cycle()
    assert len(region.cloud.servers) == 3
    left = [e for e in region.told(EventType.INSTANCE_FAILED) if e.cause is Cause.STOPPED]
    assert len(left) == 7
    assert region.reconciler.deferred == 7
    assert sum(number for _, number in region.reconciler.memory.guard.acquired) == 3
    region.cloud.plant = made  # type: ignore[method-assign]  # as above
    region.stop.why = ""
    region.cycles(10)
    assert region.supply() == 10


def test_a_switch_that_cannot_be_read_is_a_stop() -> None:
    region = Region()
    region.schedulers.want(FORECAST, 10)
    region.stop.fail("reason", OSError("input/output error"))
    assert {r.cause for r in region.cycle().refused} == {Cause.STOPPED}


def test_what_cannot_be_written_down_is_not_begun_and_no_event_is_lost() -> None:
    region = Region()
    region.schedulers.want(FORECAST, 10)
    region.recorder.fail("record", *[OSError("no space left")] * 2)
    region.cycle()
    assert not region.cloud.servers
    assert region.reconciler.unrecorded
    region.cycle()
    assert len(region.cloud.servers) == 10
    assert region.told(EventType.CLAIM_CHANGED)
    assert not region.reconciler.unrecorded


def test_every_request_is_written_down_before_the_provider_hears_it() -> None:
    region = Region()
    region.schedulers.want(FORECAST, 10)
    made = region.cloud.plant
    unannounced = []

    def check(name: str, *args: object, **more: object) -> Server:
        if name not in {e.instance for e in region.told(EventType.INSTANCE_REQUESTED)}:
            unannounced.append(name)
        return made(name, *args, **more)  # type: ignore[arg-type]  # handed on as it came

    region.cloud.plant = check  # type: ignore[method-assign]  # the fake's stage, not our code
    region.cycle()
    assert len(region.cloud.servers) == 10
    assert not unannounced


def test_a_provider_that_does_nothing_is_asked_less_and_less_often() -> None:
    region = Region().settled(forecast=12)
    gone = region.busy()
    region.nodes.ask_return(gone, ends_at=region.now + 120_000, cause_event="")
    region.schedulers.want(FORECAST, 24)
    stalled = []
    for _ in range(3):
        region.cloud.script.fail("create", times=100)
        region.cycle()
        stalled.append(region.reconciler.stalled)
    assert stalled == [1, 2, 3]
    assert region.reconciler.deferred
    region.cloud.script = type(region.cloud.script)()
    region.cycle()
    assert region.reconciler.stalled == 0


def test_what_cannot_be_written_down_is_tried_less_and_less_often() -> None:
    region = Region()
    region.schedulers.want(FORECAST, 10)
    region.journal.fail("save", *[OSError("no space left")] * 6)
    waits = []
    for _ in range(3):
        region.cycle()
        deferred, stalled = region.reconciler.deferred, region.reconciler.stalled
        assert (deferred, region.cloud.servers) == (10, {})
        waits.append(following(region.now, deferred=deferred, stalled=stalled) - region.now)
    assert waits == [POKE_MS, 2 * POKE_MS, 4 * POKE_MS]
    region.cycle()
    assert (region.reconciler.deferred, region.reconciler.stalled, len(region.cloud.servers)) == (0, 0, 10)


def test_what_only_a_person_can_look_at_is_nothing_that_got_done() -> None:
    region = Region()
    region.cloud.plant("stray", POOL, mark=Mark(ESTATE, REGION, "stray", 1, FORECAST, 1, "gold"))
    region.cycles(2)
    region.schedulers.want(FORECAST, 10)
    region.cloud.script.fail("create", times=100)
    assert of_kind(region.cycle(), StepKind.QUARANTINE)
    assert region.reconciler.stalled == 1


def test_what_was_agreed_gets_done_while_nothing_can_be_written_down_and_is_asked_for_soon() -> None:
    region = Region().settled(forecast=12)
    gone = region.ours()[-1]
    region.nodes.ask_return(gone.name, ends_at=region.now + MINUTE, cause_event="")
    region.cycle()
    region.schedulers.want(FORECAST, 20)
    region.nodes.finish(gone.name)
    region.journal.fail("save", *[OSError("no space left")] * 2)
    decision = region.cycle()
    assert of_kind(decision, StepKind.DELETE)
    assert gone.server not in region.cloud.servers
    assert region.reconciler.deferred
    assert region.reconciler.stalled == 0


def test_a_dry_run_calls_writes_learns_and_remembers_nothing() -> None:
    region = Region().settled(10)
    region.schedulers.want(FORECAST, 20)
    region.now += MINUTE
    before = region.reconciler.memory, len(region.recorder.events), dict(region.cloud.servers)
    learnt = region.reconciler.appraiser.rehearsal()._learnt
    first = region.reconciler.cycle(dry_run=True)
    second = region.reconciler.cycle(dry_run=True)
    assert (region.reconciler.memory, len(region.recorder.events), dict(region.cloud.servers)) == before
    assert region.reconciler.appraiser.rehearsal()._learnt is learnt
    assert of_kind(first, StepKind.ACQUIRE)
    assert first.allowed == second.allowed


# -- schedulers -------------------------------------------------------------------------------------------------------


def test_a_silent_scheduler_moves_nothing_of_its_own_and_the_other_goes_on() -> None:
    region = Region().settled(20, 10)
    region.schedulers.silent.add(KUBERNETES)
    region.schedulers.demands.pop(FORECAST)
    region.schedulers.want(HINDCAST, 15)
    region.cycles(20)
    assert region.supply() == 20
    assert region.supply(HINDCAST) == 15


def test_a_view_of_the_schedulers_that_is_too_old_is_silence() -> None:
    region = Region().settled(20)
    region.schedulers.stale_ms = 4 * MINUTE
    region.schedulers.want(FORECAST, 30)
    refusals = {refusal.cause for refusal in region.cycle().refused}
    region.cycles(15)
    assert refusals <= {Cause.SCHEDULER_SILENT}
    assert region.supply() == 20


def test_what_boots_when_its_scheduler_falls_silent_is_not_deleted_for_not_joining() -> None:
    region = Region()
    region.schedulers.want(FORECAST, 20)
    region.cycle()
    booting = len(region.servers())
    region.schedulers.fail("view", *[Transient("silent")] * 30)
    for _ in range(30):
        region.cycle()
    assert len(region.servers()) == booting
    assert not region.told(EventType.INSTANCE_FAILED)


def test_a_node_that_could_not_be_taken_out_of_its_scheduler_is_tried_again() -> None:
    region = Region().settled(20)
    lost = region.busy()
    region.schedulers.fail("remove_node", Transient("silent"), Transient("silent"))
    region.cloud.lose(region.server_id(lost), reason="host failed")
    for _ in range(4):
        region.cycle()
    assert region.schedulers.removed == [lost]

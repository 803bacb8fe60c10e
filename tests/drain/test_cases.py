"""Faults that people in this job reported, each with the result that is right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.actions import Evict, Hold, Kill, Leaving, Requeue, SignalUnit, Taint, Untaint, Verdict
from agent.deadline import NoticeKind
from agent.drain import begin, next_deadline, step
from agent.inputs import (
    Accepted,
    Exited,
    How,
    Looked,
    NoticeSeen,
    Refusal,
    Refused,
    Scheduler,
    SeenRunning,
    Standing,
    TaintAnswered,
    TaintFailed,
    Tick,
    Unit,
)
from agent.phases import NEXT, UNIT_NEXT, Phase, Signal, UnitPhase
from agent.state import MAX_UNITS, Ignore, Mark
from tests.drain.world import NEVER, NOTICE, World, began, play

POD = Unit("web-0")
WITHDRAWAL = NoticeSeen(replace(NOTICE, withdrawn=True, issued_at=20_000))


def test_only_what_runs_is_drained_and_the_rest_does_not_block() -> None:
    listed = (
        Unit("done", standing=Standing.COMPLETED, owned=False),
        Unit("failed-job", standing=Standing.COMPLETED),
        Unit("mirror", standing=Standing.STATIC),
        Unit("daemon", standing=Standing.DAEMON),
        Unit("bare", owned=False),
        Unit("scratch", local_bytes=2 << 30),
    )
    run = play(began(*listed), World())
    assert run.outcome.verdict is Verdict.VERIFIED
    assert [(one.unit, one.owned, one.local_bytes) for one in run.outcome.units] == [
        ("bare", False, 0),
        ("scratch", True, 2 << 30),
    ]


def test_two_budgets_on_one_pod_start_the_local_drain_after_the_first_answer() -> None:
    run = play(began(POD), World(answer_ms=5, always={"web-0": Refusal.SEVERAL_BUDGETS}))
    assert run.world.requests == [(0, "web-0")]
    assert run.record("web-0") == ("by_signal", "will_outlast", "several_budgets")
    assert run.outcome.ended_at < 10_000


@pytest.mark.parametrize("refusal", [Refusal.SERVER_ERROR, Refusal.UNREACHABLE])
def test_an_ordinary_server_error_follows_the_800_ms_rule(refusal: Refusal) -> None:
    run = play(began(POD), World(answer_ms=5, refusals={"web-0": [refusal]}))
    assert run.record("web-0") == ("by_scheduler", None, refusal.value)
    failing = play(began(POD), World(answer_ms=5, always={"web-0": refusal}))
    signalled = next(one.state.now for one in failing.steps if any(isinstance(do, SignalUnit) for do in one.actions))
    assert signalled <= 800


def test_an_unanswered_scheduler_is_left_after_800_ms_and_its_request_is_not_repeated() -> None:
    run = play(began(POD), World(answer_ms=NEVER, probe_ms=NEVER, taint_ms=NEVER))
    signalled = next(one.state.now for one in run.steps if any(isinstance(do, SignalUnit) for do in one.actions))
    assert signalled == 800
    assert run.world.requests == [(0, "web-0")]


def test_a_busy_scheduler_is_waited_for_while_the_grace_still_fits() -> None:
    late = play(began(POD, budget_s=60), World(answer_ms=20_000))
    assert late.record("web-0") == ("by_scheduler", None, None)
    too_late = play(began(POD, budget_s=60), World(answer_ms=40_000))
    assert too_late.record("web-0") == ("by_signal", "time_short", None)


def test_a_refusal_for_the_whole_notice_still_ends_empty() -> None:
    run = play(
        began(POD, Unit("db-0", grace_s=60)),
        World(ends_ms={"db-0": NEVER}, always={"web-0": Refusal.BUDGET, "db-0": Refusal.BUDGET}),
        killed=(40_000, 43_000),
    )
    assert run.outcome.verdict is Verdict.VERIFIED
    assert run.outcome.deadline == 120_000
    assert sorted(run.world.signals) == ["db-0", "web-0"]


def test_an_overrun_names_the_unit_and_why() -> None:
    run = play(
        began(POD), World(ends_ms={"web-0": NEVER}, kill_ms={"web-0": NEVER}, always={"web-0": Refusal.FINALISER})
    )
    assert run.outcome.verdict is Verdict.OVERRUN
    assert run.outcome.running == ("web-0",)
    assert run.record("web-0") == ("still_running", "will_outlast", "finaliser")
    assert run.outcome.ended_at < run.outcome.deadline


def test_a_drain_that_nobody_could_verify_is_an_overrun_without_names() -> None:
    state = begin(began(), 0).state
    while (due := next_deadline(state)) is not None and not state.ended:
        state = step(state, Tick(), due).state
    assert state.outcome is not None
    assert (state.outcome.verdict, state.outcome.running) == (Verdict.OVERRUN, ())


def test_a_withdrawn_notice_takes_off_our_taint_and_nothing_else() -> None:
    run = play(began(POD), World(ends_ms={"web-0": 40_000}), ((20_000, WITHDRAWAL),))
    ordered = [action for one in run.steps for action in one.actions]
    assert run.outcome.verdict is Verdict.WITHDRAWN
    assert ordered.count(Untaint("n7")) == 1
    assert run.state.mark is Mark.OFF
    assert {type(one).__name__ for one in ordered} == {"Taint", "Evict", "Untaint", "Publish"}


def test_a_taint_that_lands_after_the_withdrawal_is_taken_off_again() -> None:
    state = begin(began(POD), 0).state
    state = step(state, WITHDRAWAL, 20_000).state
    state = step(state, TaintAnswered(on=False), 20_010).state
    state, actions = step(state, TaintAnswered(on=True), 20_500)
    assert actions == (Untaint("n7"),)
    assert step(state, TaintAnswered(on=False), 20_510).state.mark is Mark.OFF


def test_a_failed_taint_stops_nothing_and_is_tried_again() -> None:
    state = begin(began(POD), 0).state
    state, actions = step(state, TaintFailed(), 5)
    assert actions == ()
    state = step(state, Accepted("web-0"), 90).state
    assert Taint("n7") in step(state, Tick(), 1_005).actions


def test_a_pod_already_terminating_is_ended_inside_the_budget_without_an_eviction() -> None:
    old = Unit("old-0", grace_s=21_600, standing=Standing.TERMINATING)
    run = play(began(old), World(ends_ms={"old-0": NEVER}))
    assert run.world.requests == []
    assert run.record("old-0") == ("by_kill", "already_terminating", None)
    assert run.outcome.ended_at <= 90_100


def test_a_pod_whose_termination_fits_the_budget_is_not_told_a_second_time() -> None:
    leaving = Unit("old-0", grace_s=20, standing=Standing.TERMINATING)
    run = play(began(leaving), World(), ((15_000, Exited("old-0")),))
    assert run.world.signals == []
    assert run.record("old-0") == ("by_scheduler", None, None)


@pytest.mark.parametrize("wait", [float("nan"), float("inf"), -1.0])
def test_an_absurd_retry_time_is_bounded(wait: float) -> None:
    state = begin(began(POD), 0).state
    state = step(state, Refused("web-0", Refusal.BUDGET, wait), 10).state
    due = next_deadline(state)
    assert due is not None
    assert 10 < due <= 90_000


def test_a_notice_that_has_run_out_is_answered_by_a_kill_and_an_overrun() -> None:
    state, actions = begin(began(POD, notice=replace(NOTICE, ends_at=-5_000)), 0)
    assert Kill("web-0") in actions
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.OVERRUN


def test_an_earlier_notice_brings_the_kill_forward() -> None:
    state = begin(began(POD), 0).state
    earlier = replace(NOTICE, reclaim="r2", issued_at=1_000, ends_at=30_000, remaining_s=29)
    state = step(state, NoticeSeen(earlier), 1_000).state
    assert (state.deadline, state.kill_at) == (30_000, 27_500)


def test_an_accepted_eviction_is_not_an_end() -> None:
    run = play(began(POD), World(ends_ms={"web-0": NEVER}))
    assert run.outcome.units[0].leaving is Leaving.BY_KILL
    assert run.outcome.ended_at > 90_000


@pytest.mark.parametrize("how", [How.EVICT, How.SIGNAL_AND_WAIT])
def test_slurm_requeues_a_job_before_anything_is_signalled(how: How) -> None:
    run = play(began(Unit("job-11"), how=how, scheduler=Scheduler.SLURM), World())
    ordered = [action for one in run.steps for action in one.actions]
    assert Requeue("job-11") in ordered
    assert run.world.requeued == ["job-11"]
    assert run.world.signals == []


def test_with_a_hanging_controller_the_steps_are_held_before_the_job_is_signalled() -> None:
    run = play(
        began(Unit("job-11"), how=How.EVICT, scheduler=Scheduler.SLURM),
        World(answer_ms=NEVER, probe_ms=NEVER, taint_ms=NEVER),
    )
    ordered = [action for one in run.steps for action in one.actions]
    assert ordered.index(Hold("n7")) < ordered.index(SignalUnit("job-11", Signal.SCHEDULER_SILENT))
    assert run.world.held


def test_one_slow_pod_delays_no_other() -> None:
    run = play(began(Unit("slow", grace_s=300), POD), World(ends_ms={"slow": NEVER}, always={"slow": Refusal.BUDGET}))
    assert next(one for one in run.outcome.units if one.unit == "web-0").after_ms < 6_000


def test_pods_of_one_budget_go_one_after_another_and_budgets_side_by_side() -> None:
    pods = [Unit(f"{budget}-{n}", budget=budget) for budget in ("x", "y") for n in range(3)]
    run = play(began(*pods), World(answer_ms=100))
    assert run.world.most_flying == 1
    assert [at for at, _ in run.world.requests] == [0, 0, 100, 100, 200, 200]


def test_the_longest_grace_is_signalled_first() -> None:
    pods = (Unit("short", grace_s=5), Unit("long", grace_s=80), Unit("middle", grace_s=30))
    run = play(began(*pods, how=How.SIGNAL_AND_WAIT), World())
    assert run.world.signals == ["long", "middle", "short"]


def test_what_is_started_again_is_killed_even_after_the_verdict() -> None:
    run = play(began(POD), World(), ((30_000, SeenRunning("web-0")),))
    assert Kill("web-0") in [action for one in run.steps for action in one.actions]
    assert run.outcome.ended_at < 30_000
    assert len(set(run.world.outcomes)) == 1


def test_a_node_given_back_after_its_verdict_is_left_alone() -> None:
    run = play(began(POD), World(), ((20_000, WITHDRAWAL), (30_000, SeenRunning("web-0"))))
    assert not run.world.held
    assert not run.world.tainted
    assert run.world.running == {"web-0"}


def test_what_comes_back_twice_is_killed_twice() -> None:
    run = play(began(POD), World(), ((30_000, SeenRunning("web-0")), (40_000, SeenRunning("web-0"))))
    assert [action for one in run.steps for action in one.actions].count(Kill("web-0")) == 2
    assert not run.world.running


def test_a_stranger_among_the_processes_is_killed_and_named() -> None:
    state = begin(began(), 0).state
    state, actions = step(state, Looked(("sidecar",)), 10)
    assert Kill("sidecar") in actions
    assert [one.unit.name for one in state.units] == ["sidecar"]


def test_units_beyond_the_limit_are_drained_locally() -> None:
    state, actions = begin(began(*(Unit(f"u{n}") for n in range(MAX_UNITS + 3))), 0)
    assert sum(isinstance(one, Evict) for one in actions) == MAX_UNITS
    assert sum(one.cause is Signal.TOO_MANY_UNITS for one in state.units) == 3


def test_a_drill_is_marked_and_drains_like_any_notice() -> None:
    run = play(began(POD, notice=replace(NOTICE, kind=NoticeKind.DRILL)), World())
    assert run.outcome.drill
    assert run.outcome.verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("a word", Ignore.UNKNOWN_INPUT),
        (Exited("nobody"), Ignore.UNKNOWN_UNIT),
        (Refused("web-1", Refusal.BUDGET), Ignore.UNKNOWN_UNIT),
        (Looked(), Ignore.NOT_EXPECTED),
    ],
)
def test_what_cannot_be_used_is_recorded_with_its_reason(said: object, reason: Ignore) -> None:
    state = begin(began(POD), 0).state
    after = step(state, said, 10).state  # type: ignore[arg-type]  # the point of the case
    assert after.ignored[-1].reason is reason
    assert after.units == state.units


def test_every_phase_can_be_reached_and_left() -> None:
    assert set(NEXT.values()) | {Phase.DRAINING} == set(Phase)
    assert set(UNIT_NEXT.values()) | {UnitPhase.QUEUED} == set(UnitPhase)
    assert {phase for phase, _ in UNIT_NEXT} == set(UnitPhase)
    assert {signal for _, signal in (*NEXT, *UNIT_NEXT)} == set(Signal)

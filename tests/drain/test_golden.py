"""Whole drains as stories: `tests/golden/drain/*.txt`, reviewed like code and rewritten by `--rewrite-golden`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from agent.deadline import NoticeKind
from agent.inputs import (
    Began,
    How,
    Input,
    NoticeSeen,
    ReceiptSeen,
    Refusal,
    Scheduler,
    Standing,
    Tick,
    Unit,
)
from agent.transcript import tell
from tests.drain.world import NEVER, NOTICE, World, began, play


@dataclass
class Scenario:
    """One story: who is on the node, how the world behaves, what else happens."""

    start: Began
    world: World = field(default_factory=World)
    script: tuple[tuple[int, Input], ...] = ()
    killed: tuple[int, int] | None = None
    paused: tuple[int, int] | None = None


WEB, DB = Unit("web-0", grace_s=30, budget="web"), Unit("db-0", grace_s=60, budget="db")
WEB_1 = Unit("web-1", grace_s=30, budget="web")
TRAIN = Unit("train-0", grace_s=60)
JOB = Unit("job-11", grace_s=30)
WITHDRAWN = replace(NOTICE, withdrawn=True, issued_at=15_000)


def _wrong(**change: object) -> Input:
    return NoticeSeen(replace(NOTICE, **change))  # type: ignore[arg-type]  # the fields of a notice, one story each


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "happy_path_by_eviction": lambda: Scenario(
        began(WEB, WEB_1, DB),
        World(ends_ms={"db-0": 12_000}),
        ((3_000, ReceiptSeen("db-0", "sha256:5f", 1_048_576, 420, 2_900)),),
    ),
    "scheduler_silent_then_local": lambda: Scenario(
        began(WEB, DB), World(answer_ms=NEVER, probe_ms=NEVER, taint_ms=NEVER)
    ),
    "scheduler_busy": lambda: Scenario(began(WEB, WEB_1), World(answer_ms=2_500)),
    "scheduler_busy_until_time_is_short": lambda: Scenario(began(WEB, DB, budget_s=64), World(answer_ms=70_000)),
    "refusal_that_clears": lambda: Scenario(began(WEB), World(refusals={"web-0": [Refusal.BUDGET, Refusal.THROTTLED]})),
    "refusal_that_will_outlast": lambda: Scenario(began(WEB, DB), World(always={"web-0": Refusal.BUDGET})),
    "two_budgets_on_one_pod": lambda: Scenario(
        began(WEB, DB), World(answer_ms=5, always={"web-0": Refusal.SEVERAL_BUDGETS})
    ),
    "server_errors": lambda: Scenario(began(WEB), World(answer_ms=5, always={"web-0": Refusal.SERVER_ERROR})),
    "withdrawn_before_the_eviction_is_answered": lambda: Scenario(
        began(WEB), World(answer_ms=700), ((200, NoticeSeen(replace(WITHDRAWN, issued_at=150))),)
    ),
    "withdrawn_after_the_eviction": lambda: Scenario(
        began(WEB, DB), World(ends_ms={"db-0": 40_000}), ((20_000, NoticeSeen(WITHDRAWN)),)
    ),
    "withdrawn_after_the_verdict": lambda: Scenario(began(WEB), World(), ((20_000, NoticeSeen(WITHDRAWN)),)),
    "withdrawn_during_a_local_drain": lambda: Scenario(
        began(TRAIN, how=How.SIGNAL_AND_WAIT), World(ends_ms={"train-0": 40_000}), ((20_000, NoticeSeen(WITHDRAWN)),)
    ),
    "overrun": lambda: Scenario(
        began(WEB, TRAIN, how=How.SIGNAL_AND_WAIT), World(ends_ms={"train-0": NEVER}, kill_ms={"train-0": NEVER})
    ),
    "duplicate_late_and_foreign_notices": lambda: Scenario(
        began(WEB),
        World(),
        (
            (500, NoticeSeen(NOTICE)),
            (1_000, _wrong(ends_at=180_000, issued_at=900, remaining_s=179.0)),
            (1_500, _wrong(instance="i3")),
            (2_000, _wrong(reclaim="", source="metadata", ends_at=100_000, issued_at=1_990, remaining_s=98.0)),
        ),
    ),
    "clock_jump": lambda: Scenario(
        began(TRAIN, how=How.SIGNAL_AND_WAIT),
        World(ends_ms={"train-0": NEVER}),
        ((100_010, NoticeSeen(replace(NOTICE, issued_at=100_000, remaining_s=20.0))),),
        paused=(40_000, 100_000),
    ),
    "restart_from_the_journal": lambda: Scenario(
        began(WEB, DB),
        World(ends_ms={"web-0": 14_000, "db-0": NEVER}, always={"web-0": Refusal.BUDGET, "db-0": Refusal.BUDGET}),
        killed=(40_000, 43_000),
    ),
    "drill": lambda: Scenario(began(WEB, notice=replace(NOTICE, kind=NoticeKind.DRILL))),
    "slurm_requeue": lambda: Scenario(began(JOB, how=How.SIGNAL_AND_WAIT, scheduler=Scheduler.SLURM)),
    "slurm_controller_hangs": lambda: Scenario(
        began(JOB, how=How.SIGNAL_AND_WAIT, scheduler=Scheduler.SLURM),
        World(answer_ms=NEVER, probe_ms=NEVER, taint_ms=NEVER),
    ),
    "already_terminating_with_long_grace": lambda: Scenario(
        began(Unit("old-0", grace_s=21_600, standing=Standing.TERMINATING), WEB), World(ends_ms={"old-0": NEVER})
    ),
    "pods_that_do_not_count": lambda: Scenario(
        began(
            Unit("done-0", standing=Standing.COMPLETED, owned=False),
            Unit("kube-proxy-n7", standing=Standing.STATIC),
            Unit("logs-x", standing=Standing.DAEMON),
            Unit("bare", owned=False),
            Unit("scratch-0", local_bytes=2 << 30),
        )
    ),
    "started_again": lambda: Scenario(began(WEB), World(returns_ms={"web-0": 4})),
    "command": lambda: Scenario(began(TRAIN, how=How.COMMAND), World(command_works=False)),
    "nothing_to_do_but_kill": lambda: Scenario(began(JOB, how=How.NOTHING, budget_s=5)),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_drain_tells_its_reviewed_story(name: str, golden: Callable[[str, str], None]) -> None:
    scenario = SCENARIOS[name]()
    run = play(scenario.start, scenario.world, scenario.script, killed=scenario.killed, paused=scenario.paused)
    golden(name, "\n".join(tell(run.entries)) + "\n")


def test_a_tick_without_effect_is_not_told() -> None:
    run = play(began(WEB), World(), ((300, Tick()),))
    assert not [line for line in tell(run.entries) if line.startswith("at 0.300")]

"""What holds for every drain, whatever the surroundings do and in whatever order."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.actions import Action, Publish, RunCommand, SignalUnit, Untaint, Verdict
from agent.deadline import Notice, NoticeKind
from agent.drain import Entry, Step, begin, next_deadline, replay, step
from agent.inputs import (
    Accepted,
    Began,
    ClockJumped,
    CommandEnded,
    Exited,
    How,
    Input,
    Looked,
    NoticeSeen,
    OutcomeHeard,
    ReceiptSeen,
    Refusal,
    Refused,
    Restarted,
    Scheduler,
    SchedulerAlive,
    SchedulerSilent,
    SeenRunning,
    Standing,
    TaintAnswered,
    TaintFailed,
    Tick,
    Unit,
)
from agent.journal import decode, encode
from agent.phases import ENDED
from agent.state import Mark
from tests.drain.world import NEVER, World, began, play

NAMES = ("a", "b", "c", "d")
names = st.sampled_from((*NAMES, "stranger"))
instants = st.integers(0, 130_000)

units = st.builds(
    Unit,
    name=st.sampled_from(NAMES),
    grace_s=st.sampled_from((0, 5, 30, 300)),
    budget=st.sampled_from(("", "x", "y")),
    standing=st.sampled_from(Standing),
    owned=st.booleans(),
)
notices = st.builds(
    Notice,
    instance=st.sampled_from(("i7", "i7", "i7", "i3")),
    reclaim=st.sampled_from(("r1", "r2", "")),
    kind=st.sampled_from(NoticeKind),
    issued_at=st.integers(-10_000, 130_000),
    ends_at=st.integers(-200_000, 400_000),
    remaining_s=st.floats(-5, 300),
    source=st.sampled_from(("subject", "metadata")),
    withdrawn=st.booleans(),
)
starts = st.builds(
    Began,
    node=st.just("n7"),
    instance=st.just("i7"),
    units=st.lists(units, max_size=5).map(tuple),
    budget_s=st.integers(0, 200),
    how=st.sampled_from(How),
    scheduler=st.sampled_from(Scheduler),
    notice=notices.map(lambda one: replace(one, instance="i7", withdrawn=False)),
)
inputs: st.SearchStrategy[Input] = st.one_of(
    st.builds(NoticeSeen, notices),
    st.just(Tick()),
    st.builds(TaintAnswered, st.booleans()),
    st.just(TaintFailed()),
    st.builds(Accepted, names),
    st.builds(Refused, names, st.sampled_from(Refusal), st.none() | st.floats(-1, 1_000)),
    st.just(SchedulerAlive()),
    st.just(SchedulerSilent()),
    st.builds(CommandEnded, names, st.booleans()),
    st.builds(Exited, names),
    st.builds(SeenRunning, names),
    st.builds(Looked, st.lists(names, max_size=2).map(tuple)),
    st.builds(ReceiptSeen, names, st.just("sha256:0"), st.integers(0, 9), st.integers(0, 9), instants),
    st.builds(ClockJumped, st.integers(-9_000, 9_000)),
    st.just(OutcomeHeard()),
    st.just(Restarted()),
)
histories = st.lists(st.tuples(st.integers(0, 9_000), inputs), max_size=40)


def ticked(start: Began, history: list[tuple[int, Input]]) -> tuple[list[Entry], list[Step]]:
    """A history in which every due tick is sent, to the last one."""
    entries, steps = [Entry(0, start)], [begin(start, 0)]

    def say(said: Input, at: int) -> None:
        entries.append(Entry(at, said))
        steps.append(step(steps[-1].state, said, at))

    now = 0
    for gap, said in history:
        now += gap
        while (due := next_deadline(steps[-1].state)) is not None and due < now:
            say(Tick(), due)
        say(said, now)
    while (due := next_deadline(steps[-1].state)) is not None:
        assert due > steps[-1].state.now, "a tick that is due leads to a later one"
        say(Tick(), due)
    return entries, steps


def actions(steps: list[Step]) -> list[Action]:
    return [action for one in steps for action in one.actions]


@given(starts, histories)
def test_a_drain_has_exactly_one_outcome_by_its_deadline(start: Began, history: list[tuple[int, Input]]) -> None:
    _, steps = ticked(start, history)
    outcomes = {action.outcome for action in actions(steps) if isinstance(action, Publish)}
    assert len(outcomes) == 1
    outcome = outcomes.pop()
    assert outcome.ended_at <= max(outcome.deadline, outcome.started_at)
    assert steps[-1].state.ended
    assert (outcome.verdict is Verdict.VERIFIED) <= (outcome.running == ())


@given(starts, histories)
def test_no_unit_is_signalled_or_commanded_twice(start: Began, history: list[tuple[int, Input]]) -> None:
    _, steps = ticked(start, history)
    for kind in (SignalUnit, RunCommand):
        told = [action.unit for action in actions(steps) if isinstance(action, kind)]
        assert len(told) == len(set(told))


@given(starts, histories)
def test_the_deadline_moves_later_only_by_a_withdrawal(start: Began, history: list[tuple[int, Input]]) -> None:
    entries, steps = ticked(start, history)
    for entry, before, after in zip(entries[1:], steps, steps[1:], strict=False):
        withdrawal = isinstance(entry.said, NoticeSeen) and entry.said.notice.withdrawn
        assert after.state.deadline <= before.state.deadline or withdrawal


@given(starts, histories)
def test_phases_move_by_the_tables_and_an_ended_drain_stays_ended(
    start: Began, history: list[tuple[int, Input]]
) -> None:
    _, steps = ticked(start, history)
    for before, after in pairwise(steps):
        assert before.state.phase is after.state.phase or before.state.phase not in ENDED


@given(starts, histories)
def test_replay_of_every_prefix_is_the_state_that_was(start: Began, history: list[tuple[int, Input]]) -> None:
    entries, steps = ticked(start, history)
    for length in range(1, len(entries) + 1, max(1, len(entries) // 6)):
        read, bad = decode(b"".join(encode(entry) for entry in entries[:length]))
        assert bad == 0
        assert read == entries[:length]
        assert replay(read) == steps[length - 1].state


@given(starts, histories, st.integers(-9_000, 9_000))
def test_a_clock_that_runs_back_changes_no_instant(start: Began, history: list[tuple[int, Input]], back: int) -> None:
    _, steps = ticked(start, history)
    state = steps[len(steps) // 2].state
    after = step(state, Tick(), min(state.now, state.now + back)).state
    assert after.now == state.now


@given(starts, histories)
def test_every_number_of_tries_has_its_limit(start: Began, history: list[tuple[int, Input]]) -> None:
    _, steps = ticked(start, history)
    state = steps[-1].state
    extra = sum(1 for _, said in history if not isinstance(said, Tick))
    assert len(state.ignored) <= 32
    assert sum(one.asks for one in state.units) <= len(state.units) * 12
    assert state.publishes <= 20 + extra
    assert state.mark_tries <= 120 + extra


waits = st.sampled_from((1, 90, 700, 2_500, NEVER))
worlds = st.builds(
    World,
    answer_ms=waits,
    probe_ms=st.sampled_from((5, 300, NEVER)),
    taint_ms=st.sampled_from((6, 900, NEVER)),
    ends_ms=st.dictionaries(st.sampled_from(NAMES), st.sampled_from((0, 5_000, 60_000, NEVER))),
    kill_ms=st.dictionaries(st.sampled_from(NAMES), st.sampled_from((0, 50, 3_000))),
    refusals=st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(Refusal), max_size=4)),
    always=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(Refusal)),
    returns_ms=st.dictionaries(st.sampled_from(NAMES), st.sampled_from((0, 700))),
    command_works=st.booleans(),
)
ordinary = st.builds(
    lambda listed, how, scheduler, budget: began(*listed, how=how, scheduler=scheduler, budget_s=budget),
    st.lists(units, max_size=4, unique_by=lambda unit: unit.name),
    st.sampled_from(How),
    st.sampled_from(Scheduler),
    st.integers(5, 110),
)


@given(ordinary, worlds, st.booleans())
def test_a_node_whose_kills_work_is_empty_in_time(start: Began, world: World, twice: bool) -> None:
    run = play(start, world, twice=twice)
    assert run.outcome.verdict is Verdict.VERIFIED
    assert not world.running
    assert twice or world.most_flying <= 1


@given(ordinary, worlds)
def test_carrying_out_everything_twice_ends_alike(start: Began, world: World) -> None:
    twin = World(
        answer_ms=world.answer_ms,
        probe_ms=world.probe_ms,
        taint_ms=world.taint_ms,
        ends_ms=world.ends_ms,
        kill_ms=world.kill_ms,
        always=world.always,
        command_works=world.command_works,
    )
    world.refusals, world.returns_ms = {}, {}
    once, twice = play(start, world), play(start, twin, twice=True)
    assert len(twin.signals) == len(set(twin.signals))
    assert once.outcome == twice.outcome


@settings(max_examples=60)
@given(ordinary, worlds, st.integers(100, 60_000))
def test_a_withdrawn_drain_leaves_no_taint_and_no_hold(start: Began, world: World, at: int) -> None:
    withdrawal = NoticeSeen(replace(start.notice, withdrawn=True, issued_at=1))
    run = play(start, world, ((at, withdrawal),))
    assert run.outcome.verdict in {Verdict.WITHDRAWN, Verdict.VERIFIED}
    assert not world.tainted
    assert not world.held
    assert Untaint("n7") in [action for one in run.steps for action in one.actions]
    assert run.state.mark is Mark.OFF or world.taint_ms == NEVER


@settings(max_examples=60)
@given(ordinary, worlds, st.integers(1, 80_000), st.integers(1, 20_000))
def test_an_agent_killed_anywhere_ends_the_same_drain_in_time(start: Began, world: World, down: int, away: int) -> None:
    run = play(start, world, killed=(down, down + away))
    assert len(world.signals) == len(set(world.signals))
    assert len(set(world.outcomes)) == 1
    assert run.outcome.deadline == start.notice.ends_at
    assert run.outcome.verdict is Verdict.VERIFIED

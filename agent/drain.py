"""A node's drain: what it does between a notice and its end, as a pure state machine.

It decides, for one node and one notice, when to taint, evict, requeue, signal, kill, verify and publish. The agent's
loop calls it on real nodes and the simulator on simulated ones; neither is known here, and no clock, scheduler or
process is.

    state, actions = start(node=..., instance=..., units=..., budget_s=..., how=..., scheduler=..., notice=..., now=...)
    state, actions = step(state, Exited("train-0"), now)   # for each input seen
    state, actions = step(state, Tick(), now)              # at next_deadline(state), unless None

`start`          opens a drain on a notice and returns its state with the first actions.
`step`           one input at one instant: the state after it and what to do. Never raises; what changes nothing is
                 recorded in `state.ignored` with its reason.
`next_deadline`  when to tick next, or None when only an input can change anything.
`replay`         the state after a journal (`agent.journal` reads and writes it); go on with `Restarted()`.

Inputs are in `agent.inputs`, actions and the outcome in `agent.actions`, phases and their tables in `agent.phases`,
times and limits in `agent.state`, notices and the honest clock in `agent.deadline`.

Promises: exactly one outcome, at or before the deadline when ticked; a unit is signalled at most once; the deadline
moves earlier only, unless a notice is withdrawn; after a withdrawal our taint is taken off and nobody else's cordon is
touched; one request in flight for each budget, and no unit waits for another but in that queue.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from agent.actions import Action, Taint
from agent.deadline import Instant, Merge, Notice, Notices, Reading, merge
from agent.draft import Draft
from agent.handlers import handle
from agent.inputs import Began, How, Input, Scheduler, Standing, Unit
from agent.phases import Phase, Signal, UnitPhase
from agent.state import MAX_UNITS, REPEAT_MS, DrainState, Mark, Plan, UnitState
from agent.timers import advance, next_deadline
from contracts.errors import Refused

__all__ = ["Entry", "Step", "begin", "next_deadline", "replay", "start", "step"]


class Step(NamedTuple):
    """What one input led to: the state after it, and the actions in the order in which to take them."""

    state: DrainState
    actions: tuple[Action, ...]


class Entry(NamedTuple):
    """One line of a journal: what was seen and when, written down before it was acted on."""

    at: Instant
    said: Began | Input
    reading: Reading | None = None  # both clocks then, so that honest time goes on after a restart


# Budgets beyond a day are no budgets; the deadline ends the drain long before.
_MAX_BUDGET_S: Final = 86_400

# Whatever an earlier drain knew and stands: such a word is no cause to drain again.
_OPENS_NOTHING: Final = frozenset(
    {
        Merge.OTHER_INSTANCE,
        Merge.ALREADY_WITHDRAWN,
        Merge.WITHDRAWS_PART,
        Merge.WITHDRAWS_ALL,
        Merge.WITHDRAWS_NOTHING,
    }
)


def start(
    *,
    node: str,
    instance: str,
    units: Iterable[Unit],
    budget_s: int,
    how: How,
    scheduler: Scheduler,
    notice: Notice,
    now: Instant,
    wall: Instant | None = None,
    known: Notices | None = None,
) -> Step:
    """Open a drain on `notice`, the first that stands.

    `budget_s` is the contract's drain budget in seconds; `wall` the node's wall clock where it differs from `now`;
    `known` the notices of an earlier drain of this instance, so that late copies of a withdrawn one open nothing.

    Raises `contracts.errors.Refused` when the notice opens no drain: another instance's, a withdrawal, a withdrawn
    one's copy. The caller can ask `agent.deadline.merge` first.
    """
    began = Began(
        node=node,
        instance=instance,
        units=tuple(units),
        budget_s=budget_s,
        how=how,
        scheduler=scheduler,
        notice=notice,
        wall=wall,
        known=known,
    )
    return begin(began, now)


def begin(began: Began, now: Instant) -> Step:
    """`start` from the journal's first line."""
    known = began.known or Notices(began.instance)
    notices, verdict = merge(known, began.notice, now=now, wall=now if began.wall is None else began.wall)
    deadline = notices.deadline
    if deadline is None or verdict in _OPENS_NOTHING:
        raise Refused(
            f"{began.node}: the notice for {began.notice.instance} opens no drain of {began.instance} ({verdict.value})"
        )
    budget_ms = min(max(began.budget_s, 0), _MAX_BUDGET_S) * 1_000
    state = DrainState(
        plan=Plan(began.node, began.instance, began.how, began.scheduler, budget_ms, now),
        now=now,
        deadline=deadline,
        notices=notices,
        phase=Phase.DRAINING,
        units=tuple(UnitState(unit, UnitPhase.QUEUED, now) for unit in _counted(began.units)),
        mark=Mark.SETTING,
        mark_tries=1,
        mark_at=now + REPEAT_MS[0],
        held_at=None,
        answered_at=now,
        probed_at=now - 1,
        probes=0,
        looks=0,
        look_at=None,
        outcome=None,
        publishes=0,
        publish_at=None,
        ignored=(),
        ignored_count=0,
    )
    draft = Draft(state, now)
    draft.actions.append(Taint(began.node))
    _route(draft)
    advance(draft)
    return Step(draft.freeze(), tuple(draft.actions))


def step(state: DrainState, said: Input, now: Instant) -> Step:
    """The state after `said` at `now`, and what to do. An earlier `now` than the last counts as the last."""
    draft = Draft(state, now)
    handle(draft, said)
    advance(draft)
    return Step(draft.freeze(), tuple(draft.actions))


def replay(entries: Iterable[Entry]) -> DrainState | None:
    """The state after a journal, or None for one that never began.

    A drain that began after a former one's end takes its place; a beginning that opened nothing is passed over. Actions
    are not repeated here: step with `Restarted`.
    """
    state: DrainState | None = None
    for at, said, _ in entries:
        if isinstance(said, Began):
            with suppress(Refused):
                state = begin(said, at).state
        elif state is not None:
            state = step(state, said, at).state
    return state


def _counted(units: tuple[Unit, ...]) -> list[Unit]:
    """What has to be ended, each name once, the longest grace first."""
    named = {unit.name: unit for unit in reversed(units) if unit.standing.counts}
    return sorted(named.values(), key=lambda unit: (-unit.grace_s, unit.name))


def _route(draft: Draft) -> None:
    """Send each unit on the way its contract and its state allow; those that stay queued wait for their turn."""
    plan = draft.plan
    local: dict[Signal, list[int]] = {}
    for place, one in enumerate(draft.units):
        if plan.how is How.NOTHING:
            draft.move(place, Signal.LEAVE_ALONE)
        elif plan.how is How.COMMAND:
            draft.ask(place, Signal.RUN_COMMAND)
        elif one.unit.standing is Standing.TERMINATING:
            if one.unit.grace_s * 1_000 <= draft.kill_at - draft.now:
                draft.move(place, Signal.ACCEPTED)
            else:
                local.setdefault(Signal.ALREADY_TERMINATING, []).append(place)
        elif not _asks_scheduler(plan):
            local.setdefault(Signal.LOCAL_BY_CONTRACT, []).append(place)
        elif place >= MAX_UNITS:
            local.setdefault(Signal.TOO_MANY_UNITS, []).append(place)
    for signal, places in local.items():
        draft.end_locally(places, signal)


def _asks_scheduler(plan: Plan) -> bool:
    """True where the scheduler has a say: Kubernetes when the contract says evict, Slurm always.

    Slurm books a job whose processes end as done, so that it is asked to requeue before anything is signalled.
    """
    if plan.scheduler is Scheduler.SLURM:
        return True
    return plan.scheduler is Scheduler.KUBERNETES and plan.how is How.EVICT

"""What passing time does to a drain: silence, turns, short remaining time, kill, looks, the verdict, repetitions.

`agent.drain.step` calls `advance` after every input, so that an input and a tick at the same instant lead to the same
state; `next_deadline` names the first instant at which `advance` would do something. Knows no input.
"""

from __future__ import annotations

from agent.actions import Probe, Taint
from agent.deadline import Instant
from agent.draft import Draft
from agent.inputs import Scheduler
from agent.phases import ENDED, PENDING, Phase, Signal, UnitPhase
from agent.state import (
    LOCAL_MARGIN_MS,
    MAX_KILLS,
    MAX_LOOKS,
    MAX_PUBLISHES,
    MAX_TAINTS,
    MAX_UNTAINTS,
    PROBE_ANSWER_MS,
    PROBE_MS,
    REPEAT_MS,
    SILENCE_MS,
    DrainState,
    Mark,
    Plan,
    UnitState,
    repeat_after,
)

_HURRIES = PENDING | {UnitPhase.COMMANDED}


def advance(draft: Draft) -> None:
    """Do everything that is due at `draft.now`."""
    if draft.phase not in ENDED:
        _hear_silence(draft)
        _hurry(draft)
        _take_turns(draft)
        _kill(draft)
        _verify(draft)
        if draft.now >= draft.verdict_at:
            draft.advance_phase(Signal.TIME_OUT)
    _repeat_mark(draft)
    if draft.publish_at is not None and draft.now >= draft.publish_at:
        if draft.publishes < MAX_PUBLISHES:
            draft.publish()
        else:
            draft.publish_at = None


def patience_ends(plan: Plan, kill: Instant, one: UnitState) -> Instant:
    """Until when a unit may wait for its scheduler or command: its own grace and a margin before the kill.

    The scheduler gets its 800 ms in any case, also where the grace is longer than the time.
    """
    grace = min(one.unit.grace_s * 1_000, plan.budget_ms)
    return max(kill - grace - LOCAL_MARGIN_MS, plan.started_at + SILENCE_MS)


def _quiet_since(units: list[UnitState] | tuple[UnitState, ...], answered_at: Instant) -> Instant | None:
    """Since when the scheduler owes an answer, or None when it owes none."""
    oldest = None
    for one in units:
        if one.asked_since is not None and one.phase in PENDING and (oldest is None or one.asked_since < oldest):
            oldest = one.asked_since
    return None if oldest is None else max(oldest, answered_at)


def _hear_silence(draft: Draft) -> None:
    """Probe a scheduler that owes an answer, and stop waiting for one that gave no sign for 800 ms."""
    quiet = _quiet_since(draft.units, draft.answered_at)
    if quiet is None:
        return
    if draft.now < _quiet_until(draft, quiet):
        return
    if draft.probed_at >= quiet:
        go_silent(draft)
    else:
        draft.probed_at = draft.now
        draft.probes += 1
        draft.actions.append(Probe(draft.plan.node))


def _quiet_until(state: DrainState | Draft, quiet: Instant) -> Instant:
    """When a quiet scheduler is probed, or, once it was, when it counts as silent."""
    if state.probed_at >= quiet:
        return max(quiet + SILENCE_MS, state.probed_at + PROBE_ANSWER_MS)
    return quiet + repeat_after(PROBE_MS, state.probes + 1)


def go_silent(draft: Draft) -> bool:
    """Drain locally whatever waits for the scheduler; False when nothing does."""
    waiting = [place for place, one in enumerate(draft.units) if one.phase in PENDING]
    draft.end_locally(waiting, Signal.SCHEDULER_SILENT)
    return bool(waiting)


def _hurry(draft: Draft) -> None:
    """End locally each unit that could otherwise not have its grace."""
    now, plan, kill = draft.now, draft.plan, draft.kill_at
    short = [
        place
        for place, one in enumerate(draft.units)
        if one.phase in _HURRIES and now >= patience_ends(plan, kill, one)
    ]
    draft.end_locally(short, Signal.TIME_SHORT)


def _take_turns(draft: Draft) -> None:
    """One request in flight for each budget; a unit that waits to ask again keeps its place in the queue."""
    queued = [place for place, one in enumerate(draft.units) if one.phase is UnitPhase.QUEUED]
    if not queued:
        return
    now = draft.now
    signal = Signal.ASK_REQUEUE if draft.plan.scheduler is Scheduler.SLURM else Signal.ASK_EVICTION
    busy = {
        one.unit.queue
        for one in draft.units
        if (one.in_flight and one.phase is not UnitPhase.GONE) or (one.phase is UnitPhase.QUEUED and one.retry_at > now)
    }
    for place in queued:
        one = draft.units[place]
        if one.unit.queue not in busy:
            busy.add(one.unit.queue)
            draft.ask(place, signal)


def _kill(draft: Draft) -> None:
    """At the budget, kill what still runs; and again what a kill did not end."""
    spent = draft.now >= draft.kill_at
    for place, one in enumerate(draft.units):
        if one.phase is UnitPhase.KILLED:
            if draft.now >= one.retry_at and one.kills < MAX_KILLS:
                draft.kill(place, Signal.BUDGET_SPENT)
        elif spent and one.phase is not UnitPhase.GONE:
            draft.kill(place, Signal.BUDGET_SPENT)


def _verify(draft: Draft) -> None:
    """Look at the node once all units are gone, and again until the look is answered."""
    if draft.phase is Phase.VERIFYING:
        if draft.look_at is not None and draft.now >= draft.look_at:
            if draft.looks < MAX_LOOKS:
                draft.look()
            else:
                draft.look_at = None
    elif all(one.phase is UnitPhase.GONE for one in draft.units):
        draft.advance_phase(Signal.ALL_GONE)
        draft.look()


def _repeat_mark(draft: Draft) -> None:
    """Set or take off our taint again while neither is known to have happened."""
    if draft.mark_at is None or draft.now < draft.mark_at:
        return
    if draft.mark is Mark.REMOVING:
        if draft.mark_tries < MAX_UNTAINTS:
            draft.untaint()
        else:
            draft.mark_at = None
    elif draft.mark_tries < MAX_TAINTS and draft.phase not in ENDED:
        draft.mark_tries += 1
        draft.mark_at = draft.now + repeat_after(REPEAT_MS, draft.mark_tries)
        draft.actions.append(Taint(draft.plan.node))
    else:
        draft.mark = Mark.GIVEN_UP
        draft.mark_at = None


def next_deadline(state: DrainState) -> Instant | None:
    """When to tick next, in ms on the axis of `state.now` and always after it; None when only an input matters."""
    times = [at for at in (state.mark_at, state.publish_at) if at is not None]
    if state.phase not in ENDED:
        times.append(state.verdict_at)
        if state.look_at is not None and state.phase is Phase.VERIFYING:
            times.append(state.look_at)
        quiet = _quiet_since(state.units, state.answered_at)
        if quiet is not None:
            times.append(_quiet_until(state, quiet))
        kill = state.kill_at
        for one in state.units:
            if one.phase is UnitPhase.GONE:
                continue
            if one.phase is UnitPhase.KILLED:
                if one.kills < MAX_KILLS:
                    times.append(one.retry_at)
                continue
            times.append(kill)
            if one.phase in _HURRIES:
                times.append(patience_ends(state.plan, kill, one))
                if one.phase is UnitPhase.QUEUED and one.retry_at > state.now:
                    times.append(one.retry_at)
    return min(times, default=None)

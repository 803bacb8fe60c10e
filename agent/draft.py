"""The working copy inside one step: phases move through the tables, and each move says what to do about it.

Made from a `DrainState`, changed by `agent.drain`, frozen again at the end of the step; it never outlives the step.
Every change of a phase goes through `move` or `advance_phase`, which look the tables up and refuse what they do not
hold.
"""

from __future__ import annotations

from typing import Final

from agent.actions import (
    Action,
    Evict,
    Hold,
    Kill,
    Leaving,
    Outcome,
    Publish,
    Requeue,
    RunCommand,
    SignalUnit,
    UnitRecord,
    Untaint,
    Verdict,
    Verify,
)
from agent.deadline import Instant, Merge
from agent.inputs import How, Standing
from agent.phases import NEXT, UNIT_NEXT, Phase, Signal, UnitPhase
from agent.state import (
    MAX_IGNORED,
    REPEAT_MS,
    SETTLED_MS,
    DrainState,
    Ignore,
    Ignored,
    Mark,
    UnitState,
    kill_at,
    repeat_after,
    verdict_at,
)
from contracts.frozen import replace

_LEAVING: Final = {
    UnitPhase.LEAVING: Leaving.BY_SCHEDULER,
    UnitPhase.SIGNALLED: Leaving.BY_SIGNAL,
    UnitPhase.KILLED: Leaving.BY_KILL,
    UnitPhase.COMMANDED: Leaving.BY_COMMAND,
}
_VERDICTS: Final = {
    Phase.VERIFIED: Verdict.VERIFIED,
    Phase.OVERRUN: Verdict.OVERRUN,
    Phase.WITHDRAWN: Verdict.WITHDRAWN,
}


class Draft:
    """A mutable `DrainState` with the actions of this step."""

    __slots__ = (
        "actions", "answered_at", "deadline", "held_at", "ignored", "ignored_count", "look_at", "looks", "mark",
        "mark_at", "mark_tries", "notices", "now", "outcome", "phase", "plan", "probed_at", "probes", "publish_at",
        "publishes", "units",
    )  # fmt: skip

    def __init__(self, state: DrainState, now: Instant) -> None:
        self.plan = state.plan
        self.now = max(now, state.now)
        self.deadline = state.deadline
        self.notices = state.notices
        self.phase = state.phase
        self.units = list(state.units)
        self.mark = state.mark
        self.mark_tries = state.mark_tries
        self.mark_at = state.mark_at
        self.held_at = state.held_at
        self.answered_at = state.answered_at
        self.probed_at = state.probed_at
        self.probes = state.probes
        self.looks = state.looks
        self.look_at = state.look_at
        self.outcome = state.outcome
        self.publishes = state.publishes
        self.publish_at = state.publish_at
        self.ignored = state.ignored
        self.ignored_count = state.ignored_count
        self.actions: list[Action] = []

    def freeze(self) -> DrainState:
        """The state after this step."""
        return DrainState(
            self.plan,
            self.now,
            self.deadline,
            self.notices,
            self.phase,
            tuple(self.units),
            self.mark,
            self.mark_tries,
            self.mark_at,
            self.held_at,
            self.answered_at,
            self.probed_at,
            self.probes,
            self.looks,
            self.look_at,
            self.outcome,
            self.publishes,
            self.publish_at,
            self.ignored,
            self.ignored_count,
        )

    @property
    def kill_at(self) -> Instant:
        """See `DrainState.kill_at`."""
        return kill_at(self.plan, self.deadline)

    @property
    def verdict_at(self) -> Instant:
        """See `DrainState.verdict_at`."""
        return verdict_at(self.plan, self.deadline)

    def ignore(self, what: object, reason: Ignore | Merge) -> None:
        """Record an input that changes nothing; beyond the limit the newest are kept and all are counted."""
        self.ignored = (*self.ignored, Ignored(self.now, type(what).__name__, reason))[-MAX_IGNORED:]
        self.ignored_count += 1

    def move(self, place: int, signal: Signal) -> bool:
        """Send one unit through the table; False, and nothing changes, when the table has no such move."""
        one = self.units[place]
        to = UNIT_NEXT.get((one.phase, signal))
        if to is None:
            return False
        cause = one.cause
        if to is UnitPhase.SIGNALLED or (to is UnitPhase.KILLED and (cause is None or signal is Signal.SEEN_AGAIN)):
            cause = signal
        before = one.phase if to is UnitPhase.GONE else None
        self.units[place] = replace(one, phase=to, since=self.now, cause=cause, before_exit=before)
        return True

    def advance_phase(self, signal: Signal) -> bool:
        """Send the node through the table; False, and nothing changes, when the table has no such move."""
        to = NEXT.get((self.phase, signal))
        if to is None:
            return False
        self.phase = to
        if to in _VERDICTS:
            self.look_at = None
            self.outcome = _outcome(self, _VERDICTS[to])
            self.publish()
        return True

    def ask(self, place: int, signal: Signal) -> None:
        """Give a queued unit its turn."""
        self.move(place, signal)
        one = self.units[place]
        since = self.now if one.asked_since is None else one.asked_since
        in_flight = one.phase is not UnitPhase.COMMANDED
        self.units[place] = replace(one, asks=one.asks + 1, asked_since=since, in_flight=in_flight)
        self.request(one)

    def request(self, one: UnitState) -> None:
        """Order what the unit's phase waits for; repeated after a restart."""
        if one.phase is UnitPhase.EVICTING:
            self.actions.append(Evict(one.unit.name))
        elif one.phase is UnitPhase.REQUEUEING:
            self.actions.append(Requeue(one.unit.name))
        elif one.phase is UnitPhase.COMMANDED:
            self.actions.append(RunCommand(one.unit.name))

    def hold(self) -> None:
        """Hold the supervisor, once. What it was just told to end it may never end now, so that is ended here too."""
        if self.held_at is not None:
            return
        self.held_at = self.now
        self.actions.append(Hold(self.plan.node))
        self.advance_phase(Signal.HELD)
        young = [
            place
            for place, one in enumerate(self.units)
            if one.phase is UnitPhase.LEAVING
            and one.unit.standing is not Standing.TERMINATING
            and self.now - one.since < SETTLED_MS
        ]
        self.end_locally(young, Signal.SUPERVISOR_HELD)

    def end_locally(self, places: list[int], signal: Signal) -> None:
        """Hold the supervisor and signal these units, the longest grace first; a unit signalled before is not again."""
        if not places:
            return
        moved = [place for place in places if self.move(place, signal)]
        # Nothing starts a terminating unit again, and a held supervisor could not end the others.
        if moved and signal is not Signal.ALREADY_TERMINATING:
            self.hold()
        for place in sorted(moved, key=lambda place: -self.units[place].unit.grace_s):
            one = self.units[place]
            if not one.signalled:
                self.units[place] = replace(one, signalled=True)
                self.actions.append(SignalUnit(one.unit.name, signal))

    def kill(self, place: int, signal: Signal) -> None:
        """End a unit's processes now. `signal` moves it there; a unit that is there already is killed once more."""
        before = self.units[place]
        going = before.unit.standing is Standing.TERMINATING or (
            before.phase is UnitPhase.LEAVING and self.plan.how is not How.COMMAND
        )
        self.move(place, signal)
        if not going and before.phase is not UnitPhase.KILLED:
            self.hold()
        one = self.units[place]
        kills = one.kills + 1
        self.units[place] = replace(one, kills=kills, retry_at=self.now + repeat_after(REPEAT_MS, kills))
        self.actions.append(Kill(one.unit.name))

    def look(self) -> None:
        """Order a look at the node, and the next one in case this is not answered."""
        self.looks += 1
        self.look_at = self.now + repeat_after(REPEAT_MS, self.looks)
        self.actions.append(Verify(self.plan.node))

    def untaint(self) -> None:
        """Take off our own taint; repeated until it is known to be off."""
        self.mark_tries = self.mark_tries + 1 if self.mark is Mark.REMOVING else 1
        self.mark = Mark.REMOVING
        self.mark_at = self.now + repeat_after(REPEAT_MS, self.mark_tries)
        self.actions.append(Untaint(self.plan.node))

    def publish(self) -> None:
        """Send the outcome, and once more later unless it is acknowledged."""
        if self.outcome is not None:
            self.publishes += 1
            self.publish_at = self.now + repeat_after(REPEAT_MS, self.publishes)
            self.actions.append(Publish(self.outcome))


def _outcome(draft: Draft, verdict: Verdict) -> Outcome:
    """The one outcome, as the units stand now."""
    return Outcome(
        node=draft.plan.node,
        instance=draft.plan.instance,
        verdict=verdict,
        started_at=draft.plan.started_at,
        ended_at=draft.now,
        deadline=draft.deadline,
        drill=draft.notices.drill,
        units=tuple(_record(draft, one) for one in draft.units),
        running=tuple(one.unit.name for one in draft.units if one.phase is not UnitPhase.GONE),
    )


def _record(draft: Draft, one: UnitState) -> UnitRecord:
    """One unit's line in the outcome."""
    leaving = Leaving.STILL_RUNNING
    if one.phase is UnitPhase.GONE:
        leaving = _LEAVING.get(one.before_exit or UnitPhase.GONE, Leaving.BY_ITSELF)
        if leaving is Leaving.BY_SCHEDULER and draft.plan.how is How.COMMAND:
            leaving = Leaving.BY_COMMAND
    unit = one.unit
    return UnitRecord(
        unit=unit.name,
        leaving=leaving,
        after_ms=one.since - draft.plan.started_at
        if one.phase is UnitPhase.GONE
        else draft.now - draft.plan.started_at,
        cause=one.cause,
        refusal=one.refusal,
        receipt=one.receipt,
        owned=unit.owned,
        local_bytes=unit.local_bytes,
    )

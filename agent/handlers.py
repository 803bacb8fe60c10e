"""What each input does to a drain, one function an input.

`agent.drain.step` calls `handle`, then lets time act (`agent.timers.advance`). A handler changes the draft or has it
ignore the input with a reason; it never raises and never looks at what the simulator or an adapter is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agent.actions import AskSource, Hold, Kill, Release, Taint
from agent.deadline import Merge, merge
from agent.draft import Draft
from agent.inputs import (
    Accepted,
    ClockJumped,
    CommandEnded,
    Exited,
    Looked,
    NoticeSeen,
    OutcomeHeard,
    ReceiptSeen,
    Refusal,
    Refused,
    Restarted,
    SchedulerAlive,
    SchedulerSilent,
    SeenRunning,
    TaintAnswered,
    TaintFailed,
    Tick,
    Unit,
)
from agent.phases import ASKED, ENDED, PENDING, Phase, Signal, UnitPhase
from agent.state import (
    MAX_ASKS,
    MAX_KILLS,
    MAX_UNITS,
    NO_ANSWER_RETRY_MS,
    REFUSED_RETRY_MS,
    REPEAT_MS,
    RETRY_BOUNDS_MS,
    SILENCE_MS,
    THROTTLED_RETRY_MS,
    Ignore,
    Mark,
    UnitState,
    repeat_after,
)
from agent.timers import go_silent, patience_ends
from contracts.frozen import replace


def handle(draft: Draft, said: object) -> None:
    """Let one input act; anything that is not an input is recorded as unknown."""
    handler = _HANDLERS.get(type(said))
    if handler is None:
        draft.ignore(said, Ignore.UNKNOWN_INPUT)
    else:
        handler(draft, said)


def _tick(_draft: Draft, _said: Tick) -> None:
    """Time acts after every input; a tick adds nothing."""


def _notice(draft: Draft, said: NoticeSeen) -> None:
    """Merge one more notice; a withdrawal that leaves none standing ends the drain."""
    wall = draft.now if said.wall is None else said.wall
    notices, verdict = merge(draft.notices, said.notice, now=draft.now, wall=wall)
    over = draft.phase in ENDED
    if verdict is Merge.WITHDRAWS_ALL:
        draft.advance_phase(Signal.NOTICE_WITHDRAWN)
        draft.notices = notices
        _tidy(draft)
    elif over:
        draft.ignore(said, Ignore.DRAIN_OVER)
    else:
        draft.notices = notices
        draft.deadline = draft.deadline if notices.deadline is None else notices.deadline
        if verdict not in {Merge.EARLIER, Merge.WITHDRAWS_PART}:
            draft.ignore(said, verdict)


def _tidy(draft: Draft) -> None:
    """Give the node back: the supervisor goes on, our own taint comes off, the administrator's cordon stays."""
    if draft.held_at is not None:
        draft.held_at = None
        draft.actions.append(Release(draft.plan.node))
    draft.untaint()


def _taint_answered(draft: Draft, said: TaintAnswered) -> None:
    """Note where our taint stands; one that landed after its removal was asked for is taken off again."""
    draft.answered_at = draft.now
    if said.on and draft.mark in {Mark.REMOVING, Mark.OFF}:
        draft.untaint()
    elif said.on and draft.mark in {Mark.SETTING, Mark.GIVEN_UP}:
        draft.mark, draft.mark_at = Mark.ON, None
    elif not said.on and draft.mark is Mark.REMOVING:
        draft.mark, draft.mark_at = Mark.OFF, None
    else:
        draft.ignore(said, Ignore.NOT_EXPECTED)


def _taint_failed(draft: Draft, said: TaintFailed) -> None:
    """Try again later: a failed taint stops nothing."""
    if draft.mark in {Mark.SETTING, Mark.REMOVING, Mark.OFF}:
        if draft.mark is Mark.OFF:
            draft.mark = Mark.REMOVING
        draft.mark_at = draft.now + repeat_after(REPEAT_MS, draft.mark_tries)
    else:
        draft.ignore(said, Ignore.NOT_EXPECTED)


def _find(draft: Draft, name: str) -> int:
    """The place of the unit called `name`, or -1."""
    for place, one in enumerate(draft.units):
        if one.unit.name == name:
            return place
    return -1


def _expected(draft: Draft, said: Accepted | Refused | CommandEnded | Exited | ReceiptSeen) -> int | None:
    """The unit that an input speaks of, or None when it is unknown or the drain is over (recorded)."""
    if draft.phase in ENDED:
        draft.ignore(said, Ignore.DRAIN_OVER)
        return None
    place = _find(draft, said.unit)
    if place < 0:
        draft.ignore(said, Ignore.UNKNOWN_UNIT)
        return None
    return place


def _accepted(draft: Draft, said: Accepted) -> None:
    """The scheduler takes the unit away; with the supervisor held it cannot, and the node does."""
    draft.answered_at = draft.now
    place = _expected(draft, said)
    if place is None:
        return
    draft.probes = 0
    draft.units[place] = replace(draft.units[place], in_flight=False)
    if not _leave(draft, place):
        draft.ignore(said, Ignore.NOT_EXPECTED)


def _leave(draft: Draft, place: int) -> bool:
    """Move a unit that was asked for to `LEAVING`, or on to a local signal where the supervisor is held."""
    if draft.units[place].asks == 0 or not draft.move(place, Signal.ACCEPTED):
        return False
    draft.units[place] = replace(draft.units[place], asked_since=None)
    if draft.held_at is not None:
        draft.end_locally([place], Signal.SUPERVISOR_HELD)
    return True


def _refused(draft: Draft, said: Refused) -> None:
    """Sort a refusal by what it means for the time that is left."""
    refusal = said.refusal
    if not refusal.is_no_answer:
        draft.answered_at = draft.now
    place = _expected(draft, said)
    if place is None:
        return
    one = draft.units[place]
    if not one.in_flight:
        draft.ignore(said, Ignore.NOT_EXPECTED)
        return
    draft.units[place] = replace(one, refusal=refusal, in_flight=False)
    if one.phase not in ASKED:
        return
    if refusal.leaving:
        _leave(draft, place)
    elif refusal.outlasts:
        draft.end_locally([place], Signal.WILL_OUTLAST)
    else:
        _ask_later(draft, place, said)


def _ask_later(draft: Draft, place: int, said: Refused) -> None:
    """Queue the unit for another try, or end it locally where the next try would come too late."""
    one = draft.units[place]
    if said.refusal.is_no_answer:
        wait, since = NO_ANSWER_RETRY_MS, one.asked_since
        if since is None or draft.now + wait >= since + SILENCE_MS:
            draft.end_locally([place], Signal.SCHEDULER_FAILING)
            return
    else:
        wait, since = _wait_ms(one, said), None
        if one.asks >= MAX_ASKS or draft.now + wait >= patience_ends(draft.plan, draft.kill_at, one):
            draft.end_locally([place], Signal.WILL_OUTLAST)
            return
    draft.move(place, Signal.REFUSED_FOR_NOW)
    draft.units[place] = replace(draft.units[place], retry_at=draft.now + wait, asked_since=since)


def _wait_ms(one: UnitState, said: Refused) -> int:
    """How long the scheduler wants to be left alone, as it said or as its kind of refusal means."""
    least, most = RETRY_BOUNDS_MS
    if said.retry_after_s is not None:
        # The least stands first, so that what is no number at all counts as soon.
        return round(min(max(least, said.retry_after_s * 1_000), most))
    return THROTTLED_RETRY_MS if said.refusal is Refusal.THROTTLED else repeat_after(REFUSED_RETRY_MS, one.asks)


def _alive(draft: Draft, _said: SchedulerAlive) -> None:
    """Busy, not dead: what waits goes on waiting."""
    draft.answered_at = draft.now


def _silent(draft: Draft, said: SchedulerSilent) -> None:
    """No answer will come: stop waiting for one."""
    if draft.phase in ENDED or not go_silent(draft):
        draft.ignore(said, Ignore.NOT_EXPECTED)


def _command_ended(draft: Draft, said: CommandEnded) -> None:
    """A command that worked leaves the unit to end; one that failed is followed by a signal."""
    place = _expected(draft, said)
    if place is None:
        return
    if draft.units[place].phase is not UnitPhase.COMMANDED:
        draft.ignore(said, Ignore.NOT_EXPECTED)
    elif said.ok:
        draft.move(place, Signal.COMMAND_DONE)
    else:
        draft.end_locally([place], Signal.COMMAND_FAILED)


def _exited(draft: Draft, said: Exited) -> None:
    """The unit is gone; one that had been started again after the verdict may come and go once more."""
    if draft.phase in ENDED and draft.notices.standing:
        place: int | None = _find(draft, said.unit)
        if place is not None and place >= 0 and draft.units[place].phase is UnitPhase.KILLED:
            draft.move(place, Signal.EXITED)
            return
    place = _expected(draft, said)
    if place is not None and not draft.move(place, Signal.EXITED):
        draft.ignore(said, Ignore.NOT_EXPECTED)


def _seen_running(draft: Draft, said: SeenRunning) -> None:
    """Something started the unit again: it is killed, also after a verdict, until the node ends or is given back."""
    if not draft.notices.standing:
        draft.ignore(said, Ignore.DRAIN_OVER)
    elif not _end_again(draft, said.unit):
        draft.ignore(said, Ignore.NOT_EXPECTED)


def _end_again(draft: Draft, name: str) -> bool:
    """Kill a unit that was gone, or one that nobody knew of; False when it is being ended already."""
    place = _find(draft, name)
    if place < 0:
        if len(draft.units) >= 2 * MAX_UNITS:
            return False
        place = len(draft.units)
        draft.units.append(UnitState(Unit(name), UnitPhase.GONE, draft.now))
    one = draft.units[place]
    if one.phase is not UnitPhase.GONE or one.kills >= MAX_KILLS:
        return False
    draft.advance_phase(Signal.SEEN_AGAIN)
    draft.kill(place, Signal.SEEN_AGAIN)
    return True


def _looked(draft: Draft, said: Looked) -> None:
    """The node is empty, or something runs that has to be killed first."""
    if draft.phase is Phase.VERIFYING:
        if said.running:
            for name in said.running:
                if not _end_again(draft, name):
                    draft.ignore(said, Ignore.NOT_EXPECTED)
        else:
            draft.advance_phase(Signal.SEEN_EMPTY)
    else:
        draft.ignore(said, Ignore.DRAIN_OVER if draft.phase in ENDED else Ignore.NOT_EXPECTED)


def _receipt(draft: Draft, said: ReceiptSeen) -> None:
    """Keep the newest receipt of the unit for its line in the outcome."""
    place = _expected(draft, said)
    if place is None:
        return
    held = draft.units[place].receipt
    if held is not None and held.written_at >= said.written_at:
        draft.ignore(said, Ignore.NOT_EXPECTED)
    else:
        draft.units[place] = replace(draft.units[place], receipt=said)


def _jumped(draft: Draft, _said: ClockJumped) -> None:
    """The larger progress already counts; ask the sources what they say now."""
    draft.actions.append(AskSource(draft.plan.instance))


def _heard(draft: Draft, said: OutcomeHeard) -> None:
    """The outcome is known outside the node."""
    if draft.publish_at is None:
        draft.ignore(said, Ignore.NOT_EXPECTED)
    draft.publish_at = None


def _restarted(draft: Draft, _said: Restarted) -> None:
    """Order again what can be ordered twice. Signals and commands are not: the kill at the budget covers a lost one."""
    node = draft.plan.node
    draft.actions.append(AskSource(draft.plan.instance))
    if draft.mark is Mark.SETTING:
        draft.actions.append(Taint(node))
    elif draft.mark is Mark.REMOVING:
        draft.untaint()
    if draft.publish_at is not None:
        draft.publish()
    if draft.phase in ENDED:
        return
    if draft.held_at is not None:
        draft.actions.append(Hold(node))
    _ask_again(draft)
    if draft.phase is Phase.VERIFYING:
        draft.look()


def _ask_again(draft: Draft) -> None:
    """Make the requests again that died with the agent, and the kills; the silence rule begins anew."""
    for place, one in enumerate(draft.units):
        if one.phase in PENDING and one.asked_since is not None:
            draft.units[place] = replace(one, asked_since=draft.now if one.phase in ASKED else None)
        if one.phase in ASKED:
            draft.request(one)
        elif one.in_flight:
            draft.units[place] = replace(one, in_flight=False)
        if one.phase is UnitPhase.KILLED:
            draft.actions.append(Kill(one.unit.name))


_HANDLERS: Final[dict[type, Callable[[Draft, Any], None]]] = {
    Tick: _tick,
    NoticeSeen: _notice,
    TaintAnswered: _taint_answered,
    TaintFailed: _taint_failed,
    Accepted: _accepted,
    Refused: _refused,
    SchedulerAlive: _alive,
    SchedulerSilent: _silent,
    CommandEnded: _command_ended,
    Exited: _exited,
    SeenRunning: _seen_running,
    Looked: _looked,
    ReceiptSeen: _receipt,
    ClockJumped: _jumped,
    OutcomeHeard: _heard,
    Restarted: _restarted,
}

"""A drain as a story: what was seen, what was ordered, what came of it, in lines that a person reads at night.

`ebbtide explain drain` prints it from a journal and the golden tests compare it. Times are seconds since the notice. It
decides nothing and knows nothing that the values do not say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from enum import Enum
from typing import Final

from agent.actions import Action, Leaving, Outcome, Publish, SignalUnit, UnitRecord, Verdict
from agent.deadline import Instant, Notice
from agent.drain import Entry, Step, begin, step
from agent.inputs import Began, Input, Looked, NoticeSeen, ReceiptSeen, Tick
from agent.state import DrainState
from contracts.errors import Refused

_INDENT: Final = " " * 11
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")


def tell(entries: Iterable[Entry]) -> list[str]:
    """The lines of a whole journal, with the actions that each entry led to."""
    lines: list[str] = []
    state: DrainState | None = None
    for at, said, _ in entries:
        if isinstance(said, Began):
            try:
                after = begin(said, at)
            except Refused as why:
                lines.append(str(why))
                continue
        elif state is not None:
            after = step(state, said, at)
        else:
            continue
        lines += told(state, said, after)
        state = after.state
    return lines


def told(before: DrainState | None, said: Began | Input, after: Step) -> list[str]:
    """The lines of one step; none for a tick that changed nothing a person would want to know."""
    state = after.state
    since = state.plan.started_at
    if isinstance(said, Began):
        before = None
    lines = [f"{_INDENT}-> {_action(action, since)}" for action in after.actions]
    if before is not None and before.phase is not state.phase:
        lines.append(f"{_INDENT}== {state.phase.value}")
    if before is not None and before.deadline != state.deadline:
        lines.append(f"{_INDENT}== deadline {_seconds(state.deadline, since)}")
    if before is not None and state.ignored_count > before.ignored_count:
        reasons = state.ignored[-min(state.ignored_count - before.ignored_count, len(state.ignored)) :]
        lines += [f"{_INDENT}.. ignored: {one.reason.value}" for one in reasons]
    if isinstance(said, Tick) and not lines:
        return []
    head = f"at {_seconds(state.now, since)}".ljust(len(_INDENT)) + _said(said, since)
    return [head.rstrip(), *lines, *_outcome(after)]


def sentence(outcome: Outcome) -> str:
    """One sentence on how the drain ended; an overrun names its units and why each was late."""
    took = _seconds(outcome.ended_at, outcome.started_at)
    drill = "drill " if outcome.drill else ""
    count = f"{len(outcome.units)} unit{'' if len(outcome.units) == 1 else 's'}"
    if outcome.verdict is Verdict.WITHDRAWN:
        return f"{drill}withdrawn after {took} s, {len(outcome.running)} of {count} still running"
    if outcome.running:
        late = "; ".join(_why(one) for one in outcome.units if one.leaving is Leaving.STILL_RUNNING)
        return f"{drill}{outcome.verdict.value} after {took} s, running: {late}"
    if outcome.verdict is Verdict.OVERRUN:
        return f"{drill}overrun after {took} s: every unit ended, but nobody could look at the node"
    return f"{drill}verified after {took} s, {count} ended"


def _why(one: UnitRecord) -> str:
    """A unit that still runs, with what led there."""
    why = [cause.value for cause in (one.cause, one.refusal) if cause is not None]
    return f"{one.unit} ({', '.join(why) or 'not ended'})"


def _outcome(after: Step) -> list[str]:
    """The outcome's lines, once, when it is published first."""
    outcome = after.state.outcome
    if outcome is None or after.state.publishes != 1 or not any(isinstance(one, Publish) for one in after.actions):
        return []
    lines = [f"{_INDENT}   {sentence(outcome)}"]
    for one in outcome.units:
        words = [f"{one.unit} {one.leaving.value} after={one.after_ms / 1_000:.3f}"]
        words += [f"cause={one.cause.value}"] if one.cause else []
        words += [f"refusal={one.refusal.value}"] if one.refusal else []
        words += [f"receipt=step-{one.receipt.step}"] if one.receipt else []
        words += [] if one.owned else ["nothing-starts-it-again"]
        words += [f"local-bytes-end-here={one.local_bytes}"] if one.local_bytes else []
        lines.append(f"{_INDENT}   {' '.join(words)}")
    return lines


def _seconds(at: Instant, since: Instant) -> str:
    return f"{(at - since) / 1_000:.3f}"


def _name(value: object) -> str:
    """The value's class in lower case with hyphens."""
    return _CAPITAL.sub("-", type(value).__name__).lower()


def _word(value: object) -> str:
    """A field's value in one word."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(str(one) for one in value) or "nothing"
    return str(value)


def _said(said: Began | Input, since: Instant) -> str:
    """One input in one line."""
    if isinstance(said, Began):
        units = ",".join(unit.name for unit in said.units)
        head = f"notice  node={said.node} budget={said.budget_s} how={said.how.value} units={units}"
        return f"{head} {_notice(said.notice, since)}"
    if isinstance(said, NoticeSeen):
        return f"{'withdrawn' if said.notice.withdrawn else 'notice'}  {_notice(said.notice, since)}"
    if isinstance(said, Looked):
        return f"looked  running={_word(said.running)}"
    if isinstance(said, ReceiptSeen):
        return f"receipt-seen  {said.unit} step={said.step} bytes={said.size_bytes}"
    return f"{_name(said)}  {_fields(said)}"


def _notice(notice: Notice, since: Instant) -> str:
    """What a notice says, its instants as seconds since the drain began."""
    issued, ends = _seconds(notice.issued_at, since), _seconds(notice.ends_at, since)
    whose = f"instance={notice.instance} kind={notice.kind.value} reclaim={notice.reclaim or '-'}"
    return f"{whose} source={notice.source} issued={issued} ends={ends}"


def _action(action: Action, since: Instant) -> str:
    """One action in one line."""
    if isinstance(action, Publish):
        return f"publish {action.outcome.verdict.value} at {_seconds(action.outcome.ended_at, since)}"
    if isinstance(action, SignalUnit):
        return f"signal {action.unit} cause={action.cause.value}"
    return f"{_name(action)} {_fields(action)}"


def _fields(value: object) -> str:
    """The fields of a value: what it is about first and bare, the rest by name."""
    words: list[str] = []
    for field in fields(value):  # type: ignore[arg-type]  # inputs and actions are dataclasses
        word = _word(getattr(value, field.name))
        if field.name in {"unit", "node", "instance"}:
            words.insert(0, word)
        elif word != "None":
            words.append(f"{field.name}={word}")
    return " ".join(words)

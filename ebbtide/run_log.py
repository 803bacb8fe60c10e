"""What a running reconciler tells, one line a cycle: what went out and why, what the guard held back, on which commit.

Pure. `--output json` writes the line as one JSON object with these keys, for machines; text is the same for people.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from ebbtide.text import Paint
from ledger.causes import Cause
from reconciler.fleet import Fleet, Phase
from reconciler.steps import StepKind


@dataclass(frozen=True, slots=True)
class CycleLine:
    """One cycle. `did` and `held` count steps by what and why; `leads` False: it looked on, and did nothing.

    `stopped` and `problem` say in a sentence why nothing goes out, or why the reviewed files are not to be had.
    """

    at: int
    cycle: int
    region: str
    commit: str
    epoch: int
    leads: bool
    did: Mapping[str, int]
    held: Mapping[str, int]
    instances: Mapping[str, int]
    deferred: int
    unrecorded: int
    stopped: str
    problem: str
    next_ms: int
    partition: str = ""


@dataclass(frozen=True, slots=True)
class EndLine:
    """The beginning or the end of a process: who it is, where, and why it ends (empty where it begins)."""

    at: int
    event: str
    holder: str
    region: str
    commit: str
    state: str
    why: str = ""
    partition: str = ""


def counted(steps: Iterable[tuple[StepKind, Cause]]) -> dict[str, int]:
    """How many steps of each kind and cause, `kind cause` by its name, in order of the first."""
    return dict(Counter(f"{kind.value} {cause.value}" for kind, cause in steps))


def standing(fleet: Fleet) -> dict[str, int]:
    """How many instances stand in each phase, those that are gone left out."""
    phases = Counter(one.phase.value for one in fleet.instances.values())
    del phases[Phase.GONE.value]
    return dict(sorted(phases.items()))


def as_json(line: CycleLine | EndLine) -> str:
    """One line for machines."""
    return json.dumps({"event": "cycle", **asdict(line)}, separators=(",", ":"))


def end_as_text(line: EndLine, paint: Paint) -> str:
    """One line for people, about a beginning or an end."""
    if line.why:
        return f"{paint.dim(_time(line.at))}  ends: {line.why}; the lease is given up, {line.state} keeps the rest"
    what = f"partition {line.partition} of {line.region}" if line.partition else f"region {line.region}"
    return f"{paint.dim(_time(line.at))}  {line.holder} runs {what} at {line.commit[:12]} in {line.state}"


def as_text(line: CycleLine, paint: Paint) -> str:
    """One line for people."""
    parts = [paint.dim(_time(line.at)), f"cycle {line.cycle}"]
    if not line.leads:
        parts.append(paint.warn("stands by"))
    parts.append(_told(line.did) or "nothing to do")
    if line.held:
        parts.append(paint.warn(f"held back: {_told(line.held)}"))
    if line.instances:
        parts.append(", ".join(f"{count} {phase}" for phase, count in line.instances.items()))
    parts += [paint.bad(why) for why in (line.stopped, line.problem) if why]
    if line.unrecorded:
        parts.append(paint.bad(f"{line.unrecorded} events wait for room"))
    parts.append(paint.dim(f"next in {line.next_ms / 1000:.0f} s"))
    return "  ".join(parts)


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, tz=UTC).strftime("%H:%M:%S")


def _told(counts: Mapping[str, int]) -> str:
    """`acquire 12 (claim_grew)`, ..."""
    told = []
    for name, count in counts.items():
        kind, _, cause = name.partition(" ")
        told.append(f"{kind} {count} ({cause})")
    return ", ".join(told)

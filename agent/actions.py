"""What a drain orders and what it concludes: actions and the outcome, as data.

`agent.drain` returns actions; the agent's loop or the simulator carries them out. Every action may be carried out twice
with the effect of once, but for `SignalUnit` and `RunCommand`, which are ordered at most once for a unit in a drain.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from agent.deadline import Instant
from agent.inputs import ReceiptSeen, Refusal
from agent.phases import Signal


@dataclass(frozen=True, slots=True)
class Taint:
    """Keep new work off the node: our own NoSchedule taint, or Slurm's drain with our reason.

    Never the node's `unschedulable` field: that one is the administrator's, and a cordon set while ours is on could not
    be told from ours afterwards.
    """

    node: str


@dataclass(frozen=True, slots=True)
class Untaint:
    """Take off our own taint or reason and nothing else; absence is success."""

    node: str


@dataclass(frozen=True, slots=True)
class Evict:
    """Ask for the unit's eviction under its grace. The request is never cut off: only the waiting ends."""

    unit: str


@dataclass(frozen=True, slots=True)
class Requeue:
    """Ask Slurm to requeue the job before anything is signalled, so that it is never booked as done."""

    unit: str


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run the contract's drain command for the unit."""

    unit: str


@dataclass(frozen=True, slots=True)
class Probe:
    """Ask the scheduler something cheap that proves the path a request takes (a read its store must confirm)."""

    node: str


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep the supervisor (kubelet, slurmd and its steps) from starting again, or reporting as done, what ends now."""

    node: str


@dataclass(frozen=True, slots=True)
class Release:
    """Let the supervisor go on."""

    node: str


@dataclass(frozen=True, slots=True)
class SignalUnit:
    """Tell the unit's processes to end, once. `cause` says why the node does it itself."""

    unit: str
    cause: Signal


@dataclass(frozen=True, slots=True)
class Kill:
    """End all of the unit's processes now."""

    unit: str


@dataclass(frozen=True, slots=True)
class Verify:
    """Look at the kernel for anything of the workload that runs, and at the receipts; answered by `Looked`."""

    node: str


@dataclass(frozen=True, slots=True)
class AskSource:
    """Ask every notice source again: the clocks disagreed."""

    instance: str


class Verdict(Enum):
    """How a drain ended."""

    VERIFIED = "verified"
    OVERRUN = "overrun"
    WITHDRAWN = "withdrawn"


class Leaving(Enum):
    """How a unit's processes came to their end, or did not."""

    BY_ITSELF = "by_itself"
    BY_SCHEDULER = "by_scheduler"
    BY_COMMAND = "by_command"
    BY_SIGNAL = "by_signal"
    BY_KILL = "by_kill"
    STILL_RUNNING = "still_running"


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """One unit's line in the outcome. `cause` is why the node ended it itself, `refusal` the scheduler's last no.

    `after_ms` counts from the notice; `owned` False says that nothing starts the unit again; `local_bytes` ended here.
    """

    unit: str
    leaving: Leaving
    after_ms: int
    cause: Signal | None
    refusal: Refusal | None
    receipt: ReceiptSeen | None
    owned: bool
    local_bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The one result of a drain. An overrun names in `running` what still ran; empty there means nobody could look."""

    node: str
    instance: str
    verdict: Verdict
    started_at: Instant
    ended_at: Instant
    deadline: Instant
    drill: bool
    units: tuple[UnitRecord, ...]
    running: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Publish:
    """Spool the outcome and send it until it is acknowledged."""

    outcome: Outcome


Action: TypeAlias = (
    Taint
    | Untaint
    | Evict
    | Requeue
    | RunCommand
    | Probe
    | Hold
    | Release
    | SignalUnit
    | Kill
    | Verify
    | AskSource
    | Publish
)

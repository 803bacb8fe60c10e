"""What a drain is told: the unit it ends, and every input that can move it.

Adapters and the simulator build these values; `agent.drain.step` reads them; `agent.journal` writes them down. An input
says what was seen, never what should follow. Instants are milliseconds since the Unix epoch on the agent's honest clock
(`agent.deadline.Clock`), and stand beside the input, not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from agent.deadline import Instant, Notice, Notices


class How(Enum):
    """The contract's word on how a unit is drained."""

    EVICT = "evict"
    SIGNAL_AND_WAIT = "signal-and-wait"
    COMMAND = "command"
    NOTHING = "nothing"


class Scheduler(Enum):
    """Who started the units and may be asked to take them away."""

    KUBERNETES = "kubernetes"
    SLURM = "slurm"
    NONE = "none"


class Standing(Enum):
    """What a listed unit is. Only the first two count: the others neither block a drain nor stand in its record."""

    RUNNING = "running"
    TERMINATING = "terminating"
    DAEMON = "daemon"
    STATIC = "static"
    COMPLETED = "completed"

    @property
    def counts(self) -> bool:
        """True for what must be ended: daemons and static pods are the node's own, completed ones run nothing."""
        return self in {Standing.RUNNING, Standing.TERMINATING}


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit on the node: a pod, a job, a slice.

    `grace_s` is what its shutdown may take; of a terminating unit, what is left of that. `budget` names the disruption
    budget or owner that admits one request at a time; empty means its own. `owned` is False where nothing will start
    the unit again. `local_bytes` is data that ends with the node. Wishes not to be disturbed are not read at all: they
    bind planners, never a notice.
    """

    name: str
    grace_s: int = 30
    budget: str = ""
    standing: Standing = Standing.RUNNING
    owned: bool = True
    local_bytes: int = 0

    @property
    def queue(self) -> str:
        """The queue in which the unit waits for its turn."""
        return self.budget or f"unit:{self.name}"


class Refusal(Enum):
    """Why a scheduler did not do what it was asked, told apart by what the node must do next."""

    # may succeed later
    BUDGET = "budget"  # 429 from a disruption budget; job held by a reservation
    THROTTLED = "throttled"  # 429 from fairness: the scheduler is busy, not unwilling
    SERVER_ERROR = "server_error"  # 500 without a known text: counts as no answer
    UNREACHABLE = "unreachable"  # connection refused or reset: counts as no answer
    # will outlast any drain
    SEVERAL_BUDGETS = "several_budgets"  # 500, more than one budget selects the pod
    FINALISER = "finaliser"  # accepted once, held by a finaliser nobody serves
    FORBIDDEN = "forbidden"
    NOT_REQUEUEABLE = "not_requeueable"
    # the unit is on its way already
    NOT_FOUND = "not_found"  # 404, or another unit stands under that name now (409)
    NAMESPACE_TERMINATING = "namespace_terminating"

    @property
    def outlasts(self) -> bool:
        """True when asking again changes nothing within a notice."""
        return self in _OUTLASTS

    @property
    def leaving(self) -> bool:
        """True when the scheduler is ending the unit without being asked; its processes still count."""
        return self in _LEAVING

    @property
    def is_no_answer(self) -> bool:
        """True when the refusal says nothing about the request: the 800 ms rule goes on."""
        return self in _NO_ANSWER


_OUTLASTS = frozenset({Refusal.SEVERAL_BUDGETS, Refusal.FINALISER, Refusal.FORBIDDEN, Refusal.NOT_REQUEUEABLE})
_LEAVING = frozenset({Refusal.NOT_FOUND, Refusal.NAMESPACE_TERMINATING})
_NO_ANSWER = frozenset({Refusal.SERVER_ERROR, Refusal.UNREACHABLE})


@dataclass(frozen=True, slots=True)
class Began:
    """The first line of a journal: everything that `start` was given."""

    node: str
    instance: str
    units: tuple[Unit, ...]
    budget_s: int
    how: How
    scheduler: Scheduler
    notice: Notice
    wall: Instant | None = None
    known: Notices | None = None


@dataclass(frozen=True, slots=True)
class NoticeSeen:
    """A notice, or a withdrawal, from any source. `wall` is the node's wall clock; None means it agrees with `now`."""

    notice: Notice
    wall: Instant | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed and nothing else; sent at `next_deadline`."""


@dataclass(frozen=True, slots=True)
class TaintAnswered:
    """The node's taint was set (`on`) or taken off."""

    on: bool


@dataclass(frozen=True, slots=True)
class TaintFailed:
    """Setting or taking off the taint failed for now."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The scheduler took the eviction or the requeue; the unit's processes may still run for their grace."""

    unit: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The scheduler did not; `retry_after_s` where it said when to come back."""

    unit: str
    refusal: Refusal
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class SchedulerAlive:
    """The scheduler answered something else (a probe): it is busy, not dead."""


@dataclass(frozen=True, slots=True)
class SchedulerSilent:
    """The transport knows for certain that no answer will come; the node need not wait out its 800 ms."""


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """The contract's drain command for a unit ended; `ok` when it returned 0."""

    unit: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Exited:
    """Nothing of the unit runs any more, as the kernel says."""

    unit: str


@dataclass(frozen=True, slots=True)
class SeenRunning:
    """Processes of a unit run that was thought gone: something started it again."""

    unit: str


@dataclass(frozen=True, slots=True)
class Looked:
    """The answer to `Verify`: the units of which something still runs, by name; empty means the node is empty."""

    running: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReceiptSeen:
    """The receipt of a unit's last checkpoint, as its client wrote it."""

    unit: str
    digest: str
    size_bytes: int
    step: int
    written_at: Instant


@dataclass(frozen=True, slots=True)
class ClockJumped:
    """The node's clocks disagreed by `by_ms` (see `agent.deadline.Clock`)."""

    by_ms: int


@dataclass(frozen=True, slots=True)
class OutcomeHeard:
    """The stream acknowledged the outcome."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """The agent was started again and has replayed its journal: requests in flight are lost and made once more."""


Input: TypeAlias = (
    NoticeSeen
    | Tick
    | TaintAnswered
    | TaintFailed
    | Accepted
    | Refused
    | SchedulerAlive
    | SchedulerSilent
    | CommandEnded
    | Exited
    | SeenRunning
    | Looked
    | ReceiptSeen
    | ClockJumped
    | OutcomeHeard
    | Restarted
)

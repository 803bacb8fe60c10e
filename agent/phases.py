"""The drain's two tables: what a node and each of its units may become, and on which signal.

`agent.drain` follows these tables and nothing else changes a phase; `agent.diagram` draws them. The module knows no
time, no scheduler and no process: a signal is a word, and the step function decides when it is spoken.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Phase(Enum):
    """Where the node's drain stands."""

    DRAINING = "draining"
    DRAINING_LOCALLY = "draining_locally"
    VERIFYING = "verifying"
    VERIFIED = "verified"
    OVERRUN = "overrun"
    WITHDRAWN = "withdrawn"


class UnitPhase(Enum):
    """Where one unit of the node stands. Units move side by side; none waits for another but for its budget's turn."""

    QUEUED = "queued"
    EVICTING = "evicting"
    REQUEUEING = "requeueing"
    COMMANDED = "commanded"
    LEAVING = "leaving"
    LEFT_ALONE = "left_alone"
    SIGNALLED = "signalled"
    KILLED = "killed"
    GONE = "gone"


class Signal(Enum):
    """What moves a phase. Those that send a unit to `SIGNALLED` or `KILLED` stand in the record as its cause."""

    # what a unit is asked first, when its turn has come
    ASK_EVICTION = "ask_eviction"
    ASK_REQUEUE = "ask_requeue"
    RUN_COMMAND = "run_command"
    LEAVE_ALONE = "leave_alone"
    # what the scheduler or the command answered
    ACCEPTED = "accepted"
    REFUSED_FOR_NOW = "refused_for_now"
    COMMAND_DONE = "command_done"
    # why the node ends the processes itself
    LOCAL_BY_CONTRACT = "local_by_contract"
    SCHEDULER_SILENT = "scheduler_silent"
    SCHEDULER_FAILING = "scheduler_failing"
    WILL_OUTLAST = "will_outlast"
    TIME_SHORT = "time_short"
    COMMAND_FAILED = "command_failed"
    ALREADY_TERMINATING = "already_terminating"
    SUPERVISOR_HELD = "supervisor_held"
    TOO_MANY_UNITS = "too_many_units"
    BUDGET_SPENT = "budget_spent"
    # what was seen of the processes
    EXITED = "exited"
    SEEN_AGAIN = "seen_again"
    # the node as a whole
    HELD = "held"
    ALL_GONE = "all_gone"
    SEEN_EMPTY = "seen_empty"
    TIME_OUT = "time_out"
    NOTICE_WITHDRAWN = "notice_withdrawn"


NEXT: Final[dict[tuple[Phase, Signal], Phase]] = {
    (Phase.DRAINING, Signal.HELD): Phase.DRAINING_LOCALLY,
    (Phase.DRAINING, Signal.ALL_GONE): Phase.VERIFYING,
    (Phase.DRAINING_LOCALLY, Signal.ALL_GONE): Phase.VERIFYING,
    (Phase.VERIFYING, Signal.SEEN_EMPTY): Phase.VERIFIED,
    (Phase.VERIFYING, Signal.SEEN_AGAIN): Phase.DRAINING_LOCALLY,
    (Phase.DRAINING, Signal.TIME_OUT): Phase.OVERRUN,
    (Phase.DRAINING_LOCALLY, Signal.TIME_OUT): Phase.OVERRUN,
    (Phase.VERIFYING, Signal.TIME_OUT): Phase.OVERRUN,
    (Phase.DRAINING, Signal.NOTICE_WITHDRAWN): Phase.WITHDRAWN,
    (Phase.DRAINING_LOCALLY, Signal.NOTICE_WITHDRAWN): Phase.WITHDRAWN,
    (Phase.VERIFYING, Signal.NOTICE_WITHDRAWN): Phase.WITHDRAWN,
}

# Phases in which the drain is over; what remains is to be heard (publication) and to tidy up (our taint).
ENDED: Final = frozenset({Phase.VERIFIED, Phase.OVERRUN, Phase.WITHDRAWN})

# The unit waits on the scheduler: silence and a short remaining time send it to the local drain.
_WAITING: Final = (UnitPhase.QUEUED, UnitPhase.EVICTING, UnitPhase.REQUEUEING)
PENDING: Final = frozenset(_WAITING)
ASKED: Final = frozenset({UnitPhase.EVICTING, UnitPhase.REQUEUEING})

_FROM_THE_SCHEDULER: Final = (
    Signal.SCHEDULER_SILENT,
    Signal.SCHEDULER_FAILING,
    Signal.WILL_OUTLAST,
    Signal.TIME_SHORT,
)
_AT_ONCE: Final = (Signal.LOCAL_BY_CONTRACT, Signal.ALREADY_TERMINATING, Signal.TOO_MANY_UNITS)
_ALIVE: Final = tuple(phase for phase in UnitPhase if phase is not UnitPhase.GONE)

UNIT_NEXT: Final[dict[tuple[UnitPhase, Signal], UnitPhase]] = {
    (UnitPhase.QUEUED, Signal.ASK_EVICTION): UnitPhase.EVICTING,
    (UnitPhase.QUEUED, Signal.ASK_REQUEUE): UnitPhase.REQUEUEING,
    (UnitPhase.QUEUED, Signal.RUN_COMMAND): UnitPhase.COMMANDED,
    (UnitPhase.QUEUED, Signal.LEAVE_ALONE): UnitPhase.LEFT_ALONE,
    # an answer that came after its request was made again
    (UnitPhase.QUEUED, Signal.ACCEPTED): UnitPhase.LEAVING,
    (UnitPhase.EVICTING, Signal.ACCEPTED): UnitPhase.LEAVING,
    (UnitPhase.EVICTING, Signal.REFUSED_FOR_NOW): UnitPhase.QUEUED,
    (UnitPhase.REQUEUEING, Signal.ACCEPTED): UnitPhase.LEAVING,
    (UnitPhase.REQUEUEING, Signal.REFUSED_FOR_NOW): UnitPhase.QUEUED,
    (UnitPhase.COMMANDED, Signal.COMMAND_DONE): UnitPhase.LEAVING,
    (UnitPhase.COMMANDED, Signal.COMMAND_FAILED): UnitPhase.SIGNALLED,
    (UnitPhase.COMMANDED, Signal.TIME_SHORT): UnitPhase.SIGNALLED,
    (UnitPhase.LEAVING, Signal.SUPERVISOR_HELD): UnitPhase.SIGNALLED,
    **{(UnitPhase.QUEUED, signal): UnitPhase.SIGNALLED for signal in _AT_ONCE},
    **{(phase, signal): UnitPhase.SIGNALLED for phase in _WAITING for signal in _FROM_THE_SCHEDULER},
    **{(phase, Signal.BUDGET_SPENT): UnitPhase.KILLED for phase in _ALIVE if phase is not UnitPhase.KILLED},
    **{(phase, Signal.EXITED): UnitPhase.GONE for phase in _ALIVE},
    (UnitPhase.GONE, Signal.SEEN_AGAIN): UnitPhase.KILLED,
}

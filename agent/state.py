"""The frozen state of one drain, and the times and limits that it obeys.

`agent.drain` returns a new `DrainState` for each input; everybody else only reads it. The state holds all that the next
step depends on, so that replaying a journal gives the same state. It knows no adapter and no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from agent.actions import Outcome
from agent.deadline import Instant, Merge, Notices
from agent.inputs import How, ReceiptSeen, Refusal, Scheduler, Unit
from agent.phases import ENDED, Phase, Signal, UnitPhase
from contracts.frozen import quick

# How long the node waits for a scheduler before it helps itself (design); the request itself is never cut off.
SILENCE_MS: Final = 800
# The first probe goes out at half of it, so that a scheduler that is only busy answers in time; the later ones are
# rarer, because eight hundred nodes probe the same scheduler. A probe is given the other half to be answered.
PROBE_MS: Final = (400, 800, 1_600)
PROBE_ANSWER_MS: Final = 400
# What a local drain needs beside the unit's own grace: holding the supervisor and finding the processes.
LOCAL_MARGIN_MS: Final = 1_000
# After the kill the kernel needs moments, and a look at the node must fit before the verdict.
VERIFY_MARGIN_MS: Final = 2_000
# The outcome has to leave the node before the node ends.
PUBLISH_MARGIN_MS: Final = 500
# An eviction accepted this long ago has reached the kubelet; a younger one may be caught by a held supervisor.
SETTLED_MS: Final = 2_000
# A request that failed without an answer is made again at this pace, within the 800 ms.
NO_ANSWER_RETRY_MS: Final = 200
# Fairness refusals say when to come back; a second is what servers send, and what holds where they do not.
THROTTLED_RETRY_MS: Final = 1_000
# No refusal is believed for longer than this, nor asked again sooner than that.
RETRY_BOUNDS_MS: Final = (50, 600_000)
# A full budget is asked again after 1, 2, 4, 5, 5 ... seconds, as the usual drain tools do.
REFUSED_RETRY_MS: Final = (1_000, 2_000, 4_000, 5_000)
# Taint, verification, kill and publication are repeated after 1, 2, 4, 8, 8 ... seconds.
REPEAT_MS: Final = (1_000, 2_000, 4_000, 8_000)

# Units evicted one by one; a node with more is drained locally for the rest. A kubelet runs 110 pods by default.
MAX_UNITS: Final = 512
# Requests for one unit, no-answers apart: eight of them fill the first half minute of a notice.
MAX_ASKS: Final = 8
MAX_TAINTS: Final = 8
# Our own taint on a node that stays must go; after a quarter of an hour a person is quicker.
MAX_UNTAINTS: Final = 120
MAX_KILLS: Final = 8
MAX_LOOKS: Final = 16
MAX_PUBLISHES: Final = 20
# Ignored inputs kept with their reason; further ones are counted.
MAX_IGNORED: Final = 32


class Mark(Enum):
    """Where our own taint stands. Another's cordon is none of our business."""

    SETTING = "setting"
    ON = "on"
    GIVEN_UP = "given_up"
    REMOVING = "removing"
    OFF = "off"


class Ignore(Enum):
    """Why an input changed nothing."""

    UNKNOWN_INPUT = "unknown_input"
    UNKNOWN_UNIT = "unknown_unit"
    NOT_EXPECTED = "not_expected"
    DRAIN_OVER = "drain_over"


@dataclass(frozen=True, slots=True)
class Ignored:
    """One input that changed nothing, with its reason: never an exception, never silence."""

    at: Instant
    what: str
    reason: Ignore | Merge


@quick
@dataclass(frozen=True, slots=True)
class UnitState:
    """One unit's place.

    `since` is when its phase began, `asked_since` when the silence rule began to count, `retry_at` its next turn or
    kill.
    `in_flight` is True while a request has no answer, also after the node stopped waiting for it.
    """

    unit: Unit
    phase: UnitPhase
    since: Instant
    asks: int = 0
    asked_since: Instant | None = None
    in_flight: bool = False
    retry_at: Instant = 0
    cause: Signal | None = None
    refusal: Refusal | None = None
    receipt: ReceiptSeen | None = None
    before_exit: UnitPhase | None = None
    signalled: bool = False
    kills: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is settled when a drain starts and never changes."""

    node: str
    instance: str
    how: How
    scheduler: Scheduler
    budget_ms: int
    started_at: Instant


@quick
@dataclass(frozen=True, slots=True)
class DrainState:
    """Everything about one drain between two inputs."""

    plan: Plan
    now: Instant
    deadline: Instant
    notices: Notices
    phase: Phase
    units: tuple[UnitState, ...]
    mark: Mark
    mark_tries: int
    mark_at: Instant | None
    held_at: Instant | None
    answered_at: Instant
    probed_at: Instant
    probes: int
    looks: int
    look_at: Instant | None
    outcome: Outcome | None
    publishes: int
    publish_at: Instant | None
    ignored: tuple[Ignored, ...]
    ignored_count: int

    @property
    def ended(self) -> bool:
        """True once the outcome is decided; publication and taking off our taint may go on."""
        return self.phase in ENDED

    @property
    def kill_at(self) -> Instant:
        """When whatever still runs is killed: at the contract's budget, or earlier where the notice is shorter."""
        return kill_at(self.plan, self.deadline)

    @property
    def verdict_at(self) -> Instant:
        """When the drain is called an overrun, early enough for the word to leave the node."""
        return verdict_at(self.plan, self.deadline)


def verdict_at(plan: Plan, deadline: Instant) -> Instant:
    """The last instant for a verdict: before the deadline, never before the start."""
    return max(plan.started_at, deadline - PUBLISH_MARGIN_MS)


def kill_at(plan: Plan, deadline: Instant) -> Instant:
    """The earlier of the budget's end and the last moment that leaves time to verify; never before the start."""
    last = deadline - PUBLISH_MARGIN_MS - VERIFY_MARGIN_MS
    return max(plan.started_at, min(plan.started_at + plan.budget_ms, last))


def repeat_after(pace: tuple[int, ...], tries: int) -> int:
    """The wait in ms after the `tries`-th attempt; the last value of `pace` repeats."""
    return pace[min(max(tries, 1), len(pace)) - 1]

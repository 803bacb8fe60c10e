"""A plan's steps as data: what to do, to what, why. Built by `diff`, filtered by `guard`, carried out by the loop."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from contracts.frozen import quick
from ledger.causes import Cause
from ledger.events import Paid
from reconciler.fleet import Instance


class StepKind(enum.Enum):
    """What an adapter is asked to do."""

    __hash__ = object.__hash__  # a member is itself, and looked up in tables all day

    ACQUIRE = "acquire"
    REPLACE = "replace"
    RELEASE = "release"
    DELETE = "delete"
    DEREGISTER = "deregister"
    ADOPT = "adopt"
    DISOWN = "disown"
    QUARANTINE = "quarantine"


ADDS = frozenset({StepKind.ACQUIRE, StepKind.REPLACE, StepKind.ADOPT})
LETS_GO = frozenset({StepKind.RELEASE, StepKind.DISOWN})
FINISHING = frozenset({StepKind.DELETE, StepKind.DEREGISTER})
"""What ends something that was agreed before: no breaker blocks these."""


@quick
@dataclass(frozen=True, slots=True)
class Step:
    """One step; `instance` is its idempotency key.

    `cause_event` is the id of the ledger event that led here. RELEASE asks the node to drain; DELETE removes a server
    that is empty, drained, in ERROR or past its end, or (cause `twin`) the second one under its key. `replaces` is the
    lost or noticed instance whose debt a REPLACE pays, `again` that the key was asked for before and no answer came.
    `told` is the event by which a RELEASE that goes out is announced.
    QUARANTINE asks nothing of any adapter: it shows a person what to look at.
    """

    kind: StepKind
    workload: str
    pool: str
    project: str
    instance: str
    units: int
    paid: Paid
    cause: Cause
    cause_event: str = ""
    server: str = ""
    takes_over: str = ""
    replaces: str = ""
    again: bool = False
    told: str = ""
    detail: str = ""


def finishes(step: Step) -> bool:
    """Whether a step ends something that was agreed before; nobody agreed on the DELETE of a twin."""
    return step.kind in FINISHING and step.cause is not Cause.TWIN


@dataclass(frozen=True, slots=True)
class Refusal:
    """A step the guard took away, and why: the numbers stand in `message`."""

    step: Step
    cause: Cause
    message: str


def step_of(kind: StepKind, instance: Instance, cause: Cause) -> Step:
    """The step about an instance as it stands, caused by what brought it there."""
    return Step(
        kind=kind,
        workload=instance.workload,
        pool=instance.pool,
        project=instance.project,
        instance=instance.name,
        units=instance.units,
        paid=instance.paid,
        cause=cause,
        cause_event=instance.cause_event,
        server=instance.server,
    )

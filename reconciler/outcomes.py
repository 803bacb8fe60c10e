"""What is told of steps that are about to go out, and what becomes of the fleet's instances when they are asked for.

Pure; `loop` has steps told before they are begun, `acting` uses the rest while they go out, and `resume` for those
whose answer nobody lived to hear.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts.frozen import replace
from ledger.causes import Cause
from ledger.events import Datum, Event, EventType
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.steps import Step, StepKind

NOT_THERE_YET_MS = 15_000
"""What a server that never became a node gets between its release and its end: nothing runs on it."""


REQUESTS = frozenset({StepKind.ACQUIRE, StepKind.REPLACE})


def about(scribe: Scribe, type_: EventType, step: Step, *, caused_by: str, **data: str | int) -> Event:
    """One event about what a step does."""
    return scribe.event(
        type_,
        step.instance,
        step.cause,
        caused_by=caused_by,
        workload=step.workload,
        pool=step.pool,
        instance=step.instance,
        data=data,
    )


def announced(steps: Iterable[Step], fleet: Fleet, scribe: Scribe) -> list[Event]:
    """The events of what is about to be done, each told once however often the step is asked again."""
    events = []
    for step in steps:
        if step.kind in REQUESTS and not step.again:
            what: dict[str, Datum] = {"units": step.units, "paid": step.paid.value}
            if step.takes_over:
                what["takes_over"] = step.takes_over
            events.append(about(scribe, EventType.INSTANCE_REQUESTED, step, caused_by=step.cause_event, **what))
        elif step.kind is StepKind.RELEASE and not fleet.instances[step.instance].release_event:
            asked = about(scribe, EventType.RELEASE_ASKED, step, caused_by=step.cause_event)
            events.append(replace(asked, id=step.told))
        elif step.cause is Cause.TWIN and step.server not in fleet.twins:
            twin = about(scribe, EventType.TWIN_REMOVED, step, caused_by=step.cause_event, server=step.server)
            subject = f"{step.server}/{scribe.epoch}"
            events.append(replace(twin, id=event_id(EventType.TWIN_REMOVED, scribe.region, subject)))
    return events


def requested(step: Step, now: int, epoch: int) -> Instance:
    """The instance that a step asks for, before anybody answered."""
    return Instance(
        name=step.instance,
        pool=step.pool,
        project=step.project,
        workload=step.workload,
        units=step.units,
        paid=step.paid,
        phase=Phase.REQUESTED,
        requested_at=now,
        epoch=epoch,
        cause=step.cause,
        cause_event=step.cause_event,
    )


def stands(instances: dict[str, Instance], step: Step, instance: Instance) -> None:
    """The instance of a step is asked for, and whom it relieves knows."""
    instances[instance.name] = instance
    source = instances.get(step.takes_over)
    if source is not None:
        instances[source.name] = replace(source, moving_to=step.instance)


def named(steps: Iterable[Step], fleet: Fleet, scribe: Scribe) -> list[Step]:
    """The steps, each release with the id of the event that speaks of it. Each decision has one of its own: what was
    told and did not go out, or was asked for by a leader that nobody remembers, is decided anew for reasons of its own.
    """
    found = []
    for step in steps:
        if step.kind is StepKind.RELEASE:
            new = event_id(EventType.RELEASE_ASKED, scribe.region, f"{step.instance}/{scribe.now}")
            found.append(replace(step, told=fleet.instances[step.instance].release_event or new))
        else:
            found.append(step)
    return found


def released(instance: Instance, step: Step, *, ends_at: int, heard: bool, gone: bool = False) -> Instance:
    """The instance after its release was asked for. A node that answered that it `heard` of it may not have: it is
    asked again until it is seen to drain, unless a node that had joined is said to be none any more (`gone`): of what
    never was seen as one that says only that it is none yet.
    """
    return replace(
        instance,
        phase=Phase.DRAINING,
        released=True,
        release_event=step.told,
        drain_asked=gone and instance.joined_at > 0,
        asked=instance.asked + (heard and instance.node_once),
        ends_at=ends_at,
        cause=step.cause,
        cause_event=step.told,
    )


def disowned(instance: Instance, step: Step) -> Instance:
    """The instance after a call that may have taken our mark off it. Its node stays where it is, whoever it belongs
    to.
    """
    return replace(instance, released=True, deregistered=True, cause=step.cause)

"""What becomes of the fleet's instances when a step is asked for, known by its answer or by the journal alone.

Pure; `acting` uses it while steps go out, `resume` for those whose answer nobody lived to hear.
"""

from __future__ import annotations

from dataclasses import replace

from ledger.events import EventType
from reconciler.drafts import event_id
from reconciler.fleet import Instance, Phase
from reconciler.steps import Step

NOT_THERE_YET_MS = 15_000
"""What a server that never became a node gets between its release and its end: nothing runs on it."""


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


def released(instance: Instance, step: Step, *, region: str, ends_at: int, heard: bool) -> Instance:
    """The instance after its release was asked for; a node that has not `heard` of it is asked again."""
    return replace(
        instance,
        phase=Phase.DRAINING,
        released=True,
        release_told=True,
        drain_asked=heard and bool(instance.joined_at),
        ends_at=ends_at,
        cause=step.cause,
        cause_event=event_id(EventType.RELEASE_ASKED, region, step.instance),
    )

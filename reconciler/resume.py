"""From what the journal holds to a memory to go on with, after a process ended between any two of its steps.

Pure; called by `logbook` once. A step that was about to go out may have taken effect or not, and nobody knows. What can
be asked again under its key is held to be asked for; what ends something is held to be ours, so that an instance that
is missing now was let go and not lost. The next cycles ask again and find out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ledger.causes import Cause
from ledger.events import Event
from reconciler.cycle import Memory
from reconciler.fleet import Instance, Phase
from reconciler.outcomes import NOT_THERE_YET_MS, disowned, released, requested, stands
from reconciler.saved import Saved
from reconciler.steps import Step, StepKind


@dataclass(frozen=True, slots=True)
class Resumed:
    """The memory to go on with, and events that have not reached the spool."""

    memory: Memory
    events: tuple[Event, ...] = ()


def resume(saved: Saved, *, position: int) -> Resumed:
    """Where to go on; `position` is where the spool stands now.

    A spool that stands where it stood (or before, having been lost) does not hold the events of the entry.
    """
    instances = dict(saved.memory.fleet.instances)
    settled: set[str] = set()
    for step in saved.intents:
        _settle(instances, settled, step, saved)
    fleet = saved.memory.fleet
    twins = fleet.twins | {step.server for step in saved.intents if step.cause is Cause.TWIN}
    debts = tuple(debt for debt in fleet.debts if debt.instance not in settled)
    return Resumed(
        memory=replace(saved.memory, fleet=replace(fleet, instances=instances, debts=debts, twins=twins)),
        events=saved.events if position <= saved.position else (),
    )


def at_term(memory: Memory, now: int) -> Memory:
    """The memory when a term begins: what was asked for and never answered counts from now. However long nobody was
    there to ask again, it has not failed.
    """
    instances = dict(memory.fleet.instances)
    for name, instance in instances.items():
        if instance.phase is Phase.REQUESTED and not instance.server:
            instances[name] = replace(instance, requested_at=now)
    return replace(memory, fleet=replace(memory.fleet, instances=instances))


def _settle(instances: dict[str, Instance], settled: set[str], step: Step, saved: Saved) -> None:
    """One step without an outcome. DEREGISTER is found again as it stood, ADOPT by the mark that it may have left."""
    instance = instances.get(step.instance)
    if step.kind in (StepKind.ACQUIRE, StepKind.REPLACE):
        stands(instances, step, instance or requested(step, saved.at, saved.memory.epoch))
        if step.replaces:
            settled.add(step.replaces)
    elif instance is not None and step.kind in _AFTER and step.cause is not Cause.TWIN:
        instances[instance.name] = _AFTER[step.kind](instance, step, saved.at)


def _asked_to_drain(instance: Instance, step: Step, at: int) -> Instance:
    return released(instance, step, ends_at=instance.ends_at or at + NOT_THERE_YET_MS, heard=False)


def _deleted(instance: Instance, step: Step, at: int) -> Instance:  # noqa: ARG001 - one shape for all
    return replace(instance, released=True)


def _disowned(instance: Instance, step: Step, at: int) -> Instance:  # noqa: ARG001 - one shape for all
    return disowned(instance, step)


_AFTER: dict[StepKind, Callable[[Instance, Step, int], Instance]] = {
    StepKind.RELEASE: _asked_to_drain,
    StepKind.DELETE: _deleted,
    StepKind.DISOWN: _disowned,
}

"""What its scheduler shows of one instance: joined, busy, covered, or no longer there. Called by `census`, pure.

An instance is a node only while its scheduler shows it. A scheduler that does not answer says nothing about anybody.
"""

from __future__ import annotations

from dataclasses import replace

from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Server, Status
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance, Phase
from reconciler.ports import NodeView


def as_ever(known: Instance, row: Server, view: NodeView) -> bool:
    """Whether a node that works is shown just as it is known, as most are in most cycles: then nothing follows."""
    phase = Phase.SERVING if view.busy_units else Phase.JOINED
    return (
        known.phase is phase
        and row.status is Status.ACTIVE
        and (known.server, known.pool, known.missing_since, known.left_at) == (row.id, row.pool, 0, 0)
        and (known.joined_at, known.busy_units, known.covered) == (view.joined_at, view.busy_units, view.covered)
    )


def as_node(
    instance: Instance, view: NodeView | None, scribe: Scribe, *, silent: bool
) -> tuple[Instance, tuple[Event, ...]]:
    """The instance after what its scheduler shows, and its join when that is new.

    Where a scheduler that answers (not `silent`) lacks a node that had joined, nothing runs there for all we know:
    it serves nobody, and `left_at` says since when.
    """
    if instance.phase in (Phase.GONE, Phase.FAILED):
        return instance, ()
    if view is None:
        if instance.ready and not silent:
            return replace(instance, left_at=scribe.now, busy_units=0), ()
        return instance, ()
    events = () if instance.joined_at else (_joined(instance, view, scribe),)
    if _drains_already(instance, view, scribe):
        asked = event_id(EventType.RELEASE_ASKED, scribe.region, instance.name)
        instance = replace(
            instance,
            phase=Phase.DRAINING,
            released=True,
            release_told=True,
            drain_asked=True,
            ends_at=view.draining_until or scribe.now,
            cause=Cause.CLAIM_SHRANK,
            cause_event=asked,
        )
    phase = instance.phase
    if instance.supply:
        phase = Phase.SERVING if view.busy_units else Phase.JOINED
    same = (instance.joined_at, instance.busy_units, instance.covered, instance.phase, instance.left_at)
    if same == (view.joined_at, view.busy_units, view.covered, phase, 0):
        return instance, events
    after = replace(
        instance,
        joined_at=view.joined_at,
        busy_units=view.busy_units,
        covered=view.covered,
        phase=phase,
        left_at=0,
    )
    return after, events


def _drains_already(instance: Instance, view: NodeView, scribe: Scribe) -> bool:
    """Whether an instance of an earlier term, seen as a node for the first time since, is found in a drain that no
    notice explains: then that leader had released it, and nobody remembers.
    """
    found = instance.supply and not instance.joined_at and instance.epoch < scribe.epoch
    return found and bool(view.draining_until or view.drained)


def _joined(instance: Instance, view: NodeView, scribe: Scribe) -> Event:
    return scribe.event(
        EventType.INSTANCE_JOINED,
        instance.name,
        instance.cause,
        at=view.joined_at,
        caused_by=event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
        workload=instance.workload,
        pool=instance.pool,
        instance=instance.name,
    )

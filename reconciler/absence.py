"""What is not in a listing: lost, failed, let go, too young to be seen, or missing for now; and when it is forgotten.

Called by `census` for each instance that no row shows. An absence from a complete listing is believed at once when a
second source explains it, and otherwise when a second such listing lacks it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ledger.causes import Cause
from ledger.events import EventType
from pools.provider import Server
from reconciler import billing
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance, Phase
from reconciler.past import lost
from reconciler.sight import Census, Failure, Loss, Sight

FEW = 3
"""Up to this many unexplained absences are never called improbable: a small fleet loses one now and then."""

BELIEVED_AFTER_MS = 60_000
"""An unexplained absence is believed a minute after it was first seen, if a complete listing still shows it."""

UNSEEN_MS = 60_000
"""How long after it was asked for a server may be absent from a listing without meaning anything."""


def improbable(
    instances: Mapping[str, Instance], rows: Mapping[str, Server], told: Mapping[str, int], sight: Sight
) -> bool:
    """Whether more of the fleet than is believable is missing at once with nothing to explain it."""
    alive = missing = 0
    for instance in instances.values():
        if instance.phase is Phase.GONE:
            continue
        alive += 1
        let_go = instance.released or instance.noticed or instance.phase is Phase.FAILED
        if instance.name not in rows and instance.project in sight.complete and not let_go:
            known = instance.name in told or borne_out(instance, sight) or accepted(instance, sight)
            missing += not known and not too_young(instance, sight)
    return missing > FEW and missing * 100 > alive * sight.improbable_percent


def too_young(instance: Instance, sight: Sight) -> bool:
    """Whether the listing may simply not show it yet: providers list a new server seconds after they made it."""
    listed = sight.listing.as_of if sight.listing else 0
    return instance.starting and listed - instance.requested_at < UNSEEN_MS


def borne_out(instance: Instance, sight: Sight) -> bool:
    """Whether a second source says the same as the listing: its scheduler, which answers and no longer shows a node
    that was there, or an advisory for its pool.
    """
    answers = instance.workload not in sight.silent_workloads
    node_left = instance.joined_at > 0 and answers and instance.name not in sight.nodes
    return node_left or instance.pool in sight.advised


def accepted(instance: Instance, sight: Sight) -> bool:
    """Whether a person accepted a listing that already lacked it."""
    return 0 < instance.missing_since <= sight.accepted_at


def fail(census: Census, instance: Instance, cause: Cause, text: str, scribe: Scribe) -> Instance:
    """The instance failed before it was of use, told and counted; what is left of it is deleted."""
    census.failures.append(Failure(instance.pool, instance.workload, cause))
    event = scribe.event(
        EventType.INSTANCE_FAILED,
        instance.name,
        cause,
        caused_by=event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
        workload=instance.workload,
        pool=instance.pool,
        instance=instance.name,
        data={"error": text[:200]},
    )
    census.events.append(event)
    return replace(instance, phase=Phase.FAILED, cause=cause, cause_event=event.id)


def missing(
    census: Census,
    instance: Instance,
    ended_at: int,
    sight: Sight,
    scribe: Scribe,
    *,
    believable: bool,
) -> Instance:
    """A complete listing lacks it: gone when something explains that (the provider said once that it ended at
    `ended_at`, say), too young to tell, or missing for now.
    """
    listed = sight.listing.as_of if sight.listing else 0
    let_go = instance.released or instance.phase is Phase.FAILED
    if let_go and not instance.server and not ended_at and listed - instance.requested_at < UNSEEN_MS:
        return instance
    if let_go or instance.noticed or ended_at:
        # its notice is the provider's word on its end, as long as there is no other
        said = ended_at or (0 if let_go else instance.ends_at)
        return lose(census, instance, min(said or sight.now, sight.now), scribe)
    if borne_out(instance, sight):
        return lose(census, instance, instance.missing_since or listed, scribe)
    if too_young(instance, sight):
        return instance
    if instance.starting and not instance.server:
        return fail(census, instance, Cause.CREATE_FAILED, "no answer came, and no server has its key", scribe)
    since = instance.missing_since or listed
    if accepted(instance, sight) or (believable and listed - since >= BELIEVED_AFTER_MS):
        return lose(census, instance, since, scribe)
    census.unexplained.append(instance.name)
    return replace(instance, missing_since=since)


def bury(census: Census, instances: dict[str, Instance], gone: Instance, sight: Sight, scribe: Scribe) -> None:
    """Forget what is gone, once the provider told until when it is billed, or had its chance to."""
    since, open_ = gone.missing_since, gone.started_at and not gone.ended_at
    if not sight.heard or (since and open_ and not sight.heard_beyond(since)):
        return
    instances[gone.name] = closed(census, gone, since or sight.now, scribe)
    if gone.deregistered or not gone.joined_at:
        del instances[gone.name]


def closed(census: Census, instance: Instance, at: int, scribe: Scribe) -> Instance:
    """No longer billed: from the time that the provider told, or else from `at`."""
    if instance.started_at and not instance.ended_at:
        instance = replace(instance, ended_at=at)
        census.events.append(billing.ended(instance, at=at, scribe=scribe))
    return instance


def lose(census: Census, instance: Instance, at: int, scribe: Scribe) -> Instance:
    """The instance gone; a loss is recorded unless we let it go ourselves. While the provider did not tell its end, the
    bill stays open: the provider's own time may follow.
    """
    instance = replace(instance, missing_since=at)
    if instance.released or instance.phase is Phase.FAILED:
        if instance.released and not instance.server:
            census.events.append(billing.never_began(instance, scribe))
        return replace(instance, phase=Phase.GONE)
    cause, event = lost(instance, at, scribe)
    census.events.append(event)
    gone = replace(instance, phase=Phase.GONE, cause=cause, cause_event=event.id)
    census.losses.append(Loss(instance, cause, at))
    return gone

"""The events between which an instance is paid for, and the one that says where it is paid from then on.

Called by `census` and by the loop, always with the provider's time where it told one. What they say follows from the
mark and the provider's word alone, never from what one replica remembers: another one tells them again, to the letter.
"""

from __future__ import annotations

from contracts.frozen import replace
from ledger.causes import Cause
from ledger.events import Event, EventType, Paid
from pools.provider import Lifecycle, LifecycleKind, Mark
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance, number_in

ENDS = (LifecycleKind.DELETED, LifecycleKind.FAILED)


def heard(happened: Lifecycle, instance: Instance, scribe: Scribe) -> tuple[Instance, tuple[Event, ...]]:
    """The instance after one lifecycle event, and what that says about its bill; heard twice, nothing changes."""
    where = happened.pool or instance.pool
    if happened.kind is LifecycleKind.ACTIVE and not instance.started_at and where:
        # a listing that does not say where it is leaves that to the stream, and shows no move later
        after = replace(instance, started_at=happened.at, told_in=where, pool=instance.pool or where)
        return after, (started(instance, pool=where, at=happened.at, scribe=scribe),)
    if not instance.started_at or instance.ended_at:
        return instance, ()
    if happened.kind in ENDS:
        return replace(instance, ended_at=happened.at, pool=where), (ended(instance, at=happened.at, scribe=scribe),)
    if happened.kind is LifecycleKind.MOVED and happened.pool:
        left = instance.told_in or instance.pool
        left = left if left != happened.pool else instance.moved_from
        after = replace(instance, pool=happened.pool, told_in=happened.pool, moved_from=left)
        return after, (moved(instance, pool=happened.pool, at=happened.at, scribe=scribe),)
    return instance, ()


def found_again(instance: Instance, mark: Mark | None, scribe: Scribe) -> tuple[Instance, tuple[Event, ...]]:
    """An instance that only its mark remembers. One that somebody else started ran when it was adopted: no event of the
    provider begins its bill with us, the mark says since when it is ours.
    """
    if mark is None or not mark.since:
        return instance, ()
    return adopted(instance, at=mark.since, scribe=scribe)


def adopted(instance: Instance, *, at: int, scribe: Scribe) -> tuple[Instance, tuple[Event, ...]]:
    """An instance that somebody else started and that is ours since our mark was put on it, at `at`: its request and
    the start of its bill. Both follow from the mark: whoever planned it and did not live to mark it told nothing.
    """
    after = replace(instance, started_at=at)
    request = scribe.event(
        EventType.INSTANCE_REQUESTED,
        after.name,
        purpose(after, scribe.seat),
        at=at,
        workload=after.workload,
        pool=after.pool,
        instance=after.name,
        data={"units": after.units, "paid": after.paid.value},
    )
    return after, (request, started(after, pool=after.pool, at=at, scribe=scribe))


def purpose(instance: Instance, seat: str) -> Cause:
    """What an instance is there for, as its mark says it: the same for everybody, whatever it was asked for in place
    of.
    """
    if not number_in(instance.name, seat):
        return Cause.ADOPTION_REVIEWED
    return {Paid.FLOOR: Cause.FLOOR, Paid.FALLBACK: Cause.SHORTFALL}.get(instance.paid, Cause.CLAIM_GREW)


def life_of(instance: Instance) -> str:
    """The subject of the end of an instance, or of its loss: one that was found again has another one to come, and of
    two servers that had its key each has its own.
    """
    if instance.twinned and instance.server:
        return f"{instance.name}/{instance.server}"
    return f"{instance.name}/{instance.found_at}" if instance.found_at else instance.name


def started(instance: Instance, *, pool: str, at: int, scribe: Scribe) -> Event:
    """Billing of the instance begins at `at`."""
    return scribe.event(
        EventType.INSTANCE_STARTED,
        instance.name,
        purpose(instance, scribe.seat),
        at=at,
        caused_by=event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
        workload=instance.workload,
        pool=pool,
        instance=instance.name,
        data={"units": instance.units, "paid": instance.paid.value},
    )


def moved(instance: Instance, *, pool: str, at: int, scribe: Scribe) -> Event:
    """From `at` on the instance is billed in another pool: the provider migrated it."""
    return scribe.event(
        EventType.INSTANCE_MOVED,
        f"{instance.name}/{at}",
        Cause.MIGRATED,
        at=at,
        caused_by=event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
        workload=instance.workload,
        pool=pool,
        instance=instance.name,
    )


def ended(instance: Instance, *, at: int, scribe: Scribe, believed: bool = False) -> Event:
    """Billing of the instance ends at `at`, wherever it stood: that its start and moves say. Why it went is what its
    notice, release, failure or loss says; of one that runs on without us nothing else does. What is only `believed`, by
    a time of ours, is an event beside the one that the provider's word makes.
    """
    disowned = instance.cause is Cause.DISOWNED_BY_REVIEW
    return scribe.event(
        EventType.INSTANCE_ENDED,
        f"{instance.name}/{at}" if believed else life_of(instance),
        instance.cause if disowned else Cause.ACCOUNTING,
        at=at,
        caused_by=event_id(EventType.INSTANCE_STARTED, scribe.region, instance.name),
        workload=instance.workload,
        instance=instance.name,
    )


def never_began(instance: Instance, scribe: Scribe) -> Event:
    """The end of a request that was let go before any server answered to its key."""
    return scribe.event(
        EventType.INSTANCE_FAILED,
        instance.name,
        instance.cause,
        caused_by=instance.cause_event,
        workload=instance.workload,
        pool=instance.pool,
        instance=instance.name,
        data={"error": "released before a server had its key"},
    )

"""The events between which an instance is paid for, and the one that says where it is paid from then on.

Called by `census` and by the loop, always with the provider's time where it told one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Lifecycle, LifecycleKind
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance, number_in

ENDS = (LifecycleKind.DELETED, LifecycleKind.FAILED)

TOLD_BACK_MS = 86_400_000
"""A leader without a memory tells again which bills ended in the last day: nobody is away for longer unnoticed, and
the stream of a large region may hold far more than anybody needs twice.
"""


def heard(happened: Lifecycle, instance: Instance, scribe: Scribe) -> tuple[Instance, tuple[Event, ...]]:
    """The instance after one lifecycle event, and what that says about its bill; heard twice, nothing changes."""
    where = happened.pool or instance.pool
    if happened.kind is LifecycleKind.ACTIVE and not instance.started_at and where:
        after = replace(instance, started_at=happened.at)
        return after, (started(instance, pool=where, at=happened.at, scribe=scribe),)
    if not instance.started_at or instance.ended_at:
        return instance, ()
    if happened.kind in ENDS:
        return replace(instance, ended_at=happened.at), (ended(instance, at=happened.at, scribe=scribe),)
    if happened.kind is LifecycleKind.MOVED and happened.pool:
        after = replace(instance, pool=happened.pool)
        return after, (moved(instance, pool=happened.pool, at=happened.at, scribe=scribe),)
    return instance, ()


def found_again(instance: Instance, *, active: bool, scribe: Scribe) -> tuple[Instance, tuple[Event, ...]]:
    """An instance that only its mark remembers. One that somebody else started ran when it was adopted: no event of the
    provider begins its bill with us.
    """
    if number_in(instance.name, scribe.region) > 0 or not active:
        return instance, ()
    after = replace(instance, started_at=scribe.now)
    return after, (started(after, pool=after.pool, at=scribe.now, scribe=scribe),)


def ends_of_unknown(lifecycle: Iterable[Lifecycle], known: Collection[str], scribe: Scribe) -> list[Event]:
    """The ends of bills that a leader with an empty memory hears of and cannot place: servers of ours (by their names)
    that no listing shows any more. Whoever led before may have told them or not, so they are told again under ids of
    their own, by server: the ledger takes the first end of an instance, and both say the same.

    Of two servers under one name the later is meant: the first one was a twin, or its end was followed by another.
    """
    ends: dict[str, Lifecycle] = {}
    for happened in lifecycle:
        if happened.kind not in ENDS or happened.name in known or not number_in(happened.name, scribe.region):
            continue
        told = ends.get(happened.name)
        if told is None or (told.server != happened.server and told.at <= happened.at):
            ends[happened.name] = happened
    return [
        scribe.event(
            EventType.INSTANCE_ENDED,
            f"{name}/{happened.server}",
            Cause.ACCOUNTING,
            at=happened.at,
            caused_by=event_id(EventType.INSTANCE_REQUESTED, scribe.region, name),
            pool=happened.pool,
            instance=name,
        )
        for name, happened in ends.items()
        if happened.at > scribe.now - TOLD_BACK_MS
    ]


def started(instance: Instance, *, pool: str, at: int, scribe: Scribe) -> Event:
    """Billing of the instance begins at `at`."""
    return scribe.event(
        EventType.INSTANCE_STARTED,
        instance.name,
        instance.cause,
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


def ended(instance: Instance, *, at: int, scribe: Scribe) -> Event:
    """Billing of the instance ends at `at`."""
    return scribe.event(
        EventType.INSTANCE_ENDED,
        instance.name,
        instance.cause,
        at=at,
        caused_by=instance.cause_event,
        workload=instance.workload,
        pool=instance.pool,
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

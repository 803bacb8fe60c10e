"""Keeps the fleet in step with what was observed: notices, listing, schedulers, one pure pass a cycle.

What an incomplete listing does not show stays as it was. What it means that a complete one lacks a server, `absence`
judges. What was held to be gone and is listed again is found again: ours as before, and never ended undrained. The
guard judges whether too many are missing to believe it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import FaultKind, Lifecycle, LifecycleKind, Notice, Server, Status
from reconciler import absence, billing
from reconciler.absence import Absence
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Debt, Fleet, Instance, Phase, number_in
from reconciler.hearing import hear
from reconciler.membership import as_ever, as_node
from reconciler.sight import Sight
from reconciler.sighting import Rows, Stray, sort_rows, tell_strays
from reconciler.twins import ends_told, means, sort_twins

FAULT_CAUSES: Mapping[FaultKind, Cause] = {
    FaultKind.NO_HOST: Cause.CREATE_FAILED,
    FaultKind.QUOTA: Cause.QUOTA_EXHAUSTED,
    FaultKind.CONFLICT: Cause.ALLOCATION_CONFLICTS,
    FaultKind.OTHER: Cause.CREATE_FAILED,
}

REMEMBERED_MS = 3_600_000
"""How long what is gone is remembered: longer than a listing shows what once was, or hides what is there."""

REPLACING = frozenset({Cause.NOTICE, Cause.LOST_AFTER_NOTICE, Cause.LOST_WITHOUT_NOTICE, Cause.ENDED_BEFORE_ITS_TIME})
"""Causes of an instance that was asked for in another's place: when its boot fails, that debt stands again."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An acquisition that did not become a node; a quota failure is no sign against the pool."""

    pool: str
    workload: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class Loss:
    """An instance that is gone and that we did not let go."""

    instance: Instance
    cause: Cause
    at: int


@dataclass
class Census:
    """What one pass found; `fleet` is the fleet after it.

    `restored` are instances that only their marks remember, `twins` second servers that may be deleted. `unheard`: the
    provider spoke of a server that we could not know, for want of a whole listing: ask again.
    """

    fleet: Fleet
    events: list[Event] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    strays: list[Stray] = field(default_factory=list)
    restored: list[Instance] = field(default_factory=list)
    twins: list[Server] = field(default_factory=list)
    foreign: int = 0
    unheard: bool = False


def take(fleet: Fleet, sight: Sight, scribe: Scribe) -> Census:
    """The fleet after what was seen, with the events, losses and failures this pass found.

    Rows come first: whatever a mark brings back hears its notices and its times in the same pass.
    """
    census = Census(fleet)
    instances = dict(fleet.instances)
    debts = {debt.instance: debt for debt in fleet.debts}
    sorted_rows = _rows(census, instances, sight, scribe)
    rows = sorted_rows.known
    _lifecycle_times(census, instances, sight, scribe)
    for name in sorted_rows.found:
        _found_again(census, instances, debts, instances[name], scribe)
    _hear_notices(census, instances, debts, sight, scribe)
    told = ends_told(sight.signals.lifecycle, instances)
    believable = not absence.improbable(instances, rows, told, sight)
    for name in list(instances):
        before = instances[name]
        if before.phase is Phase.GONE:
            _bury(census, instances, before, sight, scribe)
            continue
        row, view = rows.get(name), sight.nodes.get(name)
        if row is not None and view is not None and as_ever(before, row, view):
            continue
        if row is not None:
            after = _seen(census, before, row, sight, scribe)
        elif before.project in sight.complete:
            after = _missing(census, before, told.get(name), sight, scribe, believable=believable)
        else:
            after = before
        silent = after.workload in sight.silent_workloads
        after, joined = as_node(after, view, scribe, silent=silent)
        census.events += joined
        owed = _owed(before, after)
        if owed is not None:
            debts.setdefault(name, owed)
        if after is not before:
            instances[name] = after
    _let_stay(instances)
    twins = sorted_rows.twins
    census.twins, waiting = sort_twins(twins, fleet.instances, instances, complete=sight.complete, epoch=scribe.epoch)
    census.strays = [*sorted_rows.strays, *waiting]
    census.events += tell_strays(census.strays, fleet.quarantined, scribe)
    unheard = [number_in(name, sight.region) for name in rows.keys() - fleet.instances.keys()]
    census.fleet = replace(
        fleet,
        instances=instances,
        debts=tuple(debts.values()),
        quarantined=frozenset(s.row.id for s in census.strays) | (frozenset() if sight.whole else fleet.quarantined),
        twins=fleet.twins & {twin.row.id for twin in twins} if sight.whole else fleet.twins,
        sequence=max(fleet.sequence, 1 + max(unheard, default=0)),
    )
    return census


def _let_stay(instances: dict[str, Instance]) -> None:
    """Whoever was to take over from an instance is not there: it stays."""
    for name, instance in instances.items():
        taker = instances.get(instance.moving_to) if instance.moving_to else None
        if instance.moving_to and (taker is None or not taker.supply):
            instances[name] = replace(instance, moving_to="")


def _owed(before: Instance, after: Instance) -> Debt | None:
    """What has to be replaced because of this change; a noticed instance owes since its notice."""
    if after.phase is before.phase or before.released or before.noticed:
        return None
    lost = after.phase is Phase.GONE and before.phase is not Phase.FAILED
    broke = after.phase is Phase.FAILED and before.supply and not before.starting
    if lost or broke:
        return Debt(after.workload, after.name, after.cause, after.cause_event, after.paid)
    if after.phase is Phase.FAILED and before.cause in REPLACING:
        return Debt(after.workload, after.name, before.cause, before.cause_event, after.paid)
    return None


def _lifecycle_times(census: Census, instances: dict[str, Instance], sight: Sight, scribe: Scribe) -> None:
    """Billing follows the provider's own times: from active until deleted or failed."""
    for happened in sight.signals.lifecycle:
        instance = instances.get(happened.name)
        if instance is None:
            census.unheard |= not sight.whole
            continue
        if not means(happened, instance):
            continue
        if happened.kind is LifecycleKind.DELETED and not instance.end_told:
            instance = replace(instance, end_told=True)
        instances[instance.name], events = billing.heard(happened, instance, scribe)
        census.events += events


def _hear_notices(
    census: Census, instances: dict[str, Instance], debts: dict[str, Debt], sight: Sight, scribe: Scribe
) -> None:
    for notice in sight.signals.notices:
        instance = instances.get(notice.name)
        if instance is None:
            census.unheard |= not sight.whole
        elif not means(notice, instance):
            continue
        elif instance.phase is not Phase.GONE and instance.phase is not Phase.FAILED:
            instances[instance.name], events, earlier = hear(notice, instance, debts, scribe)
            census.events += events
            if earlier:
                census.notices.append(notice)
        elif instance.phase is Phase.GONE:  # heard too late to act on; its drain and its loss lead back to it
            late, events, _ = hear(notice, instance, {}, scribe)
            instances[instance.name] = replace(instance, notices=late.notices)
            census.events += events


def _found_again(
    census: Census, instances: dict[str, Instance], debts: dict[str, Debt], gone: Instance, scribe: Scribe
) -> None:
    """What was held to be gone is listed again: ours as before, in the phase that it was in, and paid for all along.
    Nothing is owed in its place any more, and its release, if that was agreed, goes on.
    """
    debts.pop(gone.name, None)
    instances[gone.name], event = billing.never_left(gone, scribe)
    census.events.append(event)


def _rows(census: Census, instances: dict[str, Instance], sight: Sight, scribe: Scribe) -> Rows:
    """The listing's rows that are ours; those the fleet lost come back into `instances`."""
    rows = sort_rows(
        sight.listing.servers if sight.listing else (),
        instances,
        estate=sight.estate,
        region=sight.region,
        projects=sight.projects,
        workloads=sight.workloads,
    )
    for restored in rows.restored:
        active = rows.known[restored.name].status is Status.ACTIVE
        instance = replace(restored, unsure_since=sight.now)
        instances[instance.name], events = billing.found_again(instance, active=active, scribe=scribe)
        census.events += events
    census.restored = rows.restored
    census.foreign = rows.foreign
    return rows


def _seen(census: Census, instance: Instance, row: Server, sight: Sight, scribe: Scribe) -> Instance:
    moved_away = not row.pool and row.status is Status.MOVED
    pool = row.pool if row.pool or moved_away else instance.pool
    if pool and pool != instance.pool and instance.started_at and not instance.ended_at:
        census.events.append(billing.moved(instance, pool=pool, at=sight.now, scribe=scribe))
    phase = Phase.BOOTING if instance.phase is Phase.REQUESTED else instance.phase
    facts = (instance.missing_since, instance.server, instance.pool, instance.phase)
    if facts != (0, row.id, pool, phase):
        there = absence.shown(instance)
        instance = replace(there, server=row.id, pool=pool, phase=phase)
    # as a node, or nobody can say
    shown = instance.name in sight.nodes or instance.workload in sight.silent_workloads
    if row.status is Status.ERROR and instance.starting:
        return _fail(census, instance, FAULT_CAUSES[row.fault or FaultKind.OTHER], row.fault_text, scribe)
    if row.status is Status.ERROR and instance.supply and not shown:
        return replace(_lose(census, instance, sight.now, sight, scribe), phase=Phase.FAILED)
    if instance.unsure_since:
        return instance  # it may be a node that nobody shows: drained first, or not at all
    overdue = sight.now - instance.requested_at > sight.join_timeout_s * 1000
    # who adopted a server answers for its joining; we end only what we started
    ours = number_in(instance.name, sight.region) > 0
    if instance.starting and overdue and ours and not instance.joined_at and not shown:
        return _fail(census, instance, Cause.NEVER_JOINED, "", scribe)
    return instance


def _fail(census: Census, instance: Instance, cause: Cause, text: str, scribe: Scribe) -> Instance:
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


def _missing(
    census: Census,
    instance: Instance,
    happened: Lifecycle | None,
    sight: Sight,
    scribe: Scribe,
    *,
    believable: bool,
) -> Instance:
    """A complete listing lacks it: gone when that is explained or outlasts its doubts, or missing for now."""
    view = sight.nodes.get(instance.name)
    match absence.judge(instance, happened, view, sight, believable=believable):
        case Absence.GONE if happened is not None:
            return _lose(census, replace(instance, end_told=True), happened.at, sight, scribe)
        case Absence.GONE if instance.released or instance.noticed or instance.phase is Phase.FAILED:
            return _lose(census, instance, sight.now, sight, scribe)
        case Absence.GONE:
            at = instance.ended_at or instance.missing_since or sight.listed_at
            return _lose(census, instance, at, sight, scribe)
        case Absence.UNANSWERED:
            return _fail(census, instance, Cause.CREATE_FAILED, "no answer came, and no server has its key", scribe)
        case Absence.YOUNG:
            return instance
        case Absence.MISSING:
            if not (instance.released or instance.noticed):
                census.unexplained.append(instance.name)
            return absence.missed(instance, sight)


def _bury(census: Census, instances: dict[str, Instance], gone: Instance, sight: Sight, scribe: Scribe) -> None:
    """Close the bill of what is gone, once the provider had a chance to tell from when to when it ran; and forget it
    when no late or untrue listing shows it any more.
    """
    gone_at = gone.gone_at or sight.now
    if sight.heard:
        closed = _closed(census, gone, gone.missing_since or sight.now, scribe)
        instances[gone.name] = closed if closed.gone_at else replace(closed, gone_at=gone_at)
        left = gone.deregistered or not gone.joined_at
        if left and sight.now - gone_at >= REMEMBERED_MS:
            del instances[gone.name]


def _closed(census: Census, instance: Instance, at: int, scribe: Scribe) -> Instance:
    """No longer billed: from the time that the provider told, or else from `at`."""
    if instance.started_at and not instance.ended_at:
        instance = replace(instance, ended_at=at)
        census.events.append(billing.ended(instance, at=at, scribe=scribe))
    return instance


def _lose(census: Census, instance: Instance, at: int, sight: Sight, scribe: Scribe) -> Instance:
    """The instance gone, and no longer billed; a loss is recorded unless we let it go ourselves. While the provider
    does not tell what happened, the bill stays open: the provider's own time may follow.
    """
    instance = _closed(census, instance, at, scribe) if sight.heard else replace(instance, missing_since=at)
    if instance.released or instance.phase is Phase.FAILED:
        if instance.released and not instance.server:
            census.events.append(billing.never_began(instance, scribe))
        return replace(instance, phase=Phase.GONE, gone_at=sight.now)
    if instance.noticed:
        cause = Cause.LOST_AFTER_NOTICE if at >= instance.ends_at - 1000 else Cause.ENDED_BEFORE_ITS_TIME
    else:
        cause = Cause.LOST_WITHOUT_NOTICE
    event = scribe.event(
        EventType.INSTANCE_LOST,
        billing.life_of(instance),
        cause,
        at=at,
        caused_by=instance.cause_event
        if instance.noticed
        else event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
        workload=instance.workload,
        pool=instance.pool,
        instance=instance.name,
        data={"noticed": int(instance.noticed), **({"drill": 1} if instance.drill else {})},
    )
    census.events.append(event)
    gone = replace(instance, phase=Phase.GONE, gone_at=sight.now, cause=cause, cause_event=event.id)
    census.losses.append(Loss(instance, cause, at))
    return gone

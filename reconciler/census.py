"""Keeps the fleet in step with what was observed: notices, listing, schedulers, one pure pass a cycle.

What an incomplete listing does not show stays as it was. A server that a complete listing lacks is lost when a second
source explains it (notice, lifecycle event, our deletion); unexplained, it is counted, and believed lost only when a
second complete listing lacks it too. The guard judges whether the unexplained are too many to believe at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ledger.causes import Cause
from ledger.events import Event, EventType, Paid
from pools.provider import FaultKind, Lifecycle, LifecycleKind, Listing, Notice, Server, Signals, Status
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Debt, Fleet, Instance, Phase
from reconciler.ports import NodeView

FEW = 3
"""Up to this many unexplained absences are never called improbable: a small fleet loses one now and then."""

BELIEVED_AFTER_MS = 60_000
"""An unexplained absence is believed a minute after it was first seen, if a complete listing still shows it."""

ENDS = (LifecycleKind.DELETED, LifecycleKind.FAILED)

FAULT_CAUSES: Mapping[FaultKind, Cause] = {
    FaultKind.NO_HOST: Cause.CREATE_FAILED,
    FaultKind.QUOTA: Cause.QUOTA_EXHAUSTED,
    FaultKind.CONFLICT: Cause.ALLOCATION_CONFLICTS,
    FaultKind.OTHER: Cause.CREATE_FAILED,
}


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
    """What one pass found; `fleet` is the fleet after it."""

    fleet: Fleet
    events: list[Event] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    foreign: int = 0


@dataclass(frozen=True, slots=True)
class Sight:
    """What the provider and the schedulers showed; `listing` is None when the provider did not answer at all."""

    now: int
    estate: str
    region: str
    join_timeout_s: int
    signals: Signals
    listing: Listing | None
    nodes: Mapping[str, NodeView]
    workloads: frozenset[str]
    improbable_percent: int = 10


def take(fleet: Fleet, sight: Sight, scribe: Scribe) -> Census:
    """The fleet after what was seen, with the events, losses and failures this pass found."""
    census = Census(fleet)
    instances = dict(fleet.instances)
    debts = {debt.instance: debt for debt in fleet.debts}
    quarantined = set(fleet.quarantined)
    _lifecycle_times(census, instances, sight, scribe)
    _hear_notices(census, instances, debts, sight, scribe)
    rows = _our_rows(census, instances, quarantined, sight)
    complete = frozenset(p.name for p in sight.listing.parts if p.complete) if sight.listing else frozenset()
    explained = _explained(sight.signals.lifecycle)
    believable = fleet.accepted_loss or not _improbable(instances, rows, complete, explained, sight)
    for name in list(instances):
        before = instances[name]
        if before.phase is Phase.GONE:
            del instances[name]
            continue
        row = rows.get(name)
        if row is not None:
            after = _seen(census, before, row, sight, scribe)
        elif before.project in complete:
            after = _missing(census, before, explained.get(name), sight, scribe, believable=believable)
        else:
            after = before
        after = _as_node(census, after, sight, scribe)
        if after.phase is Phase.GONE and not before.released and before.phase is not Phase.FAILED:
            debts.setdefault(name, Debt(after.workload, name, after.cause, after.cause_event))
        if after.moving_to and after.moving_to not in rows:
            after = replace(after, moving_to="")  # whoever was to take over is not there: it stays
        if after is not before:
            instances[name] = after
    census.fleet = replace(fleet, instances=instances, debts=tuple(debts.values()), quarantined=frozenset(quarantined))
    return census


def _explained(lifecycle: tuple[Lifecycle, ...]) -> dict[str, Lifecycle]:
    return {happened.name: happened for happened in lifecycle if happened.kind in ENDS}


def _improbable(
    instances: Mapping[str, Instance],
    rows: Mapping[str, Server],
    complete: frozenset[str],
    explained: Mapping[str, Lifecycle],
    sight: Sight,
) -> bool:
    """Whether more of the fleet than is believable is missing at once with nothing to explain it."""
    alive = missing = 0
    for instance in instances.values():
        if instance.phase is Phase.GONE:
            continue
        alive += 1
        let_go = instance.released or instance.noticed or instance.phase is Phase.FAILED
        if instance.name not in rows and instance.project in complete and not let_go:
            missing += instance.name not in explained
    return missing > FEW and missing * 100 > alive * sight.improbable_percent


def _lifecycle_times(census: Census, instances: dict[str, Instance], sight: Sight, scribe: Scribe) -> None:
    """Billing follows the provider's own times: from active until deleted or failed."""
    for happened in sight.signals.lifecycle:
        instance = instances.get(happened.name)
        if instance is None:
            continue
        if happened.kind is LifecycleKind.ACTIVE and not instance.started_at:
            instances[instance.name] = replace(instance, started_at=happened.at)
            _billed(
                census,
                instance,
                happened.at,
                EventType.INSTANCE_STARTED,
                event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
                scribe,
            )
        elif happened.kind in ENDS and instance.started_at and not instance.ended_at:
            instances[instance.name] = replace(instance, ended_at=happened.at)
            _billed(census, instance, happened.at, EventType.INSTANCE_ENDED, instance.cause_event, scribe)


def _billed(census: Census, instance: Instance, at: int, type_: EventType, caused_by: str, scribe: Scribe) -> None:
    started = type_ is EventType.INSTANCE_STARTED
    census.events.append(
        scribe.event(
            type_,
            instance.name,
            instance.cause,
            at=at,
            caused_by=caused_by,
            workload=instance.workload,
            pool=instance.pool,
            instance=instance.name,
            data={"units": instance.units, "paid": instance.paid.value} if started else {},
        )
    )


def _hear_notices(
    census: Census, instances: dict[str, Instance], debts: dict[str, Debt], sight: Sight, scribe: Scribe
) -> None:
    for notice in sight.signals.notices:
        instance = instances.get(notice.name)
        if instance is None or instance.phase in (Phase.GONE, Phase.FAILED):
            continue
        if notice.withdrawn:
            if instance.noticed and instance.reclaim == notice.reclaim:
                _withdraw(census, instances, debts, instance, notice, scribe)
            continue
        if instance.noticed and instance.ends_at <= notice.ends_at:
            continue
        subject = f"{notice.id}/{instance.name}"
        census.notices.append(notice)
        census.events.append(
            scribe.event(
                EventType.NOTICE_RECEIVED,
                subject,
                Cause.NOTICE,
                at=notice.issued_at,
                workload=instance.workload,
                pool=instance.pool,
                instance=instance.name,
                data={"reclaim": notice.reclaim, "kind": notice.kind.value, "ends_at": notice.ends_at},
            )
        )
        told = event_id(EventType.NOTICE_RECEIVED, scribe.region, subject)
        if not instance.released:
            debts.setdefault(instance.name, Debt(instance.workload, instance.name, Cause.NOTICE, told))
        instances[instance.name] = replace(
            instance,
            phase=Phase.DRAINING,
            noticed=True,
            ends_at=min(notice.ends_at, instance.ends_at) if instance.ends_at else notice.ends_at,
            reclaim=notice.reclaim,
            cause=Cause.NOTICE,
            cause_event=told,
        )


def _withdraw(
    census: Census,
    instances: dict[str, Instance],
    debts: dict[str, Debt],
    instance: Instance,
    notice: Notice,
    scribe: Scribe,
) -> None:
    census.events.append(
        scribe.event(
            EventType.NOTICE_WITHDRAWN,
            f"{notice.id}/{instance.name}",
            Cause.NOTICE_WITHDRAWN,
            caused_by=instance.cause_event,
            workload=instance.workload,
            pool=instance.pool,
            instance=instance.name,
            data={"reclaim": notice.reclaim},
        )
    )
    debts.pop(instance.name, None)
    kept = instance.released
    instances[instance.name] = replace(
        instance,
        phase=Phase.DRAINING if kept else Phase.JOINED if instance.joined_at else Phase.BOOTING,
        noticed=False,
        ends_at=instance.ends_at if kept else 0,
        reclaim="",
        cause=Cause.NOTICE_WITHDRAWN,
    )


def _our_rows(census: Census, instances: dict[str, Instance], quarantined: set[str], sight: Sight) -> dict[str, Server]:
    """The listing's rows that carry our mark; unknown ones of ours come back into the fleet from their mark."""
    rows: dict[str, Server] = {}
    for server in sight.listing.servers if sight.listing else ():
        mark = server.mark
        if mark is None or not server.id:
            continue
        if mark.estate != sight.estate or mark.region != sight.region:
            census.foreign += 1
            continue
        if mark.workload not in sight.workloads or mark.name in rows:
            # ours by its mark, but nobody's work, or a twin: never deleted on our own, a person looks
            quarantined.add(server.id)
            continue
        rows[mark.name] = server
        if mark.name not in instances:
            instances[mark.name] = Instance(
                name=mark.name,
                pool=server.pool,
                project=server.project,
                workload=mark.workload,
                units=mark.units,
                paid=Paid(mark.paid),
                phase=Phase.BOOTING,
                requested_at=server.created_at,
                epoch=mark.epoch,
                server=server.id,
            )
    return rows


def _seen(census: Census, instance: Instance, row: Server, sight: Sight, scribe: Scribe) -> Instance:
    changes: dict[str, object] = {}
    if instance.missing_since:
        changes["missing_since"] = 0
    if instance.server != row.id:
        changes["server"] = row.id
    if row.pool and row.pool != instance.pool:
        changes["pool"] = row.pool
    if instance.phase is Phase.REQUESTED:
        changes["phase"] = Phase.BOOTING
    if instance.starting:
        overdue = sight.now - instance.requested_at > sight.join_timeout_s * 1000
        if row.status is Status.ERROR:
            cause = FAULT_CAUSES[row.fault or FaultKind.OTHER]
            return _fail(census, replace(instance, **changes), cause, row.fault_text, scribe)  # type: ignore[arg-type]  # field names are checked by the tests
        if overdue and not instance.joined_at and instance.name not in sight.nodes:
            return _fail(census, replace(instance, **changes), Cause.NEVER_JOINED, "", scribe)  # type: ignore[arg-type]  # the same
    return replace(instance, **changes) if changes else instance  # type: ignore[arg-type]  # the same


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
    now = sight.now
    let_go = instance.released or instance.phase is Phase.FAILED
    if let_go or instance.noticed or happened is not None:
        return _lose(census, instance, happened.at if happened else now, scribe)
    since = instance.missing_since or now
    if believable and now - since >= BELIEVED_AFTER_MS:
        return _lose(census, instance, since, scribe)
    census.unexplained.append(instance.name)
    return replace(instance, missing_since=since)


def _lose(census: Census, instance: Instance, at: int, scribe: Scribe) -> Instance:
    """The instance gone; a loss is recorded unless we let it go ourselves."""
    if instance.released or instance.phase is Phase.FAILED:
        return replace(instance, phase=Phase.GONE)
    if instance.noticed:
        cause = Cause.LOST_AFTER_NOTICE if at >= instance.ends_at - 1000 else Cause.ENDED_BEFORE_ITS_TIME
    else:
        cause = Cause.LOST_WITHOUT_NOTICE
    event = scribe.event(
        EventType.INSTANCE_LOST,
        instance.name,
        cause,
        at=at,
        caused_by=instance.cause_event
        if instance.noticed
        else event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
        workload=instance.workload,
        pool=instance.pool,
        instance=instance.name,
        data={"noticed": int(instance.noticed)},
    )
    census.events.append(event)
    gone = replace(instance, phase=Phase.GONE, cause=cause, cause_event=event.id)
    census.losses.append(Loss(instance, cause, at))
    return gone


def _as_node(census: Census, instance: Instance, sight: Sight, scribe: Scribe) -> Instance:
    """What the scheduler and the agent show of it: joined, busy, covered."""
    view = sight.nodes.get(instance.name)
    if view is None or instance.phase in (Phase.GONE, Phase.FAILED):
        return instance
    if not instance.joined_at:
        census.events.append(
            scribe.event(
                EventType.INSTANCE_JOINED,
                instance.name,
                instance.cause,
                at=view.joined_at,
                caused_by=event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
                workload=instance.workload,
                pool=instance.pool,
                instance=instance.name,
            )
        )
    phase = instance.phase
    if instance.supply:
        phase = Phase.SERVING if view.busy_units else Phase.JOINED
    same = (instance.joined_at, instance.busy_units, instance.covered, instance.phase)
    if same == (view.joined_at, view.busy_units, view.covered, phase):
        return instance
    return replace(instance, joined_at=view.joined_at, busy_units=view.busy_units, covered=view.covered, phase=phase)

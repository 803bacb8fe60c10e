"""Keeps the fleet in step with what was observed: notices, listing, schedulers, one pure pass a cycle.

What an incomplete listing does not show stays as it was. A server that a complete listing lacks is lost when a second
source explains it (notice, lifecycle event, advisory, its scheduler, our deletion); unexplained, it is counted, and
believed lost only when a second complete listing lacks it too. The guard judges whether they are too many to believe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import FaultKind, Lifecycle, Listing, Notice, Server, Signals, Status
from reconciler import billing
from reconciler.debts import owes
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Debt, Fleet, Instance, Phase, number_in
from reconciler.hearing import hear
from reconciler.membership import as_ever, as_node
from reconciler.ports import NodeView
from reconciler.sighting import Rows, Stray, missed, sort_rows, tell_strays
from reconciler.twins import ends_told, means, sort_twins

FEW = 3
"""Up to this many unexplained absences are never called improbable: a small fleet loses one now and then."""

BELIEVED_AFTER_MS = 60_000
"""An unexplained absence is believed a minute after it was first seen, if a complete listing still shows it."""

UNTOLD_MS = 600_000
"""How long the bill of what is gone waits for the provider's own time: a listing that lied is found out by then."""

UNSEEN_MS = 60_000
"""How long after it was asked for a server may be absent from a listing without meaning anything."""

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
    """What one pass found; `fleet` is the fleet after it.

    `restored` are instances that only their marks remember, `twins` second servers that may be deleted. `unheard`: the
    provider spoke of a server that we could not know, for want of a whole listing: ask again. `missed`: it spoke of one
    that we know only now: ask from the beginning.
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
    missed: bool = False

    def cursor(self, before: str, after: str) -> str:
        """Where to go on in the provider's stream, which was heard from one cursor to the other."""
        if self.missed and before:
            return ""
        return before if self.unheard else after


@dataclass(frozen=True)
class Sight:
    """What the provider and the schedulers showed; `listing` is None when the provider did not answer at all.

    `projects` are ours, `silent_workloads` those whose scheduler does not answer, and `accepted_at` is the time up to
    which a person accepted that what is missing is gone (0: none was). `anew`: the signals are heard from the
    beginning of what the provider keeps, by a memory that had heard none.
    """

    now: int
    estate: str
    region: str
    join_timeout_s: int
    signals: Signals
    listing: Listing | None
    nodes: Mapping[str, NodeView]
    workloads: frozenset[str]
    projects: frozenset[str]
    silent_workloads: frozenset[str] = frozenset()
    improbable_percent: int = 10
    accepted_at: int = 0
    anew: bool = False

    @cached_property
    def complete(self) -> frozenset[str]:
        """Projects that were listed to their end."""
        return frozenset(p.name for p in self.listing.parts if p.complete) if self.listing else frozenset()

    @cached_property
    def advised(self) -> frozenset[str]:
        """Pools that the provider warns of now."""
        return frozenset(advisory.pool for advisory in self.signals.advisories if advisory.until > self.now)

    @property
    def heard(self) -> bool:
        """Whether the provider told what happened; silence is no word about anything."""
        return self.signals.as_of > 0

    @property
    def whole(self) -> bool:
        """Whether every project was."""
        return self.listing is not None and self.listing.complete


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
    census.missed = missed(sorted_rows, instances)
    _hear_notices(census, instances, debts, sight, scribe)
    told = ends_told(sight.signals.lifecycle, instances)
    believable = not _improbable(instances, rows, told, sight)
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
        owed = owes(before, after)
        if owed is not None:
            debts.setdefault(name, owed)
        if after is not before:
            instances[name] = after
    for name, instance in instances.items():
        taker = instances.get(instance.moving_to) if instance.moving_to else None
        if instance.moving_to and (taker is None or not taker.supply):
            instances[name] = replace(instance, moving_to="")  # whoever was to take over is not there: it stays
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


def _improbable(
    instances: Mapping[str, Instance], rows: Mapping[str, Server], told: Mapping[str, Lifecycle], sight: Sight
) -> bool:
    """Whether more of the fleet than is believable is missing at once with nothing to explain it."""
    alive = missing = 0
    for instance in instances.values():
        if instance.phase is Phase.GONE:
            continue
        alive += 1
        let_go = instance.released or instance.noticed or instance.phase is Phase.FAILED
        if instance.name not in rows and instance.project in sight.complete and not let_go:
            known = instance.name in told or _borne_out(instance, sight) or _accepted(instance, sight)
            missing += not known and not _too_young(instance, sight)
    return missing > FEW and missing * 100 > alive * sight.improbable_percent


def _too_young(instance: Instance, sight: Sight) -> bool:
    """Whether the listing may simply not show it yet: providers list a new server seconds after they made it."""
    listed = sight.listing.as_of if sight.listing else 0
    return instance.starting and listed - instance.requested_at < UNSEEN_MS


def _borne_out(instance: Instance, sight: Sight) -> bool:
    """Whether a second source says the same as the listing: its scheduler, which answers and no longer shows a node
    that was there, or an advisory for its pool.
    """
    answers = instance.workload not in sight.silent_workloads
    node_left = instance.joined_at > 0 and answers and instance.name not in sight.nodes
    return node_left or instance.pool in sight.advised


def _accepted(instance: Instance, sight: Sight) -> bool:
    """Whether a person accepted a listing that already lacked it."""
    return 0 < instance.missing_since <= sight.accepted_at


def _lifecycle_times(census: Census, instances: dict[str, Instance], sight: Sight, scribe: Scribe) -> None:
    """Billing follows the provider's own times: from active until deleted or failed."""
    for happened in sight.signals.lifecycle:
        instance = instances.get(happened.name)
        if instance is None:
            census.unheard |= not sight.whole
            continue
        if not means(happened, instance):
            continue
        instances[instance.name], events = billing.heard(happened, instance, scribe)
        census.events += events
    if sight.anew and sight.whole:
        census.events += billing.ends_of_unknown(sight.signals.lifecycle, instances, scribe)


def _hear_notices(
    census: Census, instances: dict[str, Instance], debts: dict[str, Debt], sight: Sight, scribe: Scribe
) -> None:
    taken_back = {notice.id for notice in sight.signals.notices if notice.withdrawn}
    # that it was taken back is the last word on a notice
    for notice in sorted(sight.signals.notices, key=lambda said: said.withdrawn or said.id not in taken_back):
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
    for instance in rows.restored:
        active = rows.known[instance.name].status is Status.ACTIVE
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
        instance = replace(instance, missing_since=0, server=row.id, pool=pool, phase=phase)
    # as a node, or nobody can say
    shown = instance.name in sight.nodes or instance.workload in sight.silent_workloads
    if row.status is Status.ERROR and instance.starting:
        return _fail(census, instance, FAULT_CAUSES[row.fault or FaultKind.OTHER], row.fault_text, scribe)
    if row.status is Status.ERROR and instance.supply and not shown:
        return replace(_lose(census, instance, sight.now, scribe), phase=Phase.FAILED)
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
    """A complete listing lacks it: gone when something explains that, too young to tell, or missing for now."""
    listed = sight.listing.as_of if sight.listing else 0
    let_go = instance.released or instance.phase is Phase.FAILED
    if let_go and not instance.server and happened is None and listed - instance.requested_at < UNSEEN_MS:
        return instance
    if let_go or instance.noticed or happened is not None:
        return _lose(census, instance, happened.at if happened else sight.now, scribe)
    if _borne_out(instance, sight):
        return _lose(census, instance, instance.missing_since or listed, scribe)
    if _too_young(instance, sight):
        return instance
    if instance.starting and not instance.server:
        return _fail(census, instance, Cause.CREATE_FAILED, "no answer came, and no server has its key", scribe)
    since = instance.missing_since or listed
    if _accepted(instance, sight) or (believable and listed - since >= BELIEVED_AFTER_MS):
        return _lose(census, instance, since, scribe)
    census.unexplained.append(instance.name)
    return replace(instance, missing_since=since)


def _bury(census: Census, instances: dict[str, Instance], gone: Instance, sight: Sight, scribe: Scribe) -> None:
    """Forget what is gone, once the provider had a chance to tell from when to when it is billed."""
    since = gone.missing_since or sight.now
    settled = gone.ended_at or not gone.started_at or not gone.missing_since or gone.cause is Cause.DISOWNED_BY_REVIEW
    if sight.heard and (settled or sight.now - since >= UNTOLD_MS):
        instances[gone.name] = _closed(census, gone, since, scribe)
        if gone.deregistered or not gone.joined_at:
            del instances[gone.name]


def _closed(census: Census, instance: Instance, at: int, scribe: Scribe) -> Instance:
    """No longer billed: from the time that the provider told, or else from `at`."""
    if instance.started_at and not instance.ended_at:
        instance = replace(instance, ended_at=at)
        census.events.append(billing.ended(instance, at=at, scribe=scribe))
    return instance


def _lose(census: Census, instance: Instance, at: int, scribe: Scribe) -> Instance:
    """The instance gone; a loss is recorded unless we let it go. Its bill stays open for the provider's own time."""
    instance = replace(instance, missing_since=at)
    if instance.released or instance.phase is Phase.FAILED:
        if instance.released and not instance.server:
            census.events.append(billing.never_began(instance, scribe))
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
        data={"noticed": int(instance.noticed), **({"drill": 1} if instance.drill else {})},
    )
    census.events.append(event)
    gone = replace(instance, phase=Phase.GONE, cause=cause, cause_event=event.id)
    census.losses.append(Loss(instance, cause, at))
    return gone

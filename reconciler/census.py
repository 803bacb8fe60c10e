"""Keeps the fleet in step with what was observed: notices, listing, schedulers, one pure pass a cycle.

What an incomplete listing does not show stays as it was. What it means that a complete one lacks a server, `doubts`
judges. What was held to be gone and is listed again is found again: ours as before, and never ended undrained. The
guard judges whether too many are missing to believe it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from contracts.frozen import replace
from ledger.causes import Cause
from pools.provider import FaultKind, LifecycleKind, Notice, Server, Status
from reconciler import billing, unlisted
from reconciler.absence import bury, came, fail, found, lose, missing
from reconciler.debts import reckon
from reconciler.doubts import improbable, may_stand, shown
from reconciler.drafts import Scribe
from reconciler.fleet import Debt, Fleet, Instance, Phase, Unlisted, number_in
from reconciler.hearing import hear
from reconciler.membership import all_drained, as_node, asked_at
from reconciler.passed_by import Others, others
from reconciler.past import anew, lost, past, step_in, twin_lost, word_owed
from reconciler.sight import Census, Sight
from reconciler.sighting import GOING, Rows, missed, sort_rows, tell_strays
from reconciler.twins import ends_told, means, sort_twins

FAULT_CAUSES: Mapping[FaultKind, Cause] = {
    FaultKind.NO_HOST: Cause.CREATE_FAILED,
    FaultKind.QUOTA: Cause.QUOTA_EXHAUSTED,
    FaultKind.CONFLICT: Cause.ALLOCATION_CONFLICTS,
    FaultKind.OTHER: Cause.CREATE_FAILED,
}


def take(fleet: Fleet, sight: Sight, scribe: Scribe) -> Census:
    """The fleet after what was seen, with the events, losses and failures this pass found.

    Rows come first: whatever a mark brings back hears its notices and its times in the same pass.
    """
    census = Census(fleet, drained=all_drained(sight.nodes, behind=sight.behind))
    instances = dict(fleet.instances)
    beyond = others(fleet.instances, sight)
    sight = replace(sight, unidentified=frozenset(name for name, _ in unlisted.rows_without_ids(beyond.rows, sight)))
    sorted_rows = _rows(census, instances, beyond.rows, sight, scribe)
    rows, seconds = sorted_rows.known, sorted_rows.seconds
    answered_until, debts, paid_up = _owing(fleet, census, sight, scribe)
    _hear_late(census, instances, sight, scribe, skip=frozenset(sorted_rows.found))
    _lifecycle_times(census, instances, sight, scribe)
    _find_again(census, instances, debts, sorted_rows.found, scribe)
    census.missed = missed(sorted_rows, instances)
    _tell_past(census, instances, rows, sight, scribe)
    _hear_notices(census, instances, debts, answered_until, sight, scribe)
    told = ends_told(sight.signals.lifecycle, instances)
    unseen = _unlisted(census, instances, beyond, sight)
    changed = _to_look_at(beyond, instances, fleet)
    moving = [instance.name for instance in changed if instance.moving_to]
    believable = not improbable(changed, rows, told, sight, beside=census.beside, shown=len(instances) - len(changed))
    for before in changed:
        name = before.name
        if before.phase is Phase.GONE:
            bury(census, instances, before, sight, scribe)
            continue
        view, ended_at = sight.nodes.get(name), before.ended_at or told.get(name, 0)
        row = _row_of(before, rows, ended_at, sight)
        if row is not None:
            after = _seen(census, before, row, sight, scribe)
        elif before.project in sight.complete:
            after = missing(census, before, ended_at, sight, scribe, believable=believable)
        else:
            after = before
            census.absent += not (before.server or before.end_told or view)  # it was asked for, and nobody saw it yet
        silent = after.workload in sight.silent_workloads
        after, joined = as_node(after, view, scribe, silent=silent, behind=sight.behind)
        census.events += joined
        if after.released and after.drain_asked and not before.released:  # by a leader of before
            census.let_go[name] = asked_at(after.release_event, sight.now)
        after = reckon(debts, before, after, answered_until=answered_until, second=name in seconds)
        if after is not before:
            instances[name] = after
    _let_stay(instances, moving)
    twins = sorted_rows.twins
    census.twins, waiting = sort_twins(twins, fleet.instances, instances, sight, epoch=scribe.epoch)
    census.strays = [*sorted_rows.strays, *waiting]
    census.events += tell_strays(census.strays, fleet.quarantined, scribe)
    census.fleet = replace(
        fleet,
        instances=instances,
        debts=tuple(debt for debt in debts.values() if not _serves(instances.get(debt.instance))),
        quarantined=frozenset(s.row.id for s in census.strays) | (frozenset() if sight.whole else fleet.quarantined),
        twins=fleet.twins & {twin.row.id for twin in twins} if sight.whole else fleet.twins,
        unlisted=unseen,
        sequence=max(fleet.sequence, 1 + _numbered(census, sight)),
        answered_until=answered_until,
        known=paid_up,
    )
    return census


def _to_look_at(beyond: Others, instances: Mapping[str, Instance], fleet: Fleet) -> list[Instance]:
    """Who was not passed by, and who came back from a mark or is left of the past, in the order of `instances`."""
    return [*map(instances.__getitem__, beyond.instances), *islice(instances.values(), len(fleet.instances), None)]


def _find_again(
    census: Census, instances: dict[str, Instance], debts: dict[str, Debt], names: Iterable[str], scribe: Scribe
) -> None:
    """What was held to be gone and is listed is there, and nothing is owed in its place any more."""
    for name in names:
        debts.pop(name, None)
        instances[name], event = found(instances[name], scribe)
        census.events.append(event)


def _numbered(census: Census, sight: Sight) -> int:
    """The largest number in a name that listing or stream know and the fleet did not. An epoch may serve again where
    store and disks were lost: a number that was ever given is not given again.
    """
    named = {back.name for back in census.restored} | {happened.name for happened in sight.signals.lifecycle}
    known = census.fleet.instances
    return max((number_in(name, sight.seat) for name in named if name not in known), default=0)


def _serves(instance: Instance | None) -> bool:
    """Whether it is there after all: nothing is owed in its place."""
    return instance is not None and instance.supply


def _owing(fleet: Fleet, census: Census, sight: Sight, scribe: Scribe) -> tuple[int, dict[str, Debt], tuple[int, int]]:
    """Up to when others may have answered what happened, what is owed, by instance, and up to which term and number
    they are known to have paid. Where servers of other terms turn up, or are said to have been, that were asked for
    behind the last word on what is owed, whoever asked may have paid each debt: it is never paid again, and what is
    missing comes back as growth.
    """
    term, number = max(_of_others(fleet, census, sight, scribe), default=(-1, 0))
    if (term, number) >= fleet.known:
        known = (term, number + 1) if any(fleet.known) else fleet.known
        return sight.now, {}, known
    return fleet.answered_until, {debt.instance: debt for debt in fleet.debts}, fleet.known


def _of_others(fleet: Fleet, census: Census, sight: Sight, scribe: Scribe) -> list[tuple[int, int]]:
    """Term and number of what leaders of other terms asked for and this memory did not know; of what came and went the
    stream alone speaks, and it speaks of old times too: only a last word on what is owed says which of it is news.
    """
    marks = [(one.name, one.mark) for one in sight.signals.lifecycle] if any(fleet.known) else []
    gone = [
        (mark.epoch, name)
        for name, mark in marks
        if mark is not None and mark.owner == sight.owner and name not in fleet.instances
    ]
    back = [(back.epoch, back.name) for back in census.restored]
    return [(term, number_in(name, sight.seat)) for term, name in gone + back if term != scribe.epoch]


def _unlisted(census: Census, instances: Mapping[str, Instance], beyond: Others, sight: Sight) -> dict[str, Unlisted]:
    """What others show of ours that nobody remembers; what a whole listing lacks of it is unexplained."""
    unseen = unlisted.unlisted(census.fleet.unlisted, instances, beyond, sight)
    doubtful = unlisted.counted(unseen, sight)
    census.unexplained += doubtful
    census.beside = len(doubtful)
    census.unlisted = unlisted.standing(unseen, sight)
    return unseen


def _let_stay(instances: dict[str, Instance], moving: Iterable[str]) -> None:
    """Whoever was to take over from one of the `moving` instances is not there: it stays."""
    for name in moving:
        instance = instances.get(name)
        taker = instances.get(instance.moving_to) if instance is not None else None
        if instance is not None and (taker is None or not taker.supply):
            instances[name] = replace(instance, moving_to="")


def _lifecycle_times(census: Census, instances: dict[str, Instance], sight: Sight, scribe: Scribe) -> None:
    """Billing follows the provider's own times: from active until deleted or failed."""
    for happened in sorted(sight.signals.lifecycle, key=lambda one: one.at):
        instance = instances.get(happened.name)
        if instance is None:
            census.unheard |= not sight.whole
            continue
        if not means(happened, instance):
            instances[instance.name] = replace(instance, twinned=True)
            census.events += twin_lost(happened, instance, scribe)
            continue
        if happened.kind is LifecycleKind.DELETED and not instance.end_told:
            instance = replace(instance, end_told=True)
        if happened.kind in billing.ENDS and happened.taken:
            instance = replace(instance, taken=True)
        after, events = billing.heard(happened, instance, scribe)
        if happened.kind in billing.ENDS and word_owed(after, scribe.region):
            event = lost(after, happened.at, scribe)[1]
            after = replace(after, cause_event=event.id)
            census.events.append(event)
        instances[instance.name] = after
        census.events += events


def _tell_past(
    census: Census, instances: dict[str, Instance], rows: Mapping[str, Server], sight: Sight, scribe: Scribe
) -> None:
    """What nobody knows any more, and no whole listing shows: its events, and what is left of it at its scheduler."""
    if not sight.whole:
        return
    known = {one.name for one in sight.signals.lifecycle if one.name in instances or one.name in rows}
    census.let_go |= {
        end.name: end.at
        for end in sight.signals.lifecycle
        if end.kind is LifecycleKind.DELETED and not end.taken and end.name not in known
    }
    found = past(sight, known, scribe)
    census.events += found.events
    census.missed |= found.partly
    instances |= {gone.name: gone for gone in found.left}


def _hear_notices(
    census: Census,
    instances: dict[str, Instance],
    debts: dict[str, Debt],
    answered_until: int,
    sight: Sight,
    scribe: Scribe,
) -> None:
    for notice in _in_order(sight):
        instance = instances.get(notice.name)
        if instance is None:
            census.unheard |= not sight.whole
        elif not means(notice, instance):
            continue
        elif instance.phase is not Phase.GONE and instance.phase is not Phase.FAILED:
            owing = debts if notice.withdrawn or notice.issued_at > answered_until else {}
            instances[instance.name], events, earlier = hear(notice, instance, owing, scribe)
            census.events += events
            if earlier:
                census.notices.append(notice)


def _hear_late(
    census: Census, instances: dict[str, Instance], sight: Sight, scribe: Scribe, *, skip: frozenset[str]
) -> None:
    """Notices of what is gone: too late to act on, but its drain leads back to them, and so does the loss that the
    provider's word on its end makes in the same pass. Those that a listing found again (`skip`) hear as the living do.
    """
    for notice in _in_order(sight):
        instance = instances.get(notice.name)
        if instance is None or instance.name in skip or not means(notice, instance):
            continue
        if instance.phase is Phase.GONE or instance.phase is Phase.FAILED:
            late, events, _ = hear(notice, instance, {}, scribe)
            instances[instance.name] = replace(instance, notices=late.notices, notice_events=late.notice_events)
            census.events += events


def _in_order(sight: Sight) -> list[Notice]:
    """What was noticed: that it was taken back is the last word on a notice."""
    taken_back = {notice.id for notice in sight.signals.notices if notice.withdrawn}
    return sorted(sight.signals.notices, key=lambda said: said.withdrawn or said.id not in taken_back)


def _rows(
    census: Census, instances: dict[str, Instance], servers: tuple[Server, ...], sight: Sight, scribe: Scribe
) -> Rows:
    """The listing's rows that are ours; those the fleet lost come back into `instances`."""
    rows = sort_rows(
        servers,
        instances,
        estate=sight.estate,
        region=sight.region,
        partition=sight.partition,
        led=sight.led,
        projects=sight.projects,
        workloads=sight.workloads,
        nodes=sight.nodes,
    )
    for restored in rows.restored:
        # held to be gone, and another server has its key
        other = restored.name in instances
        instance = replace(restored, unsure_since=sight.now, twinned=other, stepped_in=other)
        mark = rows.known[restored.name].mark
        instances[instance.name], events = billing.found_again(instance, mark, scribe)
        census.events += events
    for twin in rows.twins:
        name = twin.kept.mark.name if twin.kept.mark else twin.kept.name
        if name in instances and twin.row.id != twin.kept.id:
            instances[name] = replace(instances[name], twinned=True)
    census.restored = rows.restored
    census.grown = {back.name: back.requested_at for back in rows.restored if back.epoch < scribe.epoch}
    census.foreign = rows.foreign
    return rows


def _place(instance: Instance, row: Server) -> str:
    """Where it runs. A row that tells of no move says where it was created: an old word about what the provider's own
    event moved, however new the listing calls itself.
    """
    told = row.status is Status.MOVED or (row.pool and not (instance.started_at and instance.pool))
    # the stream told that it left: a listing that is old or untrue shows where it once was
    return row.pool if told and not (row.pool and row.pool == instance.moved_from) else instance.pool


def _row_of(instance: Instance, rows: Mapping[str, Server], ended_at: int, sight: Sight) -> Server | None:
    """The row that speaks for the instance: its own, or that of another server under its key, once its own is gone."""
    row = rows.get(instance.name)
    if row is None or instance.server in ("", row.id):
        return row
    return None if may_stand(instance, ended_at, sight.nodes.get(instance.name), sight) else row


def _seen(census: Census, instance: Instance, row: Server, sight: Sight, scribe: Scribe) -> Instance:
    other = instance.server not in ("", row.id)
    if other:
        instance, events = step_in(instance, row.id, scribe)
        census.events += events
    elif instance.phase is Phase.FAILED and not instance.server and row.status not in GOING:
        instance = anew(instance, scribe)  # no server was known that failed: the first one came after all
    pool = _place(instance, row)
    # what the stream said of its start was said of another server, or of one that stood nobody knew where
    census.missed |= not instance.started_at and (other or (pool != "" and not instance.pool))
    if pool and pool != instance.pool and instance.started_at and not instance.ended_at:
        # the listing's time is none of our clock's, and lies behind the move; a look may have begun before it
        at = max(sight.listed_at, instance.started_at)
        census.events.append(billing.moved(instance, pool=pool, at=at, scribe=scribe))
    phase = Phase.BOOTING if instance.phase is Phase.REQUESTED else instance.phase
    facts = (instance.missing_since, instance.server, instance.pool, instance.phase)
    if facts != (0, row.id, pool, phase):
        instance = replace(shown(instance), server=row.id, pool=pool, phase=phase)
    if instance.phase is Phase.FAILED and row.status is not Status.ERROR and instance.name in sight.nodes:
        return came(census, instance, row, scribe)
    if instance.phase is Phase.FAILED:
        return _unsure(instance, row, sight)
    # as a node, or nobody can say
    seen = instance.name in sight.nodes or instance.workload in sight.silent_workloads
    broken = _broken(census, instance, row, sight, scribe, seen=seen) if row.status is Status.ERROR else None
    if broken is not None:
        return replace(broken, unsure_since=0)
    if instance.unsure_since:
        return instance  # it may be a node that nobody shows: drained first, or not at all
    overdue = sight.now - instance.requested_at > sight.join_timeout_s * 1000
    # who adopted a server answers for its joining; we end only what we started
    ours = number_in(instance.name, sight.seat) > 0
    if instance.starting and overdue and ours and not instance.joined_at and not seen:
        failed = fail(census, instance, Cause.NEVER_JOINED, "", scribe)
        return _unsure(failed, row, sight)
    return instance


def _broken(
    census: Census, instance: Instance, row: Server, sight: Sight, scribe: Scribe, *, seen: bool
) -> Instance | None:
    """What becomes of an instance whose server is in error: failed or lost; None while a node of it may work."""
    if instance.starting and instance.name not in sight.nodes:
        return fail(census, instance, FAULT_CAUSES[row.fault or FaultKind.OTHER], row.fault_text, scribe)
    if instance.supply and not seen:
        at, believed = instance.ended_at or sight.listed_at, not instance.ended_at
        return replace(lose(census, instance, at, scribe, believed=believed), phase=Phase.FAILED)
    return None


def _unsure(failed: Instance, row: Server, sight: Sight) -> Instance:
    """What was given up, and runs all the same by the listing: it may be a node that nobody can show now. Where the
    stream told of its start that is known without.
    """
    runs = row.status is not Status.BUILDING and row.status not in GOING
    known = failed.unsure_since or (failed.cause is Cause.NEVER_JOINED and failed.started_at)
    return replace(failed, unsure_since=sight.now) if runs and not known else failed

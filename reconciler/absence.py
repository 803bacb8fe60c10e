"""What is not in a listing: lost, failed, let go, too young to be seen, or missing for now; and when it is forgotten.

Called by `census` for each instance that no row shows. What an absence means `doubts` judges. What was held to be gone
and is listed again is found again, and never ended undrained.
"""

from __future__ import annotations

from contracts.frozen import replace
from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Server, Status
from reconciler import billing
from reconciler.doubts import Absence, judge, let_go, missed, shown
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance, Phase
from reconciler.past import lost, taken_away
from reconciler.sight import Census, Failure, Loss, Sight

REMEMBERED_MS = 3_600_000
"""How long what is gone is remembered: longer than a listing shows what once was, or hides what is there."""


def fail(census: Census, instance: Instance, cause: Cause, text: str, scribe: Scribe) -> Instance:
    """The instance failed before it was of use, told and counted; what is left of it is deleted. When that was noticed
    is each leader's own: another one, which does not know, tells it as an event of its own.
    """
    census.failures.append(Failure(instance.pool, instance.workload, cause))
    event = scribe.event(
        EventType.INSTANCE_FAILED,
        f"{instance.name}/{scribe.now}",
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
    view = sight.nodes.get(instance.name)
    match judge(instance, ended_at, view, sight, believable=believable):
        case Absence.GONE:
            return lose(census, instance, _when(instance, ended_at, sight), scribe, believed=not ended_at)
        case Absence.UNANSWERED:
            census.absent += 1
            return fail(census, instance, Cause.CREATE_FAILED, "no answer came, and no server has its key", scribe)
        case Absence.YOUNG:
            census.absent += not instance.end_told
            return instance
        case Absence.MISSING:
            if let_go(instance):
                census.absent += 1
            else:
                census.unexplained.append(instance.name)
            return missed(instance, sight)


def _when(instance: Instance, ended_at: int, sight: Sight) -> int:
    """When it went: by the provider's word, whatever our clock says; or its notice where there is no other, or since it
    is missed.
    """
    if ended_at:
        return ended_at
    if instance.released or instance.phase is Phase.FAILED:
        return sight.listed_at  # no sooner than it went, however long the look took and whatever our clock says
    if instance.noticed:
        return min(instance.ends_at, sight.now)
    return instance.ended_at or instance.missing_since or sight.listed_at


def bury(census: Census, instances: dict[str, Instance], gone: Instance, sight: Sight, scribe: Scribe) -> None:
    """Close the bill of what is gone, once the provider told until when it is billed, or had its chance to; and forget
    it when no late or untrue listing shows it any more.
    """
    gone_at = gone.gone_at or sight.now
    since, open_ = gone.missing_since, gone.billed
    if not sight.heard or (since and open_ and not sight.heard_beyond(since)):
        return
    after = closed(census, gone, since or sight.now, scribe)
    instances[gone.name] = after if after.gone_at else replace(after, gone_at=gone_at)
    if (gone.deregistered or not gone.joined_at) and sight.now - gone_at >= REMEMBERED_MS:
        del instances[gone.name]


def found(gone: Instance, scribe: Scribe) -> tuple[Instance, Event]:
    """What was held to be gone and is listed again: ours as before, in the phase that it was in, its release going on
    if that was agreed; and the event of it, which says that the end of its bill was none.
    """
    event = scribe.event(
        EventType.INSTANCE_FOUND,
        f"{gone.name}/{scribe.now}",
        Cause.FOUND_AGAIN,
        caused_by=gone.cause_event or event_id(EventType.INSTANCE_REQUESTED, scribe.region, gone.name),
        workload=gone.workload,
        pool=gone.pool,
        instance=gone.name,
        data={"to_ms": gone.ended_at},
    )
    # who was to lose our mark, and nothing else, was asked for no end
    released = gone.released and (gone.cause is not Cause.DISOWNED_BY_REVIEW or gone.release_event != "")
    word = event_id(EventType.INSTANCE_LOST, scribe.region, billing.life_of(gone))
    found_at = scribe.now if gone.taken or gone.cause_event == word else gone.found_at
    ends_at, notice = gone.first_notice
    if notice and not gone.noticed and not released:  # heard while it was held to be gone
        gone = replace(gone, noticed=True, ends_at=ends_at, cause=Cause.NOTICE, cause_event=notice)
    leaving = released or gone.noticed
    phase = Phase.DRAINING if leaving else Phase.JOINED if gone.joined_at else Phase.BOOTING
    back = replace(
        gone,
        phase=phase,
        released=released,
        cause=gone.cause if leaving else Cause.FOUND_AGAIN,
        cause_event=gone.cause_event if leaving else event.id,
        ended_at=0,
        gone_at=0,
        found_at=found_at,
        unsure_since=scribe.now,
        deregistered=False,
    )
    return shown(back), event


def came(census: Census, failed: Instance, row: Server, scribe: Scribe) -> Instance:
    """What was held to have failed, and works: capacity again, as what is found again is, so that it is given back for
    want of need alone and never while its units are claimed. Whose end was asked for or told, or is under way, is no
    capacity: its node is asked to drain before anything else.
    """
    if failed.released or failed.release_event or failed.end_told or row.status is Status.DELETING:
        return replace(failed, phase=Phase.DRAINING, released=True, ends_at=scribe.now)
    back, event = found(failed, scribe)
    census.events.append(event)
    return back


def closed(census: Census, instance: Instance, at: int, scribe: Scribe) -> Instance:
    """No longer billed: from the time that the provider told, or else from `at`."""
    if instance.billed:
        instance = replace(instance, ended_at=at)
        census.events.append(billing.ended(instance, at=at, scribe=scribe, believed=True))
    return instance


def lose(census: Census, instance: Instance, at: int, scribe: Scribe, *, believed: bool) -> Instance:
    """The instance gone; a loss is recorded unless we let it go ourselves. That we asked to have it deleted is no proof
    that we did: where the provider says that it took what no release was agreed for, it was lost. While the provider
    did not tell its end, the bill stays open: the provider's own time may follow.
    """
    instance = replace(instance, missing_since=at)
    if instance.released or instance.phase is Phase.FAILED:
        if taken_away(instance):
            cause, event = lost(instance, at, scribe, believed=believed)
            census.events.append(event)
            return replace(instance, phase=Phase.GONE, gone_at=scribe.now, cause=cause, cause_event=event.id)
        if instance.released and not instance.server:
            census.events.append(billing.never_began(instance, scribe))
        return replace(instance, phase=Phase.GONE, gone_at=scribe.now)
    cause, event = lost(instance, at, scribe, believed=believed)
    census.events.append(event)
    gone = replace(instance, phase=Phase.GONE, gone_at=scribe.now, cause=cause, cause_event=event.id)
    census.losses.append(Loss(instance, cause, at))
    return gone

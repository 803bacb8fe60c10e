"""What notices change in the fleet: heard once, kept to the earliest end, withdrawn one reclaim at a time.

Called by `census` once a cycle, before the listing is compared. Several notices may stand on one instance, one for each
reclaim (or kind, where there is none): it goes at the earliest of their ends, and stays only when all are withdrawn.
"""

from __future__ import annotations

from collections.abc import Mapping

from contracts.frozen import replace
from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Notice, NoticeKind
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import DRILL, Debt, Instance, Phase


def hear(
    notice: Notice, instance: Instance, debts: dict[str, Debt], scribe: Scribe
) -> tuple[Instance, tuple[Event, ...], bool]:
    """The instance after one notice, the events of it, and whether it brought an end or an earlier one.

    Said twice, or again with a later end: nothing changes. `debts` gains what a notice owes and loses it when nothing
    stands any more. A withdrawal says all that its notice said: of one that was not heard both are told, since its node
    may have drained for it.
    """
    standing = dict(instance.notices)
    drill = notice.kind is NoticeKind.DRILL
    key = f"{DRILL}{notice.reclaim}" if drill else notice.reclaim or notice.kind.value
    if notice.withdrawn:
        if standing.pop(key, None) is None:
            return instance, (_received(notice, instance, scribe), _withdrawn(notice, instance, scribe)), False
        return _withdraw(notice, instance, standing, debts, scribe)
    known = standing.get(key)
    if known is not None and known <= notice.ends_at:
        return instance, (), False
    standing[key] = notice.ends_at
    event = _received(notice, instance, scribe)
    told = event.id
    after = replace(
        instance,
        notices=tuple(sorted(standing.items())),
        notice_events=tuple(sorted({**dict(instance.notice_events), key: told}.items())),
    )
    if instance.noticed and instance.ends_at <= notice.ends_at:
        return after, (event,), False
    if not instance.released:
        debts.setdefault(instance.name, Debt(instance.workload, instance.name, Cause.NOTICE, told, instance.paid))
    after = replace(
        after,
        phase=Phase.DRAINING,
        noticed=True,
        ends_at=min(notice.ends_at, instance.ends_at) if instance.ends_at else notice.ends_at,
        reclaim=notice.reclaim,
        cause=Cause.NOTICE,
        cause_event=told,
    )
    return after, (event,), True


def _withdraw(
    notice: Notice, instance: Instance, standing: Mapping[str, int], debts: dict[str, Debt], scribe: Scribe
) -> tuple[Instance, tuple[Event, ...], bool]:
    event = _withdrawn(notice, instance, scribe)
    kept = tuple(sorted(standing.items()))
    stood = tuple((key, told) for key, told in instance.notice_events if key in standing)
    if kept:
        key, ends_at = min(kept, key=lambda entry: (entry[1], entry[0]))
        # an agreed return is not put off by what a provider takes back
        ends_at = min(ends_at, instance.ends_at) if instance.released else ends_at
        after = replace(instance, notices=kept, notice_events=stood, ends_at=ends_at, reclaim=key.removeprefix(DRILL))
        return after, (event,), False
    debts.pop(instance.name, None)
    staying = Phase.JOINED if instance.joined_at else Phase.BOOTING
    after = replace(
        instance,
        notices=(),
        notice_events=(),
        phase=Phase.DRAINING if instance.released else staying,
        noticed=False,
        ends_at=instance.ends_at if instance.released else 0,
        reclaim="",
        cause=Cause.NOTICE_WITHDRAWN,
        cause_event=event.id,
    )
    return after, (event,), False


def _received(notice: Notice, instance: Instance, scribe: Scribe) -> Event:
    return scribe.event(
        EventType.NOTICE_RECEIVED,
        f"{notice.id}/{instance.name}",
        Cause.NOTICE,
        at=notice.issued_at,
        workload=instance.workload,
        pool=notice.pool or instance.pool,
        instance=instance.name,
        data={
            "reclaim": notice.reclaim,
            "kind": notice.kind.value,
            "ends_at": notice.ends_at,
            **({"drill": 1} if notice.kind is NoticeKind.DRILL else {}),
        },
    )


def _withdrawn(notice: Notice, instance: Instance, scribe: Scribe) -> Event:
    return scribe.event(
        EventType.NOTICE_WITHDRAWN,
        f"{notice.id}/{instance.name}",
        Cause.NOTICE_WITHDRAWN,
        at=notice.withdrawn_at or notice.issued_at,
        caused_by=event_id(EventType.NOTICE_RECEIVED, scribe.region, f"{notice.id}/{instance.name}"),
        workload=instance.workload,
        pool=notice.pool or instance.pool,
        instance=instance.name,
        data={"reclaim": notice.reclaim},
    )

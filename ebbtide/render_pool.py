"""One pool: what it is, what it costs and risks, when it was excluded and why, what it lost, and who stands there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from contracts.errors import Place
from contracts.values import format_duration, format_size
from ebbtide.state import RunRecord
from ebbtide.text import Paint, clock, columns, count, date_clock, listed, span, words
from ledger.events import Event, EventType
from pools.model import Pool

CLOSINGS = (EventType.POOL_EXCLUDED, EventType.POOL_PROBED, EventType.POOL_READMITTED)
MOST_LINES = 12


@dataclass(frozen=True, slots=True)
class PoolView:
    """What is known of one pool at the end of a record; `groups` are the bounding ones it falls with."""

    pool: Pool
    place: Place | None
    groups: Sequence[str]
    record: RunRecord
    events: Sequence[Event]


def as_text(view: PoolView, paint: Paint) -> list[str]:
    """Identity, rate, hazard, exclusions, losses, tenants."""
    return [
        *_identity(view, paint),
        "",
        *_rates(view, paint),
        "",
        *_hazard(view, paint),
        "",
        *_exclusions(view, paint),
        "",
        *_losses(view, paint),
        "",
        *_tenants(view, paint),
    ]


def _identity(view: PoolView, paint: Paint) -> list[str]:
    pool = view.pool
    shape = pool.instance
    gpu = f", {shape.gpu} GPU" if shape.gpu else ""
    kind = "committed" if pool.committed else f"reclaimable, {format_duration(pool.notice_window_s)} of notice"
    groups = listed(view.groups, most=6) or "no bounding group"
    return [
        paint.bold(pool.name) + f"  {kind}",
        *([f"  {view.place} at commit {view.record.commit[:12]}"] if view.place else []),
        f"  hall {pool.hall}, aggregate {pool.aggregate}, {count(pool.hosts.count, 'host')}; project {pool.project}",
        f"  an instance has {shape.vcpu} vCPU, {format_size(shape.memory)}{gpu}",
        f"  its capacity is domain {pool.domain}; it falls with {groups}",
    ]


def _rates(view: PoolView, paint: Paint) -> list[str]:
    told = [event for event in view.events if event.type is EventType.RATE_KNOWN]
    lines = [paint.bold("rate") + paint.dim("  per instance-hour")]
    rows = [
        (
            date_clock(int(event.data["effective_from"])),
            f"{event.data['rate']} {event.data['currency']}",
            f"guaranteed {event.data['guaranteed']}",
            _saving(Decimal(str(event.data["rate"])), Decimal(str(event.data["guaranteed"]))),
        )
        for event in told[-MOST_LINES:]
    ]
    return [*lines, *(columns(rows, "<><>", indent="  ") or ["  none is known"])]


def _saving(rate: Decimal, guaranteed: Decimal) -> str:
    return f"{100 * (1 - rate / guaranteed):.0f} % below" if guaranteed else ""


def hazards(view: PoolView) -> list[tuple[str, float, float, str]]:
    """For each workload that could use the pool: the hazard in its cost, the one against its tolerance, why not."""
    found = []
    for workload, rows in view.record.ranking.items():
        found += [
            (workload, row.hazard, row.slow_hazard, row.reason.value if row.reason else "")
            for row in rows
            if row.pool == view.pool.name
        ]
    return sorted(found)


def _hazard(view: PoolView, paint: Paint) -> list[str]:
    found = hazards(view)
    lines = [paint.bold("hazard") + paint.dim("  interruptions per unit-hour, as the last ranking had them")]
    if not found:
        return [*lines, "  no contract of this region may use it"]
    low, high = min(row[1] for row in found), max(row[1] for row in found)
    dropped = Counter(row[3] for row in found if row[3])
    lines.append(
        f"  {low:.5f} (mean, tiers 3 to 5) to {high:.5f} (upper quantile of strict tiers, whole gangs)"
        if high > low
        else f"  {low:.5f}"
    )
    why = "; ".join(f"{number} not: {words(reason)}" for reason, number in sorted(dropped.items()))
    lines.append(
        f"  offered to {len(found) - sum(dropped.values())} of {len(found)} workloads" + (f"; {why}" if why else "")
    )
    return lines


def _exclusions(view: PoolView, paint: Paint) -> list[str]:
    told = [event for event in view.events if event.type in CLOSINGS]
    admitted = view.record.admitted.get(view.pool.name)
    now = "takes placement" if admitted is None else f"may take {count(admitted, 'instance')} more"
    lines = [paint.bold("exclusions") + f"  at the end of the record it {now}"]
    rows = []
    for event in told[-MOST_LINES:]:
        until = event.data.get("until")
        length = f"for {span(int(until) - event.occurred_at)}" if until is not None else ""
        rows.append((clock(event.occurred_at), event.type.value.partition(".")[2], words(event.cause.value), length))
    return [*lines, *(columns(rows, "<<<<", indent="  ") or ["  never excluded"])]


def _losses(view: PoolView, paint: Paint) -> list[str]:
    period = view.record.period
    inside = [e for e in view.events if period.from_ms <= e.occurred_at < period.to_ms]
    kinds = Counter(event.type for event in inside)
    unnoticed = sum(
        event.type is EventType.INSTANCE_LOST and event.cause.value == "lost_without_notice" for event in inside
    )
    failed = Counter(event.cause.value for event in inside if event.type is EventType.INSTANCE_FAILED)
    reclaims: dict[str, list[Event]] = {}
    for event in inside:
        if event.type is EventType.NOTICE_RECEIVED:
            reclaims.setdefault(str(event.data["reclaim"]), []).append(event)
    lines = [
        paint.bold("losses"),
        f"  {kinds[EventType.NOTICE_RECEIVED]} notices in {count(len(reclaims), 'reclaim')}, {unnoticed} without; "
        f"{kinds[EventType.INSTANCE_STARTED]} instances started"
        + "".join(f", {number} failed ({words(cause)})" for cause, number in failed.items()),
    ]
    rows = [
        (clock(events[0].occurred_at), name, count(len(events), "instance"), f"such as {events[0].instance}")
        for name, events in sorted(reclaims.items(), key=lambda item: -len(item[1]))[:MOST_LINES]
    ]
    return [*lines, *columns(rows, "<<><", indent="    ")]


def tenants(view: PoolView) -> list[tuple[str, int, int]]:
    """Workload, instances and units that stand in the pool."""
    instances: Counter[str] = Counter()
    units: Counter[str] = Counter()
    for one in view.record.standing:
        if one.pool == view.pool.name:
            instances[one.workload] += 1
            units[one.workload] += one.units
    return [(name, instances[name], units[name]) for name in sorted(instances, key=lambda n: (-units[n], n))]


def _tenants(view: PoolView, paint: Paint) -> list[str]:
    found = tenants(view)
    head = paint.bold("who stands there") + f"  {count(sum(row[1] for row in found), 'instance')}"
    rows = [(name, count(number, "instance"), count(units, "unit")) for name, number, units in found]
    return [head, *(columns(rows, "<>>", indent="  ") or ["  nobody"])]


def as_document(view: PoolView) -> dict[str, object]:
    """The same for machines."""
    return {
        "pool": view.pool.name,
        "domain": view.pool.domain,
        "hall": view.pool.hall,
        "committed": view.pool.committed,
        "groups": list(view.groups),
        "rates": [
            {"from": e.data["effective_from"], "rate": e.data["rate"], "guaranteed": e.data["guaranteed"]}
            for e in view.events
            if e.type is EventType.RATE_KNOWN
        ],
        "hazards": [
            {"workload": name, "per_unit_hour": hazard, "against_tolerance": slow, "not_offered": reason}
            for name, hazard, slow, reason in hazards(view)
        ],
        "exclusions": [
            {"at": e.occurred_at, "what": e.type.value, "cause": e.cause.value, "until": e.data.get("until")}
            for e in view.events
            if e.type in CLOSINGS
        ],
        "notices": [e.id for e in view.events if e.type is EventType.NOTICE_RECEIVED],
        "standing": [{"workload": name, "instances": n, "units": units} for name, n, units in tenants(view)],
    }

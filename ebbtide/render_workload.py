"""One workload: its contract in words, every pool with every term of the ranking, where it stands, what befell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from contracts.errors import Place
from contracts.model import Contract
from contracts.values import format_duration, format_size
from correlation_groups.spread import limit, lot
from ebbtide.render_contract import heading, where_it_runs
from ebbtide.state import RunRecord, Standing
from ebbtide.text import Paint, clock, columns, count, date_clock, euros, ppm, span, words, wrapped
from ledger.events import Event, EventType, Paid
from ledger.money import rounded
from ledger.reports import NetSaving
from pools.ranking import Ranked
from reconciler.desired import Partition

MOST_LOSSES = 6


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """What is known of one workload at the end of a record; `options` end every command that is named."""

    contract: Contract
    place: Place | None
    record: RunRecord
    part: Partition
    events: Sequence[Event]
    saving: NetSaving
    options: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """Units in one place, and how many may stand there."""

    kind: str
    name: str
    units: int
    allowed: int


def as_text(view: WorkloadView, paint: Paint) -> list[str]:
    """Contract, pools, standing, losses, money."""
    return [
        *_identity(view, paint),
        "",
        *_promises(view.contract, paint),
        "",
        *_pools(view, paint),
        "",
        *_standing(view, paint),
        "",
        *_befell(view, paint),
        "",
        *_money(view, paint),
    ]


def _identity(view: WorkloadView, paint: Paint) -> list[str]:
    contract, place = view.contract, view.place
    unit = contract.unit
    gpu = f", {unit.gpu} GPU {contract.eligibility.gpu_family or ''}".rstrip() if unit.gpu else ""
    gang = f", in gangs of {contract.gang_size}" if contract.gang_size > 1 else ""
    return [
        heading(contract, paint),
        *([f"  {place} at commit {view.record.commit[:12]}"] if place else []),
        f"  {where_it_runs(contract)}",
        f"  a unit is {unit.vcpu} vCPU, {format_size(unit.memory)}{gpu}; at most {contract.maximum} units{gang}",
    ]


def _promises(contract: Contract, paint: Paint) -> list[str]:
    keep = contract.checkpoint
    saves = keep.mode if keep.mode == "none" else f"{keep.mode}, {format_size(keep.size or 0)} a unit"
    if keep.interval:
        saves += f", every {format_duration(keep.interval)}"
    if keep.start_up:
        saves += f", {format_duration(keep.start_up)} to load"
    due = contract.deadline
    deadline = f"by {due.at}" if due.at else f"{format_duration(due.after)} from submission" if due.after else "none"
    back = contract.fallback
    fallback = "not allowed"
    if back.allowed:
        fallback = f"up to {back.limit_per_day} a day on {back.authority}'s authority"
        fallback += f", {back.approver} approves more" if back.approver else ""
    rows = [
        ("drain", f"{format_duration(contract.drain.budget)}, {words(contract.drain.how)}"),
        ("checkpoint", saves),
        ("restart", contract.restart),
        ("tolerance", f"{contract.tolerance} interruptions per unit-hour"),
        ("floor", f"{contract.floor} units on committed capacity; at risk below {contract.minimum} running"),
        ("deadline", deadline),
        ("fallback", fallback),
    ]
    return [paint.bold("promises"), *columns(rows, "<<", indent="  ")]


def _pools(view: WorkloadView, paint: Paint) -> list[str]:
    ranked = view.record.ranking.get(view.contract.name, ())
    currency = view.record.policies[0].summary.money.currency
    offered = sum(row.reason is None for row in ranked)
    stands = Counter(s.pool for s in view.record.standing if s.workload == view.contract.name)
    head = ("pool", "units", "cost", "rate", "guaranteed", "interr.", "lost h", "start h", "fallback", "here", "")
    rows = [head, *(_pool(row, stands[row.pool], paint) for row in ranked)]
    note = (
        f"  {currency} per useful unit-hour, cheapest first; {offered} of {len(ranked)} with fitting attributes offered"
    )
    scratch = view.contract.restart in ("from-scratch", "requeue") or view.contract.checkpoint.mode == "none"
    run = format_duration(view.contract.expected_run)
    formula = (
        f"  cost = rate x (e^x - 1) / x x (1 + interr. x start) + fallback, x = interr. x a run of {run}"
        if scratch
        else "  cost = rate / (1 - interr. x (lost + start)) + fallback"
    )
    formula += "; interr. per unit-hour"
    return [
        paint.bold("pools") + paint.dim(note),
        paint.dim(formula),
        *columns(rows, "<>>>>>>>>><", indent="  ", gap=1),
    ]


def _pool(row: Ranked, here: int, paint: Paint) -> tuple[str, ...]:
    return (
        row.pool,
        str(row.units),
        _micro(row.cost_micro) if row.reason is None else "-",
        _micro(row.rate_micro),
        _micro(row.guaranteed_micro),
        f"{row.hazard:.4f}",
        f"{row.lost_h:.3f}",
        f"{row.restart_h:.3f}",
        _micro(row.fallback_micro),
        str(here) if here else "",
        "" if row.reason is None else paint.warn(words(row.reason.value)),
    )


def _micro(micro: int) -> str:
    return "?" if micro < 0 else f"{Decimal(micro) / 1_000_000:.4f}"


def bounds(view: WorkloadView) -> list[Bound]:
    """Interruptible units by capacity domain and bounding group against their bounds, the fullest first."""
    contract, part = view.contract, view.part
    desired = max(0, view.record.claims.get(contract.name, 0) - contract.floor)
    units: Counter[tuple[str, str]] = Counter()
    largest: dict[tuple[str, str], int] = {}
    for one in _mine(view):
        if one.paid == Paid.RECLAIMABLE.value and one.pool in part.pool_by_name:
            domain = part.pool_by_name[one.pool].domain
            for key in (("domain", domain), *(("group", group) for group in part.groups.get(domain, ()))):
                units[key] += one.units
                largest[key] = max(largest.get(key, 0), lot(one.units, contract.gang_size).units)
    shares = part.shares[contract.name]
    permille = {"domain": shares.pool_permille, "group": shares.group_permille}
    found = [
        Bound(kind, name, units[kind, name], limit(permille[kind], desired, largest[kind, name]))
        for kind, name in units
    ]
    return sorted(found, key=lambda b: (-b.units * 1000 // b.allowed, b.kind, b.name))


def _mine(view: WorkloadView) -> list[Standing]:
    return [one for one in view.record.standing if one.workload == view.contract.name]


def _standing(view: WorkloadView, paint: Paint) -> list[str]:
    mine = _mine(view)
    claimed = view.record.claims.get(view.contract.name, 0)
    by_paid: Counter[str] = Counter()
    for one in mine:
        by_paid[one.paid] += one.units
    held = ", ".join(f"{units} {paid}" for paid, units in sorted(by_paid.items())) or "nothing"
    busy = sum(one.busy_units for one in mine)
    found = bounds(view)
    domains = sum(bound.kind == "domain" for bound in found)
    lines = [
        paint.bold("stands") + paint.dim(f"  at {date_clock(view.record.period.to_ms)} UTC, the end of the record"),
        f"  {claimed} units claimed; units held: {held}, in {count(len(mine), 'instance')}; {busy} of them busy",
    ]
    if view.contract.gang_size > 1:
        lines.append(f"  bounds count whole gangs of {view.contract.gang_size}; a single gang is exempt")
    shares = view.part.shares[view.contract.name]
    lines.append(
        f"  {count(domains, 'capacity domain')} used ({shares.pools} asked for where the units allow it);"
        f" at most {shares.pool_permille / 10:g} % in one, {shares.group_permille / 10:g} % in one group"
    )
    rows = [(b.kind, b.name, f"{b.units} of at most {b.allowed}", _fullness(b, paint)) for b in found[:10]]
    lines += columns(rows, "<<><", indent="    ")
    if len(found) > len(rows):
        lines.append(paint.dim(f"    {len(found) - len(rows)} more places hold less of their bound"))
    return lines


def _fullness(bound: Bound, paint: Paint) -> str:
    if bound.units > bound.allowed:
        return paint.warn("over: its claim shrank, it leaves at its pace")
    return "full" if bound.units == bound.allowed else ""


def _befell(view: WorkloadView, paint: Paint) -> list[str]:
    kinds = Counter(event.type for event in view.events)
    noticed = [e for e in view.events if e.type is EventType.NOTICE_RECEIVED]
    lost = {e.instance: e for e in view.events if e.type is EventType.INSTANCE_LOST}
    redone = {e.instance: int(e.data["unit_ms"]) for e in view.events if e.type is EventType.WORK_LOST}
    unnoticed = [e for e in lost.values() if e.cause.value == "lost_without_notice"]
    head = (
        f"  {count(len(noticed), 'notice')}, {count(len(unnoticed), 'loss', 'losses')} without one; "
        f"{kinds[EventType.DRAIN_ENDED]} drains ended; {span(sum(redone.values()))} of unit time done again; "
        f"{count(kinds[EventType.SHORTFALL_BEGAN], 'shortfall')}"
    )
    lines = [paint.bold("what befell it"), head]
    worst = sorted((*noticed, *unnoticed), key=lambda e: -redone.get(e.instance, 0))[:MOST_LOSSES]
    rows = [
        (clock(e.occurred_at), e.instance, words(e.cause.value), f"in {e.pool}", _redone(redone.get(e.instance, 0)))
        for e in worst
    ]
    lines += columns(rows, "<<<<>", indent="    ")
    if worst:
        lines.append(f"  next  ebbtide explain action {worst[0].instance}{view.options}")
    return lines


def _redone(unit_ms: int) -> str:
    return f"{span(unit_ms)} redone" if unit_ms else "nothing lost"


def _money(view: WorkloadView, paint: Paint) -> list[str]:
    row, currency = view.saving, view.record.policies[0].summary.money.currency
    return [
        paint.bold("money"),
        *wrapped(
            f"net saving {euros(row.net, currency)} ({ppm(row.share_ppm)} of what its interruptible useful hours would "
            f"have cost); paid {euros(row.paid, currency)}; wasted {ppm(row.wasted_ppm, places=2)} of its paid time",
            indent="  ",
        ),
        f"  every term: ebbtide savings --workload {view.contract.name}{view.options}",
    ]


def as_document(view: WorkloadView) -> dict[str, object]:
    """The same for machines; money in the currency, cost terms in 1e-6 of it."""
    return {
        "workload": view.contract.name,
        "file": str(view.place) if view.place else "",
        "commit": view.record.commit,
        "contract": view.contract.model_dump(mode="json"),
        "claimed": view.record.claims.get(view.contract.name, 0),
        "pools": [
            {
                "pool": row.pool,
                "units": row.units,
                "cost_micro": row.cost_micro,
                "rate_micro": row.rate_micro,
                "guaranteed_micro": row.guaranteed_micro,
                "hazard_per_unit_hour": row.hazard,
                "lost_h": row.lost_h,
                "restart_h": row.restart_h,
                "fallback_micro": row.fallback_micro,
                "reason": row.reason.value if row.reason else "",
            }
            for row in view.record.ranking.get(view.contract.name, ())
        ],
        "bounds": [{"kind": b.kind, "name": b.name, "units": b.units, "allowed": b.allowed} for b in bounds(view)],
        "instances": [one.name for one in _mine(view)],
        "net": str(rounded(view.saving.net)),
        "paid": str(rounded(view.saving.paid)),
        "wasted_ppm": view.saving.wasted_ppm,
    }

"""The net saving of a period, recomputed from raw events in plain Python: the twin that the SQL must equal.

Called by tests, by `ebbtide savings` to check itself, and wherever no ClickHouse is wanted. It reads nothing but events
and shares no arithmetic with the SQL; both follow docs/net-saving.md. It is slower and simpler on purpose: each usage
is cut at every change of its rate, one slot and one piece after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from contracts.errors import Refused
from ledger.events import Event, EventType, Paid, Use
from ledger.money import TICKS_PER_NANO, nanos
from ledger.reports import NUMBERS, InvoiceLine, NetSaving, Period

_FOREVER = 2**63 - 1
_CHARGES = {EventType.STORAGE_CHARGED: "storage", EventType.FOOTPRINT_CHARGED: "footprint"}
_PRICED = {EventType.RATE_KNOWN, *_CHARGES}
_INTERRUPTIBLE = (Paid.RECLAIMABLE.value, Paid.FALLBACK.value)


@dataclass(frozen=True, slots=True)
class _Rate:
    begins: int
    ends: int
    rate: int
    guaranteed: int


@dataclass(frozen=True, slots=True)
class _Bill:
    """`places` are the moments from which it stood in a pool, in order; the first is its start."""

    start: Event
    ended_at: int
    places: tuple[tuple[int, str], ...]

    def stays(self, start: int, end: int) -> Iterator[tuple[str, int, int]]:
        """Pool, from, to: where it stood between two moments."""
        leaves = [at for at, _ in self.places[1:]] + [_FOREVER]
        for (at, pool), left in zip(self.places, leaves, strict=True):
            yield pool, max(at, start), min(left, end)


@dataclass(frozen=True, slots=True)
class _Known:
    """The events of a period, each once, with the rates and bills they imply."""

    period: Period
    events: tuple[Event, ...]
    rates: dict[str, tuple[_Rate, ...]]
    bills: dict[str, _Bill]


_Row = dict[str, int]
_Rows = defaultdict[tuple[str, str], _Row]


def net_saving(events: Iterable[Event], period: Period) -> tuple[NetSaving, ...]:
    """The rows of the period, by region and workload; raises `Refused` when the events mix currencies."""
    known = _known(events, period)
    own: _Rows = defaultdict(lambda: dict.fromkeys(NUMBERS, 0))
    for event in known.events:
        if event.type is EventType.USAGE:
            _add_usage(own, event, known)
        elif not period.from_ms <= event.occurred_at < period.to_ms:
            continue
        elif event.type is EventType.WORK_LOST:
            _add_loss(own, event, known)
        elif event.type in _CHARGES:
            own[event.region, event.workload][_CHARGES[event.type]] += nanos(str(event.data["amount"])) * TICKS_PER_NANO
    result: list[NetSaving] = []
    for region in sorted({region for region, _ in own}):
        rows = {workload: own[region, workload] for where, workload in sorted(own) if where == region}
        result.extend(_shared(region, rows))
    return tuple(result)


def invoice(events: Iterable[Event], period: Period) -> tuple[InvoiceLine, ...]:
    """What the provider charges for each instance: starts and ends at the rates, by instance."""
    known = _known(events, period)
    lines = []
    for name in sorted(known.bills):
        bill = known.bills[name]
        start, end = max(bill.start.occurred_at, period.from_ms), min(bill.ended_at, period.to_ms)
        if start >= end:
            continue
        pieces = [
            piece
            for pool, came, left in bill.stays(start, end)
            for piece in _pieces(known.rates.get(pool, ()), came, left)
        ]
        lines.append(
            InvoiceLine(
                instance=name,
                region=bill.start.region,
                workload=bill.start.workload,
                pool=bill.start.pool,
                paid=str(bill.start.data["paid"]),
                holds=int(bill.start.data["units"]),
                billed_ms=end - start,
                priced_ms=sum(ms for ms, _ in pieces),
                ticks=sum(ms * rate.rate for ms, rate in pieces),
            )
        )
    return tuple(lines)


def _known(events: Iterable[Event], period: Period) -> _Known:
    once: dict[str, Event] = {}
    for event in events:
        if event.recorded_at <= period.known_by:
            once.setdefault(event.id, event)
    ordered = tuple(sorted(once.values(), key=lambda event: (event.occurred_at, event.id)))
    currencies = {
        event.data["currency"] for event in ordered if event.type in _PRICED and event.occurred_at < period.to_ms
    }
    if len(currencies) > 1:
        raise Refused(f"the events mix currencies: {', '.join(sorted(map(str, currencies)))}")
    bills: dict[str, _Bill] = {}
    for event in ordered:
        if event.type is EventType.INSTANCE_STARTED and event.instance not in bills:
            bills[event.instance] = _Bill(event, _FOREVER, ((event.occurred_at, event.pool),))
    void = {(e.instance, int(e.data["to_ms"])) for e in ordered if e.type is EventType.INSTANCE_FOUND}
    for event in ordered:
        bill = bills.get(event.instance)
        if (event.instance, event.occurred_at) in void and event.type is EventType.INSTANCE_ENDED:
            continue  # it was held to be gone, and ran on
        if event.type is EventType.INSTANCE_ENDED and bill is not None and bill.ended_at == _FOREVER:
            bills[event.instance] = replace(bill, ended_at=event.occurred_at)
        elif event.type is EventType.INSTANCE_MOVED and bill is not None and event.occurred_at >= bill.places[0][0]:
            bills[event.instance] = replace(bill, places=(*bill.places, (event.occurred_at, event.pool)))
    for instance, at in _losses(ordered).items():
        bill = bills.get(instance)
        if bill is not None and bill.ended_at == _FOREVER:  # nobody lived to tell until when it was billed
            bills[instance] = replace(bill, ended_at=at)
    return _Known(period=period, events=ordered, rates=_rates(ordered), bills=bills)


def _losses(ordered: Sequence[Event]) -> dict[str, int]:
    """When each instance was lost that was not found again after it."""
    lost = {e.instance: e.occurred_at for e in ordered if e.type is EventType.INSTANCE_LOST}
    found = {e.instance: e.occurred_at for e in ordered if e.type is EventType.INSTANCE_FOUND}
    return {instance: at for instance, at in lost.items() if at > found.get(instance, 0)}


def _rates(events: Sequence[Event]) -> dict[str, tuple[_Rate, ...]]:
    latest: dict[str, dict[int, Event]] = defaultdict(dict)
    for event in sorted(events, key=lambda event: (event.recorded_at, event.id)):
        if event.type is EventType.RATE_KNOWN:
            latest[event.pool][int(event.data["effective_from"])] = event
    result = {}
    for pool, begins in latest.items():
        starts = sorted(begins)
        ends = [*starts[1:], _FOREVER]
        result[pool] = tuple(
            _Rate(at, end, nanos(str(begins[at].data["rate"])), nanos(str(begins[at].data["guaranteed"])))
            for at, end in zip(starts, ends, strict=True)
        )
    return result


def _pieces(rates: Sequence[_Rate], start: int, end: int) -> Iterator[tuple[int, _Rate]]:
    for rate in rates:
        ms = min(end, rate.ends) - max(start, rate.begins)
        if ms > 0:
            yield ms, rate


def _add_usage(own: _Rows, event: Event, known: _Known) -> None:
    data = event.data
    first, holds = int(data["slot"]), int(data["of_units"])
    units = int(data["units"])
    start = max(int(data["from_ms"]), known.period.from_ms)
    end = min(int(data["to_ms"]), known.period.to_ms)
    for ms, rate in _pieces(known.rates.get(event.pool, ()), start, end):
        row = own[event.region, event.workload]
        for slot in range(first, first + units):
            ns = ms * _part(1_000_000, slot, holds)
            cost, value = ms * _part(rate.rate, slot, holds), ms * _part(rate.guaranteed, slot, holds)
            row[f"{data['paid']}_paid"] += cost
            if data["use"] != Use.SERVING.value:
                row[f"{data['use']}_ns"] += ns
                row[f"{data['use']}_paid"] += cost
                continue
            row["useful_unit_ms"] += ms
            row["useful_ns"] += ns
            row["useful_paid"] += cost
            row["useful_value"] += value
            if data["paid"] in _INTERRUPTIBLE:
                row["interruptible_value"] += value


def _part(whole: int, slot: int, holds: int) -> int:
    """One slot's part of a whole number; over all slots of an instance the parts are the whole."""
    return whole * (slot + 1) // holds - whole * slot // holds


def _add_loss(own: _Rows, event: Event, known: _Known) -> None:
    bill = known.bills.get(event.instance)
    rate = next((r for r in known.rates.get(event.pool, ()) if r.begins <= event.occurred_at < r.ends), None)
    if bill is None or rate is None:
        return
    holds, unit_ms = int(bill.start.data["units"]), int(event.data["unit_ms"])
    ns, cost, value = (unit_ms * per_ms // holds for per_ms in (1_000_000, rate.rate, rate.guaranteed))
    row = own[event.region, event.workload]
    row["useful_unit_ms"] -= unit_ms
    row["useful_ns"] -= ns
    row["redone_ns"] += ns
    row["useful_paid"] -= cost
    row["redone_paid"] += cost
    row["useful_value"] -= value
    if bill.start.data["paid"] in _INTERRUPTIBLE:
        row["interruptible_value"] -= value


def _shared(region: str, rows: dict[str, _Row]) -> Iterator[NetSaving]:
    """The region's rows with its unused headroom and its footprint spread over its workloads."""
    pot = rows.pop("", dict.fromkeys(NUMBERS, 0))
    paid = {w: sum(r[f"{p.value}_paid"] for p in Paid) for w, r in rows.items()}
    kept = {w: r["floor_paid"] + r["fallback_paid"] for w, r in rows.items()}
    headroom_key = kept if any(kept.values()) else paid
    pot_ns = sum(pot[f"{state}_ns"] for state in ("useful", "redone", "restarting", "idle", "draining"))
    headroom = _spread(pot["headroom_paid"], headroom_key)
    headroom_ns = _spread(pot_ns, headroom_key)
    footprint = _spread(pot["footprint"], paid)
    rows[""] = dict.fromkeys(NUMBERS, 0)
    for workload in sorted(rows):
        row = rows[workload]
        row["idle_paid"] += headroom.get(workload, 0)
        row["headroom_paid"] += headroom.get(workload, 0)
        row["idle_ns"] += headroom_ns.get(workload, 0)
        row["footprint"] += footprint.get(workload, 0)
        if workload or any(row.values()):
            yield NetSaving(region=region, workload=workload, **row)


def _spread(pot: int, key: dict[str, int]) -> dict[str, int]:
    """A pot shared in proportion to a key, in the order of the names; without any key it stays with nobody ('')."""
    total = sum(key.values())
    if not total:
        return {"": pot}
    parts, before, upto = {}, 0, 0
    for workload in sorted(key):
        upto += key[workload]
        share = abs(pot) * upto // total
        parts[workload] = (share - before) * (-1 if pot < 0 else 1)
        before = share
    return parts

"""The net saving with every term, held against the invoice, and what was paid for nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ebbtide.text import Paint, columns, count, euros, ppm, words
from ledger.money import rounded
from ledger.reports import NUMBERS, NetSaving, Reconciliation, Waste, hours

MOST_WASTE = 12
MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class SavingsView:
    """Rows (by workload, or by tier) with their names, their sum, the waste behind it and the invoice's verdict.

    `subject` says whose saving it is: a region, or one workload of it. Rows that are not `in_order` are shown by net.
    """

    subject: str
    currency: str
    rows: Mapping[str, NetSaving]
    total: NetSaving
    waste: Sequence[Waste]
    reconciled: Reconciliation
    in_order: bool = False


FORMULA: tuple[tuple[str, str, str], ...] = (
    ("", "useful_value", "useful hours at the guaranteed rate"),
    ("-", "reclaimable_paid", "paid for reclaimable instances"),
    ("-", "floor_paid", "paid for floors"),
    ("-", "fallback_paid", "paid for fallback"),
    ("-", "headroom_paid", "paid for committed capacity that nobody used"),
    ("-", "storage", "checkpoint storage"),
    ("-", "footprint", "the orchestrator itself"),
)
STATES: tuple[tuple[str, str, str], ...] = (
    ("useful_paid", "useful_ns", "useful"),
    ("redone_paid", "redone_ns", "redone"),
    ("restarting_paid", "restarting_ns", "restarting"),
    ("idle_paid", "idle_ns", "idle"),
    ("draining_paid", "draining_ns", "draining"),
)


def as_text(view: SavingsView, paint: Paint) -> list[str]:
    """Terms, rows, waste, invoice."""
    return [
        *_terms(view, paint),
        "",
        *(_rows(view, paint) if len(view.rows) > 1 else []),
        *([""] if len(view.rows) > 1 else []),
        *_waste(view, paint),
        "",
        *_invoice(view, paint),
    ]


def _terms(view: SavingsView, paint: Paint) -> list[str]:
    total, currency = view.total, view.currency
    rows = [
        (sign, text, f"{rounded(getattr(total, name)):,}", paint.dim(name))
        for sign, name, text in FORMULA
        if getattr(total, name) or name in ("useful_value", "reclaimable_paid")
    ]
    rows.append(("=", paint.bold("net saving"), paint.bold(f"{rounded(total.net):,}"), ""))
    lines = [paint.bold(f"{view.subject}, {currency}"), *columns(rows, "<<><", indent="  ")]
    lines.append(
        f"  {ppm(total.share_ppm)} of {euros(total.interruptible_value, currency)}, the guaranteed value of its "
        "interruptible useful hours"
    )
    states = [
        (name, f"{hours(getattr(total, time)):,} h", f"{rounded(getattr(total, paid)):,}", paint.dim(paid))
        for paid, time, name in STATES
    ]
    return [*lines, "", paint.bold("the same payments by what was done"), *columns(states, "<>><", indent="  ")]


def _rows(view: SavingsView, paint: Paint) -> list[str]:
    ordered = list(view.rows.items())
    if not view.in_order:
        ordered.sort(key=lambda item: -item[1].net)
    shown = ordered if len(ordered) <= MOST_ROWS else ordered[:MOST_ROWS]
    head = tuple(paint.bold(text) for text in ("", "net", "of value", "paid", "unit-hour", "wasted"))
    rows = [head, *((name or "shared", *_cells(row)) for name, row in shown)]
    rows.append((paint.bold("total"), *_cells(view.total)))
    return columns(rows, "<>>>>>", indent="  ")


def _cells(row: NetSaving) -> tuple[str, ...]:
    unit_hour = "-" if row.unit_hour_paid is None else str(rounded(row.unit_hour_paid, places=4))
    return (
        f"{rounded(row.net):,}",
        ppm(row.share_ppm),
        f"{rounded(row.paid):,}",
        unit_hour,
        ppm(row.wasted_ppm, places=2),
    )


def _waste(view: SavingsView, paint: Paint) -> list[str]:
    sums: dict[tuple[str, str], list[int]] = {}
    names: dict[tuple[str, str], dict[str, int]] = {}
    for row in view.waste:
        entry = sums.setdefault((row.kind, row.cause), [0, 0, 0])
        entry[0] += row.paid
        entry[1] += row.ns
        entry[2] += row.events
        by_name = names.setdefault((row.kind, row.cause), {})
        by_name[row.workload] = by_name.get(row.workload, 0) + row.paid
    ordered = sorted(sums, key=lambda key: -sums[key][0])[:MOST_WASTE]
    rows = []
    for key in ordered:
        paid, ns, events = sums[key]
        most = max(names[key], key=lambda name: (names[key][name], name))
        rows.append(
            (
                key[0],
                words(key[1]),
                f"{rounded(paid):,}",
                f"{hours(ns):,} h",
                f"{events:,}",
                f"most of it {most or 'shared'}, {rounded(names[key][most]):,}" if len(names[key]) > 1 else "",
            )
        )
    head = tuple(paint.bold(text) for text in ("kind", "cause", "paid", "time", "events", ""))
    title = paint.bold("paid for nothing") + paint.dim("  a breakdown of the payments, not a further cost")
    return [title, *columns([head, *rows], "<<>>><", indent="  ")]


def _invoice(view: SavingsView, paint: Paint) -> list[str]:
    found = view.reconciled
    line = f"the provider's invoice of the whole region: {euros(found.invoice_ticks, view.currency)}"
    if found.consistent:
        return [f"{line}; {paint.good('the terms sum to it, to the last digit')}"]
    instances = count(len(found.disagreements), "instance")
    unpriced = count(len(found.unpriced_losses), "loss", "losses")
    lines = [
        f"{line}; {paint.bad('the terms do not sum to it')}: {count(found.difference, 'tick')} of difference",
        f"  {instances} and {unpriced} do not add up",
    ]
    lines += [f"  ebbtide explain action {one.instance}" for one in found.disagreements[:3]]
    return lines


def as_document(view: SavingsView) -> dict[str, object]:
    """The same for machines: ticks as text, because they exceed what other readers of JSON hold exactly."""
    return {
        "subject": view.subject,
        "currency": view.currency,
        "ticks_per_unit": "3600000000000000",
        "total": _numbers(view.total),
        "rows": {name or "shared": _numbers(row) for name, row in view.rows.items()},
        "waste": [
            {
                "workload": row.workload,
                "pool": row.pool,
                "kind": row.kind,
                "cause": row.cause,
                "paid": str(rounded(row.paid, places=9)),
                "hours": str(hours(row.ns, places=6)),
                "events": row.events,
            }
            for row in view.waste
        ],
        "invoice_ticks": str(view.reconciled.invoice_ticks),
        "invoice_difference_ticks": str(view.reconciled.difference),
        "consistent": view.reconciled.consistent,
    }


def _numbers(row: NetSaving) -> dict[str, object]:
    numbers: dict[str, object] = {name: str(getattr(row, name)) for name in NUMBERS}
    return {
        **numbers,
        "net": str(row.net),
        "net_amount": str(rounded(row.net)),
        "share_ppm": row.share_ppm,
        "wasted_ppm": row.wasted_ppm,
    }

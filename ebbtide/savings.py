"""`ebbtide savings`: what was saved after every cost, and the events behind every number."""

from __future__ import annotations

import argparse
from pathlib import Path

from ebbtide.advice import unknown
from ebbtide.estate import laid
from ebbtide.render_savings import SavingsView, as_document, as_text
from ebbtide.state import RunRecord, State
from ebbtide.terminal import Terminal
from ledger.adapters.clickhouse import ClickHouseLedger
from ledger.events import EventType
from ledger.reports import NetSaving, by_tier, summed


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when the terms are the invoice, 1 when they are not."""
    state = State(Path(args.state))
    record = state.read()
    with state.ledger(args.policy) as ledger:
        rows = ledger.savings(record.period)
        if args.workload is not None:
            rows = tuple(row for row in rows if row.workload == args.workload)
            if not rows:
                known = [row.workload for row in ledger.savings(record.period) if row.workload]
                raise unknown("workload", args.workload, known, lists="ebbtide savings lists them all")
        if args.behind is not None:
            return _behind(args, terminal, ledger, record, rows)
        total = summed(rows, region=record.region, workload=args.workload or "")
        waste = tuple(w for w in ledger.waste(record.period) if args.workload in (None, w.workload))
        view = SavingsView(
            subject=_subject(args, record),
            currency=record.policies[0].summary.money.currency,
            rows=_grouped(args, state, record, rows),
            total=total,
            waste=waste,
            reconciled=ledger.reconcile_invoice(record.period),
            in_order=args.tier,
        )
    if terminal.as_json:
        terminal.document(as_document(view))
    else:
        terminal.lines(as_text(view, terminal.paint))
    return 0 if view.reconciled.consistent else 1


def _subject(args: argparse.Namespace, record: RunRecord) -> str:
    whose = f"{args.workload} in {record.region}" if args.workload else f"region {record.region}"
    return f"{whose}, {record.title}, under {args.policy}"


def _grouped(
    args: argparse.Namespace, state: State, record: RunRecord, rows: tuple[NetSaving, ...]
) -> dict[str, NetSaving]:
    if not args.tier:
        return {row.workload: row for row in rows}
    estate = laid(state.estate, record.commit)
    return by_tier(rows, {c.name: f"{c.tier.rank} {c.tier.value}" for c in estate.contracts})


def _behind(
    args: argparse.Namespace,
    terminal: Terminal,
    ledger: ClickHouseLedger,
    record: RunRecord,
    rows: tuple[NetSaving, ...],
) -> int:
    counted = [row for row in rows if getattr(row, args.behind)]
    ids = [name for row in counted for name in ledger.ids_behind(row.behind(args.behind), record.period)]
    every = sorted(dict.fromkeys(ids), key=lambda name: name.startswith(EventType.RATE_KNOWN.value))  # rates last
    if terminal.as_json:
        terminal.document({"term": args.behind, "workload": args.workload or "", "events": every})
    else:
        terminal.lines(every)
    return 0

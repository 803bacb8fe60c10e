"""`ebbtide demo`, the main job: from reviewed files to a screen of results, beside a planner that knows prices only."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

from ebbtide.day import Aside, Losses, Order, aside, let_pass, losses, the_day
from ebbtide.ending import Booked, booked, costs_of, noticed_at, period_of, recorded, spooled_events, telling_loss
from ebbtide.estate import estate_of, known_region, reference
from ebbtide.render_demo import Screen, as_document, as_text, plain
from ebbtide.report import write_report
from ebbtide.report_data import PolicyDay, ReportData
from ebbtide.report_losses import paid_ids
from ebbtide.report_source import assembled
from ebbtide.state import RunRecord, State, being_written
from ebbtide.terminal import Bars, Terminal
from reconciler.desired import Partition, partition
from repo_layout.adapters.git_lay import Authorship, files_below, lay
from repo_layout.losses import losses_under_waivers

OURS, THEIRS = "ebbtide", "price-first"

AUTHORSHIP = Authorship(
    name="Ebbtide", email="estate@ebbtide.invalid", at_s=1_793_491_200, message="Lay down the reference estate\n"
)
"""The same everywhere, so that the commit has the same id everywhere: 2026-11-01T00:00Z, the day before the demo's."""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when the day has passed and its books are in order, 1 when the terms are not the invoice."""
    began = perf_counter()
    chosen = losses(trace=args.trace, model=args.model)
    with being_written(Path(args.state)) as state:
        return _run(args, terminal, state, chosen, began)


def _run(args: argparse.Namespace, terminal: Terminal, state: State, chosen: Losses, began: float) -> int:
    state.folder.joinpath(".gitignore").write_text("*\n", encoding="utf-8")
    files = files_below(reference())
    commit = lay(state.estate, files, AUTHORSHIP)
    terminal.say(f"laid {len(files)} files into {state.estate}, commit {commit[:12]}")
    estate, _ = estate_of(str(state.estate), commit=commit)
    part = partition(estate, known_region(estate, args.region))
    day = the_day(part, chosen, seed=args.seed)
    terminal.say(f"{args.region}: {len(part.contracts)} contracts, {len(part.pools)} pools hold; {day.title}")

    def order(policy: str) -> Order:
        where = str(state.spool_of(policy))
        return Order(str(state.estate), commit, args.region, args.seed, args.hours, chosen, policy, where)

    period = period_of(args.hours)
    with terminal.bars((OURS.ljust(len(THEIRS)), THEIRS)) as bars, aside(order(THEIRS)) as beside:
        passed, events = let_pass(order(OURS), lambda share, note: _both(bars, beside, share, note))
        ours = booked(state, part, passed, events, policy=OURS, period=period)
        theirs_passed = beside.join(lambda share, note: bars.show(1, share, note))
    terminal.say("both days have passed; closing the books and drawing the report")
    theirs = booked(state, part, theirs_passed, spooled_events(state, THEIRS), policy=THEIRS, period=period)
    record = recorded(order(OURS), part, day, passed.last, (ours.record, theirs.record))
    state.write_journals(passed.journals)
    state.write(record)
    write_report(state.report, _pictures(state, part, record, ours, theirs))
    lost = telling_loss(events, period)
    screen = Screen(
        record=record,
        estate=f"estate {estate.settings.estate}",
        files=len(files),
        state=str(state.folder),
        lost=lost,
        lost_at=noticed_at(events, lost),
        report=str(state.report),
        seconds=perf_counter() - began,
        waived=losses_under_waivers(estate, args.region),
    )
    if terminal.as_json:
        terminal.document(as_document(screen, [plain(policy) for policy in record.policies]))
    else:
        terminal.lines(as_text(screen, terminal.paint))
    return 0 if all(policy.summary.money.consistent for policy in record.policies) else 1


def _both(bars: Bars, beside: Aside, share: float, note: str) -> None:
    bars.show(0, share, note)
    beside.poll(lambda other, said: bars.show(1, other, said))


def _pictures(state: State, part: Partition, record: RunRecord, ours: Booked, theirs: Booked) -> ReportData:
    """What the report is drawn from."""

    def one(booked_day: Booked) -> PolicyDay:
        return PolicyDay(
            summary=booked_day.record.summary,
            moments=booked_day.record.moments,
            events=booked_day.events,
            waste=booked_day.waste,
            reconciliation=booked_day.reconciliation,
        )

    costs = costs_of(state, paid_ids(ours.events))
    return assembled(state, record, part.estate, ours=one(ours), peer=one(theirs), costs=costs)

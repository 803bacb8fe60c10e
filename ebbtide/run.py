"""`ebbtide run`: the reconciler on the simulated provider, one cycle or many, with its ledger left in a folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

from ebbtide import plan, run_live
from ebbtide.advice import Advice
from ebbtide.day import Order, Passed, Spooled, let_pass, losses, note_of, the_day, world_in
from ebbtide.ending import booked, noticed_at, period_of, recorded, telling_loss
from ebbtide.estate import at_hand, estate_of, known_region, reference, source, tree_of
from ebbtide.render_demo import Screen, as_document, as_text, plain
from ebbtide.render_plan import PlanView
from ebbtide.state import State, being_written
from ebbtide.taken import estate_or_bundle
from ebbtide.terminal import Terminal
from ledger.spool import Spool
from reconciler.desired import Partition, partition
from repo_layout.adapters.git_lay import Authorship, lay
from repo_layout.losses import losses_under_waivers
from repo_layout.model import Estate
from simulation.trace_measures import HOUR_MS

POLICY = "ebbtide"

AUTHORSHIP = Authorship(
    name="Ebbtide", email="estate@ebbtide.invalid", at_s=1_793_491_200, message="Lay down the estate that was run\n"
)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when it is done, 1 when the guard held steps back (--once, --dry-run) or the terms are not the invoice; a run
    against a provider has its own (`run_live`).
    """
    if args.provider is not None:
        return run_live.run(args, terminal)
    if not (args.once or args.dry_run or args.hours):
        raise Advice(
            "what to run is not said", hint="--hours H, --once or --dry-run of a simulated day; or --provider SOCKET"
        )
    alone = [name for name in ("cycles", "until_idle", "store", "branch") if getattr(args, name)]
    if alone:
        raise Advice(f"--{alone[0].replace('_', '-')} goes with --provider", hint="ebbtide run --help tells them apart")
    if args.dry_run:
        args.empty = False
        return plan.run(args, terminal)
    if args.partition:
        raise Advice("--partition goes with --provider or --dry-run", hint="a simulated day is a whole region's")
    with being_written(Path(args.state)) as state:
        estate, shown, files = _laid_down(args, state)
        part = partition(estate, known_region(estate, args.region))
        if args.once:
            return _once(args, terminal, state, estate, part)
        return _hours(args, terminal, state, part, files=files, shown=shown)


def _laid_down(args: argparse.Namespace, state: State) -> tuple[Estate, str, int]:
    """The estate, kept in the state directory as it was read; words for it, and how many files it has."""
    if args.bundle is not None:
        found = estate_or_bundle(args)
        state.payload.write_bytes(found.payload)
        return found.estate, found.shown, 1
    tree = tree_of(source(at_hand(args.estate) or str(reference())))
    commit = lay(state.estate, tree.files, AUTHORSHIP)
    estate, _ = estate_of(str(state.estate), commit=commit)
    return estate, f"estate {estate.settings.estate}", len(tree.files)


def _once(args: argparse.Namespace, terminal: Terminal, state: State, estate: Estate, part: Partition) -> int:
    """The day up to the moment, and one cycle more that is carried out and shown."""
    day, moment, told = plan.moment_of(args, part, empty=False)
    setting = plan.until(estate, part.region, day, moment, args.seed)
    with Spool(state.spool) as spool, terminal.bars((f"{part.region} up to the moment",)) as bars:
        keeper = Spooled(spool)
        world, _ = world_in(setting, part, policy=POLICY, keeper=keeper)
        decision = world.one_cycle(lambda progress: bars.show(0, progress.share, note_of(progress)), dry_run=False)
    result = world.run_result
    passed = Passed(tuple(result.moments), tuple(result.first_action_ms), dict(result.refusals), result.decisions)
    hours = max(moment, 60_000) / HOUR_MS
    mine = booked(state, part, passed, keeper.events, policy=POLICY, period=period_of(hours))
    state.write_journals(world.nodes.journals)
    state.write(recorded(_order(args, state, estate.commit, hours), part, day, decision, (mine.record,)))
    view = PlanView(part, f"estate {estate.settings.estate}", estate.commit, told, day.title, decision, dry=False)
    plan.show(view, terminal)
    return 1 if decision.refused else 0


def _hours(
    args: argparse.Namespace, terminal: Terminal, state: State, part: Partition, *, files: int, shown: str
) -> int:
    """So many hours of the day under our planner, and their screen."""
    began = perf_counter()
    commit = part.estate.commit
    order = _order(args, state, commit, args.hours)
    day = the_day(part, order.losses, seed=args.seed)
    period = period_of(args.hours)
    with terminal.bars((POLICY,)) as bars:
        passed, events = let_pass(order, lambda share, note: bars.show(0, share, note))
    mine = booked(state, part, passed, events, policy=POLICY, period=period)
    state.write_journals(passed.journals)
    record = recorded(order, part, day, passed.last, (mine.record,))
    state.write(record)
    lost = telling_loss(events, period)
    screen = Screen(
        record=record,
        estate=shown,
        files=files,
        state=str(state.folder),
        lost=lost,
        lost_at=noticed_at(events, lost),
        report="",
        seconds=perf_counter() - began,
        waived=losses_under_waivers(part.estate, part.region),
    )
    if terminal.as_json:
        terminal.document(as_document(screen, [plain(mine.record)]))
    else:
        terminal.lines(as_text(screen, terminal.paint))
    return 0 if mine.record.summary.money.consistent else 1


def _order(args: argparse.Namespace, state: State, commit: str, hours: float) -> Order:
    chosen = losses(trace=args.trace, model=args.model)
    return Order(str(state.estate), commit, args.region, args.seed, hours, chosen, POLICY, str(state.spool))

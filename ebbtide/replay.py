"""`ebbtide replay`: planners side by side on recorded reclamations, every run in a process of its own."""

from __future__ import annotations

import argparse
import os
import signal
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from contracts.errors import Refused
from ebbtide.advice import Advice
from ebbtide.day import TRACES
from ebbtide.render_replay import ReplayView, as_document, as_text
from ebbtide.terminal import Terminal
from simulation.replay import Cell, Plan, Replayer, cells, summaries
from simulation.replay_score import Score
from simulation.trace import Trace
from simulation.trace_formats import load

MOST_PROCESSES = 8

_replayers: list[Replayer] = []
"""One a process: it keeps the windows it has made, which are the dear part."""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Always 0 when it could be done."""
    folder = os.environ.get(TRACES, "")
    trace = _loaded(args.trace, folder)
    plan = Plan(
        policies=args.policy,
        seeds=tuple(range(1, args.seeds + 1)),
        days=args.days,
        warm_up_days=args.days,
    )
    todo = cells(trace, plan)
    processes = min(len(todo), os.cpu_count() or 1, MOST_PROCESSES)
    terminal.say(f"{trace.name}: {len(todo)} runs in {processes} processes")
    with (
        terminal.bars(("replay",)) as bars,
        ProcessPoolExecutor(
            processes, mp_context=get_context("spawn"), initializer=_ready, initargs=(args.trace, folder, plan)
        ) as pool,
    ):
        waiting = {pool.submit(_run, cell): number for number, cell in enumerate(todo)}
        found: dict[int, Score] = {}
        try:
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                bars.show(0, len(found) / len(todo), f"{len(found)} of {len(todo)}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # what has begun ends by itself, the rest never begins
            raise
    scores = tuple(found[number] for number in sorted(found))
    view = ReplayView(trace.name, trace.source, plan, scores, summaries(scores))
    if terminal.as_json:
        terminal.document(as_document(view))
    else:
        terminal.lines(as_text(view, terminal.paint))
    return 0


def _loaded(name: str, folder: str) -> Trace:
    try:
        return load(name, folder=Path(folder) if folder else None)
    except Refused as error:
        raise Advice(str(error), hint="ebbtide traces lists the names, and where to get more") from error


def _ready(name: str, folder: str, plan: Plan) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal interrupts every process; ours decides
    _replayers[:] = [Replayer(_loaded(name, folder), plan)]


def _run(cell: Cell) -> Score:
    return _replayers[0].run(cell)

"""`ebbtide simulate --scenario no-control-plane`: twelve hours without anybody who decides, and the return."""

from __future__ import annotations

import argparse

from ebbtide.day import losses, note_of, settle_heap, the_day
from ebbtide.histories import FULL_REGION, full
from ebbtide.render_absence import as_document, as_text
from ebbtide.terminal import Terminal
from reconciler.desired import partition
from simulation.scenario_absence import run_absence

HOURS = 12
SEED = 7


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when every promise held, 1 when one broke."""
    ground = full(args.region or FULL_REGION)
    part = partition(ground.estate, ground.region)
    day = the_day(part, losses(trace=None, model=True), seed=SEED)
    settle_heap()
    with terminal.bars(("no control plane",)) as bars:
        report = run_absence(
            ground,
            day,
            seed=SEED,
            hours=HOURS,
            progress=lambda progress: bars.show(0, progress.share, note_of(progress)),
        )
    if terminal.as_json:
        terminal.document(as_document(report))
    else:
        terminal.lines(as_text(report, terminal.paint))
    return 1 if report.broken else 0

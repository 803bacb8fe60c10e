"""`ebbtide plan`: the next cycle of a simulated region at one moment of its day, shown like a diff. Touches nothing."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from ebbtide.day import Losses, losses, note_of, the_day, world_in
from ebbtide.divided import partition_named
from ebbtide.render_plan import PlanView, as_document, as_text
from ebbtide.taken import estate_or_bundle
from ebbtide.terminal import Terminal
from ebbtide.text import clock
from ledger.events import Event
from reconciler.cycle import Decision
from reconciler.desired import Partition
from repo_layout.model import Estate
from simulation.cloud_model import Wave
from simulation.day import DAY_MS, DEMO_DAY, Day
from simulation.day import setting as day_setting
from simulation.trace_measures import HOUR_MS
from simulation.world import Setting

INTO_THE_WAVE_MS = 3_000
"""After the first notices of the largest wave, before any cycle has answered them."""

NOON_MS = 12 * HOUR_MS
FIRST_CONTACT = -1
"""Before the first cycle; any moment of the day is at least 0."""


class Forgotten:
    """A recorder for a world that is looked at and thrown away."""

    def record(self, events: Sequence[Event]) -> None:
        """Nothing is kept: nothing happened."""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when every step may go out, 1 when the guard holds some back."""
    found = estate_or_bundle(args)
    shown, part = found.shown, partition_named(found.estate, args.region, args.partition)
    estate = part.estate
    day, moment, told = moment_of(args, part, empty=args.empty)
    decision = _decided(estate, part, day, moment, args.seed, terminal)
    view = PlanView(part=part, estate=shown, commit=estate.commit, when=told, title=day.title, decision=decision)
    show(view, terminal)
    return 1 if decision.refused else 0


def show(view: PlanView, terminal: Terminal) -> None:
    """Write the plan."""
    if terminal.as_json:
        terminal.document(as_document(view))
    else:
        terminal.lines(as_text(view, terminal.paint))


def moment_of(args: argparse.Namespace, part: Partition, *, empty: bool) -> tuple[Day, int, str]:
    """The day, the moment of it (ms since its start; below 0 for first contact), and words for it."""
    day = _day(args, part)
    if empty:
        return day, FIRST_CONTACT, "first contact, with an empty region"
    if args.at is not None:
        at: int = args.at
        return day, at, f"{clock(at)} UTC"
    largest = largest_wave(day, part)
    if largest is None:
        return day, NOON_MS, f"{clock(NOON_MS)} UTC"
    moment = largest.at - DEMO_DAY + INTO_THE_WAVE_MS
    return day, moment, f"{clock(moment)} UTC, 3 s into the day's largest wave"


def _day(args: argparse.Namespace, part: Partition) -> Day:
    chosen: Losses = losses(trace=args.trace, model=args.model)
    return the_day(part, chosen, seed=args.seed)


def largest_wave(day: Day, part: Partition) -> Wave | None:
    """The first notice of the reclaim that takes the most hosts."""
    hosts: dict[str, float] = defaultdict(float)
    size = {pool.domain: pool.hosts.count for pool in part.pools}
    noticed = [wave for wave in day.waves if wave.noticed]
    for wave in noticed:
        share = wave.share * size.get(wave.domain, 0) if wave.share is not None else 0.0
        hosts[wave.reclaim] += share + (wave.count or 0)
    if not noticed:
        return None
    most = max(hosts, key=lambda reclaim: (hosts[reclaim], reclaim))
    return min((wave for wave in noticed if wave.reclaim == most), key=lambda wave: wave.at)


def until(estate: Estate, region: str, day: Day, moment: int, seed: int) -> Setting:
    """The demo's own day, cut at the moment; below 0 it is cut where work is asked for and nothing was done yet."""
    whole = day_setting(estate, region, day, seed=seed, hours=max(0, moment) / HOUR_MS)
    return replace(whole, days=1_000 / DAY_MS) if moment < 0 else whole


def _decided(estate: Estate, part: Partition, day: Day, moment: int, seed: int, terminal: Terminal) -> Decision:
    setting = until(estate, part.region, day, moment, seed)
    world, _ = world_in(setting, part, policy="ebbtide", keeper=Forgotten())
    with terminal.bars((f"{part.region} up to the moment",)) as bars:
        return world.one_cycle(lambda progress: bars.show(0, progress.share, note_of(progress)), dry_run=True)

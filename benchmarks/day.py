"""How long a simulated day of one region takes: about 800 nodes under the whole reconciler, every cycle of it.

The reference estate's region, its contracts' maxima scaled until about 800 instances stand at a time, through the
demo's own day: the recorded one where EBBTIDE_TRACES is set, the region model's elsewhere. Events are kept in memory:
spool and ledger have benchmarks of their own. Three hours in which the region fills come first and are not counted: the
clock starts with the day. The time grows with cycles x workloads x pools, and with what happens to
instances; `--scale` shows how.

    python -m benchmarks.day [--scale PERCENT] [--runs N] [--region R]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

from contracts.model import Contract
from ebbtide.day import losses, the_day, world_of
from ebbtide.estate import estate_of
from ledger.events import Event
from reconciler.desired import partition
from repo_layout.model import Estate
from simulation.trace_measures import HOUR_MS
from simulation.world import Progress

SCALE = 78
"""Percent of the reference estate's maxima at which about 800 instances stand, found by trying."""

HOURS = 24.0
ADDITIONS = 20_000_000
"""The bare loop that runs beside the day: about a second on a quiet machine."""


class Kept:
    """A recorder that only keeps events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, events: Sequence[Event]) -> None:
        """Keep them."""
        self.events += events


class DayClock:
    """Notes when the day itself begins."""

    def __init__(self, counts_from: int) -> None:
        self.counts_from = counts_from
        self.began = self.used = 0.0
        self.cycles = 0

    def __call__(self, told: Progress) -> None:
        """Called after each cycle."""
        if not self.began and told.now >= self.counts_from:
            self.began, self.used, self.cycles = time.perf_counter(), time.process_time(), told.cycles


def bare_s() -> float:
    """Processor seconds of the bare loop: how fast the machine is meanwhile."""
    began, total = time.process_time(), 0
    for number in range(ADDITIONS):
        total += number
    return time.process_time() - began


def scaled(estate: Estate, percent: int) -> Estate:
    """The estate with every contract's maximum scaled, floors and whole gangs kept."""

    def one(contract: Contract) -> Contract:
        gang = contract.gang_size
        maximum = max(contract.floor, contract.minimum, gang, contract.maximum * percent // 100 // gang * gang)
        return contract.model_copy(update={"maximum": maximum})

    return replace(estate, contracts=tuple(one(contract) for contract in estate.contracts))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=SCALE)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--region", default="aarhus")
    arguments = parser.parse_args()
    estate = scaled(estate_of(None)[0], arguments.scale)
    part = partition(estate, arguments.region)
    day = the_day(part, losses(trace=None, model=False), seed=7)
    seconds: list[float] = []
    spent: list[float] = []
    bare: list[float] = []
    nodes = cycles = events = 0
    for number in range(arguments.runs):
        bare.append(bare_s())
        kept = Kept()
        world, _ = world_of(estate, part, day, policy="ebbtide", seed=7, hours=HOURS, keeper=kept)
        clock = DayClock(world.setting.counts_from)
        run = world.run(clock)
        seconds.append(time.perf_counter() - clock.began)
        spent.append(time.process_time() - clock.used)
        counted = [m for m in run.moments if m.at >= world.setting.counts_from]
        cycles = run.decisions - clock.cycles
        nodes = round(statistics.mean(m.reclaimable + m.floor + m.fallback for m in counted))
        events = len(kept.events)
        print(f"run {number + 1}: {seconds[-1]:.2f} s for {cycles} cycles, {events} events, {nodes} nodes on average")
    median = statistics.median(seconds)
    simulated_s = HOURS * HOUR_MS / 1000
    print(f"{day.title}; {1000 * median / cycles:.1f} ms a cycle with everything that happens in between")
    print(
        json.dumps(
            {
                "bench": "day",
                "nodes": nodes,
                "seconds": round(median, 2),
                "processor_seconds": round(statistics.median(spent), 2),
                "bare_loop_seconds": round(statistics.median(bare), 2),
                "realtime_factor": round(simulated_s / median),
                "cycles": cycles,
                "events": events,
                "runs": arguments.runs,
            }
        )
    )


if __name__ == "__main__":
    main()

"""How a cycle grows with its region: from 800 nodes to 50,000 and more, under the whole reconciler, in fair weather.

The reference estate's region with hosts, contracts' maxima and floors, and the guard's counts multiplied, so that pools
and workloads stay as many and each holds more. It fills by what is wanted, not to its hosts: the larger a workload, the
larger the instances that its bounds allow, so that nodes grow less than units. The region fills for an hour and a half;
then half an hour of cycles is measured, each part of a cycle by itself. A journal is kept in memory, events as well.
Every size is a process of its own, for its memory. The last line is one JSON object.

    python -m benchmarks.curve [--factors 1,4,15,100] [--region R] [--picture FILE]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, SupportsBytes

from benchmarks.curve_picture import picture
from benchmarks.day import Kept, scaled
from ebbtide.day import world_in
from ebbtide.estate import estate_of
from reconciler import census, cycle, diff, guard
from reconciler.appraisal import Appraiser
from reconciler.desired import partition
from reconciler.logbook import Logbook
from reconciler.loop import Reconciler
from repo_layout.model import Estate
from simulation.cloud import SimulatedCloud
from simulation.day import DAY_MS, Day
from simulation.day import setting as day_setting
from simulation.site import Site

FACTORS = (1, 4, 15, 100)
FILL_MS, MEASURED_MS = 90 * 60_000, 30 * 60_000
COUNTS = ("release_count", "acquire_count", "replace_count", "call_rate", "call_burst")

PARTS: tuple[tuple[str, Any, str], ...] = (
    ("listing", SimulatedCloud, "instances"),
    ("listing", Site, "view"),
    ("census", census, "take"),
    ("ranking", Appraiser, "appraise"),
    ("placement", cycle, "problem"),
    ("placement", cycle, "place"),
    ("diff", diff, "difference"),
    ("guard", guard, "judge"),
    ("guard", cycle, "eyes_of"),
    ("telling", Logbook, "note"),
)
"""What is timed, and under which name; `listing` is the simulated provider's and schedulers' answer."""


@dataclass
class Clock:
    """Processor seconds of each part since the last whole cycle, and of each cycle that was measured."""

    now: Callable[[], int] = lambda: 0
    since: int = 0
    parts: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    cycles: list[dict[str, float]] = field(default_factory=list)

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, with its time added to its part."""

        def wrapped(*args: object, **named: object) -> object:
            began = time.process_time()
            try:
                return call(*args, **named)
            finally:
                self.parts[name] += time.process_time() - began

        return wrapped

    def whole(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """A cycle: its parts and all of it, once the region has filled."""

        def wrapped(*args: object, **named: object) -> object:
            self.parts.clear()
            began = time.process_time()
            try:
                return call(*args, **named)
            finally:
                if self.now() >= self.since:
                    self.cycles.append({**self.parts, "cycle": time.process_time() - began})

        return wrapped


class Paper:
    """`reconciler.ports.Journal` in memory."""

    def __init__(self) -> None:
        self.content: bytes | None = None

    def load(self) -> bytes | None:
        """What was saved last."""
        return self.content

    def save(self, content: SupportsBytes) -> None:
        """Keep it."""
        self.content = bytes(content)


def wider(estate: Estate, factor: int) -> Estate:
    """The estate with so many times the nodes in the same pools, for the same workloads."""
    estate = scaled(estate, 78)
    settings = estate.settings
    regions = tuple(
        region.model_copy(
            update={
                "guard": region.guard.model_copy(update={n: getattr(region.guard, n) * factor for n in COUNTS}),
                "checkpoint_gateway": region.checkpoint_gateway * factor,
            }
        )
        for region in settings.regions
    )
    teams = tuple(team.model_copy(update={"ncu_limit": team.ncu_limit * factor}) for team in settings.teams)
    return replace(
        estate,
        settings=settings.model_copy(update={"regions": regions, "teams": teams}),
        contracts=tuple(
            one.model_copy(
                update={n: getattr(one, n) * factor for n in ("maximum", "floor", "minimum")},
            )
            for one in estate.contracts
        ),
        pools=tuple(
            replace(pool, hosts=pool.hosts.model_copy(update={"count": pool.hosts.count * factor}))
            for pool in estate.pools
        ),
    )


def measured(factor: int, region: str) -> dict[str, float]:
    """One size: nodes, medians of the cycle and of its parts in milliseconds of a processor, and memory."""
    clock = Clock()
    for name, owner, call in PARTS:
        setattr(owner, call, clock.timed(name, getattr(owner, call)))
    Reconciler.cycle = clock.whole(Reconciler.cycle)  # type: ignore[method-assign]  # that is what is measured
    part = partition(wider(estate_of(None)[0], factor), region)
    setting = day_setting(part.estate, region, Day("", "", ()), seed=7, hours=1.0)
    setting = replace(setting, days=(FILL_MS + MEASURED_MS) / DAY_MS)
    world, watched = world_in(setting, part, policy="ebbtide", keeper=Kept())
    world.reconciler.logbook._ports = replace(world.reconciler.ports, journal=Paper())  # noqa: SLF001  # a day keeps none
    clock.now, clock.since = (lambda: world.now), setting.start + FILL_MS
    began = time.process_time()
    world.run()
    fleet, placement = world.reconciler.memory.fleet, watched.last[-1].placement
    found = {
        name: 1000 * statistics.median(one.get(name, 0.0) for one in clock.cycles)
        for name in ("cycle", *dict.fromkeys(name for name, _, _ in PARTS))
    }
    return {
        "factor": factor,
        "nodes": len(fleet.alive()),
        "remembered": len(fleet.instances),
        "units": sum(one.units for one in fleet.alive() if one.supply),
        "short_units": sum(short.floor_units + short.units for short in placement.shortfalls),
        "cycles": len(clock.cycles),
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "simulated_s": round(time.process_time() - began, 1),
        **{f"{name}_ms": round(value, 1) for name, value in found.items()},
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure each size in a process of its own, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factors", default=",".join(map(str, FACTORS)), help="of 800 nodes (default: %(default)s)")
    parser.add_argument("--region", default="aarhus")
    parser.add_argument("--picture", type=Path, help="draw the curve there")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.one:
        print(json.dumps(measured(args.one, args.region)))
        return 0
    points = []
    for factor in args.factors.split(","):
        words = [sys.executable, "-m", "benchmarks.curve", "--one", factor, "--region", args.region]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        points.append(json.loads(done.stdout.splitlines()[-1]))
        print("  ".join(f"{name} {value:g}" for name, value in points[-1].items()), flush=True)
    if args.picture:
        args.picture.write_text(picture(points), encoding="utf-8")
    print(json.dumps({"bench": "curve", "points": points, "runs": 1}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What one cycle's census and diff cost when the fleet is very large: a million instances in memory.

A fleet, the listing that shows it and its nodes, all unchanged but for some percent: a quarter of those ended and the
provider said so, a quarter joined, a quarter are busier, and a quarter were asked for and are listed now. The placement
wants the fleet as it stood, so the diff has each loss to replace. Each size is measured in a fresh process, so that the
peak of its memory is its own; what the process takes before it holds any instance is in it.

    python -m benchmarks.growth [--instances N] [--changed PERCENT] [--runs N] [--curve]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass

from ebbtide.day import settle_heap
from ledger.events import Paid
from pools.provider import Lifecycle, LifecycleKind, Listing, Mark, Part, Server, Signals, Status
from reconciler import census, diff
from reconciler.claims import Claim
from reconciler.drafts import Scribe
from reconciler.fleet import Fleet, Instance, Phase, name_of
from reconciler.ports import NodeView
from reconciler.sight import Census, Sight

NOW = 1_793_577_600_000
HOUR_MS = 3_600_000
ESTATE, REGION = "estate", "north"
PROJECTS = tuple(f"project-{number}" for number in range(4))
POOLS = tuple(f"pool-{number}" for number in range(70))
WORKLOADS = tuple(f"workload-{number}" for number in range(40))
CURVE = (10_000, 50_000, 100_000, 250_000, 500_000, 1_000_000)
MIB = 1024


@dataclass(frozen=True, slots=True)
class Region:
    """A fleet, and what is seen of it in this cycle."""

    fleet: Fleet
    sight: Sight
    scribe: Scribe
    wanted: tuple[diff.Wanted, ...]
    claims: dict[str, Claim]


def region_of(count: int, changed: int) -> Region:
    """`count` instances, of which so many percent are shown otherwise than they are known."""
    instances: dict[str, Instance] = {}
    nodes: dict[str, NodeView] = {}
    rows: list[Server] = []
    ends: list[Lifecycle] = []
    slots: Counter[tuple[str, str]] = Counter()
    every = 100 // changed if changed else count + 1
    for number in range(1, count + 1):
        turn = number // every % 4 if number % every == 0 else -1
        before = _instance(number, turn)
        instances[before.name] = before
        slots[before.workload, before.pool] += 1
        server = before.server or f"server-{number}"
        if turn == 0:
            ends.append(Lifecycle(NOW, LifecycleKind.DELETED, server, before.name, before.pool, taken=True))
            continue
        mark = Mark(ESTATE, REGION, before.name, 1, before.workload, 1, before.paid.value)
        status = Status.BUILDING if turn == 3 else Status.ACTIVE
        rows.append(Server(server, before.name, before.project, before.pool, status, before.requested_at, mark))
        if turn != 3:
            busy = before.busy_units + (turn == 2)
            nodes[before.name] = NodeView(before.name, before.joined_at or NOW, busy, covered=True)
    return Region(
        fleet=Fleet(instances, sequence=count + 1),
        sight=Sight(
            now=NOW,
            estate=ESTATE,
            region=REGION,
            join_timeout_s=600,
            signals=Signals(NOW, "1", lifecycle=tuple(ends)),
            listing=Listing(NOW, tuple(rows), tuple(Part(name, complete=True) for name in PROJECTS)),
            nodes=nodes,
            workloads=frozenset(WORKLOADS),
            projects=frozenset(PROJECTS),
        ),
        scribe=Scribe(REGION, NOW, "commit", 1),
        wanted=tuple(
            diff.Wanted(workload, pool, PROJECTS[0], number, 1, Paid.RECLAIMABLE)
            for (workload, pool), number in slots.items()
        ),
        claims={name: Claim(name, 0, count) for name in WORKLOADS},
    )


def _instance(number: int, turn: int) -> Instance:
    asked, boots = turn == 3, turn == 1
    since = NOW - HOUR_MS - number
    return Instance(
        name=name_of(REGION, 1, number),
        pool=POOLS[number % len(POOLS)],
        project=PROJECTS[number % len(PROJECTS)],
        workload=WORKLOADS[number // len(POOLS) % len(WORKLOADS)],
        units=1,
        paid=Paid.RECLAIMABLE,
        phase=Phase.REQUESTED if asked else Phase.BOOTING if boots else Phase.SERVING,
        requested_at=NOW - 1000 if asked else since,
        epoch=1,
        server="" if asked else f"server-{number}",
        started_at=0 if asked else since,
        joined_at=0 if asked or boots else since,
        busy_units=0 if asked or boots else 1,
        covered=not (asked or boots),
    )


def cycle(region: Region) -> tuple[Census, diff.Difference]:
    """One census and the diff that follows from it."""
    counted = census.take(region.fleet, region.sight, region.scribe)
    return counted, diff.difference(
        diff.Inputs(
            wanted=region.wanted,
            fleet=counted.fleet,
            claims=region.claims,
            claim_events={},
            naming=diff.Naming(REGION, 1, counted.fleet.sequence),
            now=NOW,
            drained={},
            owned_projects=frozenset(PROJECTS),
            shown=frozenset(),
        )
    )


def measure(count: int, changed: int, runs: int) -> dict[str, float]:
    """Medians of one size, in this process: seconds by the clock and of the processor, steps, and the peak of memory.

    Beside them a bare loop over as many numbers, which says how fast the machine is meanwhile.
    """
    region = region_of(count, changed)
    settle_heap()
    wall: list[float] = []
    spent: list[float] = []
    bare: list[float] = []
    steps = 0
    for _ in range(runs):
        bare.append(_bare(count))
        began, used = time.perf_counter(), time.process_time()
        _, found = cycle(region)
        wall.append(time.perf_counter() - began)
        spent.append(time.process_time() - used)
        steps = len(found.steps)
    return {
        "instances": count,
        "seconds": round(statistics.median(wall), 3),
        "processor_seconds": round(statistics.median(spent), 3),
        "bare_loops": round(statistics.median(spent) / statistics.median(bare), 1),
        "steps": steps,
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB),
    }


def _bare(count: int) -> float:
    """Processor seconds of a loop that adds up as many numbers, per addition of one of them."""
    began, total = time.process_time(), 0
    for number in range(5_000_000):
        total += number
    return (time.process_time() - began) * count / 5_000_000


def _fresh(count: int, changed: int, runs: int) -> dict[str, float]:
    """`measure` in a process that did nothing before."""
    command = [sys.executable, "-m", "benchmarks.growth", "--here", "--instances", str(count)]
    command += ["--changed", str(changed), "--runs", str(runs)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures: dict[str, float] = json.loads(answer.splitlines()[-1])
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--changed", type=int, default=1, help="percent of the fleet that is shown otherwise")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--curve", action="store_true", help="smaller sizes too")
    parser.add_argument("--here", action="store_true", help="in this process, one size")
    asked = parser.parse_args()
    if asked.here:
        print(json.dumps(measure(asked.instances, asked.changed, asked.runs)))
        return
    sizes = [size for size in CURVE if size < asked.instances] if asked.curve else []
    found = [_fresh(size, asked.changed, asked.runs) for size in (*sizes, asked.instances)]
    for one in found:
        print(
            f"{one['instances']:>9} instances: {one['seconds']:.3f} s ({one['processor_seconds']:.3f} s of processor, "
            f"{one['bare_loops']:.1f} times a bare loop as long), {one['steps']} steps, peak {one['peak_mib']} MiB"
        )
    print(json.dumps({"bench": "growth", "changed_percent": asked.changed, "runs": asked.runs, **found[-1]}))


if __name__ == "__main__":
    main()

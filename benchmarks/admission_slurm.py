"""How much later `sbatch` returns because a contract is asked for: one machine, three slurmctlds, the same jobs in turn.

The first has no plugin, the second Slurm's Lua plugin with a script that says yes, the third the rendered script and a
table of 220 contracts. Each round submits to all three in changing order; figures are medians over rounds of what the
person waits for and of what slurmctld itself books for the request. Run by `make bench-admission-slurm`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from repo_layout.admission import AdmissionView, Admitted
from repo_layout.admission_slurm import render
from tools.servers.slurm import Node, Slurm

CONTRACTS = 220
RUNS = 300
QUEUED = 1_000
"""Jobs waiting during the second pass: the plugin lists all of them at each request, whatever the script does."""
FAR_FUTURE_MS = 4_102_444_800_000
BARE = "function slurm_job_submit() return slurm.SUCCESS end\nfunction slurm_job_modify() return slurm.SUCCESS end\n"
PARTITIONS = """\
PartitionName=batch Nodes=n1 MaxTime=INFINITE State=UP
PartitionName=open Nodes=n1 Default=YES MaxTime=INFINITE State=UP
"""
JOB = "#!/bin/sh\ntrue\n"
BOOKED = re.compile(r"_slurm_rpc_submit_batch_job: JobId=\d+ .*usec=(\d+)")


@dataclass(slots=True)
class Times:
    """Milliseconds of one kind of submission: what the person waited, and what slurmctld booked."""

    waited: list[float] = field(default_factory=list)
    booked: list[float] = field(default_factory=list)


def view() -> AdmissionView:
    """As many contracts as the reference estate has, all on one cluster."""
    table = tuple(
        Admitted(
            workload=f"workload-{number:03d}",
            digest=f"{number:064x}",
            team=f"team-{number % 25:02d}",
            tier="requeued",
            restart="requeue",
            drain_budget_s=60,
            gang=1,
            maximum=64,
            vcpu=8,
            memory=32 << 30,
            gpu=0,
            partition="batch",
            account=f"team-{number % 25:02d}",
        )
        for number in range(CONTRACTS)
    )
    return AdmissionView("bench", "bench", "bench-hpc", "slurm", 1, FAR_FUTURE_MS, table)


def cluster(scripts: Mapping[str, str], *, plugin: bool) -> Slurm:
    """A slurmctld whose only node never comes up; every feature is known."""
    files = render(view())
    settings = [
        "Include ebbtide_nodes.conf",
        "MaxJobCount=100000",
        "SchedulerParameters=batch_sched_delay=60,sched_interval=60,bf_interval=60",
        *(["JobSubmitPlugins=lua"] if plugin else []),
    ]
    one = Slurm(
        nodes=[Node("n1", "CPUs=8 RealMemory=64000 Feature=plain", running=False)],
        partitions=PARTITIONS,
        settings="\n".join(settings),
        scripts={**files, **scripts},
    )
    # One value a key: this file's own wins.
    text = one.conf.read_text(encoding="utf-8")
    first, _, rest = text.partition("SchedulerParameters=")
    one.write("slurm.conf", first + rest.partition("\n")[2])
    return one


def submit(one: Slurm, times: Times, *options: str) -> None:
    """One held job, timed."""
    begin = time.perf_counter()
    done = one.run(["sbatch", "--hold", "--parsable", *options], script=JOB)
    times.waited.append((time.perf_counter() - begin) * 1e3)
    if done.returncode:
        raise RuntimeError(done.stderr)


def measure(kinds: Mapping[str, tuple[Slurm, tuple[str, ...]]], runs: int, chance: random.Random) -> dict[str, Times]:
    """`runs` rounds over all kinds in changing order; the first five warm up and are dropped."""
    times = {kind: Times() for kind in kinds}
    for _ in range(runs + 5):
        for kind in chance.sample(sorted(kinds), len(kinds)):
            one, options = kinds[kind]
            with (one.folder / "log" / "slurmctld.log").open(encoding="utf-8") as log:
                log.seek(0, os.SEEK_END)
                submit(one, times[kind], *options)
                times[kind].booked += [int(found) / 1e3 for found in BOOKED.findall(log.read())]
    for each in times.values():
        del each.waited[:5], each.booked[:5]
    return times


def figures(times: Mapping[str, Times], suffix: str) -> dict[str, float]:
    """Medians, and the medians of paired differences against the server without the plugin."""
    found: dict[str, float] = {}
    for kind, each in times.items():
        found[f"{kind}{suffix}_ms"] = round(statistics.median(each.waited), 3)
        found[f"{kind}{suffix}_server_ms"] = round(statistics.median(each.booked), 3)
    for kind in ("lua", "admitted", "elsewhere"):
        late = [a - b for a, b in zip(times[kind].waited, times["without"].waited, strict=True)]
        booked = [a - b for a, b in zip(times[kind].booked, times["without"].booked, strict=True)]
        found[f"{kind}{suffix}_added_ms"] = round(statistics.median(late), 3)
        found[f"{kind}{suffix}_server_added_ms"] = round(statistics.median(booked), 3)
    return found


def main() -> int:
    """Print a line a kind and the JSON object."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=RUNS)
    arguments.add_argument("--queued", type=int, default=QUEUED)
    asked = arguments.parse_args()
    chance = random.Random(1)
    contract = ("--comment=contract:workload-117",)
    with contextlib.ExitStack() as stack:
        without = stack.enter_context(cluster({}, plugin=False))
        lua = stack.enter_context(cluster({"job_submit.lua": BARE}, plugin=True))
        ours = stack.enter_context(cluster({}, plugin=True))
        kinds = {
            "without": (without, ("-p", "batch", "-A", "team-17", "-C", "ebbtide_workload-117", *contract)),
            "lua": (lua, ("-p", "batch", "-A", "team-17", "-C", "ebbtide_workload-117", *contract)),
            "admitted": (ours, contract),
            "elsewhere": (ours, ("-p", "open")),
        }
        found = figures(measure(kinds, asked.runs, chance), "")
        for one in (without, lua, ours):
            for _ in range(asked.queued):
                submit(one, Times(), "-p", "open")
        found |= figures(measure(kinds, asked.runs // 2, chance), "_queued")
        found["resident_mib"] = round(ours.resident_mib(), 1)
        found["without_resident_mib"] = round(without.resident_mib(), 1)
    for kind in ("without", "lua", "admitted", "elsewhere"):
        booked, later = found[f"{kind}_server_ms"], found[f"{kind}_queued_server_ms"]
        print(
            f"{kind:10} {found[f'{kind}_ms']:6.2f} ms; slurmctld books {booked:.3f}, with a long queue {later:.3f} ms"
        )
    print(
        json.dumps(
            {"bench": "admission-slurm", "contracts": CONTRACTS, "queued": asked.queued, **found, "runs": asked.runs}
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

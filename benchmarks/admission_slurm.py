"""How much later `sbatch` returns because a contract is asked for: the same jobs, in turn, to slurmctlds side by side.

One has no plugin, one Slurm's Lua plugin with a script that says yes, two the rendered script and a table of 220
contracts: for work that is admitted and for work elsewhere. Each round submits to all in changing order; figures are
medians over rounds of what the person waits for, and the processor time of slurmctld for each job. A second pass runs
with a long queue, because the plugin lists all jobs at each request. Run by `make bench-admission-slurm`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from repo_layout.admission import AdmissionView, Admitted
from repo_layout.admission_slurm import render
from tools.servers.slurm import Node, Slurm, resident_mib

CONTRACTS = 220
RUNS = 300
QUEUED = 1_000
"""Jobs that wait during the second pass."""
FAR_FUTURE_MS = 4_102_444_800_000
BARE = "function slurm_job_submit() return slurm.SUCCESS end\nfunction slurm_job_modify() return slurm.SUCCESS end\n"
PARTITIONS = """\
PartitionName=batch Nodes=n1 MaxTime=INFINITE State=UP
PartitionName=open Nodes=n1 Default=YES MaxTime=INFINITE State=UP
"""
JOB = "#!/bin/sh\ntrue\n"
Kinds = Mapping[str, tuple[Slurm, tuple[str, ...]]]


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


def submit(one: Slurm, *options: str) -> float:
    """One held job; milliseconds until `sbatch` is done."""
    begin = time.perf_counter()
    done = one.run(["sbatch", "--hold", "--parsable", *options], script=JOB)
    waited = (time.perf_counter() - begin) * 1e3
    if done.returncode:
        raise RuntimeError(done.stderr)
    return waited


def busy_ms(one: Slurm) -> float:
    """Processor time of slurmctld since it started, ended threads included."""
    fields = Path(f"/proc/{one.server().pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")


def measure(kinds: Kinds, runs: int, chance: random.Random, suffix: str) -> dict[str, float]:
    """Medians over `runs` rounds, and of the paired differences to the server without the plugin."""
    for one, options in kinds.values():
        submit(one, *options)
    before = {kind: busy_ms(one) for kind, (one, _) in kinds.items()}
    waited: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(runs):
        for kind in chance.sample(sorted(kinds), len(kinds)):
            one, options = kinds[kind]
            waited[kind].append(submit(one, *options))
    found: dict[str, float] = {}
    for kind, (one, _) in kinds.items():
        found[f"{kind}{suffix}_ms"] = round(statistics.median(waited[kind]), 2)
        found[f"{kind}{suffix}_server_ms"] = round((busy_ms(one) - before[kind]) / runs, 3)
    for kind in ("lua", "admitted", "elsewhere"):
        later = [a - b for a, b in zip(waited[kind], waited["without"], strict=True)]
        found[f"{kind}{suffix}_added_ms"] = round(statistics.median(later), 3)
    return found


def main() -> int:
    """Print a line a kind and the JSON object."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=RUNS)
    arguments.add_argument("--queued", type=int, default=QUEUED)
    asked = arguments.parse_args()
    chance = random.Random(1)
    contract = ("--comment=contract:workload-117",)
    spelt_out = ("-p", "batch", "-A", "team-17", "-C", "ebbtide_workload-117", *contract)
    with contextlib.ExitStack() as stack:
        kinds: Kinds = {
            "without": (stack.enter_context(cluster({}, plugin=False)), spelt_out),
            "lua": (stack.enter_context(cluster({"job_submit.lua": BARE}, plugin=True)), spelt_out),
            "admitted": (stack.enter_context(cluster({}, plugin=True)), contract),
            "elsewhere": (stack.enter_context(cluster({}, plugin=True)), ("-p", "open")),
        }
        found = measure(kinds, asked.runs, chance, "")
        for one, _ in kinds.values():
            for _ in range(asked.queued):
                submit(one, "-p", "open")
        found |= measure(kinds, asked.runs, chance, "_queued")
        found |= {f"{kind}_resident_mib": round(resident_mib(one.server()), 1) for kind, (one, _) in kinds.items()}
    for kind in kinds:
        waited, server = found[f"{kind}_ms"], found[f"{kind}_server_ms"]
        queued, queued_server = found[f"{kind}_queued_ms"], found[f"{kind}_queued_server_ms"]
        print(
            f"{kind:10}{waited:6.2f} ms, slurmctld busy {server:.2f} ms; "
            f"{asked.queued} jobs queued: {queued:.2f} ms, {queued_server:.2f} ms"
        )
    print(
        json.dumps(
            {"bench": "admission-slurm", "contracts": CONTRACTS, "queued": asked.queued, **found, "runs": asked.runs}
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The cluster and the contracts that the tests of Slurm's admission share, and how they submit and look."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from repo_layout.admission import AdmissionView, Admitted
from repo_layout.admission_slurm import features_of, render
from tools.servers.process import wait_until
from tools.servers.slurm import UNPRIVILEGED, Node, Slurm, missing

GIB = 1 << 30
FAR_FUTURE_MS = 4_102_444_800_000  # 2100-01-01
PAST_MS = 1_000_000_000_000  # 2001-09-09
SLEEP = "#!/bin/sh\nexec sleep 60\n"
SOON_S = 90.0  # on a machine that is busy with other things; what waits goes on as soon as it may


def contract(workload: str, **changes: Any) -> Admitted:  # noqa: ANN401 - fields of Admitted, each of its own type
    """A contract of two CPUs and 4 GiB a unit, at most four units, for account risk in partition batch."""
    plain = Admitted(
        workload=workload,
        digest=workload.encode().hex().ljust(64, "0")[:64],
        team="risk",
        tier="requeued",
        restart="requeue",
        drain_budget_s=30,
        gang=1,
        maximum=4,
        vcpu=2,
        memory=4 * GIB,
        gpu=0,
        partition="batch",
        account="risk",
    )
    return dataclasses.replace(plain, **changes)


CONTRACTS = (
    contract("alpha"),
    contract("beta", restart="from-checkpoint", gpu=2, maximum=8),
    contract("gang", gang=2, maximum=8),
    contract("pinned", restart="never"),
    contract("stale", expires_ms=PAST_MS),
    contract("elsewhere", partition="large", account="search"),
    contract("unborn"),
    contract("trained", gpu=4, gpu_family="h100", restart="from-checkpoint"),
)


def view(*contracts: Admitted, version: int = 7, expires_ms: int = FAR_FUTURE_MS) -> AdmissionView:
    return AdmissionView("example", "aarhus", "aarhus-hpc", "slurm", version, expires_ms, contracts or CONTRACTS)


def instance(name: str, workload: str, *more: str) -> Node:
    """A node that carries what an instance of a workload carries when it joins."""
    entry = next(one for one in CONTRACTS if one.workload == workload)
    features = (*features_of(entry.workload, entry.partition), *more)
    return Node(name, f"CPUs=8 RealMemory=64000 Feature={','.join(features)}")


PARTITIONS = """\
PartitionName=batch Nodes=ebbtide_batch MaxTime=INFINITE State=UP
PartitionName=large Nodes=ebbtide_large MaxTime=INFINITE State=UP
PartitionName=open Nodes=n3 Default=YES MaxTime=INFINITE State=UP
PartitionName=everything Nodes=ALL MaxTime=INFINITE State=UP
"""


def cluster_of(*nodes: Node, scripts: Mapping[str, str] | None = None, settings: str = "JobSubmitPlugins=lua") -> Slurm:
    """A cluster, not yet started, with the files of `view()` or others; skips where a person chose to go without."""
    if missing() and os.environ.get("EBBTIDE_WITHOUT_SLURM"):
        pytest.skip("EBBTIDE_WITHOUT_SLURM is set, and Slurm is not installed")
    return Slurm(
        nodes=nodes or (Node("n3"),),
        partitions=PARTITIONS,
        settings=f"{settings}\nJobRequeue=0\nInclude ebbtide_nodes.conf",
        scripts=render(view()) if scripts is None else scripts,
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person saw, and the job's id (0 when it was refused)."""

    job: int
    said: str

    @property
    def admitted(self) -> bool:
        return self.job > 0


def submit(cluster: Slurm, *options: str, user: str = UNPRIVILEGED, script: str = SLEEP, hold: bool = True) -> Answer:
    """`sbatch` of a script, held so that nothing runs unless it should."""
    held = ("--hold",) if hold else ()
    # A colon starts the next part of a heterogeneous job, with its own options.
    told = [part for option in options for part in ((":", *held) if option == ":" else (option,))]
    done = cluster.run(["sbatch", *held, *told], user=user, script=script)
    found = re.search(r"Submitted batch job (\d+)", done.stdout)
    assert (done.returncode == 0) == (found is not None), done
    return Answer(int(found[1]) if found else 0, done.stderr)


def shown(cluster: Slurm, job: int) -> dict[str, str]:
    """The fields of one job as `scontrol show job` has them."""
    text = cluster.run(["scontrol", "show", "job", "-o", str(job)]).stdout
    return dict(re.findall(r"(?:^|\s)([A-Za-z/:]+)=((?:(?!\s[A-Za-z/:]+=).)*)", text.splitlines()[0] if text else ""))


def state_is(cluster: Slurm, job: int, state: str) -> bool:
    return shown(cluster, job).get("JobState") == state


def becomes(cluster: Slurm, job: int, state: str, *, within_s: float = SOON_S) -> bool:
    return wait_until(partial(state_is, cluster, job, state), within_s=within_s, every_s=0.1)


def clear(cluster: Slurm) -> None:
    """No job left, so that the next test's finds the nodes free."""
    for user in ("root", UNPRIVILEGED):
        cluster.run(["scancel", "--full", "--signal=KILL", f"--user={user}"])
        cluster.run(["scancel", f"--user={user}"])


@contextlib.contextmanager
def joined(cluster: Slurm, name: str, features: str) -> Iterator[str]:
    """A dynamic node that registers, and is gone from slurmctld's lists afterwards, with every job."""
    cluster.start_node(name, dynamic=f"CPUs=8 RealMemory=64000 Feature={features}")
    try:
        # A job may wait for it and start before we look.
        look = ["sinfo", "-h", "-N", "-n", name, "-o", "%t"]
        up = {"idle", "mix", "alloc"}
        assert wait_until(lambda: bool(up & set(cluster.run(look).stdout.split())), within_s=SOON_S), cluster.log(name)
        yield name
    finally:
        clear(cluster)
        cluster.end(name)
        delete = ["scontrol", "delete", f"nodename={name}"]
        assert wait_until(lambda: cluster.run(delete).returncode == 0, within_s=SOON_S, every_s=0.1), cluster.log()


@contextlib.contextmanager
def reserved(cluster: Slurm, name: str, what: str) -> Iterator[str]:
    """A reservation of now for everybody, as the option of `sbatch` that asks for it; no job is left afterwards."""
    when = ["starttime=now", "duration=60", f"users=root,{UNPRIVILEGED}", "flags=ignore_jobs"]
    done = cluster.run(["scontrol", "create", "reservation", f"reservationname={name}", *when, *what.split()])
    assert done.returncode == 0, done
    try:
        yield f"--reservation={name}"
    finally:
        clear(cluster)
        cluster.run(["scontrol", "delete", f"reservation={name}"])


def started(*nodes: Node) -> Iterator[Slurm]:
    with cluster_of(*nodes) as cluster:
        yield cluster

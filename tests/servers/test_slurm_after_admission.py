"""What a real slurmctld lets happen to jobs, partitions and nodes after admission: the ways around the filter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from repo_layout.admission_slurm import TABLE, table
from tests.servers.slurm_case import PAST_MS, SOON_S, becomes, clear, instance, joined, shown, started, submit, view
from tools.servers.process import wait_until
from tools.servers.slurm import UNPRIVILEGED, Node, Slurm

ALPHA = "--comment=contract:alpha"
DENIED = "Access/permission denied"


@pytest.fixture(name="whole", scope="module")
def _whole() -> Iterator[Slurm]:
    yield from started(instance("n1", "alpha"), instance("n2", "beta"), Node("n3"))


@pytest.fixture(name="cluster")
def _cluster(whole: Slurm) -> Iterator[Slurm]:
    yield whole
    clear(whole)


def update(cluster: Slurm, job: int, *changes: str, user: str = UNPRIVILEGED) -> str:
    """What `scontrol update` of a job said; empty when it was done."""
    done = cluster.run(["scontrol", "update", f"jobid={job}", *changes], user=user)
    assert (done.returncode == 0) == (done.stderr == ""), done
    return done.stderr


def scontrol(cluster: Slurm, *words: str) -> None:
    """An operator's command, done."""
    done = cluster.run(["scontrol", *words])
    assert done.returncode == 0, done


@pytest.mark.parametrize("user", [UNPRIVILEGED, "root"])
@pytest.mark.parametrize(
    "change",
    [
        "comment=contract:beta",
        "comment=",
        "partition=open",
        "account=physics",
        "requeue=0",
        "features=ebbtide_beta",
        "features=",
        "prefer=ebbtide_beta",
        "numcpus=100",
        "numnodes=4",
        "minmemorynode=63000",
        "minmemorycpu=9000",
        "tresperjob=gres:gpu:4",
        "gres=gpu:4",
    ],
)
def test_nobody_changes_what_was_admitted(cluster: Slurm, change: str, user: str) -> None:
    job = submit(cluster, ALPHA).job
    before = shown(cluster, job)
    assert DENIED in update(cluster, job, change, user=user)
    assert shown(cluster, job) == before


def test_the_log_says_who_tried_to_change_what_since_slurm_tells_them_nothing(cluster: Slurm) -> None:
    job = submit(cluster, ALPHA).job
    update(cluster, job, "partition=open")
    assert f"ebbtide: job {job}, uid 65534: partition: settled at submission; " in cluster.log()
    assert "is not supported" not in cluster.log()


def test_an_operator_does_not_forge_the_mark_of_admission(cluster: Slurm) -> None:
    job = submit(cluster, ALPHA).job
    assert DENIED in update(cluster, job, "admincomment=none", user="root")
    other = submit(cluster).job
    assert update(cluster, other, "admincomment=mine", user="root") == ""


@pytest.mark.parametrize("change", ["timelimit=5", "nice=100", "name=other", "mailuser=x@example.org"])
def test_everything_else_about_an_admitted_job_stays_the_persons_own(cluster: Slurm, change: str) -> None:
    assert update(cluster, submit(cluster, ALPHA).job, change) == ""


def test_saying_again_what_holds_is_no_change(cluster: Slurm) -> None:
    job = submit(cluster, ALPHA).job
    assert update(cluster, job, "comment=contract:alpha", "partition=batch", "account=risk") == ""


def test_hold_and_release_work(cluster: Slurm) -> None:
    job = submit(cluster, ALPHA).job
    assert cluster.run(["scontrol", "release", str(job)], user=UNPRIVILEGED).returncode == 0
    assert becomes(cluster, job, "RUNNING")


@pytest.mark.parametrize("user", [UNPRIVILEGED, "root"])
@pytest.mark.parametrize("change", ["partition=batch", "partition=open,batch", "features=ebbtide_alpha"])
def test_no_job_is_moved_into_reclaimable_capacity(cluster: Slurm, change: str, user: str) -> None:
    job = submit(cluster, ALPHA, "-p", "open").job
    assert DENIED in update(cluster, job, change, user=user)
    assert shown(cluster, job)["Partition"] == "open"


def test_a_job_elsewhere_is_changed_freely(cluster: Slurm) -> None:
    job = submit(cluster).job
    assert update(cluster, job, "comment=contract:alpha", "requeue=0", "numcpus=4", "account=physics") == ""


def test_a_requeued_job_keeps_its_contract_and_returns_to_its_own_instances(cluster: Slurm) -> None:
    job = submit(cluster, ALPHA, hold=False).job
    assert becomes(cluster, job, "RUNNING")
    assert cluster.run(["scontrol", "requeue", str(job)], user=UNPRIVILEGED).returncode == 0
    assert wait_until(lambda: shown(cluster, job)["Restarts"] == "1", within_s=SOON_S)
    seen = shown(cluster, job)
    assert (seen["Features"], seen["Partition"], seen["Requeue"]) == ("ebbtide_alpha", "batch", "1")
    assert DENIED in update(cluster, job, "features=")


def test_a_requeued_job_goes_on_although_the_bundle_has_expired_since(cluster: Slurm) -> None:
    job = submit(cluster, ALPHA, hold=False).job
    assert becomes(cluster, job, "RUNNING")
    cluster.write(TABLE, table(view(version=8, expires_ms=PAST_MS)))
    try:
        assert "has expired" in submit(cluster, ALPHA).said
        assert cluster.run(["scontrol", "requeue", str(job)]).returncode == 0
        assert wait_until(lambda: shown(cluster, job)["Restarts"] == "1", within_s=SOON_S)
        assert shown(cluster, job)["JobState"] in {"PENDING", "COMPLETING", "RUNNING"}
    finally:
        cluster.write(TABLE, table(view(version=9)))
    assert submit(cluster, ALPHA).admitted


def test_a_node_that_is_lost_puts_its_job_back_in_the_queue(cluster: Slurm) -> None:
    job = submit(cluster, ALPHA, hold=False).job
    assert becomes(cluster, job, "RUNNING")
    cluster.run(["scontrol", "update", "nodename=n1", "state=down", "reason=reclaimed"])
    assert wait_until(lambda: shown(cluster, job)["Restarts"] == "1", within_s=SOON_S)
    cluster.run(["scontrol", "update", "nodename=n1", "state=resume"])


def test_the_throttle_of_an_array_is_raised_behind_the_scripts_back(cluster: Slurm) -> None:
    job = submit(cluster, ALPHA, "-a", "0-99").job
    assert shown(cluster, job)["ArrayTaskThrottle"] == "4"
    assert update(cluster, job, "arraytaskthrottle=50") == ""
    assert shown(cluster, job)["ArrayTaskThrottle"] == "50", "Slurm sets it before it asks; the instances bound it then"


def test_a_partition_that_an_operator_makes_of_instances_is_reclaimable_at_once(cluster: Slurm) -> None:
    with joined(cluster, "eb-aarhus-9-000042", "ebbtide_x") as name:
        scontrol(cluster, "create", "partitionname=shortcut", f"nodes={name}", "state=up")
        try:
            assert "partition shortcut is reclaimable capacity" in submit(cluster, "-p", "shortcut").said
            assert submit(cluster, "-p", "open").admitted
            scontrol(cluster, "update", "partitionname=open", f"nodes=n3,{name}")
            assert "partition open is reclaimable capacity" in submit(cluster).said
        finally:
            scontrol(cluster, "update", "partitionname=open", "nodes=n3")
            clear(cluster)
            scontrol(cluster, "delete", "partitionname=shortcut")
    assert submit(cluster).admitted


def test_a_job_that_waited_when_an_operator_added_instances_is_not_judged_again(cluster: Slurm) -> None:
    job = submit(cluster).job
    with joined(cluster, "eb-aarhus-9-000043", "ebbtide_x") as name:
        scontrol(cluster, "update", "partitionname=open", f"nodes={name}")
        try:
            scontrol(cluster, "release", str(job))
            assert becomes(cluster, job, "RUNNING"), shown(cluster, job)
            assert shown(cluster, job)["NodeList"] == name, "this is the operator's own doing"
        finally:
            clear(cluster)
            scontrol(cluster, "update", "partitionname=open", "nodes=n3")


def test_a_reservation_opens_nothing(cluster: Slurm) -> None:
    reserve = ["reservationname=mine", "starttime=now", "duration=60", f"users={UNPRIVILEGED}", "nodes=n1"]
    assert cluster.run(["scontrol", "create", *reserve]).returncode == 0
    try:
        assert "names no contract" in submit(cluster, "--reservation=mine", "-p", "batch").said
        wrong = submit(cluster, "--reservation=mine", "--comment=contract:beta", hold=False)
        assert not wrong.admitted or shown(cluster, wrong.job)["JobState"] == "PENDING"
    finally:
        clear(cluster)
        cluster.run(["scontrol", "delete", "reservationname=mine"])


def test_a_partition_that_passes_its_jobs_on_to_a_reclaimable_one_counts_as_one(cluster: Slurm) -> None:
    cluster.run(["scontrol", "update", "partitionname=open", "alternate=batch", "state=drain"])
    try:
        assert "is reclaimable capacity, and this job names no contract" in submit(cluster).said
    finally:
        cluster.run(["scontrol", "update", "partitionname=open", "alternate=none", "state=up"])
    assert submit(cluster).admitted


def test_one_element_and_one_part_are_held_to_their_contract_as_the_whole_is(cluster: Slurm) -> None:
    array = submit(cluster, ALPHA, "-a", "0-3").job
    parts = submit(cluster, ALPHA, ":", "--comment=contract:beta").job
    for job in (f"{array}_2", f"{array}_[0-3]", f"{parts}+1"):
        done = cluster.run(["scontrol", "update", f"jobid={job}", "features="])
        assert DENIED in done.stderr, job


def test_a_test_of_when_a_job_would_start_is_judged_too(cluster: Slurm) -> None:
    assert "names no contract" in submit(cluster, "--test-only", "-p", "batch").said


def test_a_step_inside_an_admitted_job_is_not_asked_again(cluster: Slurm) -> None:
    script = "#!/bin/sh\nsrun --comment=x printenv SLURMD_NODENAME\nexec sleep 60\n"
    job = submit(cluster, ALPHA, script=script, hold=False).job
    assert becomes(cluster, job, "RUNNING")
    output = cluster.folder / "work" / f"slurm-{job}.out"
    assert wait_until(lambda: output.read_text(encoding="utf-8") == "n1\n", within_s=SOON_S)

"""What a real slurmctld answers when work asks for reclaimable capacity, under the rendered script and table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.slurm_case import CONTRACTS, becomes, clear, instance, joined, reserved, shown, started, submit
from tools.servers.process import wait_until
from tools.servers.slurm import UNPRIVILEGED, Node, Slurm

ALPHA = "--comment=contract:alpha"
BETA = "--comment=contract:beta"
GANG = "--comment=contract:gang"


@pytest.fixture(name="whole", scope="module")
def _whole() -> Iterator[Slurm]:
    nodes = (instance("n1", "alpha", "fast"), instance("n2", "beta", "slow"), Node("n3"))
    yield from started(*nodes)


@pytest.fixture(name="cluster")
def _cluster(whole: Slurm) -> Iterator[Slurm]:
    yield whole
    clear(whole)


def turn_of_a_second() -> None:
    """Slurmctld counts in seconds: what comes next falls into another one."""
    wait_until(lambda: False, within_s=1.1)


def test_a_job_without_a_contract_is_told_what_to_add_and_which_contracts_there_are(cluster: Slurm) -> None:
    answer = submit(cluster, "-p", "batch")
    assert not answer.admitted
    assert "partition batch is reclaimable capacity, and this job names no contract" in answer.said
    assert "add --comment=contract:NAME" in answer.said
    assert "alpha, beta, gang" in answer.said
    assert "contracts/<team>/<workload>.yaml" in answer.said


def test_work_elsewhere_is_left_as_it_is(cluster: Slurm) -> None:
    answer = submit(cluster, "--comment=mine", "--no-requeue", "-A", "physics")
    seen = shown(cluster, answer.job)
    assert (seen["Partition"], seen["Comment"].strip(), seen["Requeue"]) == ("open", "mine", "0")
    assert (seen["Features"], seen["Account"]) == ("(null)", "physics")
    assert "AdminComment" not in seen


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("contract:nothing", ("no contract nothing is admitted on this cluster", "ebbtide explain contract nothing")),
        ("contract:", ("names no contract",)),
        ("see contract:alpha", ("names no contract",)),
        ("contract:alpha@deadbeef", ("contract alpha was altered", "contracts/risk/alpha.yaml")),
        (f"contract:alpha@{CONTRACTS[0].digest[:7]}", ("contract alpha was altered",)),
        ("contract:stale", ("contract stale has expired", "contracts/risk/stale.yaml")),
        ("contract:%s%n", ("no contract %s%n is admitted",)),
        ("contract:a\x1b[31m", ("no contract a?[31m is admitted",)),
    ],
)
def test_a_contract_that_does_not_hold_is_refused_with_its_reason(
    cluster: Slurm, comment: str, words: tuple[str, ...]
) -> None:
    answer = submit(cluster, "-p", "batch", f"--comment={comment}")
    assert not answer.admitted
    assert [word for word in words if word not in answer.said] == []


def test_the_contract_alone_brings_partition_account_requeue_and_its_own_instances(cluster: Slurm) -> None:
    seen = shown(cluster, submit(cluster, f"{ALPHA}@{CONTRACTS[0].digest[:12]} nightly").job)
    assert (seen["Partition"], seen["Account"], seen["Requeue"]) == ("batch", "risk", "1")
    assert seen["Features"] == "ebbtide_alpha"
    assert seen["AdminComment"].strip() == f"ebbtide contract:alpha@{CONTRACTS[0].digest[:12]} version:7"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-p", "open,batch", ALPHA), "holds for partition batch, and this job asks for open,batch"),
        (("-p", "batch,large", ALPHA), "holds for partition batch, and this job asks for batch,large"),
        (("-p", "large", ALPHA), "holds for partition batch, and this job asks for large"),
        (("-p", "everything"), "partition everything is reclaimable capacity"),
        (("-p", "everything", ALPHA), "holds for partition batch, and this job asks for everything"),
        (("-A", "physics", ALPHA), "holds for account risk, and this job is charged to physics"),
        (
            (
                "-C",
                "ebbtide_alpha",
            ),
            "names no contract",
        ),
        (("-p", "open", "--prefer=ebbtide_alpha"), "names no contract"),
        (("-C", "ebbtide_beta", ALPHA), "--constraint=ebbtide_beta names instances of Ebbtide"),
        (("--prefer=ebbtide_beta", ALPHA), "--prefer=ebbtide_beta names instances of Ebbtide"),
        (("-C", "[fast|slow]", ALPHA), "cannot be joined"),
        (("-C", "fast|slow&x", ALPHA), "cannot be joined"),
    ],
)
def test_another_partition_account_or_constraint_does_not_lead_around_the_contract(
    cluster: Slurm, options: tuple[str, ...], words: str
) -> None:
    answer = submit(cluster, *options)
    assert not answer.admitted
    assert words in answer.said


def test_a_reservation_without_a_partition_does_not_lead_around_the_contract(cluster: Slurm) -> None:
    submit(cluster)
    turn_of_a_second()  # slurmctld hands its script the reservations of this second once
    with reserved(cluster, "lent", "nodes=n1 partitionname=batch") as lent:
        assert "names no contract" in submit(cluster, lent).said
        assert shown(cluster, submit(cluster, lent, ALPHA).job)["Features"] == "ebbtide_alpha"
        turn_of_a_second()
        with reserved(cluster, "plain", "nodes=n3 partitionname=open") as plain:
            assert shown(cluster, submit(cluster, plain).job)["Partition"] == "open"
            # Slurm takes the default partition for several.
            assert shown(cluster, submit(cluster, f"{lent},plain").job)["Partition"] == "open"


def test_a_reservation_that_the_script_is_not_told_of_does_not_lead_around_the_contract(cluster: Slurm) -> None:
    turn_of_a_second()
    with reserved(cluster, "first", "nodes=n3 partitionname=open") as first:
        assert submit(cluster, first).admitted
        with reserved(cluster, "second", "nodes=n1 partitionname=batch") as second:
            said = submit(cluster, second).said
            assert "has not told of reservation second" in said or "names no contract" in said
            assert "names no contract" in submit(cluster, second, "-p", "batch").said
            assert submit(cluster, second, ALPHA).admitted


def test_root_and_a_wckey_get_no_exception(cluster: Slurm) -> None:
    assert "names no contract" in submit(cluster, "-p", "batch", user="root").said
    assert "names no contract" in submit(cluster, "-p", "batch", "--wckey=contract:alpha").said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-n", "9"), "this job needs 9 CPUs, 0 MiB and 0 GPUs, 5 units of alpha, and its maximum is 4"),
        (("-N", "5"), "5 CPUs, 0 MiB and 0 GPUs on 5 nodes, 5 units"),
        (("-N", "3", "--ntasks-per-node=4"), "12 CPUs"),
        (("-c", "3"), "one task asks for 3 CPUs"),
        (("--mem=5G",), "one task asks for 1 CPUs, 5120 MiB"),
        (("-n", "2", "-N", "1", "--mem=17G"), "17408 MiB and 0 GPUs, 5 units"),
        (("-n", "8", "--mem-per-cpu=3G"), "24576 MiB and 0 GPUs, 6 units"),
        (("--gres=gpu:1",), "asks for GPUs, and contract alpha has none"),
        (("--gpus=1",), "asks for GPUs"),
        (("-n", "1", "--gpus-per-task=1"), "asks for GPUs"),
        (("-a", "0-3", "-n", "10"), "10 CPUs"),
    ],
)
def test_a_job_larger_than_its_contract_is_refused_with_the_numbers(
    cluster: Slurm, options: tuple[str, ...], words: str
) -> None:
    answer = submit(cluster, ALPHA, *options)
    assert not answer.admitted
    assert words in answer.said
    assert "contracts/risk/alpha.yaml" in answer.said


@pytest.mark.parametrize(
    ("options", "admitted"),
    [
        (("--gpus=16",), True),
        (("--gpus=17",), False),
        (("-N", "4", "--gpus-per-node=4"), True),
        (("-N", "5", "--gpus-per-node=4"), False),
        (("-N", "2", "--gres=gpu:tpu:9"), False),
        (("-n", "2", "--gpus-per-task=3"), False),
        (("--gpus=4", "--cpus-per-gpu=5"), False),
        (("--gpus=4", "--mem-per-gpu=9G"), False),
        (("--gpus=8", "--ntasks-per-gpu=2"), True),
        (("--gpus=8", "--ntasks-per-gpu=3"), False),
    ],
)
def test_gpus_count_however_they_are_asked_for(cluster: Slurm, options: tuple[str, ...], admitted: bool) -> None:
    answer = submit(cluster, BETA, *options)
    assert answer.admitted == admitted, answer.said
    assert admitted or "ebbtide: " in answer.said


def test_gpus_of_a_type_are_those_of_the_contracts_family_and_wait_like_any(cluster: Slurm) -> None:
    trained = "--comment=contract:trained"
    assert submit(cluster, trained, "-N", "2", "--gres=gpu:h100:4").admitted
    assert submit(cluster, trained, "--gpus=8").admitted
    answer = submit(cluster, trained, "--gpus=a100:2")
    assert "asks for GPUs of type a100, and contract trained has h100" in answer.said
    assert "eligibility.gpuFamily" in answer.said
    assert "17 GPUs, 5 units of trained" in submit(cluster, trained, "--gpus=h100:17").said


def test_a_gang_is_taken_whole(cluster: Slurm) -> None:
    assert submit(cluster, GANG, "-n", "4").admitted
    answer = submit(cluster, GANG, "-n", "5")
    assert "this job takes 3 units, and gang runs in whole gangs of 2" in answer.said


@pytest.mark.parametrize(
    ("asked", "limit", "told"),
    [
        ("0-99", "4", True),
        ("0-9%2", "2", False),
        ("0-9%8", "4", True),
        ("1,3,5", "", False),
        ("0-20:10", "", False),
        ("[0-99]", "4", True),
        ("[0-99%8]", "4", True),
        ("1-3,[4-50]", "4", True),
        ("+1-99", "4", True),
        ("0-9%2%8", "4", True),
        ("[0-3]", "", False),
    ],
)
def test_an_array_runs_no_more_at_once_than_its_contract_has(
    cluster: Slurm, asked: str, limit: str, told: bool
) -> None:
    answer = submit(cluster, ALPHA, "-a", asked)
    assert shown(cluster, answer.job).get("ArrayTaskThrottle", "") == limit
    assert ("elements of this array run at once" in answer.said) == told


def test_every_part_of_a_heterogeneous_job_is_judged(cluster: Slurm) -> None:
    assert submit(cluster, ALPHA, "-n2", ":", BETA, "-n4").admitted
    assert "names no contract" in submit(cluster, ALPHA, ":", "-p", "batch", "--comment=x").said
    assert "16 CPUs, 0 MiB and 0 GPUs, 8 units" in submit(cluster, BETA, ":", ALPHA, "-n16").said


def test_the_parts_of_a_heterogeneous_job_count_together(cluster: Slurm) -> None:
    answer = submit(cluster, ALPHA, "-n6", ":", ALPHA, "-n6")
    assert "the parts of this job take 6 units of alpha, and its maximum is 4" in answer.said
    assert submit(cluster, ALPHA, "-n4", ":", ALPHA, "-n4").admitted


def test_no_requeue_is_refused_with_the_field_of_the_contract(cluster: Slurm) -> None:
    answer = submit(cluster, ALPHA, "--no-requeue")
    assert "--no-requeue contradicts restart: requeue of contract alpha" in answer.said
    assert "change restart in contracts/risk/alpha.yaml" in answer.said
    script = "#!/bin/sh\n#SBATCH --no-requeue\ntrue\n"
    assert "--no-requeue contradicts restart: from-checkpoint" in submit(cluster, BETA, script=script).said


def test_work_that_never_restarts_is_never_requeued(cluster: Slurm) -> None:
    pinned = "--comment=contract:pinned"
    assert shown(cluster, submit(cluster, pinned).job)["Requeue"] == "0"
    assert "--requeue asks for what contract pinned rules out" in submit(cluster, pinned, "--requeue").said


@pytest.mark.parametrize("program", ["srun", "salloc"])
def test_interactive_work_cannot_promise_to_be_requeued(cluster: Slurm, program: str) -> None:
    refused = cluster.run([program, ALPHA, "true"], user=UNPRIVILEGED)
    assert refused.returncode != 0
    assert "Slurm requeues batch jobs only" in refused.stderr
    assert "names no contract" in cluster.run([program, "-p", "batch", "true"], user=UNPRIVILEGED).stderr


def test_interactive_work_under_another_restart_runs_and_is_told_so(cluster: Slurm) -> None:
    done = cluster.run(["srun", BETA, "printenv", "SLURMD_NODENAME"], user=UNPRIVILEGED)
    assert (done.returncode, done.stdout) == (0, "n2\n"), done.stderr
    assert "is not started again when its node is taken back" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        (ALPHA,),
        (ALPHA, "-C", "fast"),
        (ALPHA, "-C", "slow|fast"),
        (ALPHA, "--prefer=fast"),
        (ALPHA, "--prefer=slow|fast"),
    ],
)
def test_a_job_lands_on_the_instances_of_its_own_workload(cluster: Slurm, options: tuple[str, ...]) -> None:
    answer = submit(cluster, *options, hold=False)
    assert becomes(cluster, answer.job, "RUNNING"), answer.said
    assert shown(cluster, answer.job)["NodeList"] == "n1"


def test_a_job_waits_rather_than_stand_on_the_instances_of_another(cluster: Slurm) -> None:
    waiting = submit(cluster, "--comment=contract:unborn", hold=False)
    pinned_to_other = submit(cluster, ALPHA, "-w", "n2", hold=False)
    behind = submit(cluster, ALPHA, hold=False)
    assert becomes(cluster, behind.job, "RUNNING"), "work that waits for instances must not hold up work that has some"
    assert shown(cluster, waiting.job)["JobState"] == "PENDING"
    assert not pinned_to_other.admitted or shown(cluster, pinned_to_other.job)["JobState"] == "PENDING"


def test_a_job_waits_for_an_instance_that_joins_as_a_dynamic_node_and_runs_there(cluster: Slurm) -> None:
    answer = submit(cluster, "--comment=contract:elsewhere", hold=False)
    assert shown(cluster, answer.job)["JobState"] == "PENDING"
    with joined(cluster, "eb-aarhus-1-000001", "ebbtide_elsewhere,ebbtide_partition_large"):
        assert becomes(cluster, answer.job, "RUNNING")
        assert shown(cluster, answer.job)["NodeList"] == "eb-aarhus-1-000001"

"""What a real slurmctld does when the check itself is late, broken or missing: each answer stands in the documents."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
from collections.abc import Iterator, Mapping

import pytest

from repo_layout.admission_slurm import NODES, SCRIPT, TABLE, render, table
from tests.servers.slurm_case import CONTRACTS, PAST_MS, clear, cluster_of, contract, submit, view
from tools.servers.process import NotReadyError
from tools.servers.slurm import Node, Slurm

ALPHA = "--comment=contract:alpha"
IDLE = Node("n3", running=False)
UNREADABLE = "its contracts cannot be read"
TIMES = itertools.count(4_000_000_000)  # times of change, each later than all before


@pytest.fixture(name="whole", scope="module")
def _whole() -> Iterator[Slurm]:
    with cluster_of(IDLE) as cluster:
        yield cluster


@pytest.fixture(name="cluster")
def _cluster(whole: Slurm) -> Iterator[Slurm]:
    """The shared cluster, with a fresh script and its first table: a script that was touched forgets the table."""
    whole.write(TABLE, table(view()))
    renew_script(whole, render(view())[SCRIPT])
    yield whole
    clear(whole)


def renew_script(cluster: Slurm, text: str) -> None:
    """Slurm takes a script whose time of change is later, in whole seconds, than that of the one it has."""
    later = next(TIMES)
    os.utime(cluster.write(SCRIPT, text), (later, later))


@contextlib.contextmanager
def logs(cluster: Slurm, words: str) -> Iterator[None]:
    """Slurmctld says it within the block: the log of the shared cluster holds what earlier tests brought about."""
    before = len(cluster.log())
    yield
    assert words in cluster.log()[before:]


def without(*names: str) -> Mapping[str, str]:
    return {name: text for name, text in render(view()).items() if name not in names}


def fresh(text: str = "", *, scripts: Mapping[str, str] | None = None) -> Slurm:
    """A cluster of its own whose script, or all files, are others."""
    return cluster_of(IDLE, scripts=scripts if scripts is not None else {**render(view()), SCRIPT: text})


# A table that changes


def test_a_new_table_is_in_force_at_the_next_job(cluster: Slurm) -> None:
    assert not submit(cluster, "--comment=contract:newcomer", "-p", "batch").admitted
    assert submit(cluster, ALPHA).admitted
    cluster.write(TABLE, table(view(contract("unborn"), version=8)))
    assert submit(cluster, "--comment=contract:unborn").admitted
    assert "no contract alpha is admitted" in submit(cluster, "-p", "batch", ALPHA).said


def test_a_digest_that_changed_refuses_who_means_the_old_contract(cluster: Slurm) -> None:
    pinned = f"{ALPHA}@{CONTRACTS[0].digest[:16]}"
    assert submit(cluster, pinned).admitted
    cluster.write(TABLE, table(view(contract("alpha", digest="f" * 64), version=8)))
    assert "contract alpha was altered" in submit(cluster, pinned).said
    assert submit(cluster, ALPHA).admitted


def test_an_expired_bundle_admits_nothing_more(cluster: Slurm) -> None:
    cluster.write(TABLE, table(view(expires_ms=PAST_MS, version=8)))
    answer = submit(cluster, ALPHA)
    assert "the bundle of contracts, version 8, has expired" in answer.said
    assert "`ebbtide sign`, then `ebbtide admission`" in answer.said
    assert submit(cluster, "-p", "open").admitted


BROKEN = {
    "empty": "",
    "cut short": table(view(version=9))[:900],
    "cut in its last line": table(view(version=9))[:-10],
    "not lua": table(view(version=9)).replace("return {", "return {{{"),
    "a program that never ends": table(view(version=9)).replace("return {", "while true do end return {", 1),
    "a call": table(view(version=9)).replace("return {", "os.execute('true') return {", 1),
    "an entry without a size": table(view(version=9)).replace("vcpu = 2", "vcpu = 0"),
    "an entry without a field": table(view(version=9)).replace("restart = ", "restarts = "),
    "another format": table(view(version=9)).replace("format = 1", "format = 2"),
    "an older version": table(view(version=6)),
    "not text": "\x1bLua" + table(view(version=9)),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_table_leaves_the_last_good_one_in_force_and_says_so_in_the_log(cluster: Slurm, fault: str) -> None:
    assert submit(cluster, ALPHA).admitted
    before = len(cluster.log())
    cluster.write(TABLE, BROKEN[fault])
    assert submit(cluster, ALPHA).admitted
    assert submit(cluster, ALPHA).admitted
    told = cluster.log()[before:]
    assert told.count(f"{TABLE} is not taken: ") == 1
    assert "version 7 stays in force" in told


def test_a_table_that_is_gone_leaves_the_last_good_one_in_force(cluster: Slurm) -> None:
    assert submit(cluster, ALPHA).admitted
    (cluster.folder / "etc" / TABLE).unlink()
    with logs(cluster, "No such file or directory; version 7 stays in force"):
        assert submit(cluster, ALPHA).admitted


def test_without_any_table_reclaimable_partitions_take_nothing_and_the_others_everything(cluster: Slurm) -> None:
    with fresh(scripts=without(TABLE)) as bare:
        answer = submit(bare, "-p", "batch", ALPHA)
        assert UNREADABLE in answer.said
        assert "`ebbtide admission`" in answer.said
        assert UNREADABLE in submit(bare, "-C", "ebbtide_alpha").said
        assert submit(bare, "-p", "open").admitted
        assert submit(bare, ALPHA).admitted, "without a table the comment leads nowhere: the job stays in its partition"
        assert "no job enters reclaimable partitions" in bare.log()
        bare.write(TABLE, table(view()))
        assert submit(bare, "-p", "batch", ALPHA).admitted


def test_a_renewed_script_forgets_the_table_so_that_both_have_to_be_whole(cluster: Slurm) -> None:
    assert submit(cluster, ALPHA).admitted
    cluster.write(TABLE, "")
    renew_script(cluster, render(view())[SCRIPT])
    assert UNREADABLE in submit(cluster, "-p", "batch", ALPHA).said
    assert submit(cluster, "-p", "open").admitted


# A script that changes


@pytest.mark.parametrize("text", ["function slurm_job_submit(", "error('at load')", "return 1", "x = 1"])
def test_a_broken_script_leaves_the_last_good_one_in_force(cluster: Slurm, text: str) -> None:
    renew_script(cluster, text)
    with logs(cluster, "using previous script"):
        assert "names no contract" in submit(cluster, "-p", "batch").said


def test_a_script_that_is_gone_stays_in_force_until_slurmctld_ends(cluster: Slurm) -> None:
    (cluster.folder / "etc" / SCRIPT).unlink()
    with logs(cluster, "using old script"):
        assert "names no contract" in submit(cluster, "-p", "batch").said
    cluster.write(SCRIPT, render(view())[SCRIPT])


def test_a_script_with_an_older_time_of_change_is_not_looked_at(cluster: Slurm) -> None:
    script = cluster.write(SCRIPT, "function slurm_job_submit() return 0 end function slurm_job_modify() return 0 end")
    os.utime(script, (1, 1))
    assert "names no contract" in submit(cluster, "-p", "batch").said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "Unable to stat .*job_submit.lua: No such file"),
        ("function (", "job_submit.lua:1: '<name>' expected near"),
        ("error('no')", "job_submit.lua:1: no"),
        ("x = 1", "missing required function slurm_job_submit"),
    ],
)
def test_slurmctld_does_not_start_without_a_script_that_loads(text: str | None, why: str) -> None:
    scripts = without(SCRIPT) if text is None else {**render(view()), SCRIPT: text}
    cluster = fresh(scripts=scripts)
    try:
        with pytest.raises(NotReadyError, match=f"(?s){why}.*fatal: failed to initialize job_submit plugin"):
            cluster.start()
    finally:
        cluster.stop()


def test_slurm_lets_everything_in_when_a_script_fails_while_it_runs() -> None:
    with fresh("function slurm_job_submit() error('x') end\nfunction slurm_job_modify() error('x') end\n") as cluster:
        assert submit(cluster, "-p", "batch").admitted, "which is why the rendered script runs protected"


@pytest.mark.parametrize("place", ["local function judge(job, where)", "local function refresh()"])
def test_a_fault_inside_the_rendered_script_refuses_reclaimable_partitions_alone(place: str) -> None:
    whole = render(view())[SCRIPT]
    faulty = whole.replace(place, f"{place} local fault = nil + 1")
    assert faulty != whole
    with fresh(faulty) as cluster:
        answer = submit(cluster, "-p", "batch", ALPHA)
        assert "a fault in the check of reclaimable partitions" in answer.said
        assert submit(cluster, "-p", "open").admitted
        assert "ebbtide: fault in job_submit.lua: " in cluster.log()


def test_without_the_plugin_in_slurm_conf_nothing_is_asked() -> None:
    with cluster_of(IDLE, settings="") as cluster:
        assert submit(cluster, "-p", "batch").admitted
        cluster.configure("JobSubmitPlugins=lua\nInclude ebbtide_nodes.conf")
        cluster.run(["scontrol", "reconfigure"])
        assert "names no contract" in submit(cluster, "-p", "batch").said


def test_slurmctld_started_again_asks_as_before(cluster: Slurm) -> None:
    admitted = submit(cluster, ALPHA).job
    cluster.end()
    cluster.start_controller()
    assert "names no contract" in submit(cluster, "-p", "batch").said
    refused = cluster.run(["scontrol", "update", f"jobid={admitted}", "partition=open"])
    assert "Access/permission denied" in refused.stderr


SITE = """\
dofile("{folder}/etc/ebbtide.lua")
local ebbtide = slurm_job_submit
function slurm_job_submit(job, parts, uid)
  if job.name == "forbidden" then slurm.log_user("the site says no") return slurm.ERROR end
  return ebbtide(job, parts, uid)
end
return slurm.SUCCESS
"""


def test_a_site_calls_the_rendered_script_from_its_own(cluster: Slurm) -> None:
    cluster.write("ebbtide.lua", render(view())[SCRIPT])
    renew_script(cluster, SITE.format(folder=cluster.folder))
    assert "the site says no" in submit(cluster, "--job-name=forbidden").said
    assert "names no contract" in submit(cluster, "-p", "batch").said
    job = submit(cluster, ALPHA).job
    refused = cluster.run(["scontrol", "update", f"jobid={job}", "partition=open"])
    assert "Access/permission denied" in refused.stderr


# New contracts and names that mean harm


def test_a_new_contract_needs_its_feature_known_and_a_reconfigure_makes_it_so(cluster: Slurm) -> None:
    later = view(*CONTRACTS, contract("newcomer"), version=8)
    cluster.write(TABLE, table(later))
    assert "Invalid feature specification" in submit(cluster, "--comment=contract:newcomer").said
    cluster.write(NODES, render(later)[NODES])
    assert cluster.run(["scontrol", "reconfigure"]).returncode == 0
    assert submit(cluster, "--comment=contract:newcomer").admitted


HOSTILE = ('x"] = nil, ["y', "]]--\n", "\\", "%s%d%n", "'; os.exit() --", "naïve\x00\x7f")


def test_names_that_mean_harm_are_only_names(cluster: Slurm) -> None:
    entries = [dataclasses.replace(contract(name), team=name, account=name, partition=name) for name in HOSTILE]
    cluster.write(TABLE, table(view(*CONTRACTS, *entries, version=8)))
    with logs(cluster, "contracts of version 8 are in force"):
        assert submit(cluster, ALPHA).admitted
    answer = submit(cluster, "-p", "batch", "--comment=contract:%s%d%n")
    assert "contract %s%d%n holds for partition %s%d%n, and this job asks for batch" in answer.said

"""The files rendered for a Slurm cluster, read by the Lua interpreters that a slurmctld may be built with."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.fleet import name_of
from repo_layout.adapters.worktree import read_worktree
from repo_layout.admission import AdmissionView, Admitted
from repo_layout.admission import view as view_of
from repo_layout.admission_slurm import NODES, SCRIPT, TABLE, quoted, render, table
from repo_layout.load import assemble, judge, read
from repo_layout.versions import CONVERTERS
from tests.servers.slurm_case import CONTRACTS, GIB, contract, view

LUAS = ("lua5.1", "lua5.4")  # Debian's Slurm and the newest
NO_VAL, NO_VAL16 = 4294967294, 65534

# A slurmctld of ten lines: it loads the script as Slurm does, and prints what each job of a file is answered.
STAND_IN = """
local said
local function keep(form, text) said = said or text end
slurm = {SUCCESS = 0, ERROR = -1, ESLURM_ACCESS_DENIED = 2002, log_user = keep,
  log_info = function() end, log_error = function() end}
dofile(arg[1])
for _, job in ipairs(dofile(arg[2])) do
  said = nil
  local code = slurm_job_submit(job, {open = {flag_default = 1}}, 1000)
  print(code, said or "-", job.array_inx or "-", job.features or "-")
end
"""
DUMP = """
local function hex(text) return (text:gsub(".", function(byte) return string.format("%02x", byte:byte()) end)) end
for name, entry in pairs(dofile(arg[1]).workloads) do
  print(hex(name), hex(entry.team), hex(entry.partition), hex(entry.account), entry.maximum)
end
"""


def lua(interpreter: str, program: str, *arguments: Path) -> str:
    if shutil.which(interpreter) is None:
        if os.environ.get("EBBTIDE_WITHOUT_SLURM"):
            pytest.skip("EBBTIDE_WITHOUT_SLURM is set, and Lua is not installed")
        pytest.fail(f"{interpreter} is not installed: tools/slurm.sh installs it")
    ran = subprocess.run(
        [interpreter, "-", *arguments], input=program, check=False, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    admitted: bool
    said: str
    array: str
    features: str


def judged(folder: Path, jobs: Sequence[Mapping[str, object]], interpreter: str = "lua5.1") -> list[Verdict]:
    for name, text in render(view()).items():
        (folder / name).write_text(text, encoding="utf-8")
    asked = ",\n".join(
        "{" + ", ".join(f"{key} = {_literal(value)}" for key, value in job.items()) + "}" for job in jobs
    )
    (folder / "jobs.lua").write_text(f"return {{{asked}}}", encoding="utf-8")
    lines = lua(interpreter, STAND_IN, folder / SCRIPT, folder / "jobs.lua").splitlines()
    fields = [line.split("\t") for line in lines]
    return [Verdict(code == "0", said, array, features) for code, said, array, features in fields]


def _literal(value: object) -> str:
    return quoted(value) if isinstance(value, str) else str(value)


def batch(workload: str, **options: object) -> dict[str, object]:
    """A job as slurmctld hands it over, with the numbers that stand for nothing where nothing was asked."""
    nothing: dict[str, object] = {
        "comment": f"contract:{workload}",
        "script": "#!/bin/sh",
        "requeue": NO_VAL16,
        "min_nodes": NO_VAL,
        "num_tasks": NO_VAL,
        "cpus_per_task": NO_VAL16,
        "ntasks_per_node": NO_VAL16,
        "min_cpus": NO_VAL,
        "pn_min_cpus": NO_VAL16,
        "het_job_offset": NO_VAL,
    }
    return nothing | options


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=6, unique=True))
@settings(max_examples=30, deadline=None)
def test_a_table_says_to_lua_what_it_was_rendered_from_whatever_the_names(names: list[str]) -> None:
    entries = [dataclasses.replace(contract("x"), workload=n, team=n, partition=n, account=n) for n in names]
    text = table(view(*entries))
    assert re.fullmatch(r"[ -~\n]*", text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / TABLE
        path.write_text(text, encoding="ascii")
        rows = {tuple(line.split("\t")) for line in lua("lua5.1", DUMP, path).splitlines()}
    assert rows == {(*(name.encode().hex(),) * 4, "4") for name in names}


def test_a_table_does_not_depend_on_the_order_and_its_seal_on_everything_else() -> None:
    assert table(view(*CONTRACTS)) == table(view(*reversed(CONTRACTS)))
    seals = {
        table(one).splitlines()[0]
        for one in (
            view(),
            view(version=8),
            view(expires_ms=0),
            view(*CONTRACTS[1:]),
            view(contract("alpha", maximum=5)),
        )
    }
    assert len(seals) == 5


def test_a_script_knows_the_names_that_the_reconciler_gives_to_instances() -> None:
    prefix = re.search(r"instances = \"([^\"]+)\"", render(view())[SCRIPT])
    assert prefix is not None
    assert name_of("aarhus", 3, 17).startswith(prefix[1])
    assert f"NodeName={prefix[1]}none-[1-8] " in render(view())[NODES]


def test_the_nodes_file_names_the_longest_drain_that_slurm_has_to_wait_for() -> None:
    slow = view(*CONTRACTS, contract("slow", drain_budget_s=110))
    assert "KillWait: at least 110 " in render(slow)[NODES]


def test_a_cluster_without_contracts_admits_nobody_and_has_no_stand_ins() -> None:
    empty = AdmissionView("example", "aarhus", "aarhus-hpc", "slurm", 7, 0, ())
    assert render(empty)[NODES] == "# No contract runs on aarhus-hpc.\n"
    assert "workloads = {\n  }," in table(empty)


CASES = (
    (batch("alpha"), True, "-"),
    (batch("alpha", requeue=0), False, "--no-requeue"),
    (batch("nothing", partition="batch"), False, "no contract nothing"),
    (batch("alpha", num_tasks=9), False, "5 units of alpha"),
    (batch("alpha", array_inx="0-99"), True, "at most 4 elements"),
    (batch("alpha", features="fast|slow"), True, "-"),
    (batch("alpha", min_mem_per_cpu=1e19), False, "one task asks for"),
    (batch("alpha", comment="plain", partition="open"), True, "-"),
)


@pytest.mark.parametrize("interpreter", LUAS)
def test_every_lua_judges_alike(tmp_path: Path, interpreter: str) -> None:
    verdicts = judged(tmp_path, [job for job, _, _ in CASES], interpreter)
    for verdict, (_, admitted, words) in zip(verdicts, CASES, strict=True):
        assert verdict.admitted == admitted, verdict
        assert words in verdict.said
    assert verdicts[4].array == "0-99%4"
    assert verdicts[5].features == "(fast|slow)&ebbtide_alpha"


sizes = st.fixed_dictionaries(
    {},
    optional={
        "num_tasks": st.integers(1, 40),
        "cpus_per_task": st.integers(1, 4),
        "min_nodes": st.integers(1, 12),
        "min_mem_per_cpu": st.integers(1, 5000),
        "tres_per_job": st.integers(0, 20).map(lambda n: f"gres:gpu:{n}"),
    },
)


def units_by_hand(job: Mapping[str, int | str], entry: Admitted) -> int | None:
    """Units of a job, None where one task is larger than a unit or asks for what the contract has not."""
    nodes = int(job.get("min_nodes", 1))
    cpus_each = int(job.get("cpus_per_task", 1))
    tasks = max(nodes, int(job.get("num_tasks", nodes)))
    gpus = int(str(job.get("tres_per_job", "0")).rpartition(":")[2])
    each = int(job.get("min_mem_per_cpu", 0))
    megabytes = entry.memory // (1 << 20)
    if cpus_each > entry.vcpu or each * cpus_each > megabytes or (gpus and not entry.gpu):
        return None
    by_gpu = math.ceil(gpus / entry.gpu) if entry.gpu else 0
    return max(
        nodes, math.ceil(tasks * cpus_each / entry.vcpu), math.ceil(each * tasks * cpus_each / megabytes), by_gpu
    )


@given(st.lists(st.tuples(st.sampled_from(["alpha", "beta", "gang"]), sizes), min_size=20, max_size=60))
@settings(max_examples=15, deadline=None)
def test_a_job_is_let_in_when_its_units_fit_counted_by_hand(asked: list[tuple[str, dict[str, int | str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        verdicts = judged(Path(folder), [batch(workload, **options) for workload, options in asked])
    for (workload, options), verdict in zip(asked, verdicts, strict=True):
        entry = next(one for one in CONTRACTS if one.workload == workload)
        units = units_by_hand(options, entry)
        fits = units is not None and units <= entry.maximum and units % entry.gang == 0
        assert verdict.admitted == fits, (workload, options, verdict)


# Pieces of what Slurm's options are made of, so that a search of a few dozen jobs gets beyond the first check.
pieces = st.lists(
    st.sampled_from(["contract:", "alpha", "beta", "@", "616c7068", " ", ",", "batch", "open", "gres:", "gpu", ":", "=",
                     "9", "-", "%", "|", "&", "(", "[", "*", "k", "ebbtide_", "\x07", "é", '"', "\\"]),
    max_size=7,
).map("".join)  # fmt: skip
TEXTS = (
    "comment",
    "partition",
    "account",
    "features",
    "prefer",
    "array_inx",
    "tres_per_job",
    "tres_per_node",
    "mem_per_tres",
)
NUMBERS = ("num_tasks", "min_nodes", "cpus_per_task", "requeue", "het_job_offset", "ntasks_per_tres", "min_mem_per_cpu")
strange_jobs = st.fixed_dictionaries(
    {"comment": st.one_of(pieces, st.just("contract:alpha"), st.just("contract:beta"))},
    optional={
        **dict.fromkeys(TEXTS[1:], pieces),
        **dict.fromkeys(NUMBERS, st.one_of(st.integers(0, 9), st.integers(0, 2**32 - 1))),
    },
)

nearly_good_jobs = st.fixed_dictionaries(
    {"comment": st.sampled_from(["contract:alpha", "contract:beta"]), "partition": st.just("batch")},
    optional={"features": pieces, "prefer": pieces, "num_tasks": st.integers(0, 9), "requeue": st.integers(0, 2)},
)
GOOD: dict[str, str | int] = {"comment": "contract:alpha", "partition": "batch"}


@given(st.lists(strange_jobs | nearly_good_jobs, min_size=30, max_size=60), st.sampled_from(LUAS))
@settings(max_examples=8, deadline=None)
def test_no_job_makes_the_script_fail_and_what_it_lets_in_is_bound(
    jobs: list[dict[str, str | int]], interpreter: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        verdicts = judged(Path(folder), [batch("alpha") | job for job in (GOOD, *jobs)], interpreter)
    assert verdicts[0].admitted
    for job, verdict in zip((GOOD, *jobs), verdicts, strict=True):
        assert "a fault in the check" not in verdict.said, (job, verdict)
        reclaimable = "batch" in str(job.get("partition", "")).split(",") or "ebbtide_" in str(job.get("features", ""))
        if verdict.admitted and reclaimable:
            assert re.search(r"(^|&)ebbtide_(alpha|beta)$", verdict.features), (job, verdict)


def slurm_views() -> list[AdmissionView]:
    """The views of the reference estate's Slurm clusters."""
    tree = read_worktree(Path(__file__).parents[1] / "repo_layout" / "estate")
    estate = assemble(tree, [judge(source) for source in read(tree, CONVERTERS).sources]).estate
    assert estate is not None
    digests = {one.name: one.name.encode().hex().ljust(64, "0")[:64] for one in estate.contracts}
    clusters = [one for region in estate.settings.regions for one in region.clusters if one.scheduler == "slurm"]
    return [view_of(estate, one.name, version=1, expires_ms=0, digests=digests) for one in clusters]


def test_the_reference_estate_renders_for_each_of_its_slurm_clusters(tmp_path: Path) -> None:
    views = slurm_views()
    assert len(views) == 3
    for one in views:
        files = render(one)
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        assert one.table
        job = f"return {{{{comment = {quoted('contract:' + one.table[0].workload)}, script = '', requeue = 1}}}}"
        (tmp_path / "jobs.lua").write_text(job, encoding="utf-8")
        answer = lua("lua5.1", STAND_IN, tmp_path / SCRIPT, tmp_path / "jobs.lua").split("\t")
        assert answer[0] == "0"
        assert answer[3].strip() == f"ebbtide_{one.table[0].workload}"


def test_five_thousand_contracts_stay_inside_the_scripts_limits(tmp_path: Path) -> None:
    many = [contract(f"workload-{number:04d}-of-some-length", team=f"team-{number % 400}") for number in range(5000)]
    for name, text in render(view(*many)).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert (tmp_path / TABLE).stat().st_size < 2_000_000
    job = batch("workload-4999-of-some-length", num_tasks=3, min_mem_per_cpu=GIB >> 20)
    jobs = ", ".join(f"{key} = {_literal(value)}" for key, value in job.items())
    (tmp_path / "jobs.lua").write_text(f"return {{{{{jobs}}}}}", encoding="utf-8")
    assert lua("lua5.1", STAND_IN, tmp_path / SCRIPT, tmp_path / "jobs.lua").startswith("0\t")

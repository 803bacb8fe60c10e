"""Admission of one Slurm cluster: its job_submit script, the table of contracts that the script reads, and the nodes.

The compiler's command and the tests of a real slurmctld call `render`. The script is one text for every cluster but for
the names of partitions and instances at its top; the table changes with every bundle and carries a seal by which the
script sees that it changed and that it is whole. Pure: it must not know where the files go, nor read a clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources

from repo_layout.admission import AdmissionView, Admitted, instance_prefix

SCRIPT = "job_submit.lua"
TABLE = "ebbtide_contracts.lua"
NODES = "ebbtide_nodes.conf"
FORMAT = 1
"""Of the table; the script takes its own format only, which is why both are rendered together."""
FEATURE = "ebbtide_"
"""A Slurm instance carries it before its workload's name; admission asks for it."""
PARTITION_FEATURE = "ebbtide_partition_"
"""And before its partition's name (names have no underscore, so that the two never meet)."""
MIB = 1024 * 1024
PLACEHOLDERS = 512
"""Most stand-in nodes; a job of more nodes waits for its instances to be there before it can be submitted."""
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .-_/")


def render(view: AdmissionView) -> Mapping[str, str]:
    """The files for the folder of slurm.conf, by name; `ebbtide_nodes.conf` is included by slurm.conf."""
    return {SCRIPT: _script(view), TABLE: table(view), NODES: nodes(view)}


def features_of(workload: str, partition: str) -> tuple[str, str]:
    """What an instance says as `Feature=` when it joins: its workload, and the partition that its jobs use."""
    return f"{FEATURE}{workload}", f"{PARTITION_FEATURE}{partition}"


def table(view: AdmissionView) -> str:
    """The admitted contracts as one Lua value, between two lines that carry the digest of what stands between them."""
    entries = sorted(view.table, key=lambda one: one.workload)
    body = "".join(
        (
            "return {\n",
            f"  format = {FORMAT}, version = {view.version}, expires = {view.expires_ms // 1000},\n",
            f"  estate = {quoted(view.estate)}, region = {quoted(view.region)}, cluster = {quoted(view.cluster)},\n",
            f"  partitions = {_set(_partitions(view))},\n",
            "  workloads = {\n",
            *(_entry(one) for one in entries),
            "  },\n}\n",
        )
    )
    seal = hashlib.sha256(body.encode("ascii")).hexdigest()
    return f"-- ebbtide contracts {seal}\n{body}-- the end {seal}\n"


def nodes(view: AdmissionView) -> str:
    """Node sets for the partitions, and stand-in nodes that never come up.

    Slurm refuses a constraint that no node of its lists has, and jobs have to be able to wait for instances that do not
    exist yet: the stand-ins carry every feature and are as large as anything that may be asked for.
    """
    if not view.table:
        return f"# No contract runs on {_comment(view.cluster)}.\n"
    sets = [f"NodeSet={FEATURE}{one} Feature={PARTITION_FEATURE}{one}" for one in _partitions(view)]
    features = sorted({feature for one in view.table for feature in features_of(one.workload, one.partition)})
    count = min(PLACEHOLDERS, max(one.maximum for one in view.table))
    cpus = _up(max(one.vcpu * one.maximum for one in view.table))
    memory = _up(max(one.memory * one.maximum for one in view.table) // MIB)
    longest = max(one.drain_budget_s for one in view.table)
    line = [
        f"NodeName={instance_prefix(view.region)}none-[1-{_up(count)}]",
        "NodeAddr=127.0.0.1",
        f"CPUs={min(cpus, 65533)} RealMemory={memory}",  # a CPU count has 16 bits
        *([f"Gres={','.join(_gres(view))}"] if _gres(view) else []),
        f"Feature={','.join(features)}",
        "State=FUTURE",  # known to Slurm, shown to nobody, asked by nobody
    ]
    return "\n".join(
        (
            f"# Contracts of {_comment(view.cluster)}, version {view.version}. In slurm.conf, before the partitions:",
            f"#   Include {NODES}",
            *(f"#   PartitionName={one} Nodes={FEATURE}{one} ..." for one in _partitions(view)),
            f"# A requeued job is killed after KillWait: at least {longest} here.",
            *sets,
            " ".join(line),
            "",
        )
    )


def quoted(text: str) -> str:
    """A Lua string literal; whatever is not plainly harmless stands as its decimal byte."""
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03d}" for byte in text.encode()) + '"'


def _script(view: AdmissionView) -> str:
    program = (resources.files("repo_layout") / "slurm" / SCRIPT).read_text(encoding="utf-8")
    partitions, instances = _set(_partitions(view)), quoted(instance_prefix(view.region))
    return (
        f"-- Rendered by `ebbtide admission` for cluster {_comment(view.cluster)} of region {_comment(view.region)}.\n"
        f"local RENDERED = {{partitions = {partitions}, instances = {instances}}}\n\n{program}"
    )


def _entry(one: Admitted) -> str:
    fields: dict[str, str | int] = {
        "digest": one.digest,
        "team": one.team,
        "tier": one.tier,
        "restart": one.restart,
        "partition": one.partition,
        "account": one.account,
        "drain": one.drain_budget_s,
        "gang": one.gang,
        "maximum": one.maximum,
        "vcpu": one.vcpu,
        "memory": one.memory // MIB,
        "gpu": one.gpu,
        "family": one.gpu_family,
        "expires": one.expires_ms // 1000,
    }
    said = ", ".join(f"{key} = {quoted(value) if isinstance(value, str) else value}" for key, value in fields.items())
    return f"    [{quoted(one.workload)}] = {{{said}}},\n"


def _set(names: list[str]) -> str:
    return "{" + ", ".join(f"[{quoted(name)}] = true" for name in names) + "}"


def _gres(view: AdmissionView) -> list[str]:
    """GPUs of a stand-in by family, as many of each as any contract may ask for; of no family where none is named."""
    most: dict[str, int] = {}
    for one in view.table:
        if one.gpu:
            most[one.gpu_family] = max(most.get(one.gpu_family, 0), one.gpu * one.maximum)
    return [f"gpu:{family}:{_up(count)}" if family else f"gpu:{_up(count)}" for family, count in sorted(most.items())]


def _partitions(view: AdmissionView) -> list[str]:
    return sorted({one.partition for one in view.table})


def _comment(text: str) -> str:
    return "".join(char if char.isascii() and char.isprintable() else "?" for char in text)


def _up(number: int) -> int:
    """The next power of two: the line of the stand-ins changes seldom, since Slurm restarts for it."""
    return 1 << max(0, number - 1).bit_length()

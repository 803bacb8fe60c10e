"""What a scheduler cluster admits: the contracts of one verified region, flat, as renderings need them.

Both renderings (Kubernetes, Slurm) read one `AdmissionView`, so that they cannot disagree about who is admitted. Pure:
it must not know how a policy or a script is written, nor where a bundle came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contracts.model import Contract
from repo_layout.model import Estate

TAINT_KEY = "ebbtide/reclaimable"
"""Instances carry it as a taint; what may stand on them tolerates it."""
TAINT_EFFECT = "NoSchedule"
"""Of that taint: what runs there already is never thrown out by it."""
WORKLOAD_LABEL = "ebbtide/workload"
"""Label of an instance and of a pod: the workload it belongs to."""
CONTRACT_ANNOTATION = "ebbtide/contract"
"""Optional on a pod: the digest of the contract its author read; another one in force refuses it."""


def instance_prefix(region: str) -> str:
    """What the names of a region's instances start with; the reconciler gives them (`reconciler.fleet.name_of`)."""
    return f"eb-{region}-"


@dataclass(frozen=True, slots=True)
class Admitted:
    """One contract of the table; `digest` is of its node payload, in hexadecimal SHA-256.

    `namespace` and `selector` are empty on Slurm, `partition` and `account` on Kubernetes. `expires_ms` is when the
    contract stops being admitted although the bundle still holds, 0 for never. `gpu_family` is empty where any will do.
    """

    workload: str
    digest: str
    team: str
    tier: str
    restart: str
    drain_budget_s: int
    gang: int
    maximum: int
    vcpu: int
    memory: int
    gpu: int
    namespace: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)
    partition: str = ""
    account: str = ""
    expires_ms: int = 0
    gpu_family: str = ""


@dataclass(frozen=True, slots=True)
class AdmissionView:
    """Everything that one cluster admits, by workload name; `expires_ms` is the bundle's own end."""

    estate: str
    region: str
    cluster: str
    scheduler: str
    version: int
    expires_ms: int
    table: tuple[Admitted, ...]


def view(estate: Estate, cluster: str, *, version: int, expires_ms: int, digests: Mapping[str, str]) -> AdmissionView:
    """The view of one cluster; `digests` holds each workload's node payload digest.

    Raises `KeyError` for a cluster that the estate does not have.
    """
    region = estate.region_of_cluster[cluster]
    entry = next(one for one in estate.region(region).clusters if one.name == cluster)
    table = tuple(_admitted(one, digests[one.name]) for one in estate.contracts_of(region) if one.cluster == cluster)
    return AdmissionView(estate.settings.estate, region, cluster, entry.scheduler, version, expires_ms, table)


def _admitted(contract: Contract, digest: str) -> Admitted:
    kubernetes, slurm = contract.runs_on.kubernetes, contract.runs_on.slurm
    return Admitted(
        workload=contract.name,
        digest=digest,
        team=contract.team,
        tier=contract.tier.value,
        restart=contract.restart,
        drain_budget_s=contract.drain.budget,
        gang=contract.gang_size,
        maximum=contract.maximum,
        vcpu=contract.unit.vcpu,
        memory=contract.unit.memory,
        gpu=contract.unit.gpu,
        namespace=kubernetes.namespace if kubernetes else "",
        selector=kubernetes.selector if kubernetes else {},
        partition=slurm.partition if slurm else "",
        account=slurm.account if slurm else "",
        gpu_family=contract.eligibility.gpu_family or "",
    )

"""Small contracts and pools that the ranking's tests share."""

from __future__ import annotations

from typing import Literal

from contracts.model import Checkpoint, Contract, ContractFile, Fallback, KubernetesPlace, Restart, RunsOn, Unit
from contracts.tiers import complete
from pools.board import Board, board
from pools.model import Attributes, HostShape, InstanceShape, Pool

GIB = 2**30
TierName = Literal["anchored", "resumable", "staged", "requeued", "scavenger"]


def pool(name: str, *, vcpu: int = 8, committed: bool = False, domain: str = "") -> Pool:
    """An x86 pool of instances with `vcpu` and four times as many GiB."""
    return Pool(
        name=name,
        region="r",
        hall="h1",
        aggregate=domain or name,
        domain=domain or name,
        project="p",
        join_profile="j",
        flavor="f",
        committed=committed,
        notice_window_s=120,
        user_data_limit=65_535,
        hosts=HostShape(count=9, vcpu=64, memory=256 * GIB),
        attributes=Attributes(architecture="x86_64"),
        instance=InstanceShape(vcpu=vcpu, memory=4 * vcpu * GIB),
    )


def contract(
    name: str = "w",
    *,
    tier: TierName = "staged",
    checkpoint: Checkpoint | None = None,
    restart: Restart | None = None,
    expected_run_s: int | None = None,
    fallback: Fallback | None = None,
    floor: int = 0,
) -> Contract:
    """A Kubernetes workload of units of 4 vCPU and 16 GiB in the tier, with the promises that are given."""
    return complete(
        ContractFile(
            api_version="ebbtide/v1",
            kind="Contract",
            name=name,
            team="t",
            owner="o",
            contact="c",
            tier=tier,
            runs_on=RunsOn(kubernetes=KubernetesPlace(cluster="k", namespace="n", selector={"a": "b"})),
            unit=Unit(vcpu=4, memory=16 * GIB),
            maximum=100,
            checkpoint=checkpoint,
            restart=restart,
            expected_run=expected_run_s,
            fallback=fallback,
            floor=floor,
        )
    )


def board_of(*contracts: Contract, pools: tuple[Pool, ...]) -> Board:
    """Their board with the usual margin."""
    return board(contracts, pools, verification_margin_s=5)

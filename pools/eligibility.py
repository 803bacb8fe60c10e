"""Which pools a contract may use, and how many of its units one instance holds.

Pure; called by the compiler, the ranking and the planner, so that all three agree. Says nothing about cost or risk.
"""

from __future__ import annotations

from typing import Protocol

from contracts.model import Contract, Eligibility
from pools.model import Pool

RELAY_S = 1
"""What the relay of a notice may take, before the node hears it."""

REACTION_S = 2
"""From notice to first action on the node, at most."""

_NETWORKS = ("any", "25g", "100g", "infiniband")
"""The slowest first; one that is asked for is served by those behind it as well."""


def units_per_instance(contract: Contract, pool: Pool) -> int:
    """Whole units that one instance of the pool holds; 0 when not even one fits.

    With gangs, whole gangs count only when a gang fits one instance; a gang larger than an instance is laid over
    several and each instance counts the units that fit it.
    """
    return fitting_into(pool.instance, contract.unit)


class Shape(Protocol):
    """What a unit, an instance, a host or the rest of one has in common."""

    @property
    def vcpu(self) -> int:
        """Whole vCPU."""

    @property
    def memory(self) -> int:
        """Bytes."""

    @property
    def gpu(self) -> int:
        """Whole GPUs."""

    @property
    def local_disk(self) -> int:
        """Bytes."""


def fitting_into(room: Shape, part: Shape) -> int:
    """How many whole parts the room holds: instances in a host or in what is left of one, units in an instance."""
    fits = [room.vcpu // part.vcpu, room.memory // part.memory]
    if part.gpu:
        fits.append(room.gpu // part.gpu)
    if part.local_disk:
        fits.append(room.local_disk // part.local_disk)
    return min(fits)


def instances_when_empty(pool: Pool) -> int:
    """Whole instances that the pool's hosts hold with nothing on them."""
    return fitting_into(pool.hosts, pool.instance) * pool.hosts.count


def attributes_match(eligibility: Eligibility, pool: Pool) -> bool:
    """Whether the pool offers what the contract asks of hardware and place; a GPU pool serves GPU work only."""
    offered = pool.attributes
    return (
        offered.architecture == eligibility.architecture
        and offered.gpu_family == eligibility.gpu_family
        and network_suffices(eligibility, pool)
        and pool.hall not in eligibility.avoid_halls
        and memory_suffices(eligibility, pool)
    )


def network_suffices(eligibility: Eligibility, pool: Pool) -> bool:
    """Whether the pool's network is the one that is asked for, or a faster one."""
    return _NETWORKS.index(pool.attributes.network) >= _NETWORKS.index(eligibility.network)


def memory_suffices(eligibility: Eligibility, pool: Pool) -> bool:
    """Whether an instance has the memory that is asked for, for each of its vCPU."""
    return pool.instance.memory >= (eligibility.memory_per_vcpu or 0) * pool.instance.vcpu


def drain_needs_s(contract: Contract, *, verification_margin_s: int) -> int:
    """Seconds of a notice that relay, reaction, drain budget and verification take."""
    return contract.drain.budget + RELAY_S + REACTION_S + verification_margin_s


def drain_fits(contract: Contract, pool: Pool, *, verification_margin_s: int) -> bool:
    """Whether relay, reaction, drain budget and verification fit the pool's notice window."""
    return drain_needs_s(contract, verification_margin_s=verification_margin_s) <= pool.notice_window_s


def checkpoint_on_notice(contract: Contract) -> int:
    """Bytes that one unit writes once it is told to go; 0 where it writes nothing then."""
    on_notice = contract.checkpoint.mode in ("on-notice", "both")
    return (contract.checkpoint.size or 0) if on_notice else 0


def written_on_notice(contract: Contract, pool: Pool) -> int:
    """Bytes that all units of one instance write side by side once they are told to go."""
    return checkpoint_on_notice(contract) * units_per_instance(contract, pool)


def checkpoint_fits(contract: Contract, pool: Pool) -> bool:
    """Whether all units of one instance write their on-notice checkpoints within the drain budget, side by side, at the
    throughput that the instance is sure to have.
    """
    return written_on_notice(contract, pool) <= contract.drain.budget * pool.checkpoint_throughput


def eligible(contract: Contract, pool: Pool, *, verification_margin_s: int) -> bool:
    """Whether the contract may use the pool: a committed pool gives no notice, so nothing has to fit one."""
    return (
        attributes_match(contract.eligibility, pool)
        and units_per_instance(contract, pool) >= 1
        and (
            pool.committed
            or (
                drain_fits(contract, pool, verification_margin_s=verification_margin_s)
                and checkpoint_fits(contract, pool)
            )
        )
    )


def class_of(eligibility: Eligibility) -> str:
    """The name of the eligibility class that waivers and reports use, such as `x86-64` or `gpu-h100`.

    It is a name like any other, because a waiver's file carries it.
    """
    base = f"gpu-{eligibility.gpu_family}" if eligibility.gpu_family else eligibility.architecture.replace("_", "-")
    return base if eligibility.network in ("any", "25g") else f"{base}-{eligibility.network}"

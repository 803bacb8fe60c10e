"""What one contract may use in its region, and which reviewed things that rests on.

The rules across files ask it before they judge spread, checkpoints and history. Limits and counting are
`correlation_groups`'s, eligibility is `pools`'s; here they meet the estate. It must not judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from contracts.model import Contract, Eligibility, Unit
from correlation_groups.reach import Domain, Field
from correlation_groups.spread import Shares, lot
from pools.eligibility import attributes_match, class_of, drain_fits, units_per_instance
from pools.model import Pool
from repo_layout.documents import RegionEntry
from repo_layout.model import Estate
from repo_layout.room_for_floors import instances_per_host


@dataclass(frozen=True, slots=True)
class Reach:
    """What one contract may use: reclaimable pools of the right kind, and those of them that its drain fits."""

    contract: Contract
    region: RegionEntry
    offered: tuple[Pool, ...]
    fitting: tuple[Pool, ...]
    shares: Shares
    waived: bool

    @property
    def interruptible(self) -> int:
        """Units above the floor, at the maximum."""
        return self.contract.maximum - self.contract.floor

    @property
    def rests_on(self) -> frozenset[str]:
        """What its spread rests on: the contract, every pool and group of the region (one that no longer serves it
        too), the bounds, and the waiver of its class, there or not.
        """
        region = self.region.name
        return frozenset(
            {
                f"contract/{self.contract.name}",
                f"aggregate/{region}",
                f"group/{region}",
                f"waiver/{region}/{class_of(self.contract.eligibility)}",
                f"region/{region}/noticeWindow",
                f"region/{region}/verificationMargin",
                "settings/bounds",
            }
        )


def reaches(estate: Estate) -> Iterator[Reach]:
    """Each contract above its floor, with what it may use; one whose cluster no region has is EBT-206's."""
    for region in estate.settings.regions:
        pools = [pool for pool in estate.pools_of(region.name) if not pool.committed]
        known: dict[tuple[Eligibility, Unit, int], tuple[tuple[Pool, ...], tuple[Pool, ...]]] = {}
        for contract in estate.contracts_of(region.name):
            if contract.maximum == contract.floor:
                continue
            alike = (contract.eligibility, contract.unit, contract.drain.budget)
            if alike not in known:
                known[alike] = _usable(contract, pools, region.verification_margin)
            offered, fitting = known[alike]
            shares, waived = shares_of(estate, region.name, class_of(contract.eligibility))
            yield Reach(contract, region, offered, fitting, shares, waived)


def _usable(contract: Contract, pools: Sequence[Pool], margin_s: int) -> tuple[tuple[Pool, ...], tuple[Pool, ...]]:
    """The pools that offer what the contract asks, and those of them whose notice its drain fits."""
    offered = tuple(
        pool
        for pool in pools
        if attributes_match(contract.eligibility, pool) and units_per_instance(contract, pool) >= 1
    )
    return offered, tuple(pool for pool in offered if drain_fits(contract, pool, verification_margin_s=margin_s))


def shares_of(estate: Estate, region: str, eligibility_class: str) -> tuple[Shares, bool]:
    """The bounds of a class in a region, and whether a waiver widens them."""
    bounds = estate.settings.bounds
    shares = Shares(bounds.pool_share * 10, bounds.group_share * 10, bounds.pools)
    waived = shares
    for waiver in estate.waivers:
        if (waiver.region, waiver.eligibility_class) == (region, eligibility_class):
            waived = waived.widened(Shares(waiver.pool_share * 10, waiver.group_share * 10, waiver.pools))
    return waived, waived != shares


def field_of(estate: Estate, reach: Reach, pools: tuple[Pool, ...]) -> Field:
    """The capacity domains of some pools, as one contract sees them."""
    gang = reach.contract.gang_size
    groups = groups_by_domain(estate, reach.region.name)
    quanta: dict[str, int] = {}
    room: dict[str, dict[str, int]] = {}
    for pool in pools:
        each = units_per_instance(reach.contract, pool)
        quanta[pool.domain] = max(quanta.get(pool.domain, 0), lot(each, gang).units)
        holds = each * instances_per_host(pool.hosts, pool.instance) * pool.hosts.count
        aggregates = room.setdefault(pool.domain, {})
        aggregates[pool.aggregate] = max(aggregates.get(pool.aggregate, 0), holds)
    return Field(
        tuple(Domain(name, quanta[name], sum(room[name].values()), groups.get(name, {})) for name in sorted(quanta)),
        reach.shares,
        gang,
    )


def groups_by_domain(estate: Estate, region: str) -> Mapping[str, Mapping[str, str]]:
    """The bounding group of each kind that a domain belongs to.

    A domain in several groups of one kind counts in the first by name: the kinds that follow from the building do not
    overlap, and learnt groups are merged before they bound anything.
    """
    found: dict[str, dict[str, str]] = {}
    for group in estate.groups_of(region):
        if group.bounding and group.falls_with in estate.settings.bounds.bounding_kinds:
            for member in group.members:
                found.setdefault(member, {}).setdefault(group.falls_with, group.name)
    return found

"""What the contracts of an estate may use, and which reviewed things that rests on.

The table of rules lays one `Ground` under all rules, so that what several of them need is worked out once: contracts
that are alike share what they may use and the verdict on every count. Limits and counting are `correlation_groups`'s,
eligibility is `pools`'s; here they meet the estate. It must not judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from contracts.model import Contract, Eligibility, Unit
from correlation_groups.reach import Crowd, Domain, Field, Shortfall
from correlation_groups.spread import Shares, lot
from pools.eligibility import (
    attributes_match,
    checkpoint_fits,
    checkpoint_on_notice,
    class_of,
    drain_fits,
    instances_when_empty,
    units_per_instance,
)
from pools.model import Pool
from repo_layout.blame import SPREAD_BY, fields_of
from repo_layout.documents import Bounds, RegionEntry, WaiverFile
from repo_layout.model import Estate


@dataclass(frozen=True, slots=True)
class Alike:
    """What decides which pools a contract may use; contracts that agree in it share a `Usable`."""

    eligibility: Eligibility
    unit: Unit
    budget_s: int
    checkpoint: int


@dataclass(frozen=True, eq=False)
class Usable:
    """Reclaimable pools of one region for contracts that are alike: those of the right kind, those of them that the
    drain fits, and those of these that the on-notice checkpoint fits, which are the eligible ones.
    """

    region: RegionEntry
    contract: Contract
    offered: tuple[Pool, ...]
    draining: tuple[Pool, ...]
    fitting: tuple[Pool, ...]
    shares: Shares
    waived: bool
    groups: Mapping[str, Mapping[str, str]]
    fields_made: dict[tuple[str, ...], Field] = field(default_factory=dict)
    crowds_found: dict[int, Crowd] = field(default_factory=dict)
    shortfalls_found: dict[tuple[tuple[str, ...], int, Shares], Shortfall | None] = field(default_factory=dict)

    def field_of(self, pools: tuple[Pool, ...]) -> Field:
        """The capacity domains of some of the pools, as these contracts see them."""
        names = tuple(pool.name for pool in pools)
        if names not in self.fields_made:
            self.fields_made[names] = self._made(pools)
        return self.fields_made[names]

    def _made(self, pools: tuple[Pool, ...]) -> Field:
        gang = self.contract.gang_size
        quanta: dict[str, int] = {}
        room: dict[str, dict[str, int]] = {}
        for pool in pools:
            whole = lot(units_per_instance(self.contract, pool), gang)
            quanta[pool.domain] = max(quanta.get(pool.domain, 0), whole.units)
            holds = instances_when_empty(pool) // whole.instances * whole.units
            aggregates = room.setdefault(pool.domain, {})
            aggregates[pool.aggregate] = max(aggregates.get(pool.aggregate, 0), holds)
        domains = (
            Domain(name, quanta[name], sum(room[name].values()), self.groups.get(name, {})) for name in sorted(quanta)
        )
        return Field(tuple(domains), self.shares, gang)

    def first_shortfall(self, pools: tuple[Pool, ...], largest: int, shares: Shares | None = None) -> Shortfall | None:
        """The smallest count up to `largest` that some of the pools cannot spread, None where they spread all; under
        the bounds that hold, or under others.
        """
        key = (tuple(pool.name for pool in pools), largest, shares or self.shares)
        if key not in self.shortfalls_found:
            made = self.field_of(pools)
            made = made if key[2] == made.shares else replace(made, shares=key[2])
            self.shortfalls_found[key] = made.first_shortfall(largest)
        return self.shortfalls_found[key]

    def most_in(self, domains: frozenset[str], desired: int) -> int:
        """The most of `desired` units that the bounds let stand in some domains of the eligible pools."""
        if not self.fitting:
            return 0
        if desired not in self.crowds_found:
            self.crowds_found[desired] = self.field_of(self.fitting).crowd(desired)
        return self.crowds_found[desired].most_in(domains)


@dataclass(frozen=True, slots=True)
class Reach:
    """One contract above its floor, with what it may use."""

    contract: Contract
    usable: Usable

    @property
    def region(self) -> RegionEntry:
        """The region its cluster belongs to."""
        return self.usable.region

    @property
    def interruptible(self) -> int:
        """Units above the floor, at the maximum."""
        return self.contract.maximum - self.contract.floor

    def field_of(self, pools: tuple[Pool, ...]) -> Field:
        """The capacity domains of some of its pools."""
        return self.usable.field_of(pools)

    def first_shortfall(self, pools: tuple[Pool, ...]) -> Shortfall | None:
        """The smallest count up to its maximum that some of its pools cannot spread."""
        return self.usable.first_shortfall(pools, self.interruptible)

    def first_shortfall_under(self, shares: Shares) -> Shortfall | None:
        """The smallest count that its eligible pools cannot spread under other bounds than those that hold."""
        return self.usable.first_shortfall(self.usable.fitting, self.interruptible, shares)

    def most_in(self, domains: frozenset[str]) -> int:
        """The most of its units that its bounds let stand in some capacity domains."""
        return self.usable.most_in(domains, self.interruptible)

    @property
    def rests_on(self) -> frozenset[str]:
        """What its spread rests on: what the contract asks for, every pool and group of the region (one that no longer
        serves it too), the bounds, and the waiver of its class, there or not.
        """
        region = self.region.name
        return frozenset(
            {
                *fields_of(self.contract, SPREAD_BY),
                f"aggregate/{region}",
                f"group/{region}",
                f"waiver/{region}/{class_of(self.contract.eligibility)}",
                f"region/{region}/noticeWindow",
                f"region/{region}/verificationMargin",
                f"region/{region}/checkpointThroughput",
                "settings/bounds",
            }
        )


@dataclass(frozen=True, slots=True)
class Together:
    """Capacity domains that go at once: a correlation group of any kind, or one domain that is in none."""

    kind: str
    name: str
    domains: frozenset[str]


@dataclass(frozen=True)
class Ground:
    """An estate, and what its rules need of it in common."""

    estate: Estate

    def together(self, region: str) -> tuple[Together, ...]:
        """Every group of the region, bounding or only reported, and each domain that none of them holds."""
        return self._together.get(region, ())

    @cached_property
    def _together(self) -> Mapping[str, tuple[Together, ...]]:
        domains: dict[str, set[str]] = {}
        for pool in self.estate.pools:
            domains.setdefault(pool.region, set()).add(pool.domain)
        found: dict[str, tuple[Together, ...]] = {}
        for region, names in domains.items():
            groups = [
                Together(group.falls_with, group.name, frozenset(group.members))
                for group in self.estate.groups_of(region)
            ]
            alone = sorted(names.difference(*(group.domains for group in groups)))
            found[region] = (*groups, *(Together("capacity domain", name, frozenset({name})) for name in alone))
        return found

    @cached_property
    def reaches(self) -> tuple[Reach, ...]:
        """Each contract above its floor, by region and name; one whose cluster no region has is EBT-206's."""
        found: list[Reach] = []
        for region in self.estate.settings.regions:
            pools = [pool for pool in self.estate.pools_of(region.name) if not pool.committed]
            groups = groups_by_domain(self.estate, region.name)
            known: dict[Alike, Usable] = {}
            for contract in self.estate.contracts_of(region.name):
                if contract.maximum > contract.floor:
                    alike = Alike(
                        contract.eligibility, contract.unit, contract.drain.budget, checkpoint_on_notice(contract)
                    )
                    if alike not in known:
                        known[alike] = self._usable(contract, region, pools, groups)
                    found.append(Reach(contract, known[alike]))
        return tuple(found)

    def _usable(
        self,
        contract: Contract,
        region: RegionEntry,
        pools: Sequence[Pool],
        groups: Mapping[str, Mapping[str, str]],
    ) -> Usable:
        offered = tuple(
            pool
            for pool in pools
            if attributes_match(contract.eligibility, pool) and units_per_instance(contract, pool) >= 1
        )
        margin = region.verification_margin
        draining = tuple(pool for pool in offered if drain_fits(contract, pool, verification_margin_s=margin))
        fitting = tuple(pool for pool in draining if checkpoint_fits(contract, pool))
        shares, waived = shares_of(self.estate, region.name, class_of(contract.eligibility))
        return Usable(region, contract, offered, draining, fitting, shares, waived, groups)


def shares_of(estate: Estate, region: str, eligibility_class: str) -> tuple[Shares, bool]:
    """The bounds of a class in a region, and whether a waiver widens them."""
    shares = waived = shares_without_waivers(estate)
    for waiver in estate.waivers:
        if (waiver.region, waiver.eligibility_class) == (region, eligibility_class):
            waived = waived.widened(_shares(waiver))
    return waived, waived != shares


def shares_without_waivers(estate: Estate) -> Shares:
    """The bounds of the estate, as they hold where no waiver widens them."""
    return _shares(estate.settings.bounds)


def _shares(bounds: Bounds | WaiverFile) -> Shares:
    """Percents as permilles."""
    return Shares(bounds.pool_share * 10, bounds.group_share * 10, bounds.pools)


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

"""What adds up over several files before and after a change: money by person and team, NCU, floors, units taken away.

`repo_layout.change` asks. Each sum is at the maximum that the files allow, never what happens to run. Amounts in
another currency than the estate's are left out (EBT-212 refuses them). Pure; undoing a change gives the same sums the
other way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from contracts.model import Contract
from contracts.values import Money
from pools.model import Pool
from repo_layout.model import Estate
from repo_layout.room_for_floors import left_after_floors
from repo_layout.sums import fallback_limit, gpu_factors, milli_ncu

REMOVAL_PERCENT = 10
"""DESIGN 10: commits that take away more than this share of the desired units wait for an approval."""


@dataclass(frozen=True, slots=True)
class SpendChange:
    """What one person answers for a day over all contracts, and what they may spend; None: not in the directory."""

    person: str
    before: Money
    after: Money
    authority_before: Money | None
    authority_after: Money | None

    @property
    def above(self) -> bool:
        """Whether it is more than their authority now."""
        return self.after.amount > 0 and (self.authority_after is None or self.after > self.authority_after)

    def mirrored(self) -> SpendChange:
        """The same change, undone."""
        return SpendChange(self.person, self.after, self.before, self.authority_after, self.authority_before)


@dataclass(frozen=True, slots=True)
class TeamTotal:
    """A team's contracts at their maximum, in thousandths of an NCU and in money a day, with its limits."""

    milli_ncu: int
    ncu_limit: int
    spend: Money
    ceiling: Money

    @property
    def above(self) -> bool:
        """Whether a sum is above its limit."""
        return self.milli_ncu > self.ncu_limit * 1000 or self.spend > self.ceiling


@dataclass(frozen=True, slots=True)
class TeamChange:
    """One team's totals; None on a side without the team."""

    team: str
    before: TeamTotal | None
    after: TeamTotal | None

    def mirrored(self) -> TeamChange:
        """The same change, undone."""
        return TeamChange(self.team, self.after, self.before)


@dataclass(frozen=True, slots=True)
class Room:
    """Committed capacity of one class in a region: what is there, and what its floors leave, in vCPU or GPUs."""

    left: int
    there: int


@dataclass(frozen=True, slots=True)
class RoomChange:
    """Committed capacity of one class (`x86_64`, `arm64`, or a GPU family) in a region; `unit` is what is counted."""

    region: str
    kind: str
    unit: str
    before: Room
    after: Room

    def mirrored(self) -> RoomChange:
        """The same change, undone."""
        return RoomChange(self.region, self.kind, self.unit, self.after, self.before)


@dataclass(frozen=True, slots=True)
class UnitsChange:
    """The units that a region's contracts may want: their maxima together, what was taken away and what was added."""

    region: str
    before: int
    after: int
    taken: int
    added: int

    @property
    def needs_approval(self) -> bool:
        """Whether more is taken away than goes without an approval."""
        return self.taken * 100 > self.before * REMOVAL_PERCENT

    def mirrored(self) -> UnitsChange:
        """The same change, undone."""
        return UnitsChange(self.region, self.after, self.before, self.added, self.taken)


def spend_changes(base: Estate, head: Estate) -> Iterator[SpendChange]:
    """Each person whose sum or authority differs and who answers for money on one side, by id."""
    had, has = _spend(base), _spend(head)
    for person in sorted(had.keys() | has.keys()):
        change = SpendChange(
            person,
            had.get(person, _nothing(base)),
            has.get(person, _nothing(head)),
            _authority(base, person),
            _authority(head, person),
        )
        if (change.before, change.authority_before) != (change.after, change.authority_after):
            yield change


def team_changes(base: Estate, head: Estate) -> Iterator[TeamChange]:
    """Each team whose sums or limits differ, by name."""
    had, has = _teams(base), _teams(head)
    for name in sorted(had.keys() | has.keys()):
        before, after = had.get(name), has.get(name)
        if before != after:
            yield TeamChange(name, before, after)


def room_changes(base: Estate, head: Estate) -> Iterator[RoomChange]:
    """Each class of committed capacity whose size or remainder differs, by region."""
    had, has = _rooms(base), _rooms(head)
    for region, kind, unit in sorted(had.keys() | has.keys()):
        key = (region, kind, unit)
        before, after = had.get(key, Room(0, 0)), has.get(key, Room(0, 0))
        if before != after:
            yield RoomChange(region, kind, unit, before, after)


def unit_changes(base: Estate, head: Estate) -> Iterator[UnitsChange]:
    """Each region in which some contract's maximum differs, by name; a contract that moves is taken and added."""
    had, has = _units(base), _units(head)
    for region in sorted({where for where, _ in had.keys() | has.keys()}):
        before = {name: units for (where, name), units in had.items() if where == region}
        after = {name: units for (where, name), units in has.items() if where == region}
        taken = sum(max(0, units - after.get(name, 0)) for name, units in before.items())
        added = sum(max(0, units - before.get(name, 0)) for name, units in after.items())
        if taken or added:
            yield UnitsChange(region, sum(before.values()), sum(after.values()), taken, added)


def _limit_of(estate: Estate, contract: Contract) -> Money:
    limit = fallback_limit(contract, estate.settings.currency)
    return limit if limit is not None else _nothing(estate)


def _nothing(estate: Estate) -> Money:
    return Money(Decimal(0), estate.settings.currency)


def _spend(estate: Estate) -> dict[str, Money]:
    sums: dict[str, Money] = {}
    for contract in estate.contracts:
        limit = _limit_of(estate, contract)
        if contract.fallback.authority is not None and limit.amount:
            sums[contract.fallback.authority] = sums.get(contract.fallback.authority, _nothing(estate)) + limit
    return sums


def _authority(estate: Estate, person: str) -> Money | None:
    entry = estate.directory_by_id.get(person)
    own = entry.spend_authority_per_day if entry else None
    return own if own is not None and own.currency == estate.settings.currency else None


def _teams(estate: Estate) -> dict[str, TeamTotal]:
    ncu: dict[str, int] = {}
    spend: dict[str, Money] = {}
    factors = gpu_factors(estate)
    for contract in estate.contracts:
        ncu[contract.team] = ncu.get(contract.team, 0) + contract.maximum * milli_ncu(contract, factors)
        spend[contract.team] = spend.get(contract.team, _nothing(estate)) + _limit_of(estate, contract)
    return {
        team.name: TeamTotal(
            ncu.get(team.name, 0),
            team.ncu_limit,
            spend.get(team.name, _nothing(estate)),
            team.spend_ceiling_per_day,
        )
        for team in estate.settings.teams
        if team.spend_ceiling_per_day.currency == estate.settings.currency
    }


def _rooms(estate: Estate) -> dict[tuple[str, str, str], Room]:
    rooms: dict[tuple[str, str, str], Room] = {}
    for region in estate.settings.regions:
        left = left_after_floors(estate, region)
        for pool in {pool.aggregate: pool for pool in estate.pools_of(region.name) if pool.committed}.values():
            key, there = _counted(pool)
            rest = left[pool.aggregate]
            had = rooms.get((region.name, *key), Room(0, 0))
            more = rest.gpu if key[1] == "GPUs" else rest.vcpu
            rooms[region.name, *key] = Room(had.left + more, had.there + there)
    return rooms


def _counted(pool: Pool) -> tuple[tuple[str, str], int]:
    """The class of a committed pool with the unit it is counted in, and how many of them its hosts have."""
    if pool.attributes.gpu_family:
        return (pool.attributes.gpu_family, "GPUs"), pool.hosts.count * pool.hosts.gpu
    return (pool.attributes.architecture, "vCPU"), pool.hosts.count * pool.hosts.vcpu


def _units(estate: Estate) -> dict[tuple[str, str], int]:
    regions = estate.region_of_cluster
    return {(regions.get(c.cluster, ""), c.name): c.maximum for c in estate.contracts}

"""Rules about plain room: a row's instance fits its host, and the floors of a region fit its committed capacity.

Called from the table in `repo_layout.feasibility`. It counts empty hosts, as the catalogue declares them; what stands
on them now is the reconciler's to know.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from contracts.findings import Finding
from contracts.model import Contract, Eligibility, Unit
from contracts.values import format_size
from correlation_groups.spread import lot
from pools.eligibility import class_of, eligible, fitting_into, instances_when_empty, units_per_instance
from pools.model import InstanceShape, Pool
from repo_layout.blame import Attributed, fields_of
from repo_layout.documents import RegionEntry
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.reach import Ground

FLOOR_BY = ("floor", "unit", "eligibility", "runsOn")
"""The fields of a contract that its part of the committed capacity comes from."""


def rows_fit_hosts(estate: Estate) -> Iterator[Finding]:
    """Every row's instance fits one host of its aggregate."""
    for pool in estate.pools:
        if fitting_into(pool.hosts, pool.instance) >= 1:
            continue
        host, wants = pool.hosts, pool.instance
        pairs = (
            (f"{wants.vcpu} vCPU", f"{host.vcpu}", wants.vcpu > host.vcpu),
            (f"{format_size(wants.memory)} of memory", format_size(host.memory), wants.memory > host.memory),
            (f"{wants.gpu} GPU", f"{host.gpu}", wants.gpu > host.gpu),
            (
                f"{format_size(wants.local_disk)} of disk",
                format_size(host.local_disk),
                wants.local_disk > host.local_disk,
            ),
        )
        over = ", ".join(f"{asked} of {offered}" for asked, offered, above in pairs if above)
        message = f"one instance of {pool.name} is larger than a host of {pool.aggregate}: {over}"
        yield Finding(
            "EBT-210", at(estate, f"pool/{pool.name}/instance"), message, expected="an instance that fits a host"
        )


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is left of one host."""

    vcpu: int
    memory: int
    gpu: int
    local_disk: int

    def after(self, taken: int, shape: InstanceShape) -> _Rest:
        return _Rest(
            self.vcpu - taken * shape.vcpu,
            self.memory - taken * shape.memory,
            self.gpu - taken * shape.gpu,
            self.local_disk - taken * shape.local_disk,
        )


def _take(hosts: Counter[_Rest], shape: InstanceShape, wanted: int) -> int:
    """Instances that go into the hosts, at most `wanted`; the fullest host first, and never across two hosts."""
    taken = 0
    for rest in sorted(hosts, key=lambda rest: (rest.vcpu, rest.memory, rest.gpu, rest.local_disk)):
        each = fitting_into(rest, shape)
        if each < 1:
            continue
        count = hosts.pop(rest)
        full = min(count, (wanted - taken) // each)
        if full:
            hosts[rest.after(each, shape)] += full
            taken += full * each
        if full < count and taken < wanted:
            hosts[rest.after(wanted - taken, shape)] += 1
            full, taken = full + 1, wanted
        if full < count:
            hosts[rest] += count - full
            break
    return taken


@dataclass(frozen=True, slots=True)
class _Asking:
    """One contract with a floor, and the committed pools that it may use, the one that wastes least of itself first."""

    contract: Contract
    fitting: tuple[Pool, ...]


def floors_fit(ground: Ground) -> Iterator[Attributed]:
    """The floors of each region fit its committed pools, whole instances, the choosiest contracts first."""
    estate = ground.estate
    for region in estate.settings.regions:
        left, asking = _committed(estate, region)
        asked: dict[str, int] = defaultdict(int)
        rivals = _rivals(asking, f"aggregate/{region.name}")
        for each in asking:
            contract = each.contract
            name = class_of(contract.eligibility)
            asked[name] += contract.floor
            if (short := _place(each, left)) > 0:
                found = _no_room(estate, each, region=region.name, asked=asked[name], short=short)
                alone = frozenset({*fields_of(contract, FLOOR_BY), f"aggregate/{region.name}"})
                yield Attributed(found, rivals[each.fitting[0].aggregate] if each.fitting else alone)


@dataclass(frozen=True, slots=True)
class Left:
    """What the floors leave of one committed aggregate, over all its hosts."""

    vcpu: int
    gpu: int


def left_after_floors(estate: Estate, region: RegionEntry) -> Mapping[str, Left]:
    """What every floor of a region leaves of its committed aggregates, by name, placed as `floors_fit` places them."""
    left, asking = _committed(estate, region)
    for each in asking:
        _place(each, left)
    return {
        name: Left(sum(rest.vcpu * n for rest, n in hosts.items()), sum(rest.gpu * n for rest, n in hosts.items()))
        for name, hosts in left.items()
    }


def floors_without_room(estate: Estate, region: RegionEntry, *, percent: int) -> list[tuple[Contract, int]]:
    """Contracts whose floors find no room on a share of the region's committed hosts, and how many units do not."""
    left, asking = _committed(estate, region, percent=percent)
    placed = [(each.contract, _place(each, left)) for each in asking]
    return [(contract, short) for contract, short in placed if short > 0]


def _committed(
    estate: Estate, region: RegionEntry, *, percent: int = 100
) -> tuple[Mapping[str, Counter[_Rest]], list[_Asking]]:
    """A share of the empty hosts of a region's committed aggregates, whole ones, and who asks for them, the choosiest
    first.
    """
    committed = [pool for pool in estate.pools_of(region.name) if pool.committed]
    hosts = {
        pool.aggregate: Counter(
            {
                _Rest(pool.hosts.vcpu, pool.hosts.memory, pool.hosts.gpu, pool.hosts.local_disk): pool.hosts.count
                * percent
                // 100
            }
        )
        for pool in committed
    }
    asking = _asking(estate.contracts_of(region.name), committed)
    return hosts, sorted(asking, key=lambda one: (len(one.fitting), one.contract.name))


def _asking(contracts: Sequence[Contract], committed: Sequence[Pool]) -> list[_Asking]:
    """The contracts with a floor; those alike share what they may use."""
    known: dict[tuple[Eligibility, Unit], tuple[Pool, ...]] = {}
    found = []
    for contract in contracts:
        if not contract.floor:
            continue
        alike = (contract.eligibility, contract.unit)
        if alike not in known:
            fitting = [pool for pool in committed if eligible(contract, pool, verification_margin_s=0)]
            fitting.sort(key=lambda p: (p.instance.vcpu / units_per_instance(contract, p), p.name))
            known[alike] = tuple(fitting)
        found.append(_Asking(contract, known[alike]))
    return found


def _rivals(asking: Sequence[_Asking], shelf: str) -> Mapping[str, frozenset[str]]:
    """By aggregate what its floors rest on: the region's shelf of aggregates, and every floor that draws on the same
    hosts, directly or through an aggregate that both may use.
    """
    pots: dict[str, set[str]] = {}
    for aggregates, contracts in _by_aggregates(asking).items():
        pot = {shelf, *(key for contract in contracts for key in fields_of(contract, FLOOR_BY))}
        met = {id(pots[one]): pots[one] for one in aggregates if one in pots}
        for other in met.values():
            pot |= other
        joined = {one for one, other in pots.items() if id(other) in met} | aggregates
        pots |= dict.fromkeys(joined, pot)
    frozen = {id(pot): frozenset(pot) for pot in pots.values()}
    return {aggregate: frozen[id(pot)] for aggregate, pot in pots.items()}


def _by_aggregates(asking: Sequence[_Asking]) -> Mapping[frozenset[str], list[Contract]]:
    found: dict[frozenset[str], list[Contract]] = {}
    for each in asking:
        found.setdefault(frozenset(pool.aggregate for pool in each.fitting), []).append(each.contract)
    return found


def _place(asking: _Asking, left: Mapping[str, Counter[_Rest]]) -> int:
    """Put a floor into the pools that waste least of an instance, gangs whole; the units that found no room."""
    units = asking.contract.floor
    for pool in asking.fitting:
        whole = lot(units_per_instance(asking.contract, pool), asking.contract.gang_size)
        room = sum(fitting_into(rest, pool.instance) * count for rest, count in left[pool.aggregate].items())
        lots = min(-(-units // whole.units), room // whole.instances)
        _take(left[pool.aggregate], pool.instance, lots * whole.instances)
        units -= lots * whole.units
        if units <= 0:
            return 0
    return units


def _no_room(estate: Estate, asking: _Asking, *, region: str, asked: int, short: int) -> Finding:
    contract, fitting = asking.contract, asking.fitting
    name = class_of(contract.eligibility)
    held: dict[str, int] = {}
    for pool in fitting:
        holds = units_per_instance(contract, pool) * instances_when_empty(pool)
        held[pool.aggregate] = max(held.get(pool.aggregate, 0), holds)
    message = (
        f"the floors of class {name} in {region} do not fit its committed capacity: {asked} units are asked for up to "
        f"{contract.name}, {short} of its {contract.floor} find no room; {len(fitting)} committed pools that it may "
        f"use hold {sum(held.values())} units of its size when empty"
    )
    place = at(estate, f"contract/{contract.name}/floor")
    return Finding(
        "EBT-203",
        place,
        message,
        str(contract.floor),
        f"at most {contract.floor - short}",
        "lower a floor, or commit more hosts",
    )

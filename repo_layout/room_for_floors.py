"""Rules about plain room: a row's instance fits its host, and the floors of a region fit its committed capacity.

Called from the table in `repo_layout.feasibility`. It counts empty hosts, as the catalogue declares them; what stands
on them now is the reconciler's to know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from contracts.findings import Finding
from contracts.model import Contract
from contracts.values import format_size
from pools.eligibility import class_of, eligible, units_per_instance
from pools.model import HostShape, InstanceShape, Pool
from repo_layout.documents import RegionEntry
from repo_layout.known_names import at
from repo_layout.model import Estate


def instances_per_host(host: HostShape, instance: InstanceShape) -> int:
    """Whole instances that one empty host holds."""
    fits = [host.vcpu // instance.vcpu, host.memory // instance.memory]
    if instance.gpu:
        fits.append(host.gpu // instance.gpu)
    if instance.local_disk:
        fits.append(host.local_disk // instance.local_disk)
    return min(fits)


def rows_fit_hosts(estate: Estate) -> Iterator[Finding]:
    """Every row's instance fits one host of its aggregate."""
    for pool in estate.pools:
        if instances_per_host(pool.hosts, pool.instance) >= 1:
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


@dataclass(slots=True)
class _Hosts:
    """What is left of one aggregate's hosts, counted whole."""

    vcpu: int
    memory: int
    gpu: int
    local_disk: int

    def take(self, pool: Pool, wanted: int) -> int:
        """Instances of the row that still go in, at most `wanted`; they are taken."""
        shape = pool.instance
        per_host = instances_per_host(pool.hosts, shape)
        fits = [wanted, per_host * pool.hosts.count, self.vcpu // shape.vcpu, self.memory // shape.memory]
        if shape.gpu:
            fits.append(self.gpu // shape.gpu)
        if shape.local_disk:
            fits.append(self.local_disk // shape.local_disk)
        taken = max(0, min(fits))
        self.vcpu -= taken * shape.vcpu
        self.memory -= taken * shape.memory
        self.gpu -= taken * shape.gpu
        self.local_disk -= taken * shape.local_disk
        return taken


def floors_fit(estate: Estate) -> Iterator[Finding]:
    """The floors of each region fit its committed pools, whole instances, the choosiest contracts first."""
    for region in estate.settings.regions:
        committed = [pool for pool in estate.pools_of(region.name) if pool.committed]
        left = {
            pool.aggregate: _Hosts(
                pool.hosts.count * pool.hosts.vcpu,
                pool.hosts.count * pool.hosts.memory,
                pool.hosts.count * pool.hosts.gpu,
                pool.hosts.count * pool.hosts.local_disk,
            )
            for pool in committed
        }
        asking = []
        for contract in estate.contracts_of(region.name):
            if contract.floor:
                fitting = [
                    p for p in committed if eligible(contract, p, verification_margin_s=region.verification_margin)
                ]
                asking.append((len(fitting), contract.name, contract, fitting))
        asked: dict[str, int] = defaultdict(int)
        for _, _, contract, fitting in sorted(asking, key=lambda item: item[:2]):
            name = class_of(contract.eligibility)
            asked[name] += contract.floor
            if (short := _place(contract, fitting, left)) > 0:
                yield _no_room(estate, contract, region=region.name, fitting=fitting, asked=asked[name], short=short)


@dataclass(frozen=True, slots=True)
class Left:
    """What the floors leave of one committed aggregate."""

    vcpu: int
    gpu: int


def left_after_floors(estate: Estate, region: RegionEntry) -> Mapping[str, Left]:
    """What every floor of a region leaves of its committed aggregates, by name, placed as `floors_fit` places them."""
    committed = [pool for pool in estate.pools_of(region.name) if pool.committed]
    left = {
        pool.aggregate: _Hosts(
            *(pool.hosts.count * each for each in (pool.hosts.vcpu, pool.hosts.memory)),
            *(pool.hosts.count * each for each in (pool.hosts.gpu, pool.hosts.local_disk)),
        )
        for pool in committed
    }
    margin = region.verification_margin
    asking = [
        (contract, [pool for pool in committed if eligible(contract, pool, verification_margin_s=margin)])
        for contract in estate.contracts_of(region.name)
        if contract.floor
    ]
    for contract, fitting in sorted(asking, key=lambda item: (len(item[1]), item[0].name)):
        _place(contract, fitting, left)
    return {name: Left(hosts.vcpu, hosts.gpu) for name, hosts in left.items()}


def _place(contract: Contract, fitting: list[Pool], left: dict[str, _Hosts]) -> int:
    """Put a floor into the pools that waste least of an instance; the units that found no room."""
    units = contract.floor
    for pool in sorted(fitting, key=lambda p: (p.instance.vcpu / units_per_instance(contract, p), p.name)):
        each = units_per_instance(contract, pool)
        units -= each * left[pool.aggregate].take(pool, -(-units // each))
        if units <= 0:
            return 0
    return units


def _no_room(
    estate: Estate, contract: Contract, *, region: str, fitting: list[Pool], asked: int, short: int
) -> Finding:
    name = class_of(contract.eligibility)
    room = sum(
        units_per_instance(contract, pool) * instances_per_host(pool.hosts, pool.instance) * pool.hosts.count
        for pool in {pool.aggregate: pool for pool in fitting}.values()
    )
    message = (
        f"the floors of class {name} in {region} do not fit its committed capacity: {asked} units are asked for up to "
        f"{contract.name}, {short} of its {contract.floor} find no room; {len(fitting)} committed pools that it may "
        f"use hold {room} such units when empty"
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

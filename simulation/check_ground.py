"""What one estate says of one region, restated for the checkers: places, shares, claims, and who may stand where.

Written from the design's text and sharing no code with planner, guard or compiler, so that a mistake of theirs does not
repeat itself here. Called by `simulation.check_scene` and the checkers; it knows nothing of time or servers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from contracts.model import Contract
from pools.model import Pool
from repo_layout.documents import GuardLimits
from repo_layout.model import Estate

GIB = 2**30
BEFORE_DRAIN_S = 1 + 2
"""Seconds of a notice before a drain begins: one for the relay, two until the node acts (DESIGN 3.2)."""

STRICT_RANK = 2
"""`anchored` and `resumable`: the tiers that stand on covered instances only."""

NETWORKS = ("any", "25g", "100g", "infiniband")


@dataclass(frozen=True, slots=True)
class Share:
    """The spread that one workload promises: percent in a domain and in a group, and how many domains it asks for."""

    domain: int
    group: int
    domains: int


class Ground:
    """One commit's estate for one region."""

    def __init__(self, estate: Estate, region: str) -> None:
        self.estate, self.region = estate, region
        self.contracts: Mapping[str, Contract] = {c.name: c for c in estate.contracts_of(region)}
        self.pools: Mapping[str, Pool] = {p.name: p for p in estate.pools_of(region)}
        self.projects = frozenset(estate.region(region).projects)
        self.limits: GuardLimits = estate.region(region).guard
        self.scopes = self._scopes()
        self.shares = {name: self._share(contract) for name, contract in self.contracts.items()}
        factors = {factor.family: factor.ncu for factor in estate.settings.gpu_factors}
        self.milli_ncu = {name: _milli_ncu(contract, factors) for name, contract in self.contracts.items()}
        self._fits: dict[tuple[str, str], int] = {}
        self._sizes: dict[str, frozenset[int]] = {}

    def _scopes(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """For each pool its domain and its bounding groups, as (kind of scope, name)."""
        kinds = self.estate.settings.bounds.bounding_kinds
        groups: dict[str, list[str]] = defaultdict(list)
        for group in self.estate.groups_of(self.region):
            if group.bounding and group.falls_with in kinds:
                for member in group.members:
                    groups[member].append(group.name)
        return {
            name: (("domain", pool.domain), *(("group", group) for group in groups[pool.domain]))
            for name, pool in self.pools.items()
        }

    def _share(self, contract: Contract) -> Share:
        bounds = self.estate.settings.bounds
        share = Share(bounds.pool_share, bounds.group_share, bounds.pools)
        wanted = contract.eligibility
        named = f"gpu-{wanted.gpu_family}" if wanted.gpu_family else wanted.architecture.replace("_", "-")
        named = named if wanted.network in ("any", "25g") else f"{named}-{wanted.network}"
        for waiver in self.estate.waivers:
            if (waiver.region, waiver.eligibility_class) == (self.region, named):
                share = Share(
                    max(share.domain, waiver.pool_share),
                    max(share.group, waiver.group_share),
                    min(share.domains, waiver.pools),
                )
        return share

    def claim(self, workload: str, wanted: int) -> int:
        """All units that the workload may claim where `wanted` run or wait: the floor, and whole gangs beyond it."""
        contract = self.contracts.get(workload)
        return self.interruptible(workload, wanted) + (contract.floor if contract else 0)

    def interruptible(self, workload: str, wanted: int) -> int:
        """D: the part of the claim beyond the floor, at most the maximum, in whole gangs."""
        contract = self.contracts.get(workload)
        if contract is None or contract.restart == "never":
            return 0
        gang = contract.gang_size
        most = (contract.maximum - contract.floor) // gang * gang
        return min(most, -(-max(0, wanted - contract.floor) // gang) * gang)

    def units_in(self, workload: str, pool: str) -> int:
        """Units that one instance of the pool holds where the contract may use it, 0 where it may not."""
        key = workload, pool
        if key not in self._fits:
            contract, row = self.contracts.get(workload), self.pools.get(pool)
            margin = self.estate.region(self.region).verification_margin
            self._fits[key] = _units(contract, row, margin) if contract is not None and row is not None else 0
        return self._fits[key]

    def lot_sizes(self, workload: str) -> frozenset[int]:
        """The quanta of the reclaimable pools that the workload may use: a gang, or the whole gangs in an instance."""
        if workload not in self._sizes:
            gang = self.contracts[workload].gang_size
            held = {self.units_in(workload, name) for name, pool in self.pools.items() if not pool.committed}
            self._sizes[workload] = frozenset(quantum(units, gang) for units in held if units)
        return self._sizes[workload]

    def strict(self, workload: str) -> bool:
        """Whether the workload is of a tier that stands on covered instances only."""
        return self.contracts[workload].tier.rank <= STRICT_RANK

    def paused(self, workload: str, pool: str) -> bool:
        """Whether a reviewed line pauses the workload or the pool."""
        named = {"region": self.region, "workload": workload, "pool": pool}
        return any(p.scope == "estate" or named.get(p.scope) == p.name for p in self.estate.settings.pauses)


def quantum(units: int, gang: int) -> int:
    """The smallest thing that can be added where an instance holds `units`: one gang, or the gangs that fill it."""
    return gang if gang > units else units // gang * gang


def allowed(percent: int, desired: int, lot: int) -> int:
    """The bound of one scope: max(1 quantum, ceil(share x D)) (DESIGN 8)."""
    return max(lot, -(-percent * desired // 100))


def _milli_ncu(contract: Contract, factors: Mapping[str, int]) -> int:
    unit = contract.unit
    size = max(unit.vcpu * 1000, -(-unit.memory * 1000 // (4 * GIB)))
    return size + unit.gpu * 1000 * factors.get(contract.eligibility.gpu_family or "", 0)


def _units(contract: Contract, pool: Pool, margin_s: int) -> int:
    """Units in one instance of a pool that offers what the contract asks and whose notice its drain fits, else 0."""
    wanted, offered, shape = contract.eligibility, pool.attributes, pool.instance
    suits = (
        offered.architecture == wanted.architecture
        and offered.gpu_family == wanted.gpu_family
        and NETWORKS.index(offered.network) >= NETWORKS.index(wanted.network)
        and pool.hall not in wanted.avoid_halls
        and shape.memory >= (wanted.memory_per_vcpu or 0) * shape.vcpu
    )
    if not suits:
        return 0
    unit = contract.unit
    room = [shape.vcpu // unit.vcpu, shape.memory // unit.memory]
    room += [shape.gpu // unit.gpu] if unit.gpu else []
    room += [shape.local_disk // unit.local_disk] if unit.local_disk else []
    units = min(room)
    if pool.committed:
        return units
    drains = contract.drain.budget + BEFORE_DRAIN_S + margin_s <= pool.notice_window_s
    saved = contract.checkpoint.mode in ("on-notice", "both")
    written = (contract.checkpoint.size or 0) * units if saved else 0
    return units if drains and written <= contract.drain.budget * pool.checkpoint_throughput else 0

"""Which pools each workload may use after a change and could not before, and the other way round, each with its cause.

`repo_layout.change` asks. Eligibility itself is `pools.eligibility`'s; here two answers of it are held side by side and
the first thing that tells them apart is the cause. Pure; undoing a change gives the same moves the other way.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from contracts.model import Contract
from contracts.values import format_duration, format_size
from pools.eligibility import (
    checkpoint_fits,
    drain_fits,
    drain_needs_s,
    memory_suffices,
    network_suffices,
    units_per_instance,
    written_on_notice,
)
from pools.model import Pool
from repo_layout.model import Estate


class PoolCause(enum.Enum):
    """What decides that a workload may use a pool on one side of the change and not on the other."""

    THERE = "the pool is there"
    REGION = "region"
    RATE_CLASS = "rate class"
    ARCHITECTURE = "architecture"
    GPU_FAMILY = "GPU family"
    NETWORK = "network"
    HALL = "hall"
    MEMORY_PER_VCPU = "memory per vCPU"
    UNIT = "size of a unit"
    NOTICE = "notice window"
    CHECKPOINT = "checkpoint on notice"


class Changer(enum.Enum):
    """Which side of the comparison changed."""

    CONTRACT = "contract"
    POOL = "pool"
    REGION = "region"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class PoolMove:
    """One pool that a workload gained or lost.

    `fits` is what is compared on the side where the workload may use it, `fails` on the other, each what was asked and
    what was offered; both are empty where the pool itself came or went.
    """

    pool: str
    cause: PoolCause
    changer: Changer
    fits: tuple[str, str] = ("", "")
    fails: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class ReachChange:
    """The pools that one workload gained and lost; `before` and `after` count the reclaimable ones that it may use."""

    workload: str
    gained: tuple[PoolMove, ...]
    lost: tuple[PoolMove, ...]
    before: int
    after: int

    def mirrored(self) -> ReachChange:
        """The same change, undone."""
        return ReachChange(self.workload, self.lost, self.gained, self.after, self.before)


@dataclass(frozen=True, slots=True)
class _Side:
    """One contract with the catalogue around it; `pools` are all of the estate's, by name."""

    contract: Contract
    region: str
    margin_s: int
    pools: dict[str, Pool]

    def usable(self, *, committed: bool) -> dict[str, Pool]:
        """The pools of one rate class that the contract may use."""
        return {
            name: pool
            for name, pool in self.pools.items()
            if pool.region == self.region and pool.committed == committed and all(row.fits(self, pool) for row in _ROWS)
        }


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the comparison: does it fit, and what was asked and offered."""

    cause: PoolCause
    fits: Callable[[_Side, Pool], bool]
    told: Callable[[_Side, Pool], tuple[str, str]]


def _per_vcpu(pool: Pool) -> int:
    return pool.instance.memory // pool.instance.vcpu


def _unit_told(side: _Side, pool: Pool) -> tuple[str, str]:
    unit, room = side.contract.unit, pool.instance
    both = [(f"{unit.vcpu} vCPU", f"{room.vcpu} vCPU"), (format_size(unit.memory), format_size(room.memory))]
    both += [(f"{unit.gpu} GPU", f"{room.gpu} GPU")] if unit.gpu else []
    both += [(f"{format_size(unit.local_disk)} of disk", f"{format_size(room.local_disk)} of disk")] * bool(
        unit.local_disk
    )
    return ", ".join(asked for asked, _ in both), ", ".join(offered for _, offered in both)


def _notice_told(side: _Side, pool: Pool) -> tuple[str, str]:
    needs = drain_needs_s(side.contract, verification_margin_s=side.margin_s)
    return format_duration(needs), format_duration(pool.notice_window_s)


def _checkpoint_told(side: _Side, pool: Pool) -> tuple[str, str]:
    writes = written_on_notice(side.contract, pool)
    return format_size(writes), format_size(side.contract.drain.budget * pool.checkpoint_throughput)


_ROWS = (
    _Row(
        PoolCause.ARCHITECTURE,
        lambda side, pool: side.contract.eligibility.architecture == pool.attributes.architecture,
        lambda side, pool: (side.contract.eligibility.architecture, pool.attributes.architecture),
    ),
    _Row(
        PoolCause.GPU_FAMILY,
        lambda side, pool: side.contract.eligibility.gpu_family == pool.attributes.gpu_family,
        lambda side, pool: (side.contract.eligibility.gpu_family or "no GPU", pool.attributes.gpu_family or "no GPU"),
    ),
    _Row(
        PoolCause.NETWORK,
        lambda side, pool: network_suffices(side.contract.eligibility, pool),
        lambda side, pool: (side.contract.eligibility.network, pool.attributes.network),
    ),
    _Row(
        PoolCause.HALL,
        lambda side, pool: pool.hall not in side.contract.eligibility.avoid_halls,
        lambda side, pool: (", ".join(sorted(side.contract.eligibility.avoid_halls)), pool.hall),
    ),
    _Row(
        PoolCause.MEMORY_PER_VCPU,
        lambda side, pool: memory_suffices(side.contract.eligibility, pool),
        lambda side, pool: (
            format_size(side.contract.eligibility.memory_per_vcpu or 0),
            format_size(_per_vcpu(pool)),
        ),
    ),
    _Row(PoolCause.UNIT, lambda side, pool: units_per_instance(side.contract, pool) >= 1, _unit_told),
    _Row(
        PoolCause.NOTICE,
        lambda side, pool: pool.committed or drain_fits(side.contract, pool, verification_margin_s=side.margin_s),
        _notice_told,
    ),
    _Row(
        PoolCause.CHECKPOINT,
        lambda side, pool: pool.committed or checkpoint_fits(side.contract, pool),
        _checkpoint_told,
    ),
)


def reach_changes(base: Estate, head: Estate, changed: frozenset[str]) -> Iterator[ReachChange]:
    """Each workload of both estates whose usable pools differ, by name; `changed` says where nothing can differ.

    Committed pools count where the workload has a floor or fallback on one side, reclaimable ones where it may grow
    above its floor.
    """
    touched = {region.name for estate in (base, head) for region in estate.settings.regions}
    touched = {name for name in touched if _region_touched(base, head, name, changed)}
    pools = ({pool.name: pool for pool in base.pools}, {pool.name: pool for pool in head.pools})
    for name in sorted(base.contract_by_name.keys() & head.contract_by_name.keys()):
        regions = {estate.region_of_cluster.get(estate.contract_by_name[name].cluster) for estate in (base, head)}
        if f"contract/{name}" not in changed and not regions & touched and len(regions) == 1:
            continue
        before, after = _side(base, name, pools[0]), _side(head, name, pools[1])
        if before is None or after is None:
            continue
        if found := _reach(before, after):
            yield found


def usable_pools(estate: Estate, contract: Contract) -> int:
    """How many reclaimable pools a contract of the estate may use."""
    side = _side(estate, contract.name, {pool.name: pool for pool in estate.pools})
    return len(side.usable(committed=False)) if side is not None else 0


def _region_touched(base: Estate, head: Estate, name: str, changed: frozenset[str]) -> bool:
    if f"region/{name}" in changed:
        return True
    return any(f"aggregate/{name}/{pool.aggregate}" in changed for e in (base, head) for pool in e.pools_of(name))


def _side(estate: Estate, name: str, pools: dict[str, Pool]) -> _Side | None:
    contract = estate.contract_by_name[name]
    region = estate.region_of_cluster.get(contract.cluster)
    if region is None:
        return None  # no region has its cluster, which EBT-206 says
    return _Side(contract, region, estate.region(region).verification_margin, pools)


def _reach(before: _Side, after: _Side) -> ReachChange | None:
    both = (before.contract, after.contract)
    gained: list[PoolMove] = []
    lost: list[PoolMove] = []
    counts = [0, 0]
    for committed, counts_at_all in (
        (False, any(c.maximum > c.floor for c in both)),
        (True, any(c.floor or c.fallback.allowed for c in both)),
    ):
        if not counts_at_all:
            continue
        had, has = before.usable(committed=committed), after.usable(committed=committed)
        if not committed:
            counts = [len(had), len(has)]
        gained += [_move(pool, fits=after, fails=before) for name, pool in has.items() if name not in had]
        lost += [_move(pool, fits=before, fails=after) for name, pool in had.items() if name not in has]
    if not gained and not lost:
        return None
    return ReachChange(before.contract.name, _sorted(gained), _sorted(lost), counts[0], counts[1])


def _sorted(moves: list[PoolMove]) -> tuple[PoolMove, ...]:
    return tuple(sorted(moves, key=lambda move: (move.pool, move.cause.value)))


def _move(pool: Pool, *, fits: _Side, fails: _Side) -> PoolMove:
    """The first thing by which the workload may use the pool on one side and not on the other."""
    other = fails.pools.get(pool.name)
    if other is None:
        return PoolMove(pool.name, PoolCause.THERE, Changer.POOL)
    if fails.region != other.region:
        changer = Changer.CONTRACT if fails.region != fits.region else Changer.POOL
        return PoolMove(pool.name, PoolCause.REGION, changer, (fits.region, pool.region), (fails.region, other.region))
    if pool.committed != other.committed:
        words = tuple("committed" if one.committed else "reclaimable" for one in (pool, other))
        return PoolMove(pool.name, PoolCause.RATE_CLASS, Changer.POOL, ("", words[0]), ("", words[1]))
    row = next(row for row in _ROWS if not row.fits(fails, other))
    return PoolMove(
        pool.name, row.cause, _changer(row, pool, other, fits, fails), row.told(fits, pool), row.told(fails, other)
    )


def _changer(row: _Row, pool: Pool, other: Pool, fits: _Side, fails: _Side) -> Changer:
    """Whoever fails against the other side as it was; the verification margin is the region's."""
    by_contract = not row.fits(_Side(fails.contract, fails.region, fits.margin_s, fits.pools), pool)
    by_pool = not row.fits(fits, other)
    if by_contract and by_pool:
        return Changer.BOTH
    if by_contract or by_pool:
        return Changer.CONTRACT if by_contract else Changer.POOL
    return Changer.REGION if fits.margin_s != fails.margin_s else Changer.BOTH

"""Turns one cycle's facts into the placement problem, and its answer into wanted instances.

Pure. Everything that holds only for a time (exclusions, maintenance windows, pauses, open reclaims, quotas) becomes a
number here, so that the planner needs no clock. Ranking supplies each workload's offers; this module knows no rates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from contracts.model import Contract
from correlation_groups.spread import Shares
from ledger.events import Paid
from pools.eligibility import class_of, eligible, units_per_instance
from pools.model import Pool
from pools.provider import Quota, Reclaim, seat_of
from reconciler.claims import Claim
from reconciler.diff import Wanted
from reconciler.fleet import Fleet, Phase
from reconciler.problem import (
    UNKNOWN_POOL,
    DomainSupply,
    Held,
    Need,
    Offers,
    Placement,
    PoolSupply,
    Problem,
    Resources,
    Team,
)
from repo_layout.model import Estate
from repo_layout.partitions import narrowed, share_in
from repo_layout.reach import shares_of
from repo_layout.sums import gpu_factors, milli_ncu

MIB = 2**20
GIB = 2**30
STRICT_RANK = 2
"""Tiers up to this rank stand on covered instances only."""


MOVE_MARGIN = 2
"""How many times its cost a move must gain over the horizon: the best of many noisy estimates looks better than it is
(Smith and Winkler, "The Optimizer's Curse", Management Science 52, 2006)."""

EXCESS_PACE = 1
"""Lots moved out of inherited excesses in one cycle: each interrupts somebody, and most excesses end with the next
claim."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known this cycle, as numbers and names.

    `offers` holds each workload's ranked pools, `room` what forward capacity may be used in each domain (already
    discounted), `admitted` how many instances an excluded or probed pool may take (absent: no limit), `move_cost_micro`
    what interrupting one unit of a workload costs, `fallback_units` what the arbiter granted, `beside` what the
    region's other partitions hold in each domain, `unlisted` how many servers of a workload stand nobody knows where.
    """

    now: int
    claims: Mapping[str, Claim]
    fleet: Fleet
    offers: Mapping[str, Offers]
    room: Mapping[str, Resources]
    quota: Quota | None
    reclaims: tuple[Reclaim, ...] = ()
    admitted: Mapping[str, int] = field(default_factory=dict)
    move_cost_micro: Mapping[str, int] = field(default_factory=dict)
    fallback_units: Mapping[str, int] = field(default_factory=dict)
    paused_pools: frozenset[str] = frozenset()
    beside: Mapping[str, Resources] = field(default_factory=dict)
    unlisted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Partition:
    """What of the estate does not change within one commit, worked out once: the region's pools, groups and shares.

    Of a region that is divided `estate` is what this partition has of it (`repo_layout.partitions`): its clusters, its
    share of each limit and authority. `name` is empty where one leader has the whole region.
    """

    estate: Estate
    region: str
    contracts: tuple[Contract, ...]
    pools: tuple[Pool, ...]
    groups: Mapping[str, tuple[str, ...]]
    shares: Mapping[str, Shares]
    units: Mapping[tuple[str, str], int]
    eligible_units: Mapping[tuple[str, str], int]
    pool_by_name: Mapping[str, Pool]
    contract_by_name: Mapping[str, Contract]
    resources: Mapping[str, Resources]
    strict: frozenset[str]
    resuming: frozenset[str]
    milli_ncu: Mapping[str, int]
    name: str = ""
    lent_share: int = 100
    committed_share: int = 100

    def again(self, estate: Estate) -> Partition:
        """The same partition of another commit."""
        return partition(estate, self.region, self.name)

    @cached_property
    def seat(self) -> str:
        """The name under which it keeps what is its own: lease, memory, reservations, and its instances' names."""
        return seat_of(self.region, self.name)

    @cached_property
    def owner(self) -> tuple[str, str, str]:
        """What a mark of ours says of whose it is."""
        return (self.estate.settings.estate, self.region, self.name)

    @cached_property
    def committed_lots(self) -> Mapping[str, int]:
        """Units that come with one committed instance of each workload, of the largest where several kinds are
        eligible.
        """
        committed = [pool.name for pool in self.pools if pool.committed]
        return {
            c.name: max((self.eligible_units.get((c.name, name), 0) for name in committed), default=0) or 1
            for c in self.contracts
        }


def partition(estate: Estate, region: str, name: str = "") -> Partition:
    """The region's part of the estate, or one partition's; KeyError for a region or partition that it does not have."""
    share = share_in(estate, region, name)
    estate = narrowed(estate, region, name)
    contracts = estate.contracts_of(region)
    pools = estate.pools_of(region)
    kinds = set(estate.settings.bounds.bounding_kinds)
    groups: dict[str, list[str]] = defaultdict(list)
    for group in estate.groups_of(region):
        if group.bounding and group.falls_with in kinds:
            for member in group.members:
                groups[member].append(group.name)
    units = {(c.name, p.name): units_per_instance(c, p) for c in contracts for p in pools}
    margin = estate.region(region).verification_margin
    factors = gpu_factors(estate)
    return Partition(
        estate=estate,
        region=region,
        contracts=contracts,
        pools=pools,
        groups={domain: tuple(sorted(names)) for domain, names in groups.items()},
        shares={c.name: shares_of(estate, region, class_of(c.eligibility))[0] for c in contracts},
        units=units,
        eligible_units={
            (c.name, p.name): units[c.name, p.name]
            for c in contracts
            for p in pools
            if eligible(c, p, verification_margin_s=margin)
        },
        pool_by_name={p.name: p for p in pools},
        contract_by_name={c.name: c for c in contracts},
        resources={p.name: resources_of(p) for p in pools},
        strict=frozenset(c.name for c in contracts if c.tier.rank <= STRICT_RANK),
        resuming=frozenset(c.name for c in contracts if c.restart == "from-checkpoint"),
        milli_ncu={c.name: milli_ncu(c, factors) for c in contracts},
        name=name,
        lent_share=share.lent,
        committed_share=share.committed,
    )


def resources_of(pool: Pool) -> Resources:
    """What one instance of the pool takes."""
    shape = pool.instance
    return Resources(shape.vcpu, shape.memory // MIB, shape.gpu, shape.local_disk // GIB)


def problem(part: Partition, facts: Facts) -> Problem:
    """The placement problem of this cycle."""
    movement = part.estate.settings.movement
    count = _count(part, facts)
    closed = closed_pools(part, facts.now, facts.reclaims)
    return Problem(
        domains=_domains(part, facts, count),
        pools=tuple(_pool_supply(facts, pool, part, closed) for pool in part.pools),
        teams=tuple(Team(t.name, t.weight, t.ncu_limit * 1000) for t in part.estate.settings.teams),
        needs=tuple(_need(part, facts, contract) for contract in part.contracts),
        held=tuple(Held(workload, pool, *tally) for (workload, pool), tally in sorted(count.slots.items())),
        horizon_h=max(1, movement.horizon // 3600),
        max_moves=max(1, count.supply * movement.per_cycle_share // 100),
        max_excess_moves=EXCESS_PACE,
        tie_break=facts.now // 86_400_000,
    )


@dataclass
class _Count:
    """One pass over the fleet. `slots` -> [instances, units, movable, idle, leaving], as `Held` orders its fields."""

    slots: dict[tuple[str, str], list[int]]
    in_pool: dict[str, int]
    supply: int


def _count(part: Partition, facts: Facts) -> _Count:
    """The fleet by slot. A busy instance of work that starts from scratch is never movable: to move it is to kill it,
    and its jobs end by themselves soon.
    """
    youngest = facts.now - part.estate.settings.movement.minimum_lifetime * 1000
    claims, known_pools = facts.claims, part.pool_by_name
    slots: dict[tuple[str, str], list[int]] = {}
    in_pool: dict[str, int] = {}
    supplies = 0
    serving, joined, gone = Phase.SERVING, Phase.JOINED, Phase.GONE
    for instance in facts.fleet.instances.values():  # the widest loop of a cycle: what is read twice is read once
        phase = instance.phase
        if phase is gone:
            continue
        pool = instance.pool
        if pool in known_pools:
            in_pool[pool] = in_pool.get(pool, 0) + 1
        else:
            pool = UNKNOWN_POOL
        workload = instance.workload
        if workload not in claims:
            continue
        tally = slots.get((workload, pool))
        if tally is None:
            tally = slots[workload, pool] = [0, 0, 0, 0, 0]
        tally[0] += 1
        if tally[1] < instance.units:  # noqa: PLR1730 - half of what a call of max costs
            tally[1] = instance.units
        ready = phase is serving or phase is joined
        supply = ready or phase is Phase.BOOTING or phase is Phase.REQUESTED
        uncovered = ready and not instance.covered and workload in part.strict
        if not supply or uncovered or instance.moving_to:
            tally[4] += 1
            continue
        supplies += 1
        idle = instance.busy_units == 0
        if idle:
            tally[3] += 1
        if (idle or workload in part.resuming) and 0 < instance.joined_at <= youngest:
            tally[2] += 1
    return _with_unlisted(part, facts, _Count(slots, in_pool, supplies))


def _with_unlisted(part: Partition, facts: Facts, count: _Count) -> _Count:
    """The count with servers of which others than a listing know: alive, of the largest size, and in every scope of the
    bounds. Nobody grows into their place.
    """
    for workload in facts.claims.keys() & facts.unlisted.keys():
        tally = count.slots.setdefault((workload, UNKNOWN_POOL), [0, 0, 0, 0, 0])
        tally[0] += facts.unlisted[workload]
        tally[1] = max(tally[1], *(units for (name, _), units in part.units.items() if name == workload))
        count.supply += facts.unlisted[workload]
    return count


def _domains(part: Partition, facts: Facts, count: _Count) -> tuple[DomainSupply, ...]:
    """Capacity is what the provider offers beyond what we hold, plus what we hold (leaving instances included).

    A partition has its share of that and of what the others hold; what it holds beyond it leaves as any excess does.
    """
    ours: dict[str, Resources] = {}
    committed = {pool.domain for pool in part.pools if pool.committed}
    for pool in part.pools:
        held = part.resources[pool.name].times(count.in_pool.get(pool.name, 0))
        ours[pool.domain] = ours.get(pool.domain, Resources()).plus(held)
    result = []
    for domain, held in sorted(ours.items()):
        capacity = facts.room.get(domain, Resources()).plus(held)
        share = part.committed_share if domain in committed else part.lent_share
        if share < 100:
            everything = capacity.plus(facts.beside.get(domain, Resources()))
            capacity = everything.share_of(share, least=held, most=capacity)
        result.append(DomainSupply(domain, capacity))
    return tuple(result)


def closed_pools(part: Partition, facts_now: int, reclaims: Iterable[Reclaim]) -> frozenset[str]:
    """Pools whose domain is under an open reclaim."""
    closed = {d for r in reclaims if r.opened_at <= facts_now < r.hold_until for d in r.domains}
    return frozenset(pool.name for pool in part.pools if pool.domain in closed)


def in_maintenance(pool: Pool, now: int) -> bool:
    """Whether one of the pool's daily windows is open."""
    for window in pool.maintenance:
        opened = window.start.next_after(now - window.length * 1000)
        if opened <= now:
            return True
    return False


def _pool_supply(facts: Facts, pool: Pool, part: Partition, closed: frozenset[str]) -> PoolSupply:
    headroom = facts.admitted.get(pool.name, 1_000_000)
    if pool.name in closed or pool.name in facts.paused_pools or in_maintenance(pool, facts.now):
        headroom = 0
    for project in facts.quota.projects if facts.quota else ():
        if project.project == pool.project:
            shape = pool.instance
            headroom = min(
                headroom, project.instances, project.vcpu // shape.vcpu, project.memory // max(1, shape.memory)
            )
    return PoolSupply(
        name=pool.name,
        domain=pool.domain,
        groups=part.groups.get(pool.domain, ()),
        instance=part.resources[pool.name],
        headroom=max(0, headroom),
        committed=pool.committed,
    )


def _need(part: Partition, facts: Facts, contract: Contract) -> Need:
    claim = facts.claims[contract.name]
    return Need(
        workload=contract.name,
        team=contract.team,
        tier=contract.tier.rank,
        desired=claim.desired,
        claimed=claim.interruptible,
        floor=claim.floor + facts.fallback_units.get(contract.name, 0),
        offers=facts.offers.get(contract.name, Offers()),
        gang=contract.gang_size,
        fallback=facts.fallback_units.get(contract.name, 0),
        gang_within=contract.eligibility.gang.within if contract.eligibility.gang else None,
        shares=part.shares[contract.name],
        milli_ncu=part.milli_ncu[contract.name],
        move_cost_micro=facts.move_cost_micro.get(contract.name, 0) * MOVE_MARGIN,
    )


def wanted(part: Partition, placement: Placement, claims: Mapping[str, Claim]) -> tuple[Wanted, ...]:
    """The placement as instances to have: committed ones are the floor first, fallback beyond it."""
    result: list[Wanted] = []
    floor_left = {name: claim.floor for name, claim in claims.items()}
    lent = Paid.RECLAIMABLE
    for count in placement.counts:
        pool = part.pool_by_name.get(count.pool)
        if pool is None or count.instances == 0:
            continue
        workload, project, units = count.workload, pool.project, part.units[count.workload, count.pool]
        if not pool.committed:
            result.append(Wanted(workload, pool.name, project, count.instances, units, lent))
            continue
        floor = min(count.instances, -(-max(0, floor_left[workload]) // units))
        floor_left[workload] -= floor * units
        for instances, paid in ((floor, Paid.FLOOR), (count.instances - floor, Paid.FALLBACK)):
            if instances:
                result.append(Wanted(workload, pool.name, project, instances, units, paid))
    return tuple(result)

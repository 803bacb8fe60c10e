"""Whether a workload that waits has to: what the product says that it lacks, held against what is so.

Written from the design alone (8): bounds, room and limits are counted here anew, from the estate, the listing and the
provider's word on room. The product's plan gives nothing but its own statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from ledger.events import Event, EventType
from pools.exclusion import LONGEST_BACK_OFF_MS
from pools.model import Pool
from pools.provider import ForwardCapacities, LifecycleKind, Listing, ProjectQuota, Quota, RateCard, Server, Signals
from reconciler.ports import Demand
from simulation.check_ground import Ground, allowed, quantum
from simulation.check_worth import WORTH

STANDING = frozenset({EventType.POOL_EXCLUDED, EventType.POOL_PROBED, EventType.POOL_READMITTED})
"""What the ledger says of a pool's exclusion, each the last word until the next."""


@dataclass(frozen=True)
class Stated:
    """What the product says of the units of one workload that wait: how many it asks for next or could not place, in
    which lent pools they are `coming`, what stands in the way of the others, and which pools it does not use for what
    is taken there or what they cost.
    """

    units: int = 0
    lacks: frozenset[str] = frozenset()
    not_offered: frozenset[str] = frozenset()
    coming: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Region:
    """What is so: the estate, what runs, what the provider says it has room for and asks for it, all that it ever said,
    the domains under a reclaim, and the pools that are excluded or probed, by the ledger.
    """

    ground: Ground
    listing: Listing
    forward: ForwardCapacities
    quota: Quota
    rates: RateCard
    signals: Signals
    closed: frozenset[str] = frozenset()
    doubted: frozenset[str] = frozenset()
    stated: Mapping[str, Stated] = field(default_factory=dict)


def stated_in(plan: Mapping[str, Any]) -> dict[str, Stated]:
    """The statement in the document of `ebbtide run --dry-run`. Who takes over from another comes, and ends no wait."""
    found: dict[str, Stated] = {}
    for one in plan["shortfalls"]:
        units = one["units"] + one["floor_units"]
        found[one["workload"]] = Stated(units, frozenset(one["lacks"]), frozenset(one["not_offered"]))
    for step in plan["steps"]:
        if step["kind"] in ("acquire", "replace"):
            said = found.get(step["workload"], Stated())
            more = 0 if step["cause"] == "rebalance" else step["units"]
            lent = step["units"] if step["paid"] == "reclaimable" else 0
            coming = {**said.coming, step["pool"]: said.coming.get(step["pool"], 0) + lent}
            found[step["workload"]] = replace(said, units=said.units + more, coming=coming)
    return found


def doubted_in(events: Iterable[Event], now: int) -> frozenset[str]:
    """The pools whose last word in the ledger is an exclusion or a probe, and no older than the longest back-off."""
    last = {event.pool: event for event in events if event.type in STANDING}
    return frozenset(
        pool
        for pool, event in last.items()
        if event.type is not EventType.POOL_READMITTED and event.occurred_at > now - LONGEST_BACK_OFF_MS
    )


def waits_wrongly(demand: Demand, region: Region) -> Iterator[str]:
    """A sentence for each thing that is not so: a wait of which nothing is said, a reason that holds nowhere, and a
    pool that takes one more although the workload waits.
    """
    waiting = demand.pending + demand.starting
    if not waiting:
        return
    said = region.stated.get(demand.workload, Stated())
    waits = f"{demand.workload} has {demand.running} units and waits for {waiting}"
    if said.units < waiting:
        yield f"{waits}, and it is said that {said.units} come or find no place"
    true: set[str] = set()
    floor, lent = (sum(map(_units, _standing(demand.workload, paid, region))) for paid in ("floor", "reclaimable"))
    short_of_floor = floor < region.ground.contracts[demand.workload].floor
    short = lent + sum(said.coming.values()) < _desired(demand, region)
    for name, pool in sorted(region.ground.pools.items()):
        wanted = short_of_floor if pool.committed else short
        if not wanted or not region.ground.units_in(demand.workload, name):
            continue
        found = frozenset(_obstacles(demand, pool, region))
        true |= found
        if name in said.not_offered:
            if not found and _worth(demand.workload, pool, region):
                yield f"{waits}, and {name} is not offered, though it costs little and little was taken there"
        elif not found:
            yield f"{waits}, and {name} takes one more"
        elif not found & said.lacks:
            yield f"{waits}: {name} is held back by {_words(found)}, and it is said to be by {_words(said.lacks)}"
    if said.lacks - true:
        yield f"{waits} for {_words(said.lacks - true)}, it is said, and that is so nowhere"


def _obstacles(demand: Demand, pool: Pool, region: Region) -> Iterator[str]:
    """Why the pool takes no lot more of the workload, in the product's words; nothing where it does."""
    ground, workload = region.ground, demand.workload
    contract, share = ground.contracts[workload], ground.shares[workload]
    lot = quantum(ground.units_in(workload, pool.name), contract.gang_size)
    instances = -(-lot // ground.units_in(workload, pool.name))
    quota = next(one for one in region.quota.projects if one.project == pool.project)
    shut = pool.domain in region.closed or pool.name in region.doubted or ground.paused(workload, pool.name)
    if shut or not _within(quota, pool, instances):
        yield "headroom"
    if not _room(region.forward, pool, instances):
        yield "capacity"
    team = ground.estate.team_by_name[contract.team]
    used = sum(_milli_ncu(row, ground) for row in region.listing.servers if _team(row, ground) == contract.team)
    if used + lot * ground.milli_ncu[workload] > team.ncu_limit * 1000:
        yield "team_limit"
    if pool.committed:
        return  # no bound is counted there
    desired = _desired(demand, region)
    lent = _lent(workload, region)
    for kind, scope in ground.scopes[pool.name]:
        here = sum(units for name, units in lent.items() if (kind, scope) in ground.scopes[name])
        if here + lot > allowed(share.domain if kind == "domain" else share.group, desired, lot):
            yield "pool_share" if kind == "domain" else "group_share"
    domains = {ground.pools[name].domain for name in lent}
    largest = max(ground.lot_sizes(workload))
    left = max(1, min(share.domains, desired // largest)) - len(domains)
    if pool.domain in domains and left > 0 and sum(lent.values()) + lot + left * largest > desired:
        yield "pool_count"


def _worth(workload: str, pool: Pool, region: Region) -> bool:
    """Whether anybody would lend in the pool: by its rate, and by twice the losses that were seen in its domain and two
    more (`simulation.check_worth`).
    """
    rate, sure = region.rates.rates.get(pool.name), region.rates.guaranteed.get(pool.name)
    hours, taken = _seen(pool, region)
    if rate is None or sure is None or hours < 1:
        return False
    contract = region.ground.contracts[workload]
    hazard = (2 * taken + 2) / hours
    idle_h = (
        Decimal((contract.checkpoint.interval or contract.expected_run) + contract.checkpoint.start_up + 300) / 3600
    )
    weight = 1 + Decimal(region.ground.estate.settings.lost_hour_weight)
    return hazard <= contract.tolerance and rate + hazard * idle_h * weight * sure <= WORTH * sure


def _seen(pool: Pool, region: Region) -> tuple[Decimal, int]:
    """Hours that servers ran in the pool's domain, and how many were taken, noticed or not, by the provider's words."""
    here = {name for name, one in region.ground.pools.items() if one.domain == pool.domain}
    said = [one for one in region.signals.lifecycle if one.pool in here]
    noticed = {one.server for one in region.signals.notices}
    ended = {one.server: one for one in said if one.kind in (LifecycleKind.DELETED, LifecycleKind.FAILED)}
    began = {one.server: one.at for one in said if one.kind is LifecycleKind.ACTIVE}
    ran = sum((ended[server].at if server in ended else region.listing.as_of) - at for server, at in began.items())
    taken = sum(server in began and (one.taken or server in noticed) for server, one in ended.items())
    return Decimal(ran) / 3_600_000, taken


def _desired(demand: Demand, region: Region) -> int:
    """D of every bound."""
    return region.ground.interruptible(demand.workload, demand.running + demand.starting + demand.pending)


def _lent(workload: str, region: Region) -> Counter[str]:
    """Units of the workload that stand in each lent pool, or are coming."""
    lent = Counter(region.stated.get(workload, Stated()).coming)
    for row in _standing(workload, "reclaimable", region):
        lent[row.pool] += _units(row)
    return +lent


def _standing(workload: str, paid: str, region: Region) -> list[Server]:
    marked = ((row, row.mark) for row in region.listing.servers if row.mark is not None)
    return [row for row, mark in marked if (mark.workload, mark.paid) == (workload, paid)]


def _within(quota: ProjectQuota, pool: Pool, instances: int) -> bool:
    shape = pool.instance
    asked = (instances, instances * shape.vcpu, instances * shape.memory)
    return all(more <= left for more, left in zip(asked, (quota.instances, quota.vcpu, quota.memory), strict=True))


def _room(forward: ForwardCapacities, pool: Pool, instances: int) -> bool:
    shape = pool.instance
    asked = (instances * shape.vcpu, instances * shape.memory, instances * shape.gpu)
    offers = (one for one in forward.domains if one.domain == pool.domain)
    return any(
        all(more <= left for more, left in zip(asked, (one.vcpu, one.memory, one.gpu), strict=True)) for one in offers
    )


def _units(row: Server) -> int:
    return row.mark.units if row.mark else 0


def _team(row: Server, ground: Ground) -> str:
    contract = ground.contracts.get(row.mark.workload) if row.mark else None
    return contract.team if contract else ""


def _milli_ncu(row: Server, ground: Ground) -> int:
    return _units(row) * ground.milli_ncu[row.mark.workload] if row.mark else 0


def _words(lacks: frozenset[str]) -> str:
    return ", ".join(sorted(lacks)) or "nothing"

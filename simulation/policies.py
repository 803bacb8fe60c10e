"""The planners that a replay or a day compares: ours, price-first, and a random spread.

A policy is what differs: the partition (with or without bounds) and the appraiser (what a pool is said to cost). All
use the same loop, guard, pacing, minimum lifetime and demand, so that a difference in the result is the planner's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from correlation_groups.spread import Shares, limit, lot
from ledger.causes import Cause
from ledger.events import Paid
from pools.model import Pool
from reconciler.appraisal import Appraisal, Appraiser
from reconciler.cycle import Decision, Seen
from reconciler.desired import Partition
from reconciler.drafts import Scribe
from reconciler.fleet import Phase
from reconciler.problem import Offers
from reconciler.sight import Census
from simulation.moments import Moment
from simulation.work import Work

FREE = Shares(pool_permille=1000, group_permille=1000, pools=1)
"""No spread at all, as planners that look at the price alone have it."""


class PriceFirst(Appraiser):
    """Every pool costs what the rate card says; nothing is learnt, nothing is excluded."""

    def appraise(self, part: Partition, counted: Census, seen: Seen, scribe: Scribe) -> Appraisal:
        """Our appraisal with rates in place of expected costs, over every pool with a rate."""
        ours = super().appraise(part, counted, seen, scribe)
        return replace(ours, offers={c.name: _by_rate(part, c.name, seen) for c in part.contracts}, admitted={})

    def acquisition_failed(self, pool: str, workload: str, cause: Cause, now: int) -> None:
        """Nothing is learnt."""


def _by_rate(part: Partition, workload: str, seen: Seen) -> Offers:
    rates = seen.rates.rates if seen.rates else {}
    rows = [
        (pool.name, units, int(rates[pool.name] * 1_000_000) // units)
        for pool in part.pools
        if pool.name in rates and (units := part.eligible_units.get((workload, pool.name), 0))
    ]
    return Offers(tuple(r[0] for r in rows), tuple(r[1] for r in rows), tuple(r[2] for r in rows))


@dataclass
class Policy:
    """A named planner: the partition it sees, the appraiser it asks, and the bounds its result is measured against."""

    name: str
    part: Partition
    appraiser: Appraiser
    judged: Partition

    def sample(self, now: int, decision: Decision, work: Work) -> Moment:
        """One sample after a cycle, measured against the estate's own bounds whatever the policy obeyed."""
        failed = Phase.FAILED
        stands = Counter([one.paid for one in decision.memory.fleet.alive() if one.phase is not failed])
        floor, fallback = stands[Paid.FLOOR], stands[Paid.FALLBACK]
        domain, group = _fullest(self.judged, decision)
        return Moment(
            at=now,
            reclaimable=stands.total() - floor - fallback,
            floor=floor,
            fallback=fallback,
            wanted_units=sum(w.target for w in work.workloads.values()),
            running_units=sum(w.running for w in work.workloads.values()),
            worst_domain_permille=domain,
            worst_group_permille=group,
            excluded=len(decision.appraisal.admitted),
        )


def _fullest(part: Partition, decision: Decision) -> tuple[int, int]:
    """The fullest domain and group over all workloads, in thousandths of their bound (1000 is at the bound).

    What leaves is left out; a workload of one gang has no bound.
    """
    problem = decision.placement.problem
    rows: dict[str, list[tuple[Pool, int, int]]] = {}
    for held in problem.held if problem else ():
        pool = part.pool_by_name.get(held.pool)
        units = (held.instances - held.leaving) * held.units
        if pool is not None and not pool.committed and units:
            rows.setdefault(held.workload, []).append((pool, units, held.units))
    domain = group = 0
    for workload, standing in rows.items():
        desired, gang = decision.memory.claims[workload].desired, part.contract_by_name[workload].gang_size
        if desired <= gang:
            continue
        shares = part.shares[workload]
        domains: dict[str, int] = {}
        groups: dict[str, int] = {}
        largest: dict[str, int] = {}
        largest_of: dict[str, int] = {}
        for pool, units, of_one in standing:
            quantum = lot(of_one, gang).units
            domains[pool.domain] = domains.get(pool.domain, 0) + units
            largest[pool.domain] = max(largest.get(pool.domain, 0), quantum)
            for name in part.groups.get(pool.domain, ()):
                groups[name] = groups.get(name, 0) + units
                largest_of[name] = max(largest_of.get(name, 0), quantum)
        domain = _fuller(domain, domains, largest, shares.pool_permille, desired)
        group = _fuller(group, groups, largest_of, shares.group_permille, desired)
    return domain, group


def _fuller(fullest: int, units: dict[str, int], largest: dict[str, int], permille: int, desired: int) -> int:
    """The fullest of these places of one workload, by the `largest` lot in each, where it is fuller than `fullest`."""
    for place, held in units.items():
        if held * 1000 > fullest * largest[place]:  # a bound is never below its quantum
            fullest = max(fullest, held * 1000 // limit(permille, desired, largest[place]))
    return fullest


def ours(part: Partition) -> Policy:
    """Ebbtide's planner."""
    return Policy("ebbtide", part, Appraiser(), part)


def price_first(part: Partition) -> Policy:
    """The cheapest pool first, no bounds, no memory."""
    free = replace(part, shares=dict.fromkeys(part.shares, FREE), groups={})
    return Policy("price-first", free, PriceFirst(), part)


POLICIES = {"ebbtide": ours, "price-first": price_first}

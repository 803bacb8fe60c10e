"""The planners that a replay or a day compares: ours, price-first, and a random spread.

A policy is what differs: the partition (with or without bounds) and the appraiser (what a pool is said to cost). All
use the same loop, guard, pacing, minimum lifetime and demand, so that a difference in the result is the planner's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from correlation_groups.spread import Shares, limit, lot
from ledger.causes import Cause
from ledger.events import Paid
from reconciler.appraisal import Appraisal, Appraiser
from reconciler.census import Census
from reconciler.cycle import Decision, Seen
from reconciler.desired import Partition
from reconciler.drafts import Scribe
from reconciler.fleet import Phase
from reconciler.problem import Offers
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
        part = self.judged
        floor = fallback = reclaimable = 0
        domains: dict[str, dict[str, int]] = {}
        quanta: dict[str, dict[str, int]] = {}
        for instance in decision.memory.fleet.instances.values():
            if instance.phase is Phase.GONE or instance.phase is Phase.FAILED:
                continue
            floor += instance.paid is Paid.FLOOR
            fallback += instance.paid is Paid.FALLBACK
            reclaimable += instance.paid is Paid.RECLAIMABLE
            pool = part.pool_by_name.get(instance.pool)
            if pool is None or pool.committed or instance.released:
                continue
            mine = domains.setdefault(instance.workload, {})
            largest = quanta.setdefault(instance.workload, {})
            for place in (pool.domain, *part.groups.get(pool.domain, ())):
                mine[place] = mine.get(place, 0) + instance.units
                largest[place] = max(largest.get(place, 0), instance.units)
        worst = _worst(part, domains, quanta, decision)
        return Moment(
            at=now,
            reclaimable=reclaimable,
            floor=floor,
            fallback=fallback,
            wanted_units=sum(w.target for w in work.workloads.values()),
            running_units=sum(w.running for w in work.workloads.values()),
            worst_domain_permille=worst[0],
            worst_group_permille=worst[1],
            excluded=len(decision.appraisal.admitted),
        )


def _worst(
    part: Partition,
    placed: Mapping[str, Mapping[str, int]],
    quanta: Mapping[str, Mapping[str, int]],
    decision: Decision,
) -> tuple[int, int]:
    """The fullest domain and group over all workloads, in thousandths of their bound (1000 is at the bound)."""
    domains = {pool.domain for pool in part.pools}
    worst = [0, 0]
    for workload, places in placed.items():
        shares = part.shares[workload]
        claim = decision.memory.claims[workload]
        gang = part.contract_by_name[workload].gang_size
        if claim.desired <= gang:
            continue
        for place, units in places.items():
            which = 0 if place in domains else 1
            share = shares.pool_permille if which == 0 else shares.group_permille
            allowed = limit(share, claim.desired, lot(quanta[workload][place], gang).units)
            worst[which] = max(worst[which], units * 1000 // allowed)
    return worst[0], worst[1]


def ours(part: Partition) -> Policy:
    """Ebbtide's planner."""
    return Policy("ebbtide", part, Appraiser(), part)


def price_first(part: Partition) -> Policy:
    """The cheapest pool first, no bounds, no memory."""
    free = replace(part, shares=dict.fromkeys(part.shares, FREE), groups={})
    return Policy("price-first", free, PriceFirst(), part)


POLICIES = {"ebbtide": ours, "price-first": price_first}

"""What stands where, counted from the fleet alone: the ground of the guard's second look at the bounds.

Called by `cycle` once a cycle. It shares nothing with the planner but the estate, so that a mistake of one does not
hide from the other.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping

from ledger.events import Paid
from pools.provider import Server
from reconciler import claims
from reconciler.desired import Partition
from reconciler.fleet import Fleet, Phase
from reconciler.problem import Offers
from reconciler.second_look import Ground, Spread
from repo_layout.documents import DirectoryEntry

NOBODY: Mapping[str, int] = {}


def ground_of(part: Partition) -> Ground:
    """Where each pool lies, and what one of its instances takes."""
    return Ground(
        {p.name: p.domain for p in part.pools},
        {p.name: part.groups.get(p.domain, ()) for p in part.pools},
        {p.name: p.instance for p in part.pools},
    )


def _largest(part: Partition, workload: str, offers: Offers) -> int:
    """Units of the largest reclaimable instance among the offers; while nobody can offer anything, as without a rate
    card, of the largest that its contract allows: what comes without an offer (an adoption) is judged all the same.
    """
    rows = zip(offers.pools, offers.units, strict=True)
    offered = max((units for pool, units in rows if not part.pool_by_name[pool].committed), default=0)
    lent = (p.name for p in part.pools if not p.committed)
    return offered or max((part.eligible_units.get((workload, name), 0) for name in lent), default=0)


def spreads_of(
    part: Partition,
    fleet: Fleet,
    claimed: Mapping[str, claims.Claim],
    offers: Mapping[str, Offers],
    *,
    growing: frozenset[str],
    beside: Iterable[Server] = (),
    leaving: frozenset[str] = frozenset(),
    unlisted: Mapping[str, int] = NOBODY,
) -> dict[str, Spread]:
    """For the guard's second look at the `growing` workloads: units that stand in each domain and group, counted from
    the fleet alone; and `beside` it what carries our mark and is no instance: a second server stands where it stands,
    and the `unlisted` servers of a workload may stand anywhere.
    A domain is used by what a listing shows there, if it ever was listed and the provider did not say that it ended,
    and what is not `leaving` by a step of this cycle: a bound counts what may be there, the number of domains what is.
    That step may be refused: a domain that something leaves is no new one before it has left.
    """
    if not growing:
        return {}
    domains: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    groups: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    unknown: dict[str, int] = defaultdict(int)
    supply: dict[str, int] = defaultdict(int)
    used: dict[str, set[str]] = defaultdict(set)
    left: dict[str, set[str]] = defaultdict(set)
    for instance in fleet.instances.values():
        if instance.workload not in growing:
            continue
        pool = part.pool_by_name.get(instance.pool)
        if instance.phase is Phase.GONE or (pool is not None and pool.committed):
            continue
        serves = instance.supply and not instance.moving_to
        serves = serves and not (instance.bare and instance.workload in part.strict)
        if serves:
            supply[instance.workload] += instance.units
        if pool is None:
            unknown[instance.workload] += instance.units
            continue
        if serves and not (instance.missing_since or instance.end_told):
            (left if instance.name in leaving else used)[instance.workload].add(pool.domain)
        domains[instance.workload][pool.domain] += instance.units
        for group in part.groups.get(pool.domain, ()):
            groups[instance.workload][group] += instance.units
    _add_beside(part, beside, domains, groups, unknown)
    for workload in unlisted.keys() & growing:
        units = unlisted[workload] * _largest(part, workload, Offers())
        unknown[workload] += units
        supply[workload] += units
    return {
        contract.name: Spread(
            desired=claimed[contract.name].desired,
            gang=contract.gang_size,
            shares=part.shares[contract.name],
            domain_units=domains[contract.name],
            group_units=groups[contract.name],
            unknown_units=unknown[contract.name],
            used=frozenset(used[contract.name]),
            left=frozenset(left[contract.name]),
            supply=supply[contract.name],
            largest=_largest(part, contract.name, offers.get(contract.name, Offers())),
        )
        for contract in part.contracts
        if contract.name in growing
    }


def _add_beside(
    part: Partition,
    rows: Iterable[Server],
    domains: dict[str, dict[str, int]],
    groups: dict[str, dict[str, int]],
    unknown: dict[str, int],
) -> None:
    """Lent servers that carry a mark and are no instance stand in their places like any other."""
    for row in rows:
        mark = row.mark
        if mark is None or mark.paid != Paid.RECLAIMABLE.value:
            continue
        pool = part.pool_by_name.get(row.pool)
        if pool is None:
            unknown[mark.workload] += mark.units
            continue
        domains[mark.workload][pool.domain] += mark.units
        for group in part.groups.get(pool.domain, ()):
            groups[mark.workload][group] += mark.units


def spend_limits(part: Partition, now: int) -> dict[str, int]:
    """What each authority may spend in a day, in 1e-6 of the currency; without those whose authority has run out."""
    return {
        entry.id: int(entry.spend_authority_per_day.amount * 1_000_000)
        for entry in part.estate.directory
        if entry.spend_authority_per_day is not None and not _expired(entry, now)
    }


def _expired(entry: DirectoryEntry, now: int) -> bool:
    """Whether a person's authority has run out; it holds to the end of its last day, UTC."""
    if entry.valid_until is None:
        return False
    return dt.datetime.fromtimestamp(now / 1000, tz=dt.UTC).date() > entry.valid_until

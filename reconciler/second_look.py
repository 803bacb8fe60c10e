"""The guard's second look at the spread, written apart from the planner: what would stand after one more step.

Called by `guard` alone. It counts units that stand and units that this cycle's steps add; the bound itself is the one
function that everybody shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from correlation_groups.spread import Shares, keeps_pools, limit, lot, pools_required
from ledger.causes import Cause
from ledger.events import Paid
from pools.model import InstanceShape
from reconciler.fleet import Fleet
from reconciler.steps import Refusal, Step

SUPPLY = "supply"
"""Beside the scopes of the bounds: the units that this cycle's steps add."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What a second look at the bounds needs of one workload: D, the shares, and units already in each place.

    `used` are the domains in which its supply stands, `left` those that some of it may leave in this cycle, `supply`
    its units in both, and `largest` the units of the largest instance it is offered (0: the number of pools is not
    judged).
    """

    desired: int
    gang: int
    shares: Shares
    domain_units: Mapping[str, int]
    group_units: Mapping[str, int]
    unknown_units: int
    used: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    supply: int = 0
    largest: int = 0


@dataclass(frozen=True, slots=True)
class Ground:
    """Pool -> domain, bounding groups, and what one instance takes."""

    domain: Mapping[str, str]
    groups: Mapping[str, tuple[str, ...]]
    shape: Mapping[str, InstanceShape] = field(default_factory=dict)


def places(step: Step, ground: Ground, spread: Spread | None) -> list[tuple[str, int, int]]:
    """The scopes in which a step's units would stand: name, units that stand, share. None for what is exempt."""
    exempt = spread is None or step.paid is not Paid.RECLAIMABLE or spread.desired <= spread.gang > 1
    if spread is None or exempt:
        return []
    domain = ground.domain.get(step.pool, "")
    return [
        ("domain " + domain, spread.domain_units.get(domain, 0), spread.shares.pool_permille),
        *(
            ("group " + group, spread.group_units.get(group, 0), spread.shares.group_permille)
            for group in ground.groups.get(step.pool, ())
        ),
    ]


def breaks_bound(
    step: Step, ground: Ground, spread: Spread | None, placed: Mapping[tuple[str, str], int]
) -> Refusal | None:
    """A second look at the spread, written apart from the planner: what would stand after this step. What is asked
    again stands already; what came to light since, as a second server, may leave no room for it.
    """
    added = 0 if step.again else step.units
    for name, standing, share in places(step, ground, spread):
        if spread is None:
            break
        allowed = limit(share, spread.desired, lot(step.units, spread.gang).units)
        after = standing + spread.unknown_units + placed.get((step.workload, name), 0) + added
        if after > allowed:
            return Refusal(
                step,
                Cause.BOUND,
                f"{step.workload} would have {after} units in {name}, {allowed} of {spread.desired} are allowed",
            )
    return None


def breaks_pools(
    step: Step, ground: Ground, spread: Spread | None, fleet: Fleet, placed: Mapping[tuple[str, str], int]
) -> Refusal | None:
    """Whether the step would take units that are needed to reach the number of pools, for want of a new domain.

    One instance in a domain that is not used yet is always allowed, unless one stands where nobody says: it may be
    there. What takes over from another adds nothing. Gangs that span instances are judged by the planner alone.
    """
    where = places(step, ground, spread)
    if spread is None or not where or not spread.largest or step.units < spread.gang:
        return None
    name = where[0][0]
    fresh = {place for (workload, place), units in placed.items() if workload == step.workload and units}
    used = {f"domain {domain}" for domain in spread.used} | {place for place in fresh if place.startswith("domain ")}
    if name not in used | {f"domain {domain}" for domain in spread.left} and not spread.unknown_units:
        return None
    used.add(name)
    source = fleet.instances.get(step.takes_over)
    units = spread.supply + placed.get((step.workload, SUPPLY), 0) + step.units - (source.units if source else 0)
    required = pools_required(spread.desired, spread.largest, spread.shares.pools)
    if keeps_pools(
        units=units, domains=len(used), desired=spread.desired, required=required, largest_quantum=spread.largest
    ):
        return None
    return Refusal(
        step,
        Cause.BOUND,
        f"{step.workload} would have {units} of {spread.desired} units in {len(used)} domains of {required}",
    )

"""Rules about spread: which pools a contract may use at all, and whether its bounds can be kept in them.

Called from the table in `repo_layout.feasibility`. Limits and counting are `correlation_groups`'s, eligibility is
`pools`'s; here they meet the estate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from contracts.findings import Finding, Severity
from contracts.model import Contract, Eligibility, Unit
from correlation_groups.reach import Domain, Field, Shortfall
from correlation_groups.spread import Shares, lot
from pools.eligibility import REACTION_S, RELAY_S, attributes_match, class_of, drain_fits, units_per_instance
from pools.model import Pool
from repo_layout.documents import RegionEntry
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.room_for_floors import instances_per_host

LEAST_GROUPS = 4
"""Groups that a bounding kind has at least: with three, 30 % each leave a tenth of the work without a place."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What one contract may use: reclaimable pools of the right kind, and those of them that its drain fits."""

    contract: Contract
    region: RegionEntry
    offered: tuple[Pool, ...]
    fitting: tuple[Pool, ...]
    shares: Shares
    waived: bool

    @property
    def interruptible(self) -> int:
        """Units above the floor, at the maximum."""
        return self.contract.maximum - self.contract.floor


def reaches(estate: Estate) -> Iterator[Reach]:
    """Each contract above its floor, with what it may use; one whose cluster no region has is EBT-206's."""
    for region in estate.settings.regions:
        pools = [pool for pool in estate.pools_of(region.name) if not pool.committed]
        known: dict[tuple[Eligibility, Unit, int], tuple[tuple[Pool, ...], tuple[Pool, ...]]] = {}
        for contract in estate.contracts_of(region.name):
            if contract.maximum == contract.floor:
                continue
            alike = (contract.eligibility, contract.unit, contract.drain.budget)
            if alike not in known:
                known[alike] = _usable(contract, pools, region.verification_margin)
            offered, fitting = known[alike]
            shares, waived = shares_of(estate, region.name, class_of(contract.eligibility))
            yield Reach(contract, region, offered, fitting, shares, waived)


def _usable(contract: Contract, pools: Sequence[Pool], margin_s: int) -> tuple[tuple[Pool, ...], tuple[Pool, ...]]:
    """The pools that offer what the contract asks, and those of them whose notice its drain fits."""
    offered = tuple(
        pool
        for pool in pools
        if attributes_match(contract.eligibility, pool) and units_per_instance(contract, pool) >= 1
    )
    return offered, tuple(pool for pool in offered if drain_fits(contract, pool, verification_margin_s=margin_s))


def shares_of(estate: Estate, region: str, eligibility_class: str) -> tuple[Shares, bool]:
    """The bounds of a class in a region, and whether a waiver widens them."""
    bounds = estate.settings.bounds
    shares = Shares(bounds.pool_share * 10, bounds.group_share * 10, bounds.pools)
    waived = shares
    for waiver in estate.waivers:
        if (waiver.region, waiver.eligibility_class) == (region, eligibility_class):
            waived = waived.widened(Shares(waiver.pool_share * 10, waiver.group_share * 10, waiver.pools))
    return waived, waived != shares


def field_of(estate: Estate, reach: Reach, pools: tuple[Pool, ...]) -> Field:
    """The capacity domains of some pools, as one contract sees them."""
    gang = reach.contract.gang_size
    groups = groups_by_domain(estate, reach.region.name)
    quanta: dict[str, int] = {}
    room: dict[str, dict[str, int]] = {}
    for pool in pools:
        each = units_per_instance(reach.contract, pool)
        quanta[pool.domain] = max(quanta.get(pool.domain, 0), lot(each, gang).units)
        holds = each * instances_per_host(pool.hosts, pool.instance) * pool.hosts.count
        aggregates = room.setdefault(pool.domain, {})
        aggregates[pool.aggregate] = max(aggregates.get(pool.aggregate, 0), holds)
    return Field(
        tuple(Domain(name, quanta[name], sum(room[name].values()), groups.get(name, {})) for name in sorted(quanta)),
        reach.shares,
        gang,
    )


def groups_by_domain(estate: Estate, region: str) -> Mapping[str, Mapping[str, str]]:
    """The bounding group of each kind that a domain belongs to.

    A domain in several groups of one kind counts in the first by name: the kinds that follow from the building do not
    overlap, and learnt groups are merged before they bound anything.
    """
    found: dict[str, dict[str, str]] = {}
    for group in estate.groups_of(region):
        if group.bounding and group.falls_with in estate.settings.bounds.bounding_kinds:
            for member in group.members:
                found.setdefault(member, {}).setdefault(group.falls_with, group.name)
    return found


# ------------------------------------------------------------------------------------------------------------ the rules


def units_fit_somewhere(estate: Estate) -> Iterator[Finding]:
    """Some reclaimable pool of the region offers what the contract asks, and holds one unit."""
    for reach in reaches(estate):
        if not reach.offered:
            name = class_of(reach.contract.eligibility)
            message = (
                f"no reclaimable pool of {reach.region.name} holds a unit of {reach.contract.name}: class {name}, "
                f"{reach.contract.unit.vcpu} vCPU, {reach.contract.unit.gpu} GPU"
            )
            place = at(estate, f"contract/{reach.contract.name}/unit")
            yield Finding(
                "EBT-209", place, message, hint="change the unit or the eligibility, or set maximum to the floor"
            )


def drains_fit(estate: Estate) -> Iterator[Finding]:
    """Enough pools are left once those are gone whose notice the drain does not fit."""
    for reach in reaches(estate):
        if reach.offered == reach.fitting:
            continue
        before = field_of(estate, reach, reach.offered).first_shortfall(reach.interruptible)
        after = field_of(estate, reach, reach.fitting).first_shortfall(reach.interruptible)
        if after is None and reach.fitting:
            continue
        if before is not None and reach.fitting:
            continue  # the spread lacks in any case, which EBT-202 says
        yield _does_not_fit(estate, reach)


def _does_not_fit(estate: Estate, reach: Reach) -> Finding:
    budget, margin = reach.contract.drain.budget, reach.region.verification_margin
    needs = budget + RELAY_S + REACTION_S + margin
    out = sorted(set(reach.offered) - set(reach.fitting), key=lambda pool: (pool.notice_window_s, pool.name))
    listed = ", ".join(f"{pool.name} {pool.notice_window_s} s" for pool in out[:4])
    more = f" and {len(out) - 4} more" if len(out) > 4 else ""
    message = (
        f"the drain needs {needs} s ({budget} s budget, {RELAY_S} s relay, {REACTION_S} s reaction, {margin} s "
        f"verification), longer than the notice of {len(out)} of {len(reach.offered)} pools ({listed}{more}); the "
        f"{len(reach.fitting)} that are left do not give the spread for {reach.interruptible} units"
    )
    longest = max(pool.notice_window_s for pool in out) - RELAY_S - REACTION_S - margin
    place = at(estate, f"contract/{reach.contract.name}/drain/budget")
    return Finding(
        "EBT-201", place, message, f"{budget}s", f"at most {longest}s for all of these pools", "lower the budget"
    )


def bounds_reachable(estate: Estate) -> Iterator[Finding]:
    """The pools and shares of the bounds can be kept at the maximum and at every smaller count."""
    for reach in reaches(estate):
        if not reach.fitting:
            continue
        whole = field_of(estate, reach, reach.fitting)
        short = whole.first_shortfall(reach.interruptible)
        if short is None:
            continue
        if (
            reach.fitting != reach.offered
            and field_of(estate, reach, reach.offered).first_shortfall(short.desired) is None
        ):
            continue  # the notice windows are to blame, which EBT-201 says
        yield _not_reachable(estate, reach, whole, short)


def _not_reachable(estate: Estate, reach: Reach, whole: Field, short: Shortfall) -> Finding:
    name = class_of(reach.contract.eligibility)
    shares = reach.shares
    pool, group = shares.pool_permille / 10, shares.group_permille / 10
    who = f"{reach.contract.name} at {short.desired} units (class {name} in {reach.region.name})"
    if short.scope == "pools":
        why = f"{short.asked} capacity domains are asked for and {short.offered} are eligible"
    elif short.scope == "capacity":
        why = f"{len(whole.domains)} capacity domains at {pool:g} % hold {short.offered} of {short.asked} units"
    elif short.scope == "all":
        why = (
            f"the kinds of group together, each group at {group:g} %, let {short.offered} of {short.asked} units stand"
        )
    else:
        count = len(whole.kinds[short.scope])
        why = f"{count} groups of kind {short.scope} at {group:g} % hold {short.offered} of {short.asked} units"
    hint = (
        f"widen the eligibility, lower the maximum, or let waivers/{reach.region.name}/{name}.yaml widen the bound for "
        "a reason"
    )
    place = at(estate, f"contract/{reach.contract.name}/maximum")
    return Finding("EBT-202", place, f"{who} cannot be spread: {why}", str(reach.contract.maximum), hint=hint)


def kinds_offer_enough(estate: Estate) -> Iterator[Finding]:
    """A bounding kind has at least four groups in a region, or a waiver of the region says otherwise."""
    waived = {waiver.region for waiver in estate.waivers}
    for region in estate.settings.regions:
        groups = [group for group in estate.groups_of(region.name) if group.bounding]
        for kind in estate.settings.bounds.bounding_kinds:
            there = [group for group in groups if group.falls_with == kind]
            if 0 < len(there) < LEAST_GROUPS and region.name not in waived:
                message = (
                    f"{region.name} has {len(there)} bounding groups of kind {kind}, and a bound needs {LEAST_GROUPS}"
                )
                place = at(estate, f"group/{region.name}/{there[0].name}/fallsWith")
                hint = "declare the others, set bounding: false, or write a waiver"
                yield Finding("EBT-208", place, message, str(len(there)), f"at least {LEAST_GROUPS}", hint)


def waivers_needed(estate: Estate) -> Iterator[Finding]:
    """A waiver widens something, for a class that some contract of the region has."""
    used = {(reach.region.name, class_of(reach.contract.eligibility)) for reach in reaches(estate)}
    regions = {region.name for region in estate.settings.regions}
    for waiver in estate.waivers:
        if waiver.region not in regions:
            continue
        key = f"waiver/{waiver.region}/{waiver.eligibility_class}"
        if (waiver.region, waiver.eligibility_class) not in used:
            known = ", ".join(sorted(name for region, name in used if region == waiver.region))
            message = f"no contract of {waiver.region} has the class {waiver.eligibility_class}"
            place = at(estate, f"{key}/class")
            yield Finding("EBT-213", place, message, waiver.eligibility_class, known, severity=Severity.WARNING)
        elif not shares_of(estate, waiver.region, waiver.eligibility_class)[1]:
            message = "the waiver widens nothing: its pools and shares are within the bounds of ebbtide.yaml"
            yield Finding("EBT-213", at(estate, key), message, hint="remove it", severity=Severity.WARNING)


def losses_shown(estate: Estate) -> Iterator[Finding]:
    """Where a waiver widens the bounds, the most that the workload can lose at once."""
    for reach in reaches(estate):
        if not reach.waived or not reach.fitting:
            continue
        whole = field_of(estate, reach, reach.fitting)
        if whole.first_shortfall(reach.interruptible) is not None:
            continue
        loss = whole.largest_loss(reach.interruptible)
        message = (
            f"under its waiver {reach.contract.name} can lose {loss.units} of {loss.desired} interruptible units "
            f"({100 * loss.units // loss.desired} %) at once, with {loss.scope} {loss.name}"
        )
        place = at(estate, f"contract/{reach.contract.name}")
        yield Finding("EBT-220", place, message, severity=Severity.NOTE)

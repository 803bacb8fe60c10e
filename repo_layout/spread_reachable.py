"""Rules about spread: whether a contract's pools give its drain time and its bounds a place.

Called from the table in `repo_layout.feasibility`; what a contract may use is `repo_layout.reach`'s to say.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.findings import Finding, Severity
from correlation_groups.reach import Field, Shortfall
from pools.eligibility import REACTION_S, RELAY_S, class_of
from repo_layout.blame import Attributed
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.reach import Reach, field_of, reaches, shares_of

LEAST_GROUPS = 4
"""Groups that a bounding kind has at least: with three, 30 % each leave a tenth of the work without a place."""


def units_fit_somewhere(estate: Estate) -> Iterator[Attributed]:
    """Some reclaimable pool of the region offers what the contract asks, and holds one unit."""
    for reach in reaches(estate):
        if not reach.offered:
            name = class_of(reach.contract.eligibility)
            message = (
                f"no reclaimable pool of {reach.region.name} holds a unit of {reach.contract.name}: class {name}, "
                f"{reach.contract.unit.vcpu} vCPU, {reach.contract.unit.gpu} GPU"
            )
            place = at(estate, f"contract/{reach.contract.name}/unit")
            hint = "change the unit or the eligibility, or set maximum to the floor"
            yield Attributed(Finding("EBT-209", place, message, hint=hint), reach.rests_on)


def drains_fit(estate: Estate) -> Iterator[Attributed]:
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
        yield Attributed(_does_not_fit(estate, reach), reach.rests_on)


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


def bounds_reachable(estate: Estate) -> Iterator[Attributed]:
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
        yield Attributed(_not_reachable(estate, reach, whole, short), reach.rests_on)


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


def kinds_offer_enough(estate: Estate) -> Iterator[Attributed]:
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
                found = Finding("EBT-208", place, message, str(len(there)), f"at least {LEAST_GROUPS}", hint)
                shelves = {f"group/{region.name}", f"waiver/{region.name}", "settings/bounds"}
                yield Attributed(found, frozenset(shelves))


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

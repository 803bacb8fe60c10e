"""Rules about spread: whether a contract's pools give its drain and its checkpoint time, and its bounds a place.

Called from the table in `repo_layout.feasibility`; what a contract may use is `repo_layout.reach`'s to say.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.findings import Finding, Severity, listed
from contracts.values import format_size
from correlation_groups.reach import Field, Shortfall
from pools.eligibility import (
    REACTION_S,
    RELAY_S,
    Shape,
    attributes_match,
    checkpoint_on_notice,
    class_of,
    drain_needs_s,
    units_per_instance,
)
from pools.model import Pool
from repo_layout.blame import Attributed
from repo_layout.known_names import at
from repo_layout.reach import Ground, Reach, shares_of

LEAST_GROUPS = 4
"""Groups that a bounding kind has at least: with three, 30 % each leave a tenth of the work without a place."""

SHOWN = 4
"""Pools that a message names; it says how many more there are."""


def units_fit_somewhere(ground: Ground) -> Iterator[Attributed]:
    """Some reclaimable pool of the region offers what the contract asks, and holds one unit."""
    for reach in ground.reaches:
        contract = reach.contract
        if reach.usable.offered or (contract.unit.gpu and contract.eligibility.gpu_family is None):
            continue  # GPUs of no family are EBT-225's
        message = (
            f"no reclaimable pool of {reach.region.name} holds a unit of {contract.name}: {_lacking(ground, reach)}"
        )
        place = at(ground.estate, f"contract/{contract.name}/unit")
        hint = "change the unit or the eligibility, or set maximum to the floor"
        yield Attributed(Finding("EBT-209", place, message, hint=hint), reach.rests_on)


def _lacking(ground: Ground, reach: Reach) -> str:
    """What the pools lack: the attributes that are asked for, or the size of a unit."""
    contract = reach.contract
    name = class_of(contract.eligibility)
    pools = [pool for pool in ground.estate.pools_of(reach.region.name) if not pool.committed]
    matching = [pool for pool in pools if attributes_match(contract.eligibility, pool)]
    if not matching:
        return f"none of {len(pools)} offers class {name} as its eligibility asks for it"
    largest = max(matching, key=lambda pool: (pool.instance.vcpu, pool.instance.memory, pool.name))
    return (
        f"it takes {shape_text(contract.unit)}, and the largest of {len(matching)} instances of class {name}, "
        f"{largest.name}, has {shape_text(largest.instance)}"
    )


def shape_text(shape: Shape) -> str:
    """A unit or an instance as messages write it; GPUs and disk where it has some."""
    parts = [f"{shape.vcpu} vCPU", format_size(shape.memory)]
    parts += [f"{shape.gpu} GPU"] if shape.gpu else []
    parts += [f"{format_size(shape.local_disk)} of disk"] if shape.local_disk else []
    return ", ".join(parts)


def drains_fit(ground: Ground) -> Iterator[Attributed]:
    """Enough pools are left once those are gone whose notice the drain does not fit."""
    for reach in ground.reaches:
        if _too_few_left(reach, reach.usable.offered, reach.usable.draining):
            yield Attributed(_does_not_fit(ground, reach), reach.rests_on)


def checkpoints_fit(ground: Ground) -> Iterator[Attributed]:
    """Enough pools are left once those are gone whose instances cannot write their checkpoints within the budget."""
    for reach in ground.reaches:
        usable = reach.usable
        if usable.draining and _too_few_left(reach, usable.draining, usable.fitting):
            yield Attributed(_cannot_be_written(ground, reach), reach.rests_on)


def _too_few_left(reach: Reach, before: tuple[Pool, ...], after: tuple[Pool, ...]) -> bool:
    """Whether it is the pools between the two that the spread lacks; where it lacks in any case, EBT-202 says so."""
    if before == after:
        return False
    if not after:
        return True
    return reach.first_shortfall(after) is not None and reach.first_shortfall(before) is None


def _does_not_fit(ground: Ground, reach: Reach) -> Finding:
    budget, margin = reach.contract.drain.budget, reach.region.verification_margin
    needs = drain_needs_s(reach.contract, verification_margin_s=margin)
    usable = reach.usable
    out = sorted(set(usable.offered) - set(usable.draining), key=lambda pool: (pool.notice_window_s, pool.name))
    told = [f"{pool.name} {pool.notice_window_s} s" for pool in out]
    message = (
        f"the drain needs {needs} s ({budget} s budget, {RELAY_S} s relay, {REACTION_S} s reaction, {margin} s "
        f"verification), longer than the notice of {len(out)} of {len(usable.offered)} pools ({listed(told, SHOWN)}); "
        f"{_left(reach, usable.draining)}"
    )
    longest = max(pool.notice_window_s for pool in out) - RELAY_S - REACTION_S - margin
    place = at(ground.estate, f"contract/{reach.contract.name}/drain/budget")
    expected = f"at most {longest}s for all of these pools" if longest > 0 else "pools with a longer notice"
    return Finding("EBT-201", place, message, f"{budget}s", expected, "lower the budget")


def _cannot_be_written(ground: Ground, reach: Reach) -> Finding:
    contract, usable = reach.contract, reach.usable
    size, budget = checkpoint_on_notice(contract), contract.drain.budget
    held = {pool.name: units_per_instance(contract, pool) for pool in usable.draining}

    def takes(pool: Pool) -> int:
        return -(-size * held[pool.name] // pool.checkpoint_throughput)

    out = sorted(set(usable.draining) - set(usable.fitting), key=lambda pool: (-takes(pool), pool.name))
    told = [
        f"{pool.name} {takes(pool)} s for {held[pool.name]} x {format_size(size)} at "
        f"{format_size(pool.checkpoint_throughput)}/s"
        for pool in out
    ]
    message = (
        f"the on-notice checkpoints of one instance do not fit the drain budget of {budget} s in {len(out)} of "
        f"{len(usable.draining)} pools ({listed(told, SHOWN)}); {_left(reach, usable.fitting)}"
    )
    most = min(budget * pool.checkpoint_throughput // held[pool.name] for pool in out) // 2**20 * 2**20
    place = at(ground.estate, f"contract/{contract.name}/checkpoint/size")
    hint = "make the checkpoint smaller or the budget longer, or take checkpoints by the clock (mode: periodic)"
    return Finding(
        "EBT-207", place, message, format_size(size), f"at most {format_size(most)} for all of these pools", hint
    )


def _left(reach: Reach, pools: tuple[Pool, ...]) -> str:
    return f"the {len(pools)} that are left do not give the spread for {reach.interruptible} units"


def bounds_reachable(ground: Ground) -> Iterator[Attributed]:
    """The pools and shares of the bounds can be kept at the maximum and at every smaller count."""
    for reach in ground.reaches:
        usable = reach.usable
        if not usable.fitting:
            continue
        whole = reach.field_of(usable.fitting)
        short = reach.first_shortfall(usable.fitting)
        if short is None:
            continue
        if usable.fitting != usable.offered and reach.first_shortfall(usable.offered) is None:
            continue  # notice windows or throughputs are to blame, which EBT-201 or EBT-207 says
        yield Attributed(_not_reachable(ground, reach, whole, short), reach.rests_on)


def _not_reachable(ground: Ground, reach: Reach, whole: Field, short: Shortfall) -> Finding:
    name = class_of(reach.contract.eligibility)
    shares = reach.usable.shares
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
    place = at(ground.estate, f"contract/{reach.contract.name}/maximum")
    return Finding("EBT-202", place, f"{who} cannot be spread: {why}", str(reach.contract.maximum), hint=hint)


def kinds_offer_enough(ground: Ground) -> Iterator[Attributed]:
    """A bounding kind has at least four groups in a region, or a waiver of the region says otherwise."""
    estate = ground.estate
    waived = {waiver.region for waiver in estate.waivers}
    for region in estate.settings.regions:
        groups = [group for group in estate.groups_of(region.name) if group.bounding]
        for kind in estate.settings.bounds.bounding_kinds:
            there = [group for group in groups if group.falls_with == kind]
            if 0 < len(there) < LEAST_GROUPS and region.name not in waived:
                message = (
                    f"{region.name} has {len(there)} bounding groups of kind {kind}, and a bound needs {LEAST_GROUPS}"
                )
                place = at(ground.estate, f"group/{region.name}/{there[0].name}/fallsWith")
                hint = "declare the others, set bounding: false, or write a waiver"
                found = Finding("EBT-208", place, message, str(len(there)), f"at least {LEAST_GROUPS}", hint)
                shelves = {f"group/{region.name}", f"waiver/{region.name}", "settings/bounds"}
                yield Attributed(found, frozenset(shelves))


def waivers_needed(ground: Ground) -> Iterator[Finding]:
    """A waiver widens something, for a class that some contract of the region has."""
    estate = ground.estate
    used = {(reach.region.name, class_of(reach.contract.eligibility)) for reach in ground.reaches}
    regions = {region.name for region in estate.settings.regions}
    for waiver in estate.waivers:
        if waiver.region not in regions:
            continue
        key = f"waiver/{waiver.region}/{waiver.eligibility_class}"
        if (waiver.region, waiver.eligibility_class) not in used:
            known = ", ".join(sorted(name for region, name in used if region == waiver.region))
            message = f"no contract of {waiver.region} has the class {waiver.eligibility_class}"
            place = at(ground.estate, f"{key}/class")
            yield Finding("EBT-213", place, message, waiver.eligibility_class, known, severity=Severity.WARNING)
        elif not shares_of(estate, waiver.region, waiver.eligibility_class)[1]:
            message = "the waiver widens nothing: its pools and shares are within the bounds of ebbtide.yaml"
            yield Finding("EBT-213", at(ground.estate, key), message, hint="remove it", severity=Severity.WARNING)

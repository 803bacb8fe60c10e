"""The rule about membership: the groups of a region hold its capacity domains as the building does.

Called from the table in `repo_layout.feasibility`. A bound counts what its groups hold: a domain that is left out
stands for itself and may hold a share of its own, and one that two groups of a kind hold counts in the first alone.
So a slip in a list would widen a bound without a word. Pure; it must not know what a bound allows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from contracts.findings import Finding, listed
from correlation_groups.model import GroupFile
from repo_layout.blame import Attributed
from repo_layout.documents import RegionEntry
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.reach import Ground

HALL = "hall"
BUILT = ("aggregate", HALL, "power")
"""Kinds that follow from the building, where nothing stands twice; learnt groups may overlap."""

SHOWN = 4
"""Domains that a message names; it says how many more there are."""


def groups_hold_domains(ground: Ground) -> Iterator[Attributed]:
    """A lent domain is in one bounding group of a kind at most, and in the group of the hall where its pools stand."""
    estate = ground.estate
    for region in estate.settings.regions:
        groups = estate.groups_of(region.name)
        for kind in BUILT:
            if kind in estate.settings.bounds.bounding_kinds:
                yield from _twice(estate, region, kind, [one for one in groups if one.falls_with == kind])
        if HALL in estate.settings.bounds.bounding_kinds:
            yield from _halls(estate, region, [one for one in groups if one.falls_with == HALL])


def _twice(estate: Estate, region: RegionEntry, kind: str, groups: Sequence[GroupFile]) -> Iterator[Attributed]:
    """Domains that a second bounding group of the kind holds."""
    first: dict[str, str] = {}
    for group in groups:
        for n, member in enumerate(group.members) if group.bounding else ():
            held = first.setdefault(member, group.name)
            if held != group.name:
                place = at(estate, f"group/{region.name}/{group.name}/members/{n}")
                message = (
                    f"{member} is in two groups of kind {kind}, {held} and {group.name}, and counts in {held} alone"
                )
                hint = "take it out of one of them, or set bounding: false on a group that only reports"
                found = Finding("EBT-223", place, message, member, f"one group of kind {kind}", hint)
                keys = {f"group/{region.name}/{held}", f"group/{region.name}/{group.name}", "settings/bounds"}
                yield Attributed(found, frozenset(keys))


def _halls(estate: Estate, region: RegionEntry, groups: Sequence[GroupFile]) -> Iterator[Attributed]:
    """Lent domains that no group of a hall holds, or another one than the rest of their hall."""
    group_of: dict[str, str] = {}
    for group in groups:
        for member in group.members:
            group_of.setdefault(member, group.name)
    for hall, domains in _lent(estate, region.name).items():
        count = Counter(group_of[domain] for domain in domains if domain in group_of)
        home = min(count, key=lambda name: (-count[name], name), default="")
        left_out = [domain for domain in domains if domain not in group_of]
        astray = [domain for domain in domains if group_of.get(domain, home) != home]
        if left_out:
            yield _left_out(estate, region, hall, home, left_out)
        for domain in astray:
            n = next(group.members.index(domain) for group in groups if group.name == group_of[domain])
            place = at(estate, f"group/{region.name}/{group_of[domain]}/members/{n}")
            message = (
                f"{domain} stands in hall {hall}, and {group_of[domain]} holds it: the other domains of that hall are "
                f"in {home}"
            )
            found = Finding("EBT-223", place, message, domain, f"a member of {home}", "move it, or correct its hall")
            yield Attributed(found, _rests_on(estate, region.name, [domain]))


def _lent(estate: Estate, region: str) -> Mapping[str, Sequence[str]]:
    """The domains of reclaimable pools by hall; committed ones hold floors, which no bound counts."""
    halls: dict[str, set[str]] = defaultdict(set)
    for pool in estate.pools_of(region):
        if not pool.committed:
            halls[pool.hall].add(pool.domain)
    return {hall: sorted(halls[hall]) for hall in sorted(halls)}


def _left_out(estate: Estate, region: RegionEntry, hall: str, home: str, domains: Sequence[str]) -> Attributed:
    pool = next(one for one in estate.pools_of(region.name) if one.domain == domains[0] and not one.committed)
    stand, them = ("stands", "it") if len(domains) == 1 else ("stand", "them")
    message = (
        f"{listed(domains, SHOWN)} {stand} in hall {hall}, and no group of kind hall holds {them}: what may be "
        f"lost with that hall is not bounded"
    )
    hint = "add it to the group of its hall; a group with bounding: false only reports"
    where = f"a member of {home}" if home else "a group with fallsWith: hall"
    place = at(estate, f"aggregate/{pool.region}/{pool.aggregate}/hall")
    return Attributed(Finding("EBT-223", place, message, hall, where, hint), _rests_on(estate, region.name, domains))


def _rests_on(estate: Estate, region: str, domains: Sequence[str]) -> frozenset[str]:
    """The aggregates behind the domains, the groups of the region, and which kinds bound."""
    behind = {f"aggregate/{region}/{pool.aggregate}" for pool in estate.pools_of(region) if pool.domain in domains}
    return frozenset(behind | {f"group/{region}", "settings/bounds"})

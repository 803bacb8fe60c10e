"""Rules about references: every name that a file uses is declared by another one.

Called from the table in `repo_layout.feasibility`. It must not judge whether what is named is any good.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import islice

from contracts.errors import Place
from contracts.findings import Finding, Severity
from repo_layout.model import Estate


def at(estate: Estate, key: str) -> Place:
    """The place of `kind/name/field`, or of the nearest thing around it; an estate built by hand may know none."""
    while key:
        if (place := estate.sources.get(key)) is not None:
            return place
        key = key.rpartition("/")[0]
    return Place("")


FEW = 200
"""Names that a misspelt one is compared with in full; of more, those that start alike and are about as long."""


def unknown(code: str, place: Place, what: str, name: str, known: Collection[str]) -> Finding:
    """A name that nothing carries, with the nearest one that something does."""
    near = difflib.get_close_matches(name, _comparable(name, known), n=1)
    listed = ", ".join(heapq.nsmallest(8, known)) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    hint = f"did you mean {near[0]}?" if near else ""
    return Finding(code, place, f"there is no {what} {name}", name, listed or f"a {what}", hint)


def _comparable(name: str, known: Collection[str]) -> Collection[str]:
    if len(known) <= FEW:
        return known
    alike = (one for one in sorted(known) if one[:2] == name[:2] and abs(len(one) - len(name)) <= 2)
    return list(islice(alike, FEW))


def names_known(estate: Estate) -> Iterator[Finding]:
    """Clusters, regions, halls, projects, domains, and what pauses, adoptions, waivers and histories name."""
    yield from _contracts(estate)
    yield from _pools(estate)
    yield from _groups(estate)
    yield from _pauses(estate)
    yield from _adoptions_and_waivers(estate)
    yield from _histories(estate)


def families_have_factors(estate: Estate) -> Iterator[Finding]:
    """A GPU family of the catalogue counts for some NCU, or teams' limits would not see it."""
    known = {factor.family for factor in estate.settings.gpu_factors}
    told: set[str] = set()
    for pool in estate.pools:
        family = pool.attributes.gpu_family
        if family is not None and family not in known | told:
            told.add(family)
            place = at(estate, f"aggregate/{pool.region}/{pool.aggregate}/attributes/gpuFamily")
            message = f"the GPU family {family} has no NCU factor"
            yield Finding("EBT-214", place, message, family, f"a line of gpuFactors for {family} in ebbtide.yaml")


def _contracts(estate: Estate) -> Iterator[Finding]:
    clusters = {c.name: c.scheduler for region in estate.settings.regions for c in region.clusters}
    halls = {hall for region in estate.settings.regions for hall in region.halls}
    for contract in estate.contracts:
        scheduler = "kubernetes" if contract.runs_on.kubernetes else "slurm"
        key = f"contract/{contract.name}"
        place = at(estate, f"{key}/runsOn/{scheduler}/cluster")
        if contract.cluster not in clusters:
            fitting = [name for name, kind in clusters.items() if kind == scheduler]
            yield unknown("EBT-206", place, f"{scheduler} cluster", contract.cluster, fitting)
        elif clusters[contract.cluster] != scheduler:
            message = f"the cluster {contract.cluster} is run by {clusters[contract.cluster]}, not by {scheduler}"
            yield Finding("EBT-206", place, message, contract.cluster, f"a {scheduler} cluster")
        for n, hall in enumerate(contract.eligibility.avoid_halls):
            if hall not in halls:
                yield unknown("EBT-206", at(estate, f"{key}/eligibility/avoidHalls/{n}"), "hall", hall, halls)


def _pools(estate: Estate) -> Iterator[Finding]:
    regions = {region.name: region for region in estate.settings.regions}
    told: set[str] = set()
    for pool in estate.pools:
        key = f"aggregate/{pool.region}/{pool.aggregate}"
        if key in told:
            continue
        told.add(key)
        region = regions.get(pool.region)
        if region is None:
            yield unknown("EBT-206", at(estate, f"{key}/region"), "region", pool.region, regions)
            continue
        if pool.hall not in region.halls:
            yield unknown("EBT-206", at(estate, f"{key}/hall"), f"hall of {region.name}", pool.hall, region.halls)
        if pool.project not in region.projects:
            what = f"project of {region.name}"
            yield unknown("EBT-206", at(estate, f"{key}/project"), what, pool.project, region.projects)


def _groups(estate: Estate) -> Iterator[Finding]:
    regions = {region.name for region in estate.settings.regions}
    domains: dict[str, set[str]] = {region: set() for region in regions}
    for pool in estate.pools:
        domains.setdefault(pool.region, set()).add(pool.domain)
    for group in estate.groups:
        key = f"group/{group.region}/{group.name}"
        if group.region not in regions:
            yield unknown("EBT-206", at(estate, f"{key}/region"), "region", group.region, regions)
            continue
        first: dict[str, int] = {}
        for n, member in enumerate(group.members):
            place = at(estate, f"{key}/members/{n}")
            if member not in domains[group.region]:
                what = f"capacity domain of {group.region}"
                yield unknown("EBT-206", place, what, member, domains[group.region])
            elif first.setdefault(member, n) != n:
                message = f"{member} is a member already, item {first[member] + 1} of the list"
                yield Finding("EBT-206", place, message, member, "each member once")


def _pauses(estate: Estate) -> Iterator[Finding]:
    known: dict[str, Collection[str]] = {
        "region": [region.name for region in estate.settings.regions],
        "pool": estate.pool_by_name,
        "workload": estate.contract_by_name,
    }
    for n, pause in enumerate(estate.settings.pauses):
        if pause.name is not None and pause.name not in known.get(pause.scope, ()):
            place = at(estate, f"settings/pauses/{n}/name")
            yield unknown("EBT-206", place, pause.scope, pause.name, known.get(pause.scope, ()))


def _adoptions_and_waivers(estate: Estate) -> Iterator[Finding]:
    regions = [region.name for region in estate.settings.regions]
    rows = {region: [pool.name for pool in estate.pools_of(region)] for region in regions}
    for adoption in estate.adoptions:
        key = f"adoption/{adoption.region}/{adoption.name}"
        if adoption.region not in regions:
            yield unknown("EBT-206", at(estate, f"{key}/region"), "region", adoption.region, regions)
            continue
        pools = rows[adoption.region]
        if adoption.pool not in pools:
            yield unknown("EBT-206", at(estate, f"{key}/pool"), f"pool of {adoption.region}", adoption.pool, pools)
        if adoption.workload not in estate.contract_by_name:
            place = at(estate, f"{key}/workload")
            yield unknown("EBT-206", place, "workload", adoption.workload, estate.contract_by_name)
    for waiver in estate.waivers:
        if waiver.region not in regions:
            place = at(estate, f"waiver/{waiver.region}/{waiver.eligibility_class}/region")
            yield unknown("EBT-206", place, "region", waiver.region, regions)


def _histories(estate: Estate) -> Iterator[Finding]:
    """A pool that left the catalogue keeps its history until somebody removes it, so that is a warning."""
    regions = [region.name for region in estate.settings.regions]
    rows = {region: {pool.name for pool in estate.pools_of(region)} for region in regions}
    for history in estate.history:
        key = f"history/{history.region}"
        if history.region not in rows:
            yield unknown("EBT-206", at(estate, f"{key}/region"), "region", history.region, regions)
            continue
        for n, row in enumerate(history.rows):
            if row.pool not in rows[history.region]:
                place = at(estate, f"{key}/rows/{n}/pool")
                found = unknown("EBT-206", place, f"pool of {history.region}", row.pool, rows[history.region])
                yield replace(found, severity=Severity.WARNING)

"""What a change of the estate does: every declared thing that differs, and what follows from it.

`changed` names the things, for rules that refuse only what a change touched; `effects` says what follows. Pure functions
of two estates, whatever files they came from: moved, renamed, reordered and reformatted files make no difference.
It must not know Git, nor judge whether an effect is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from repo_layout.change_fields import as_set
from repo_layout.documents import RegionEntry, SettingsFile
from repo_layout.model import Estate


def things(estate: Estate) -> Mapping[str, object]:
    """Every declared thing by its key in `Estate.sources`, with its parsed value, each part under one key only.

    `settings` is what `ebbtide.yaml` says beside its regions, clusters, teams and GPU factors; `region/NAME` leaves out
    the region's clusters; `aggregate/REGION/NAME` is all of its rows.
    """
    return dict(_things(estate))


def changed(base: Estate | None, head: Estate) -> frozenset[str]:
    """The keys of things that only one of the estates has, or whose value differs; all of `head` where there is no base.

    Lists that are sets compare as sets; a contract compares with its tier's gaps filled, without its prose.
    """
    now = things(head)
    if base is None:
        return frozenset(now)
    before = things(base)
    return frozenset(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))


def _things(estate: Estate) -> Iterator[tuple[str, object]]:
    yield from _settings(estate.settings)
    for entry in estate.directory:
        yield f"directory/{entry.id}", as_set(entry)
    for contract in estate.contracts:
        yield f"contract/{contract.name}", as_set(contract)
    aggregates: dict[str, tuple[object, ...]] = {}
    for pool in estate.pools:
        key = f"aggregate/{pool.region}/{pool.aggregate}"
        aggregates[key] = (*aggregates.get(key, ()), pool)
        yield f"pool/{pool.name}", pool
    yield from aggregates.items()
    for group in estate.groups:
        yield f"group/{group.region}/{group.name}", as_set(group)
    for approval in estate.approvals:
        yield f"approval/{approval.granted.isoformat()}-{approval.subject}", approval
    for adoption in estate.adoptions:
        yield f"adoption/{adoption.region}/{adoption.name}", as_set(adoption)
    for waiver in estate.waivers:
        yield f"waiver/{waiver.region}/{waiver.eligibility_class}", waiver


def _settings(settings: SettingsFile) -> Iterator[tuple[str, object]]:
    yield "settings", as_set(settings.model_copy(update={"regions": (), "teams": (), "gpu_factors": ()}))
    for region in settings.regions:
        yield f"region/{region.name}", _region(region)
        for cluster in region.clusters:
            yield f"cluster/{cluster.name}", (region.name, cluster)
    for team in settings.teams:
        yield f"team/{team.name}", as_set(team)
    for factor in settings.gpu_factors:
        yield f"gpu/{factor.family}", factor


def _region(region: RegionEntry) -> RegionEntry:
    return as_set(region.model_copy(update={"clusters": ()}))

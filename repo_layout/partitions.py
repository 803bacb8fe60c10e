"""A region divided among several leaders: what of the estate each of its partitions has.

`narrowed` is the one place that says what a share is a share of; the reconciler runs on what it returns, and the rule
that holds the shares against floors and limits (EBT-226) judges the same. It must not know what runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from repo_layout.documents import SHARED_LIMITS, DirectoryEntry, GuardLimits, PartitionEntry, RegionEntry
from repo_layout.model import Estate


@dataclass(frozen=True, slots=True)
class Share:
    """Hundredths of what a region has: lent capacity, calls and limits; committed capacity; spend authority."""

    lent: int = 100
    committed: int = 100
    authority: int = 100


def partition_of(region: RegionEntry, name: str) -> PartitionEntry:
    """The partition of that name; KeyError when the region has none."""
    for one in region.partitions:
        if one.name == name:
            return one
    raise KeyError(name)


def has(estate: Estate, region: str, name: str) -> bool:
    """Whether somebody leads there under that name: a partition, or the whole region where it is not divided."""
    for entry in estate.settings.regions:
        if entry.name == region:
            return name in [one.name for one in entry.partitions] if entry.partitions else not name
    return False


def share_in(estate: Estate, region: str, name: str) -> Share:
    """The shares of a partition; everything for the whole region."""
    if not name:
        return Share()
    one = partition_of(estate.region(region), name)
    return Share(
        one.share,
        one.share if one.committed_share is None else one.committed_share,
        one.share if one.authority_share is None else one.authority_share,
    )


def narrowed(estate: Estate, region: str, name: str) -> Estate:
    """The estate as a partition has it: its clusters, its share of each count, rate and authority, and the adoptions
    for its workloads. Shares that are taken of what the partition itself holds stay as they are.
    """
    if not name:
        return estate
    share, entry = share_in(estate, region, name), estate.region(region)
    clusters = tuple(c for c in entry.clusters if c.name in partition_of(entry, name).clusters)
    own = entry.model_copy(update={"clusters": clusters, "guard": limits_of(entry.guard, share.lent)})
    regions = tuple(own if one.name == region else one for one in estate.settings.regions)
    inside = {one.name for one in clusters}
    elsewhere = {c.name for c in estate.contracts_of(region) if c.cluster not in inside}
    return replace(
        estate,
        settings=estate.settings.model_copy(update={"regions": regions}),
        directory=tuple(_authority(entry, share.authority) for entry in estate.directory),
        adoptions=tuple(a for a in estate.adoptions if a.region != region or a.workload not in elsewhere),
    )


def limits_of(whole: GuardLimits, percent: int) -> GuardLimits:
    """A share of what the guard lets through, rounded down; percentages are of what the partition itself holds."""
    shared = {name: getattr(whole, name) * percent // 100 for name in SHARED_LIMITS}
    return whole.model_copy(update=shared)


def _authority(entry: DirectoryEntry, percent: int) -> DirectoryEntry:
    whole = entry.spend_authority_per_day
    if whole is None or percent == 100:
        return entry
    return entry.model_copy(update={"spend_authority_per_day": whole * (Decimal(percent) / 100)})

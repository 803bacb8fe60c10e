"""The estate as one frozen value: every reviewed file of one commit, parsed and completed.

Built by `repo_layout.load`; read by checks, reconciler and reports. Lookups are by name; everything is sorted by name,
so that what is computed from an estate does not depend on the order of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from contracts.errors import Place
from contracts.model import Contract
from correlation_groups.model import GroupFile
from pools.join_profiles import JoinProfileFile
from pools.model import Pool
from repo_layout.documents import (
    AdoptionFile,
    ApprovalFile,
    DirectoryEntry,
    HistoryFile,
    RegionEntry,
    SettingsFile,
    TeamEntry,
    WaiverFile,
)


@dataclass(frozen=True)
class Estate:
    """One commit's reviewed files.

    `committed_at` is the commit's time in milliseconds since the epoch, 0 for a work tree. `sources` maps
    `contract/NAME`, `pool/NAME`, `aggregate/REGION/NAME`, `group/REGION/NAME`, `directory/ID`, `team/NAME`,
    `region/NAME`, `cluster/NAME`, `approval/DATE-SUBJECT`, `adoption/REGION/NAME`, `waiver/REGION/CLASS`,
    `history/REGION`, `join-profile/NAME` and `settings` to where they stand, and finds what is below them too
    (`contract/nightly-features/drain/budget`).
    """

    commit: str
    committed_at: int
    settings: SettingsFile
    directory: tuple[DirectoryEntry, ...]
    contracts: tuple[Contract, ...]
    pools: tuple[Pool, ...]
    groups: tuple[GroupFile, ...]
    approvals: tuple[ApprovalFile, ...] = ()
    adoptions: tuple[AdoptionFile, ...] = ()
    waivers: tuple[WaiverFile, ...] = ()
    history: tuple[HistoryFile, ...] = ()
    join_profiles: tuple[JoinProfileFile, ...] = ()
    sources: Mapping[str, Place] = field(default_factory=dict)

    @cached_property
    def contract_by_name(self) -> Mapping[str, Contract]:
        """Contracts by name."""
        return {contract.name: contract for contract in self.contracts}

    @cached_property
    def pool_by_name(self) -> Mapping[str, Pool]:
        """Pool rows by name."""
        return {pool.name: pool for pool in self.pools}

    @cached_property
    def join_profile_by_name(self) -> Mapping[str, JoinProfileFile]:
        """Join profiles by name."""
        return {profile.name: profile for profile in self.join_profiles}

    @cached_property
    def team_by_name(self) -> Mapping[str, TeamEntry]:
        """Teams by name."""
        return {team.name: team for team in self.settings.teams}

    @cached_property
    def region_of_cluster(self) -> Mapping[str, str]:
        """The region each scheduler cluster belongs to."""
        return {cluster.name: region.name for region in self.settings.regions for cluster in region.clusters}

    @cached_property
    def directory_by_id(self) -> Mapping[str, DirectoryEntry]:
        """Directory entries by id."""
        return {entry.id: entry for entry in self.directory}

    def region(self, name: str) -> RegionEntry:
        """The region's settings; KeyError when the estate has no such region."""
        for region in self.settings.regions:
            if region.name == name:
                return region
        raise KeyError(name)

    def contracts_of(self, region: str) -> tuple[Contract, ...]:
        """The contracts whose cluster belongs to the region, by name."""
        return tuple(c for c in self.contracts if self.region_of_cluster.get(c.cluster) == region)

    def pools_of(self, region: str) -> tuple[Pool, ...]:
        """The region's pool rows, by name."""
        return tuple(p for p in self.pools if p.region == region)

    def groups_of(self, region: str) -> tuple[GroupFile, ...]:
        """The region's correlation groups, by name."""
        return tuple(g for g in self.groups if g.region == region)

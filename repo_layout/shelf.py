"""Collects well-formed documents by kind, remembers where every named thing stands, and makes the estate of them.

The loader puts documents in and takes the estate out. It must not judge names; it says which there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from contracts.fields import Declared
from contracts.model import ContractFile
from contracts.tiers import complete
from correlation_groups.model import GroupFile
from pools.join_profiles import JoinProfileFile
from pools.model import Pool, PoolFile, rows_of
from repo_layout.documents import AdoptionFile, ApprovalFile, DirectoryFile, HistoryFile, SettingsFile, WaiverFile
from repo_layout.layout import Named
from repo_layout.model import Estate
from repo_layout.source import Path, Places, Source
from repo_layout.tree import Tree


@dataclass(slots=True)
class Shelf:
    """Documents by kind, with the place of every name."""

    settings: SettingsFile | None = None
    directory: DirectoryFile | None = None
    contracts: list[ContractFile] = field(default_factory=list)
    pools: list[PoolFile] = field(default_factory=list)
    groups: list[GroupFile] = field(default_factory=list)
    approvals: list[ApprovalFile] = field(default_factory=list)
    adoptions: list[AdoptionFile] = field(default_factory=list)
    waivers: list[WaiverFile] = field(default_factory=list)
    histories: list[HistoryFile] = field(default_factory=list)
    join_profiles: list[JoinProfileFile] = field(default_factory=list)
    known: dict[str, tuple[Source, Path]] = field(default_factory=dict)

    def take(self, source: Source, document: Declared) -> list[Named]:
        """Put a document on its shelf; the names it gives to things."""
        match document:
            case SettingsFile():
                self.settings = document
                self.known["settings"] = (source, ())
                return self._settings_names(source, document)
            case DirectoryFile():
                self.directory = document
                return [
                    self._name(source, f"directory/{entry.id}", entry.id, ("entries", at, "id"))
                    for at, entry in enumerate(document.entries)
                ]
            case ContractFile(name=name):
                self.contracts.append(document)
                return [self._name(source, f"contract/{name}", name, ("name",), whole=True)]
            case PoolFile(region=region, aggregate=aggregate):
                self.pools.append(document)
                self.known[f"aggregate/{region}/{aggregate}"] = (source, ())
                return [
                    self._name(source, f"pool/{row.name}", row.name, ("rows", at, "name"))
                    for at, row in enumerate(document.rows)
                ]
            case GroupFile(name=name, region=region):
                self.groups.append(document)
                return [self._name(source, f"group/{region}/{name}", name, ("name",), within=region, whole=True)]
            case JoinProfileFile(name=name):
                self.join_profiles.append(document)
                return [self._name(source, f"join-profile/{name}", name, ("name",), whole=True)]
            case _:
                return self._take_record(source, document)

    def _take_record(self, source: Source, document: Declared) -> list[Named]:
        match document:
            case ApprovalFile():
                self.approvals.append(document)
                self.known[f"approval/{source.located.name}"] = (source, ())
            case AdoptionFile(region=region, name=name):
                self.adoptions.append(document)
                self.known[f"adoption/{region}/{name}"] = (source, ())
            case WaiverFile(region=region, eligibility_class=name):
                self.waivers.append(document)
                self.known[f"waiver/{region}/{name}"] = (source, ())
            case HistoryFile(region=region):
                self.histories.append(document)
                self.known[f"history/{region}"] = (source, ())
                return [
                    self._name(
                        source,
                        f"history/{region}/{row.pool}",
                        row.pool,
                        ("rows", at, "pool"),
                        within=f"the history of {region}",
                    )
                    for at, row in enumerate(document.rows)
                ]
            case _:
                pass
        return []

    def _settings_names(self, source: Source, settings: SettingsFile) -> list[Named]:
        names: list[Named] = []
        for at, region in enumerate(settings.regions):
            below: Path = ("regions", at)
            names.append(self._name(source, f"region/{region.name}", region.name, (*below, "name"), within="regions"))
            for n, cluster in enumerate(region.clusters):
                path = (*below, "clusters", n, "name")
                names.append(self._name(source, f"cluster/{cluster.name}", cluster.name, path, within="clusters"))
            for what, listed in (("halls", region.halls), ("projects", region.projects)):
                for n, name in enumerate(listed):
                    key = f"{what}/{region.name}/{name}"
                    within = f"the {what} of {region.name}"
                    names.append(self._name(source, key, name, (*below, what, n), within=within))
        for at, team in enumerate(settings.teams):
            names.append(self._name(source, f"team/{team.name}", team.name, ("teams", at, "name"), within="teams"))
        for at, factor in enumerate(settings.gpu_factors):
            path = ("gpuFactors", at, "family")
            names.append(self._name(source, f"gpu/{factor.family}", factor.family, path, within="gpuFactors"))
        return names

    def _name(self, source: Source, key: str, name: str, path: Path, *, within: str = "", whole: bool = False) -> Named:
        """Remember where a thing stands: the whole file for a document's own name, else what holds the name."""
        holder = () if whole else (path[:-1] if isinstance(path[-1], str) else path)
        self.known.setdefault(key, (source, holder))
        return Named(source.kind, name, source.place(path), within)

    def estate(self, tree: Tree) -> Estate | None:
        """The estate, sorted by name; None where the settings are missing or wrong."""
        if self.settings is None:
            return None
        regions = {region.name: region for region in self.settings.regions}
        pools: dict[str, Pool] = {}
        for declared in self.pools:
            region = regions.get(declared.region)
            window, throughput = (region.notice_window, region.checkpoint_throughput) if region else (0, 1)
            for row in rows_of(declared, default_window_s=window, default_throughput=throughput):
                pools.setdefault(row.name, row)
        contracts = {c.name: c for c in reversed(self.contracts)}
        return Estate(
            commit=tree.commit,
            committed_at=tree.committed_at,
            settings=self.settings,
            directory=tuple(sorted(self.directory.entries, key=lambda e: e.id)) if self.directory else (),
            contracts=tuple(complete(contracts[name]) for name in sorted(contracts)),
            pools=tuple(pools[name] for name in sorted(pools)),
            groups=tuple(sorted(self.groups, key=lambda g: (g.region, g.name))),
            approvals=tuple(sorted(self.approvals, key=lambda a: (a.granted, a.subject))),
            adoptions=tuple(sorted(self.adoptions, key=lambda a: (a.region, a.name))),
            waivers=tuple(sorted(self.waivers, key=lambda w: (w.region, w.eligibility_class))),
            history=tuple(sorted(self.histories, key=lambda h: h.region)),
            join_profiles=tuple(sorted(self.join_profiles, key=lambda p: p.name)),
            sources=Places(self.known),
        )

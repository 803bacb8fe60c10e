"""What a change of the estate does: every declared thing that differs, and what follows from it.

`touched` names the things, for rules that refuse only what a change touched; `effects` says what follows. Pure
functions of two estates, whatever files they came from: moved, reordered and reformatted files make no difference.
It must not know Git, nor judge whether an effect is wanted.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from pydantic.alias_generators import to_camel

from contracts.findings import Finding
from contracts.model import Contract
from repo_layout import feasibility
from repo_layout.change_fields import FieldChange, as_set, fields_changed
from repo_layout.change_findings import FindingsChange, findings_change
from repo_layout.change_pools import ReachChange, reach_changes
from repo_layout.change_spread import SlackChange, slack_changes
from repo_layout.change_sums import (
    RoomChange,
    SpendChange,
    TeamChange,
    UnitsChange,
    room_changes,
    spend_changes,
    team_changes,
    unit_changes,
)
from repo_layout.documents import RegionEntry, SettingsFile
from repo_layout.model import Estate


@dataclass(frozen=True, slots=True)
class ClusterThing:
    """A scheduler cluster with the region that has it: one that moves has changed."""

    region: str
    scheduler: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of the settings, which may be nothing and is there all the same."""

    value: object


class Turn(enum.Enum):
    """What became of a declared thing."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


FIELD_BY_FIELD = frozenset({"contract", "team", "region", "directory"})
"""Kinds of things of which findings rest on single fields."""

_UNDONE = {Turn.ADDED: Turn.REMOVED, Turn.REMOVED: Turn.ADDED, Turn.CHANGED: Turn.CHANGED}


@dataclass(frozen=True, slots=True)
class ThingChange:
    """One declared thing by its key in `Estate.sources`; fields are listed where both sides have it."""

    key: str
    turn: Turn
    fields: tuple[FieldChange, ...] = ()

    @property
    def kind(self) -> str:
        """The part of the key that says what it is: `contract`, `pool`, `settings` ..."""
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        """The rest of the key."""
        return self.key.partition("/")[2]

    def mirrored(self) -> ThingChange:
        """The same change, undone."""
        return ThingChange(self.key, _UNDONE[self.turn], tuple(one.mirrored() for one in self.fields))


@dataclass(frozen=True, slots=True)
class Renamed:
    """A contract that went and one that came, alike in every promise: to the platform another workload."""

    before: str
    after: str

    def mirrored(self) -> Renamed:
        """The same change, undone."""
        return Renamed(self.after, self.before)


@dataclass(frozen=True, slots=True)
class Effects:
    """Everything that a change does, each part in the order of names; nothing at all is no effect."""

    things: tuple[ThingChange, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    findings: FindingsChange = field(default_factory=FindingsChange)
    reach: tuple[ReachChange, ...] = ()
    slack: tuple[SlackChange, ...] = ()
    spend: tuple[SpendChange, ...] = ()
    teams: tuple[TeamChange, ...] = ()
    rooms: tuple[RoomChange, ...] = ()
    units: tuple[UnitsChange, ...] = ()

    def mirrored(self) -> Effects:
        """What undoing the change does."""
        parts: dict[str, object] = {one.name: getattr(self, one.name) for one in fields(self)}
        turned = {
            name: tuple(item.mirrored() for item in part) if isinstance(part, tuple) else part
            for name, part in parts.items()
        }
        turned["findings"] = self.findings.mirrored()
        turned["renamed"] = tuple(sorted((one.mirrored() for one in self.renamed), key=lambda one: one.before))
        return Effects(**turned)  # type: ignore[arg-type]  # each part is of the type it had


def effects(base: Estate, head: Estate, *, found: tuple[Iterable[Finding], Iterable[Finding]] | None = None) -> Effects:
    """What follows from going from `base` to `head`.

    `found` are the findings of both where they are known already; without them every rule is asked, each side as if
    it were looked at for the first time.
    """
    was, now = things(base), things(head)
    keys = changed(was, now)
    before, after = found or (feasibility.check(base), feasibility.check(head))
    if not keys:
        return Effects(findings=_of_both(findings_change(before, after), base, head))
    return Effects(
        things=_thing_changes(was, now, keys),
        renamed=tuple(_renamed(base, head, keys)),
        findings=_of_both(findings_change(before, after), base, head),
        reach=tuple(reach_changes(base, head, keys)),
        slack=tuple(slack_changes(base, head, keys)),
        spend=tuple(spend_changes(base, head)),
        teams=tuple(team_changes(base, head)),
        rooms=tuple(room_changes(base, head)),
        units=tuple(unit_changes(base, head)),
    )


def _of_both(found: FindingsChange, base: Estate, head: Estate) -> FindingsChange:
    """The same findings; a contract that is new or gone neither stops nor starts being feasible."""
    both = base.contract_by_name.keys() & head.contract_by_name.keys()
    stopped, started = (tuple(name for name in names if name in both) for names in (found.stopped, found.started))
    return replace(found, stopped=stopped, started=started)


def things(estate: Estate) -> Mapping[str, object]:
    """Every declared thing by its key in `Estate.sources`, with its parsed value, each part under one key only.

    `settings/FIELD` is a field of `ebbtide.yaml` beside its regions, clusters, teams and GPU factors, so that a pause
    does not pass for another bound; `region/NAME` leaves out the region's clusters; `aggregate/REGION/NAME` is all of
    its rows.
    """
    return dict(_things(estate))


def changed(was: Mapping[str, object], now: Mapping[str, object]) -> frozenset[str]:
    """The keys of what only one side has, or whose value differs, of the `things` of two estates.

    Lists that are sets compare as sets; a contract compares with its tier's gaps filled, without its prose.
    """
    return frozenset(key for key in was.keys() | now.keys() if was.get(key) != now.get(key))


def touched(base: Estate, head: Estate) -> frozenset[str]:
    """The keys of `changed`, told by their fields (`contract/NAME/floor`) where both estates have the thing and its
    fields are what findings rest on: nobody answers for a field that they left alone.
    """
    was, now = things(base), things(head)
    return frozenset(told for key in changed(was, now) for told in _by_field(key, was.get(key), now.get(key)))


def _by_field(key: str, before: object, after: object) -> Iterator[str]:
    if key.partition("/")[0] not in FIELD_BY_FIELD or before is None or after is None:
        yield key
        return
    for name in {change.path.partition(".")[0] for change in fields_changed(before, after)}:
        yield f"{key}/{name}"


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
    for profile in estate.join_profiles:
        yield f"join-profile/{profile.name}", as_set(profile)
    yield from _records(estate)


def _records(estate: Estate) -> Iterator[tuple[str, object]]:
    """What people and machines have written down about the estate."""
    for approval in estate.approvals:
        yield approval.key, approval
    for adoption in estate.adoptions:
        yield f"adoption/{adoption.region}/{adoption.name}", as_set(adoption)
    for waiver in estate.waivers:
        yield f"waiver/{waiver.region}/{waiver.eligibility_class}", waiver
    for history in estate.history:
        yield f"history/{history.region}", history.model_copy(update={"rows": ()})
        for row in history.rows:
            yield f"history/{history.region}/{row.pool}", row


def _settings(settings: SettingsFile) -> Iterator[tuple[str, object]]:
    rest = as_set(settings)
    for name in type(settings).model_fields:
        if name not in ("regions", "teams", "gpu_factors", "api_version", "kind"):
            yield f"settings/{to_camel(name)}", Setting(getattr(rest, name))
    for region in settings.regions:
        yield f"region/{region.name}", _region(region)
        for cluster in region.clusters:
            yield f"cluster/{cluster.name}", ClusterThing(region.name, cluster.scheduler)
    for team in settings.teams:
        yield f"team/{team.name}", as_set(team)
    for factor in settings.gpu_factors:
        yield f"gpu/{factor.family}", factor


def _region(region: RegionEntry) -> RegionEntry:
    return as_set(region.model_copy(update={"clusters": ()}))


# --------------------------------------------------------------------------------------------------- things, one by one


def _thing_changes(
    before: Mapping[str, object], after: Mapping[str, object], keys: frozenset[str]
) -> tuple[ThingChange, ...]:
    """The change of each thing; an aggregate is told by its rows."""
    return tuple(
        _thing_change(key, before.get(key), after.get(key)) for key in sorted(keys) if not key.startswith("aggregate/")
    )


def _thing_change(key: str, before: object, after: object) -> ThingChange:
    if before is None or after is None:
        return ThingChange(key, Turn.ADDED if before is None else Turn.REMOVED)
    if isinstance(before, Setting) and isinstance(after, Setting):
        return ThingChange(key, Turn.CHANGED, fields_changed(before.value, after.value, key.partition("/")[2]))
    return ThingChange(key, Turn.CHANGED, fields_changed(before, after))


def _renamed(base: Estate, head: Estate, keys: frozenset[str]) -> Iterator[Renamed]:
    """Contracts of one region that differ in their names only, where there is no doubt which became which."""
    gone = [c for c in base.contracts if f"contract/{c.name}" in keys and c.name not in head.contract_by_name]
    came = [c for c in head.contracts if f"contract/{c.name}" in keys and c.name not in base.contract_by_name]
    old, new = _by_promise(base, gone), _by_promise(head, came)
    for promise, names in sorted(old.items()):
        if len(names) == 1 and len(new.get(promise, ())) == 1:
            yield Renamed(names[0], new[promise][0])


def _by_promise(estate: Estate, contracts: Iterable[Contract]) -> dict[str, list[str]]:
    """Names of contracts by everything that they promise but who they are."""
    found: dict[str, list[str]] = {}
    for contract in contracts:
        place = contract.runs_on.kubernetes or contract.runs_on.slurm
        kept = contract.checkpoint.model_copy(update={"bucket": None, "key": None})
        anonymous = as_set(contract).model_copy(update={"name": "", "checkpoint": kept})
        who = {"name", "team", "owner", "contact", "runs_on"}
        region = estate.region_of_cluster.get(place.cluster if place else "", "")
        found.setdefault(f"{region} {anonymous.model_dump(exclude=who)}", []).append(contract.name)
    return found

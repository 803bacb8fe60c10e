"""The estate's remaining documents as declared: settings, directory, approvals, adoptions, waivers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.fields import Bytes, Count, Date, Declared, MoneyField, Name, Percent, Positive, Rate, Seconds


class ClusterEntry(Declared):
    """One scheduler cluster of a region."""

    name: Name
    scheduler: Literal["kubernetes", "slurm"]


class GuardLimits(Declared):
    """What the guard lets through: in a rolling window a share and a count, over what is running.

    `improbable_share` is the share of instances whose unexplained absence stops everything.
    """

    window: Seconds = 600
    release_share: Percent = 5
    release_count: Positive = 25
    acquire_count: Positive = 150
    replace_count: Positive = 400
    improbable_share: Percent = 10
    listing_age: Seconds = 180
    call_rate: Positive = 20
    call_burst: Positive = 60


class RegionEntry(Declared):
    """One region: one partition by default."""

    name: Name
    time_zone: str
    halls: tuple[Name, ...] = Field(min_length=1)
    projects: tuple[Name, ...] = Field(min_length=1)
    clusters: tuple[ClusterEntry, ...] = Field(min_length=1)
    notice_window: Seconds = 120
    verification_margin: Seconds = 5
    join_timeout: Seconds = 600
    checkpoint_gateway: Bytes = 10 * 2**30
    guard: GuardLimits = GuardLimits()


class Bounds(Declared):
    """Diversification: pools used at least, and the largest shares in one pool and one group."""

    pools: Positive = 8
    pool_share: Percent = 15
    group_share: Percent = 30
    bounding_kinds: tuple[Literal["aggregate", "hall", "power", "observed"], ...] = ("aggregate", "hall", "power")


class GpuFactor(Declared):
    """How many NCU one GPU of a family counts."""

    family: Name
    ncu: Positive


class TeamEntry(Declared):
    """A team's share when capacity is short, and its limits."""

    name: Name
    weight: Positive = 1
    ncu_limit: Positive
    tiers: tuple[Literal["anchored", "resumable", "staged", "requeued", "scavenger"], ...] = Field(min_length=1)
    spend_ceiling_per_day: MoneyField


class Pause(Declared):
    """A reviewed pause; `name` is empty for the whole estate."""

    scope: Literal["estate", "region", "pool", "workload"]
    name: Name | None = None
    reason: str = Field(min_length=1, max_length=400)


class Movement(Declared):
    """When what runs may be moved, and how often."""

    minimum_lifetime: Seconds = 3600
    horizon: Seconds = 14_400
    per_cycle_share: Percent = 5


class SettingsFile(Declared):
    """`ebbtide.yaml`."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["Settings"]
    estate: Name
    currency: str = Field(pattern=r"^[A-Z]{3}$")
    regions: tuple[RegionEntry, ...] = Field(min_length=1)
    bounds: Bounds = Bounds()
    movement: Movement = Movement()
    gpu_factors: tuple[GpuFactor, ...] = ()
    storage_rate_per_gib_month: Rate = Field(default="0.02", validate_default=True)
    footprint_per_day: MoneyField | None = None
    teams: tuple[TeamEntry, ...] = Field(min_length=1)
    pauses: tuple[Pause, ...] = ()


class DirectoryEntry(Declared):
    """One role or person under a stable id; only ids occur elsewhere."""

    id: Name
    name: str = Field(min_length=1, max_length=200)
    address: str = Field(min_length=3, max_length=200)
    kind: Literal["person", "role"]
    deputies: tuple[Name, ...] = ()
    spend_authority_per_day: MoneyField | None = None
    valid_until: Date | None = None


class DirectoryFile(Declared):
    """`directory.yaml`."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["Directory"]
    entries: tuple[DirectoryEntry, ...] = Field(min_length=1)


class ApprovalFile(Declared):
    """`approvals/<date>-<subject>.yaml`: a named person's consent; it expires."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["Approval"]
    subject: Name
    statement: str = Field(min_length=1, max_length=2000)
    approver: Name
    requester: Name
    granted: Date
    expires: Date
    commit: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}$")


class AdoptionFile(Declared):
    """`adoptions/<region>/<name>.yaml`: existing servers taken over."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["Adoption"]
    region: Name
    name: Name
    pool: Name
    workload: Name
    servers: tuple[str, ...] = ()
    selector: dict[str, str] = Field(default_factory=dict)


class WaiverFile(Declared):
    """`waivers/<region>/<class>.yaml`: a widened bound where the region cannot offer the spread."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["Waiver"]
    region: Name
    eligibility_class: str = Field(alias="class", pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")
    pools: Count
    pool_share: Percent
    group_share: Percent
    reason: str = Field(min_length=1, max_length=400)
    approver: Name
    expires: Date

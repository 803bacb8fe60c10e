"""The estate's remaining documents as declared: settings, directory, approvals, adoptions, waivers, history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field
from pydantic.alias_generators import to_camel

from contracts.fields import (
    Count,
    Date,
    Declared,
    Line,
    MoneyField,
    Name,
    Percent,
    Positive,
    Prose,
    Rate,
    Seconds,
    SomeBytes,
    Zone,
)
from contracts.findings import Fault
from pools.model import CHECKPOINT_THROUGHPUT
from pools.provider import seat_of


class ClusterEntry(Declared):
    """One scheduler cluster of a region."""

    name: Name
    scheduler: Literal["kubernetes", "slurm"]


class GuardLimits(Declared):
    """What the guard lets through: in a rolling window a share and a count, over what is running.

    `improbable_share` is the share of instances whose unexplained absence stops everything, `removal_share` the share
    of desired units that commits may take away without an approval, and `spool_limit` what events may fill that nobody
    took further before growth stops.
    """

    window: Seconds = 600
    release_share: Percent = 5
    release_count: Positive = 25
    acquire_count: Positive = 150
    replace_count: Positive = 400
    improbable_share: Percent = 10
    removal_share: Percent = 10
    spool_limit: SomeBytes = 2**30
    listing_age: Seconds = 180
    call_rate: Positive = 20
    call_burst: Positive = 60


SHARED_LIMITS = ("release_count", "acquire_count", "replace_count", "call_rate", "call_burst")
"""The limits of a region that its partitions share; the others are shares themselves, or ages."""


class PartitionEntry(Declared):
    """A part of a region with a leader of its own: some of its clusters, and a share of what they use together.

    `share` is of lent capacity, calls and limits; `committed_share` and `authority_share`, where they are another, of
    the capacity for floors and fallback and of what people may spend.
    """

    name: Name
    clusters: tuple[Name, ...] = Field(min_length=1)
    share: Percent
    committed_share: Percent | None = None
    authority_share: Percent | None = None


class RegionEntry(Declared):
    """One region: one partition by default; a list of them divides it.

    `checkpoint_throughput` is what one instance is sure to write to the object store, in bytes a second, where its pool
    says nothing else; `checkpoint_gateway` what the object store takes from all of them together.
    """

    name: Name
    time_zone: Zone
    halls: tuple[Name, ...] = Field(min_length=1)
    projects: tuple[Name, ...] = Field(min_length=1)
    clusters: tuple[ClusterEntry, ...] = Field(min_length=1)
    notice_window: Seconds = 120
    verification_margin: Seconds = 5
    join_timeout: Seconds = 600
    checkpoint_gateway: SomeBytes = 10 * 2**30
    checkpoint_throughput: SomeBytes = CHECKPOINT_THROUGHPUT
    guard: GuardLimits = GuardLimits()
    partitions: tuple[PartitionEntry, ...] = ()

    def faults(self) -> Iterator[Fault]:
        """Partitions that do not divide the region: its clusters, what it has, or its limits."""
        if self.partitions:
            yield from self._clusters_divided()
            yield from self._shares_divided()

    def _clusters_divided(self) -> Iterator[Fault]:
        """Each cluster is in one partition."""
        known, holder = {cluster.name for cluster in self.clusters}, dict[str, str]()
        for n, one in enumerate(self.partitions):
            for m, cluster in enumerate(one.clusters):
                path = ("partitions", n, "clusters", m)
                if cluster not in known:
                    message = f"{self.name} has no cluster {cluster}"
                    yield Fault(path, "EBT-170", message, cluster, f"one of {', '.join(sorted(known))}")
                elif holder.setdefault(cluster, one.name) != one.name or one.clusters.index(cluster) != m:
                    message = f"{cluster} is in partition {holder[cluster]} already"
                    yield Fault(path, "EBT-170", message, cluster, "each cluster once")
        for cluster in sorted(known - holder.keys()):
            message = f"{cluster} is in no partition of {self.name}, so that nobody would lead it"
            yield Fault(("partitions",), "EBT-170", message, cluster, "each cluster once")

    def _shares_divided(self) -> Iterator[Fault]:
        """The shares come to at most everything, and a share of a limit is never nothing."""
        for name in ("share", "committedShare", "authorityShare"):
            field = {"committedShare": "committed_share", "authorityShare": "authority_share"}.get(name, name)
            shares = [one.share if getattr(one, field) is None else getattr(one, field) for one in self.partitions]
            if sum(shares) > 100:
                message = f"the partitions of {self.name} have {sum(shares)} % together as their {name}"
                yield Fault(("partitions",), "EBT-171", message, str(sum(shares)), "at most 100")
        for n, one in enumerate(self.partitions):
            none = [name for name in SHARED_LIMITS if getattr(self.guard, name) * one.share < 100]
            if none:
                limits = ", ".join(to_camel(name) for name in none)
                message = f"{one.share} % leave partition {one.name} nothing of {limits}"
                expected = f"at least {-(-100 // min(getattr(self.guard, name) for name in none))}"
                yield Fault(("partitions", n, "share"), "EBT-172", message, str(one.share), expected)


def _shares(pool_share: int, group_share: int) -> Iterator[Fault]:
    if pool_share > group_share:
        message = f"one pool may hold {pool_share} % and a whole group {group_share} %"
        yield Fault(("poolShare",), "EBT-164", message, str(pool_share), f"at most groupShare, {group_share}")


class Bounds(Declared):
    """Diversification: pools used at least, and the largest shares in one pool and one group."""

    pools: Positive = 8
    pool_share: Percent = 15
    group_share: Percent = 30
    bounding_kinds: tuple[Literal["aggregate", "hall", "power", "observed"], ...] = ("aggregate", "hall", "power")

    def faults(self) -> Iterator[Fault]:
        """A group that may hold less than one of its pools."""
        yield from _shares(self.pool_share, self.group_share)


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
    reason: Prose

    def faults(self) -> Iterator[Fault]:
        """A pause of something unnamed, or of the estate under a name."""
        if (self.scope == "estate") != (self.name is None):
            message = "a pause of the estate carries no name" if self.name else f"which {self.scope} is paused?"
            expected = "no name" if self.name else f"the name of a {self.scope}"
            yield Fault(("scope",), "EBT-165", message, self.scope, expected)


class Movement(Declared):
    """When what runs may be moved, and how often."""

    minimum_lifetime: Seconds = 3600
    horizon: Seconds = 14_400
    per_cycle_share: Percent = 5


class SettingsFile(Declared):
    """`ebbtide.yaml`.

    `lost_hour_weight` is what an hour of work that has to be done again is worth to whoever waits for it, in guaranteed
    hours (0 to 100); 0 counts its money alone.
    """

    api_version: Literal["ebbtide/v1"]
    kind: Literal["Settings"]
    estate: Name
    currency: Annotated[str, Field(strict=True, pattern=r"^[A-Z]{3}$")]
    regions: tuple[RegionEntry, ...] = Field(min_length=1)
    bounds: Bounds = Bounds()
    movement: Movement = Movement()
    gpu_factors: tuple[GpuFactor, ...] = ()
    lost_hour_weight: Percent = 40
    storage_rate_per_gib_month: Rate = Field(default="0.02", validate_default=True)
    footprint_per_day: MoneyField | None = None
    teams: tuple[TeamEntry, ...] = Field(min_length=1)
    pauses: tuple[Pause, ...] = ()

    def faults(self) -> Iterator[Fault]:
        """Two partitions under whose name instances of one name would be made."""
        holder: dict[str, str] = {}
        for n, region in enumerate(self.regions):
            for m, name in enumerate([one.name for one in region.partitions] or [""]):
                seat = seat_of(region.name, name)
                whose = f"partition {name} of {region.name}" if name else f"region {region.name}"
                if seat in holder:
                    path = ("regions", n, "partitions", m, "name") if name else ("regions", n, "name")
                    message = f"{whose} would make instances under the names of {holder[seat]}: eb-{seat}-..."
                    yield Fault(path, "EBT-170", message, name or region.name, "a name of its own")
                holder.setdefault(seat, whose)


class DirectoryEntry(Declared):
    """One role or person under a stable id; only ids occur elsewhere."""

    id: Name
    name: Line
    address: Line
    kind: Literal["person", "role"]
    deputies: tuple[Name, ...] = ()
    spend_authority_per_day: MoneyField | None = None
    valid_until: Date | None = None
    approval_key: Annotated[str, Field(strict=True, pattern=r"^[0-9a-f]{64}$")] | None = None


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
    statement: Annotated[str, Field(strict=True, min_length=1, max_length=2000)]
    approver: Name
    requester: Name
    granted: Date
    expires: Date
    commit: Annotated[str, Field(strict=True, pattern=r"^[0-9a-f]{40}$")] | None = None

    @property
    def key(self) -> str:
        """How `Estate.sources` and changes name it; the file carries the same name."""
        return f"approval/{self.granted.isoformat()}-{self.subject}"

    def faults(self) -> Iterator[Fault]:
        """Consent that never held, or that somebody gave to themselves."""
        if self.expires <= self.granted:
            message = f"the approval expires on {self.expires} and was granted on {self.granted}"
            yield Fault(("expires",), "EBT-162", message, str(self.expires), f"a day after {self.granted}")
        if self.approver == self.requester:
            message = f"{self.approver} both asks and approves"
            yield Fault(("approver",), "EBT-163", message, self.approver, "somebody else than the requester")


class AdoptionFile(Declared):
    """`adoptions/<region>/<name>.yaml`: existing servers taken over."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["Adoption"]
    region: Name
    name: Name
    pool: Name
    workload: Name
    servers: tuple[Line, ...] = Field(default=(), max_length=1000)
    selector: dict[str, Line] = Field(default_factory=dict)

    def faults(self) -> Iterator[Fault]:
        """Servers chosen in no way, or in two."""
        if bool(self.servers) == bool(self.selector):
            which = "both servers and a selector" if self.servers else "neither servers nor a selector"
            yield Fault((), "EBT-167", f"the adoption names {which}", expected="exactly one of servers and selector")


class WaiverFile(Declared):
    """`waivers/<region>/<class>.yaml`: a widened bound where the region cannot offer the spread."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["Waiver"]
    region: Name
    eligibility_class: Name = Field(alias="class")
    pools: Count
    pool_share: Percent
    group_share: Percent
    reason: Prose
    approver: Name
    expires: Date

    def faults(self) -> Iterator[Fault]:
        """A group that may hold less than one of its pools."""
        yield from _shares(self.pool_share, self.group_share)


class HistoryRow(Declared):
    """What one pool did: instance-hours that stood there, instances taken back, and in how many reclaims."""

    pool: Name
    exposure_hours: Count
    interruptions: Count
    reclaims: Count

    def faults(self) -> Iterator[Fault]:
        """More reclaims than instances they took, instances that no reclaim took, or some where none stood."""
        if self.reclaims > self.interruptions or (self.interruptions and not self.reclaims):
            message = f"{self.reclaims} reclaims took {self.interruptions} instances"
            expected = f"1 to {self.interruptions}" if self.interruptions else "0"
            yield Fault(("reclaims",), "EBT-169", message, str(self.reclaims), expected)
        elif self.interruptions and not self.exposure_hours:
            message = f"{self.interruptions} interruptions in no instance-hour"
            yield Fault(("exposureHours",), "EBT-169", message, "0", "the instance-hours that stood there")


class HistoryFile(Declared):
    """`history/<region>.yaml`: what the pools of a region were observed to do, from a day to a day."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["History"]
    region: Name
    since: Date
    until: Date
    rows: tuple[HistoryRow, ...] = Field(max_length=1000)

    def faults(self) -> Iterator[Fault]:
        """A period that ends before it begins."""
        if self.until <= self.since:
            message = f"the history ends on {self.until} and begins on {self.since}"
            yield Fault(("until",), "EBT-168", message, str(self.until), f"a day after {self.since}")

"""The provider contract as a seam: what the control plane asks of a cloud, in its own words.

Five commitments: notice and advisory (`signals`), rate card (`rates`), forward capacity (`forward_capacity`), and the
reclaim and lifecycle API (`instances`, `create`, `delete`, `quota`, `mark`, `publish_hints`). Adapters turn their
client's exceptions into `contracts.errors`; a difference between providers is a value an answer carries, never a class
check. Every answer carries the provider's time `as_of`; what is missing from an incomplete answer is unknown, never
gone. All times are milliseconds since the epoch.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from contracts.errors import Refused, Transient
from contracts.frozen import quick


class QuotaExhausted(Refused):
    """The project's quota has no room: says nothing about the pool, and trying again changes nothing until it grows."""


class Conflict(Transient):
    """Another allocation changed the inventory first (a generation conflict): try again with the same key."""


class Status(enum.Enum):
    """What the provider says of a server."""

    BUILDING = "building"
    ACTIVE = "active"
    ERROR = "error"
    DELETING = "deleting"
    MOVED = "moved"
    UNKNOWN = "unknown"


class NoticeKind(enum.Enum):
    """Why a server goes away. Maintenance and drills teach the interruption estimate nothing."""

    RECLAIM = "reclaim"
    MAINTENANCE = "maintenance"
    HOST_FAILURE = "host_failure"
    DRILL = "drill"


class FaultKind(enum.Enum):
    """Why a server is in ERROR, as far as the provider says."""

    NO_HOST = "no_host"
    QUOTA = "quota"
    CONFLICT = "conflict"
    OTHER = "other"


def seat_of(region: str, partition: str) -> str:
    """The name under which a partition keeps what is its own: the region's, where that is not divided."""
    return f"{region}-{partition}" if partition else region


@quick
@dataclass(frozen=True, slots=True)
class Mark:
    """Our sign on a server. Another estate's mark is foreign; a server without one is nobody's. `since` is when it was
    put on a server that somebody else had started, and 0 on one that was made under it. `partition` is empty where one
    leader has the whole region.
    """

    estate: str
    region: str
    name: str
    epoch: int
    workload: str
    units: int
    paid: str
    since: int = 0
    partition: str = ""

    @property
    def seat(self) -> str:
        """Under which name its instance was made."""
        return seat_of(self.region, self.partition)

    @property
    def owner(self) -> tuple[str, str, str]:
        """Estate, region and partition: whose leader acts on the server, and nobody else's."""
        return (self.estate, self.region, self.partition)

    @property
    def key(self) -> tuple[str, str, str]:
        """Estate, region and name: what makes two marks the same mark, whatever else they carry."""
        return (self.estate, self.region, self.name)


@quick
@dataclass(frozen=True, slots=True)
class Server:
    """One row of a listing. `id` may be empty in a broken row; such a row is never a target. `pool` is empty when the
    provider does not say where the server is. `tags` are what people wrote on it, our mark apart; adoptions select by
    them.
    """

    id: str
    name: str
    project: str
    pool: str
    status: Status
    created_at: int
    mark: Mark | None = None
    fault: FaultKind | None = None
    fault_text: str = ""
    tags: tuple[tuple[str, str], ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Part:
    """One project (or cell) of a listing, and whether it is proven complete."""

    name: str
    complete: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """All servers the provider told of; a server of a part that is not complete may exist unseen."""

    as_of: int
    servers: tuple[Server, ...]
    parts: tuple[Part, ...]

    @property
    def complete(self) -> bool:
        """Whether every part was read to its end."""
        return all(part.complete for part in self.parts)


@quick
@dataclass(frozen=True, slots=True)
class Notice:
    """The provider's word that one server goes away at `ends_at`, or, `withdrawn`, that it stays after all, said at
    `withdrawn_at` (0: the provider does not say when).
    """

    id: str
    server: str
    name: str
    pool: str
    reclaim: str
    kind: NoticeKind
    issued_at: int
    ends_at: int
    withdrawn: bool = False
    withdrawn_at: int = 0


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Capacity taken back: nothing is acquired in its domains until `hold_until`."""

    id: str
    reason: str
    domains: tuple[str, ...]
    opened_at: int
    hold_until: int


@dataclass(frozen=True, slots=True)
class Advisory:
    """The pool is likely to be reclaimed soon."""

    pool: str
    issued_at: int
    until: int
    reason: str = ""


class LifecycleKind(enum.Enum):
    """What happened to a server, from the provider's event stream. Billing begins with ACTIVE."""

    CREATED = "created"
    ACTIVE = "active"
    DELETED = "deleted"
    MOVED = "moved"
    FAILED = "failed"


@quick
@dataclass(frozen=True, slots=True)
class Lifecycle:
    """One lifecycle event: a hint that explains; the listing stays the truth.

    `project` and `mark` are those of the server, where the provider says them: a leader that never saw the server
    learns from them whose it was. `taken` says that the provider ended it itself, and nobody asked for that.
    """

    at: int
    kind: LifecycleKind
    server: str
    name: str
    pool: str
    reason: str = ""
    project: str = ""
    mark: Mark | None = None
    taken: bool = False


@dataclass(frozen=True, slots=True)
class Signals:
    """Everything the provider said since a cursor; `cursor` continues after it. Repetition is harmless.

    Notices and lifecycle events are those since the cursor, in the order in which they were said, and may be said
    again. `reclaims` and `advisories` are complete: all that stand at `as_of`, whatever the cursor.
    """

    as_of: int
    cursor: str
    notices: tuple[Notice, ...] = ()
    reclaims: tuple[Reclaim, ...] = ()
    advisories: tuple[Advisory, ...] = ()
    lifecycle: tuple[Lifecycle, ...] = ()


@dataclass(frozen=True, slots=True)
class RateCard:
    """Rates per instance-hour by pool: what is asked now, and the guaranteed rate of the same flavor.

    A pool that is absent has no known rate and gets no new work.
    """

    as_of: int
    currency: str
    rates: Mapping[str, Decimal]
    guaranteed: Mapping[str, Decimal]
    effective_from: Mapping[str, int] = field(default_factory=dict)


@quick
@dataclass(frozen=True, slots=True)
class ForwardCapacity:
    """What a capacity domain will offer us beyond what we hold, how long and how surely (0 to 1)."""

    domain: str
    vcpu: int
    memory: int
    gpu: int
    until: int
    confidence: float


@dataclass(frozen=True, slots=True)
class ForwardCapacities:
    """All domains' forward capacity; an absent domain offers nothing known."""

    as_of: int
    domains: tuple[ForwardCapacity, ...]


@quick
@dataclass(frozen=True, slots=True)
class ProjectQuota:
    """What is left in one project."""

    project: str
    instances: int
    vcpu: int
    memory: int


@quick
@dataclass(frozen=True, slots=True)
class Quota:
    """What is left in every owned project."""

    as_of: int
    projects: tuple[ProjectQuota, ...]


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """One server to create; `mark.name` is its idempotency key: asking again gives the same server."""

    pool: str
    project: str
    mark: Mark
    user_data: bytes = b""


@dataclass(frozen=True, slots=True)
class VictimHint:
    """What losing one server would cost now, so that a reclaimer can choose the cheapest."""

    server: str
    checkpoint_age_s: int
    restart_cost_s: int
    workload_share_permille: int


class Provider(Protocol):
    """A cloud, as the control plane needs it. Every method may raise `Transient` (silence, overload) or `Refused`."""

    def signals(self, cursor: str) -> Signals:
        """Notices, withdrawals and lifecycle events since `cursor`, with what stands open; "" and a cursor that the
        provider no longer knows mean the beginning of what it keeps.
        """

    def rates(self) -> RateCard:
        """The rate card."""

    def forward_capacity(self) -> ForwardCapacities:
        """Forward capacity by domain."""

    def instances(self) -> Listing:
        """All servers in owned projects, page by page, with the proof of completeness part by part."""

    def create(self, request: CreateRequest) -> Server:
        """Create or find the server with this key; it may be building, active or in error. Raises `QuotaExhausted` or
        another `Refused`, `Breach` outside owned projects, `Conflict` or another `Transient`; after a `Transient` the
        server may exist, and the same key finds it.
        """

    def delete(self, server: str, *, expected: Mark) -> None:
        """Delete a server that carries `expected`, in whatever status; `Gone` when it is not there, `Breach` when it
        has no mark, another's, or that of a later epoch, or lies outside owned projects; `Refused` for an empty id.
        """

    def quota(self) -> Quota:
        """What is left."""

    def mark(self, server: str, mark: Mark | None) -> None:
        """Put our mark on an adopted server, or take it off a disowned one; repetition is harmless. Raises `Gone`,
        `Refused` for an empty id, `Breach` when the server carries another's mark or lies outside owned projects.
        """

    def publish_hints(self, hints: tuple[VictimHint, ...]) -> None:
        """Tell the reclaimer what each server's loss would cost; the latest word wins."""

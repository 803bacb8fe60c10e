"""What one pass over the fleet goes by, and what it finds: the values of `census` and its parts.

`cycle` makes a `Sight` of what it saw; `appraisal`, `evidence` and `eyes` read the `Census`. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ledger.causes import Cause
from ledger.events import Event
from pools.provider import Listing, Notice, Server, Signals, seat_of
from reconciler.fleet import Fleet, Instance
from reconciler.ports import NodeView
from reconciler.sighting import Stray

LATEST_WORD_MS = 3_600_000
"""How long a bill stays open for the provider's word on its end, while its stream says nothing newer either."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An acquisition that did not become a node; a quota failure is no sign against the pool."""

    pool: str
    workload: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class Loss:
    """An instance that is gone and that we did not let go."""

    instance: Instance
    cause: Cause
    at: int


@dataclass
class Census:
    """What one pass found; `fleet` is the fleet after it.

    `restored` are instances that only their marks remember, `twins` second servers that may be deleted. `unheard`: the
    provider spoke of a server that we could not know, for want of a whole listing: ask again. `missed`: it spoke of one
    that we know only now: ask from the beginning. `let_go` are instances that leaders of before released, and nobody
    here remembers, and `grown` those that they acquired, with the time, as far as it can be told. `unexplained` is
    missing with nothing to explain it; `beside` the fleet so many of these are no instances that anybody remembers.
    `absent` are so many of the fleet that are not gone, that nobody shows and whose absence is no riddle: they count
    neither as missing nor among what stands. `drained` says how the drains ended of nodes whose servers may be ended
    for that, and `unlisted` is how many servers of a workload are known to stand and to nobody where.
    """

    fleet: Fleet
    events: list[Event] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    strays: list[Stray] = field(default_factory=list)
    restored: list[Instance] = field(default_factory=list)
    twins: list[Server] = field(default_factory=list)
    let_go: dict[str, int] = field(default_factory=dict)
    grown: dict[str, int] = field(default_factory=dict)
    foreign: int = 0
    beside: int = 0
    absent: int = 0
    drained: Mapping[str, str] = field(default_factory=dict)
    unlisted: Mapping[str, int] = field(default_factory=dict)
    unheard: bool = False
    missed: bool = False

    @property
    def stands(self) -> int:
        """How many instances stand for all that anybody can tell, what is missing unexplained included, and what the
        provider said had ended not, whatever the listing shows.
        """
        return sum(not instance.end_told for instance in self.fleet.alive()) + self.beside - self.absent

    def unowned(self) -> list[Server]:
        """Servers that carry our mark and are no instance: second ones under one key, and strays."""
        return [*self.twins, *(stray.row for stray in self.strays)]

    def cursor(self, before: str, after: str) -> str:
        """Where to go on in the provider's stream, which was heard from one cursor to the other."""
        if self.missed and before:
            return ""
        return before if self.unheard else after


@dataclass(frozen=True)
class Sight:
    """What the provider and the schedulers showed; `listing` is None when the provider did not answer at all.

    `projects` are ours, `behind` says that the nodes are shown as they were before the provider spoke (`eyes.behind`),
    `silent_workloads` those whose scheduler does not answer, and `accepted_at` is the time up to which a person
    accepted that what is missing is gone (0: none was). `led` are the region's partitions that have a leader ("": it is
    not divided). `from_beginning` says that the signals begin where the provider's stream does, and
    `unidentified` are names with which rows without an id are marked: `census` fills them in.
    """

    now: int
    estate: str
    region: str
    join_timeout_s: int
    signals: Signals
    listing: Listing | None
    nodes: Mapping[str, NodeView]
    workloads: frozenset[str]
    projects: frozenset[str]
    behind: bool = False
    silent_workloads: frozenset[str] = frozenset()
    improbable_percent: int = 10
    accepted_at: int = 0
    partition: str = ""
    led: frozenset[str] = frozenset({""})
    from_beginning: bool = True
    unidentified: frozenset[str] = frozenset()

    @property
    def owner(self) -> tuple[str, str, str]:
        """What our marks say of whose a server is: estate, region and partition."""
        return self.estate, self.region, self.partition

    @property
    def seat(self) -> str:
        """Under which name our instances are made."""
        return seat_of(self.region, self.partition)

    @cached_property
    def complete(self) -> frozenset[str]:
        """Projects that were listed to their end."""
        return frozenset(p.name for p in self.listing.parts if p.complete) if self.listing else frozenset()

    @cached_property
    def advised(self) -> frozenset[str]:
        """Pools that the provider warns of now."""
        return frozenset(advisory.pool for advisory in self.signals.advisories if advisory.until > self.now)

    @property
    def listed_at(self) -> int:
        """The time of the listing; 0 where none came."""
        return self.listing.as_of if self.listing else 0

    @property
    def heard(self) -> bool:
        """Whether the provider told what happened; silence is no word about anything."""
        return self.signals.as_of > 0

    def heard_beyond(self, at: int) -> bool:
        """Whether the provider's word about what happened at that time would have come by now."""
        return self.now - at > LATEST_WORD_MS or any(said.at > at for said in self.signals.lifecycle)

    @property
    def whole(self) -> bool:
        """Whether every project was."""
        return self.listing is not None and self.listing.complete

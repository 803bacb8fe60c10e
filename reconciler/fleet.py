"""The instances of one partition as the control plane knows them: frozen values and their phases.

`census` keeps them in step with what was observed; claims, placement, diff and guard read them. Nothing here acts. All
times are milliseconds since the epoch, 0 where the thing has not happened.
"""

from __future__ import annotations

import enum
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from contracts.frozen import quick
from ledger.causes import Cause
from ledger.events import EventType, Paid
from repo_layout.admission import instance_prefix


class Phase(enum.Enum):
    """Where an instance is between being asked for and being gone.

    FAILED is no supply and still on the provider's books: it is deleted in the next cycle.
    """

    __hash__ = object.__hash__  # a member is itself, and looked up in tables all day

    REQUESTED = "requested"
    BOOTING = "booting"
    JOINED = "joined"
    SERVING = "serving"
    DRAINING = "draining"
    FAILED = "failed"
    GONE = "gone"


_REQUESTED, _BOOTING, _JOINED, _SERVING = Phase.REQUESTED, Phase.BOOTING, Phase.JOINED, Phase.SERVING
_GONE = Phase.GONE
"""By names of our own: to look a member up in its enum costs as much as the rest of a property below."""


DRILL = "drill/"
"""What the keys of a drill's notices begin with, so that a real notice of the same reclaim stands beside it."""


@quick
@dataclass(frozen=True, slots=True)
class Instance:
    """One server of ours.

    `name` is our key and exists before the server; `server` is the provider's id, empty until it answered. `pool` is
    empty when the provider does not say where the server is. `ends_at` is when a notice or a release takes it,
    `started_at` and `ended_at` bound what the provider bills, `cause` and `cause_event` say why it is in its present
    phase. `missing_since` is set while complete listings do not show it and nothing explains that: so many
    `missing_listings`, the last one of `missing_at`. `gone_at` is when it was held to be gone, `end_told` says that the
    provider itself said so and `taken` that it was the provider who ended it, `found_at` is when a listing brought
    it back though the provider had said that it failed, and `unsure_since` since when it is known from a listing
    alone: whether it was ever a node, nobody remembers. `moving_to` is the instance that takes over its work: once
    that one is there, this one is released. `notices` are the ends that stand, by reclaim, and `notice_events` what
    the ledger has of them; `release_event` is the event by which its release stands in the ledger, `asked` how often
    its node answered that it heard of it, `drain_asked` that it needs no word any more: it was seen to drain, or is
    no node; and `deregistered` that it left its scheduler. `twinned` says that another server is known to have
    had its key, and `stepped_in` that this one took the key over: what was said of it before, nobody kept. `left_at`
    is set while its scheduler, which answers, does not show it though it had joined.
    """

    name: str
    pool: str
    project: str
    workload: str
    units: int
    paid: Paid
    phase: Phase
    requested_at: int
    epoch: int
    server: str = ""
    started_at: int = 0
    ended_at: int = 0
    joined_at: int = 0
    left_at: int = 0
    busy_units: int = 0
    covered: bool = False
    ends_at: int = 0
    reclaim: str = ""
    released: bool = False
    noticed: bool = False
    cause: Cause = Cause.CLAIM_GREW
    cause_event: str = ""
    missing_since: int = 0
    moving_to: str = ""
    notices: tuple[tuple[str, int], ...] = ()
    release_event: str = ""
    drain_asked: bool = False
    deregistered: bool = False
    missing_at: int = 0
    missing_listings: int = 0
    gone_at: int = 0
    end_told: bool = False
    taken: bool = False
    found_at: int = 0
    unsure_since: int = 0
    asked: int = 0
    told_in: str = ""
    moved_from: str = ""
    notice_events: tuple[tuple[str, str], ...] = ()
    twinned: bool = False
    stepped_in: bool = False

    @property
    def supply(self) -> bool:
        """Whether it counts as capacity for its workload: asked for, booting, joined or serving."""
        phase = self.phase  # identity, since hashing an enum member costs more than the rest of a cycle's pass
        return phase is _SERVING or phase is _JOINED or phase is _BOOTING or phase is _REQUESTED

    @property
    def stands(self) -> bool:
        """Whether it is there for all that is shown: a share is one of these. An old or untrue listing may show what
        the provider said had ended; what whole listings lack, or nobody ever answered for, may be nowhere.
        """
        over = self.phase is _GONE or self.end_told or self.missing_since > 0
        return not over and (self.server != "" or self.started_at > 0)

    @property
    def ready(self) -> bool:
        """Whether it is a node that may run units."""
        return (self.phase is _SERVING or self.phase is _JOINED) and not self.left_at

    @property
    def billed(self) -> bool:
        """Whether the provider is known to bill it: it started, and nobody said that it ended."""
        return self.started_at > 0 and not self.ended_at

    @property
    def bare(self) -> bool:
        """Whether it is a lent node that no notice would reach: no capacity for a strict tier."""
        return self.ready and not self.covered and self.paid is Paid.RECLAIMABLE

    @property
    def node_once(self) -> bool:
        """Whether it may be a node, whoever shows it: it is asked to drain before anything ends it."""
        return self.joined_at > 0 or self.unsure_since > 0

    @property
    def seen_to_drain(self) -> bool:
        """Whether it counts as released because its node was found in a drain, and no release was agreed."""
        asked = self.release_event.startswith(f"{EventType.RELEASE_ASKED.value}/")
        return self.released and bool(self.release_event) and not asked

    @property
    def drill(self) -> bool:
        """Whether every notice that stands on it is a drill's."""
        return bool(self.notices) and all(key.startswith(DRILL) for key, _ in self.notices)

    @property
    def first_notice(self) -> tuple[int, str]:
        """The earliest end that a notice gives it, and the event of that notice; 0 and empty where none stands."""
        ends_at, key = min(((end, key) for key, end in self.notices), default=(0, ""))
        return ends_at, dict(self.notice_events).get(key, self.cause_event) if key else ""

    @property
    def starting(self) -> bool:
        """Whether it is asked for or boots."""
        return self.phase is _BOOTING or self.phase is _REQUESTED


@quick
@dataclass(frozen=True, slots=True)
class Debt:
    """One instance that was lost or noticed and not replaced yet; the next acquisition of its workload that is paid the
    same way pays it.
    """

    workload: str
    instance: str
    cause: Cause
    cause_event: str
    paid: Paid = Paid.RECLAIMABLE


@quick
@dataclass(frozen=True, slots=True)
class Unlisted:
    """A server of ours of which others know, and no listing that we saw: when it began, what they say of it, and
    `since` when whole listings lack it (0: none does yet).
    """

    born_at: int
    server: str = ""
    project: str = ""
    workload: str = ""
    since: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Fleet:
    """Everything the control plane remembers about its instances between two cycles.

    `sequence` numbers the next instance; `quarantined` are ids of servers that carry our mark and that a person has to
    look at; `twins` are ids of second servers under one key whose deletion stands in the ledger; `unlisted` are no
    instances, and others show them. What happened up to `answered_until` may have been answered by a leader that this
    memory knows nothing of: nothing more is owed for it. What leaders of before asked for is known to have paid what is
    not owed, up to the term and number `known`.
    """

    instances: Mapping[str, Instance] = field(default_factory=lambda: MappingProxyType({}))
    debts: tuple[Debt, ...] = ()
    sequence: int = 1
    quarantined: frozenset[str] = frozenset()
    twins: frozenset[str] = frozenset()
    unlisted: Mapping[str, Unlisted] = field(default_factory=lambda: MappingProxyType({}))
    answered_until: int = 0
    known: tuple[int, int] = (0, 0)

    def alive(self) -> list[Instance]:
        """Instances that are not gone, by name."""
        gone = Phase.GONE
        return [i for i in self.instances.values() if i.phase is not gone]

    def beyond(self, workloads: Container[str]) -> dict[str, int]:
        """Units alive of workloads that are none of these, by workload."""
        units: dict[str, int] = {}
        for one in self.instances.values():
            if one.workload not in workloads and one.phase is not Phase.GONE:
                units[one.workload] = units.get(one.workload, 0) + one.units
        return units


def name_of(seat: str, epoch: int, number: int) -> str:
    """The key of the `number`th instance that this epoch asks for."""
    return f"{instance_prefix(seat)}{epoch}-{number:06d}"


@lru_cache(maxsize=1 << 16)  # asked three times a cycle for every instance
def number_in(name: str, seat: str) -> int:
    """The number in a name that we gave; 0 for a name that somebody else gave, as an adopted server has."""
    head, _, number = name.rpartition("-")
    lead, _, epoch = head.rpartition("-")
    ours = f"{lead}-" == instance_prefix(seat) and epoch.isdecimal() and number.isdecimal()
    return int(number) if ours else 0

"""What really happened in a simulated region, as the world saw it: the witness that the checkers hear.

Written by the world and by the wires around each port, never by the reconciler: an act stands here when it took effect,
whatever answer came back. Times are the world's own (`at`), true even where a replica's clock is wrong. Read by
`simulation.check_*`, which believe this, the cloud's invoice and the ledger's events, and nothing of the planner.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from ledger.events import Event
from pools.provider import Mark, Notice
from repo_layout.model import Estate
from simulation.cloud_model import EndCause
from simulation.faults import Fault


class Call(enum.Enum):
    """The calls that change something outside."""

    CREATE = "create"
    DELETE = "delete"
    MARK = "mark"
    UNMARK = "unmark"
    ASK_RETURN = "ask_return"
    REMOVE_NODE = "remove_node"


@dataclass(frozen=True, slots=True)
class Act:
    """One call that took effect, under the epoch that its caller believed in.

    `fresh` says that something changed: a create that found its server again, or a return that had been asked for, is
    an act that is not fresh. `stood` is the mark that the server carried before. `answered` says whether the caller
    heard of it. `for_` is the ledger event that the caller gave as its cause, where the call carries one.
    """

    at: int
    replica: str
    epoch: int
    call: Call
    name: str
    server: str = ""
    project: str = ""
    pool: str = ""
    workload: str = ""
    units: int = 0
    paid: str = ""
    stood: Mark | None = None
    fresh: bool = True
    answered: bool = True
    for_: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """What one replica could see in one cycle, by the world's account and not by its own.

    `whole` holds the projects whose listing it got complete, true and not older than the estate allows; `listed_at` the
    true age-giving time of that listing (0: none came). `told` says that signals came, `silent` which clusters did not
    answer, `git` that the newest bundle was offered and valid, `clock` that its clock neither jumped since its last
    look nor differs from the provider's by more than the estate allows, `disk` that its journal can be written,
    `pending` the bytes in its spool, `stopped` why people stopped it. `leads` is the store's word: it holds the lease.
    """

    at: int
    replica: str
    epoch: int
    leads: bool
    whole: frozenset[str]
    listed_at: int
    told: bool
    silent: frozenset[str]
    git: bool
    clock: bool
    disk: bool
    pending: int
    stopped: str


@dataclass(frozen=True, slots=True)
class Led:
    """A lease that was taken in the store."""

    at: int
    replica: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A server that is gone: when, and why by the cloud's word. `noticed` is the notice that stood on it."""

    at: int
    server: str
    name: str
    mark: Mark | None
    cause: EndCause
    noticed: Notice | None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A commit that was merged at this time, whether or not a replica could read it; `approved` removals are waited for
    no longer.
    """

    at: int
    commit: str
    version: int
    estate: Estate


@dataclass
class Chronicle:
    """Everything of one history, in order of time within each list.

    `events` holds each replica's spool and, under "", what the world's nodes told themselves. `wanted` are the changes
    of demand (at, workload, units); `given` every notice and withdrawal with the time at which the cloud said it;
    `killed` the times at which a replica's process died and what stood on its disk after ("disk", "empty");
    `faults` what was switched on. `quiet_from` is when the last fault is over; `end` when the history ends.
    """

    faults: tuple[Fault, ...] = ()
    acts: list[Act] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    led: list[Led] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    reviewed: list[Reviewed] = field(default_factory=list)
    given: list[tuple[int, Notice]] = field(default_factory=list)
    wanted: list[tuple[int, str, int]] = field(default_factory=list)
    killed: list[tuple[int, str, str]] = field(default_factory=list)
    events: dict[str, list[Event]] = field(default_factory=dict)
    reserved: list[tuple[int, Mapping[str, int]]] = field(default_factory=list)
    quiet_from: int = 0
    end: int = 0

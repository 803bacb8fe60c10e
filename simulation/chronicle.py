"""What really happened in a simulated region, as the world saw it: the witness that the checkers hear.

Written by the world and by the wires around each port, never by the reconciler: an act stands here when it took effect,
whatever answer came back. Times are the world's own (`at`), true even where a replica's clock is wrong. Read by
`simulation.check_*`, which believe this, the cloud's invoice and the ledger's events, and nothing of the planner.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from contracts.frozen import quick
from ledger.events import Event
from pools.provider import Mark, Notice, Reclaim
from repo_layout.model import Estate
from simulation.cloud_model import EndCause, InvoiceLine
from simulation.faults import Fault


class Call(enum.Enum):
    """The calls that change something outside."""

    CREATE = "create"
    DELETE = "delete"
    MARK = "mark"
    UNMARK = "unmark"
    ASK_RETURN = "ask_return"
    REMOVE_NODE = "remove_node"


@quick
@dataclass(frozen=True, slots=True)
class Act:
    """One call that took effect, under the epoch that its caller believed in.

    `fresh` says that something changed: a create that found its server again, or a return that had been asked for, is
    an act that is not fresh. `stood` is the mark that the server carried before. `answered` says whether the caller
    heard of it. `for_` is the ledger event that the caller gave as its cause, where the call carries one. `ends_at` is
    the end that ASK_RETURN agreed, and `sent_at` when a call was begun that took effect later: after its caller gave it
    up, or stood still in the middle of it (0: it took effect at once).
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
    ends_at: int = 0
    sent_at: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    """What one replica could see in one cycle, by the world's account and not by its own.

    `whole` holds the projects whose listing it got to its end and not older than the estate allows; `listed_at` the
    true age-giving time of that listing (0: none came). `hidden` are ids of servers of ours that stand in a project of
    `whole`, stood at `listed_at`, and were not shown: a listing that lies, or shows less than its time. `told` says
    that signals came, `silent` which clusters did not answer, or with what is older than the estate allows, `git` that
    a valid bundle was offered, as new as any that was accepted, `clock` that its clock neither jumped since its last
    look nor differs from the provider's by more than the estate allows, `disk` that its journal can be written,
    `pending` the bytes in its spool, `stopped` why people stopped it. `leads` is the store's word: it holds the lease.
    `commit` is the one that it holds, the last that Git offered it (empty: nobody can say). `store` says that the store
    answered each of its calls: it can reserve. `told_at` is when the signals were answered, where that was before `at`:
    the calls behind it may have taken long. `unseen` are nodes that stand, and that their scheduler, which answered,
    does not show; `half_shown` the names with which rows without an id are marked.
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
    hidden: frozenset[str] = frozenset()
    commit: str = ""
    store: bool = True
    told_at: int = 0
    rated: bool = True
    unseen: frozenset[str] = frozenset()
    half_shown: frozenset[str] = frozenset()


@quick
@dataclass(frozen=True, slots=True)
class Led:
    """A lease that was taken in the store, or `renewed` there by its holder under the same epoch."""

    at: int
    replica: str
    epoch: int
    renewed: bool = False


class NodeWord(enum.Enum):
    """What happens to a node, as it is and not as anybody heard of it. HEARD: a notice, or an agreed return, reached
    an agent that lives; TAKEN_BACK: a withdrawal did. VERIFIED, OVERRUN and WITHDRAWN end a drain.
    """

    JOINED = "joined"
    COVERED = "covered"
    UNCOVERED = "uncovered"
    HEARD = "heard"
    TAKEN_BACK = "taken_back"
    DRAINING = "draining"
    VERIFIED = "verified"
    OVERRUN = "overrun"
    WITHDRAWN = "withdrawn"
    LEFT = "left"


NEVER = "never-"
"""What the ids of servers begin with that an answer spoke of, and that never were."""

DRAIN_ENDS = frozenset({NodeWord.VERIFIED, NodeWord.OVERRUN, NodeWord.WITHDRAWN})


@quick
@dataclass(frozen=True, slots=True)
class Node:
    """One word about the node on a server. `ends_at` goes with HEARD (what it was told) and DRAINING (until when its
    agent drains), `notice` (the notice's id, or the ledger event that a return was asked for with) with HEARD and
    TAKEN_BACK.
    """

    at: int
    server: str
    name: str
    word: NodeWord
    ends_at: int = 0
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Moved:
    """A server that runs in another pool from now on; `pool` is empty where the provider does not say in which."""

    at: int
    server: str
    name: str
    pool: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The stop switch, thrown for a reason or (no reason) taken off."""

    at: int
    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A server that is gone: when, and why by the cloud's word. `noticed` is the notice that stood on it; `told` says
    that the stream of signals has the end.
    """

    at: int
    server: str
    name: str
    mark: Mark | None
    cause: EndCause
    noticed: Notice | None
    told: bool = True


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A commit that was merged at this time, whether or not a replica could read it; `approved` says that whoever may
    has approved what it and all before it remove. A commit that stands here twice was approved later.
    """

    at: int
    commit: str
    version: int
    estate: Estate
    approved: bool = False


@dataclass
class Chronicle:
    """Everything of one history, in order of time within each list; lists only grow.

    `events` holds what became durable in each replica's spool (a disk that is lost takes nothing away here) and, under
    "", what the world's nodes told themselves; `recorded` the world's own time of each of them, entry by entry (where
    it is absent, the event's own is believed). `wanted` are the changes of demand (at, workload, units). `given` is
    every notice and withdrawal that the provider's stream carries, with the time at which the cloud said it: one that
    the stream lost, or that somebody forged, does not stand here. `killed` the times at which a replica's process died
    and what stood on its disk after ("disk", "empty"). `reserved` are the totals of a day in the store after each
    change: (at, day, micro-units by authority and by workload). `reclaims` gains a reclaim when it opens and again when
    it widens. `room` says, after each cycle of a leader from `quiet_from` on and earlier where it is cheap, how many
    more instances each pool could take by its hosts and its project's quota (a pool without any may be left out).

    `accepted` are listings that a person accepted, with the names that they lacked; `breaches` what a replica found
    broken: (at, replica, why).

    `faults` is what was switched on. `quiet_from` is when the last fault is over; `end` when the history ends, and
    only then stand `invoice` and `known`, the ids of servers that the last leader remembers as not gone. `term_ms` and
    `call_ms` are the lease's term and the limit of one call (0: not judged), `spool_limit` the bytes of the spool at
    which growth stops (0: not judged).
    """

    faults: tuple[Fault, ...] = ()
    acts: list[Act] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    led: list[Led] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    reviewed: list[Reviewed] = field(default_factory=list)
    reclaims: list[tuple[int, Reclaim]] = field(default_factory=list)
    given: list[tuple[int, Notice]] = field(default_factory=list)
    wanted: list[tuple[int, str, int]] = field(default_factory=list)
    stops: list[Stopped] = field(default_factory=list)
    killed: list[tuple[int, str, str]] = field(default_factory=list)
    events: dict[str, list[Event]] = field(default_factory=dict)
    recorded: dict[str, list[int]] = field(default_factory=dict)
    reserved: list[tuple[int, str, Mapping[str, int]]] = field(default_factory=list)
    room: list[tuple[int, Mapping[str, int]]] = field(default_factory=list)
    accepted: list[tuple[int, frozenset[str]]] = field(default_factory=list)
    breaches: list[tuple[int, str, str]] = field(default_factory=list)
    invoice: tuple[InvoiceLine, ...] = ()
    known: frozenset[str] | None = None
    term_ms: int = 0
    call_ms: int = 0
    spool_limit: int = 0
    quiet_from: int = 0
    end: int = 0

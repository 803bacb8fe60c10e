"""What the reconciler asks of schedulers, nodes and its own surroundings, in its own words.

Declared here by their user; each has one fake beside the real adapters. Errors are those of `contracts.errors`: silence
is `Transient`, and an answer that is not proven complete says so itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, SupportsBytes

from contracts.frozen import quick
from ledger.events import Event
from repo_layout.model import Estate


@quick
@dataclass(frozen=True, slots=True)
class Demand:
    """One workload's whole present need in units, as its scheduler sees it: what is, never what once was asked for.

    `contradiction` says in a sentence what the scheduler's objects claim that its units do not bear out.
    """

    workload: str
    running: int
    starting: int
    pending: int
    contradiction: str = ""


@quick
@dataclass(frozen=True, slots=True)
class NodeView:
    """One of our instances as its scheduler and its agent show it.

    `covered`: enrolled, with a verified bundle and a live notice source. `drained` is the outcome its agent published,
    empty until then; `draining_until` the end of the drain that goes on there, whatever asked for it (0: none does),
    and `draining_for` the ledger event that it was asked with, where the node knows one. `server` is the provider's id
    of the server that it runs on, where its scheduler says so.
    """

    name: str
    joined_at: int
    busy_units: int
    covered: bool
    drained: str = ""
    draining_until: int = 0
    draining_for: str = ""
    server: str = ""


@dataclass(frozen=True, slots=True)
class SchedulerView:
    """What the schedulers of a partition say; a silent cluster's workloads are absent from `demands`.

    A view whose `as_of` is older than the guard's listing age counts as silence of all of them. That a node has drained
    for a notice is believed of one that is as new as the provider's answers of the same look (`eyes.behind`).
    """

    as_of: int
    demands: Mapping[str, Demand]
    nodes: Mapping[str, NodeView]
    silent_clusters: frozenset[str] = frozenset()


class Schedulers(Protocol):
    """The scheduler clusters of a partition."""

    def view(self) -> SchedulerView:
        """Demand and nodes now; a cluster that does not answer is named, never left out silently."""

    def remove_node(self, name: str) -> None:
        """Take a node that is gone out of its scheduler; `Gone` when it is not there."""


class Nodes(Protocol):
    """The agents, as far as the control plane may speak to them."""

    def ask_return(self, name: str, *, ends_at: int, cause_event: str) -> None:
        """Ask a node to drain by `ends_at`; repetition is harmless, a later word never extends an earlier deadline."""


class Recorder(Protocol):
    """The ledger's spool."""

    def record(self, events: Sequence[Event]) -> None:
        """Make the events durable before returning, all of them or none; never drops any."""

    def position(self) -> int:
        """Where the next batch would begin: it has grown by then if, and only if, a batch became durable."""

    def pending_bytes(self) -> int:
        """What nobody has taken further yet; the guard stops growth at a stated size of it."""


class Journal(Protocol):
    """The one small file of a reconciler's own: what it was about to do, and what it remembers."""

    def load(self) -> bytes | None:
        """What was saved last; None where nothing was. Raises `Refused` for one that is there and damaged."""

    def save(self, content: SupportsBytes) -> None:
        """Replace it, durable before returning; after an error the old one still stands, whole. `bytes(content)` is the
        same whenever it is asked for, and takes a while for a large region.
        """


@quick
@dataclass(frozen=True, slots=True)
class Versioned:
    """A value of the store and the revision that it has until it is replaced."""

    value: bytes
    revision: str


LARGEST_VALUE = 65_536
"""Bytes of one value of a store: far above what ours need, far below what any server takes."""


class Store(Protocol):
    """Small values that the replicas of a partition share: lease, reservations, accepted versions. Linearizable.

    A revision stands for one value at one time and never comes again, whatever was removed meanwhile.
    """

    def get(self, key: str) -> Versioned | None:
        """The value; None when there is none. Raises `Transient` for silence and `Refused` for a damaged value: neither
        says that there is none.
        """

    def put(self, key: str, value: bytes, *, expected: str) -> str:
        """Replace the value whose revision is `expected` ("": where there is none) and return the new revision.

        Raises `pools.provider.Conflict` when somebody else was faster, and `Refused` for more than `LARGEST_VALUE`
        bytes; after another `Transient` it may have happened, or may still happen.
        """


@dataclass(frozen=True, slots=True)
class Desired:
    """The last verified desired state: `trusted` while Git answers and what it offers is just that or newer.

    `version` is the accepted version of its bundle, 0 where it was read from reviewed files; `problem` says in a
    sentence why it is not trusted. `outdated`: another replica accepted a newer one, which this one cannot get.
    `came_with` is the commit with which each approval file came, by its key, as far as the history tells.
    """

    estate: Estate
    commit: str
    version: int = 0
    trusted: bool = True
    problem: str = ""
    outdated: bool = False
    came_with: Mapping[str, str] = field(default_factory=dict)


class DesiredState(Protocol):
    """Where the reviewed files come from."""

    def look(self) -> Desired:
        """The newest that holds, else the last that held, told as not trusted. Never raises once it held anything."""


class StopSwitch(Protocol):
    """The local stop, read before each action."""

    def reason(self) -> str:
        """Why everything is stopped; empty when it is not."""

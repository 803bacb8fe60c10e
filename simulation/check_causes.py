"""Causes (DESIGN 9, 14): following a chain of causes from any event leads to what began it, none hangs in the air."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.causes import Cause
from ledger.events import Event, EventType
from simulation.check_reading import Checker
from simulation.check_scene import LATE_MS, Scene

ROOTS = frozenset(
    {
        EventType.RATE_KNOWN,
        EventType.CLAIM_CHANGED,
        EventType.NOTICE_RECEIVED,
        EventType.SHORTFALL_BEGAN,
        EventType.POOL_EXCLUDED,
        EventType.POOL_PROBED,
        EventType.POOL_READMITTED,
        EventType.STORAGE_CHARGED,
        EventType.FOOTPRINT_CHARGED,
        EventType.GUARD_REFUSED,
        EventType.QUARANTINED,
        EventType.LEADER_BEGAN,
        EventType.BREAKER_TRIPPED,
        EventType.STOP_CHANGED,
        EventType.LISTING_ACCEPTED,
        EventType.REMOVAL_APPROVED,
        EventType.DAY_OPENED,
    }
)
"""What may begin a chain of causes: people's files and orders, their work, the provider's word and passing time."""


LAST_WORDS = frozenset({EventType.INSTANCE_LOST.value, EventType.INSTANCE_ENDED.value})
"""What nobody can tell of an instance that vanished, between two leaders, without a word."""


class Whole(Checker):
    """Every event names a cause that is in the ledger, or is of a type that may begin a chain; or it takes over a
    server that a reviewed file hands to us: that commit is where its chain begins. What a node tells so shortly before
    the end may be ahead of whoever tells why.
    """

    name = "check_causes.Whole"

    def __init__(self) -> None:
        self._missing: dict[str, list[str]] = {}

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """One link; a cause may be told a little later than what it led to, by somebody else."""
        self._missing.pop(event.id, None)
        if scene.events[event.id] is not event:
            return  # told again: the ledger has the first
        if event.caused_by and event.caused_by not in scene.events:
            self._missing.setdefault(event.caused_by, []).append(event.id)
        elif not event.caused_by and event.type not in ROOTS and not _handed_over(scene, event):
            yield f"{event.id} names no cause"

    def close(self, scene: Scene) -> Iterator[str]:
        """Links that hang in the air; a notice that reached a node and not the stream is told by nobody else."""
        streamed = scene.streamed
        for cause, ids in self._missing.items():
            kind, _, subject = cause.partition("/")
            name = subject.rpartition("/")[2]
            if kind == EventType.NOTICE_RECEIVED.value and cause not in streamed:
                continue
            if kind in LAST_WORDS and name in scene.unwitnessed:
                continue
            if all(_happened(scene.events[id_]) > scene.now - LATE_MS for id_ in ids):
                continue
            yield f"{', '.join(ids[:3])}: the cause {cause} is nowhere in the ledger"


def _happened(event: Event) -> int:
    """When what the event tells began."""
    return int(event.data.get("from_ms", event.occurred_at))


def _handed_over(scene: Scene, event: Event) -> bool:
    """Whether the event asks for a server that the estate of its commit adopts for that workload."""
    if event.type is not EventType.INSTANCE_REQUESTED or event.cause is not Cause.ADOPTION_REVIEWED:
        return False
    ground = scene.grounds.get(event.commit)
    files = ground.estate.adoptions if ground is not None else ()
    where = event.region, event.workload, event.pool
    return any((file.region, file.workload, file.pool) == where for file in files)

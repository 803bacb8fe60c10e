"""One envelope for everything that is recorded, and the catalogue of what can be.

Cores return events as values; the shell stamps them into the spool. The catalogue says which data each type carries, so
that the ledger's SQL and its Python twin read the same fields. Nothing here knows where events are stored.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from contracts.errors import Refused
from ledger.causes import Cause

SCHEMA_VERSION = 1

Datum = str | int
"""Money and rates travel as decimal text, times as milliseconds since the epoch, sizes as bytes."""


class EventType(enum.Enum):
    """Every kind of ledger line; the value is its stable name."""

    RATE_KNOWN = "rate.known"
    CLAIM_CHANGED = "claim.changed"
    INSTANCE_REQUESTED = "instance.requested"
    INSTANCE_FAILED = "instance.failed"
    INSTANCE_STARTED = "instance.started"
    INSTANCE_JOINED = "instance.joined"
    INSTANCE_ENDED = "instance.ended"
    RELEASE_ASKED = "release.asked"
    NOTICE_RECEIVED = "notice.received"
    NOTICE_WITHDRAWN = "notice.withdrawn"
    DRAIN_STARTED = "drain.started"
    DRAIN_ENDED = "drain.ended"
    INSTANCE_LOST = "instance.lost"
    USAGE = "usage.recorded"
    WORK_LOST = "work.lost"
    CHECKPOINT_WRITTEN = "checkpoint.written"
    RESTORED = "restore.done"
    STORAGE_CHARGED = "storage.charged"
    FOOTPRINT_CHARGED = "footprint.charged"
    FALLBACK_RESERVED = "fallback.reserved"
    FALLBACK_SPENT = "fallback.spent"
    FALLBACK_RETURNED = "fallback.returned"
    POOL_EXCLUDED = "pool.excluded"
    POOL_PROBED = "pool.probed"
    POOL_READMITTED = "pool.readmitted"
    GUARD_REFUSED = "guard.refused"
    SHORTFALL_BEGAN = "shortfall.began"
    SHORTFALL_ENDED = "shortfall.ended"
    QUARANTINED = "instance.quarantined"


class Paid(enum.Enum):
    """What an instance is paid as; each paid hour is exactly one of these."""

    RECLAIMABLE = "reclaimable"
    FLOOR = "floor"
    FALLBACK = "fallback"
    HEADROOM = "headroom"


class Use(enum.Enum):
    """What a unit slot of a paid instance did; `redone` is never recorded, it follows from `work.lost`."""

    SERVING = "serving"
    RESTARTING = "restarting"
    IDLE = "idle"
    DRAINING = "draining"


REQUIRED: Mapping[EventType, frozenset[str]] = {
    # per instance-hour, as decimal text; `guaranteed` is the guaranteed rate of the same flavor
    EventType.RATE_KNOWN: frozenset({"rate", "guaranteed", "currency", "effective_from"}),
    EventType.CLAIM_CHANGED: frozenset({"units"}),
    EventType.INSTANCE_REQUESTED: frozenset({"units", "paid"}),
    EventType.INSTANCE_FAILED: frozenset({"error"}),
    # billing starts and ends with these two, on the provider's time
    EventType.INSTANCE_STARTED: frozenset({"units", "paid"}),
    EventType.INSTANCE_JOINED: frozenset(),
    EventType.INSTANCE_ENDED: frozenset(),
    EventType.RELEASE_ASKED: frozenset(),
    EventType.NOTICE_RECEIVED: frozenset({"reclaim", "kind", "ends_at"}),
    EventType.NOTICE_WITHDRAWN: frozenset({"reclaim"}),
    EventType.DRAIN_STARTED: frozenset({"ends_at"}),
    EventType.DRAIN_ENDED: frozenset({"outcome"}),
    EventType.INSTANCE_LOST: frozenset({"noticed"}),
    # `units` slots of one instance were in state `use` from `from_ms` to `to_ms`; together the slots of an instance
    # cover its billed time exactly once
    EventType.USAGE: frozenset({"from_ms", "to_ms", "units", "of_units", "use", "paid"}),
    # work that was executed and has to be executed again: unit-milliseconds
    EventType.WORK_LOST: frozenset({"unit_ms"}),
    EventType.CHECKPOINT_WRITTEN: frozenset({"bytes"}),
    EventType.RESTORED: frozenset({"duration_ms"}),
    EventType.STORAGE_CHARGED: frozenset({"amount", "currency"}),
    EventType.FOOTPRINT_CHARGED: frozenset({"amount", "currency"}),
    EventType.FALLBACK_RESERVED: frozenset({"amount", "currency", "authority"}),
    EventType.FALLBACK_SPENT: frozenset({"amount", "currency", "authority"}),
    EventType.FALLBACK_RETURNED: frozenset({"authority"}),
    EventType.POOL_EXCLUDED: frozenset({"until"}),
    EventType.POOL_PROBED: frozenset(),
    EventType.POOL_READMITTED: frozenset(),
    EventType.GUARD_REFUSED: frozenset({"action"}),
    EventType.SHORTFALL_BEGAN: frozenset({"missing_units"}),
    EventType.SHORTFALL_ENDED: frozenset(),
    EventType.QUARANTINED: frozenset(),
}


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the ledger.

    `caused_by` is the id of the event before it in the chain of causes, empty at a chain's root; following it from a
    cost leads to the notice, claim or file that began it. `actor` is an id of the directory or a component, never a
    person's name. `occurred_at` and `recorded_at` are milliseconds since the epoch.
    """

    id: str
    occurred_at: int
    recorded_at: int
    type: EventType
    cause: Cause
    region: str
    caused_by: str = ""
    workload: str = ""
    pool: str = ""
    instance: str = ""
    commit: str = ""
    actor: str = ""
    epoch: int = 0
    data: Mapping[str, Datum] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse an event whose data lacks what its type promises."""
        missing = REQUIRED[self.type] - self.data.keys()
        if missing:
            raise Refused(f"event {self.id} of type {self.type.value} lacks {', '.join(sorted(missing))}")


def to_line(event: Event) -> bytes:
    """The event as one canonical JSON line (sorted keys, no spaces, UTF-8), without its newline."""
    document = {
        "v": SCHEMA_VERSION,
        "id": event.id,
        "occurred_at": event.occurred_at,
        "recorded_at": event.recorded_at,
        "type": event.type.value,
        "cause": event.cause.value,
        "caused_by": event.caused_by,
        "region": event.region,
        "workload": event.workload,
        "pool": event.pool,
        "instance": event.instance,
        "commit": event.commit,
        "actor": event.actor,
        "epoch": event.epoch,
        "data": dict(event.data),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def from_line(line: bytes) -> Event:
    """The event of one canonical line; raises `Refused` when it is not one of ours."""
    try:
        document = json.loads(line)
        version = document.pop("v")
        if version != SCHEMA_VERSION:
            raise Refused(f"event schema {version} is not {SCHEMA_VERSION}")
        document["type"] = EventType(document["type"])
        document["cause"] = Cause(document["cause"])
        return Event(**document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(f"not a ledger event: {line[:80]!r} ({error})") from None

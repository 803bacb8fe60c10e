"""One envelope for everything that is recorded, and the catalogue of what can be.

Cores return events as values; the shell stamps them into the spool. The catalogue says which data each type carries, so
that the ledger's SQL and its Python twin read the same fields. Nothing here knows where events are stored.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from contracts.errors import Refused
from contracts.frozen import quick
from ledger.causes import Cause
from ledger.money import is_amount

SCHEMA_VERSION = 1

Datum = str | int
"""Money and rates travel as decimal text, times as milliseconds since the epoch, sizes as bytes."""


class EventType(enum.Enum):
    """Every kind of ledger line; the value is its stable name."""

    __hash__ = object.__hash__  # a member is itself, and looked up in tables all day

    RATE_KNOWN = "rate.known"
    CLAIM_CHANGED = "claim.changed"
    INSTANCE_REQUESTED = "instance.requested"
    INSTANCE_FAILED = "instance.failed"
    INSTANCE_STARTED = "instance.started"
    INSTANCE_JOINED = "instance.joined"
    INSTANCE_MOVED = "instance.moved"
    INSTANCE_ENDED = "instance.ended"
    RELEASE_ASKED = "release.asked"
    NOTICE_RECEIVED = "notice.received"
    NOTICE_WITHDRAWN = "notice.withdrawn"
    DRAIN_STARTED = "drain.started"
    DRAIN_ENDED = "drain.ended"
    INSTANCE_LOST = "instance.lost"
    INSTANCE_FOUND = "instance.found"
    USAGE = "usage.recorded"
    WORK_LOST = "work.lost"
    RESTORED = "restore.done"
    STORAGE_CHARGED = "storage.charged"
    FOOTPRINT_CHARGED = "footprint.charged"
    FALLBACK_RESERVED = "fallback.reserved"
    FALLBACK_RETURNED = "fallback.returned"
    POOL_EXCLUDED = "pool.excluded"
    POOL_PROBED = "pool.probed"
    POOL_READMITTED = "pool.readmitted"
    GUARD_REFUSED = "guard.refused"
    SHORTFALL_BEGAN = "shortfall.began"
    SHORTFALL_ENDED = "shortfall.ended"
    QUARANTINED = "instance.quarantined"
    TWIN_REMOVED = "twin.removed"
    LEADER_BEGAN = "leader.began"
    BREAKER_TRIPPED = "breaker.tripped"
    BREAKER_CLEARED = "breaker.cleared"
    STOP_CHANGED = "stop.changed"
    LISTING_ACCEPTED = "listing.accepted"
    REMOVAL_APPROVED = "removal.approved"
    DAY_OPENED = "day.opened"


class Paid(enum.Enum):
    """What an instance is paid as; each paid hour is exactly one of these."""

    __hash__ = object.__hash__  # a member is itself, and looked up in tables all day

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
    # `takes_over` names the instance that it relieves, where there is one
    EventType.INSTANCE_REQUESTED: frozenset({"units", "paid"}),
    EventType.INSTANCE_FAILED: frozenset({"error"}),
    # billing starts and ends with these two, on the provider's time
    EventType.INSTANCE_STARTED: frozenset({"units", "paid"}),
    EventType.INSTANCE_JOINED: frozenset(),
    # from here on it is billed in the pool that the envelope names
    EventType.INSTANCE_MOVED: frozenset(),
    EventType.INSTANCE_ENDED: frozenset(),
    EventType.RELEASE_ASKED: frozenset(),
    EventType.NOTICE_RECEIVED: frozenset({"reclaim", "kind", "ends_at"}),
    EventType.NOTICE_WITHDRAWN: frozenset({"reclaim"}),
    EventType.DRAIN_STARTED: frozenset({"ends_at"}),
    EventType.DRAIN_ENDED: frozenset({"outcome"}),
    EventType.INSTANCE_LOST: frozenset({"noticed"}),
    # it was held to be gone and is there: the end of its bill at `to_ms` (0: none was told) was none
    EventType.INSTANCE_FOUND: frozenset({"to_ms"}),
    # `units` slots of one instance, from slot number `slot` on, were in state `use` from `from_ms` to `to_ms`; together
    # the slots 0 to `of_units` - 1 of an instance cover its billed time exactly once (`ledger.usage` lays them out)
    EventType.USAGE: frozenset({"from_ms", "to_ms", "slot", "units", "of_units", "use", "paid"}),
    # work that the instance had executed and that has to be executed again: unit-milliseconds, priced at the instance's
    # rates of that moment
    EventType.WORK_LOST: frozenset({"unit_ms"}),
    EventType.RESTORED: frozenset({"duration_ms"}),
    EventType.STORAGE_CHARGED: frozenset({"amount", "currency"}),
    EventType.FOOTPRINT_CHARGED: frozenset({"amount", "currency"}),
    EventType.FALLBACK_RESERVED: frozenset({"amount", "currency", "authority", "day"}),
    EventType.FALLBACK_RETURNED: frozenset({"authority"}),
    EventType.POOL_EXCLUDED: frozenset({"until"}),
    EventType.POOL_PROBED: frozenset(),
    EventType.POOL_READMITTED: frozenset(),
    EventType.GUARD_REFUSED: frozenset({"action"}),
    EventType.SHORTFALL_BEGAN: frozenset({"missing_units"}),
    EventType.SHORTFALL_ENDED: frozenset(),
    EventType.QUARANTINED: frozenset(),
    EventType.TWIN_REMOVED: frozenset({"server"}),
    EventType.LEADER_BEGAN: frozenset({"term"}),
    EventType.BREAKER_TRIPPED: frozenset({"breaker", "message"}),
    EventType.BREAKER_CLEARED: frozenset({"breaker", "for_ms"}),
    # what a person ordered beside the reviewed files: `who` is an id of the directory
    EventType.STOP_CHANGED: frozenset({"order", "who", "reason"}),
    EventType.LISTING_ACCEPTED: frozenset({"who", "until"}),
    EventType.DAY_OPENED: frozenset({"who", "day"}),
    EventType.REMOVAL_APPROVED: frozenset({"approver", "approval", "taken_units", "before_units"}),
}

SUBJECTS: Mapping[EventType, tuple[str, ...]] = {
    EventType.RATE_KNOWN: ("pool",),
    EventType.INSTANCE_REQUESTED: ("pool", "instance"),
    EventType.INSTANCE_STARTED: ("pool", "instance"),
    EventType.INSTANCE_MOVED: ("pool", "instance"),
    EventType.INSTANCE_ENDED: ("instance",),
    EventType.INSTANCE_FOUND: ("instance",),
    # the workload may be empty for headroom only, which nobody uses
    EventType.USAGE: ("pool", "instance"),
    EventType.WORK_LOST: ("workload", "pool", "instance"),
    EventType.STORAGE_CHARGED: ("workload",),
}
"""Which fields of the envelope a type cannot do without, because a figure is computed from them."""

WHOLE = frozenset(
    {"from_ms", "to_ms", "slot", "units", "of_units", "unit_ms", "effective_from", "ends_at", "until"}
    | {"duration_ms", "missing_units", "for_ms", "term", "taken_units", "before_units"}
    # on notices, drains, losses and usage of a drill, and there alone
    | {"drill"}
)
"""Data that are whole numbers, never below zero."""

MONEY = frozenset({"rate", "guaranteed", "amount"})
"""Data that are decimal text; only an amount may be below zero, as a correction."""


@quick
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
        """Refuse an event that lacks what its type promises, or holds a number that no sum could use exactly."""
        if not (self.id and self.data.keys() >= REQUIRED[self.type]):
            self._refuse_lacks()
        for name in SUBJECTS.get(self.type, ()):
            if not getattr(self, name):
                self._refuse_lacks()
        for name, value in self.data.items():
            if name in WHOLE:
                # bool is an int to Python, not to a reader of JSON
                fits = type(value) is int and 0 <= value <= _LARGEST
            else:
                fits = name not in MONEY or _money(name, value)
            if not fits:
                raise Refused(f"event {self.id!r} of type {self.type.value}: {name} cannot be {value!r}")
        if self.type is EventType.USAGE:
            self._check_usage()

    def _refuse_lacks(self) -> NoReturn:
        missing = sorted(REQUIRED[self.type] - self.data.keys())
        missing += [name for name in ("id", *SUBJECTS.get(self.type, ())) if not getattr(self, name)]
        raise Refused(f"event {self.id!r} of type {self.type.value} lacks {', '.join(missing)}")

    def _check_usage(self) -> None:
        """Refuse usage that is empty, leaves its instance, or that nobody would pay."""
        data = self.data
        start, end = int(data["from_ms"]), int(data["to_ms"])
        slot, units, of_units = int(data["slot"]), int(data["units"]), int(data["of_units"])
        paid, use = data["paid"], data["use"]
        if start >= end or units < 1 or slot + units > of_units:
            raise Refused(f"event {self.id!r}: {start}..{end} ms, slots {slot}+{units} of {of_units} is no usage")
        if paid not in _PAID or use not in _USE:
            raise Refused(f"event {self.id!r}: usage cannot be {use!r}, paid as {paid!r}")
        if not self.workload and paid != Paid.HEADROOM.value:
            raise Refused(f"event {self.id!r}: only headroom is used by no workload, this is paid as {paid!r}")


_PAID = frozenset(paid.value for paid in Paid)
_USE = frozenset(use.value for use in Use)
_LARGEST = 2**53
"""Whole numbers stay exact in every JSON reader below this; as milliseconds it is the year 287396."""


def _money(name: str, value: Datum) -> bool:
    return is_amount(value) and (name == "amount" or not str(value).startswith("-"))


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
    return _canonical(document).encode()


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


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

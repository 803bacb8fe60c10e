"""Ledger events whose ids follow from what they say, so that saying the same thing twice is one event.

After a crash, or with two leaders, the same notice, loss or request gets the same id again and the ledger keeps one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.frozen import quick
from ledger.causes import Cause
from ledger.events import Datum, Event, EventType
from pools.provider import seat_of

OF_LEADERS = frozenset(
    {
        EventType.LEADER_BEGAN,
        EventType.BREAKER_TRIPPED,
        EventType.BREAKER_CLEARED,
        EventType.LISTING_ACCEPTED,
        EventType.STOP_CHANGED,
        EventType.REMOVAL_APPROVED,
        EventType.DAY_OPENED,
        EventType.POOL_EXCLUDED,
        EventType.POOL_PROBED,
        EventType.POOL_READMITTED,
    }
)
"""What a leader says of itself or by its own judgement: the leaders of two partitions may each say it at one time."""


def event_id(type_: EventType, region: str, subject: str) -> str:
    """The id of the event that says `type_` of `subject` (an instance, a notice, a workload and time)."""
    return f"{type_.value}/{region}/{subject}"


@quick
@dataclass(frozen=True, slots=True)
class Scribe:
    """What all events of one cycle share."""

    region: str
    now: int
    commit: str
    epoch: int
    actor: str = "reconciler"
    partition: str = ""

    @property
    def seat(self) -> str:
        """Under which name instances of this partition are made."""
        return seat_of(self.region, self.partition)

    def id_of(self, type_: EventType, subject: str) -> str:
        """The id of the event that says `type_` of `subject`; what leaders say each for themselves names theirs."""
        return event_id(type_, self.seat if type_ in OF_LEADERS else self.region, subject)

    def event(
        self,
        type_: EventType,
        subject: str,
        cause: Cause,
        *,
        at: int | None = None,
        caused_by: str = "",
        workload: str = "",
        pool: str = "",
        instance: str = "",
        data: Mapping[str, Datum] | None = None,
    ) -> Event:
        """One event about `subject`, occurred at `at` (this cycle's time by default)."""
        return Event(
            id=self.id_of(type_, subject),
            occurred_at=self.now if at is None else at,
            recorded_at=self.now,
            type=type_,
            cause=cause,
            region=self.region,
            caused_by=caused_by,
            workload=workload,
            pool=pool,
            instance=instance,
            commit=self.commit,
            actor=self.actor,
            epoch=self.epoch,
            data=data or {},
        )

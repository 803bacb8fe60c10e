"""Ledger events whose ids follow from what they say, so that saying the same thing twice is one event.

After a crash, or with two leaders, the same notice, loss or request gets the same id again and the ledger keeps one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ledger.causes import Cause
from ledger.events import Datum, Event, EventType


def event_id(type_: EventType, region: str, subject: str) -> str:
    """The id of the event that says `type_` of `subject` (an instance, a notice, a workload and time)."""
    return f"{type_.value}/{region}/{subject}"


@dataclass(frozen=True, slots=True)
class Scribe:
    """What all events of one cycle share."""

    region: str
    now: int
    commit: str
    epoch: int
    actor: str = "reconciler"

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
            id=event_id(type_, self.region, subject),
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

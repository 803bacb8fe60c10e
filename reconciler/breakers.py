"""What stops the region now, told once when it begins and once when it is over; and what people ordered meanwhile.

Pure. Called by `cycle` once a cycle with what the guard sees. A standstill of hours is two events, not two a cycle, and
the first says what a person can do about it. An order (stop, resume, a listing that was accepted) is numbered by
whoever wrote it down, so that each is told once, also after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ledger.causes import Cause
from ledger.events import Event, EventType
from reconciler.drafts import Scribe

CALM_MS = 600_000
"""A breaker is over when it was not met for so long: an answer that fails every other time is one standstill."""

Standing = Mapping[str, tuple[int, int]]
"""Name of a breaker that is tripped -> since when, and when it was last met."""


@dataclass(frozen=True, slots=True)
class Breaker:
    """One thing that stops something now: `name` tells it from others of its cause."""

    name: str
    cause: Cause
    message: str


@dataclass(frozen=True, slots=True)
class Order:
    """What a person ordered: `what` is "stop", "resume" or "accept-listing"; `until` the time of the listing accepted.

    `number` counts the orders of one state directory from 1; `who` is an id of the directory; `at` is the time (ms) at
    which it was written down.
    """

    number: int
    at: int
    who: str
    what: str
    reason: str
    until: int = 0


def tell(now: Iterable[Breaker], before: Standing, scribe: Scribe) -> tuple[tuple[Event, ...], Standing]:
    """An event for each breaker that tripped and each that is over, and those that stand."""
    tripped = {breaker.name: breaker for breaker in now}
    events = []
    standing = {}
    for name, breaker in sorted(tripped.items()):
        standing[name] = before[name][0] if name in before else scribe.now, scribe.now
        if name not in before:
            events.append(
                scribe.event(
                    EventType.BREAKER_TRIPPED,
                    f"{name}/{scribe.now}",
                    breaker.cause,
                    data={"breaker": name, "message": breaker.message},
                )
            )
    for name, (since, last) in sorted(before.items()):
        if name in tripped:
            continue
        if 0 <= scribe.now - last < CALM_MS:
            standing[name] = since, last
        else:
            trip = scribe.id_of(EventType.BREAKER_TRIPPED, f"{name}/{since}")
            events.append(
                scribe.event(
                    EventType.BREAKER_CLEARED,
                    f"{name}/{since}",
                    Cause(name.partition("/")[0]),
                    caused_by=trip,
                    data={"breaker": name, "for_ms": max(0, last - since)},
                )
            )
    return tuple(events), standing


def told(orders: Iterable[Order], last: int, scribe: Scribe) -> tuple[tuple[Event, ...], int]:
    """An event for each order that was not told yet, and the number of the newest one told."""
    events = []
    for order in orders:
        if order.number <= last:
            continue
        subject = f"{order.number}/{order.at}"
        data: dict[str, str | int] = {"order": order.what, "who": order.who, "reason": order.reason}
        if order.what == "accept-listing":
            events.append(
                scribe.event(
                    EventType.LISTING_ACCEPTED,
                    subject,
                    Cause.IMPROBABLE_LOSS,
                    at=order.at,
                    data={**data, "until": order.until},
                )
            )
        else:
            events.append(scribe.event(EventType.STOP_CHANGED, subject, Cause.STOPPED, at=order.at, data=data))
        last = order.number
    return tuple(events), last

"""Fallback that is paid hour by hour, each purchase to an end of its own: what is due, renewed, kept and given back.

Pure; used by `arbiter`. Fallback that was bought later is paid for longer, and stays until its own money ends, whatever
becomes of what was bought before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

HOUR_MS = 3_600_000

RENEW_MS = 1_200_000
"""A paid hour is renewed so long before it ends: time for one more try before it has to be given back."""

RETURN_MS = 600_000
"""What cannot be renewed goes back so long before its hour ends: a cycle that comes late, the notice and a margin."""


@dataclass(frozen=True, slots=True)
class Hour:
    """Units that are paid `until` then, at this rate for a unit-hour; 0 where nobody remembers until when."""

    units: int
    until: int = 0
    rate_micro: int = 0


Hours = tuple[Hour, ...]
"""The fallback of one workload, the earliest end first."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """Hours after a renewal, and what it costs: `micro` in all, of it `late_micro` for time that is past already, and
    `unreserved_micro` of that time without money. `short`: something could not be renewed, now or for good.
    """

    hours: Hours
    micro: int = 0
    late_micro: int = 0
    unreserved_micro: int = 0
    short: bool = False


def joined(hours: Iterable[Hour]) -> Hours:
    """The same hours, those that end together as one."""
    units: dict[tuple[int, int], int] = defaultdict(int)
    for paid in hours:
        units[paid.until, paid.rate_micro] += paid.units
    return tuple(Hour(held, until, rate) for (until, rate), held in sorted(units.items()) if held > 0)


def units_of(hours: Iterable[Hour]) -> int:
    """All units that are granted."""
    return sum(paid.units for paid in hours)


def at_most(hours: Hours, units: int) -> Hours:
    """No more than so many units: those stay that are paid the longest."""
    kept = []
    for paid in reversed(hours):
        kept.append(replace(paid, units=min(paid.units, units)))
        units -= kept[-1].units
    return joined(kept)


def due(paid: Hour, now: int) -> bool:
    """Whether its next hour has to be paid for."""
    return now >= paid.until - RENEW_MS


def ending(paid: Hour, now: int) -> bool:
    """Whether it has to go back now where it cannot be renewed; what nobody remembers the end of need not yet."""
    return 0 < paid.until <= now + RETURN_MS


def renewed(hours: Hours, *, now: int, left_micro: int, rate_micro: int | None, lot: int) -> Renewal:
    """The hours that are due, each renewed from its own end as far as the money goes, in whole lots.

    What stood between the end of an hour and now is paid first: nobody led, or a cycle came late. Without a rate the
    last one holds. What cannot be renewed whole stays as it is until it has to go back.
    """
    after: list[Hour] = []
    spent = late_paid = unreserved = 0
    short = False
    for paid in hours:
        if not due(paid, now):
            after.append(paid)
            continue
        late = _late(paid, now)
        pays = min(left_micro - spent, late)
        each = rate_micro or paid.rate_micro
        units = min(paid.units, (left_micro - spent - pays) // (each * lot) * lot) if each else 0
        short = short or units < paid.units
        if units < paid.units and now < paid.until - RETURN_MS:
            after.append(paid)  # the approver, or another day, may still give what is missing
            continue
        spent += pays + units * each
        late_paid += pays
        unreserved += late - pays
        after.append(Hour(units, max(paid.until, now) + HOUR_MS, each))
    return Renewal(joined(after), spent, late_paid, unreserved, short)


def _late(paid: Hour, now: int) -> int:
    """What it cost since its hour was over, at its last rate and rounded up."""
    if not paid.until or now <= paid.until:
        return 0
    return -(-paid.units * paid.rate_micro * (now - paid.until) // HOUR_MS)

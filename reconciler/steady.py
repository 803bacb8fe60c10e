"""Whose time a cycle decides by: the clock's while it is believed, and the last believed one while it is not.

Called by `cycle` before anything is judged. A wait that is counted by a wall clock (a join time-out, a shrinking claim,
a shortfall, a quiet hour, a back-off) must not end because the clock was set, nor begin at a time that never comes. So
time stands still while nobody can tell it, and nothing in memory lies ahead of it once it goes on. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reconciler.paid_hours import HOUR_MS, RENEW_MS

if TYPE_CHECKING:
    from reconciler.cycle import Memory, Seen


def steadied(memory: Memory, seen: Seen, doubt: str) -> tuple[Memory, Seen]:
    """What to decide from: `doubt` says why the clock is not believed now, empty while it is.

    Each cycle in doubt is one millisecond after the one before, so that no two write the same event. When the doubt is
    over, the guard's window moves with the clock by all that it was set meanwhile, and is never shorter for it.
    """
    last = memory.guard.judged_at
    if doubt and last:
        return memory, replace(seen, now=last + 1, leap_ms=0)
    if memory.guard.doubted and not doubt:
        seen = replace(seen, leap_ms=seen.now - last)
    return (not_ahead(memory, seen.now), seen) if last > seen.now else (memory, seen)


def not_ahead(memory: Memory, now: int) -> Memory:
    """The memory with no wait that begins after `now`, as one would that was written under a clock that ran ahead."""
    instances = {
        name: replace(one, requested_at=min(one.requested_at, now), left_at=min(one.left_at, now))
        for name, one in memory.fleet.instances.items()
    }
    return replace(
        memory,
        fleet=replace(memory.fleet, instances=instances, answered_until=min(memory.fleet.answered_until, now)),
        claims={name: replace(one, lower_since=min(one.lower_since, now)) for name, one in memory.claims.items()},
        risks={
            name: replace(
                one,
                short_since=min(one.short_since, now),
                healthy_since=min(one.healthy_since, now),
                hours=tuple(replace(paid, until=min(paid.until, now + HOUR_MS + RENEW_MS)) for paid in one.hours),
            )
            for name, one in memory.risks.items()
        },
        refusals={key: min(at, now) for key, at in memory.refusals.items()},
    )

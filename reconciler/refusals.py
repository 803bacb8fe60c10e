"""What the guard refused, told to the ledger: once for each workload and cause, not once a cycle.

Called by `cycle` once a cycle. A limit that stands for hours refuses the same steps again and again; the ledger gets
the first of them, and another one only when the same cause comes back after a quiet hour. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from ledger.causes import Cause
from ledger.events import Event, EventType
from reconciler.drafts import Scribe
from reconciler.steps import ADDS, Refusal

QUIET_MS = 3_600_000
"""A cause that was not given for so long is news when it is given again; shorter gaps are the same standstill."""

TOLD_AS_ONE = frozenset(
    {Cause.STOPPED, Cause.LEASE_LOST, Cause.CLOCK_JUMPED, Cause.LISTING_STALE, Cause.IMPROBABLE_LOSS}
)
"""What stops the whole region is one event of its breaker (`breakers`), not one for each workload."""

Given = Mapping[tuple[str, Cause], int]
"""Workload and cause of a refusal -> when it was last given."""


def tell(refused: Iterable[Refusal], given: Given, scribe: Scribe) -> tuple[tuple[Event, ...], Given]:
    """An event for each workload and cause that is news, and what has been given up to now."""
    together: dict[tuple[str, Cause], list[Refusal]] = defaultdict(list)
    for refusal in refused:
        if refusal.cause in TOLD_AS_ONE:
            continue
        together[refusal.step.workload, refusal.cause].append(refusal)
    standing = {key: at for key, at in given.items() if 0 <= scribe.now - at < QUIET_MS}
    events = tuple(_event(key, alike, scribe) for key, alike in together.items() if key not in standing)
    return events, {**standing, **dict.fromkeys(together, scribe.now)}


def _event(key: tuple[str, Cause], alike: list[Refusal], scribe: Scribe) -> Event:
    workload, cause = key
    first = alike[0].step
    return scribe.event(
        EventType.GUARD_REFUSED,
        f"{workload}/{cause.value}/{scribe.now}",
        cause,
        caused_by=first.cause_event,
        workload=workload,
        pool=first.pool,
        # what was to be added has a name, but never existed
        instance="" if first.kind in ADDS else first.instance,
        data={"action": first.kind.value, "steps": len(alike), "message": alike[0].message},
    )

"""The two events between which an instance is paid for.

Called by `census` and by the loop, always with the provider's time where it told one.
"""

from __future__ import annotations

from ledger.events import Event, EventType
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance


def started(instance: Instance, *, pool: str, at: int, scribe: Scribe) -> Event:
    """Billing of the instance begins at `at`."""
    return scribe.event(
        EventType.INSTANCE_STARTED,
        instance.name,
        instance.cause,
        at=at,
        caused_by=event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
        workload=instance.workload,
        pool=pool,
        instance=instance.name,
        data={"units": instance.units, "paid": instance.paid.value},
    )


def ended(instance: Instance, *, at: int, scribe: Scribe) -> Event:
    """Billing of the instance ends at `at`."""
    return scribe.event(
        EventType.INSTANCE_ENDED,
        instance.name,
        instance.cause,
        at=at,
        caused_by=instance.cause_event,
        workload=instance.workload,
        pool=instance.pool,
        instance=instance.name,
    )

"""A drill travels the path of a real notice and is marked on everything that it costs."""

from __future__ import annotations

from functools import cache

from ledger.events import Event, EventType
from pools.provider import NoticeKind
from reconciler.desired import partition
from simulation.cloud_model import CloudParameters, TenantParameters, Wave
from simulation.policies import ours
from simulation.world import Setting, World
from tests.reconciler.builders import ESTATE, MINUTE, REGION, START, estate
from tests.simulation.small_region import LARGER, Ledger

DRILL_AT = START + 80 * MINUTE


@cache
def drilled() -> tuple[Event, ...]:
    """Two hours of the small region with one drill of two instances and nothing else."""
    made = estate(*LARGER)
    setting = Setting(
        estate=made,
        region=REGION,
        start=START,
        days=2 / 24,
        seed=3,
        cloud=CloudParameters(estate=ESTATE, tenants=TenantParameters(load=0.1, batch_mean=1.0), without_notice=0.0),
        waves=(
            Wave(DRILL_AT, "h2-general-a", DRILL_AT + 10 * MINUTE, count=2, kind=NoticeKind.DRILL, reclaim="drill-1"),
        ),
    )
    ledger = Ledger()
    World(setting, ours(partition(made, REGION)), ledger).run()
    return tuple(ledger.events)


def of(type_: EventType) -> list[Event]:
    return [event for event in drilled() if event.type is type_]


def test_notices_drains_losses_and_draining_time_of_a_drill_are_marked() -> None:
    names = {event.instance for event in of(EventType.NOTICE_RECEIVED) if event.data["kind"] == "drill"}
    assert len(names) == 2
    for type_ in (EventType.NOTICE_RECEIVED, EventType.DRAIN_STARTED, EventType.DRAIN_ENDED):
        marked = {event.instance for event in of(type_) if event.data.get("drill")}
        assert marked == names
    draining = [e for e in of(EventType.USAGE) if e.data["use"] == "draining" and e.instance in names]
    assert draining
    assert all(event.data.get("drill") for event in draining)


def test_nothing_else_is_marked() -> None:
    names = {event.instance for event in of(EventType.NOTICE_RECEIVED) if event.data.get("drill")}
    assert {event.instance for event in drilled() if event.data.get("drill")} == names
    assert not [e for e in of(EventType.USAGE) if e.data.get("drill") and e.data["use"] != "draining"]

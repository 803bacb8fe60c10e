"""The same small region where servers migrate and the provider's stream of signals falls silent for most of each hour.

The listing goes on, so that work goes on; the ledger has to end up with the provider's own bill all the same.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache

from ledger.events import EventType
from ledger.money import NANOS
from ledger.net_saving import invoice, net_saving
from ledger.reports import Period, summed
from pools.script import Outage
from simulation.cloud_model import CloudParameters, TenantParameters
from simulation.world import World
from tests.reconciler.builders import ESTATE, HOUR, MINUTE, REGION, START, estate
from tests.simulation.from_ledger import broken, chronicle
from tests.simulation.small_region import END, HOURS, LARGER, Ledger, small_world


@cache
def silent() -> tuple[World, Ledger]:
    cloud = CloudParameters(
        estate=ESTATE,
        tenants=TenantParameters(load=0.25, batch_mean=1.0),
        without_notice=0.2,
        withdrawn=0.2,
        silent_losses_per_day=24,
        boot_failures=0.05,
        moves_per_day=60,
    )
    world, ledger = small_world(cloud, seed=5)
    script = world.cloud.state.script
    for hour in range(HOURS):
        begins = START + hour * HOUR + 5 * MINUTE
        script.outages.append(Outage(begins, begins + 40 * MINUTE, frozenset({"signals"})))
    world.run()
    return world, ledger


def test_there_were_moves_losses_and_silence() -> None:
    world, ledger = silent()
    assert {EventType.INSTANCE_MOVED, EventType.INSTANCE_LOST} <= {event.type for event in ledger.events}
    assert world.run_result.refusals["signals_silent"]


def test_the_bill_is_the_providers_own_to_the_last_digit() -> None:
    world, ledger = silent()
    period = Period(START, END)
    ours_ = {line.instance: Decimal(line.ticks) for line in invoice(ledger.events, period)}
    theirs = {line.name: line.owed_ms * NANOS for line in world.cloud.invoice() if line.owed_ms}
    assert ours_ == theirs
    assert summed(net_saving(ledger.events, period)).paid == sum(ours_.values())


def test_nothing_that_follows_from_the_ledger_alone_is_broken() -> None:
    world, ledger = silent()
    _, _, lifecycle = world.cloud.state.log.since("")
    told = chronicle(ledger.events, estate(*LARGER), REGION, end=END, stream=lifecycle)
    assert broken(told, REGION, world.cloud.invoice()) == []

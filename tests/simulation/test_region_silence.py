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
from reconciler.desired import partition
from simulation.cloud_model import CloudParameters, TenantParameters
from simulation.policies import ours
from simulation.world import Setting, World
from tests.reconciler.builders import ESTATE, HOUR, MINUTE, REGION, START, estate
from tests.simulation.checkers import causes_missing, losses_open
from tests.simulation.test_region_day import HOURS, LARGER, Ledger, waves

END = START + HOURS * HOUR


@cache
def silent() -> tuple[World, Ledger]:
    made = estate(*LARGER)
    setting = Setting(
        estate=made,
        region=REGION,
        start=START,
        counts_from=START,
        days=HOURS / 24,
        seed=5,
        cloud=CloudParameters(
            estate=ESTATE,
            tenants=TenantParameters(load=0.25, batch_mean=1.0),
            without_notice=0.2,
            withdrawn=0.2,
            silent_losses_per_day=24,
            boot_failures=0.05,
            moves_per_day=60,
        ),
        waves=waves(),
    )
    ledger = Ledger()
    world = World(setting, ours(partition(made, REGION)), ledger)
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


def test_every_cause_is_in_the_ledger_and_every_loss_ends_its_bill() -> None:
    _, ledger = silent()
    assert not causes_missing(ledger.events)
    assert not losses_open(ledger.events)

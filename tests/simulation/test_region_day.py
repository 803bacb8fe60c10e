"""Four simulated hours of a small region with waves, losses without notice, failed boots and withdrawn notices.

What is promised is checked by code that shares nothing with the planner, the guard or the ledger's arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

import pytest

from ledger.events import Event, EventType, to_line
from ledger.money import NANOS
from ledger.net_saving import invoice, net_saving
from ledger.reports import Period, summed
from pools.provider import Mark
from simulation.check_reading import Broken
from simulation.cloud_model import CloudParameters, EndCause, TenantParameters
from simulation.cloud_state import admit
from simulation.world import Run
from tests.reconciler.builders import ESTATE, FORECAST, POOL, PROJECT, REGION, START, estate
from tests.simulation.from_ledger import broken, chronicle, names
from tests.simulation.small_region import END, LARGER, small_world

FOREIGN = ("bare", "of-another-estate", "of-another-region")


@dataclass(frozen=True)
class History:
    run: Run
    events: tuple[Event, ...]


def live(seed: int) -> History:
    cloud = CloudParameters(
        estate=ESTATE,
        tenants=TenantParameters(load=0.25, batch_mean=1.0),
        without_notice=0.1,
        withdrawn=0.15,
        advised=0.3,
        silent_losses_per_day=12,
        boot_failures=0.03,
        rate_changes_per_day=8,
    )
    world, ledger = small_world(cloud, seed=seed)
    state = world.cloud.state
    marks = (
        None,
        Mark("elsewhere", REGION, "x", 9, FORECAST, 1, "floor"),
        Mark(ESTATE, "south", "y", 9, FORECAST, 1, "floor"),
    )
    for name, mark in zip(FOREIGN, marks, strict=True):
        admit(state, pool=state.pools[POOL], project=PROJECT, name=name, mark=mark, boot=None)
    return History(world.run(), tuple(ledger.events))


@cache
def history(seed: int) -> History:
    return live(seed)


@pytest.fixture(params=[1, 2, 3], ids=lambda seed: f"seed {seed}")
def told(request: pytest.FixtureRequest) -> History:
    return history(request.param)


def test_the_hours_are_not_quiet(told: History) -> None:
    kinds = {event.type for event in told.events}
    expected = {
        EventType.NOTICE_RECEIVED,
        EventType.NOTICE_WITHDRAWN,
        EventType.INSTANCE_LOST,
        EventType.INSTANCE_FAILED,
        EventType.RELEASE_ASKED,
        EventType.DRAIN_ENDED,
        EventType.WORK_LOST,
    }
    assert expected <= kinds
    assert sum(event.type is EventType.INSTANCE_REQUESTED for event in told.events) > 120


def judged(events: Sequence[Event], run: Run) -> list[Broken]:
    _, _, lifecycle = run.cloud.state.log.since("")
    told = chronicle(events, estate(*LARGER), REGION, end=END, stream=lifecycle)
    return broken(told, REGION, run.cloud.invoice())


def test_bounds_floors_owners_causes_debts_and_money_are_as_promised(told: History) -> None:
    assert judged(told.events, told.run) == []


def test_nothing_foreign_is_ever_deleted(told: History) -> None:
    _, _, lifecycle = told.run.cloud.state.log.since("")
    deleted = {said.name for said in lifecycle if said.reason == EndCause.DELETED.value}
    assert deleted
    assert not deleted & {*FOREIGN}
    assert not {event.instance for event in told.events} & {*FOREIGN, "x", "y"}


def test_the_terms_of_the_net_saving_sum_to_the_invoice(told: History) -> None:
    period = Period(START, END)
    lines = invoice(told.events, period)
    assert all(line.priced_ms == line.billed_ms for line in lines)
    assert summed(net_saving(told.events, period)).paid == sum(line.ticks for line in lines)


def test_our_invoice_is_the_clouds_own_to_the_last_digit(told: History) -> None:
    ours_ = {line.instance: line.ticks for line in invoice(told.events, Period(START, END))}
    theirs = {
        line.name: line.owed_ms * NANOS
        for line in told.run.cloud.invoice()
        if line.name not in FOREIGN and line.owed_ms
    }
    assert {name: Decimal(ticks) for name, ticks in ours_.items()} == theirs


def test_the_same_seed_tells_the_same_history_byte_for_byte() -> None:
    again = live(1)
    assert [to_line(event) for event in again.events] == [to_line(event) for event in history(1).events]


def test_another_seed_tells_another_history() -> None:
    assert history(1).events != history(2).events


# -- the checkers find what they look for -----------------------------------------------------------------------------


def test_the_checkers_find_an_excess_a_stranger_a_broken_chain_and_a_second_purchase() -> None:
    told = history(1)
    events = list(told.events)

    def found(*more: Event) -> set[str]:
        return names(judged([*events, *more], told.run))

    request = next(
        e for e in reversed(events) if e.type is EventType.INSTANCE_REQUESTED and e.data["paid"] == "reclaimable"
    )
    many = [replace(request, id=f"{request.id}/{n}", instance=f"more-{n}") for n in range(40)]
    assert "check_bounds.Placements" in found(*many)
    assert "check_owners.Mixed" in found(replace(request, id="again"))
    joined = replace(request, id="again", type=EventType.INSTANCE_JOINED, workload="hindcast")
    assert "check_owners.Mixed" in found(replace(joined, workload=joined.workload + "-of-another"))
    assert "check_causes.Whole" in found(replace(request, id="again", caused_by="nothing"))
    assert "check_causes.Whole" in found(replace(request, id="again", caused_by=""))
    floor = replace(request, id="again", instance="one-more", data={**request.data, "paid": "floor"})
    assert "check_floors.Committed" in found(floor)
    paid = [e for e in events if e.type is EventType.INSTANCE_REQUESTED and e.caused_by.startswith("notice.")]
    failed = {e.instance for e in events if e.type is EventType.INSTANCE_FAILED}
    kept = next(e for e in paid if e.instance not in failed)
    assert "check_debts.PaidOnce" in found(replace(kept, id="again", instance="second"))
    open_bills = [e for e in events if e.type is not EventType.INSTANCE_ENDED]
    assert "check_money.Invoice" in names(judged(open_bills, told.run))

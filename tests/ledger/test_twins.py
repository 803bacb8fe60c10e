"""The SQL and its plain Python twin say the same to the last digit, and the terms are the invoice."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.adapters.clickhouse import ClickHouseLedger
from ledger.causes import Cause
from ledger.events import Datum, Event, EventType, Paid, Use
from ledger.money import TICKS
from ledger.net_saving import invoice, net_saving
from ledger.reports import Period, summed
from ledger.usage import slots
from tests.ledger.histories import HORIZON, HOUR, Subject, Writer, histories, write_rate

# the fixture is shared by the examples on purpose: each empties it first
SHARED = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def periods(draw: st.DrawFn) -> Period:
    start = draw(st.integers(0, HORIZON - 1))
    known_by = draw(st.sampled_from([2**62, HORIZON // 2]))
    return Period(start, draw(st.integers(start + 1, HORIZON)), known_by)


WHOLE = Period(0, HORIZON)


def filled(ledger: ClickHouseLedger, events: list[Event]) -> ClickHouseLedger:
    ledger._engine.run("TRUNCATE TABLE events")
    ledger.append(events)
    return ledger


@SHARED
@given(events=histories(), period=periods(), seed=st.integers(0, 9))
def test_sql_and_twin_agree_to_the_last_digit(
    ledger: ClickHouseLedger, events: list[Event], period: Period, seed: int
) -> None:
    arrived = [*events, *events[::3]]
    random.Random(seed).shuffle(arrived)
    filled(ledger, arrived)
    assert ledger.savings(period) == net_saving(events, period)
    assert ledger.invoice(period) == invoice(events, period)


@SHARED
@given(events=histories(), period=periods())
def test_terms_sum_to_the_invoice_exactly(ledger: ClickHouseLedger, events: list[Event], period: Period) -> None:
    # all is known: half of a history may lack an end that its usage already knows
    whole = Period(period.from_ms, period.to_ms)
    found = filled(ledger, events).reconcile_invoice(whole)
    assert found.difference == 0
    assert found.consistent, found


def test_a_moved_server_is_billed_in_each_pool_for_the_time_it_stood_there(ledger: ClickHouseLedger) -> None:
    writer = Writer()
    here, there = Subject("north", "train", "hall-a", "i-1"), Subject("north", "train", "hall-b", "i-1")
    write_rate(writer, "hall-a", "0.5", "1")
    write_rate(writer, "hall-b", "0.2", "1")
    started: dict[str, Datum] = {"units": 1, "paid": "reclaimable"}
    root = writer.write(EventType.INSTANCE_STARTED, 0, started, on=here)
    writer.write(EventType.INSTANCE_MOVED, HOUR, cause=Cause.MIGRATED, on=there, caused_by=root)
    for on, begin, end in ((here, 0, HOUR), (there, HOUR, 4 * HOUR)):
        for run in slots(1, [(Use.SERVING, 1)]):
            data = run.data(of_units=1, paid=Paid.RECLAIMABLE, from_ms=begin, to_ms=end)
            writer.write(EventType.USAGE, end, data, on=on, caused_by=root)
    writer.write(EventType.INSTANCE_ENDED, 4 * HOUR, cause=Cause.DRAINED, on=there)
    (line,) = invoice(writer.events, WHOLE)
    assert line.ticks == 11 * TICKS // 10  # an hour at 0.5 and three at 0.2
    assert filled(ledger, writer.events).invoice(WHOLE) == (line,)
    assert ledger.reconcile_invoice(WHOLE).consistent


@pytest.mark.parametrize(
    ("found", "ended", "hours"),
    [(0, 0, 2), (1, 0, 2), (3, 0, 5), (3, 4, 4), (0, 3, 3)],
    ids=["lost", "found before", "found after", "found, and ended", "the provider's word"],
)
def test_a_bill_that_nobody_ended_ends_with_its_last_loss(
    ledger: ClickHouseLedger, found: int, ended: int, hours: int
) -> None:
    writer = Writer()
    here = Subject("north", "train", "hall-a", "i-1")
    write_rate(writer, "hall-a", "0.5", "1")
    started: dict[str, Datum] = {"units": 1, "paid": "reclaimable"}
    root = writer.write(EventType.INSTANCE_STARTED, 0, started, on=here)
    writer.write(EventType.INSTANCE_LOST, 2 * HOUR, {"noticed": 0}, cause=Cause.LOST_WITHOUT_NOTICE, on=here)
    if found:
        writer.write(EventType.INSTANCE_FOUND, found * HOUR, {"to_ms": 2 * HOUR}, cause=Cause.FOUND_AGAIN, on=here)
    if ended:
        writer.write(EventType.INSTANCE_ENDED, ended * HOUR, on=here, caused_by=root)
    (line,) = invoice(writer.events, WHOLE)
    assert line.billed_ms == hours * HOUR
    assert filled(ledger, writer.events).invoice(WHOLE) == (line,)


@settings(max_examples=60, deadline=None)
@given(events=histories(), cut=st.integers(1, HORIZON - 1))
def test_two_halves_of_a_period_add_up_to_the_whole(events: list[Event], cut: int) -> None:
    halves = [*net_saving(events, Period(0, cut)), *net_saving(events, Period(cut, HORIZON))]
    assert summed(halves) == summed(net_saving(events, WHOLE))


@settings(max_examples=60, deadline=None)
@given(events=histories())
def test_the_two_cuts_of_the_payments_are_the_invoice(events: list[Event]) -> None:
    total = summed(net_saving(events, WHOLE))
    charged = sum(line.ticks for line in invoice(events, WHOLE))
    assert total.paid == total.useful_paid + total.wasted_paid == charged
    assert total.paid_ns == sum(line.billed_ms for line in invoice(events, WHOLE)) * 1_000_000


@SHARED
@given(events=histories())
def test_waste_is_a_breakdown_of_the_payments_and_shares_agree(ledger: ClickHouseLedger, events: list[Event]) -> None:
    rows = filled(ledger, events).savings(WHOLE)
    waste = ledger.waste(WHOLE)
    assert sum(row.paid for row in waste if row.kind == "redone") == sum(row.redone_paid for row in rows)
    # headroom that nobody uses is shared out as idle, whatever it was doing
    for kind in ("restarting", "draining"):
        mine = sum(row.paid for row in waste if row.kind == kind and row.workload)
        assert mine == sum(getattr(row, f"{kind}_paid") for row in rows)
    assert sum(paid for _, paid in ledger.waste_by_root(WHOLE)) == sum(row.paid for row in waste)
    stated = [row["share_ppm"] for row in ledger._engine.report("net_saving", WHOLE)]
    assert stated == [row.share_ppm for row in rows]

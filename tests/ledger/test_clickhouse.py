"""The store: once in effect whatever arrives, closed periods that never change, numbers that open to their events."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from contracts.errors import Breach, Refused
from ledger.adapters.clickhouse import COLUMNS, ClickHouseLedger, embedded
from ledger.adapters.engine import assembled
from ledger.events import Event, EventType, Paid, Use, to_line
from ledger.money import TICKS
from ledger.reports import NetSaving, Period, adjustments, local_day
from ledger.usage import slots
from tests.ledger.histories import HOUR, TRAIN, Writer, one_lost_instance, write_rate

TEN_HOURS = Period(0, 10 * HOUR)


def raw(ledger: ClickHouseLedger, events: list[Event]) -> None:
    """Past the check for repetition, as two writers at once would."""
    ledger._engine.insert("events", COLUMNS, [to_line(event) for event in events])


def reports(ledger: ClickHouseLedger) -> tuple[object, ...]:
    return (
        ledger.savings(TEN_HOURS),
        ledger.waste(TEN_HOURS),
        ledger.waste_by_root(TEN_HOURS),
        ledger.invoice(TEN_HOURS),
        ledger.reconcile_invoice(TEN_HOURS),
        ledger.history.pool_history("hall-a", TEN_HOURS),
        ledger.history.events_of_instance("i-1"),
    )


def test_a_repeated_or_overlapping_batch_is_stored_once(ledger: ClickHouseLedger) -> None:
    events = one_lost_instance().events
    assert ledger.append(events[:6]).new == 6
    again = ledger.append(events)
    assert (again.new, again.repeated, again.conflicts) == (len(events) - 6, 6, ())
    assert ledger.append([*events, *events]).new == 0
    assert ledger.history.events(event.id for event in events) == tuple(
        sorted(events, key=lambda event: (event.occurred_at, event.id))
    )


def test_an_id_that_comes_back_with_other_content_is_reported_and_the_first_stands(ledger: ClickHouseLedger) -> None:
    events = one_lost_instance().events
    ledger.append(events)
    before = reports(ledger)
    usage = next(event for event in events if event.type is EventType.USAGE)
    changed = Event(
        id=usage.id,
        occurred_at=usage.occurred_at - 31 * 24 * HOUR,
        recorded_at=usage.recorded_at,
        type=usage.type,
        cause=usage.cause,
        region=usage.region,
        workload="another",
        pool=usage.pool,
        instance=usage.instance,
        data=usage.data,
    )
    assert ledger.append([changed]).conflicts == (usage.id,)
    assert reports(ledger) == before
    ledger._engine.run("TRUNCATE TABLE events")
    assert ledger.append([changed, *events]).conflicts == (usage.id,)
    either = reports(ledger)
    ledger._engine.run("TRUNCATE TABLE events")
    assert ledger.append([*events, changed]).conflicts == (usage.id,)
    assert reports(ledger) == either


def test_every_report_is_the_same_before_and_after_merges(ledger: ClickHouseLedger) -> None:
    # two writers, the second with another date, workload and time for the same id, as a mutable key would spread them
    events = one_lost_instance().events
    usage = next(event for event in events if event.type is EventType.USAGE)
    moved = Event(
        id=usage.id,
        occurred_at=usage.occurred_at + 31 * 24 * HOUR,
        recorded_at=usage.recorded_at,
        type=usage.type,
        cause=usage.cause,
        region=usage.region,
        workload="another",
        pool=usage.pool,
        instance=usage.instance,
        data=usage.data,
    )
    ledger._engine.run("SYSTEM STOP MERGES")
    raw(ledger, events)
    raw(ledger, [*events, moved])
    before = reports(ledger)
    ledger._engine.run("SYSTEM START MERGES")
    ledger._engine.run("OPTIMIZE TABLE events FINAL")
    assert reports(ledger) == before
    counted = ledger._engine.query("SELECT count() AS n FROM events", {})
    assert counted[0]["n"] == len(events)


def test_a_closed_period_reprints_identically_after_late_events(ledger: ClickHouseLedger) -> None:
    writer = one_lost_instance()
    ledger.append(writer.events)
    closed = Period(0, 10 * HOUR, known_by=10 * HOUR)
    before = ledger.savings(closed), ledger.invoice(closed), ledger.waste(closed)
    late = Writer(list(writer.events))
    write_rate(late, "hall-a", "0.1", "2", effective_from=HOUR, at=HOUR, known=11 * HOUR)
    late.write(EventType.STORAGE_CHARGED, HOUR, {"amount": "7", "currency": "EUR"}, on=TRAIN, recorded_at=11 * HOUR)
    ledger.append(late.events)
    assert (ledger.savings(closed), ledger.invoice(closed), ledger.waste(closed)) == before
    changed = adjustments(before[0], ledger.savings(TEN_HOURS))
    assert [(row.storage, row.reclaimable_paid) for row in changed] == [(7 * TICKS, -12 * TICKS // 10)]
    assert adjustments(before[0], ledger.savings(closed)) == ()


def test_events_in_two_currencies_are_refused_rather_than_added(ledger: ClickHouseLedger) -> None:
    writer = one_lost_instance()
    writer.write(EventType.STORAGE_CHARGED, HOUR, {"amount": "7", "currency": "SEK"}, on=TRAIN)
    ledger.append(writer.events)
    with pytest.raises(Refused, match="EUR, SEK"):
        ledger.savings(TEN_HOURS)


def test_the_reports_of_an_empty_ledger_are_empty_and_consistent(ledger: ClickHouseLedger) -> None:
    assert [*ledger.savings(TEN_HOURS), *ledger.waste(TEN_HOURS), *ledger.invoice(TEN_HOURS)] == []
    assert ledger.reconcile_invoice(TEN_HOURS).consistent
    assert ledger.currency(TEN_HOURS) == ""


@pytest.mark.parametrize(
    ("paid", "rate", "guaranteed", "share"),
    [
        (Paid.RECLAIMABLE, "0", "10.000000000", 1_000_000),
        (Paid.RECLAIMABLE, "10.000000000", "10.000000000", 0),
        (Paid.RECLAIMABLE, "999999999.999999999", "0.000000001", -999999999999999998000000),
        (Paid.FLOOR, "1", "1", None),
        (Paid.RECLAIMABLE, "1", "0", None),
    ],
)
def test_no_size_of_money_makes_a_report_fail(
    ledger: ClickHouseLedger, paid: Paid, rate: str, guaranteed: str, share: int | None
) -> None:
    writer = Writer()
    write_rate(writer, "hall-a", rate, guaranteed)
    writer.write(EventType.INSTANCE_STARTED, 0, {"units": 1, "paid": paid.value}, on=TRAIN)
    run = slots(1, [(Use.SERVING, 1)])[0]
    writer.write(EventType.USAGE, HOUR, run.data(of_units=1, paid=paid, from_ms=0, to_ms=HOUR), on=TRAIN)
    writer.write(EventType.INSTANCE_ENDED, HOUR, on=TRAIN)
    ledger.append(writer.events)
    row = ledger.savings(TEN_HOURS)[0]
    stated = ledger._engine.report("net_saving", TEN_HOURS)[0]["share_ppm"]
    assert row.share_ppm == share == stated
    assert ledger.reconcile_invoice(TEN_HOURS).difference == 0


def test_two_hundred_thousand_million_over_two_hundred_million_hours_is_a_thousand() -> None:
    row = NetSaving("north", "big", useful_unit_ms=200_000_000 * HOUR, reclaimable_paid=200_000_000_000 * TICKS)
    assert row.unit_hour_paid == 1000 * TICKS
    assert NetSaving("north", "none", reclaimable_paid=TICKS).unit_hour_paid is None


def test_the_hour_that_comes_twice_is_two_hours_of_one_day(ledger: ClickHouseLedger) -> None:
    day = local_day(date(2026, 10, 25), "Europe/Berlin")
    assert day.to_ms - day.from_ms == 90_000_000
    assert (
        local_day(date(2026, 3, 29), "Europe/Berlin").to_ms - local_day(date(2026, 3, 29), "Europe/Berlin").from_ms
        == 23 * HOUR
    )
    first, second = 1_792_888_200_000, 1_792_891_800_000  # 02:30 and 02:30 on the clocks of Berlin
    writer = Writer()
    for at in (first, second):
        writer.write(EventType.STORAGE_CHARGED, at, {"amount": "1", "currency": "EUR"}, on=TRAIN)
    ledger.append(writer.events)
    assert ledger.savings(day)[0].storage == 2 * TICKS
    assert ledger.savings(Period(day.from_ms, second))[0].storage == TICKS
    assert [event.occurred_at for event in ledger.history.events(["e00000", "e00001"])] == [first, second]


def test_a_zone_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Refused, match="IANA"):
        local_day(date(2026, 1, 1), "Mars/Olympus")


def test_an_inconsistent_history_names_the_instance_and_the_gap(ledger: ClickHouseLedger) -> None:
    events = [event for event in one_lost_instance().events if event.data.get("use") != "draining"]
    ledger.append(events)
    found = ledger.reconcile_invoice(TEN_HOURS)
    assert not found.consistent
    assert found.difference == -TICKS // 2
    gap = found.disagreements[0]
    assert (gap.instance, gap.billed_unit_ms - gap.used_unit_ms) == ("i-1", 2 * HOUR)


def test_time_and_losses_without_a_rate_are_named(ledger: ClickHouseLedger) -> None:
    events = [event for event in one_lost_instance().events if event.type is not EventType.RATE_KNOWN]
    ledger.append(events)
    found = ledger.reconcile_invoice(TEN_HOURS)
    assert found.difference == 0
    assert found.disagreements[0].unpriced_ms == 4 * HOUR
    assert len(found.unpriced_losses) == 1
    assert not found.consistent


def test_each_number_opens_to_its_events(ledger: ClickHouseLedger) -> None:
    events = one_lost_instance().events
    ledger.append(events)
    row = ledger.savings(TEN_HOURS)[0]
    assert (row.draining_paid, row.redone_paid) == (TICKS // 2, TICKS // 4)
    kinds = {
        term: [event.type.value for event in ledger.history.events(ledger.ids_behind(row.behind(term), TEN_HOURS))]
        for term in ("draining_paid", "redone_paid", "useful_value", "floor_paid")
    }
    assert kinds == {
        "draining_paid": ["rate.known", "usage.recorded"],
        "redone_paid": ["rate.known", "work.lost"],
        "useful_value": ["rate.known", "usage.recorded", "work.lost"],
        "floor_paid": ["rate.known"],
    }
    for waste in ledger.waste(TEN_HOURS):
        ids = ledger.ids_behind(waste.behind(), TEN_HOURS)
        assert sum(ledger.history.costs(ids).values()) == waste.paid


def test_a_lost_instance_is_followed_from_its_notice_to_its_money(ledger: ClickHouseLedger) -> None:
    events = one_lost_instance().events
    ledger.append(events)
    loss = next(event for event in events if event.type is EventType.WORK_LOST)
    chain = ledger.history.chain(loss.id)
    assert [event.type.value for event in chain.up] == [
        "notice.received",
        "drain.started",
        "instance.lost",
        "work.lost",
    ]
    notice = chain.up[0]
    assert {event.type.value for event in ledger.history.chain_down(notice.id)} == {
        "notice.received",
        "drain.started",
        "usage.recorded",
        "instance.lost",
        "work.lost",
        "instance.ended",
    }
    assert chain.costs == {loss.id: TICKS // 4}
    assert ledger.waste_by_root(TEN_HOURS) == ((notice.id, 3 * TICKS // 4),)


def test_a_chain_of_unknown_events_is_empty_and_a_loop_ends(ledger: ClickHouseLedger) -> None:
    assert ledger.history.chain_up("nobody") == ()
    writer = Writer()
    writer.write(EventType.POOL_PROBED, 0, caused_by="e00001")
    writer.write(EventType.POOL_PROBED, 1, caused_by="e00000")
    ledger.append(writer.events)
    assert {event.id for event in ledger.history.chain_up("e00000")} == {"e00000", "e00001"}


def test_a_chain_longer_than_any_real_one_is_a_breach(ledger: ClickHouseLedger) -> None:
    writer = Writer()
    above = ""
    for at in range(70):
        above = writer.write(EventType.POOL_PROBED, at, caused_by=above)
    ledger.append(writer.events)
    with pytest.raises(Breach, match="64 steps"):
        ledger.history.chain_up(above)


def test_a_query_that_fails_is_a_breach_and_not_the_clients_error(ledger: ClickHouseLedger) -> None:
    with pytest.raises(Breach, match="refuses a statement"):
        ledger._engine.query("SELECT nothing_of_the_kind", {})


def test_another_process_on_the_same_directory_is_refused(ledger: ClickHouseLedger, ledger_directory: Path) -> None:
    script = (
        "import pathlib, sys\n"
        "from contracts.errors import Refused\n"
        "from ledger.adapters.clickhouse import embedded\n"
        "try:\n    embedded(pathlib.Path(sys.argv[1]))\n"
        "except Refused as error:\n    print('refused:', error)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, str(ledger_directory)], check=False, capture_output=True, text=True, timeout=60
    )
    assert told.stdout.startswith("refused:"), told.stderr[-500:]


def test_a_database_has_a_name_that_needs_no_quoting(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot name a database"):
        embedded(tmp_path, database="a; DROP")


def test_a_query_stands_behind_all_that_it_needs() -> None:
    text = assembled("net_saving")
    places = [text.index(f"{name} AS (") for name in ("known", "rates", "priced_usage", "terms", "shared")]
    assert places == sorted(places)
    assert text.count("known AS (") == 1

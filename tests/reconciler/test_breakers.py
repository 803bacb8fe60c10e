"""A standstill is one alert and one end, an order is one line: told once, with who and why, also over restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.errors import Transient
from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.script import Outage
from reconciler.adapters.stop_file import StopFile
from reconciler.adapters.stop_store import READ_EVERY_MS, EitherStop, StoreStop
from reconciler.breakers import CALM_MS, Breaker, Order, Standing, tell, told
from reconciler.fakes import FakeStop
from reconciler.steps import StepKind
from tests.reconciler.builders import FORECAST, HOUR, MINUTE, REGION, SECOND, START, Region, of_kind, scribe
from tests.reconciler.test_desired_bundle import FlakyStore

LOST = Breaker("improbable_loss", Cause.IMPROBABLE_LOSS, "11 of 100 alive are missing")
PART = Breaker("listing_incomplete/one", Cause.LISTING_INCOMPLETE, "503 on page 2")


def names(events: tuple[Event, ...]) -> list[tuple[str, str]]:
    return [(event.type.value, str(event.data["breaker"])) for event in events]


def test_a_breaker_is_told_when_it_trips_and_when_it_is_over_and_never_in_between() -> None:
    events, standing = tell([LOST], {}, scribe(START))
    assert names(events) == [("breaker.tripped", "improbable_loss")]
    for cycle in range(1, 50):
        events, standing = tell([LOST, PART], standing, scribe(START + cycle * MINUTE))
        assert len(events) == (cycle == 1)
    events, standing = tell([PART], standing, scribe(START + 49 * MINUTE + CALM_MS - 1))
    assert not events
    (over,), standing = tell([PART], standing, scribe(START + HOUR))
    assert (over.type, over.cause) == (EventType.BREAKER_CLEARED, Cause.IMPROBABLE_LOSS)
    assert over.data["for_ms"] == 49 * MINUTE
    assert over.caused_by == f"breaker.tripped/{REGION}/improbable_loss/{START}"
    assert list(standing) == ["listing_incomplete/one"]


def test_an_answer_that_fails_every_other_time_is_one_standstill() -> None:
    standing: Standing = {}
    told_of: list[Event] = []
    for cycle in range(40):
        events, standing = tell([PART] if cycle % 2 else [], standing, scribe(START + cycle * 5 * MINUTE))
        told_of += events
    assert len(told_of) == 1


def test_an_order_is_told_once_whoever_restarts() -> None:
    orders = [Order(1, START, "tides-lead", "stop", "the listing lies"), Order(2, START, "tides-lead", "resume", "")]
    events, last = told(orders, 0, scribe(START))
    assert [(e.type, e.data["order"], e.data["who"]) for e in events] == [
        (EventType.STOP_CHANGED, "stop", "tides-lead"),
        (EventType.STOP_CHANGED, "resume", "tides-lead"),
    ]
    assert told(orders, last, scribe(START)) == ((), 2)
    accepted = Order(3, START, "tides-lead", "accept-listing", "", START - MINUTE)
    (event,), _ = told([*orders, accepted], last, scribe(START))
    assert (event.type, event.data["until"]) == (EventType.LISTING_ACCEPTED, START - MINUTE)


# -- in the loop ------------------------------------------------------------------------------------------------------


def vanish(region: Region, count: int) -> None:
    """So many servers are missing from every listing from now on, and nothing says why; their nodes are still there."""
    for one in list(region.ours())[:count]:
        del region.cloud.servers[one.server]


def test_an_improbable_loss_is_one_alert_with_one_command_however_long_it_stands() -> None:
    region = Region().settled(20)
    vanish(region, 8)
    region.cycles(30)
    (alert,) = region.told(EventType.BREAKER_TRIPPED)
    assert alert.cause is Cause.IMPROBABLE_LOSS
    assert "ebbtide stop --accept-listing" in str(alert.data["message"])
    assert not [e for e in region.told(EventType.GUARD_REFUSED) if e.cause is Cause.IMPROBABLE_LOSS]
    region.accepted_at = region.now
    region.orders.append(Order(1, region.now, "tides-lead", "accept-listing", "they burnt", region.now))
    region.cycles(12)
    assert len(region.told(EventType.LISTING_ACCEPTED)) == 1
    assert [e.cause for e in region.told(EventType.BREAKER_CLEARED)] == [Cause.IMPROBABLE_LOSS]
    region.cycles(20)
    assert region.supply() >= 19  # pools that lost many are excluded for a while


def test_a_hall_without_power_that_its_schedulers_confirm_is_replaced_floors_first() -> None:
    region = Region().settled(20)
    gone = [one for one in region.ours() if one.pool.startswith("h1")]
    assert len(gone) * 10 > 20
    for one in gone:
        del region.cloud.servers[one.server]
        region.schedulers.leave(one.name)
    decision = region.cycle()
    assert not region.told(EventType.BREAKER_TRIPPED)
    replaced = of_kind(decision, StepKind.REPLACE)
    assert replaced
    paid = [step.paid.value for step in replaced]
    assert paid == sorted(paid, key=lambda kind: kind != "floor")


def test_a_clock_that_is_set_stops_one_cycle_and_the_limits_grow_back() -> None:
    region = Region().settled(20)
    region.schedulers.want(FORECAST, 40)
    region.set_by = 100 * SECOND
    decision = region.cycle()
    assert not decision.allowed
    assert {refusal.cause for refusal in decision.refused} == {Cause.CLOCK_JUMPED}
    assert region.reconciler.memory.guard.cycles_since_blind == 0
    region.cycles(20)
    assert region.supply() == 40
    assert [event.cause for event in region.told(EventType.BREAKER_TRIPPED)] == [Cause.CLOCK_JUMPED]


@pytest.mark.parametrize("by", [-HOUR, -100 * SECOND, HOUR])
def test_no_boot_and_no_drain_ends_because_of_a_clock_that_was_set(by: int) -> None:
    region = Region().settled(10)
    region.schedulers.want(FORECAST, 20)
    region.cycle()
    before = len(region.cloud.servers)
    region.set_by = by
    region.schedulers.clock = lambda: region.now + region.set_by  # it answers by the same machine's clock
    decision = region.cycle()
    assert not of_kind(decision, StepKind.DELETE)
    assert len(region.cloud.servers) == before
    assert not region.told(EventType.INSTANCE_FAILED)


def test_no_clock_that_is_set_opens_another_day_of_anybodys_money() -> None:
    """Set a day ahead and back again, with a provider that cannot tell the time meanwhile."""
    region = Region().settled(4)
    day = region.reconciler.memory.wallet.day
    region.set_by = 24 * HOUR
    region.cloud.script.outages.append(Outage(0, 2**60, frozenset({"instances", "signals"})))
    for _ in range(5):
        region.cycle()
        assert region.reconciler.memory.wallet.day == day
    region.set_by = 0
    region.cloud.script.outages.clear()
    region.cycles(3)
    assert region.reconciler.memory.wallet.day == day


def test_a_clock_that_is_set_in_the_middle_of_a_list_stops_it_there() -> None:
    region = Region().settled(10)
    region.schedulers.want(FORECAST, 20)
    created = region.reconciler.ports.provider
    before = len(region.cloud.servers)
    original = created.create

    def create(request: object) -> object:
        region.set_by = HOUR
        return original(request)  # type: ignore[arg-type]  # handed through

    created.create = create  # type: ignore[method-assign,assignment]  # a provider whose call takes an hour of wall time
    decision = region.cycle()
    assert len(of_kind(decision, StepKind.ACQUIRE)) > 1
    assert len(region.cloud.servers) == before + 1


def test_a_full_spool_stops_growth_drops_nothing_and_lets_losses_be_replaced() -> None:
    region = Region().settled(20)
    region.recorder.pending = 2**30
    region.schedulers.want(FORECAST, 30)
    lost = region.busy()
    told_before = len(region.recorder.events)
    region.cloud.lose(region.server_id(lost), reason="host failed")
    decisions = [region.cycle() for _ in range(6)]
    assert any(of_kind(decision, StepKind.REPLACE) for decision in decisions)
    assert not any(of_kind(decision, StepKind.ACQUIRE) for decision in decisions)
    assert len(region.recorder.events) > told_before
    region.recorder.pending = 0
    region.cycles(20)
    assert region.supply() == 30


def test_a_term_that_begins_is_told_once() -> None:
    region = Region().settled(4)
    (began,) = region.told(EventType.LEADER_BEGAN)
    assert began.data["term"] == region.reconciler.leadership.epoch


# -- the local stop and the store's -----------------------------------------------------------------------------------


def test_every_order_of_the_stop_file_is_a_line_and_outlives_the_process(tmp_path: Path) -> None:
    file = StopFile(tmp_path / "stop")
    file.stop("the listing\nlies", "tides-lead")
    StopFile(tmp_path / "stop").accept_listing(START, "head-of-cloud", "seen")
    StopFile(tmp_path / "stop").resume("tides-lead", "seen to")
    found = StopFile(tmp_path / "stop").orders()
    assert [(o.number, o.what, o.who, o.reason, o.until) for o in found] == [
        (1, "stop", "tides-lead", "the listing lies", 0),
        (2, "accept-listing", "head-of-cloud", "seen", START),
        (3, "resume", "tides-lead", "seen to", 0),
    ]
    assert [o.number for o in file.orders(after=2)] == [3]


def test_a_torn_line_of_the_orders_hides_no_other(tmp_path: Path) -> None:
    file = StopFile(tmp_path / "stop")
    file.stop("one", "tides-lead")
    with file.journal.open("ab") as journal:
        journal.write(b'{"at": 1, "who"')
    file.resume("tides-lead")
    assert [(o.number, o.what) for o in file.orders()] == [(1, "stop"), (3, "resume")]


def test_a_stop_on_a_full_disk_is_a_stop_without_its_reason(tmp_path: Path) -> None:
    file = StopFile(tmp_path / "stop")
    (tmp_path / "stop.new").mkdir()
    file.stop("the listing lies", "tides-lead")
    assert "gives no reason" in file.reason()


def test_a_stop_and_its_end_are_told_to_the_ledger_with_who_and_why(tmp_path: Path) -> None:
    file = StopFile(tmp_path / "stop")
    region = Region().settled(10)
    region.schedulers.want(FORECAST, 20)
    file.stop("the listing lies", "tides-lead")
    region.stop.why, region.orders[:] = file.reason(), file.orders()
    for _ in range(3):
        assert not region.cycle().allowed
    file.resume("tides-oncall")
    region.stop.why, region.orders[:] = file.reason(), file.orders()
    region.cycles(10)
    assert [(e.data["order"], e.data["who"]) for e in region.told(EventType.STOP_CHANGED)] == [
        ("stop", "tides-lead"),
        ("resume", "tides-oncall"),
    ]
    assert region.supply() == 20


def test_the_stores_stop_is_heard_within_five_seconds_and_asked_for_every_four() -> None:
    store, now = FlakyStore(), [0]
    reader = StoreStop(store, region=REGION, monotonic=lambda: now[0])
    assert reader.reason() == ""
    writer = StoreStop(store, region=REGION, monotonic=lambda: 0)
    writer.stop("the listing lies", "tides-lead", stamp="2026-01-01T00:00:00Z")
    now[0] = READ_EVERY_MS - 1
    assert reader.reason() == ""
    now[0] = READ_EVERY_MS
    assert reader.reason() == "the listing lies (tides-lead, 2026-01-01T00:00:00Z)"
    assert writer.resume()
    assert not writer.resume()
    now[0] = 2 * READ_EVERY_MS
    assert reader.reason() == ""
    assert READ_EVERY_MS < 5 * SECOND


def test_while_the_store_is_silent_its_last_word_stands_and_before_its_first_all_is_stopped() -> None:
    store, now = FlakyStore(), [0]
    store.fail("get", Transient("silent"))
    reader = StoreStop(store, region=REGION, monotonic=lambda: now[0])
    assert "never read" in reader.reason()
    assert reader.reason() == ""
    StoreStop(store, region=REGION, monotonic=lambda: 0).stop("now", "tides-lead", stamp="now")
    now[0] = READ_EVERY_MS
    assert reader.reason()
    now[0] = 3 * READ_EVERY_MS
    store.fail("get", Transient("silent"))
    assert reader.reason()


def test_of_two_switches_either_stops() -> None:
    one, other = FakeStop(), FakeStop()
    both = EitherStop((one, other))
    assert both.reason() == ""
    other.why = "the store says so"
    assert both.reason() == "the store says so"
    one.why = "the file says so"
    assert both.reason() == "the file says so"

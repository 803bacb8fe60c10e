"""The checkers of money and liveness find what they look for."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from tests.reconciler.builders import FORECAST, HOUR, KEPT, MINUTE, REGION, START
from tests.simulation.chronicles import Story, asked_back, eventful, grown, without
from tests.simulation.chronicles import found as first

# -- money ------------------------------------------------------------------------------------------------------------


def shifted(story: Story, by_ms: int) -> set[str]:
    """What is found when the usage of r1 ends so much later or earlier than its bill."""
    story.close_books()
    events = story.told.events[""]
    for number, event in enumerate(events):
        if event.type is EventType.USAGE and event.instance == "r1":
            events[number] = replace(event, data={**event.data, "to_ms": int(event.data["to_ms"]) + by_ms})
    return {b.checker for b in story.broken(closed=False)}


def test_billed_time_is_used_once() -> None:
    assert "check_money.Usage" not in shifted(eventful(), 0)
    assert "check_money.Usage" in shifted(eventful(), -1)
    assert "check_money.Usage" in shifted(eventful(), 1)


def test_nothing_is_used_under_another_payment_than_its_bill() -> None:
    story = eventful()
    story.close_books()
    events = story.told.events[""]
    number, line = next((n, e) for n, e in enumerate(events) if e.type is EventType.USAGE)
    events[number] = replace(line, data={**line.data, "paid": "fallback"})
    assert "check_money.Usage" in {b.checker for b in story.broken(closed=False)}


def test_what_is_billed_did_something() -> None:
    story = eventful()
    story.close_books()
    without(story, EventType.USAGE, "r1")
    assert "check_money.Usage" in {b.checker for b in story.broken(closed=False)}


@pytest.mark.parametrize("change", ["rate", "end", "start"])
def test_the_ledgers_bill_is_the_invoice_to_the_last_digit(change: str) -> None:
    story = eventful()
    story.close_books()
    line = next(line for line in story.told.invoice if line.name == "r0")
    pool, period = line.periods[0]
    other = {
        "rate": replace(line, periods=((pool, replace(period, end=period.end - 1)),)),
        "end": replace(line, ended=(line.ended or 0) + 1),
        "start": replace(line, started=line.started + 1),
    }[change]
    story.told.invoice = tuple(other if each is line else each for each in story.told.invoice)
    assert "check_money.Invoice" in {b.checker for b in story.broken(closed=False)}


@pytest.mark.parametrize("found", [False, True])
def test_a_loss_ends_a_bill_that_nobody_ended_unless_it_was_found_again(found: bool) -> None:
    story = without(eventful(), EventType.INSTANCE_ENDED, "r0")
    story.close_books()
    lines = story.told.invoice
    (lost,) = (e for e in story.all_events() if e.type is EventType.INSTANCE_LOST and e.instance == "r0")
    story.told.invoice = tuple(replace(x, ended=lost.occurred_at) if x.name == "r0" else x for x in lines)
    if found:
        asked = f"instance.requested/{REGION}/r0"
        story.event(EventType.INSTANCE_FOUND, "r0", caused_by=asked, instance="r0", data={"to_ms": lost.occurred_at})
    broken = [b for b in story.broken(closed=False) if b.checker == "check_money.Invoice" and " None" in b.sentence]
    assert bool(broken) is found


@pytest.mark.parametrize("found", [False, True])
def test_an_end_that_was_believed_and_taken_back_closes_no_bill(found: bool) -> None:
    """It was held to be gone a minute before it was, and shown again meanwhile; then its own end was told."""
    story = eventful()
    ended = first(story, EventType.INSTANCE_ENDED, "r0")
    events = next(told for told in story.told.events.values() if ended in told)
    early = replace(ended, id=f"{ended.id}/early", occurred_at=ended.occurred_at - MINUTE)
    back = replace(ended, id="instance.found/r0", type=EventType.INSTANCE_FOUND, data={"to_ms": early.occurred_at})
    at = events.index(ended)
    events[at:at] = [early, back] if found else [early]
    story.close_books()
    broken = {b.checker for b in story.broken(closed=False)} & {"check_money.Invoice", "check_money.Usage"}
    assert len(broken) == (0 if found else 2)


def test_a_rate_that_never_became_known_is_no_fault_of_the_sum() -> None:
    story = eventful()
    story.close_books()
    line = next(line for line in story.told.invoice if line.name == "r0")
    pool, period = line.periods[0]
    unknown = replace(line, periods=((pool, replace(period, rate=Decimal("0.2"))),))
    story.told.invoice = tuple(unknown if each is line else each for each in story.told.invoice)
    assert "check_money.Invoice" not in {b.checker for b in story.broken(closed=False)}


@pytest.mark.parametrize("heard", [False, True])
def test_a_rate_that_comes_back_unheard_is_no_fault_of_the_sum(heard: bool) -> None:
    story = eventful()
    story.close_books()
    line = next(line for line in story.told.invoice if line.name == "r0")
    pool, period = line.periods[0]
    (known,) = (e for e in story.all_events() if e.type is EventType.RATE_KNOWN and e.pool == pool)
    between = known.occurred_at + 1, Decimal("0.2")
    assert between[0] < period.start
    told = {"rate": str(between[1]), "effective_from": between[0]}
    story.event(EventType.RATE_KNOWN, f"{pool}/{between[0]}", pool=pool, data={**known.data, **told})
    since = known.occurred_at if heard else between[0]
    back = replace(line, periods=((pool, replace(period, before=since)),))
    story.told.invoice = tuple(back if each is line else each for each in story.told.invoice)
    assert ("check_money.Invoice" in {b.checker for b in story.broken(closed=False)}) is heard


DAY = dt.datetime.fromtimestamp(START / 1000, tz=ZoneInfo("Europe/Oslo")).date().isoformat()


def reserve(story: Story, amount: str, authority: str = "tides-lead", subject: str = "1") -> None:
    story.event(EventType.SHORTFALL_BEGAN, subject, workload=FORECAST, data={"missing_units": 1})
    cause = f"shortfall.began/{REGION}/{subject}"
    data: dict[str, str | int] = {"amount": amount, "currency": "EUR", "authority": authority, "day": DAY}
    story.event(EventType.FALLBACK_RESERVED, subject, caused_by=cause, workload=FORECAST, data=data)


def test_a_contract_reserves_no_more_than_its_limit_a_day() -> None:
    for amounts, wrong in ((("20.00",), False), (("19.99", "0.02"), True)):
        story = eventful()
        for number, amount in enumerate(amounts):
            reserve(story, amount, subject=str(number))
        assert ("check_money.Authority" in story.breaks()) is wrong


def test_nobody_unknown_is_an_authority() -> None:
    story = eventful()
    reserve(story, "0.01", authority="nobody")
    assert "check_money.Authority" in story.breaks()


def test_the_store_reserves_no_more_than_the_authority_has() -> None:
    for micro, wrong in ((40_000_000, False), (40_000_001, True)):
        story = eventful()
        story.told.reserved.append((story.at, "2026-01-01", {"tides-lead": micro}))
        assert ("check_money.Authority" in story.breaks()) is wrong


def test_fallback_runs_only_while_its_hour_is_reserved() -> None:
    for amount, wrong in (("0.10", False), ("0.09", True)):
        story = eventful()
        reserve(story, amount)
        story.look()
        story.buy("x", KEPT, paid="fallback", cause=Cause.SHORTFALL)
        story.settle("x")
        story.looks(10)
        assert ("check_money.Covered" in story.breaks()) is wrong
    story.looks(8)
    assert "check_money.Covered" in story.breaks()


def test_what_a_silent_store_cannot_reserve_is_judged_once_it_answers() -> None:
    for answers, wrong in ((False, False), (True, True)):
        story = eventful()
        reserve(story, "0.10")
        story.buy("x", KEPT, paid="fallback", cause=Cause.SHORTFALL)
        story.settle("x")
        for _ in range(18):
            story.looks(1, store=answers)
        assert ("check_money.Covered" in story.breaks()) is wrong
        story.looks(2)
        assert "check_money.Covered" in story.breaks()


def test_fallback_is_bought_with_reserved_money_alone_whether_the_store_answers_or_not() -> None:
    for amount, wrong in (("0.10", False), ("0.09", True)):
        story = eventful()
        reserve(story, amount)
        story.look(store=False)
        story.buy("x", KEPT, paid="fallback", cause=Cause.SHORTFALL)
        assert ("check_money.Covered" in story.breaks()) is wrong


def test_what_is_told_as_reserved_stood_in_the_store() -> None:
    for micro, wrong in ((100_000, False), (99_999, True)):
        story = eventful()
        day = dt.datetime.fromtimestamp(story.at / 1000, tz=dt.UTC).date()
        story.told.reserved.append((story.at, str(day), {FORECAST: micro}))
        reserve(story, "0.10")
        assert ("check_money.Covered" in story.breaks()) is wrong


# -- liveness ---------------------------------------------------------------------------------------------------------


def test_nothing_stays_past_its_agreed_end() -> None:
    for looks in (11, 12):
        story = grown()
        story.want(11)
        story.looks(6)
        asked_back(story, "r0")
        story.looks(looks)
        assert ("check_liveness.Drained" in story.breaks()) is (looks == 12)


def test_no_breaker_stays_tripped_once_everything_is_clear() -> None:
    for looks, wrong in ((7, False), (8, True)):
        story = grown()
        story.looks(looks)
        story.event(
            EventType.GUARD_REFUSED, "x", cause=Cause.LISTING_STALE, workload=FORECAST, data={"action": "acquire"}
        )
        assert ("check_liveness.Cleared" in story.breaks()) is wrong


def test_a_breaker_that_tripped_in_this_term_is_told_as_over() -> None:
    for clears in (True, False):
        story = grown()
        name, since = "clock_jumped", story.at
        story.event(
            EventType.BREAKER_TRIPPED,
            f"{name}/{since}",
            cause=Cause.CLOCK_JUMPED,
            data={"breaker": name, "message": "set"},
        )
        story.looks(8)
        if clears:
            story.event(
                EventType.BREAKER_CLEARED,
                f"{name}/{since}",
                cause=Cause.CLOCK_JUMPED,
                data={"breaker": name, "for_ms": 0},
            )
        story.looks(12)
        assert ("check_liveness.Cleared" in story.breaks()) is not clears


def test_a_refusal_while_faults_last_is_no_fault() -> None:
    story = grown()
    story.told.quiet_from = story.at + HOUR
    story.looks(8)
    story.event(EventType.GUARD_REFUSED, "x", cause=Cause.LISTING_STALE, workload=FORECAST, data={"action": "acquire"})
    assert "check_liveness.Cleared" not in story.breaks()


def claimed_for_hours(**room: int) -> Story:
    """One unit fewer than is claimed, for days, in a region that loses nothing."""
    story = grown()
    story.want(13)
    for _ in range(700):
        story.wait(5 * MINUTE)
        story.room(**room)
        story.look()
    return story


def test_what_is_claimed_and_placeable_runs() -> None:
    assert "check_liveness.Reached" in claimed_for_hours().breaks()


def test_what_no_pool_has_room_for_may_wait() -> None:
    assert "check_liveness.Reached" not in claimed_for_hours(**{KEPT: 8}).breaks()

"""A clock that is set ends no wait and begins none in a time to come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ledger.causes import Cause
from pools.provider import Signals
from reconciler.arbiter import Risk
from reconciler.blast_radius import GuardState
from reconciler.claims import Claim
from reconciler.cycle import Memory, Seen
from reconciler.fleet import Phase
from reconciler.paid_hours import HOUR_MS, RENEW_MS, Hour
from reconciler.ports import SchedulerView
from reconciler.steady import not_ahead, steadied
from tests.reconciler.builders import FORECAST, HOUR, MINUTE, START, Region, fleet, instance, name

DOUBT = "the clock was set forward by 90000.0 s since the last look"


def seen(now: int, leap_ms: int = 0) -> Seen:
    silent = Signals(as_of=0, cursor="")
    view = SchedulerView(now, {}, {})
    return Seen(now, silent, None, view, None, None, None, leap_ms=leap_ms)


def judged(at: int, *, doubted: bool = False) -> Memory:
    return Memory(guard=GuardState(judged_at=at, doubted=doubted))


@given(st.integers(-25 * HOUR, 25 * HOUR))
def test_time_stands_still_while_nobody_can_tell_it(leap_ms: int) -> None:
    memory = judged(START)
    _, held = steadied(memory, seen(START + leap_ms, leap_ms), DOUBT)
    assert (held.now, held.leap_ms) == (START + 1, 0)


def test_a_memory_that_saw_no_cycle_yet_has_no_wait_to_keep() -> None:
    assert steadied(Memory(), seen(START), DOUBT) == (Memory(), seen(START))


def test_when_the_doubt_is_over_the_window_moves_by_all_that_the_clock_was_set() -> None:
    _, now = steadied(judged(START, doubted=True), seen(START + HOUR), "")
    assert (now.now, now.leap_ms) == (START + HOUR, HOUR)


def test_a_believed_cycle_is_decided_by_its_own_clock() -> None:
    memory, looked = judged(START - 5 * MINUTE), seen(START)
    assert steadied(memory, looked, "") == (memory, looked)


@given(st.integers(-HOUR, 25 * HOUR))
def test_no_wait_lies_ahead_of_the_time(ahead: int) -> None:
    at = START + ahead
    memory = Memory(
        fleet=fleet(instance(1, phase=Phase.REQUESTED, requested_at=at, left_at=at)),
        claims={FORECAST: Claim(FORECAST, 0, 8, lower_since=at)},
        risks={FORECAST: Risk(short_since=at, healthy_since=at, hours=(Hour(2, at + HOUR_MS),))},
        refusals={(FORECAST, Cause.PAUSED): at},
    )
    after = not_ahead(memory, START)
    one, risk = after.fleet.instances[name(1)], after.risks[FORECAST]
    begun = (one.requested_at, one.left_at, after.claims[FORECAST].lower_since, risk.short_since, risk.healthy_since)
    assert set(begun) == {min(at, START)}
    assert risk.hours[0].until <= START + HOUR_MS + RENEW_MS
    assert after.refusals[FORECAST, Cause.PAUSED] <= START
    assert ahead > 0 or after == memory


def test_a_day_that_a_clock_ran_ahead_costs_no_token_and_no_claim() -> None:
    """The clock is a day ahead for a while, and right again: the region goes on as if nothing had been."""
    region = Region()
    region.schedulers.want(FORECAST, 20)
    region.cycles(14)
    assert region.supply() == 20
    region.schedulers.want(FORECAST, 4)
    region.cycle()
    region.set_by = 25 * HOUR
    region.cycle()
    assert region.reconciler.memory.claims[FORECAST].total == 20
    region.set_by = 0
    region.schedulers.want(FORECAST, 24)
    region.cycles(14)
    assert region.supply() == 24
    assert max(one.requested_at for one in region.reconciler.memory.fleet.instances.values()) <= region.now

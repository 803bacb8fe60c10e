"""What becomes of fallback in the difference: it fills a place as long as it is granted, and goes back busy or not."""

from __future__ import annotations

from ledger.causes import Cause
from ledger.events import Paid
from reconciler.problem import Move, MoveCause
from reconciler.steps import StepKind
from tests.reconciler.builders import FORECAST, KEPT, fleet, instance, name
from tests.reconciler.test_diff import empty, found, want

OTHER_KEPT = KEPT.replace("h1", "h2")


def test_fallback_goes_back_though_it_is_busy_and_the_floor_beside_it_stays() -> None:
    """Once it is no longer granted nobody's authority pays for it."""
    floor, bought = instance(1, pool=KEPT, paid=Paid.FLOOR), instance(2, pool=KEPT, paid=Paid.FALLBACK)
    result = found(fleet(floor, bought), want(1, KEPT, Paid.FLOOR))
    assert [(s.kind, s.instance, s.cause) for s in result.steps] == [
        (StepKind.RELEASE, name(2), Cause.RECLAIMABLE_HELD)
    ]
    wants = want(1, KEPT, Paid.FLOOR), want(1, KEPT, Paid.FALLBACK)
    assert not found(fleet(floor, bought), *wants, granted={FORECAST: bought.units}).steps


def test_fallback_whose_money_ended_goes_with_that_cause_and_the_floor_it_stood_in_for_is_bought() -> None:
    floor, bought = instance(1, pool=KEPT, paid=Paid.FLOOR), instance(2, pool=KEPT, paid=Paid.FALLBACK)
    steps = found(fleet(floor, bought), want(2, KEPT, Paid.FLOOR), spent=frozenset({FORECAST})).steps
    assert [(step.kind, step.paid, step.cause) for step in steps] == [
        (StepKind.ACQUIRE, Paid.FLOOR, Cause.FLOOR),
        (StepKind.RELEASE, Paid.FALLBACK, Cause.AUTHORITY_SPENT),
    ]


def test_fallback_that_is_still_paid_stays_beside_what_is_not() -> None:
    standing = [instance(n, pool=KEPT, paid=Paid.FALLBACK) for n in (1, 2, 3)]
    units = standing[0].units
    wants, spent = want(2, KEPT, Paid.FALLBACK), frozenset({FORECAST})
    steps = found(fleet(*standing), wants, granted={FORECAST: 2 * units}, spent=spent).steps
    assert [(step.kind, step.cause) for step in steps] == [(StepKind.RELEASE, Cause.AUTHORITY_SPENT)]


def test_fallback_that_is_not_granted_fills_no_place_of_a_floor() -> None:
    """One of three stays for the floor that does not run yet; the floor is bought, and nothing stands unpaid."""
    standing = [instance(n, pool=KEPT, paid=Paid.FALLBACK) for n in (1, 2, 3)]
    wants = want(1, KEPT, Paid.FLOOR), want(1, KEPT, Paid.FALLBACK)
    steps = found(fleet(*standing), *wants, granted={FORECAST: standing[0].units}).steps
    assert [(step.kind, step.paid, step.cause) for step in steps] == [
        (StepKind.ACQUIRE, Paid.FLOOR, Cause.FLOOR),
        (StepKind.RELEASE, Paid.FALLBACK, Cause.RECLAIMABLE_HELD),
        (StepKind.RELEASE, Paid.FALLBACK, Cause.RECLAIMABLE_HELD),
    ]


def test_a_lot_that_is_granted_in_part_stays_whole_unless_its_money_is_gone() -> None:
    bought = instance(1, pool=KEPT, paid=Paid.FALLBACK, units=4)
    granted = {FORECAST: bought.units - 1}
    assert not found(fleet(bought), want(1, KEPT, Paid.FALLBACK), granted=granted).steps
    spent = found(fleet(bought), want(0, KEPT, Paid.FALLBACK), granted=granted, spent=frozenset({FORECAST})).steps
    assert [step.cause for step in spent] == [Cause.AUTHORITY_SPENT]


def test_fallback_that_is_granted_stays_where_it_is_and_none_is_bought_beyond_it() -> None:
    """Six stand of nine that were granted, and the placement wants fewer of them here and the rest elsewhere."""
    standing = [instance(n, pool=KEPT, paid=Paid.FALLBACK) for n in range(1, 7)]
    wants = want(3, KEPT, Paid.FALLBACK), want(6, OTHER_KEPT, Paid.FALLBACK)
    steps = found(fleet(*standing), *wants, granted={FORECAST: 9}).steps
    assert [(step.kind, step.pool, step.cause) for step in steps] == [
        (StepKind.ACQUIRE, OTHER_KEPT, Cause.SHORTFALL)
    ] * 3


def test_fallback_in_the_place_of_a_floor_hides_nothing_that_is_too_much() -> None:
    standing = [instance(1, pool=KEPT, paid=Paid.FALLBACK), *(empty(n, pool=KEPT, paid=Paid.FLOOR) for n in (2, 3, 4))]
    steps = found(fleet(*standing), want(2, KEPT, Paid.FLOOR), granted={FORECAST: 1}).steps
    assert [(step.kind, step.paid, step.cause) for step in steps] == [
        (StepKind.RELEASE, Paid.FLOOR, Cause.CLAIM_SHRANK)
    ]


def test_no_move_takes_fallback_along() -> None:
    standing = [instance(1, pool=KEPT, paid=Paid.FALLBACK)]
    move = Move(FORECAST, KEPT, OTHER_KEPT, 1, MoveCause.GAIN, 5)
    assert not found(fleet(*standing), want(1, OTHER_KEPT, Paid.FALLBACK), granted={FORECAST: 1}, moves=(move,)).steps

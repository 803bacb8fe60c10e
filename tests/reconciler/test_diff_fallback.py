"""What the difference does with fallback: it stands while money is behind it, and fills the place of nothing else."""

from __future__ import annotations

from ledger.causes import Cause
from ledger.events import Paid
from reconciler.steps import StepKind
from tests.reconciler.builders import FORECAST, KEPT, fleet, instance, name
from tests.reconciler.test_diff import found, want


def test_fallback_goes_back_though_it_is_busy_and_the_floor_beside_it_stays() -> None:
    """Once it is no longer granted nobody's authority pays for it."""
    floor, bought = instance(1, pool=KEPT, paid=Paid.FLOOR), instance(2, pool=KEPT, paid=Paid.FALLBACK)
    result = found(fleet(floor, bought), want(1, KEPT, Paid.FLOOR))
    assert [(s.kind, s.instance, s.cause) for s in result.steps] == [
        (StepKind.RELEASE, name(2), Cause.RECLAIMABLE_HELD)
    ]
    assert not found(fleet(floor, bought), want(1, KEPT, Paid.FLOOR), want(1, KEPT, Paid.FALLBACK)).steps


def test_fallback_whose_money_ended_goes_with_that_cause_and_the_floor_it_stood_in_for_is_bought() -> None:
    floor, bought = instance(1, pool=KEPT, paid=Paid.FLOOR), instance(2, pool=KEPT, paid=Paid.FALLBACK)
    steps = found(fleet(floor, bought), want(2, KEPT, Paid.FLOOR), granted={FORECAST: 0}, spent={FORECAST}).steps
    assert [(step.kind, step.paid, step.cause) for step in steps] == [
        (StepKind.ACQUIRE, Paid.FLOOR, Cause.FLOOR),
        (StepKind.RELEASE, Paid.FALLBACK, Cause.AUTHORITY_SPENT),
    ]


def test_fallback_that_is_still_paid_stays_beside_what_is_not() -> None:
    standing = [instance(n, pool=KEPT, paid=Paid.FALLBACK) for n in (1, 2, 3)]
    units = standing[0].units
    steps = found(fleet(*standing), want(2, KEPT, Paid.FALLBACK), granted={FORECAST: 2 * units}, spent={FORECAST}).steps
    assert [(step.kind, step.cause) for step in steps] == [(StepKind.RELEASE, Cause.AUTHORITY_SPENT)]


def test_fallback_that_is_not_granted_fills_no_place_of_a_floor() -> None:
    """A floor that grows while fallback goes back: one stays for the missing unit, and none beside it unpaid."""
    floor = instance(1, pool=KEPT, paid=Paid.FLOOR)
    bought = [instance(n, pool=KEPT, paid=Paid.FALLBACK) for n in (2, 3, 4)]
    wanted = want(2, KEPT, Paid.FLOOR), want(1, KEPT, Paid.FALLBACK)
    steps = found(fleet(floor, *bought), *wanted, granted={FORECAST: bought[0].units}).steps
    assert [(step.kind, step.paid, step.cause) for step in steps] == [
        (StepKind.ACQUIRE, Paid.FLOOR, Cause.FLOOR),
        (StepKind.RELEASE, Paid.FALLBACK, Cause.RECLAIMABLE_HELD),
        (StepKind.RELEASE, Paid.FALLBACK, Cause.RECLAIMABLE_HELD),
    ]
    assert found(fleet(floor, bought[0]), *wanted, granted={FORECAST: bought[0].units}).steps[0].paid is Paid.FLOOR


def test_fallback_that_is_granted_in_part_stays_while_there_is_money() -> None:
    bought = instance(1, pool=KEPT, paid=Paid.FALLBACK, units=2)
    wanted = want(1, KEPT, Paid.FALLBACK)
    assert not found(fleet(bought), wanted, granted={FORECAST: 1}).steps
    assert len(found(fleet(bought), wanted, granted={FORECAST: 1}, spent={FORECAST}).steps) == 2

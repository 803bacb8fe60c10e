"""The checkers of gangs and of authorities find what they look for, and nothing else."""

from __future__ import annotations

import pytest

from ledger.causes import Cause
from ledger.events import EventType
from tests.reconciler.builders import FORECAST, KEPT, REGION
from tests.simulation.chronicles import DOMAINS, Story, eventful

CONTRACT, PEOPLE = "contracts/tides/forecast.yaml", "directory.yaml"


def in_gangs(size: int, within: str) -> tuple[str, str, str]:
    return CONTRACT, "maximum: 40\n", f"maximum: 40\neligibility: {{gang: {{size: {size}, within: {within}}}}}\n"


def standing(within: str, *pools: str) -> Story:
    """Forecast has its floor, claims eight units in gangs of two, and has one lent unit in each of the pools."""
    story = Story(in_gangs(2, within))
    story.want(12)
    story.room()
    story.look()
    names = [f"f{number}" for number in range(4)] + [f"r{number}" for number in range(len(pools))]
    for name in names[:4]:
        story.buy(name, KEPT, paid="floor", cause=Cause.FLOOR)
    for name, pool in zip(names[4:], pools, strict=True):
        story.buy(name, pool)
    story.settle(*names)
    story.looks(14)
    return story


@pytest.mark.parametrize(
    ("within", "pools", "wrong"),
    [
        ("hall", DOMAINS, False),
        ("aggregate", DOMAINS, True),
        ("aggregate", tuple(pool for pool in DOMAINS[::2] for _ in range(2)), False),
        ("hall", (*DOMAINS[:6], DOMAINS[6], DOMAINS[4]), True),
        ("hall", DOMAINS[:7], False),
    ],
    ids=["a hall's two", "apart in a hall", "an aggregate's two", "one in each of two halls", "too few units"],
)
def test_a_gang_that_is_not_within_its_place_is_found(within: str, pools: tuple[str, ...], *, wrong: bool) -> None:
    assert ("check_gangs.Together" in standing(within, *pools).breaks()) is wrong


@pytest.mark.parametrize(("until", "wrong"), [("2026-01-01", False), ("2025-12-31", True), ("2030-01-01", False)])
def test_money_in_the_name_of_an_authority_that_has_ended_is_found(until: str, *, wrong: bool) -> None:
    limit = 'spendAuthorityPerDay: "40.00 EUR"'
    story = eventful((PEOPLE, limit, f"{limit}, validUntil: {until}"))
    story.event(EventType.SHORTFALL_BEGAN, "1", workload=FORECAST, data={"missing_units": 1})
    cause = f"shortfall.began/{REGION}/1"
    data: dict[str, str | int] = {"amount": "1.00", "currency": "EUR", "authority": "tides-lead", "day": "2026-01-01"}
    story.event(EventType.FALLBACK_RESERVED, "1", caused_by=cause, workload=FORECAST, data=data)
    assert ("check_authority.Valid" in story.breaks()) is wrong

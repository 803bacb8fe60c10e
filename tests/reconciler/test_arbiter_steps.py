"""Fallback is granted in steps: a growing grant waits as the first one did, and a wave is restored strictest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reconciler.arbiter import (
    ENTRY_WAIT_MS,
    FRESH_LOTS,
    Risk,
    Standing,
    Wallet,
    rule,
)
from reconciler.claims import Claim
from tests.reconciler.builders import FORECAST, MINUTE, START, contract, scribe
from tests.reconciler.test_arbiter import Purse

EURO = 1_000_000
RATE = EURO  # a unit-hour
LEAD = "tides-lead"


def test_a_growing_grant_waits_as_long_as_the_first_one() -> None:
    purse = Purse().bought()
    purse.cycle(8, fallback=3, wait=MINUTE)
    assert purse.cycle(6, fallback=3, wait=MINUTE).granted == {FORECAST: 3}
    assert purse.cycle(6, fallback=3, wait=ENTRY_WAIT_MS).granted == {FORECAST: 5}
    assert replace(purse.risks[FORECAST], since_event="").short_since


def test_a_wave_is_restored_in_steps_the_strictest_tier_first() -> None:
    lots = FRESH_LOTS + FRESH_LOTS // 2  # each of the two lacks so many whole instances
    strict = contract(minimum=4 * lots)
    lax = contract("hindcast", minimum=4 * lots, fallback=strict.fallback)
    assert strict.tier.rank < lax.tier.rank
    steps: list[tuple[int, int]] = []
    risks: Mapping[str, Risk] = {}
    wallet = Wallet()
    for cycle in range(5):
        ruling = rule(
            (lax, strict),
            claims={one.name: Claim(one.name, 0, 4 * lots) for one in (strict, lax)},
            standings={one.name: Standing(0, 0, 1, lot=4) for one in (strict, lax)},
            risks=risks,
            wallet=wallet,
            limits_micro={LEAD: EURO},
            day="2026-01-01",
            scribe=scribe(START + cycle * ENTRY_WAIT_MS),
        )
        risks, wallet = ruling.risks, ruling.wallet
        steps.append((ruling.granted.get(strict.name, 0) // 4, ruling.granted.get(lax.name, 0) // 4))
    half = FRESH_LOTS // 2
    assert steps == [(0, 0), (FRESH_LOTS, 0), (lots, half), (lots, lots), (lots, lots)]

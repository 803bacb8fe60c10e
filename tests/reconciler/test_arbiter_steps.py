"""Fallback is granted in steps: a growing grant waits as the first one did, a wave is restored strictest first, and a
grant stands for no more than its paid hours have room for, whoever remembers them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from contracts.model import Contract
from ledger.causes import Cause
from ledger.events import EventType
from reconciler.arbiter import (
    ENTRY_WAIT_MS,
    FRESH_LOTS,
    Risk,
    Standing,
    Wallet,
    rule,
)
from reconciler.claims import Claim
from reconciler.paid_hours import HOUR_MS, RENEW_MS, Hour
from tests.reconciler.builders import FORECAST, MINUTE, START, contract, scribe
from tests.reconciler.test_arbiter import Purse, limited

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


def test_what_failed_keeps_its_paid_place_until_it_is_gone() -> None:
    purse = Purse().bought()
    assert purse.cycle(7, fallback=2, held=2, failing=1, wait=MINUTE).granted == {FORECAST: 2}
    assert purse.cycle(7, fallback=2, held=3, failing=1, wait=MINUTE).granted == {FORECAST: 3}  # nothing goes for it
    assert purse.cycle(7, fallback=2, held=2, wait=MINUTE).granted == {FORECAST: 3}
    assert purse.wallet.by_workload == {FORECAST: 3 * RATE}


def test_an_hour_that_nobody_remembers_the_end_of_buys_nothing_without_money() -> None:
    purse = Purse()
    purse.risks = {FORECAST: Risk(hours=(Hour(3),), since_event="shortfall.began/north/forecast/1")}
    assert purse.cycle(7, fallback=2, held=2, money=False).granted == {FORECAST: 2}
    assert purse.cycle(7, fallback=2, held=3, money=False).granted == {FORECAST: 3}
    assert purse.risks[FORECAST].granted == 3
    assert purse.cycle(7, fallback=2, held=2).granted == {FORECAST: 3}
    assert purse.wallet.by_workload == {FORECAST: 3 * RATE}


@pytest.mark.parametrize(("euros", "granted", "reserved"), [(40, {FORECAST: 2}, 6), (3, {}, 3)])
def test_what_stays_for_a_floor_is_renewed_in_the_cycle_in_which_the_rest_goes_back(
    euros: int, granted: dict[str, int], reserved: int
) -> None:
    # an hour for three; then half an hour without anybody and the next hour, for the two that stay
    purse = Purse(authority_micro=euros * EURO).bought()
    purse.cycle(11, fallback=3, floor_owed=2)
    ruling = purse.cycle(11, fallback=3, wait=HOUR_MS + HOUR_MS // 2, floor_owed=2)
    assert ruling.granted == granted
    assert purse.wallet.reserved_micro == {LEAD: reserved * EURO}
    returned = [event for event in ruling.events if event.type is EventType.FALLBACK_RETURNED]
    assert [event.cause for event in returned] == [Cause.RECLAIMABLE_HELD]
    assert ruling.risks[FORECAST].spent is not bool(granted)


@pytest.mark.parametrize("money", [True, False], ids=["read anew", "not read now"])
def test_a_leader_without_memory_keeps_what_lost_its_contract_to_the_paid_end_that_the_wallet_tells(
    *, money: bool
) -> None:
    purse = Purse().bought()
    purse.contracts, purse.day = (limited("9.00", "other"),), "2026-01-02"
    purse.risks = {FORECAST: Risk(hours=(Hour(4),))}  # one more than was ever paid for
    assert purse.cycle(20, wait=HOUR_MS // 2, money=money).granted == {FORECAST: 3 if money else 4}
    assert purse.cycle(20, wait=HOUR_MS // 2 - 1).granted == {FORECAST: 3}
    assert not purse.cycle(20, wait=1).granted


def test_the_wallet_tells_until_when_every_workload_is_paid_whoevers_money_was_reserved_last() -> None:
    purse = Purse(limited("9.00"), limited("9.00", "other"))
    purse.cycle(5)
    assert purse.cycle(5, wait=ENTRY_WAIT_MS).granted == {FORECAST: 3, "other": 3}
    ends = purse.now + HOUR_MS
    assert purse.wallet.paid == {FORECAST: {str(ends): 3}, "other": {str(ends): 3}}
    purse.contracts = purse.contracts[1:]
    purse.risks = {FORECAST: Risk(hours=(Hour(3),)), "other": purse.risks["other"]}
    purse.cycle(5, fallback=3, wait=HOUR_MS - RENEW_MS)
    assert purse.wallet.paid == {FORECAST: {str(ends): 3}, "other": {str(ends + HOUR_MS): 3}}


def forbidden() -> Contract:
    """The contract without leave to buy fallback."""
    made = contract()
    return made.model_copy(update={"fallback": made.fallback.model_copy(update={"allowed": False})})


@pytest.mark.parametrize("now_", [limited("9.00", "other"), forbidden()], ids=["no contract", "no leave"])
def test_fallback_of_what_lost_its_contract_or_leave_is_granted_to_the_end_of_its_paid_hour(now_: Contract) -> None:
    purse = Purse().bought()
    purse.contracts = (now_,)
    assert purse.cycle(20, wait=HOUR_MS - 1).granted == {FORECAST: 3}
    assert not purse.cycle(20, wait=1).granted

"""Fallback: waits before it buys, reserves before it spends, and never exceeds anybody's authority."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.model import Contract
from contracts.values import Money
from ledger.causes import Cause
from ledger.events import EventType
from reconciler.arbiter import (
    ENTRY_WAIT_MS,
    EXIT_HOLD_MS,
    Risk,
    Ruling,
    Standing,
    Wallet,
    rule,
)
from reconciler.claims import Claim
from reconciler.paid_hours import HOUR_MS, RENEW_MS, RETURN_MS, Hour
from tests.reconciler.builders import FORECAST, MINUTE, START, contract, scribe

EURO = 1_000_000
RATE = EURO  # a unit-hour
LEAD = "tides-lead"


class Purse:
    """One or more contracts under the arbiter, cycle by cycle; `forecast` wants 8 units at least."""

    def __init__(self, *contracts: Contract, authority_micro: int = 40 * EURO) -> None:
        self.contracts = contracts or (contract(),)
        self.limits = {LEAD: authority_micro}
        self.risks: dict[str, Risk] = {}
        self.wallet = Wallet()
        self.now = START
        self.day = "2026-01-01"
        self.lot = 1
        self.events: list[tuple[EventType, Cause]] = []

    def cycle(
        self,
        running: int,
        *,
        fallback: int = 0,
        wait: int = 0,
        rate: int | None = RATE,
        frozen: bool = False,
        kept: bool = False,
        floor_owed: int = 0,
        held: int = 0,
        failing: int = 0,
        money: bool = True,
    ) -> Ruling:
        self.now += wait
        names = [c.name for c in self.contracts]
        ruling = rule(
            self.contracts,
            claims={name: Claim(name, 4, 16) for name in names},
            standings={name: Standing(running, fallback, rate, self.lot, floor_owed, held, failing) for name in names},
            risks=self.risks,
            wallet=self.wallet,
            limits_micro=self.limits,
            day=self.day,
            scribe=scribe(self.now),
            frozen=frozenset(names) | self.risks.keys() if frozen else frozenset(),
            kept=frozenset(names) if kept else frozenset(),
            money=money,
        )
        self.risks, self.wallet = ruling.risks, ruling.wallet
        self.events += [(event.type, event.cause) for event in ruling.events]
        return ruling

    def bought(self) -> Purse:
        """After a shortfall of three units that outlasted the wait."""
        self.cycle(5)
        assert self.cycle(5, wait=ENTRY_WAIT_MS).granted == {FORECAST: 3}
        return self


def limited(euros: str, name: str = FORECAST) -> Contract:
    made = contract()
    fallback = made.fallback.model_copy(update={"limit_per_day": Money(Decimal(euros), "EUR")})
    return made.model_copy(update={"fallback": fallback, "name": name})


def test_a_shortfall_that_heals_within_five_minutes_buys_nothing() -> None:
    purse = Purse()
    assert not purse.cycle(5).granted
    assert not purse.cycle(5, wait=ENTRY_WAIT_MS - 1).granted
    assert not purse.cycle(8, wait=1).granted
    assert not purse.wallet.reserved_micro


def test_a_lasting_shortfall_is_granted_and_its_hour_is_reserved_first() -> None:
    purse = Purse().bought()
    assert purse.wallet.reserved_micro == {LEAD: 3 * EURO}
    assert (EventType.FALLBACK_RESERVED, Cause.SHORTFALL) in purse.events


@pytest.mark.parametrize(("left", "granted"), [(40, 4), (7, 4), (3, None)])
def test_money_is_reserved_for_whole_instances_or_not_at_all(left: int, granted: int | None) -> None:
    # three units are missing and four come with one instance: an authority of three euros buys none
    purse = Purse(authority_micro=left * EURO)
    purse.lot = 4
    purse.cycle(5)
    ruling = purse.cycle(5, wait=ENTRY_WAIT_MS)
    assert ruling.granted.get(FORECAST) == granted
    assert purse.wallet.reserved_micro.get(LEAD, 0) == (granted or 0) * EURO


def test_a_workload_that_claims_less_than_its_minimum_is_short_of_its_claim_only() -> None:
    claims = {FORECAST: Claim(FORECAST, 4, 1)}
    ruling = rule(
        (contract(),),
        claims=claims,
        standings={FORECAST: Standing(5, 0, RATE)},
        risks={},
        wallet=Wallet(),
        limits_micro={LEAD: EURO},
        day="1",
        scribe=scribe(),
    )
    assert not ruling.risks


def test_fallback_is_kept_for_half_an_hour_after_reclaimable_capacity_is_back() -> None:
    purse = Purse().bought()
    assert purse.cycle(11, fallback=3, wait=MINUTE).granted
    assert purse.cycle(11, fallback=3, wait=EXIT_HOLD_MS - 1).granted
    assert not purse.cycle(11, fallback=3, wait=1).granted
    assert (EventType.FALLBACK_RETURNED, Cause.RECLAIMABLE_HELD) in purse.events


def test_fallback_that_is_kept_is_not_given_back_and_more_is_bought_all_the_same() -> None:
    purse = Purse().bought()
    purse.cycle(11, fallback=3, wait=MINUTE)
    assert purse.cycle(11, fallback=3, wait=EXIT_HOLD_MS, kept=True).granted == {FORECAST: 3}
    purse.cycle(4, fallback=3, kept=True)
    assert purse.cycle(4, fallback=3, wait=ENTRY_WAIT_MS, kept=True).granted == {FORECAST: 7}
    purse.cycle(15, fallback=7)
    assert not purse.cycle(15, fallback=7, wait=EXIT_HOLD_MS).granted


@pytest.mark.parametrize(("frozen", "granted"), [(True, {FORECAST: 3}), (False, {})])
def test_what_nobody_remembers_the_contract_or_the_end_of_stays_while_all_is_frozen(
    frozen: bool, granted: dict[str, int]
) -> None:
    purse = Purse(limited("9.00", "other"))
    purse.risks = {FORECAST: Risk(hours=(Hour(3),))}
    for _ in range(2):
        assert purse.cycle(20, wait=HOUR_MS, frozen=frozen).granted == granted


def test_one_bad_cycle_starts_the_half_hour_anew() -> None:
    purse = Purse().bought()
    purse.cycle(11, fallback=3, wait=MINUTE)
    purse.cycle(10, fallback=3, wait=20 * MINUTE)
    assert purse.cycle(11, fallback=3, wait=20 * MINUTE).granted


def test_each_further_hour_is_reserved_twenty_minutes_ahead_and_follows_the_last_one() -> None:
    purse = Purse().bought()
    (paid,) = purse.risks[FORECAST].hours
    purse.cycle(8, fallback=3, wait=HOUR_MS - RENEW_MS - 1)
    assert purse.wallet.reserved_micro == {LEAD: 3 * EURO}
    purse.cycle(8, fallback=3, wait=1)
    assert purse.wallet.reserved_micro == {LEAD: 6 * EURO}
    assert purse.risks[FORECAST].hours == (replace(paid, until=paid.until + HOUR_MS),)


def test_what_is_bought_later_is_paid_to_an_end_of_its_own() -> None:
    purse = Purse().bought()
    purse.cycle(8, fallback=3, wait=HOUR_MS - RENEW_MS)
    purse.cycle(5, fallback=3)  # three more are missing, and the hour in hand lasts eighty minutes
    purse.cycle(5, fallback=3, wait=ENTRY_WAIT_MS)
    assert [(paid.units, paid.until - purse.now) for paid in purse.risks[FORECAST].hours] == [
        (3, HOUR_MS),
        (3, HOUR_MS + RENEW_MS - ENTRY_WAIT_MS),
    ]
    assert purse.wallet.reserved_micro == {LEAD: 9 * EURO}


def test_what_is_paid_for_longer_stays_when_money_for_the_rest_runs_out() -> None:
    purse = Purse(authority_micro=10 * EURO).bought()
    assert purse.cycle(4, fallback=3, wait=6 * MINUTE).granted == {FORECAST: 7}  # four more are missing
    first = HOUR_MS - 6 * MINUTE - RETURN_MS  # the first three are renewed with what is left
    assert purse.cycle(8, fallback=7, wait=first).granted == {FORECAST: 7}
    assert purse.cycle(8, fallback=7, wait=6 * MINUTE - 1).granted == {FORECAST: 7}
    assert purse.cycle(8, fallback=7, wait=1).granted == {FORECAST: 3}
    assert purse.risks[FORECAST].spent
    assert purse.wallet.reserved_micro == {LEAD: 10 * EURO}


def test_nothing_grows_while_an_hour_waits_for_its_renewal() -> None:
    purse = Purse(authority_micro=4 * EURO).bought()
    assert purse.cycle(4, fallback=3, wait=HOUR_MS - RENEW_MS).granted == {FORECAST: 3}
    assert purse.wallet.reserved_micro == {LEAD: 3 * EURO}


def test_what_cannot_be_renewed_pages_first_and_goes_back_ten_minutes_before_its_hour_ends() -> None:
    purse = Purse(authority_micro=5 * EURO).bought()
    waiting = purse.cycle(8, fallback=3, wait=HOUR_MS - RENEW_MS)
    assert (waiting.granted, waiting.paged) == ({FORECAST: 3}, [FORECAST])
    assert purse.cycle(8, fallback=3, wait=RENEW_MS - RETURN_MS - 1).granted == {FORECAST: 3}
    assert purse.cycle(8, fallback=3, wait=1).granted == {FORECAST: 2}
    assert purse.risks[FORECAST].spent
    assert purse.wallet.reserved_micro == {LEAD: 5 * EURO}


def test_an_approver_who_raises_the_limit_in_time_keeps_the_fallback() -> None:
    purse = Purse(authority_micro=3 * EURO).bought()
    purse.cycle(8, fallback=3, wait=HOUR_MS - RENEW_MS)
    purse.limits = {LEAD: 6 * EURO}
    assert purse.cycle(8, fallback=3, wait=5 * MINUTE).granted == {FORECAST: 3}
    assert (EventType.FALLBACK_RETURNED, Cause.AUTHORITY_SPENT) not in purse.events


def test_fallback_that_stands_in_for_a_lost_floor_stays_until_the_floor_is_back() -> None:
    purse = Purse().bought()
    purse.cycle(11, fallback=3, floor_owed=1)
    assert purse.cycle(11, fallback=3, wait=EXIT_HOLD_MS, floor_owed=1).granted == {FORECAST: 1}
    assert not purse.cycle(9, fallback=1, wait=MINUTE).granted


def test_without_a_rate_nothing_is_bought() -> None:
    purse = Purse()
    purse.cycle(5, rate=None)
    assert not purse.cycle(5, wait=ENTRY_WAIT_MS, rate=None).granted
    assert not purse.wallet.reserved_micro


def test_a_rate_card_that_falls_silent_takes_no_standing_fallback_away() -> None:
    purse = Purse().bought()
    assert purse.cycle(8, fallback=3, wait=HOUR_MS, rate=None).granted == {FORECAST: 3}
    assert purse.wallet.reserved_micro == {LEAD: 6 * EURO}


def test_what_the_authority_cannot_pay_in_full_is_granted_in_part_and_the_approver_is_paged() -> None:
    purse = Purse(authority_micro=2 * EURO)
    purse.cycle(5)
    ruling = purse.cycle(5, wait=ENTRY_WAIT_MS)
    assert ruling.granted == {FORECAST: 2}
    assert ruling.paged == [FORECAST]
    (event,) = [e for e in ruling.events if e.type is EventType.GUARD_REFUSED]
    assert event.id.endswith(f"/{event.occurred_at}"), "an epoch may serve again, and page anew"
    assert (event.data["units"], event.data["left"], event.data["approver"]) == (3, "2.000000", "head-of-cloud")


def test_the_approver_is_paged_once_a_day_and_not_once_a_cycle() -> None:
    purse = Purse(authority_micro=0)
    purse.cycle(5)
    pages = [purse.cycle(5, wait=ENTRY_WAIT_MS).paged for _ in range(4)]
    assert pages == [[FORECAST], [], [], []]


def test_a_grant_that_nobody_can_pay_any_more_goes_back() -> None:
    purse = Purse(authority_micro=3 * EURO).bought()
    assert not purse.cycle(8, fallback=3, wait=HOUR_MS).granted
    assert (EventType.FALLBACK_RETURNED, Cause.AUTHORITY_SPENT) in purse.events


def test_one_persons_contracts_share_one_authority() -> None:
    purse = Purse(limited("20"), limited("20", "nowcast"), authority_micro=4 * EURO)
    purse.cycle(5)
    ruling = purse.cycle(5, wait=ENTRY_WAIT_MS)
    assert sum(ruling.granted.values()) == 4


def test_what_one_contract_spends_is_not_held_against_anothers_own_limit() -> None:
    purse = Purse(limited("3"), limited("3", "nowcast"))
    purse.cycle(5)
    assert purse.cycle(5, wait=ENTRY_WAIT_MS).granted == {FORECAST: 3, "nowcast": 3}


def test_a_contracts_own_limit_holds_under_a_larger_authority() -> None:
    purse = Purse(limited("2"))
    purse.cycle(5)
    assert purse.cycle(5, wait=ENTRY_WAIT_MS).granted == {FORECAST: 2}


def test_the_strictest_tier_is_served_first_from_one_authority() -> None:
    loose = limited("20", "aaa").model_copy(update={"tier": type(contract().tier).SCAVENGER})
    purse = Purse(loose, limited("20"), authority_micro=3 * EURO)
    purse.cycle(5)
    assert purse.cycle(5, wait=ENTRY_WAIT_MS).granted == {FORECAST: 3}


@pytest.mark.parametrize(("owed", "granted"), [(0, {FORECAST: 4}), (3, {FORECAST: 1}), (4, {})])
def test_what_a_floor_brings_back_from_headroom_is_not_bought_as_fallback(owed: int, granted: dict[str, int]) -> None:
    risks: dict[str, Risk] = {}
    for now in (START, START + ENTRY_WAIT_MS):
        ruling = rule(
            (contract(),),
            claims={FORECAST: Claim(FORECAST, 4, 16)},
            standings={FORECAST: Standing(4, 0, RATE, floor_owed=owed)},
            risks=risks,
            wallet=Wallet(),
            limits_micro={LEAD: 40 * EURO},
            day="1",
            scribe=scribe(now),
        )
        risks = ruling.risks
    assert ruling.granted == granted


def test_fallback_that_stands_is_paid_for_anew_where_nobody_remembers_it() -> None:
    purse = Purse()
    assert purse.cycle(8, fallback=3).granted == {FORECAST: 3}
    assert purse.wallet.reserved_micro == {LEAD: 3 * EURO}
    assert not Purse().cycle(11, fallback=3).granted  # it is not needed


@pytest.mark.parametrize(
    ("left", "frozen", "granted"),
    [(RETURN_MS + 1, False, 3), (RETURN_MS, False, 0), (-5 * HOUR_MS, False, 0), (RETURN_MS, True, 3)],
)
def test_without_money_what_stands_stays_until_it_has_to_go_back(left: int, frozen: bool, granted: int) -> None:
    purse = Purse().bought()
    before = purse.wallet
    ruling = rule(
        purse.contracts,
        claims={FORECAST: Claim(FORECAST, 4, 16)},
        standings={FORECAST: Standing(6, 3, RATE)},
        risks=purse.risks,
        wallet=purse.wallet,
        limits_micro=purse.limits,
        day="2026-01-02",
        scribe=scribe(purse.now + HOUR_MS - left),
        money=False,
        frozen=frozenset({FORECAST}) if frozen else frozenset(),
    )
    assert (ruling.granted.get(FORECAST, 0), ruling.wallet) == (granted, before)
    assert [event.cause for event in ruling.events] == ([] if granted else [Cause.AUTHORITY_SPENT])


def test_on_a_closed_day_nothing_is_bought_and_the_next_day_opens() -> None:
    purse = Purse()
    purse.wallet = Wallet(purse.day, closed=True)
    purse.cycle(5)
    assert not purse.cycle(5, wait=ENTRY_WAIT_MS).granted
    purse.day = "2026-01-02"
    assert purse.cycle(5, wait=MINUTE).granted == {FORECAST: 3}


def test_while_the_guard_lets_nothing_out_no_money_is_reserved_for_it() -> None:
    purse = Purse()
    purse.cycle(5, frozen=True)
    assert not purse.cycle(5, wait=ENTRY_WAIT_MS, frozen=True).granted
    assert not purse.wallet.reserved_micro


def test_a_clock_that_is_set_back_a_day_opens_no_new_limit() -> None:
    purse = Purse(authority_micro=3 * EURO).bought()
    purse.day = "2025-12-31"
    assert not purse.cycle(8, fallback=3, wait=HOUR_MS).granted
    assert purse.wallet.reserved_micro == {LEAD: 3 * EURO}


moves = st.tuples(
    st.integers(0, 12),
    st.integers(0, 2 * HOUR_MS),
    st.sampled_from([None, 1, RATE // 3, RATE, 7 * RATE]),
    st.integers(0, 2),
)


@given(st.lists(moves, max_size=40), st.integers(0, 12 * EURO))
def test_no_sequence_reserves_more_in_a_day_than_the_authority(
    steps: list[tuple[int, int, int | None, int]], authority: int
) -> None:
    purse = Purse(limited("5"), limited("20", "nowcast"), authority_micro=authority)
    spent: dict[str, Decimal] = {}
    days = ("2026-01-01", "2026-01-02", "2026-01-03")
    latest = ""
    for running, wait, rate, day in steps:
        purse.day = days[day]
        latest = max(latest, purse.day)
        ruling = purse.cycle(running, fallback=min(running, 3), wait=wait, rate=rate)
        for event in ruling.events:
            if event.type is EventType.FALLBACK_RESERVED:
                spent[latest] = spent.get(latest, Decimal(0)) + Decimal(str(event.data["amount"]))
    assert all(total * EURO <= authority for total in spent.values())
    assert purse.wallet.by_workload.get(FORECAST, 0) <= 5 * EURO

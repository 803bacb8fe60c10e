"""What a leader makes of the wallet that it finds, and that no history of two leaders exceeds an authority."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import Refused, Transient
from ledger.events import EventType
from reconciler.arbiter import ENTRY_WAIT_MS, Risk, Standing, Wallet, rule
from reconciler.claims import Claim
from reconciler.leadership import Leadership
from reconciler.opening import open_day
from reconciler.paid_hours import HOUR_MS
from reconciler.ports import Versioned
from reconciler.reservations import Reservations
from reconciler.store_faulty import FaultyStore
from reconciler.store_memory import MemoryStore
from reconciler.wallets import read_wallet, write_wallet
from tests.reconciler.builders import FORECAST, REGION, START, contract, scribe

KEY = f"reservations/{REGION}"
LEAD = "tides-lead"

# -- what a leader makes of the wallet that it finds ------------------------------------------------------------------

DAY = "2026-01-02"
FULL = Wallet(DAY, {LEAD: 5}, {FORECAST: 5}, epoch=3)
PAID = replace(FULL, paid={FORECAST: {"9": 7}})


class Leads(Leadership):
    """A leadership that stands as a test says."""

    def __init__(self, epoch: int, *, succeeded: int = 0, before: int = 0, older: bool = False) -> None:
        super().__init__(MemoryStore(), key="lease", holder="a", monotonic=lambda: 0)
        self.epoch, self.succeeded, self.before, self.older = epoch, succeeded, before, older

    def holds(self) -> bool:
        """It stands for the whole test."""
        return True


def found(stored: Wallet | None, copy: Wallet, leads: Leads, day: str = DAY) -> Wallet:
    """What the leader writes."""
    store = MemoryStore()
    if stored is not None:
        store.put(KEY, write_wallet(stored), expected="")
    wallet = Reservations(store, key=KEY, leadership=leads).read(copy, day=day, leads=True)
    assert wallet is not None
    assert read_wallet(store.values[KEY].value) == wallet
    return wallet


def test_a_new_leader_puts_its_epoch_on_the_wallet_so_that_the_old_one_writes_no_more() -> None:
    assert found(FULL, Wallet(), Leads(4, succeeded=3)) == replace(FULL, epoch=4)


def test_the_last_leaders_own_copy_of_the_same_day_rebuilds_a_lost_wallet() -> None:
    assert found(None, FULL, Leads(4, succeeded=3)) == replace(FULL, epoch=4)
    assert found(None, FULL, Leads(4, before=3)) == replace(FULL, epoch=4)


@pytest.mark.parametrize(
    ("leads", "copy"),
    [
        (Leads(4), FULL),  # the store does not say who led last
        (Leads(9, succeeded=3), FULL),  # a later epoch was seen
        (Leads(5, succeeded=4), FULL),  # another led after us
        (Leads(4, succeeded=3), replace(FULL, day="2026-01-01")),  # who knows what happened today
        (Leads(4, succeeded=3), Wallet()),
        (Leads(4, succeeded=3), replace(FULL, closed=True)),
    ],
)
def test_any_other_copy_closes_the_day(leads: Leads, copy: Wallet) -> None:
    made = found(None, copy, leads)
    assert (made.day, made.closed, made.epoch) == (DAY, True, leads.epoch)


def test_a_store_from_earlier_days_closes_the_day_whatever_it_says() -> None:
    assert found(FULL, Wallet(), Leads(9, succeeded=3, older=True)).closed
    assert found(replace(FULL, epoch=9), Wallet(), Leads(9, succeeded=3, older=True)) == replace(FULL, epoch=9)


def test_less_in_the_store_than_in_our_own_copy_is_an_older_store_and_the_larger_totals_stay() -> None:
    copy = Wallet(DAY, {LEAD: 4, "other": 2}, {FORECAST: 6}, epoch=3)
    assert found(FULL, copy, Leads(5, succeeded=4)) == Wallet(
        DAY, {LEAD: 5, "other": 2}, {FORECAST: 6}, epoch=5, closed=True
    )
    assert found(replace(FULL, day="2026-01-01"), copy, Leads(5, succeeded=4)).closed


def test_a_clock_that_is_set_back_closes_the_later_day_and_opens_none() -> None:
    made = found(None, FULL, Leads(9), day="2026-01-01")
    assert (made.day, made.closed) == (DAY, True)


def test_a_wallet_that_a_later_leader_wrote_is_not_ours_to_use() -> None:
    store = MemoryStore()
    store.put(KEY, write_wallet(FULL), expected="")
    reservations = Reservations(store, key=KEY, leadership=Leads(2))
    assert reservations.read(FULL, day=DAY, leads=True) is None
    assert "epoch 3" in reservations.problem


def test_what_another_wrote_since_the_cycle_began_is_never_overwritten() -> None:
    store = MemoryStore()
    first = store.put(KEY, write_wallet(FULL), expected="")
    reservations = Reservations(store, key=KEY, leadership=Leads(3))
    assert reservations.read(FULL, day=DAY, leads=True) == FULL
    store.put(KEY, write_wallet(replace(FULL, reserved_micro={LEAD: 9})), expected=first)
    assert not reservations._write(replace(FULL, reserved_micro={LEAD: 6}))
    assert read_wallet(store.values[KEY].value).reserved_micro == {LEAD: 9}


def test_who_does_not_lead_sees_a_lost_wallet_as_a_closed_day_and_writes_nothing() -> None:
    store = MemoryStore()
    reservations = Reservations(store, key=KEY, leadership=Leads(0))
    assert reservations.read(FULL, day=DAY, leads=False) == Wallet(DAY, closed=True)
    assert not store.values


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"null",
        b"[" * 1000,
        write_wallet(FULL)[:-1],
        write_wallet(FULL).replace(b"5", b"-5"),
        write_wallet(FULL).replace(b"5", b"5.0"),
        write_wallet(FULL).replace(b":5", b":true"),
        write_wallet(FULL).replace(b"false", b"0"),
        write_wallet(FULL).replace(b'"epoch"', b'"EPOCH"'),
        write_wallet(PAID).replace(b'"9"', b'"-9"'),
        write_wallet(PAID).replace(b'"9"', b'"nine"'),
        write_wallet(PAID).replace(b"7", b"-7"),
        write_wallet(PAID).replace(b'{"9":7}', b"7"),
    ],
)
def test_a_damaged_wallet_never_says_that_nothing_was_reserved(raw: bytes) -> None:
    store = MemoryStore()
    store.values[KEY] = Versioned(raw, "1")
    reservations = Reservations(store, key=KEY, leadership=Leads(4, succeeded=3))
    assert reservations.read(FULL, day=DAY, leads=True) is None
    assert "damaged" in reservations.problem
    with pytest.raises(Refused, match="damaged"):
        open_day(store, key=KEY, day=DAY)


@given(
    st.builds(
        Wallet,
        day=st.text(max_size=10),
        reserved_micro=st.dictionaries(st.text(max_size=5), st.integers(0, 2**53), max_size=4),
        by_workload=st.dictionaries(st.text(max_size=5), st.integers(0, 2**53), max_size=4),
        epoch=st.integers(0, 2**53),
        closed=st.booleans(),
        paid=st.dictionaries(
            st.text(max_size=5),
            st.dictionaries(st.integers(1, 2**53).map(str), st.integers(0, 2**53), max_size=3),
            max_size=3,
        ),
    )
)
def test_a_wallet_says_what_was_written(wallet: Wallet) -> None:
    assert read_wallet(write_wallet(wallet)) == wallet


@pytest.mark.parametrize(
    ("stored", "copy", "leads"),
    [
        (PAID, Wallet(), Leads(4, succeeded=3)),
        (None, PAID, Leads(3)),
        (PAID, replace(FULL, reserved_micro={LEAD: 6}, epoch=2), Leads(9)),
    ],
    ids=["a new leader", "a lost store", "a closed day"],
)
def test_until_when_fallback_is_paid_outlives_whoever_paid(stored: Wallet | None, copy: Wallet, leads: Leads) -> None:
    assert found(stored, copy, leads).paid == PAID.paid


def test_a_day_that_a_person_opens_ends_no_paid_hour() -> None:
    store = MemoryStore()
    store.put(KEY, write_wallet(PAID), expected="")
    open_day(store, key=KEY, day="2026-01-03")
    assert read_wallet(store.values[KEY].value) == Wallet("2026-01-03", epoch=3, paid=PAID.paid)


# -- two leaders, crashes, clocks -------------------------------------------------------------------------------------


class Buyer:
    """One replica that believes that it leads, and buys for `forecast` whatever it is granted."""

    def __init__(self, wire: FaultyStore, epoch: int) -> None:
        self.wire = wire
        self.restart(epoch, copy=Wallet())

    def restart(self, epoch: int, copy: Wallet) -> None:
        self.leads = Leads(epoch, succeeded=epoch - 1)
        self.reservations = Reservations(self.wire, key=KEY, leadership=self.leads)
        self.copy, self.risks = copy, dict[str, Risk]()

    def cycle(self, now: int, day: str, missing: int) -> int:
        """What is bought in this cycle, in money."""
        wallet = self.reservations.read(self.copy, day=day, leads=True)
        ruling = rule(
            (contract(),),
            claims={FORECAST: Claim(FORECAST, 4, 16)},
            standings={FORECAST: Standing(8 - missing, 0, 1_000_000)},
            risks=self.risks,
            wallet=self.copy if wallet is None else wallet,
            money=wallet is not None,
            limits_micro={LEAD: AUTHORITY},
            day=day,
            scribe=scribe(now),
        )
        spent = sum(int(float(e.data["amount"]) * 1e6) for e in ruling.events if e.type is EventType.FALLBACK_RESERVED)
        if spent and not self.reservations._write(ruling.wallet):
            return 0
        self.risks, self.copy = ruling.risks, ruling.wallet
        return spent


AUTHORITY = 12_000_000
MOVES = ("cycle", "cycle", "cycle", "lose", "fail", "delay", "deliver", "crash", "succeed", "empty")

moves = st.tuples(st.sampled_from(MOVES), st.integers(0, 1), st.integers(0, 8), st.integers(0, 2))


class History:
    """Two replicas that follow each other; a deposed one goes on until the store is lost, and its writes come late."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        open_day(self.store, key=KEY, day="2026-01-01")
        self.wires = (FaultyStore(self.store), FaultyStore(self.store))
        self.buyers = (Buyer(self.wires[0], 1), Buyer(self.wires[1], 2))
        self.now, self.epoch, self.lost_under = START, 2, 0
        self.spent: dict[str, int] = {}

    def do(self, move: str, who: int, missing: int, day: int) -> None:
        self.now += ENTRY_WAIT_MS if missing % 2 else HOUR_MS
        wire, buyer = self.wires[who], self.buyers[who]
        if move == "cycle" and buyer.leads.epoch >= self.lost_under:
            amount = buyer.cycle(self.now, f"2026-01-0{day + 1}", missing)
            # it counts for the day of the wallet that it was taken from
            self.spent[buyer.copy.day] = self.spent.get(buyer.copy.day, 0) + amount
        elif move in ("crash", "succeed"):
            # the journal of a process that crashed is what it knew; a new machine knows nothing
            self.epoch += 1
            buyer.restart(self.epoch, buyer.copy if move == "crash" else Wallet())
        elif move == "empty":
            self.store.values.pop(KEY, None)
            self.lost_under = self.epoch
        elif move == "lose":
            wire.lose_answers(Transient("no answer"))
        elif move == "fail":
            wire.fail("put", Transient("silent"))
        elif move == "delay":
            wire.delay_writes(1)
        elif move == "deliver":
            wire.deliver()


@settings(max_examples=200, deadline=None)
@given(st.lists(moves, max_size=60))
def test_no_history_of_two_leaders_spends_more_in_a_day_than_the_authority(
    moves: list[tuple[str, int, int, int]],
) -> None:
    history = History()
    for move in moves:
        history.do(*move)
    assert all(amount <= AUTHORITY for amount in history.spent.values())

"""Reservations: the store has them before anything is bought, and what is not known is not spent."""

from __future__ import annotations

import pytest

from contracts.errors import EbbtideError, Refused, Transient
from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.fake import Room
from pools.provider import Conflict, Server
from reconciler.appraisal import Appraiser
from reconciler.arbiter import Wallet
from reconciler.desired import partition
from reconciler.fakes import FakeJournal
from reconciler.leadership import Leadership
from reconciler.lease import TERMS
from reconciler.loop import Reconciler
from reconciler.opening import open_day
from reconciler.reservations import Reservations, witnessed
from reconciler.store_faulty import FaultyStore
from reconciler.store_memory import MemoryStore
from reconciler.wallets import read_wallet
from tests.reconciler.builders import FORECAST, HINDCAST, HOUR, REGION, Region, local_day

KEY = f"reservations/{REGION}"
LEAD = "tides-lead"
HOURLY = 1_600_000
"""Four units of `forecast` for an hour, in millionths of a euro."""


def starved(region: Region | None = None) -> Region:
    """Every reclaimable instance of `forecast` is lost, and no reclaimable capacity is left."""
    region = region or Region().settled(12)
    for pool in region.part.pools:
        if not pool.committed:
            region.cloud.capacity[pool.domain] = Room(0, 0, 0)
    for instance in region.ours():
        if instance.paid is Paid.RECLAIMABLE:
            region.cloud.lose(instance.server, reason="host failed")
    return region


def wallet(region: Region) -> Wallet:
    return read_wallet(region.store.values[KEY].value)


def fallback(region: Region) -> int:
    return sum(1 for i in region.ours() if i.paid is Paid.FALLBACK)


class Wired(Region):
    """A region whose reconciler reaches the store over wires that fail."""

    def __init__(self) -> None:
        super().__init__()
        self.wire = FaultyStore(self.store)
        self.reconciler.reservations._store = self.wire


# -- in the loop ------------------------------------------------------------------------------------------------------


def test_money_is_in_the_store_before_the_provider_hears_of_a_purchase() -> None:
    region = starved()
    made = region.cloud.plant
    reserved = []

    def check(*args: object, **more: object) -> Server:
        reserved.append(wallet(region).reserved_micro.get(LEAD, 0))
        return made(*args, **more)  # type: ignore[arg-type]  # handed on as it came

    region.cloud.plant = check  # type: ignore[method-assign]  # the fake's stage, not our code
    region.cycles(8)
    assert fallback(region) == 4
    assert reserved == [HOURLY] * 4
    assert [event.data["amount"] for event in region.told(EventType.FALLBACK_RESERVED)] == ["1.600000"]


@pytest.mark.parametrize("error", [Transient("silent"), Conflict("another was faster"), Refused("403")])
def test_what_the_store_does_not_take_is_neither_bought_nor_told_and_comes_back(error: EbbtideError) -> None:
    region = Wired()
    starved(region.settled(12))
    region.cycles(5)
    region.wire.fail("put", error, error)
    for again in range(1, 3):
        decision = region.cycle()
        assert not [step for step in decision.allowed if step.paid is Paid.FALLBACK]
        assert not fallback(region)
        assert not region.told(EventType.FALLBACK_RESERVED)
        assert not region.reconciler.memory.risks[FORECAST].granted
        assert not region.reconciler.memory.wallet.reserved_micro
        assert (region.reconciler.deferred, region.reconciler.stalled) == (4, again)
    region.cycle()
    assert fallback(region) == 4
    assert wallet(region).reserved_micro == {LEAD: HOURLY}
    assert region.reconciler.memory.guard.acquired[-1][1] == 4


def test_a_reservation_whose_answer_was_lost_wastes_an_hour_and_exceeds_nothing() -> None:
    region = Wired()
    starved(region.settled(12))
    region.cycles(5)
    region.wire.lose_answers(Transient("no answer"))
    region.cycles(2)
    assert fallback(region) == 4
    assert wallet(region).reserved_micro == {LEAD: 2 * HOURLY}
    assert len(region.told(EventType.FALLBACK_RESERVED)) == 1


def test_a_wallet_that_cannot_be_read_lets_everything_but_money_go_on() -> None:
    region = Wired()
    starved(region.settled(12))
    region.cycles(5)
    region.wire.fail("get", *[Transient("silent")] * 3)
    region.schedulers.want(HINDCAST, 0)
    region.cycles(3)
    assert not fallback(region)
    region.cycles(2)
    assert fallback(region) == 4


def test_fallback_stays_while_its_wallet_cannot_be_read_and_goes_back_before_its_hour_ends() -> None:
    region = Wired()
    starved(region.settled(12))
    region.cycles(8)
    region.wire.fail("get", *[Transient("silent")] * 70)
    region.cycles(40)
    assert fallback(region) == 4
    region.cycles(20)
    assert not any(one.supply for one in region.ours() if one.paid is Paid.FALLBACK)
    (back,) = region.told(EventType.FALLBACK_RETURNED)
    assert back.cause is Cause.AUTHORITY_SPENT
    assert wallet(region).reserved_micro == {LEAD: HOURLY}


def test_whose_lease_ended_after_it_read_the_wallet_writes_nothing_into_it() -> None:
    region = starved()
    region.cycles(8)
    before = region.store.values[KEY]
    other = MemoryStore()
    other.values = region.store.values
    now = [0]
    deposed = Leadership(other, key="lease/other", holder="b", monotonic=lambda: now[0])
    while not deposed.ensure():
        assert now[0] <= TERMS.term + TERMS.call
        now[0] += TERMS.renew
    reservations = Reservations(other, key=KEY, leadership=deposed)
    deposed.epoch = 9
    now[0] += TERMS.deadline + 1
    assert reservations.read(Wallet(), day=local_day(region.now), leads=True) is None
    assert region.store.values[KEY] == before


def test_a_lost_wallet_is_written_anew_by_the_leader_that_wrote_it() -> None:
    region = starved()
    region.cycles(8)
    del region.store.values[KEY]
    region.cycle()
    assert wallet(region).reserved_micro == {LEAD: HOURLY}
    assert not wallet(region).closed


def test_an_older_wallet_is_not_believed_by_the_leader_that_wrote_the_newer_one() -> None:
    region = starved()
    older = region.store.values[KEY]
    region.cycles(8)
    region.store.values[KEY] = older
    region.cycle()
    assert wallet(region).reserved_micro == {LEAD: HOURLY}


def test_over_a_lost_store_another_leader_spends_nothing_until_the_next_day() -> None:
    region = Region().settled(12)
    del region.store.values[KEY]
    region.reconciler = region.leader()
    region.cycles(1)
    starved(region)
    region.cycles(10)
    assert not fallback(region)
    assert wallet(region).closed
    (page,) = [event for event in region.told(EventType.GUARD_REFUSED) if event.data.get("action") == "fallback"]
    assert page.data["reserved"] == "unknown"
    region.now += 24 * HOUR
    region.cycles(10)
    assert fallback(region) == 4
    assert wallet(region).day == local_day(region.now)


def test_a_clock_in_doubt_spends_nothing_and_opens_no_day() -> None:
    region = starved()
    region.cycles(4)
    before = wallet(region)
    region.set_by = 25 * HOUR  # a day ahead, and every wait would be over
    region.cycles(5)
    assert not region.told(EventType.FALLBACK_RESERVED)
    assert wallet(region) == before
    region.set_by = 0
    region.cycles(5)
    assert fallback(region) == 4
    assert wallet(region).day == local_day(region.now)


def test_a_person_may_open_a_day_that_was_closed() -> None:
    region = Region().settled(12)
    del region.store.values[KEY]
    region.reconciler = region.leader()
    region.cycles(1)
    starved(region)
    region.cycles(10)
    open_day(region.store, key=KEY, day=local_day(region.now), who=LEAD, at=region.now)
    region.cycles(2)
    assert fallback(region) == 4


def test_the_word_that_opened_a_day_is_told_once_also_by_the_next_leader() -> None:
    region = Region().settled(12)
    day = local_day(region.now)
    open_day(region.store, key=KEY, day=day, who=LEAD, at=region.now)
    region.cycles(3)
    region.reconciler = region.leader()
    region.cycles(2)
    told = region.told(EventType.DAY_OPENED)
    assert {(event.data["who"], event.data["day"]) for event in told} == {(LEAD, day)}
    assert len({event.id for event in told}) == 1  # an empty memory tells it under the same id


def test_a_replica_that_does_not_lead_writes_nothing() -> None:
    region = starved()
    before = dict(region.store.values)
    region.now += HOUR
    region.reconciler.cycle(dry_run=True)
    assert region.store.values == before


def test_a_leader_with_an_empty_memory_keeps_the_fallback_that_is_still_needed() -> None:
    region = starved()
    region.cycles(8)
    bought = {i.name for i in region.ours() if i.paid is Paid.FALLBACK}
    region.reconciler = region.leader()
    region.cycles(10)
    assert {i.name for i in region.ours() if i.paid is Paid.FALLBACK} == bought
    assert wallet(region).reserved_micro == {LEAD: 2 * HOURLY}


def test_a_leader_with_an_empty_memory_buys_nothing_while_its_wallet_cannot_be_read() -> None:
    region = Wired()
    starved(region.settled(12))
    region.cycles(8)
    bought = {i.name for i in region.ours() if i.paid is Paid.FALLBACK}
    region.reconciler = region.leader()
    region.reconciler.reservations._store = region.wire
    region.wire.fail("get", *[Transient("silent")] * 12)
    region.cycle()
    lost = next(i for i in region.ours() if i.paid is Paid.FALLBACK)
    region.cloud.lose(lost.server, reason="host failed")
    region.cycles(10)
    standing = {i.name for i in region.ours() if i.paid is Paid.FALLBACK and i.supply}
    assert standing == bought - {lost.name}
    region.cycles(10)
    assert sum(i.supply for i in region.ours() if i.paid is Paid.FALLBACK) == 4
    assert wallet(region).reserved_micro == {LEAD: 2 * HOURLY}


def test_a_lost_floor_is_restored_at_once_from_headroom_and_not_bought_as_fallback() -> None:
    region = starved()
    for instance in region.ours():
        if instance.paid is Paid.FLOOR:
            region.cloud.lose(instance.server, reason="host failed")
    region.cycle()
    assert sum(1 for i in region.ours() if i.paid is Paid.FLOOR and i.supply) == 4
    assert not region.told(EventType.FALLBACK_RESERVED)
    region.cycles(8)
    assert fallback(region) == 4


# -- who looks on -----------------------------------------------------------------------------------------------------


def standby(region: Region) -> Reconciler:
    """Another replica with a disk of its own, that never leads."""
    region.journal = FakeJournal()
    made = region.leader()
    made.leadership.resign()
    return made


def test_a_store_that_was_set_back_closes_the_day_also_for_a_replica_that_reserved_nothing() -> None:
    region = starved()
    copy = dict(region.store.values)
    other = standby(region)
    region.cycles(8)
    assert not other.watch()
    region.store.values.clear()
    region.store.values.update(copy)
    back = Reconciler(other.ports, Appraiser(), parted=lambda estate: partition(estate, REGION))
    back.cycle()
    assert back.leadership.holds()
    assert (wallet(region).reserved_micro, wallet(region).closed) == ({LEAD: HOURLY}, True)


def test_who_looks_on_at_a_silent_store_knows_what_it_knew() -> None:
    region = starved()
    other = standby(region)
    region.cycles(8)
    wire = other.reservations._store = FaultyStore(region.store)
    wire.fail("get", Transient("silent"))
    assert not other.watch()
    assert not other.memory.wallet.reserved_micro
    assert not other.watch()
    assert other.memory.wallet.reserved_micro == {LEAD: HOURLY}


def test_what_is_not_written_down_is_looked_at_again() -> None:
    region = starved()
    other = standby(region)
    region.cycles(8)
    region.journal.fail("save", Transient("full"))
    other.watch()
    assert not other.memory.wallet.reserved_micro
    other.watch()
    assert region.journal.content is not None
    assert other.memory.wallet.reserved_micro == {LEAD: HOURLY}


def test_what_was_seen_reserved_is_the_least_that_was_and_nobodys_own() -> None:
    seen = witnessed(Wallet("d1", {LEAD: 1}, {FORECAST: 1}, epoch=2), Wallet("d1", {LEAD: 5}, {HINDCAST: 4}, epoch=3))
    assert seen == Wallet("d1", {LEAD: 5}, {FORECAST: 1, HINDCAST: 4})
    assert witnessed(seen, Wallet("d1", {LEAD: 3}, epoch=1)) == seen
    assert witnessed(seen, Wallet("d2", {LEAD: 1}, epoch=4)) == Wallet("d2", {LEAD: 1})
    assert witnessed(seen, Wallet("d0", {LEAD: 9}, epoch=4)) == seen


def test_who_wrote_the_wallet_last_keeps_its_own_copy() -> None:
    own = Wallet("d1", {LEAD: 5}, epoch=3)
    assert witnessed(own, Wallet("d1", {LEAD: 4}, epoch=3)) is own

"""Who leads: renewals that fail in every way, stores that are lost or brought back, epochs that only grow."""

from __future__ import annotations

import itertools

import pytest

from contracts.errors import EbbtideError, Refused, Transient
from pools.provider import Conflict
from reconciler.leadership import Leadership
from reconciler.lease import TERMS, Lease, read_lease, write_lease
from reconciler.ports import Versioned
from reconciler.store_faulty import FaultyStore
from reconciler.store_memory import MemoryStore

KEY = "lease/north"
SECOND = 1000
WAIT = TERMS.term + TERMS.call


class Replicas:
    """Replicas of one partition over one store; each has wires of its own, and all share one clock."""

    def __init__(self) -> None:
        self.now = 0
        self.store = MemoryStore()
        self.wires: dict[str, FaultyStore] = {}

    def replica(self, holder: str = "a", *, sole: bool = False) -> Leadership:
        wire = self.wires[holder] = FaultyStore(self.store)
        return Leadership(wire, key=KEY, holder=holder, monotonic=lambda: self.now, sole=sole)

    def leader(self, holder: str = "a") -> Leadership:
        """A replica that has waited and leads."""
        made = self.replica(holder)
        self.ask(made, until=self.now + WAIT)
        assert made.holds()
        return made

    def ask(self, *replicas: Leadership, until: int, every: int = 5 * SECOND) -> None:
        """Everybody asks for the lease every few seconds."""
        while True:
            for replica in replicas:
                replica.ensure()
            if self.now >= until:
                return
            self.now = min(until, self.now + every)

    @property
    def lease(self) -> Lease:
        return read_lease(self.store.values[KEY].value)


def test_the_first_leader_of_an_empty_store_waits_for_one_that_may_be_there() -> None:
    world = Replicas()
    first = world.replica()
    world.ask(first, until=WAIT - 1)
    assert not first.holds()
    assert "empty" in first.problem
    world.ask(first, until=WAIT)
    assert (first.holds(), first.epoch, first.succeeded, first.problem) == (True, 1, 0, "")


def test_who_knows_itself_alone_waits_for_nobody_and_keeps_its_epoch_over_long_rests() -> None:
    world = Replicas()
    first = world.replica(sole=True)
    assert first.ensure()
    world.now += 10 * TERMS.term
    assert first.ensure()
    assert first.holds()
    assert first.epoch == 1
    assert world.replica(sole=True).ensure()
    assert world.lease.epoch == 2


def test_who_took_itself_for_alone_and_is_not_waits_like_everybody() -> None:
    world = Replicas()
    first, second = world.replica("a", sole=True), world.replica("b", sole=True)
    assert first.ensure()
    assert second.ensure()
    world.now += TERMS.renew
    assert not first.ensure()
    assert not first.ensure()
    assert "b holds the lease with epoch 2" in first.problem


def test_a_silent_store_stops_also_one_that_is_alone() -> None:
    world = Replicas()
    first = world.replica(sole=True)
    assert first.ensure()
    world.now += TERMS.deadline
    world.wires["a"].fail("put", *[Transient("silent")] * 2)
    world.wires["a"].fail("get", *[Transient("silent")] * 2)
    assert not first.ensure()
    assert not first.holds()


ERRORS = [
    Refused("403: the object quota is exceeded"),
    Conflict("409"),
    Conflict("409"),
    Transient("500"),
    Transient("connection reset"),
    EbbtideError("of no kind at all"),
]


def test_c62_whatever_the_error_a_leader_stops_at_its_deadline_and_comes_back_with_a_new_epoch() -> None:
    for order in itertools.islice(itertools.permutations(ERRORS), 0, None, 37):
        world = Replicas()
        first = world.leader()
        wire, since = world.wires["a"], world.now
        wire.fail("put", *order, *order)
        wire.fail("get", *order)
        while world.now < since + TERMS.deadline - SECOND:
            world.now += SECOND
            assert first.holds()
        world.now = since + TERMS.deadline
        assert not first.holds()
        wire.fail("put", *order)
        assert not first.holds()
        world.wires["a"] = wire = FaultyStore(world.store)
        first._store = wire  # the store answers again
        world.ask(first, until=world.now + WAIT)
        assert first.holds()
        assert first.epoch == 2


def test_c62_a_leader_whose_renewals_fail_is_followed_by_another_and_stays_down() -> None:
    world = Replicas()
    first = world.leader()
    second = world.replica("b")
    world.wires["a"].fail("put", *[Refused("403")] * 100)
    overlap = []
    for _ in range(120):
        world.now += SECOND
        first.holds()
        first.ensure()
        second.ensure()
        overlap.append((first.holds(), second.holds()))
    assert (True, True) not in overlap
    assert overlap[-1] == (False, True)
    assert second.epoch == first.epoch + 1


def test_a_renewal_without_an_answer_that_happened_is_gone_on_from() -> None:
    world = Replicas()
    first = world.leader()
    for _ in range(8):
        world.now += TERMS.renew
        world.wires["a"].lose_answers(Transient("no answer"))
        assert first.ensure()
        world.now += SECOND
        assert first.ensure()
    assert first.epoch == 1


def test_holds_asks_nobody_in_the_first_half_of_a_term_and_renews_in_the_second() -> None:
    world = Replicas()
    first = world.leader()
    beat = world.lease.beat
    world.now += TERMS.term // 2 - 1
    assert first.holds()
    assert world.lease.beat == beat
    world.now += 1
    assert first.holds()
    assert world.lease.beat == beat + 1
    for _ in range(20):
        world.now += TERMS.term // 2
        assert first.holds()


def test_while_the_store_is_silent_a_long_list_asks_it_now_and_then_and_not_once_a_call() -> None:
    world = Replicas()
    first = world.leader()
    asked = []

    class Counting(FaultyStore):
        def put(self, key: str, value: bytes, *, expected: str) -> str:
            asked.append((key, value, expected))
            raise Transient("silent")

    first._store = Counting(world.store)
    world.now += TERMS.term // 2
    for _ in range(1000):
        assert first.holds()
        world.now += 4
    assert 2 <= len(asked) <= 3


def test_a_renewal_that_took_longer_than_the_deadline_confirms_nothing() -> None:
    world = Replicas()
    first = world.leader()

    class Slow(FaultyStore):
        def put(self, key: str, value: bytes, *, expected: str) -> str:
            revision = super().put(key, value, expected=expected)
            world.now += TERMS.deadline
            return revision

    first._store = Slow(world.store)
    world.now += TERMS.term // 2
    assert not first.holds()


def test_a_successor_waits_the_term_and_one_call_and_no_longer() -> None:
    world = Replicas()
    world.leader()
    second = world.replica("b")
    world.ask(second, until=world.now + WAIT - 1)
    assert not second.holds()
    world.ask(second, until=world.now + 1)
    assert second.holds()
    assert second.succeeded == 1


def test_a_namesake_of_a_dead_leader_waits_too_because_it_may_be_alive() -> None:
    world = Replicas()
    first = world.leader()
    again = world.replica("a")
    world.ask(again, until=world.now + TERMS.deadline - 1)
    assert first.holds()
    assert not again.holds()
    world.ask(again, until=world.now + WAIT)
    assert (first.holds(), again.holds(), again.epoch) == (False, True, 2)


def test_a_lease_that_is_given_up_passes_at_once_to_who_looks_on() -> None:
    world = Replicas()
    first = world.leader()
    second = world.replica("b")
    assert not second.ensure()
    first.resign()
    assert not first.holds()
    assert second.ensure()
    assert second.epoch == 2
    assert not first.ensure()


def test_a_newcomer_does_not_trust_a_lease_that_was_given_up_before_it_looked() -> None:
    world = Replicas()
    world.leader().resign()
    second = world.replica("b")
    assert not second.ensure()
    world.ask(second, until=world.now + WAIT)
    assert second.holds()


def test_giving_up_over_a_silent_store_only_costs_the_wait() -> None:
    world = Replicas()
    first = world.leader()
    second = world.replica("b")
    second.ensure()
    world.wires["a"].fail("put", Transient("silent"))
    first.resign()
    assert not second.ensure()
    world.ask(second, until=world.now + WAIT)
    assert second.holds()


@pytest.mark.parametrize("raw", [b"", b"7", write_lease(Lease("b", 9, TERMS.term, 1))[:-2]])
def test_a_damaged_record_is_never_taken_over_and_stops_its_holder_in_time(raw: bytes) -> None:
    world = Replicas()
    first = world.leader()
    second = world.replica("b")
    world.store.values[KEY] = Versioned(raw, "damaged")
    world.ask(first, second, until=world.now + 3 * WAIT)
    assert not first.holds()
    assert not second.holds()
    assert "damaged" in first.problem
    assert "damaged" in second.problem


def test_over_a_lost_store_the_old_leader_stops_before_anybody_follows_and_epochs_go_on() -> None:
    world = Replicas()
    first = world.leader()
    second = world.replica("b")
    second.ensure()
    world.store.values.clear()
    world.ask(second, until=world.now + TERMS.deadline)
    assert not first.holds()
    assert not second.holds()
    world.ask(second, until=world.now + WAIT)
    assert (second.holds(), second.epoch, second.older) == (True, 2, True)


def test_a_store_that_is_brought_back_from_a_copy_lets_nobody_lead_beside_the_leader() -> None:
    world = Replicas()
    world.leader("a")
    copy = dict(world.store.values)
    second = world.leader("b")
    third = world.replica("c")
    third.ensure()
    world.store.values.clear()
    world.store.values.update(copy)
    world.ask(third, until=world.now + TERMS.deadline)
    assert not second.holds()
    assert not third.holds()
    world.ask(third, until=world.now + WAIT)
    assert (third.holds(), third.epoch, third.older) == (True, 3, True)


def test_a_record_of_our_own_from_a_copy_is_not_ours_any_more() -> None:
    world = Replicas()
    first = world.leader("a")
    copy = dict(world.store.values)
    second = world.leader("b")
    world.store.values.update(copy)
    assert not first.ensure()
    assert second.holds()


def test_an_epoch_seen_elsewhere_ends_a_tenure_that_does_not_exceed_it() -> None:
    world = Replicas()
    first = world.leader()
    first.raise_above(0)
    assert first.holds()
    first.raise_above(7)
    assert not first.holds()
    assert "epoch 7" in first.problem
    assert first.ensure()
    assert (first.epoch, first.succeeded, first.older) == (8, 1, True)


def test_an_epoch_heard_of_before_the_lease_is_taken_is_exceeded_too() -> None:
    world = Replicas()
    first = world.replica()
    first.raise_above(41)
    world.ask(first, until=WAIT)
    assert first.epoch == 42


@pytest.mark.parametrize("holder", ["", "a" * 300])
def test_a_replica_has_a_name_of_sensible_length(holder: str) -> None:
    with pytest.raises(Refused, match="name"):
        Replicas().replica(holder)


def test_stale_answers_take_nothing_from_a_leader_that_renews() -> None:
    world = Replicas()
    first = world.leader()
    second = world.replica("b")
    second.ensure()
    world.wires["b"].answer_stale(1000)
    world.ask(first, second, until=world.now + 5 * WAIT)
    assert first.holds()
    assert not second.holds()


def test_a_leader_whose_whole_machine_was_paused_leads_no_longer_and_comes_back_with_another_epoch() -> None:
    """Its monotonic clock stood still, so that its lease seems to hold; its wall clock went on."""
    world = Replicas()
    wall = [0]
    wire = FaultyStore(world.store)
    paused = Leadership(wire, key=KEY, holder="a", monotonic=lambda: world.now, clock=lambda: world.now + wall[0])
    world.ask(paused, until=world.now + WAIT)
    assert paused.holds()
    before = paused.epoch
    wall[0] += 3 * SECOND
    assert not paused.holds()
    assert not paused.ensure()
    world.ask(paused, until=world.now + WAIT)
    assert paused.holds()
    assert paused.epoch > before


def test_a_renewal_in_which_the_machine_was_paused_confirms_nothing() -> None:
    world = Replicas()
    wall = [0]
    wire = FaultyStore(world.store)
    paused = Leadership(wire, key=KEY, holder="a", monotonic=lambda: world.now, clock=lambda: world.now + wall[0])
    world.ask(paused, until=world.now + WAIT)
    put = wire.put

    def away(key: str, value: bytes, *, expected: str) -> str:
        revision = put(key, value, expected=expected)
        wall[0] += 60 * SECOND
        return revision

    wire.put = away  # type: ignore[method-assign]  # the pause is in the middle of the call
    world.now += TERMS.renew
    assert not paused.ensure()
    assert not paused.holds()

"""A store that forgot who led: no epoch serves twice, as far as there was time for others to lead."""

from __future__ import annotations

from reconciler.lease import TERMS
from tests.reconciler.test_leadership import WAIT, Replicas


def test_what_a_store_forgot_is_left_out_as_far_as_there_was_time_for_it() -> None:
    """A replica that was away finds an empty store: others may have led meanwhile, and nothing tells how often."""
    world = Replicas()
    back = world.replica("back")
    world.now = 10 * WAIT
    back.raise_above(11, at=WAIT)
    world.ask(back, until=11 * WAIT)
    assert back.holds()
    assert back.epoch == 12 + 9


def test_who_saw_the_store_lose_its_record_leaves_nothing_out() -> None:
    world = Replicas()
    leader = world.leader()
    world.store.values.clear()
    world.ask(leader, until=world.now + WAIT + TERMS.deadline)
    assert (leader.holds(), leader.epoch) == (True, 2)

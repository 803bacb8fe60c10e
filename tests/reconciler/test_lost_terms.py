"""A store that forgot who led: no epoch serves twice, as far as there was time for others to lead."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("epoch", [9, 1], ids=["above", "its own"])
def test_a_mark_that_outdoes_a_new_term_leaves_out_what_there_was_time_for_since_it_was_made(epoch: int) -> None:
    """Of its own epoch, too: that it is the newest is the word of the store that named it alone, and that forgot."""
    world = Replicas()
    world.now = 20 * WAIT
    leader = world.leader()
    leader.raise_above(epoch, at=world.now - 15 * WAIT)
    assert leader.ensure()
    assert (leader.epoch, leader.succeeded, leader.older) == (epoch + 1 + 15, 1, True)


def test_who_leads_alone_leaves_out_what_led_before_its_store_was_lost() -> None:
    world = Replicas()
    world.now = 20 * WAIT
    alone = world.replica(sole=True)
    assert alone.ensure()
    alone.raise_above(9, at=world.now - 15 * WAIT)
    assert alone.ensure()
    assert (alone.epoch, alone.older) == (10 + 15, True)


def test_once_others_lead_beyond_it_a_mark_leaves_nothing_more_out() -> None:
    world = Replicas()
    world.now = 20 * WAIT
    leader = world.leader()
    leader.raise_above(9, at=world.now - 15 * WAIT)
    other = world.replica("b")
    other.raise_above(30)
    world.ask(other, until=world.now + WAIT)
    assert other.epoch == 31
    world.ask(leader, until=world.now + WAIT)
    assert (leader.epoch, leader.succeeded, leader.older) == (32, 31, False)

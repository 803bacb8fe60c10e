"""A mark of a later term on a server ends ours, whatever the store says; what we made ourselves does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from pools.provider import Lifecycle, LifecycleKind, Mark, Server, Signals
from reconciler.cycle import Seen
from reconciler.fencing import Later, outdone
from reconciler.lease import TERMS
from reconciler.ports import SchedulerView
from reconciler.steps import StepKind
from tests.reconciler.builders import (
    ESTATE,
    FORECAST,
    HOUR,
    MINUTE,
    POOL,
    REGION,
    START,
    Region,
    instance,
    listing,
    name,
    of_kind,
    row,
)

OURS = instance(1, epoch=4, name=name(1, 4))
OWNER = (ESTATE, REGION, "")
THEIRS = instance(2, epoch=4, name=name(2, 4))


QUIET = Signals(as_of=0, cursor="")


def later(
    *servers: Server, told: tuple[tuple[int, Mark | None], ...] = (), begins: bool = False, now: int = START
) -> Later | None:
    """What a look at `now` shows of others; each word of the stream is a mark and its time."""
    lifecycle = tuple(Lifecycle(at, LifecycleKind.DELETED, "s", "n", POOL, mark=mark) for at, mark in told)
    view = SchedulerView(now, {}, {})
    seen = Seen(now, replace(QUIET, lifecycle=lifecycle), listing(*servers), view, None, None, None)
    return outdone(seen, owner=OWNER, epoch=4, known={OURS.name}, begins=begins)


def found(*servers: Server, told: tuple[Mark | None, ...] = (), begins: bool = False) -> int:
    above = later(*servers, told=tuple((START, mark) for mark in told), begins=begins)
    return above.epoch if above is not None else 0


def test_what_this_replica_made_in_its_own_term_is_no_sign() -> None:
    assert later(row(OURS)) is None
    blind = Seen(START, QUIET, None, SchedulerView(START, {}, {}), None, None, None)
    assert outdone(blind, owner=OWNER, epoch=4, known=(), begins=True) is None


def test_a_server_of_the_same_term_that_it_did_not_make_is_one() -> None:
    assert found(row(OURS), row(THEIRS)) == 4


def test_a_later_term_is_one_even_on_a_server_that_it_knows() -> None:
    assert found(row(replace(OURS, epoch=9))) == 9


def test_earlier_terms_and_other_estates_are_none() -> None:
    stranger = row(THEIRS)
    assert stranger.mark is not None
    foreign = replace(stranger, mark=replace(stranger.mark, estate="somebody", epoch=99))
    assert found(row(instance(3, epoch=3, name=name(3, 3))), foreign) == 0


def test_the_stream_tells_of_later_terms_whose_servers_are_gone() -> None:
    newer = row(replace(THEIRS, epoch=7)).mark
    assert found(row(OURS), told=(newer, None)) == 7


@pytest.mark.parametrize(("begins", "above"), [(True, 4), (False, 0)])
def test_of_its_own_epoch_the_stream_says_something_while_the_term_begins(begins: bool, above: int) -> None:
    """Later it repeats what this term itself made, and has forgotten."""
    assert found(row(OURS), told=(row(THEIRS).mark, row(OURS).mark), begins=begins) == above


def test_an_epoch_is_known_of_since_its_oldest_mark_in_sight() -> None:
    """What it made last need not be the last that anybody made."""
    made = row(THEIRS, created_at=START - HOUR)
    again = replace(made, id="again", created_at=START - MINUTE)
    below = row(instance(3, epoch=3, name=name(3, 3)), created_at=START - 2 * HOUR)
    assert later(again, made, below) == Later(4, START - HOUR)
    told = ((START - MINUTE, made.mark), (START - 3 * HOUR, made.mark))
    assert later(again, told=told, begins=True) == Later(4, START - 3 * HOUR)


def test_a_server_of_somebody_elses_was_marked_after_it_began() -> None:
    adopted = row(THEIRS, created_at=START - HOUR)
    assert adopted.mark is not None
    adopted = replace(adopted, mark=replace(adopted.mark, since=START - MINUTE))
    assert later(adopted) == Later(4, START - MINUTE)


def test_a_clock_that_is_behind_makes_no_mark_younger() -> None:
    made = row(THEIRS, created_at=START - HOUR)
    assert later(made, now=START - 50 * MINUTE) == Later(4, START - 110 * MINUTE)
    assert later(made, now=START + 50 * MINUTE) == Later(4, START - HOUR)


def test_a_leader_that_lost_everything_leaves_out_what_led_after_the_mark_that_it_finds() -> None:
    """Terms that made nothing leave no mark: their epochs serve no second time all the same."""
    region = Region().settled(20)
    made = max(server.created_at for server in region.cloud.servers.values())
    region.store.values.clear()
    region.now = made + 2 * HOUR
    region.reconciler = region.leader()
    region.cycles(3)
    assert region.reconciler.leadership.holds()
    assert region.reconciler.leadership.epoch > 2 * HOUR // (TERMS.term + TERMS.call)


def test_a_store_brought_back_from_earlier_days_leads_to_no_act_under_an_old_term() -> None:
    region = Region().settled(20)
    server = next(s for s in region.cloud.servers.values() if s.mark is not None and s.mark.workload == FORECAST)
    assert server.mark is not None
    later = region.reconciler.leadership.epoch + 7
    region.cloud.servers[server.id] = replace(server, mark=replace(server.mark, epoch=later))
    region.schedulers.want(FORECAST, 30)
    held = region.cycle()
    assert {refusal.cause for refusal in held.refused} == {Cause.LEASE_LOST}
    assert not held.allowed
    region.cycles(6)
    assert region.reconciler.leadership.epoch > later
    assert of_kind(region.cycle(), StepKind.RELEASE) == []
    assert region.supply() == 30

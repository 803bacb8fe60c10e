"""A mark of a later term on a server ends ours, whatever the store says; what we made ourselves does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from pools.provider import Lifecycle, LifecycleKind, Mark, Signals
from reconciler.fencing import outdone
from reconciler.steps import StepKind
from tests.reconciler.builders import ESTATE, FORECAST, POOL, REGION, Region, instance, listing, name, of_kind, row

OURS = instance(1, epoch=4, name=name(1, 4))
OWNER = (ESTATE, REGION, "")
THEIRS = instance(2, epoch=4, name=name(2, 4))


QUIET = Signals(as_of=0, cursor="")


def found(*servers: object, told: tuple[Mark | None, ...] = (), begins: bool = False) -> int:
    lifecycle = tuple(Lifecycle(0, LifecycleKind.DELETED, "s", "n", POOL, mark=mark) for mark in told)
    signals = replace(QUIET, lifecycle=lifecycle)
    return outdone(listing(*servers), signals, owner=OWNER, epoch=4, known={OURS.name}, begins=begins)  # type: ignore[arg-type]  # rows


def test_what_this_replica_made_in_its_own_term_is_no_sign() -> None:
    assert found(row(OURS)) == 0
    assert outdone(None, QUIET, owner=OWNER, epoch=4, known=(), begins=True) == 0


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
    later = row(replace(THEIRS, epoch=7)).mark
    assert found(row(OURS), told=(later, None)) == 7


@pytest.mark.parametrize(("begins", "above"), [(True, 4), (False, 0)])
def test_of_its_own_epoch_the_stream_says_something_while_the_term_begins(begins: bool, above: int) -> None:
    """Later it repeats what this term itself made, and has forgotten."""
    assert found(row(OURS), told=(row(THEIRS).mark, row(OURS).mark), begins=begins) == above


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

"""The loop over fakes: growth, shrinking, notices and losses, from what is seen to what is called."""

from __future__ import annotations

from ledger.causes import Cause
from ledger.events import EventType, Paid
from reconciler.fleet import Phase
from reconciler.steps import StepKind
from tests.reconciler.builders import (
    FORECAST,
    POOL,
    PROJECT,
    SECOND,
    Region,
    of_kind,
    with_region,
)

DOMAIN = "h1-general-a"
SMALL_NOTICE = 120


# -- growth and shrinking ---------------------------------------------------------------------------------------------


def test_what_is_wanted_comes_to_run_and_nothing_is_bought_twice_while_it_boots() -> None:
    region = Region()
    region.cloud.boot_s = 150
    region.schedulers.want(FORECAST, 20)
    for _ in range(7):
        region.cycle(20)
    assert len(region.servers()) == 20
    region.cycles(10)
    assert region.supply() == len(region.servers()) == 20


def test_work_that_shrinks_gives_its_instances_back_after_a_drain() -> None:
    region = Region(with_region("    guard: {releaseShare: 100}")).settled(20)
    region.schedulers.want(FORECAST, 10)
    lent = [i for i in region.ours() if i.paid is Paid.RECLAIMABLE]
    one_in_each = {i.pool: i.name for i in lent}  # so that what stays keeps its bounds
    for instance in lent:
        if instance.name not in sorted(one_in_each.values())[:6]:
            region.schedulers.occupy(instance.name, 0)
    for _ in range(60):
        region.cycle()
        for name in list(region.nodes.asked):
            if name in region.schedulers.nodes:
                region.nodes.finish(name)
    assert len(region.servers()) == 10
    assert set(region.nodes.asked) == {e.instance for e in region.told(EventType.RELEASE_ASKED)}
    assert len(region.schedulers.removed) == 10


def test_an_empty_node_gets_the_pools_whole_notice_and_not_less() -> None:
    region = Region().settled(20)
    region.schedulers.want(FORECAST, 10)
    idle = region.busy()
    region.schedulers.occupy(idle, 0)
    while idle not in region.nodes.asked:
        region.cycle()
    assert region.nodes.asked[idle] == region.now + SMALL_NOTICE * SECOND


def test_a_node_that_shows_work_after_its_release_is_not_deleted_before_its_end() -> None:
    region = Region().settled(20)
    region.schedulers.want(FORECAST, 10)
    idle = region.busy()
    region.schedulers.occupy(idle, 0)
    while idle not in region.nodes.asked:
        region.cycle()
    region.schedulers.occupy(idle, 1)
    server = region.server_id(idle)
    region.cycle(SMALL_NOTICE - 1)
    assert server in region.cloud.servers
    region.cycle(1)
    assert server not in region.cloud.servers


# -- notices ----------------------------------------------------------------------------------------------------------


def test_a_notice_is_answered_by_one_replacement_elsewhere_with_the_notice_as_its_cause() -> None:
    region = Region().settled(20)
    going = region.busy()
    region.cloud.notify(region.server_id(going), seconds=600)
    decision = region.cycle(5)
    (replacement,) = of_kind(decision, StepKind.REPLACE)
    assert replacement.cause is Cause.NOTICE
    assert replacement.cause_event in {e.id for e in region.told(EventType.NOTICE_RECEIVED)}
    for _ in range(5):
        assert not of_kind(region.cycle(20), StepKind.REPLACE)
    region.cycles(12)
    assert region.supply() == 20
    assert len(of_replacements(region)) == 1


def of_replacements(region: Region) -> list[str]:
    return [e.instance for e in region.told(EventType.INSTANCE_REQUESTED) if e.cause is Cause.NOTICE]


def test_a_withdrawn_notice_drops_the_replacement_that_already_boots() -> None:
    region = Region().settled(20)
    going = region.busy()
    region.cloud.boot_s = 600
    region.cloud.notify(region.server_id(going), seconds=600)
    region.cycle(5)
    (replacement,) = of_replacements(region)
    region.cloud.withdraw(region.server_id(going))
    for _ in range(8):
        region.cycle(20)
    assert going in {i.name for i in region.ours(phase=Phase.SERVING)}
    assert region.supply() == len(region.servers()) == 20
    assert replacement not in {s.name for s in region.servers()}
    (released,) = [e for e in region.told(EventType.RELEASE_ASKED) if e.instance == replacement]
    assert released.cause is Cause.NOTICE_WITHDRAWN


def test_nothing_is_acquired_in_a_domain_under_an_open_reclaim() -> None:
    region = Region()
    region.cloud.open_reclaim("rc", (DOMAIN,), hold_s=3600)
    region.settled(20, 10)
    assert POOL not in {s.pool for s in region.cloud.servers.values()}
    # of eight domains one is closed: the eighth lot waits for it rather than stand where another stands already
    assert region.supply() == 19


def test_a_reclaim_that_the_provider_closed_early_holds_nothing_any_more() -> None:
    region = Region()
    region.cloud.open_reclaim("rc", (DOMAIN,), hold_s=36_000)
    region.cycle()
    assert region.reconciler.memory.reclaims
    region.cloud.reclaims.clear()
    region.cycle()
    assert not region.reconciler.memory.reclaims


def test_while_the_provider_is_silent_a_reclaim_stays_open() -> None:
    region = Region()
    region.cloud.open_reclaim("rc", (DOMAIN,), hold_s=36_000)
    region.cycle()
    region.cloud.script.fail("signals")
    region.cycle()
    assert region.reconciler.memory.reclaims


# -- losses -----------------------------------------------------------------------------------------------------------


def test_an_explained_loss_is_replaced_in_the_same_cycle_the_floor_first() -> None:
    region = Region().settled(20)
    floor = next(i for i in region.ours() if i.paid is Paid.FLOOR)
    lent = next(i for i in region.ours() if i.paid is Paid.RECLAIMABLE)
    for lost in (lent, floor):
        region.cloud.lose(lost.server, reason="host failed")
        region.schedulers.leave(lost.name)
    replacements = of_kind(region.cycle(), StepKind.REPLACE)
    assert [s.paid for s in replacements] == [Paid.FLOOR, Paid.RECLAIMABLE]


def test_lost_capacity_is_replaced_while_the_desired_state_is_not_verified_and_nothing_grows() -> None:
    region = Region().settled(20)
    region.desired.problem = "Git does not answer"
    region.schedulers.want(FORECAST, 30)
    region.cloud.lose(region.ours()[-1].server, reason="host failed")
    decision = region.cycle()
    assert len(of_kind(decision, StepKind.REPLACE)) == 1
    assert not of_kind(decision, StepKind.ACQUIRE)
    assert {r.cause for r in decision.refused} == {Cause.DESIRED_STATE_UNVERIFIED}


def test_a_refused_replacement_is_still_one_in_the_next_cycle() -> None:
    region = Region().settled(20)
    region.desired.problem = "Git does not answer"
    floor = next(i for i in region.ours() if i.paid is Paid.FLOOR)
    region.cloud.lose(floor.server, reason="host failed")
    region.stop.why = "the cloud team asked"
    assert not region.cycle().allowed
    region.stop.why = ""
    assert len(of_kind(region.cycle(), StepKind.REPLACE)) == 1


def test_an_improbable_loss_holds_everything_until_a_person_accepts_the_listing() -> None:
    region = Region().settled(20, 10)
    for lost in [i for i in region.ours() if i.paid is Paid.FLOOR]:
        region.cloud.lose(lost.server)
    for _ in range(4):
        decision = region.cycle()
        assert not decision.allowed
        assert {r.cause for r in decision.refused} <= {Cause.IMPROBABLE_LOSS}
        assert len(decision.unexplained) == 4
    region.accepted_at = region.now
    assert len(of_kind(region.cycle(), StepKind.REPLACE)) == 4
    region.cycles(12)
    assert region.supply() == 20


def test_a_partial_listing_holds_still_and_loses_nothing() -> None:
    """C14: the second page answers 503; the servers on it are unknown."""
    region = Region().settled(20, 10)
    region.cloud.page_limit = 20
    region.cloud.script.fail_page(PROJECT, 2, times=100)
    region.schedulers.want(FORECAST, 30)
    for _ in range(5):
        decision = region.cycle()
        assert not decision.allowed
        assert {r.cause for r in decision.refused} == {Cause.LISTING_INCOMPLETE}
    assert region.supply() == 20
    assert not region.told(EventType.INSTANCE_LOST)


def test_a_complete_listing_of_several_pages_is_read_to_its_end() -> None:
    region = Region()
    region.cloud.page_limit = 7
    region.settled(20, 10)
    assert len(region.cloud.servers) == 30

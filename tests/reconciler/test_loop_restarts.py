"""The loop over fakes: an empty memory, servers that are not ours, and reviewed pauses."""

from __future__ import annotations

from contracts.errors import Transient
from ledger.events import EventType
from pools.provider import Conflict, CreateRequest, Mark, Status
from reconciler.steps import StepKind
from reconciler.store_faulty import FaultyStore
from tests.reconciler.builders import (
    ESTATE,
    FORECAST,
    HINDCAST,
    POOL,
    PROJECT,
    REGION,
    Region,
    of_kind,
    with_settings,
)

# -- restarts, twins, pauses ------------------------------------------------------------------------------------------


def test_a_leader_with_an_empty_memory_finds_everything_and_buys_nothing() -> None:
    region = Region().settled(20, 10)
    servers = set(region.cloud.servers)
    region.reconciler = region.leader()
    for _ in range(5):
        region.cycle()
    assert set(region.cloud.servers) == servers
    assert (region.supply(), region.supply(HINDCAST)) == (20, 10)


def test_a_memory_that_others_acted_beyond_is_left_though_the_store_fails_as_the_term_begins() -> None:
    region = Region().settled(20)
    let_go = region.busy()
    del region.cloud.servers[region.server_id(let_go)]
    region.schedulers.leave(let_go)
    key = f"memory/{REGION}"
    found = region.store.get(key)
    assert found is not None
    region.store.put(key, b"b/2", expected=found.revision)
    store = FaultyStore(region.store)
    store.lose_answers(Transient("silence"))
    region.reconciler.owing._store = store
    region.reconciler.leadership.raise_above(2)
    region.cycle()
    assert not region.reconciler.memory.fleet.instances
    region.cycles(30)
    assert region.supply() == 20
    assert not region.told(EventType.INSTANCE_LOST)


def test_a_notice_that_was_said_before_a_restart_is_heard_even_when_the_first_listing_is_partial() -> None:
    region = Region().settled(20)
    going = region.busy()
    region.cloud.notify(region.server_id(going), seconds=3600)
    region.cloud.page_limit = 10
    region.cloud.script.fail_page(PROJECT, 1, times=4)
    region.reconciler = region.leader()
    assert not region.cycle().memory.fleet.instances
    region.cycles(3)
    assert region.reconciler.memory.fleet.instances[going].noticed


def test_a_leader_with_an_empty_memory_gives_no_name_twice() -> None:
    region = Region().settled(20)
    names = {s.name for s in region.cloud.servers.values()}
    region.reconciler = region.leader()
    region.schedulers.want(FORECAST, 30)
    region.cycles(10)
    assert region.supply() == 30
    assert len({s.name for s in region.cloud.servers.values()} - names) == 10


def test_servers_that_are_not_ours_are_never_touched_whatever_they_look_like() -> None:
    region = Region()
    kept = [
        region.cloud.plant("bare", POOL),
        region.cloud.plant("theirs", POOL, mark=Mark("elsewhere", REGION, "theirs", 1, FORECAST, 1, "floor")),
        region.cloud.plant("south", POOL, mark=Mark(ESTATE, "south", "south", 1, FORECAST, 1, "floor")),
        region.cloud.plant("stray", POOL, mark=Mark(ESTATE, REGION, "stray", 1, FORECAST, 1, "gold")),
        region.cloud.plant("orphan", POOL, mark=Mark(ESTATE, REGION, "orphan", 1, "no-such-work", 1, "floor")),
        region.cloud.plant("broken", POOL, status=Status.ERROR),
    ]
    region.settled(20)
    region.schedulers.want(FORECAST, 0)
    region.cycles(30)
    assert {s.id for s in kept} <= set(region.cloud.servers)
    decision = region.cycle()
    assert [s.instance for s in of_kind(decision, StepKind.QUARANTINE)] == ["stray"]
    assert [e.instance for e in region.told(EventType.QUARANTINED)] == ["stray"]


def test_a_paused_workload_stands_still_and_the_others_do_not() -> None:
    region = Region(with_settings("pauses: [{scope: workload, name: forecast, reason: a test}]\n"))
    region.schedulers.want(FORECAST, 20)
    region.schedulers.want(HINDCAST, 10)
    region.cycles(10)
    assert (region.supply(), region.supply(HINDCAST)) == (0, 10)


def test_a_server_whose_pool_nobody_knows_stops_no_cycle_and_can_be_given_back() -> None:
    region = Region().settled(20)
    idle = region.busy()
    region.cloud.move(region.server_id(idle), "")
    region.schedulers.occupy(idle, 0)
    region.schedulers.want(FORECAST, 10)
    for _ in range(30):
        region.cycle()
    assert region.supply() >= 10


def test_a_conflict_says_nothing_of_a_key_that_exists_already() -> None:
    region = Region()
    provider = region.reconciler.ports.provider
    request = CreateRequest(POOL, PROJECT, Mark(ESTATE, REGION, "eb-north-1-000001", 1, FORECAST, 1, "reclaimable"))
    first = provider.create(request)
    region.cloud.script.fail("create", error=lambda: Conflict("409"))
    region.schedulers.want(FORECAST, 4)
    region.cycles(2)
    assert first.id in region.cloud.servers
    assert len({s.name for s in region.cloud.servers.values()}) == len(region.cloud.servers)

"""The loop over fakes: acquisitions that fail in every way they can, and the pace of calls."""

from __future__ import annotations

from contracts.errors import Transient
from ledger.causes import Cause
from ledger.events import EventType
from pools.provider import Mark, ProjectQuota, QuotaExhausted
from pools.script import Boot
from reconciler.cycle import Memory
from tests.reconciler.builders import (
    ESTATE,
    FORECAST,
    HINDCAST,
    MINUTE,
    POOL,
    PROJECT,
    REGION,
    Region,
    with_region,
)

GIB = 2**30


# -- acquisitions that fail -------------------------------------------------------------------------------------------


def test_a_quota_with_room_for_k_gives_k() -> None:
    region = Region()
    region.cloud.quota[PROJECT] = ProjectQuota(PROJECT, 12, 10_000, 10_000 * GIB)
    region.schedulers.want(FORECAST, 20)
    region.cycles(6)
    assert len(region.cloud.servers) == 12
    assert not region.told(EventType.INSTANCE_FAILED)
    region.cloud.quota[PROJECT] = ProjectQuota(PROJECT, 100, 10_000, 10_000 * GIB)
    region.cycles(10)
    assert region.supply() == 20


def test_an_exhausted_quota_is_not_held_against_the_pool() -> None:
    region = Region()
    region.cloud.script.fail("create", times=30, error=lambda: QuotaExhausted("cores: 396 of 400 used"))
    region.schedulers.want(FORECAST, 20)
    for _ in range(4):
        decision = region.cycle()
    assert {e.cause for e in region.told(EventType.INSTANCE_FAILED)} == {Cause.QUOTA_EXHAUSTED}
    assert not decision.appraisal.admitted
    region.cycles(12)
    assert region.supply() == 20


def test_a_lost_race_is_tried_again_under_the_same_key_and_held_against_nobody() -> None:
    """C20: of thirty creates twelve meet a conflict at first; all succeed, none twice."""
    region = Region(with_region("    guard: {acquireCount: 1000, callBurst: 200}"), memory=Memory(listed_at=0))
    for pool in region.part.pools:
        region.cloud.script.conflict(pool.name, times=2)
    region.settled(20, 10)
    assert len(region.cloud.servers) == 30
    assert not region.told(EventType.INSTANCE_FAILED)
    assert not region.told(EventType.POOL_EXCLUDED)
    assert len(region.told(EventType.INSTANCE_REQUESTED)) == 30


def test_conflicts_that_last_exclude_the_pool_within_a_minute_and_only_that_one() -> None:
    """C20, the other way: every try meets a conflict for ten minutes."""
    region = Region()
    region.cloud.script.conflict(POOL, times=10_000)
    region.schedulers.want(FORECAST, 40)
    region.schedulers.want(HINDCAST, 24)
    asked_first = 0
    for _ in range(40):
        region.cycles(1, seconds=10)
        failed = region.told(EventType.INSTANCE_FAILED)
        asked_first = asked_first or (failed[0].occurred_at if failed else 0)
    excluded = region.told(EventType.POOL_EXCLUDED)
    assert {(e.pool, e.cause) for e in excluded} == {(POOL, Cause.ALLOCATION_CONFLICTS)}
    assert excluded[0].occurred_at - asked_first <= MINUTE
    assert POOL not in {s.pool for s in region.cloud.servers.values()}


def test_four_acquisitions_end_in_four_ways() -> None:
    """C16: one joins, one finds no host, one has no quota, one never registers; a row without id is no target."""
    region = Region()
    region.cloud.break_row("eb-broken", PROJECT, mark=Mark(ESTATE, REGION, "eb-broken", 1, FORECAST, 1, "floor"))
    region.schedulers.want(FORECAST, 4)
    region.cycle()
    servers = region.servers()
    assert len(servers) == 4
    joined, no_host, no_quota, never = (s.id for s in servers)
    for server, outcome in ((no_host, Boot.NO_HOST), (no_quota, Boot.QUOTA)):
        region.cloud.due[server].outcome = outcome
    region.cycle()
    region.schedulers.join(region.cloud.servers[joined].name, busy=1)
    failed = {e.cause for e in region.told(EventType.INSTANCE_FAILED)}
    assert failed == {Cause.CREATE_FAILED, Cause.QUOTA_EXHAUSTED}
    assert not {no_host, no_quota} & set(region.cloud.servers)
    while region.cloud.servers.get(never) is not None:
        assert region.now < servers[3].created_at + 13 * MINUTE
        region.cycle()
    never_joined = [e for e in region.told(EventType.INSTANCE_FAILED) if e.cause is Cause.NEVER_JOINED]
    assert servers[3].name in {e.instance for e in never_joined}
    assert joined in region.cloud.servers
    assert not region.reconciler.acting.brake.breach


def test_a_create_whose_answer_is_lost_makes_one_server_and_not_two() -> None:
    region = Region()
    region.cloud.script.lose_answer("create", times=3)
    region.settled(20)
    assert region.supply() == len(region.cloud.servers) == 20
    assert len(region.told(EventType.INSTANCE_REQUESTED)) == 20


def test_a_create_that_never_arrived_is_made_under_the_same_key() -> None:
    region = Region()
    region.cloud.script.fail("create", times=2)
    region.schedulers.want(FORECAST, 4)
    region.cycle()
    assert region.reconciler.deferred
    asked = {e.instance for e in region.told(EventType.INSTANCE_REQUESTED)}
    region.cycle(10)
    assert {s.name for s in region.servers()} == asked
    assert not region.told(EventType.INSTANCE_FAILED)


# -- what the provider asks for ---------------------------------------------------------------------------------------


def test_no_call_goes_out_before_retry_after_has_passed() -> None:
    region = Region()
    region.cloud.script.fail("create", error=lambda: Transient("429", retry_after_s=45.0))
    region.schedulers.want(FORECAST, 4)
    region.cycle()
    made = len(region.cloud.servers)
    region.cycle(44)
    assert len(region.cloud.servers) == made
    region.cycle(2)
    assert len(region.cloud.servers) == 4


def test_steps_that_wait_for_a_token_use_up_no_limit() -> None:
    limits = "    guard: {callRate: 1, callBurst: 3, acquireCount: 20, replaceCount: 20}"
    region = Region(with_region(limits))
    region.schedulers.want(FORECAST, 20)
    for _ in range(12):
        region.cycle(5)
    assert len(region.cloud.servers) == 20

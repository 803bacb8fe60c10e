"""The same small region under a provider that fails: silent and slow calls, lost answers, lost races, pages that do not
come, servers that move or vanish without a word. What is promised holds all the same.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from functools import cache

import pytest

from ledger.events import EventType
from pools.provider import LifecycleKind
from pools.script import Outage
from reconciler.fleet import Phase
from simulation.cloud_model import CloudParameters, TenantParameters
from simulation.world import World
from tests.reconciler.builders import ESTATE, FORECAST, HINDCAST, HOUR, MINUTE, POOL, REGION, START, estate
from tests.simulation.from_ledger import broken, chronicle
from tests.simulation.small_region import HOURS, LARGER, Ledger, small_world

CALM = 40 * MINUTE
"""At the end everything answers, so that what was held up is caught up with."""

CALLS = (
    frozenset[str](),
    frozenset({"instances"}),
    frozenset({"create"}),
    frozenset({"delete"}),
    frozenset({"signals"}),
    frozenset({"quota", "rates", "forward_capacity"}),
)


@dataclass(frozen=True)
class Trial:
    world: World
    ledger: Ledger


@cache
def trial(seed: int) -> Trial:
    cloud = CloudParameters(
        estate=ESTATE,
        tenants=TenantParameters(load=0.25, batch_mean=1.0),
        without_notice=0.2,
        unexplained=0.6,
        withdrawn=0.2,
        silent_losses_per_day=24,
        boot_failures=0.05,
        moves_per_day=60,
        page_limit=50,
    )
    world, ledger = small_world(cloud, seed=seed)
    script, draw = world.cloud.state.script, random.Random(seed)
    for _ in range(14):
        begins = START + draw.randrange(HOURS * HOUR - CALM - 12 * MINUTE)
        script.outages.append(Outage(begins, begins + draw.randrange(1, 12) * MINUTE, draw.choice(CALLS)))
    script.lose_answer("create", times=5)
    script.lose_answer("delete", times=3)
    script.conflict(POOL, times=20)
    script.fail_page("ebbtide-north", 2, times=12)
    world.run()
    return Trial(world, ledger)


@pytest.fixture(params=[1, 2, 3, 4], ids=lambda seed: f"seed {seed}")
def tried(request: pytest.FixtureRequest) -> Trial:
    return trial(request.param)


def test_bounds_floors_owners_causes_and_debts_are_as_promised(tried: Trial) -> None:
    _, _, lifecycle = tried.world.cloud.state.log.since("")
    assert any(said.kind is LifecycleKind.MOVED for said in lifecycle)
    told = chronicle(tried.ledger.events, estate(*LARGER), REGION, end=tried.world.now, stream=lifecycle)
    assert broken(told, REGION) == []


def test_usage_is_priced_where_the_server_ran_and_no_time_is_paid_twice(tried: Trial) -> None:
    """Moved servers included: a slot is used in one pool at a time, from its start to its end."""
    events = tried.ledger.events
    moved = {event.instance for event in events if event.type is EventType.INSTANCE_MOVED}
    used = {line.name: line for line in tried.world.cloud.invoice() if line.name in moved}
    assert used
    for name, line in used.items():
        told = [e for e in events if e.type is EventType.USAGE and e.instance == name and e.data["slot"] == 0]
        ran = sum(int(e.data["to_ms"]) - int(e.data["from_ms"]) for e in told)
        assert ran == (line.ended or tried.world.now) - line.started
        assert {e.pool for e in told} == {pool for pool, _ in line.periods}


def test_no_server_is_left_over_and_none_is_imagined(tried: Trial) -> None:
    """What stands at the provider is what the fleet knows: nothing was bought twice, nothing forgotten."""
    fleet = tried.world.reconciler.memory.fleet
    known = {i.server: i for i in fleet.instances.values() if i.phase is not Phase.GONE and i.server}
    there = set(tried.world.cloud.state.records)
    assert there <= known.keys()
    # what the very last cycle deleted is gone there, and we have not looked again
    assert all(known[server].released for server in known.keys() - there)
    assert not fleet.quarantined
    assert not tried.world.reconciler.acting.brake.breach


def test_what_is_claimed_runs_again_once_everything_answers(tried: Trial) -> None:
    memory = tried.world.reconciler.memory
    supply: Counter[str] = Counter()
    for instance in memory.fleet.instances.values():
        supply[instance.workload] += instance.units * instance.supply
    for workload in (FORECAST, HINDCAST):
        assert supply[workload] >= memory.claims[workload].total - 2


def test_the_provider_really_failed(tried: Trial) -> None:
    refused = tried.world.run_result.refusals
    failed = {event.cause.value for event in tried.ledger.events if event.type is EventType.INSTANCE_FAILED}
    assert "create_failed" in failed
    assert {"listing_stale", "listing_incomplete"} & refused.keys()

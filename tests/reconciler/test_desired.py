"""What holds only for a time becomes a number in the placement problem."""

from __future__ import annotations

from dataclasses import replace

from ledger.events import Paid
from pools.provider import ProjectQuota, Quota, Reclaim
from reconciler.claims import Claim
from reconciler.desired import Facts, closed_pools, in_maintenance, partition, problem, wanted
from reconciler.eyes import paused_in
from reconciler.fleet import Fleet, Phase
from reconciler.problem import Count, Held, Placement, PoolSupply, Problem, Resources
from tests.reconciler.builders import (
    FORECAST,
    GENERAL_FILE,
    HINDCAST,
    HOUR,
    KEPT,
    MINUTE,
    OTHER_POOL,
    POOL,
    PROJECT,
    REGION,
    START,
    estate,
    fleet,
    instance,
    name,
    part,
    with_settings,
)

GIB = 2**30
DOMAIN = "h1-general-a"


def facts(known: Fleet | None = None, **changes: object) -> Facts:
    made = Facts(
        now=START,
        claims={FORECAST: Claim(FORECAST, 4, 16), HINDCAST: Claim(HINDCAST, 0, 10)},
        fleet=known or Fleet(),
        offers={},
        room={},
        quota=None,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # the dataclass checks the names


def asked(known: Fleet | None = None, **changes: object) -> Problem:
    return problem(part(), facts(known, **changes))


def pool_of(problem_: Problem, pool: str = POOL) -> PoolSupply:
    return next(p for p in problem_.pools if p.name == pool)


def held_of(problem_: Problem, pool: str = POOL) -> Held:
    return next(h for h in problem_.held if h.pool == pool)


def test_a_domains_capacity_is_the_offered_room_and_what_we_hold_there() -> None:
    known = fleet(instance(1), instance(2, phase=Phase.DRAINING), instance(3, phase=Phase.GONE))
    made = asked(known, room={DOMAIN: Resources(8, 32 * 1024)})
    capacity = next(d.capacity for d in made.domains if d.name == DOMAIN)
    assert (capacity.vcpu, capacity.memory_mib) == (8 + 2 * 4, (32 + 2 * 16) * 1024)


def test_what_leaves_counts_in_bounds_and_is_no_supply() -> None:
    known = fleet(
        instance(1), instance(2, phase=Phase.DRAINING), instance(3, moving_to=name(9)), instance(4, covered=False)
    )
    assert (held_of(asked(known)).instances, held_of(asked(known)).leaving) == (4, 3)


def test_one_that_is_not_covered_is_supply_where_the_tier_is_not_strict() -> None:
    known = fleet(instance(1, covered=False, workload=HINDCAST))
    assert held_of(asked(known)).leaving == 0


def test_only_what_is_older_than_the_minimum_lifetime_may_move() -> None:
    known = fleet(
        instance(1, joined_at=START - HOUR), instance(2, joined_at=START - HOUR + 1), instance(3, joined_at=0)
    )
    assert held_of(asked(known)).movable == 1


def test_an_instance_whose_pool_is_unknown_is_held_nowhere_and_everywhere() -> None:
    assert [h.pool for h in asked(fleet(instance(1, pool=""))).held] == [""]


def test_servers_that_no_listing_shows_are_held_nowhere_and_everywhere() -> None:
    largest = max(units for (workload, _), units in part().units.items() if workload == FORECAST)
    assert asked(unlisted={FORECAST: 2, "of nobody": 1}).held == (Held(FORECAST, "", 2, largest),)
    known = asked(fleet(instance(1, pool="")), unlisted={FORECAST: 2}).held
    assert [(h.pool, h.instances) for h in known] == [("", 3)]


def test_the_quota_that_is_left_bounds_what_may_be_added() -> None:
    for project, left in (
        (ProjectQuota(PROJECT, 7, 1000, 1000 * GIB), 7),
        (ProjectQuota(PROJECT, 100, 15, 1000 * GIB), 3),
        (ProjectQuota(PROJECT, 100, 1000, 40 * GIB), 2),
        (ProjectQuota(PROJECT, -1, 0, 0), 0),
    ):
        assert pool_of(asked(quota=Quota(START, (project,)))).headroom == left


def test_an_excluded_pool_takes_what_its_probe_allows() -> None:
    made = asked(admitted={POOL: 0, OTHER_POOL: 1})
    assert [pool_of(made, pool).headroom for pool in (POOL, OTHER_POOL)] == [0, 1]


def test_a_paused_pool_takes_nothing_new() -> None:
    assert pool_of(asked(paused_pools=frozenset({POOL}))).headroom == 0


def test_a_domain_under_an_open_reclaim_is_closed_until_its_hold_ends() -> None:
    reclaim = Reclaim("rc", "", (DOMAIN,), START - MINUTE, START + MINUTE)
    assert closed_pools(part(), START, (reclaim,)) == {POOL}
    assert not closed_pools(part(), START + MINUTE, (reclaim,))
    assert pool_of(asked(reclaims=(reclaim,))).headroom == 0


def test_a_maintenance_window_closes_the_pool_daily_for_its_length() -> None:
    window = 'maintenance: [{start: "02:00 Europe/Oslo", length: 1h}]\nrows:'
    made = part((GENERAL_FILE, "rows:", window))
    pool = made.pool_by_name[POOL]
    oslo_two = START + HOUR  # 01:00 UTC in winter
    assert [in_maintenance(pool, at) for at in (oslo_two - 1, oslo_two, oslo_two + HOUR - 1, oslo_two + HOUR)] == [
        False,
        True,
        True,
        False,
    ]
    assert in_maintenance(pool, oslo_two + 24 * HOUR)
    assert pool_of(problem(made, facts(now=oslo_two))).headroom == 0


def test_a_pause_holds_for_its_scope_and_no_further() -> None:
    def paused(scope: str) -> tuple[frozenset[str], frozenset[str]]:
        lines = f"pauses: [{{{scope}, reason: a test of the pauses}}]\n"
        found = paused_in(partition(estate(with_settings(lines)), REGION))
        return found.workloads, found.pools

    both = frozenset({FORECAST, HINDCAST})
    assert paused("scope: estate") == (both, frozenset())
    assert paused("scope: region, name: north") == (both, frozenset())
    assert paused("scope: workload, name: hindcast") == (frozenset({HINDCAST}), frozenset())
    assert paused(f"scope: pool, name: {POOL}") == (frozenset(), frozenset({POOL}))


def test_committed_instances_are_the_floor_first_and_fallback_beyond_it() -> None:
    placement = Placement((Count(FORECAST, KEPT, 6), Count(FORECAST, POOL, 3)), (), (), (), (), 0, "test")
    found = wanted(part(), placement, {FORECAST: Claim(FORECAST, 4, 16)})
    assert [(w.pool, w.instances, w.paid) for w in found] == [
        (KEPT, 4, Paid.FLOOR),
        (KEPT, 2, Paid.FALLBACK),
        (POOL, 3, Paid.RECLAIMABLE),
    ]


def test_what_the_arbiter_granted_is_asked_for_beside_the_floor() -> None:
    need = next(n for n in asked(fallback_units={FORECAST: 3}).needs if n.workload == FORECAST)
    assert (need.floor, need.claimed) == (7, 16)

"""What the guard counts as standing: a bound counts what may be there, the number of domains what is and stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from reconciler.claims import Claim
from reconciler.fleet import Instance, Phase
from reconciler.second_look import Ground, Spread, breaks_pools
from reconciler.standing import spreads_of
from tests.reconciler.builders import FORECAST, HINDCAST, OTHER_POOL, START, fleet, instance, name, part, step

HERE, THERE = "h1-general-a", "h2-general-a"


def spread(
    *instances: Instance, leaving: frozenset[str] = frozenset(), unlisted: Mapping[str, int] = MappingProxyType({})
) -> Spread:
    claimed = {FORECAST: Claim(FORECAST, 4, 20)}
    growing = frozenset({FORECAST})
    known = fleet(*instances)
    return spreads_of(part(), known, claimed, {}, growing=growing, leaving=leaving, unlisted=unlisted)[FORECAST]


def test_what_no_listing_shows_counts_in_bounds_and_uses_no_domain() -> None:
    """A create that was answered and never happened reached no new domain, and may be there for all we know."""
    never = replace(instance(2, pool=OTHER_POOL), phase=Phase.BOOTING, missing_since=START)
    found = spread(instance(1), never)
    assert found.used == {HERE}
    assert (found.domain_units[THERE], found.supply) == (1, 2)


def test_what_the_provider_said_had_ended_uses_no_domain_though_a_listing_shows_it() -> None:
    found = spread(instance(1), instance(2, pool=OTHER_POOL, end_told=True))
    assert found.used == {HERE}
    assert found.domain_units[THERE] == 1


def test_what_was_just_asked_for_uses_its_domain() -> None:
    assert spread(replace(instance(1), phase=Phase.REQUESTED, server="", joined_at=0)).used == {HERE}


def test_what_is_let_go_in_this_cycle_uses_no_domain_and_counts_in_bounds() -> None:
    found = spread(instance(1), instance(2, pool=OTHER_POOL), leaving=frozenset({name(2)}))
    assert found.used == {HERE}
    assert found.left == {THERE}
    assert (found.domain_units[THERE], found.supply) == (1, 2)


def test_what_only_others_show_counts_in_every_bound_and_uses_no_domain() -> None:
    """Two servers that no listing shows, of the largest size that the workload may have."""
    found = spread(instance(1), unlisted={FORECAST: 2, HINDCAST: 5})
    assert found.used == {HERE}
    assert (found.unknown_units, found.supply) == (2, 3)


def test_a_domain_that_something_leaves_in_this_cycle_is_no_new_one_yet() -> None:
    """Its release may be refused, and then one more takes what another domain needs."""
    plan = part()
    ground = Ground({p.name: p.domain for p in plan.pools}, {})
    standing = replace(spread(), used=frozenset("abcde"), supply=18, largest=1)
    here = step(pool=OTHER_POOL)
    for units, left, refused in ((18, {THERE}, True), (17, {THERE}, False), (18, set[str](), False)):
        judged = replace(standing, supply=units, left=frozenset(left))
        assert (breaks_pools(here, ground, judged, fleet(), {}) is not None) is refused

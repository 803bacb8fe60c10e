"""The interruption estimate: forgetting, shrinking, shocks, and what it costs to compute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pools.interruption import HOUR_MS, History, Outlook, Topology, estimates, hazards, observe

POOLS = ("a", "b", "c", "d")
GROUPS = {"left": ("a", "b"), "right": ("c", "d")}
ONE = Outlook(memories_h=(720.0,), strength=())


def history(outlook: Outlook | None = None) -> History:
    return History.empty(Topology.of(POOLS, GROUPS), outlook)


def after(start: History, *, hours: int, each: float, losses: dict[str, float]) -> History:
    """`hours` hourly observations with `each` instance-hours in every pool; the losses fall in the last one."""
    found = start
    first = start.at // HOUR_MS + 1
    for hour in range(first, first + hours):
        told = losses if hour == first + hours - 1 else {}
        found = observe(found, now=hour * HOUR_MS, exposure_hours=dict.fromkeys(POOLS, each), losses=told)
    return found


def test_nothing_seen_gives_the_outlook_and_its_quantile() -> None:
    found = estimates(history(ONE))["a"]
    assert found.mean == pytest.approx(0.005)
    assert found.upper > found.mean


def test_evidence_halves_in_its_half_life() -> None:
    outlook = Outlook(memories_h=(10.0,), strength=())
    start = observe(history(outlook), now=HOUR_MS, exposure_hours={"a": 8.0}, losses={"a": 4.0})
    later = observe(start, now=HOUR_MS + round(10 * np.log(2) * HOUR_MS), exposure_hours={}, losses={})
    assert later.evidence[0].losses[0] == pytest.approx(2.0, rel=1e-6)
    assert later.evidence[0].exposure[0] == pytest.approx(4.0, rel=1e-6)


def test_a_pool_never_used_leans_on_its_group() -> None:
    found = history(ONE)
    for hour in range(1, 200):
        told = {"a": 1.0} if hour % 10 == 0 else {}
        hours = {"a": 9.0, "c": 9.0, "d": 9.0}
        found = observe(found, now=hour * HOUR_MS, exposure_hours=hours, losses=told)
    rates = estimates(found)
    assert rates["a"].mean > rates["b"].mean > rates["c"].mean


def test_more_exposure_without_a_loss_lowers_mean_and_upper() -> None:
    little = estimates(after(history(), hours=10, each=9.0, losses={}))["a"]
    much = estimates(after(history(), hours=300, each=9.0, losses={}))["a"]
    assert much.mean < little.mean
    assert much.upper < little.upper


def test_nine_losses_at_once_are_weaker_evidence_than_nine_apart() -> None:
    alike = replace(ONE, least_shape=2.0, most_shape=2.0)
    wave = after(history(alike), hours=90, each=9.0, losses={"a": 9.0})
    apart = history(alike)
    for hour in range(1, 91):
        told = {"a": 1.0} if hour % 10 == 0 else {}
        apart = observe(apart, now=hour * HOUR_MS, exposure_hours=dict.fromkeys(POOLS, 9.0), losses=told)
    one_shock, nine_shocks = estimates(wave)["a"], estimates(apart)["a"]
    assert one_shock.mean < nine_shocks.mean
    assert one_shock.upper / one_shock.mean > nine_shocks.upper / nine_shocks.mean


def test_the_last_hour_moves_the_mean_but_not_the_slow_one() -> None:
    quiet = after(history(), hours=500, each=9.0, losses={})
    struck = after(quiet, hours=1, each=9.0, losses={"a": 3.0})
    before, then = hazards(quiet), hazards(struck)
    assert then.mean[0] / before.mean[0] > then.slow_mean[0] / before.slow_mean[0] > 1.0


def test_one_stormy_first_day_is_not_held_against_a_promise_over_weeks() -> None:
    outlook, storm = Outlook(), dict.fromkeys(POOLS, 9.0)
    first_day = hazards(after(history(), hours=24, each=9.0, losses=storm))
    second_week = hazards(after(after(history(), hours=240, each=9.0, losses={}), hours=24, each=9.0, losses=storm))
    assert first_day.mean[0] > 2 * outlook.prior_rate
    assert first_day.slow_mean[0] < first_day.mean[0] / 2
    assert second_week.slow_mean[0] > outlook.prior_rate / 2


def test_a_new_topology_keeps_what_known_pools_have_seen() -> None:
    seen = after(history(), hours=50, each=9.0, losses={"a": 2.0})
    moved = seen.on(Topology.of(("z", "d", "a"), {"right": ("d", "z")}))
    assert moved.evidence[0].losses.tolist() == [0.0, 0.0, seen.evidence[0].losses[0]]
    assert set(estimates(moved)) == {"z", "d", "a"}


@settings(max_examples=60, deadline=None)
@given(
    hours=st.lists(st.floats(0, 50), min_size=4, max_size=4),
    lost=st.lists(st.integers(0, 20), min_size=4, max_size=4),
    more=st.integers(1, 10),
)
def test_one_more_loss_never_lowers_the_pool_and_estimates_stay_finite(
    hours: list[float], lost: list[int], more: int
) -> None:
    outlook = replace(Outlook(), least_shape=2.0, most_shape=2.0)
    start = history(outlook)
    exposure = dict(zip(POOLS, hours, strict=True))
    losses = {name: float(k) for name, k in zip(POOLS, lost, strict=True)}
    low = estimates(observe(start, now=HOUR_MS, exposure_hours=exposure, losses=losses))
    again = observe(start, now=HOUR_MS, exposure_hours=exposure, losses=losses)
    high = estimates(observe(again, now=2 * HOUR_MS, exposure_hours={}, losses={"a": float(more)}))
    calm = estimates(observe(again, now=2 * HOUR_MS, exposure_hours={}, losses={}))
    assert all(0 < e.mean <= e.upper < np.inf for e in low.values())
    assert high["a"].mean >= calm["a"].mean * 0.999

"""Shrinking against failures whose smallest cause is known."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from hypothesis import given, settings
from hypothesis import strategies as st

from simulation.shrink import ddmin, shrink

NAMES = [f"crash#{number}" for number in range(1, 21)]
lists = st.integers(0, 20).map(lambda length: NAMES[:length])


@given(lists, st.sets(st.sampled_from(NAMES)))
@settings(deadline=None)
def test_exactly_the_faults_that_are_needed_together_are_left(faults: list[str], needed: set[str]) -> None:
    needed &= set(faults)
    assert set(ddmin(faults, lambda some: needed <= set(some))) == needed


@given(lists, st.lists(st.sets(st.sampled_from(NAMES), min_size=1, max_size=4), min_size=1, max_size=4))
@settings(deadline=None)
def test_no_single_fault_can_be_left_out_whatever_fails(faults: list[str], causes: list[set[str]]) -> None:
    def fails(some: Sequence[str]) -> bool:
        return any(cause <= set(some) for cause in causes)

    if not fails(faults):
        return
    found = ddmin(faults, fails)
    assert fails(found)
    assert not any(fails([other for other in found if other != one]) for one in found)


@given(lists, st.integers(0, 400))
@settings(deadline=None)
def test_order_is_kept_and_nothing_is_added_for_failures_that_are_not_monotone(faults: list[str], salt: int) -> None:
    def fails(some: Sequence[str]) -> bool:
        return len(some) == len(faults) or (bool(some) and crc32(f"{salt} {some}".encode()) % 3 == 0)

    found = ddmin(faults, fails)
    assert [name for name in faults if name in found] == list(found)
    assert fails(found)


@given(lists, st.sets(st.sampled_from(NAMES)), st.integers(0, 30))
@settings(deadline=None)
def test_a_bounded_search_never_runs_more_and_what_it_returns_failed(
    faults: list[str], needed: set[str], budget: int
) -> None:
    needed &= set(faults)
    asked: list[tuple[str, ...]] = []

    def fails(some: tuple[str, ...], days: float) -> bool:
        asked.append(some)
        return needed <= set(some) and days >= 0.3

    found = shrink(faults, 1.0, fails, budget=budget)
    assert len(asked) == found.runs <= budget
    assert needed <= set(found.faults)
    assert 0.3 <= found.days <= 1.0
    assert not found.minimal or set(found.faults) == needed


def test_no_history_runs_twice() -> None:
    asked: list[tuple[tuple[str, ...], float]] = []

    def fails(some: tuple[str, ...], days: float) -> bool:
        asked.append((some, days))
        return {"crash#3", "crash#11"} <= set(some)

    shrink(NAMES, 1.0, fails, budget=200)
    assert len(asked) == len(set(asked))


def test_the_first_guess_cuts_what_had_not_begun_when_it_broke() -> None:
    asked: list[tuple[tuple[str, ...], float]] = []

    def fails(some: tuple[str, ...], days: float) -> bool:
        asked.append((some, days))
        return "crash#2" in some and days >= 0.25

    found = shrink(NAMES, 2.0, fails, before=NAMES[:3], broke_after_days=0.25, budget=60)
    assert asked[0] == (("crash#1", "crash#2", "crash#3"), 0.28)
    assert found.faults == ("crash#2",)
    assert found.minimal
    assert 0.25 <= found.days <= 0.28


def test_a_failure_that_needs_no_fault_shrinks_to_none_at_once() -> None:
    found = shrink(NAMES, 1.0, lambda _, days: days > 0.9, budget=60)
    assert found.faults == ()
    assert found.minimal
    assert found.runs <= 6

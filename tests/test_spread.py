"""The one bound, by numbers worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from correlation_groups.spread import Lot, Shares, keeps_pools, limit, lot, pools_required


@pytest.mark.parametrize(
    ("share", "desired", "quantum", "bound"),
    [(150, 100, 1, 15), (150, 101, 1, 16), (300, 10, 4, 4), (150, 0, 2, 2), (150, 20, 1, 3), (300, 10, 1, 3)],
)
def test_a_bound_is_the_share_rounded_up_but_never_less_than_a_quantum(
    share: int, desired: int, quantum: int, bound: int
) -> None:
    assert limit(share, desired, quantum) == bound


@pytest.mark.parametrize(("desired", "largest", "pools"), [(0, 4, 0), (3, 4, 1), (8, 4, 2), (31, 4, 7), (1000, 4, 8)])
def test_a_small_workload_is_asked_for_as_many_pools_as_its_largest_lots_allow(
    desired: int, largest: int, pools: int
) -> None:
    assert pools_required(desired, largest) == pools


@given(st.integers(1, 500), st.integers(1, 16))
def test_the_pools_asked_for_are_reachable_one_lot_at_a_time(desired: int, largest: int) -> None:
    required = pools_required(desired, largest)
    for domains in range(1, required + 1):
        assert (
            keeps_pools(
                units=min(domains * largest, desired),
                domains=domains,
                desired=desired,
                required=required,
                largest_quantum=largest,
            )
            or desired < largest
        )


def test_the_last_units_wait_for_unused_domains() -> None:
    assert keeps_pools(units=7, domains=5, desired=10, required=8, largest_quantum=1)
    assert not keeps_pools(units=8, domains=5, desired=10, required=8, largest_quantum=1)


def test_a_lot_holds_whole_gangs() -> None:
    assert lot(4) == Lot(1, 4)
    assert lot(4, 16) == Lot(4, 16)
    assert lot(8, 3) == Lot(1, 6)
    assert lot(4, 6) == Lot(2, 6)


def test_a_waiver_only_widens() -> None:
    assert Shares().widened(Shares(100, 400, 10)) == Shares(150, 400, 8)

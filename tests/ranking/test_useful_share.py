"""The share of useful time is the one that the ranking divides rates by."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pools.kinds import Assumptions, kind_of, useful_share
from tests.ranking.samples import TierName, contract
from tests.ranking.test_ranking import ranked, row

TIERS: tuple[TierName, ...] = ("anchored", "resumable", "staged", "requeued", "scavenger")


@given(tier=st.sampled_from(TIERS), hazard=st.floats(1e-6, 0.5))
@settings(max_examples=60, deadline=None)
def test_a_useful_hour_costs_the_rate_over_the_useful_share(tier: TierName, hazard: float) -> None:
    work = contract(tier=tier)
    share = useful_share(kind_of(work, Assumptions()), hazard)
    priced = row(ranked(work, mean=hazard))
    assert priced.rate_micro / share == pytest.approx(priced.cost_micro, abs=1.0)


def test_work_that_is_never_interrupted_loses_nothing() -> None:
    for tier in TIERS:
        assert useful_share(kind_of(contract(tier=tier), Assumptions()), 0.0) == 1.0


def test_work_from_a_checkpoint_that_loses_more_than_it_does_never_ends() -> None:
    # staged: 0.25 h lost and 1/15 h until it works again, each time
    kind = kind_of(contract(), Assumptions())
    assert useful_share(kind, 1 / (0.25 + 1 / 15)) == pytest.approx(0.0)
    assert useful_share(kind, 100.0) == 0.0

"""docs/ranking.md states what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from pools import exclusion
from pools.interruption import Outlook
from pools.kinds import Assumptions
from pools.ranking import Drop
from tests.ranking.samples import TierName, contract
from tests.ranking.test_ranking import ranked, row

TEXT = (Path(__file__).parents[2] / "docs" / "ranking.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("tier", ["staged", "resumable", "requeued"])
def test_the_worked_example_is_what_the_formulas_give(tier: TierName) -> None:
    found = row(ranked(contract(tier=tier), mean=0.03, upper=0.03))
    line = next(line for line in TEXT.splitlines() if line.startswith(f"| {tier}:"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == f"{found.lost_h:.4f}"
    assert cells[2] == f"{found.restart_h:.4f}"
    assert cells[4] == f"{found.cost_micro / 1e6:.6f}"


def test_every_reason_and_every_cause_of_exclusion_is_explained() -> None:
    causes = (
        "reclaim_burst",
        "missing_notice",
        "short_notice",
        "failed_acquisitions",
        "allocation_conflicts",
        "advisory",
    )
    for name in (*(drop.value for drop in Drop), *causes):
        assert f"`{name}`" in TEXT


def test_the_stated_numbers_are_the_codes() -> None:
    assumed, outlook = Assumptions(), Outlook()
    assert (assumed.join_s, assumed.no_notice_share, assumed.fallback_share) == (180, 0.05, 0.05)
    assert (assumed.write_bytes_per_s, assumed.fallback_hold_s) == (200 * 2**20, 1800)
    assert outlook.memories_h == (720.0, 168.0, 24.0, 1.0)
    assert (outlook.strength, outlook.quantile, outlook.prior_rate) == ((2.0, 1.0, 0.3), 0.9, 0.005)
    assert (exclusion.FALSE_ALARMS_PER_DAY, exclusion.FREE_AT, exclusion.FAILURES) == (0.1, 16, 3)

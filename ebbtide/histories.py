"""The simulated region's histories, wired to an estate: what `ebbtide simulate` and the benchmark hunt in."""

from __future__ import annotations

from collections.abc import Mapping

from contracts.errors import Refused
from simulation.faults import KINDS
from simulation.hunt import Histories, History, Question


class RegionHistories:
    """Histories of the small region, and of full ones of the reference estate."""

    def kinds(self) -> Mapping[str, str]:
        """As `Histories` promises."""
        return KINDS

    def live(self, question: Question) -> History:
        """As `Histories` promises."""
        raise Refused(f"{question.command}: there is no world with faults yet")


def region_histories() -> Histories:
    """One for a process."""
    return RegionHistories()

"""Every checker at once: what a simulated history breaks, as it grows and when it is over.

Called by the simulator after each cycle and by whoever reads a chronicle later. The list below is the one that
`docs/invariants.md` shows to readers.
"""

from __future__ import annotations

from collections.abc import Callable

from simulation import (
    check_authority,
    check_blast,
    check_blind,
    check_bounds,
    check_causes,
    check_covered,
    check_debts,
    check_drains,
    check_fencing,
    check_floors,
    check_gangs,
    check_liveness,
    check_money,
    check_ours,
    check_owners,
    check_reclaims,
    check_removals,
    check_stop,
    check_told,
)
from simulation.check_reading import Broken, Checker, Reader
from simulation.chronicle import Chronicle

CHECKERS: tuple[Callable[[], Checker], ...] = (
    check_bounds.Placements,
    check_gangs.Together,
    check_floors.Committed,
    check_floors.Restored,
    check_ours.Touched,
    check_blind.Acts,
    check_blast.Radius,
    check_blast.Ramp,
    check_stop.Acts,
    check_fencing.Acts,
    check_fencing.Epochs,
    check_fencing.Waits,
    check_drains.BeforeDelete,
    check_drains.Windows,
    check_drains.Outcomes,
    check_told.Requests,
    check_told.Versions,
    check_told.Losses,
    check_told.LetGo,
    check_told.Notices,
    check_causes.Whole,
    check_owners.Mixed,
    check_owners.Twins,
    check_owners.Forgotten,
    check_debts.PaidOnce,
    check_debts.ReleasedOnce,
    check_money.Usage,
    check_money.Invoice,
    check_money.Authority,
    check_authority.Valid,
    check_money.Covered,
    check_covered.Strict,
    check_reclaims.Acquired,
    check_removals.Waits,
    check_removals.NeverBack,
    check_liveness.Drained,
    check_liveness.Cleared,
    check_liveness.Reached,
)


class Checks:
    """All checkers over one growing chronicle of one region."""

    def __init__(self, region: str) -> None:
        self._reader = Reader(region, [made() for made in CHECKERS])

    def see(self, chronicle: Chronicle) -> list[Broken]:
        """What became broken since the last call, sorted; reads only what is new."""
        return _sorted(self._reader.see(chronicle))

    def close(self, chronicle: Chronicle) -> list[Broken]:
        """The same for the rest, and what the end shows to be missing; `chronicle.end` is when it ends."""
        return _sorted(self._reader.close(chronicle))


def _sorted(broken: list[Broken]) -> list[Broken]:
    return sorted(broken, key=lambda b: (b.at, b.checker, b.sentence))

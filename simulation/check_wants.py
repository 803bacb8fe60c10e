"""What each workload wants, by the world's account, and what a leader may honestly believe that it wants.

A claim is level-triggered (DESIGN 6), but a leader may hold a larger one for a while when less is asked for, and keeps
the last one of a silent scheduler. So a checker asks for all values that may still be held. Used by
`simulation.check_scene`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

HOLD_MS = 20 * 60_000
"""How long a larger claim may be held after less was seen: ten minutes' patience, and two cycles to act on it."""


class Wants:
    """Units wanted now, and the values seen by looks that may still be believed."""

    def __init__(self) -> None:
        self.now: dict[str, int] = {}
        self._seen: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._looked: dict[str, int] = {}

    def changed(self, workload: str, units: int) -> None:
        """The workload wants so many units from now on."""
        self.now[workload] = units

    def looked(self, at: int, workloads: Iterable[str]) -> None:
        """A look at `at` was shown what these workloads want."""
        for workload in workloads:
            units = self.now.get(workload, 0)
            seen = self._seen[workload]
            self._looked[workload] = at
            if not seen or seen[-1][1] != units:
                seen.append((at, units))
            # a value may be held while what came after it is younger than the patience
            while len(seen) > 1 and at - seen[1][0] > HOLD_MS:
                del seen[0]

    def believable(self, workload: str) -> frozenset[int]:
        """Values of which one is what the leader goes by; what is wanted now is always one."""
        return frozenset({self.now.get(workload, 0), *(units for _, units in self._seen[workload])})

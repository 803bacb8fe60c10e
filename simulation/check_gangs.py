"""Gangs (DESIGN 8): one stays within one aggregate or hall, as its contract says.

Who belongs to which gang nobody is told, so the places are judged: what stands in one place carries as many whole gangs
as fit into its units, and what is left over there runs nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from simulation.check_reading import Checker
from simulation.check_scene import SETTLED_LOOKS, Scene
from simulation.chronicle import Look


class Together(Checker):
    """Where a workload of gangs has units enough for its claim, whole gangs within one place each carry it, within
    `SETTLED_LOOKS` clear looks.
    """

    name = "check_gangs.Together"

    def __init__(self) -> None:
        self._apart: dict[str, int] = {}

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """Count the clear looks at which units are there, and gangs are not."""
        if scene.trouble(look):
            self._apart.clear()
            return
        for name, contract in scene.ground.contracts.items():
            gang = contract.eligibility.gang
            if gang is None or gang.size == 1:
                continue
            units = _units_by_place(scene, name, look, within=gang.within)
            whole = sum(count // gang.size * gang.size for count in units.values())
            claim = min(scene.ground.interruptible(name, wanted) for wanted in scene.wants.believable(name))
            if whole >= claim or sum(units.values()) < claim:
                self._apart.pop(name, None)
                continue
            self._apart[name] = self._apart.get(name, 0) + 1
            if self._apart[name] == SETTLED_LOOKS:
                places = ", ".join(f"{count} in {place}" for place, count in sorted(units.items()))
                yield f"{name} claims {claim} units in gangs of {gang.size} within one {gang.within}; it has {places}"


def _units_by_place(scene: Scene, workload: str, look: Look, *, within: str) -> dict[str, int]:
    """Lent units that stay, by aggregate or hall; those whose pool is unknown are in no place."""
    units: dict[str, int] = defaultdict(int)
    for stand in scene.by_workload[workload].values():
        pool = scene.ground.pools.get(stand.pool)
        leaving = stand.asked_at or stand.drained or stand.noticed_by(look.at)
        if pool is not None and stand.paid == "reclaimable" and not leaving:
            units[pool.hall if within == "hall" else f"{pool.hall}/{pool.aggregate}"] += stand.units
    return units

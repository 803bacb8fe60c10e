"""Covered instances (DESIGN 1, 8): strict tiers stand on instances that would hear a notice, and on no others."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.events import Event
from simulation.check_liveness import fits
from simulation.check_reading import Checker
from simulation.check_scene import SETTLED_LOOKS, Scene, behind
from simulation.check_worth import Worth
from simulation.chronicle import Ended, Look


class Strict(Checker):
    """A lent instance of a strict tier that is not covered is on its way out, or its work has a covered place to go to,
    within `SETTLED_LOOKS` clear looks: what the workload claims is carried without it as soon as there is room. Since
    it carries nothing that counts, its pool is none of those that have to be used: others leave room to reach them. A
    pool that costs more than it saves, or takes more than the contract tolerates, is no place to go to (DESIGN 7). Nor
    is any while the rate card is silent: nobody can say what lending there costs, and a new process has no earlier
    card. The looks are counted anew from the first one that it answers.
    """

    name = "check_covered.Strict"
    hears = Worth.hears

    def __init__(self) -> None:
        self._bare: dict[str, int] = {}
        self._worth = Worth()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Rates, as they were told."""
        self._worth.heard(event)
        yield from ()

    def on_ended(self, scene: Scene, ended: Ended) -> Iterator[str]:
        """What was taken from us, by domain."""
        self._worth.ended(scene, ended)
        yield from ()

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """Count the clear looks at which each uncovered instance was still needed."""
        self._worth.looked(scene, look)
        if behind(scene, look) or not look.rated:
            self._bare.clear()
            return
        ground = scene.ground
        for name in ground.contracts:
            bare = [] if not ground.strict(name) else _needed(scene, name, look, self._worth)
            if not bare:
                self._bare.pop(name, None)
                continue
            self._bare[name] = self._bare.get(name, 0) + 1
            if self._bare[name] == SETTLED_LOOKS:
                yield f"{name} stands on {', '.join(bare[:3])}, which no notice would reach; there is room elsewhere"


def _needed(scene: Scene, workload: str, look: Look, worth: Worth) -> list[str]:
    """Uncovered lent nodes of the workload whose units are part of what carries its claim, where others could."""
    ground = scene.ground
    serving = [
        s
        for s in scene.by_workload[workload].values()
        if s.joined_at and not s.asked_at and not s.drained and not s.noticed_by(look.at)
    ]
    bare = [s for s in serving if s.paid == "reclaimable" and not s.covered]
    if not bare:
        return []
    there = scene.by_workload[workload].values()
    # what was given up, or is on its way out, before it was a node comes no more
    coming = [s for s in there if not s.joined_at and not s.asked_at and s.name not in scene.failed]
    covered = [s for s in serving if s not in bare] + coming
    desired = min(ground.interruptible(workload, units) for units in scene.wants.believable(workload))
    lent = sum(s.units for s in covered if s.paid == "reclaimable")
    # what only the floor lacks is no lent place: a floor stands on committed capacity (DESIGN 8)
    if lent >= desired or sum(s.units for s in covered) >= min(scene.claims(workload)):
        return []
    at, room = scene.room
    closed = {domain for _, domain in scene.closing}
    useless = frozenset(s.server for s in bare)
    free = any(
        room.get(name, 0) > 0
        and not (pool.committed or pool.domain in closed or name in scene.excluded or ground.paused(workload, name))
        and ground.units_in(workload, name)
        and (worth.of(scene, workload, name) or worth.spared(scene, name))
        and fits(scene, workload, name, desired, useless)
        for name, pool in ground.pools.items()
    )
    return sorted(s.name for s in bare) if free and scene.now - at <= 2 * 3_600_000 else []

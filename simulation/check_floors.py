"""Floors (DESIGN 3.1, 8, 12): they stand on committed capacity at all times, and what is lost of them comes back."""

from __future__ import annotations

from collections.abc import Iterator

from simulation.check_reading import Checker
from simulation.check_scene import LATE_MS, SETTLED_LOOKS, Scene
from simulation.chronicle import Act, Call, Look


class Committed(Checker):
    """Floor and fallback stand in committed pools, and nothing else does; each in a pool that its contract may use."""

    name = "check_floors.Committed"

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge where a new server was put."""
        if act.call is not Call.CREATE or not act.fresh:
            return
        request = scene.requests.get(act.name)
        ground = scene.ground_of(request.commit if request else "")
        pool = ground.pools.get(act.pool)
        if pool is None:
            yield f"{act.name} was created in {act.pool}, which no reviewed file names"
        elif pool.committed == (act.paid == "reclaimable"):
            yield f"{act.name} is paid as {act.paid} in {act.pool}, which is {_kind(pool.committed)}"
        elif not ground.units_in(act.workload, act.pool):
            yield f"{act.name} of {act.workload} is in {act.pool}, which its contract may not use"


def _kind(committed: bool) -> str:
    return "committed" if committed else "reclaimable"


class Restored(Checker):
    """A floor that lacks units has them again within `SETTLED_LOOKS` clear looks, where committed capacity has room."""

    name = "check_floors.Restored"

    def __init__(self) -> None:
        self._short: dict[str, int] = {}

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """Count the clear looks that found each floor short."""
        if scene.behind(look):
            self._short.clear()
            return
        for name, contract in scene.ground.contracts.items():
            stands = sum(
                s.units
                for s in scene.by_workload[name].values()
                if s.paid in ("floor", "fallback") and not s.asked_at and not s.drained and not s.noticed_by(look.at)
            )
            if stands >= contract.floor or not _room(scene, name):
                self._short.pop(name, None)
                continue
            self._short[name] = self._short.get(name, 0) + 1
            if self._short[name] == SETTLED_LOOKS:
                yield (
                    f"the floor of {name} has {stands} of {contract.floor} units after {SETTLED_LOOKS} clear looks, "
                    f"and committed capacity has room"
                )


def _room(scene: Scene, workload: str) -> bool:
    at, room = scene.room
    ground = scene.ground
    return scene.now - at <= LATE_MS and any(
        room.get(name, 0) > 0
        for name, pool in ground.pools.items()
        if pool.committed and ground.units_in(workload, name) and not ground.paused(workload, name)
    )

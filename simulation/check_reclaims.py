"""Open reclaims (DESIGN 5): nothing is acquired in a domain that is being taken back, until its hold ends."""

from __future__ import annotations

from collections.abc import Iterator

from simulation.check_reading import Checker
from simulation.check_scene import Scene
from simulation.chronicle import Act, Call, Look


class Acquired(Checker):
    """No new server in a domain under a reclaim that the acting replica was told of, whatever it replaces."""

    name = "check_reclaims.Acquired"

    def __init__(self) -> None:
        self._told: dict[str, int] = {}

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """When each replica was last told: a reclaim that opens while its cycle reads on is not known in it."""
        if look.told:
            self._told[look.replica] = look.told_at or look.at
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge one create by the reclaims that were open at the last look that was told of them, and still are."""
        pool = scene.ground.pools.get(act.pool)
        if act.call is not Call.CREATE or not act.fresh or pool is None:
            return
        told_at = self._told.get(act.replica, 0)
        for (reclaim, domain), (since, until) in scene.closing.items():
            if domain == pool.domain and since <= told_at and act.at < until:
                yield f"{act.name} was created in {domain} at {act.at}; {reclaim} takes it from {since} to {until}"

"""Whether anybody would lend in a pool, by truth alone: its rate, and what was taken from us in its domain (DESIGN 7).

Fed and asked by the checkers that say "there is room elsewhere": a pool in which a useful hour costs too much, or takes
more than the contract tolerates, is no room.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

from ledger.events import Event, EventType
from simulation.check_scene import Scene
from simulation.chronicle import Ended, Look
from simulation.cloud_model import EndCause

WORTH = Decimal("0.6")
"""A pool is well worth its rate when a useful hour costs at most this share of the guaranteed rate, by twice the losses
that were seen in its domain and some: whoever estimates with care places there."""


class Worth:
    """Rates as they were told, and hours and losses of each domain as they were."""

    hears = frozenset({EventType.RATE_KNOWN})

    def __init__(self) -> None:
        self._hours: dict[str, int] = defaultdict(int)
        self._taken: dict[str, int] = defaultdict(int)
        self._rates: dict[str, tuple[Decimal, Decimal]] = {}
        self._looked_at = 0

    def heard(self, event: Event) -> None:
        """One event: it may tell a rate."""
        if event.type is EventType.RATE_KNOWN:
            self._rates[event.pool] = Decimal(str(event.data["rate"])), Decimal(str(event.data["guaranteed"]))

    def ended(self, scene: Scene, ended: Ended) -> None:
        """One server that is gone, and whether it was taken from us: what was drained for a notice and deleted before
        its end was taken all the same.
        """
        stand = scene.servers.get(ended.server)
        pool = scene.ground.pools.get(stand.pool) if stand is not None else None
        if pool is not None and (ended.cause is not EndCause.DELETED or ended.noticed is not None):
            self._taken[pool.domain] += 1

    def looked(self, scene: Scene, look: Look) -> None:
        """Instance-milliseconds of each domain since the last look."""
        since = look.at - self._looked_at if self._looked_at else 0
        self._looked_at = look.at
        pools = scene.ground.pools if scene.standing else {}
        for stand in scene.standing.values():
            pool = pools.get(stand.pool)
            if pool is not None:
                self._hours[pool.domain] += since

    def of(self, scene: Scene, workload: str, pool: str) -> bool:
        """Whether anybody would lend here: by rate, and by twice the losses that were seen, and two more."""
        ground = scene.ground
        hours = Decimal(self._hours[ground.pools[pool].domain]) / 3_600_000
        if pool not in self._rates or hours < 1:
            return False
        rate, guaranteed = self._rates[pool]
        contract = ground.contracts[workload]
        hazard = (2 * self._taken[ground.pools[pool].domain] + 2) / hours
        lost_h = Decimal(contract.checkpoint.interval or contract.expected_run) / 3600
        restart_h = Decimal(contract.checkpoint.start_up + 300) / 3600
        weight = 1 + Decimal(ground.estate.settings.lost_hour_weight)
        cost = rate + hazard * (lost_h + restart_h) * weight * guaranteed
        return cost <= WORTH * guaranteed and hazard <= contract.tolerance

    def spared(self, scene: Scene, pool: str) -> bool:
        """Whether nothing was ever taken from us in any domain that the pool shares a scope of the bounds with: who has
        no reason to doubt it need not have seen it for long.
        """
        scopes = set(scene.ground.scopes[pool])
        near = {p.domain for name, p in scene.ground.pools.items() if scopes & set(scene.ground.scopes[name])}
        return pool in self._rates and not any(self._taken[domain] for domain in near)

"""The wire around what a replica reads of the cloud: silent, late, partial, stale, contradictory or forged answers.

What the replica could see by the world's account is told to its `Sight`.
"""

from __future__ import annotations

from dataclasses import replace

from contracts.errors import Transient
from pools.provider import ForwardCapacities, Listing, ProjectQuota, Quota, RateCard, Signals, VictimHint
from simulation.listings import distorted, garbled_signals, hidden_in, seen_whole
from simulation.witness import Witness


class WiredAnswers:
    """The part of `pools.provider.Provider` that changes nothing."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        self._scene, self._line = witness.scene, witness.line
        self._cloud = witness.scene.world.cloud

    def signals(self, cursor: str) -> Signals:
        """As the seam promises, or not."""
        self._witness.sight.skew_ms = self._witness.skew()
        return self._line.read("signals", lambda: self._signals(cursor))

    def _signals(self, cursor: str) -> Signals:
        weather = self._scene.weather
        if weather.on("signals_silent"):
            raise Transient("signals: no answer")
        if weather.on("signals_late"):
            said = self._cloud.signals(cursor)
            said = replace(said, cursor=cursor, notices=(), lifecycle=())
        else:
            said = self._cloud.signals(cursor)
            again = self._cloud.signals("") if weather.on("signals_doubled") else None
            said = garbled_signals(said, again, weather, lost=self._scene.register.lost, names=self._strangers())
        self._witness.sight.told_at = self._scene.world.now
        return said

    def _strangers(self) -> list[str]:
        if not self._scene.weather.on("signals_forged"):
            return []
        ours = self._cloud.state.parameters.estate, self._cloud.state.region
        rows = [record.server for record in self._cloud.state.records.values()]
        return sorted(r.name for r in rows if r.mark is None or (r.mark.estate, r.mark.region) != ours)

    def rates(self) -> RateCard:
        """As the seam promises, or not."""
        self._silent_while("rates_silent")
        return self._line.read("rates", self._rates)

    def _rates(self) -> RateCard:
        self._witness.sight.rated = True
        return self._cloud.rates()

    def forward_capacity(self) -> ForwardCapacities:
        """As the seam promises, or not."""
        self._silent_while("forward_silent")
        return self._line.read("forward_capacity", self._cloud.forward_capacity)

    def instances(self) -> Listing:
        """As the seam promises, or not."""
        return self._line.read("instances", self._instances)

    def _instances(self) -> Listing:
        weather = self._scene.weather
        true = self._cloud.instances()
        stale = weather.on("listing_lying") or weather.on("listing_stale")
        frozen = self._scene.register.listed[stale.name] if stale is not None else None
        told = distorted(true, frozen, weather)
        region = self._scene.world.setting.estate.region(self._cloud.state.region)
        sight = self._witness.sight
        sight.whole = seen_whole(true, told, region.guard.listing_age * 1000)
        sight.listed_at = frozen.as_of if frozen is not None else true.as_of
        sight.hidden = hidden_in(true, told, sight.whole, sight.listed_at)
        sight.half_shown = frozenset(row.mark.name for row in told.servers if row.mark is not None and not row.id)
        return told

    def quota(self) -> Quota:
        """As the seam promises, or not."""
        self._silent_while("quota_silent")
        return self._line.read("quota", self._quota)

    def _quota(self) -> Quota:
        told = self._cloud.quota()
        return replace(told, projects=tuple(self._believed(project) for project in told.projects))

    def _believed(self, told: ProjectQuota) -> ProjectQuota:
        limit = self._scene.happenings.honest_limit(told.project)
        if limit is None:
            return told
        used = self._cloud.state.used[told.project]
        return ProjectQuota(told.project, limit.instances - used[0], limit.vcpu - used[1], limit.memory - used[2])

    def publish_hints(self, hints: tuple[VictimHint, ...]) -> None:
        """As the seam promises, or not."""
        self._line.read("publish_hints", lambda: self._cloud.publish_hints(hints))

    def _silent_while(self, kind: str) -> None:
        if self._scene.weather.on(kind):
            raise Transient(f"{kind.partition('_')[0]}: no answer")

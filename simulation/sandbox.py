"""One simulated region without a reconciler inside: cloud, schedulers, nodes and work that somebody outside drives.

`simulation.adapters.sandbox_server` puts it behind a socket and owns its clock; tests call it in their own process. It
learns what an instance is from the mark on its server alone, as nodes and schedulers do. What is asked of it comes
through `simulation.sandbox_desk`, which keeps the account. It must not know leases, journals or plans.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ledger.events import Event, Paid
from pools.provider import Mark
from reconciler.drafts import Scribe
from reconciler.fleet import Instance, Phase
from repo_layout.model import Estate
from simulation.cloud import SimulatedCloud
from simulation.cloud_model import CloudParameters, Happening, Wave
from simulation.demand import changes
from simulation.nodes import SimulatedNodes
from simulation.site import Site, Surroundings
from simulation.work import Work

DAY_MS = 86_400_000
LONGEST_MS = 366 * DAY_MS
"""Demand is drawn for a year: nobody keeps a sandbox longer."""


@dataclass(frozen=True)
class Ground:
    """What a sandbox stands on. `waves` come once each; `daily` repeats them every day that follows."""

    estate: Estate
    region: str
    start: int
    seed: int
    waves: Sequence[Wave] = ()
    daily: bool = False


def cloud_of(ground: Ground, parameters: CloudParameters) -> SimulatedCloud:
    """The cloud that stands on the ground's pools."""
    return SimulatedCloud(
        ground.estate.pools_of(ground.region),
        region=ground.region,
        start=ground.start,
        seed=ground.seed,
        parameters=parameters,
    )


class Sandbox:
    """The region at `now`. `news` grows whenever something happened that a reconciler should answer soon.

    `emit` takes what nodes and workloads tell the ledger; `asked` holds when each instance was asked to end its return.
    """

    def __init__(self, ground: Ground, cloud: SimulatedCloud, *, emit: Callable[[Sequence[Event]], None]) -> None:
        self.ground = ground
        self.now = ground.start
        self.news = 0
        self.asked: dict[str, int] = {}
        self._emit = emit
        self._pending: list[Event] = []
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._marks: dict[str, tuple[Mark, str]] = {}
        region = ground.estate.region(ground.region)
        contracts = ground.estate.contracts_of(ground.region)
        self.cloud = cloud
        self.work = Work(contracts, self._scribe, self._pending.append, self._loads)
        self.nodes = SimulatedNodes(seed=ground.seed, gateway_bytes_s=region.checkpoint_gateway)
        self.site = Site(
            region=ground.region,
            seed=ground.seed,
            nodes=self.nodes,
            work=self.work,
            world=Surroundings(
                now=lambda: self.now,
                at=self._at,
                emit=self._pending.append,
                scribe=self._scribe,
                instance=self._instance,
                stands=lambda server: server in cloud.state.records,
                poke=self._poke,
            ),
        )
        self._plan_waves(0)
        for contract in contracts:
            self._want(
                contract.name,
                changes(contract, seed=ground.seed, start=ground.start, end=ground.start + LONGEST_MS),
            )
        self.advance(self.now)

    def advance(self, to: int) -> None:
        """Let time pass up to and including `to`; a time in the past lets happen what is due now."""
        to = max(to, self.now)
        while True:
            following = self.next_event_at()
            self.now = max(self.now, min(to, following) if following is not None else to)
            self._pass()
            if self.now >= to:
                return

    def next_event_at(self) -> int | None:
        """When something may happen next by itself."""
        times = (
            self.cloud.next_event_at(),
            self.nodes.next_event_at(),
            self._timers[0][0] if self._timers else None,
        )
        return min((at for at in times if at is not None), default=None)

    def know(self, mark: Mark, pool: str) -> None:
        """A server with this mark is ours to tell nodes and schedulers about."""
        self._marks[mark.name] = (mark, pool)

    def _pass(self) -> None:
        for happened in self.cloud.advance(self.now):
            self.site.on_cloud(happened)
            self._forget(happened)
        for drained in self.nodes.advance(self.now):
            self.site.on_drained(drained)
        while self._timers and self._timers[0][0] <= self.now:
            _, _, action = heapq.heappop(self._timers)
            action()
        if self._pending:
            events = list(self._pending)
            self._pending.clear()
            self._emit(events)

    def _forget(self, happened: Happening) -> None:
        if happened.cause is not None:
            self._marks.pop(happened.name, None)

    def _instance(self, name: str) -> Instance | None:
        """What the mark on a server says of the instance; enough for nodes and schedulers."""
        known = self._marks.get(name)
        if known is None:
            return None
        mark, pool = known
        return Instance(
            name=name,
            pool=pool,
            project="",
            workload=mark.workload,
            units=mark.units,
            paid=Paid(mark.paid),
            phase=Phase.BOOTING,
            requested_at=0,
            epoch=mark.epoch,
            released=name in self.asked,
        )

    def _plan_waves(self, day: int) -> None:
        """The waves of one day; those of the next are planned when it begins."""
        shift = day * DAY_MS
        self.cloud.schedule(
            replace(
                wave,
                at=wave.at + shift,
                hold_until=wave.hold_until + shift,
                reclaim=f"{wave.reclaim}-{day}" if wave.reclaim and day else wave.reclaim,
            )
            for wave in self.ground.waves
        )
        if self.ground.daily and self.ground.waves:
            self._at(self.ground.start + (day + 1) * DAY_MS, lambda: self._plan_waves(day + 1))

    def _want(self, workload: str, following: Iterator[tuple[int, int]]) -> None:
        """Let the next change of a workload's demand happen, and then the one after it."""
        found = next(following, None)
        if found is None:
            return
        at, units = found

        def change() -> None:
            self.work.want(workload, units, self.now)
            self._want(workload, following)

        self._at(at, change)

    def _loads(self, name: str, until: int) -> None:
        self._at(until, lambda: self.work.loaded(name, self.now))

    def _poke(self) -> None:
        self.news += 1

    def _at(self, at: int, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._timers, (at, self._count, action))

    def _scribe(self, now: int) -> Scribe:
        return Scribe(self.ground.region, now, self.ground.estate.commit, 1, actor="node")

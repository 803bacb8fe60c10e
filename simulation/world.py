"""A whole region under the reconciler, from one seed: cloud, schedulers, nodes and work on one clock.

Wires the simulated cloud, the nodes' drain machines and the workloads to whoever decides (`simulation.leader.Control`),
and lets time pass from event to event. The same class serves the demo, the day benchmark, policy comparisons and
histories full of faults; what differs is the `Policy` and the control. It decides nothing itself.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ledger.causes import Cause
from ledger.events import Event, EventType
from reconciler.appraisal import PastHour
from reconciler.cycle import Decision
from reconciler.drafts import Scribe
from reconciler.fleet import Instance
from reconciler.loop import Reconciler
from repo_layout.model import Estate
from simulation.cloud import SimulatedCloud
from simulation.cloud_model import CloudParameters, Happening, Wave
from simulation.demand import changes
from simulation.leader import Control, Keeper, Leader
from simulation.moments import Moment
from simulation.nodes import SimulatedNodes
from simulation.policies import Policy
from simulation.site import Site, Surroundings
from simulation.work import Work, storage_charges

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
HOURS_IN_MONTH = 730
"""A storage month is a twelfth of a year, as object stores bill it."""


@dataclass(frozen=True)
class Setting:
    """One run: where, when, how long, with which disturbances. What happens before `counts_from` is warm-up.

    `past` is what is known of the pools' losses before it starts.
    """

    estate: Estate
    region: str
    start: int
    days: float
    seed: int
    cloud: CloudParameters
    waves: Sequence[Wave] = ()
    counts_from: int = 0
    past: tuple[PastHour, ...] = ()


@dataclass
class Progress:
    """What a screen shows while time passes."""

    now: int = 0
    share: float = 0.0
    instances: int = 0
    draining: int = 0
    lost: int = 0
    cycles: int = 0


@dataclass
class Run:
    """What one run left behind."""

    setting: Setting
    cloud: SimulatedCloud
    moments: list[Moment] = field(default_factory=list)
    decisions: int = 0
    refusals: dict[str, int] = field(default_factory=dict)
    first_action_ms: list[int] = field(default_factory=list)


class World:
    """One region on one clock.

    `control` makes whoever decides in it, by default one reconciler to which nothing happens. `hear` is told of
    everything that the cloud does, and `wanted` of every change of demand, before anybody else is.
    """

    def __init__(
        self,
        setting: Setting,
        policy: Policy,
        recorder: Keeper,
        control: Callable[[World, Policy], Control] = Leader,
    ) -> None:
        self.setting = setting
        self.now = setting.start
        self.end = setting.start + int(setting.days * DAY_MS)
        self.run_result = Run(
            setting,
            SimulatedCloud(
                setting.estate.pools_of(setting.region),
                region=setting.region,
                start=setting.start,
                seed=setting.seed,
                parameters=setting.cloud,
            ),
        )
        self.cloud = self.run_result.cloud
        region = setting.estate.region(setting.region)
        self.pending: list[Event] = []
        self._recorder = recorder
        self.work = Work(
            setting.estate.contracts_of(setting.region),
            self._scribe,
            self.pending.append,
            lambda name, until: self.at(until, lambda: self.work.loaded(name, self.now)),
        )
        self.nodes = SimulatedNodes(seed=setting.seed, gateway_bytes_s=region.checkpoint_gateway)
        self.site = Site(
            region=setting.region,
            seed=setting.seed,
            nodes=self.nodes,
            work=self.work,
            world=Surroundings(
                now=lambda: self.now,
                at=self.at,
                emit=self.pending.append,
                scribe=self._scribe,
                instance=self._instance,
                stands=lambda server: server in self.cloud.state.records,
                poke=lambda: self.control.poke(),  # noqa: PLW0108  # the control comes later
            ),
        )
        self.run_result.first_action_ms = self.site.first_action_ms
        self.hear: Callable[[Happening], None] = _ignore
        self.wanted: Callable[[str, int], None] = _ignore_wish
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        policy.appraiser.remember(policy.part, setting.past)
        self.control = control(self, policy)
        self.cloud.schedule(setting.waves)
        self._plan_demand()

    @property
    def reconciler(self) -> Reconciler:
        """The reconciler that leads."""
        return self.control.reconciler

    def run(self, progress: Callable[[Progress], None] | None = None) -> Run:
        """Let the whole setting pass and close the books."""
        self._until_end(progress)
        self.control.finish()
        self.work.close_books(self.now)
        self.flush()
        return self.run_result

    def one_cycle(self, progress: Callable[[Progress], None] | None = None, *, dry_run: bool) -> Decision:
        """Let the whole setting pass, then decide one cycle more; with `dry_run` it touches nothing."""
        self._until_end(progress)
        decision = self.reconciler.cycle(dry_run=dry_run)
        if not dry_run:
            self.work.close_books(self.now)
            self.flush()
        return decision

    def at(self, at: int, action: Callable[[], None]) -> None:
        """Something happens at an instant; equal instants keep the order in which they were put."""
        self._count += 1
        heapq.heappush(self._timers, (at, self._count, action))

    def spend(self, until: int) -> None:
        """Let time pass inside a call: the world goes on, and others act meanwhile."""
        while (due := self._next()) <= until:
            self.now = max(self.now, due)
            self._pass()
            if self.control.next_at() <= self.now:
                self.control.act()
        self.now = max(self.now, until)
        self._pass()

    def flush(self) -> None:
        """Hand over what the nodes told."""
        if self.pending:
            events, self.pending[:] = list(self.pending), []
            self._recorder.record(events)

    def _until_end(self, progress: Callable[[Progress], None] | None) -> None:
        told = Progress()
        while True:
            self.now = max(self.now, self._next())
            if self.now >= self.end:
                break
            self._pass()
            if self.now >= self.control.next_at() and self.control.act() and progress is not None:
                _tell(told, self)
                progress(told)
        self.now = self.end
        self._pass()

    def _next(self) -> int:
        times = [self.control.next_at()]
        if self._timers:
            times.append(self._timers[0][0])
        nexts = (self.cloud.next_event_at(), self.nodes.next_event_at())
        times += [at for at in nexts if at is not None]
        return min(times)

    def _pass(self) -> None:
        for happened in self.cloud.advance(self.now):
            self.hear(happened)
            self.site.on_cloud(happened)
        for drained in self.nodes.advance(self.now):
            self.site.on_drained(drained)
        while self._timers and self._timers[0][0] <= self.now:
            _, _, action = heapq.heappop(self._timers)
            action()

    def _charge_hour(self) -> None:
        """Checkpoint storage and our own footprint, charged an hour at a time for the hour that ends."""
        settings = self.setting.estate.settings
        self.pending += storage_charges(
            self.work.workloads.values(),
            self._scribe(self.now),
            rate_gib_hour=settings.storage_rate_per_gib_month / HOURS_IN_MONTH,
            currency=settings.currency,
        )
        if settings.footprint_per_day is not None:
            amount = settings.footprint_per_day.amount / (24 * len(settings.regions))
            self.pending.append(
                self._scribe(self.now).event(
                    EventType.FOOTPRINT_CHARGED,
                    f"{self.now}",
                    Cause.ACCOUNTING,
                    data={"amount": f"{amount:.6f}", "currency": settings.currency},
                )
            )

    def _plan_demand(self) -> None:
        setting = self.setting
        for at in range(setting.start + HOUR_MS, self.end, HOUR_MS):
            self.at(at, self._charge_hour)
        for contract in setting.estate.contracts_of(setting.region):
            for at, units in changes(contract, seed=setting.seed, start=setting.start, end=self.end):
                self.at(at, lambda name=contract.name, n=units: self._want(name, n))  # type: ignore[misc]  # defaults bind the loop's values

    def _want(self, workload: str, units: int) -> None:
        self.wanted(workload, units)
        self.work.want(workload, units, self.now)

    def _scribe(self, now: int) -> Scribe:
        return Scribe(self.setting.region, now, self.setting.estate.commit, 1, actor="node")

    def _instance(self, name: str) -> Instance | None:
        return self.control.known(name)


def _tell(told: Progress, world: World) -> None:
    setting = world.setting
    told.now = world.now
    told.share = (world.now - setting.start) / (world.end - setting.start)
    told.instances = len(world.work.by_instance)
    told.draining = len(world.nodes.draining)
    told.lost = world.site.lost
    told.cycles = world.run_result.decisions


def _ignore(_: Happening) -> None:
    """Nobody listens to the cloud."""


def _ignore_wish(_: str, __: int) -> None:
    """Nobody listens to demand."""

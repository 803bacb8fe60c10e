"""A whole region under the reconciler, from one seed: cloud, schedulers, nodes and work on one clock.

Wires the simulated cloud, the nodes' drain machines and the workloads to the real reconciler loop, and lets time pass
from event to event. The same class serves the demo, the day benchmark and policy comparisons; what differs is the
`Policy`. It decides nothing itself.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ledger.causes import Cause
from ledger.events import Event, EventType
from reconciler.appraisal import PastHour
from reconciler.cycle import Decision, Memory
from reconciler.drafts import Scribe
from reconciler.fleet import Instance
from reconciler.loop import Ports, Reconciler
from reconciler.reservations import open_day
from reconciler.steps import Step
from reconciler.store_memory import MemoryStore
from repo_layout.model import Estate
from simulation.cloud import SimulatedCloud
from simulation.cloud_model import CloudParameters, Wave
from simulation.demand import changes
from simulation.machine import CalmMachine
from simulation.moments import Moment
from simulation.nodes import SimulatedNodes
from simulation.policies import Policy
from simulation.site import Site, Surroundings
from simulation.work import Work, storage_charges

CYCLE_MS = 300_000
"""Ranking and placement every five minutes."""

SAMPLE_MS = 900_000
"""Pictures and scores need no finer grain than a quarter of an hour."""

POKE_MS = 5_000
"""A notice or loss is answered by a cycle this much later, so that a wave is answered once."""

LONGEST_BACKOFF = 6
"""Doublings of that wait while nothing gets done: more would exceed a cycle."""

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


class Keeper(Protocol):
    """Where a world's events go."""

    def record(self, events: Sequence[Event]) -> None:
        """Keep them."""


class World:
    """One region on one clock."""

    def __init__(self, setting: Setting, policy: Policy, recorder: Keeper) -> None:
        self.setting = setting
        self.now = setting.start
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
            lambda name, until: self._at(until, lambda: self.work.loaded(name, self.now)),
        )
        self.nodes = SimulatedNodes(seed=setting.seed, gateway_bytes_s=region.checkpoint_gateway)
        self.site = Site(
            region=setting.region,
            seed=setting.seed,
            nodes=self.nodes,
            work=self.work,
            world=Surroundings(
                now=lambda: self.now,
                at=self._at,
                emit=self.pending.append,
                scribe=self._scribe,
                instance=self._instance,
                poke=lambda: self._poke(POKE_MS),
            ),
        )
        self.run_result.first_action_ms = self.site.first_action_ms
        self.policy = policy
        policy.appraiser.remember(policy.part, setting.past)
        self.reconciler = _leader(self, policy)
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._cycle_at = setting.start + CYCLE_MS // 5
        self._sample_at = setting.start
        self.cloud.schedule(setting.waves)
        end = setting.start + int(setting.days * DAY_MS)
        for at in range(setting.start + HOUR_MS, end, HOUR_MS):
            self._at(at, self._charge_hour)
        for contract in setting.estate.contracts_of(setting.region):
            for at, units in changes(contract, seed=setting.seed, start=setting.start, end=end):
                self._at(at, lambda name=contract.name, n=units: self.work.want(name, n, self.now))  # type: ignore[misc]  # defaults bind the loop's values

    def run(self, progress: Callable[[Progress], None] | None = None) -> Run:
        """Let the whole setting pass and close the books."""
        self._until_end(progress)
        self._cycle()  # what ended since the last cycle is written down
        self.work.close_books(self.now)
        self._flush()
        return self.run_result

    def one_cycle(self, progress: Callable[[Progress], None] | None = None, *, dry_run: bool) -> Decision:
        """Let the whole setting pass, then decide one cycle more; with `dry_run` it touches nothing."""
        self._until_end(progress)
        decision = self.reconciler.cycle(dry_run=dry_run)
        if not dry_run:
            self.work.close_books(self.now)
            self._flush()
        return decision

    def _until_end(self, progress: Callable[[Progress], None] | None) -> None:
        end = self.setting.start + int(self.setting.days * DAY_MS)
        told = Progress()
        while True:
            times = [self._cycle_at]
            if self._timers:
                times.append(self._timers[0][0])
            nexts = (self.cloud.next_event_at(), self.nodes.next_event_at())
            times += [at for at in nexts if at is not None]
            self.now = max(self.now, min(times))
            if self.now >= end:
                break
            self._pass()
            if self.now >= self._cycle_at:
                self._cycle()
                if progress is not None:
                    self._tell(told, end)
                    progress(told)
        self.now = end
        self._pass()

    def _pass(self) -> None:
        for happened in self.cloud.advance(self.now):
            self.site.on_cloud(happened)
        for drained in self.nodes.advance(self.now):
            self.site.on_drained(drained)
        while self._timers and self._timers[0][0] <= self.now:
            _, _, action = heapq.heappop(self._timers)
            action()

    def _cycle(self) -> None:
        decision = self.reconciler.cycle()
        self._flush()
        self.run_result.decisions += 1
        for refusal in decision.refused:
            key = refusal.cause.value
            self.run_result.refusals[key] = self.run_result.refusals.get(key, 0) + 1
        if self.now >= self._sample_at:
            self._sample_at = (self.now // SAMPLE_MS + 1) * SAMPLE_MS
            self.run_result.moments.append(self.policy.sample(self.now, decision, self.work))
        self._cycle_at = (self.now // CYCLE_MS + 1) * CYCLE_MS
        if self.reconciler.deferred:
            self._poke(min(CYCLE_MS, POKE_MS << min(max(0, self.reconciler.stalled - 1), LONGEST_BACKOFF)))

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

    def _flush(self) -> None:
        if self.pending:
            events, self.pending[:] = list(self.pending), []
            self._recorder.record(events)

    def _poke(self, delay: int) -> None:
        self._cycle_at = min(self._cycle_at, self.now + delay)

    def _at(self, at: int, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._timers, (at, self._count, action))

    def _scribe(self, now: int) -> Scribe:
        return Scribe(self.setting.region, now, self.setting.estate.commit, 1, actor="node")

    def _instance(self, name: str) -> Instance | None:
        return self.reconciler.memory.fleet.instances.get(name)

    def _tell(self, told: Progress, end: int) -> None:
        told.now = self.now
        told.share = (self.now - self.setting.start) / (end - self.setting.start)
        told.instances = len(self.work.by_instance)
        told.draining = len(self.nodes.draining)
        told.lost = self.site.lost
        told.cycles = self.run_result.decisions


def _user_data(step: Step) -> bytes:
    return f"#cloud-config\n# {step.instance} {step.workload}\n".encode()


def _leader(world: World, policy: Policy) -> Reconciler:
    """The real loop, wired to this world."""
    machine = CalmMachine(world.setting.estate, world.pending)
    store = MemoryStore()
    open_day(store, key=f"reservations/{world.setting.region}", day=str(world.setting.start // DAY_MS))
    return Reconciler(
        Ports(
            provider=world.cloud,
            schedulers=world.site,
            nodes=world.site,
            recorder=machine,
            stop=machine,
            desired=machine,
            store=store,
            journal=None,
            clock=lambda: world.now,
            monotonic=lambda: world.now,
            local_day=lambda now: str(now // DAY_MS),
            user_data=_user_data,
            sole=True,
        ),
        policy.appraiser,
        parted=lambda _: policy.part,
        memory=Memory(epoch=1, listed_at=world.setting.start),
    )

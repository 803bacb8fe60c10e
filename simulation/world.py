"""A whole region under the reconciler, from one seed: cloud, schedulers, nodes and work on one clock.

Wires the simulated cloud, the nodes' drain machines and the workloads to the real reconciler loop, and lets time pass
from event to event. The same class serves the demo, the day benchmark and policy comparisons; what differs is the
`Policy`. It decides nothing itself.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent.deadline import NoticeKind
from contracts.errors import Gone
from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Notice
from reconciler.cycle import Decision, Memory
from reconciler.drafts import Scribe, event_id
from reconciler.loop import Ports, Reconciler
from reconciler.ports import Demand, NodeView, Recorder, SchedulerView
from reconciler.steps import Step
from simulation.cloud import SimulatedCloud
from simulation.cloud_model import CloudParameters, EndCause, Happening, HappeningKind, Wave
from simulation.demand import changes
from simulation.moments import Moment
from simulation.nodes import Drained, SimulatedNodes, notice_of
from simulation.policies import Policy
from simulation.work import Work
from repo_layout.model import Estate

CYCLE_MS = 300_000
"""Ranking and placement every five minutes."""

POKE_MS = 5_000
"""A notice or loss is answered by a cycle this much later, so that a wave is answered once."""

JOIN_MS = (15_000, 50_000)
"""From ACTIVE to a registered node: uniform; cloud-init and the join, measured on pre-baked images."""

NEVER_JOINS = 0.002
"""Share of servers that boot and never register."""

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Setting:
    """One run: where, when, how long, with which disturbances. What happens before `counts_from` is warm-up."""

    estate: Estate
    region: str
    start: int
    days: float
    seed: int
    cloud: CloudParameters
    waves: Sequence[Wave] = ()
    counts_from: int = 0


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
    """One region on one clock. It is the schedulers, the nodes and the stop switch of its reconciler."""

    def __init__(self, setting: Setting, policy: Policy, recorder: Recorder) -> None:
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
        self._random = random.Random(f"world/{setting.seed}")
        region = setting.estate.region(setting.region)
        self.nodes = SimulatedNodes(seed=setting.seed, gateway_bytes_s=region.checkpoint_gateway)
        self._pending: list[Event] = []
        self._recorder = recorder
        self.work = Work(setting.estate.contracts_of(setting.region), self._scribe, self._pending.append)
        self.policy = policy
        self.reconciler = Reconciler(
            policy.part,
            Ports(
                provider=self.cloud,
                schedulers=self,
                nodes=self,
                recorder=self,
                stop=self,
                clock=lambda: self.now,
                local_day=lambda now: str(now // DAY_MS),
                user_data=_user_data,
            ),
            policy.appraiser,
            commit=setting.estate.commit,
            memory=Memory(epoch=1, listed_at=setting.start),
        )
        self._views: dict[str, NodeView] = {}
        self._drained: dict[str, str] = {}
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._cycle_at = setting.start + CYCLE_MS // 5
        self._sample_at = setting.start
        self._joined_at: dict[str, int] = {}
        self.lost = 0
        self.cloud.schedule(setting.waves)
        end = setting.start + int(setting.days * DAY_MS)
        for contract in setting.estate.contracts_of(setting.region):
            for at, units in changes(contract, seed=setting.seed, start=setting.start, end=end):
                self._at(at, lambda name=contract.name, n=units: self.work.want(name, n, self.now))  # type: ignore[misc]  # defaults bind the loop's values

    # -- what the reconciler sees -------------------------------------------------------------------------------------

    def view(self) -> SchedulerView:
        """Demand and nodes, as two healthy schedulers would show them."""
        for name in self.work.dirty:
            slots = self.work.by_instance.get(name)
            if slots is None or not slots.joined:
                self._views.pop(name, None)
                continue
            self._views[name] = NodeView(
                name, self._joined_at[name], len(slots.runs), covered=True, drained=self._drained.get(name, "")
            )
        self.work.dirty.clear()
        demands = {}
        for name, work in self.work.workloads.items():
            running = work.running
            demands[name] = Demand(name, running, 0, max(0, work.target - running))
        return SchedulerView(self.now, demands, self._views)

    def remove_node(self, name: str) -> None:
        """A node that is gone leaves its scheduler."""
        if self._joined_at.pop(name, None) is None:
            raise Gone(name)

    def ask_return(self, name: str, *, ends_at: int, cause_event: str) -> None:
        """An agreed return: the node drains by `ends_at`."""
        slots = self.work.by_instance.get(name)
        if slots is None:
            raise Gone(name)
        told = notice_of(name, reclaim="", kind=NoticeKind.RETURN, issued_at=self.now, ends_at=ends_at)
        self._begin_drain(name, told, cause_event, cause_event)

    def keep(self, name: str) -> None:
        """Nothing to take back: a return that began goes on."""

    def reason(self) -> str:
        """Never stopped."""
        return ""

    def record(self, events: Sequence[Event]) -> None:
        """Pass events on together with the world's own, in one batch."""
        self._pending += events

    # -- time ---------------------------------------------------------------------------------------------------------

    def run(self, progress: Callable[[Progress], None] | None = None) -> Run:
        """Let the whole setting pass and close the books."""
        end = self.setting.start + int(self.setting.days * DAY_MS)
        told = Progress()
        while True:
            times = [self._cycle_at]
            if self._timers:
                times.append(self._timers[0][0])
            for source in (self.cloud.next_event_at(), self.nodes.next_event_at()):
                if source is not None:
                    times.append(source)
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
        self.cloud.advance(end)
        self.work.close_books(end)
        self._flush()
        return self.run_result

    def _pass(self) -> None:
        for happened in self.cloud.advance(self.now):
            self._on_cloud(happened)
        for drained in self.nodes.advance(self.now):
            self._on_drained(drained)
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
            self._sample_at = (self.now // CYCLE_MS + 1) * CYCLE_MS
            self.run_result.moments.append(self.policy.sample(self.now, decision, self.work))
        self._cycle_at = (self.now // CYCLE_MS + 1) * CYCLE_MS
        if self.reconciler.deferred:
            self._poke(POKE_MS)

    def _flush(self) -> None:
        if self._pending:
            events, self._pending[:] = list(self._pending), []
            self._recorder.record(events)

    def _poke(self, delay: int) -> None:
        self._cycle_at = min(self._cycle_at, self.now + delay)

    def _at(self, at: int, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._timers, (at, self._count, action))

    def _scribe(self, now: int) -> Scribe:
        return Scribe(self.setting.region, now, self.setting.estate.commit, 1, actor="node")

    # -- what happens -------------------------------------------------------------------------------------------------

    def _on_cloud(self, happened: Happening) -> None:
        match happened.kind:
            case HappeningKind.ACTIVE:
                self._booted(happened)
            case HappeningKind.NOTICED if happened.notice is not None:
                self._noticed(happened.notice)
            case HappeningKind.WITHDRAWN if happened.notice is not None:
                self._withdrawn(happened.notice)
            case HappeningKind.ENDED:
                self._ended(happened)
            case _:
                return

    def _booted(self, happened: Happening) -> None:
        instance = self.reconciler.memory.fleet.instances.get(happened.name)
        if instance is None:
            return
        self.work.booted(
            happened.name,
            workload=instance.workload,
            pool=happened.pool,
            paid=instance.paid,
            units=instance.units,
            now=happened.at,
        )
        if self._random.random() >= NEVER_JOINS:
            self._at(happened.at + self._random.randint(*JOIN_MS), lambda: self._join(happened.name))

    def _join(self, name: str) -> None:
        if name in self.work.by_instance and name not in self._joined_at:
            self._joined_at[name] = self.now
            self.work.joined(name, self.now)
            self._watch_loading(name)

    def _watch_loading(self, name: str) -> None:
        until = self.work.next_loaded(name)
        if until is not None:
            self._at(until, lambda: self._loaded(name))

    def _loaded(self, name: str) -> None:
        self.work.loaded(name, self.now)
        self._watch_loading(name)

    def _noticed(self, notice: Notice) -> None:
        slots = self.work.by_instance.get(notice.name)
        self._poke(POKE_MS)
        if slots is None or not slots.joined:
            return
        told = notice_of(
            notice.name,
            reclaim=notice.reclaim,
            kind=NoticeKind(notice.kind.value),
            issued_at=notice.issued_at,
            ends_at=notice.ends_at,
        )
        subject = f"{notice.id}/{notice.name}"
        cause_event = event_id(EventType.NOTICE_RECEIVED, self.setting.region, subject)
        self._begin_drain(notice.name, told, cause_event, subject)

    def _begin_drain(self, name: str, told: object, caused_by: str, subject: str) -> None:
        from agent.deadline import Notice as NodeNotice

        assert isinstance(told, NodeNotice)
        slots = self.work.by_instance[name]
        contract = self.work.workloads[slots.workload].contract
        began = name not in self.nodes.draining
        units = self.work.drain(name, self.now, subject)
        if self.nodes.hear(told, units=units, contract=contract, now=self.now) and began:
            self._pending.append(
                self._scribe(self.now).event(
                    EventType.DRAIN_STARTED,
                    f"{name}/{told.issued_at}",
                    Cause.NOTICE,
                    caused_by=caused_by,
                    workload=slots.workload,
                    pool=slots.pool,
                    instance=name,
                    data={"ends_at": told.ends_at, "units": units},
                )
            )
            slots.notice = f"{name}/{told.issued_at}"

    def _withdrawn(self, notice: Notice) -> None:
        self._poke(POKE_MS)
        slots = self.work.by_instance.get(notice.name)
        if slots is None or not slots.joined:
            return
        told = notice_of(
            notice.name,
            reclaim=notice.reclaim,
            kind=NoticeKind(notice.kind.value),
            issued_at=notice.issued_at,
            ends_at=notice.ends_at,
            withdrawn=True,
        )
        if notice.name in self.nodes.draining:
            self.nodes.hear(told, units=0, contract=self.work.workloads[slots.workload].contract, now=self.now)
        elif slots.draining:
            self._drained.pop(notice.name, None)
            self.work.undrain(notice.name, self.now)

    def _on_drained(self, drained: Drained) -> None:
        slots = self.work.by_instance.get(drained.instance)
        if slots is None:
            return
        self.run_result.first_action_ms.append(drained.first_action_ms)
        subject = slots.notice
        verified = drained.outcome == "verified"
        event = self._scribe(drained.at).event(
            EventType.DRAIN_ENDED,
            subject,
            Cause.DRAINED
            if verified
            else Cause.NOTICE_WITHDRAWN
            if drained.outcome == "withdrawn"
            else Cause.BUDGET_EXCEEDED,
            caused_by=event_id(EventType.DRAIN_STARTED, self.setting.region, subject),
            workload=slots.workload,
            pool=slots.pool,
            instance=drained.instance,
            data={"outcome": drained.outcome, "slow_unit": drained.slow_unit},
        )
        self._pending.append(event)
        if drained.outcome == "withdrawn":
            self.work.undrain(drained.instance, drained.at)
            return
        self._drained[drained.instance] = drained.outcome
        self.work.stopped(drained.instance, drained.at, saved=drained.saved, cause=event.cause, caused_by=event.id)

    def _ended(self, happened: Happening) -> None:
        name = happened.name
        slots = self.work.by_instance.get(name)
        if happened.cause is not EndCause.DELETED:
            self.lost += 1
            self._poke(POKE_MS)
        self._drained.pop(name, None)
        if slots is None:
            return
        if slots.runs:
            noticed = name in self.nodes.draining
            self.work.stopped(
                name,
                happened.at,
                saved=False,
                cause=Cause.LOST_AFTER_NOTICE if noticed else Cause.LOST_WITHOUT_NOTICE,
                caused_by=event_id(EventType.INSTANCE_LOST, self.setting.region, name),
            )
        self.nodes.lost(name)
        self.work.ended(name, happened.at)

    def _tell(self, told: Progress, end: int) -> None:
        told.now = self.now
        told.share = (self.now - self.setting.start) / (end - self.setting.start)
        told.instances = len(self.work.by_instance)
        told.draining = len(self.nodes.draining)
        told.lost = self.lost
        told.cycles = self.run_result.decisions


def _user_data(step: Step) -> bytes:
    return f"#cloud-config\n# {step.instance} {step.workload}\n".encode()

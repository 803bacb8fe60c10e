"""The reconciler's loop: observe, decide, guard, apply, record. A thin shell around `cycle.decide`.

It asks its ports, hands values to the pure core, carries out the steps that the guard let through, and writes events. A
side that does not answer is `None` in what was seen; no exception of a port ends a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from contracts.errors import Breach, Gone, Refused, Transient
from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Conflict, CreateRequest, Mark, Provider, QuotaExhausted, Signals
from reconciler import pacing
from reconciler.appraisal import Appraiser
from reconciler.cycle import Decision, Memory, Seen, decide
from reconciler.desired import Partition
from reconciler.drafts import Scribe
from reconciler.fleet import Instance, Phase
from reconciler.ports import Nodes, Recorder, Schedulers, SchedulerView, StopSwitch
from reconciler.steps import Step, StepKind

Answer = TypeVar("Answer")

EMPTY_RETURN_MS = 15_000
"""What an empty node gets to show that nothing runs on it; whoever never joined has nothing to show."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything outside that the loop talks to. `clock` gives milliseconds since the epoch, `local_day` the region's
    date, `user_data` the boot document of one instance.
    """

    provider: Provider
    schedulers: Schedulers
    nodes: Nodes
    recorder: Recorder
    stop: StopSwitch
    clock: Callable[[], int]
    local_day: Callable[[int], str]
    user_data: Callable[[Step], bytes]


class Reconciler:
    """One partition's leader: holds memory and buckets between cycles.

    `deferred` steps of the last cycle found no token; being level-triggered, the next cycle finds them again, so the
    caller may run it soon.
    """

    def __init__(self, part: Partition, ports: Ports, appraiser: Appraiser, *, commit: str, memory: Memory) -> None:
        self.part = part
        self.ports = ports
        self.appraiser = appraiser
        self.commit = commit
        self.memory = memory
        self.deferred = 0
        self._buckets: dict[str, pacing.Bucket] = {}

    def cycle(self, *, dry_run: bool = False) -> Decision:
        """One cycle; with `dry_run` nothing is called, recorded or remembered."""
        seen = self.observe()
        decision = decide(self.part, self.memory, seen, self.appraiser, self.commit)
        if dry_run:
            return decision
        self.memory = decision.memory
        going = [step for step in decision.allowed if self._may_call(step)]
        self.deferred = len(decision.allowed) - len(going)
        self.ports.recorder.record([*decision.events, *self._intents(going)])
        self._apply(going)
        return decision

    def observe(self) -> Seen:
        """Ask every port once; silence is None, never an empty answer."""
        ports = self.ports
        now = ports.clock()
        signals = _ask(lambda: ports.provider.signals(self.memory.cursor))
        view = _ask(ports.schedulers.view)
        clusters = frozenset(contract.cluster for contract in self.part.contracts)
        return Seen(
            now=now,
            signals=signals or Signals(as_of=0, cursor=self.memory.cursor),
            listing=_ask(ports.provider.instances),
            schedulers=view or SchedulerView(0, {}, {}, silent_clusters=clusters),
            rates=_ask(ports.provider.rates),
            forward=_ask(ports.provider.forward_capacity),
            quota=_ask(ports.provider.quota),
            stopped=ports.stop.reason(),
            day=ports.local_day(now),
        )

    def _scribe(self) -> Scribe:
        return Scribe(self.part.region, self.ports.clock(), self.commit, self.memory.epoch)

    def _intents(self, steps: Sequence[Step]) -> list[Event]:
        """What is about to be done, written down before it is done."""
        scribe = self._scribe()
        events = []
        for step in steps:
            if step.kind in (StepKind.ACQUIRE, StepKind.REPLACE):
                events.append(
                    _about(scribe, EventType.INSTANCE_REQUESTED, step, units=step.units, paid=step.paid.value)
                )
            elif step.kind is StepKind.RELEASE:
                events.append(_about(scribe, EventType.RELEASE_ASKED, step))
        return events

    def _apply(self, steps: Sequence[Step]) -> None:
        doing = {
            StepKind.ACQUIRE: self._create,
            StepKind.REPLACE: self._create,
            StepKind.RELEASE: self._release,
            StepKind.DELETE: self._delete,
            StepKind.DEREGISTER: self._deregister,
        }
        late: list[Event] = []
        for step in steps:
            do = doing.get(step.kind)
            if do is not None:
                event = do(step)
                if event is not None:
                    late.append(event)
        if late:
            self.ports.recorder.record(late)

    def _may_call(self, step: Step) -> bool:
        limits = self.part.estate.region(self.part.region).guard
        now = self.ports.clock()
        bucket = self._buckets.get(step.project) or pacing.full(limits.call_rate, limits.call_burst, now)
        self._buckets[step.project], free = pacing.take(bucket, now)
        return free

    def _hold(self, project: str, error: Transient) -> None:
        bucket = self._buckets.get(project)
        if bucket is not None and error.retry_after_s is not None:
            self._buckets[project] = pacing.close(bucket, self.ports.clock() + int(error.retry_after_s * 1000))

    def _keep(self, instance: Instance) -> None:
        instances = dict(self.memory.fleet.instances)
        instances[instance.name] = instance
        self.memory = replace(self.memory, fleet=replace(self.memory.fleet, instances=instances))

    def _mark(self, step: Step, epoch: int) -> Mark:
        estate = self.part.estate.settings.estate
        return Mark(estate, self.part.region, step.instance, epoch, step.workload, step.units, step.paid.value)

    def _create(self, step: Step) -> Event | None:
        request = CreateRequest(
            step.pool, step.project, self._mark(step, self.memory.epoch), self.ports.user_data(step)
        )
        try:
            server = self.ports.provider.create(request)
        except QuotaExhausted as error:
            return self._failed(step, Cause.QUOTA_EXHAUSTED, error)
        except Conflict as error:
            return self._failed(step, Cause.ALLOCATION_CONFLICTS, error)
        except Transient as error:
            self._hold(step.project, error)
            return self._failed(step, Cause.CREATE_FAILED, error)
        except Refused as error:
            return self._failed(step, Cause.CREATE_FAILED, error)
        self._keep(
            Instance(
                name=step.instance,
                pool=step.pool,
                project=step.project,
                workload=step.workload,
                units=step.units,
                paid=step.paid,
                phase=Phase.BOOTING,
                requested_at=self.ports.clock(),
                epoch=self.memory.epoch,
                server=server.id,
                cause=step.cause,
                cause_event=step.cause_event,
            )
        )
        source = self.memory.fleet.instances.get(step.takes_over)
        if source is not None:
            self._keep(replace(source, moving_to=step.instance))
        return None

    def _failed(self, step: Step, cause: Cause, error: Exception) -> Event:
        self.appraiser.acquisition_failed(step.pool, step.workload, cause, self.ports.clock())
        return _about(self._scribe(), EventType.INSTANCE_FAILED, replace(step, cause=cause), error=str(error)[:200])

    def _release(self, step: Step) -> Event | None:
        instance = self.memory.fleet.instances[step.instance]
        now = self.ports.clock()
        pool = self.part.pool_by_name[step.pool]
        empty = instance.starting or instance.busy_units == 0
        ends_at = now + (EMPTY_RETURN_MS if empty else pool.notice_window_s * 1000)
        asked = _about(self._scribe(), EventType.RELEASE_ASKED, step)
        if not instance.starting:
            try:
                self.ports.nodes.ask_return(step.instance, ends_at=ends_at, cause_event=asked.id)
            except (Transient, Gone, Refused):
                return None
        self._keep(
            replace(
                instance,
                phase=Phase.DRAINING,
                released=True,
                ends_at=ends_at,
                cause=step.cause,
                cause_event=asked.id,
            )
        )
        return None

    def _delete(self, step: Step) -> Event | None:
        instance = self.memory.fleet.instances[step.instance]
        mark = replace(self._mark(step, instance.epoch))
        try:
            self.ports.provider.delete(step.server, expected=mark)
        except Gone:
            pass
        except Transient as error:
            self._hold(step.project, error)
            return None
        except (Refused, Breach):
            return None
        self._keep(replace(instance, released=True))
        return None

    def _deregister(self, step: Step) -> Event | None:
        try:
            self.ports.schedulers.remove_node(step.instance)
        except (Gone, Transient):
            return None
        return None


def _about(scribe: Scribe, type_: EventType, step: Step, **data: str | int) -> Event:
    return scribe.event(
        type_,
        step.instance,
        step.cause,
        caused_by=step.cause_event,
        workload=step.workload,
        pool=step.pool,
        instance=step.instance,
        data=data,
    )


def _ask(question: Callable[[], Answer]) -> Answer | None:
    try:
        return question()
    except (Transient, Refused):
        return None

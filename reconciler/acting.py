"""Carries out the steps that the guard let through, one call at a time, and keeps the fleet true to what was answered.

Used by `loop` alone. It decides nothing but how long to wait and when to stop in the middle: the stop switch is read
before each step, a token is taken before each call to the provider, and an invariant found broken stops everything
until a person starts the process again. A call without an answer may have taken effect: what it asked for is kept
under its key and asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from contracts.approval import SignedApproval
from contracts.errors import EbbtideError, Gone, Transient
from contracts.frozen import replace
from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Conflict, CreateRequest, Mark, Provider, QuotaExhausted
from reconciler import billing, pacing
from reconciler.answers import answered
from reconciler.appraisal import Appraiser
from reconciler.brake import Brake
from reconciler.breakers import Order
from reconciler.desired import Partition
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.leadership import Leadership
from reconciler.lease import TERMS, Terms
from reconciler.outcomes import NOT_THERE_YET_MS, REQUESTS, about, disowned, released, requested, stands
from reconciler.ports import DesiredState, Journal, Nodes, Recorder, Schedulers, StopSwitch, Store
from reconciler.steps import Step, StepKind
from repo_layout.documents import GuardLimits

CONFLICT_TRIES = 3
"""Creates that lost a race for the inventory are tried again after all others of the cycle, under the same key."""

CALLS = frozenset({StepKind.ACQUIRE, StepKind.REPLACE, StepKind.DELETE, StepKind.ADOPT, StepKind.DISOWN})
"""Steps that call the provider, and so cost a token of their project."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything outside that the loop talks to.

    `clock` gives milliseconds since the epoch, `monotonic` milliseconds that never jump, `local_day` the region's date,
    `user_data` the boot document of one instance, `accepted_at` the time up to which a person accepted what a listing
    lacks (0: none was), `orders` what people ordered beside the reviewed files after the order of that number, `signed`
    the approvals that lie beside them, and `holder` names this replica to the others that share its store, for which
    `terms` hold; `sole` says that there are none (`leadership.Leadership`). Without a `journal` nothing is to outlive
    the process.
    """

    provider: Provider
    schedulers: Schedulers
    nodes: Nodes
    recorder: Recorder
    stop: StopSwitch
    desired: DesiredState
    store: Store
    journal: Journal | None
    clock: Callable[[], int]
    monotonic: Callable[[], int]
    local_day: Callable[[int], str]
    user_data: Callable[[Step], bytes]
    accepted_at: Callable[[], int] = lambda: 0
    orders: Callable[[int], Sequence[Order]] = lambda _: ()
    signed: Callable[[], Sequence[SignedApproval]] = lambda: ()
    holder: str = "reconciler"
    terms: Terms = TERMS
    sole: bool = False


@dataclass
class Done:
    """The fleet after some steps, the events of what happened, and steps that did not go out or have to again."""

    fleet: Fleet
    events: list[Event] = field(default_factory=list)
    undone: list[Step] = field(default_factory=list)
    again: int = 0


class Tokens:
    """The token buckets of the partition's projects. A bucket lives no longer than its process: time is monotonic."""

    def __init__(self, limits: GuardLimits, monotonic: Callable[[], int]) -> None:
        self._limits, self._monotonic = limits, monotonic
        self._buckets: dict[str, pacing.Bucket] = {}

    def take(self, project: str) -> bool:
        """Whether one more call may go out to the project now."""
        now = self._monotonic()
        bucket = self._buckets.get(project) or pacing.full(self._limits.call_rate, self._limits.call_burst, now)
        self._buckets[project], free = pacing.take(bucket, now)
        return free

    def admit(self, steps: Iterable[Step]) -> tuple[list[Step], list[Step]]:
        """The steps that may go out at this pace, and those that have to wait for a token."""
        going: list[Step] = []
        waiting: list[Step] = []
        for step in steps:
            (going if step.kind not in CALLS or self.take(step.project) else waiting).append(step)
        return going, waiting

    def hold(self, project: str, error: EbbtideError) -> None:
        """Honour what the other side asked for, if it asked for anything."""
        wait_s = error.retry_after_s if isinstance(error, Transient) else None
        bucket = self._buckets.get(project)
        if bucket is not None and wait_s is not None:
            self._buckets[project] = pacing.close(bucket, self._monotonic() + int(wait_s * 1000))


class Acting:
    """One partition's hands; `brake` says before each step whether it may still go out."""

    def __init__(self, part: Partition, ports: Ports, appraiser: Appraiser, leadership: Leadership) -> None:
        self.part = part
        self.ports = ports
        self.appraiser = appraiser
        self.brake = Brake(ports, leadership)
        self.tokens = Tokens(part.estate.region(part.region).guard, ports.monotonic)
        self._instances: dict[str, Instance] = {}
        self._settled: set[str] = set()
        self._twins: set[str] = set()
        self._landing: dict[str, int] = {}
        self._done = Done(Fleet())
        self._scribe = Scribe(part.region, 0, "", 0, partition=part.name)

    def carry_out(self, steps: Sequence[Step], fleet: Fleet, scribe: Scribe) -> Done:
        """Do the steps in order; between any two of them the stop switch is heard."""
        doing: dict[StepKind, Callable[[Step], None]] = {
            StepKind.RELEASE: self._release,
            StepKind.DELETE: self._delete,
            StepKind.DEREGISTER: self._deregister,
            StepKind.ADOPT: self._adopt,
            StepKind.DISOWN: self._disown,
        }
        self._instances, self._settled = dict(fleet.instances), set()
        self._done, self._scribe = Done(fleet), scribe
        self._twins = set(fleet.twins)
        lost_race: list[Step] = []
        for step in steps:
            halt = self.brake.halt()
            if halt is not None:
                self._leave(step, *halt)
            elif step.kind in (StepKind.ACQUIRE, StepKind.REPLACE):
                if not self._create(step, last=False):
                    lost_race.append(step)
            elif step.kind in doing:
                doing[step.kind](step)
        for left in range(CONFLICT_TRIES - 2, -1, -1):
            lost_race = [step for step in lost_race if not self._try_again(step, last=left == 0)]
        debts = tuple(debt for debt in fleet.debts if debt.instance not in self._settled)
        self._done.fleet = replace(fleet, instances=self._instances, debts=debts, twins=frozenset(self._twins))
        return self._done

    def _leave(self, step: Step, cause: Cause, why: str) -> None:
        """A step that is not done after all: what was written down about it is closed."""
        self._done.undone.append(step)
        if step.kind in REQUESTS and not step.again:
            self._failed(step, cause, why)

    def _failed(self, step: Step, cause: Cause, error: str) -> None:
        asked = event_id(EventType.INSTANCE_REQUESTED, self._scribe.region, step.instance)
        failed = about(
            self._scribe, EventType.INSTANCE_FAILED, replace(step, cause=cause), caused_by=asked, error=error[:200]
        )
        self._done.events.append(failed)
        self._instances.pop(step.instance, None)

    def _try_again(self, step: Step, *, last: bool) -> bool:
        """One more try for a create that lost its race; True when it is settled one way or the other."""
        halt = self.brake.halt()
        if halt is not None:
            self._leave(step, *halt)
            return True
        if not self.tokens.take(step.project):
            self._leave(step, Cause.RATE_LIMIT, "no token is left for another try")
            return True
        return self._create(step, last=last)

    def _create(self, step: Step, *, last: bool) -> bool:
        """Ask for one server; False when it lost a race and may be tried once more."""
        now = self.ports.clock()
        epoch = self._scribe.epoch
        known = self._instances.get(step.instance) or requested(step, now, epoch)
        # asked again, it may be made as late as if it had never been asked for before
        asked = replace(known, epoch=epoch, requested_at=now)
        request_mark = _mark(self.part, step, epoch)
        try:
            server = answered(
                lambda: self.ports.provider.create(
                    CreateRequest(step.pool, step.project, request_mark, self.ports.user_data(step))
                )
            )
        except Conflict as error:
            if not last:
                return False
            self.appraiser.acquisition_failed(step.pool, step.workload, Cause.ALLOCATION_CONFLICTS, now)
            self._failed(step, Cause.ALLOCATION_CONFLICTS, str(error))
            self._done.again += 1
        except QuotaExhausted as error:
            self.appraiser.acquisition_failed(step.pool, step.workload, Cause.QUOTA_EXHAUSTED, now)
            self._failed(step, Cause.QUOTA_EXHAUSTED, str(error))
        except Transient as error:  # the server may exist: it is supply, and its key finds it
            self.tokens.hold(step.project, error)
            self._stands(step, asked)
            self._done.again += 1
        except EbbtideError as error:
            self.appraiser.acquisition_failed(step.pool, step.workload, Cause.CREATE_FAILED, now)
            self._failed(step, Cause.CREATE_FAILED, str(error))
            self.brake.note(error)
        else:
            self._stands(step, replace(asked, phase=Phase.BOOTING, server=server.id))
        return True

    def _stands(self, step: Step, instance: Instance) -> None:
        """The instance is asked for: the debt it pays is settled, and whom it relieves knows."""
        stands(self._instances, step, instance)
        if step.replaces:
            self._settled.add(step.replaces)

    def _release(self, step: Step) -> None:
        """Ask the node to drain. What never was seen as a node is asked too, and gets a shorter end where none answers
        than the pool's own notice: a scheduler that lacks a node may have forgotten it.
        """
        instance, heard, gone = self._instances[step.instance], True, False
        told = replace(instance, release_event=step.told)
        try:
            instance = self._ask(instance, step.told)
        except Gone:  # no node is there to drain: its end is as good as agreed
            gone = True
        except Transient:  # it may have heard: this one drains, and is asked again until it answers
            heard = False
            self._done.again += instance.node_once
        except EbbtideError as error:
            self.brake.note(error)
            self._instances[step.instance] = told
            self._done.undone.append(step)
            return
        nobody = gone and not instance.node_once
        ends_at = self.ports.clock() + (NOT_THERE_YET_MS if nobody else _window_ms(self.part, instance))
        self._instances[step.instance] = released(instance, step, ends_at=ends_at, heard=heard, gone=gone)

    def _ask(self, instance: Instance, told: str) -> Instance:
        """Ask whatever node there is to drain: who answers is one. Raises what the nodes' side raises."""
        ends_at = self.ports.clock() + _window_ms(self.part, instance)
        answered(lambda: self.ports.nodes.ask_return(instance.name, ends_at=ends_at, cause_event=told))
        return instance if instance.node_once else replace(instance, unsure_since=self.ports.clock())

    def _works(self, instance: Instance) -> bool:
        """Whether a node turns up, at the last moment, under what was let go before it was seen as one: it drains
        first. Raises what the nodes' side raises.
        """
        if instance.node_once or not instance.released or not instance.release_event:
            return False
        try:
            found = self._ask(instance, instance.release_event)
        except Gone:
            return False
        self._instances[instance.name] = replace(
            found, asked=1, ends_at=self.ports.clock() + _window_ms(self.part, found)
        )
        return True

    def _delete(self, step: Step) -> None:
        """Delete a server that is done with; of twins the one that its instance is not, and never the last."""
        instance = self._instances[step.instance]
        let_go = replace(instance, released=True)
        if step.cause is Cause.TWIN:
            if not instance.supply or instance.server in ("", step.server):
                self._done.undone.append(step)
                return
            self._twins.add(step.server)
            let_go = instance
        mark = _mark(self.part, step, max(instance.epoch, self._scribe.epoch))
        try:
            if step.cause is not Cause.TWIN and self._works(instance):
                return
            answered(lambda: self.ports.provider.delete(step.server, expected=mark))
        except Gone:
            pass
        except EbbtideError as error:
            if isinstance(error, Transient):  # it may be gone, and then it was us
                self._instances[step.instance] = let_go
            self._not_done(step, error)
            return
        self._instances[step.instance] = let_go

    def _deregister(self, step: Step) -> None:
        try:
            answered(lambda: self.ports.schedulers.remove_node(step.instance))
        except Gone:
            pass
        except EbbtideError as error:
            self._not_done(step, error)
            return
        self._instances[step.instance] = replace(self._instances[step.instance], deregistered=True)

    def _adopt(self, step: Step) -> None:
        """Put our mark on a server that a reviewed file hands over; it is paid for from now on. Without an answer the
        mark may be on: then the next listing shows it. While it may still land no other one follows, which would say
        another time once the first was told. Where an answered one did not last, the next says the same time as was
        told, and a listing that shows it finds the instance again.
        """
        if self.ports.monotonic() < self._landing.get(step.server, 0):
            self._done.undone.append(step)
            return
        since = _ours_since(self._instances.get(step.instance), step.server)
        now = self.ports.clock()
        mark = _mark(self.part, step, self._scribe.epoch, since=since or now)
        try:
            answered(lambda: self.ports.provider.mark(step.server, mark))
        except EbbtideError as error:
            self._landing[step.server] = self.ports.monotonic() + self.ports.terms.call
            self._not_done(step, error)
            return
        self._landing.pop(step.server, None)
        if since:
            return
        instance = replace(
            requested(step, now, self._scribe.epoch),
            phase=Phase.BOOTING,
            server=step.server,
            cause_event=event_id(EventType.INSTANCE_REQUESTED, self.part.region, step.instance),
        )
        self._instances[step.instance], told = billing.adopted(instance, at=now, scribe=self._scribe)
        self._done.events += told

    def _disown(self, step: Step) -> None:
        """Take our mark off a server whose adoption is gone; it stays as it is, and is no longer ours. A listing may
        show that nothing came of the answer: it is remembered as gone.
        """
        instance, now = self._instances[step.instance], self.ports.clock()
        try:
            answered(lambda: self.ports.provider.mark(step.server, None))
        except Gone:
            pass
        except EbbtideError as error:
            if isinstance(error, Transient):  # it may be off, and then it was us
                self._instances[step.instance] = disowned(instance, step)
            self._not_done(step, error)
            return
        gone = replace(instance, phase=Phase.GONE, gone_at=now, deregistered=True, cause=step.cause)
        if instance.started_at and not instance.ended_at:
            gone = replace(gone, ended_at=now)
            self._done.events.append(billing.ended(gone, at=now, scribe=self._scribe, believed=True))
        self._instances[step.instance] = gone

    def _not_done(self, step: Step, error: EbbtideError) -> None:
        """An answer that was none, or a refusal: the next cycle finds the step again."""
        self.tokens.hold(step.project, error)
        self.brake.note(error)
        self._done.undone.append(step)


def _window_ms(part: Partition, instance: Instance) -> int:
    """How long a node gets that is asked to drain: its pool's own notice."""
    pool = part.pool_by_name.get(instance.pool)
    return 1000 * (pool.notice_window_s if pool else part.estate.region(part.region).notice_window)


def _ours_since(gone: Instance | None, server: str) -> int:
    """Since when the server is told to be ours, though it is held to be gone: our mark on it was answered, and no
    listing shows it. 0 when that was never told, or somebody else had it since.
    """
    if gone is None or gone.server != server or gone.cause is Cause.DISOWNED_BY_REVIEW:
        return 0
    return gone.started_at


def _mark(part: Partition, step: Step, epoch: int, *, since: int = 0) -> Mark:
    """Our sign for the instance of a step; an adopted one is ours `since` then."""
    estate = part.estate.settings.estate
    return Mark(estate, part.region, step.instance, epoch, step.workload, step.units, step.paid.value, since, part.name)

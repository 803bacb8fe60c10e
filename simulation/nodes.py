"""Simulated nodes: each notice runs the real drain state machine against a model of scheduler and processes.

Plays the agent's adapters: what the machine orders is answered after seeded delays (the API server's, the processes'
own), as inputs at later times. The reconciler sees these nodes through `reconciler.ports.Nodes`. Nothing here decides a
drain: `agent.drain` does.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field, replace

from agent import actions as ordered
from agent import inputs as told
from agent.deadline import Notice, NoticeKind, Notices, honest_deadline, merge
from agent.drain import Entry, begin, next_deadline, replay, step
from agent.state import DrainState
from contracts.errors import Refused
from contracts.model import Contract

FIRST_ACTION_MS = (20, 120)
"""From a notice's arrival to the first action on a node: uniform, as measured on a real agent prototype."""

API_MS = (8, 140)
"""An eviction's or taint's answer from a healthy API server: uniform between its quick and its busy moments."""

NODE_WRITES = 250 * 2**20
"""Bytes a second that one node writes to the object store when it has the store to itself."""

WIND_DOWN_MS = (400, 9_000)
"""What a process without a checkpoint takes to end after its signal."""

STUCK = 0.002
"""Share of units that do not end by themselves and have to be killed at the budget."""


@dataclass(frozen=True, slots=True)
class Drained:
    """How one drain ended: `saved` when everything that saves on notice had time to."""

    instance: str
    at: int
    outcome: str
    saved: bool
    first_action_ms: int
    slow_unit: str = ""


@dataclass(slots=True)
class _Running:
    """One drain under way: the machine's state, and what the node's processes will do."""

    state: DrainState
    heard_at: int
    contract: Contract
    running: set[str]
    agenda: list[tuple[int, int, told.Input]] = field(default_factory=list)
    killed: bool = False
    first_action_at: int = 0


class SimulatedNodes:
    """All agents of a region. `journals` keeps what each instance's drains saw, as a real agent's journal would; `dead`
    are instances whose agent does not run. `known` is what was told to those that do not drain now: a word that stands
    there binds its node, which drained for it, to take no more work.
    """

    def __init__(self, *, seed: int, gateway_bytes_s: int) -> None:
        self._random = random.Random(f"nodes/{seed}")
        self._gateway = gateway_bytes_s
        self._drains: dict[str, _Running] = {}
        self._due: list[tuple[int, int, str]] = []
        self._count = 0
        self._saving = 0
        self.journals: dict[str, list[Entry]] = {}
        self.dead: set[str] = set()
        self.known: dict[str, Notices] = {}

    def next_event_at(self) -> int | None:
        """When something happens next on any node."""
        return self._due[0][0] if self._due else None

    @property
    def draining(self) -> frozenset[str]:
        """Instances whose drain has not ended."""
        return frozenset(self._drains)

    def hear(self, notice: Notice, *, units: int, contract: Contract, now: int, node: str = "") -> bool:
        """A node hears a notice; False when it opens no drain and changes none. `node` hears what is another's."""
        instance = node or notice.instance
        if instance in self._drains:
            self._feed(instance, told.NoticeSeen(notice), now)
            return True
        if notice.withdrawn:  # it may have overtaken its notice
            known, _ = merge(self.known.get(instance, Notices(instance)), notice, now=now, wall=now)
            self.known[instance] = known
            return False
        heard = now + self._random.randint(*FIRST_ACTION_MS)
        kubernetes = contract.runs_on.kubernetes is not None
        began = told.Began(
            node=instance,
            instance=instance,
            units=tuple(told.Unit(f"u{k}", grace_s=contract.drain.budget) for k in range(units)),
            budget_s=contract.drain.budget,
            how=told.How(contract.drain.how),
            scheduler=told.Scheduler.KUBERNETES if kubernetes else told.Scheduler.SLURM,
            notice=notice,
            known=_met(self.known.get(instance), notice, heard),
        )
        try:
            state, actions = begin(began, heard)
        except Refused:
            return False
        self.journals.setdefault(instance, []).append(Entry(heard, began))
        running = _Running(state, now, contract, {f"u{k}" for k in range(units)}, first_action_at=heard)
        self._drains[instance] = running
        self._saving += 1
        self._carry_out(running, actions, heard)
        self._plan(instance, running)
        return True

    def kill(self, instance: str) -> None:
        """The agent dies: answers to what it asked are lost with it, and processes that were told to end still do."""
        self.dead.add(instance)
        running = self._drains.get(instance)
        if running is not None:
            running.agenda = [entry for entry in running.agenda if isinstance(entry[2], told.Exited)]
            heapq.heapify(running.agenda)

    def restart(self, instance: str, now: int) -> None:
        """The agent starts again and goes on with the drain that its journal holds."""
        self.dead.discard(instance)
        running = self._drains.get(instance)
        state = replay(self.journals.get(instance, ())) if running is not None else None
        if running is None or state is None:
            return
        running.state = state
        exits, running.agenda = running.agenda, []
        self._later(running, now, told.Restarted())
        for at, _, said in exits:
            self._later(running, max(at, now), said)
        self._plan(instance, running)

    def lost(self, instance: str) -> None:
        """The node ended under its drain, or without one."""
        self.dead.discard(instance)
        self.known.pop(instance, None)
        if self._drains.pop(instance, None) is not None:
            self._saving -= 1

    def advance(self, to: int) -> list[Drained]:
        """Let the nodes act up to and including `to`; the drains that ended, in order."""
        ended: list[Drained] = []
        while self._due and self._due[0][0] <= to:
            at, _, instance = heapq.heappop(self._due)
            running = self._drains.get(instance)
            if running is None or instance in self.dead:
                continue
            while running.agenda and running.agenda[0][0] <= at:
                _, _, said = heapq.heappop(running.agenda)
                self._step(running, said, at)
            tick = next_deadline(running.state)
            if tick is not None and tick <= at:
                self._step(running, told.Tick(), at)
            if running.state.outcome is not None:
                ended.append(self._end(instance, running, at))
            else:
                self._plan(instance, running)
        return ended

    def _end(self, instance: str, running: _Running, at: int) -> Drained:
        outcome = running.state.outcome
        if outcome is None:
            raise AssertionError(instance)
        self.lost(instance)
        self.known[instance] = running.state.notices
        slow = next((u.unit for u in outcome.units if u.leaving is ordered.Leaving.STILL_RUNNING), "")
        return Drained(
            instance=instance,
            at=at,
            outcome=outcome.verdict.value,
            saved=outcome.verdict is ordered.Verdict.VERIFIED and not running.killed,
            first_action_ms=running.first_action_at - running.heard_at,
            slow_unit=slow,
        )

    def _feed(self, instance: str, said: told.Input, now: int) -> None:
        running = self._drains[instance]
        self._later(running, now, said)
        self._plan(instance, running)

    def _step(self, running: _Running, said: told.Input, now: int) -> None:
        self.journals[running.state.plan.instance].append(Entry(now, said))
        running.state, actions = step(running.state, said, now)
        self._carry_out(running, actions, now)

    def _later(self, running: _Running, at: int, said: told.Input) -> None:
        self._count += 1
        heapq.heappush(running.agenda, (at, self._count, said))

    def _plan(self, instance: str, running: _Running) -> None:
        times = [running.agenda[0][0]] if running.agenda else []
        tick = next_deadline(running.state)
        if tick is not None:
            times.append(tick)
        if times:
            self._count += 1
            heapq.heappush(self._due, (min(times), self._count, instance))

    def _carry_out(self, running: _Running, actions: tuple[ordered.Action, ...], now: int) -> None:
        """Answer what the machine ordered, later."""
        for action in actions:
            match action:
                case ordered.Taint():
                    self._later(running, now + self._random.randint(*API_MS), told.TaintAnswered(on=True))
                case ordered.Untaint():
                    self._later(running, now + self._random.randint(*API_MS), told.TaintAnswered(on=False))
                case ordered.Evict(unit=unit) | ordered.Requeue(unit=unit):
                    answered = now + self._random.randint(*API_MS)
                    self._later(running, answered, told.Accepted(unit))
                    self._exit(running, unit, answered)
                case ordered.SignalUnit(unit=unit) | ordered.RunCommand(unit=unit):
                    self._exit(running, unit, now)
                case ordered.Kill(unit=unit):
                    running.killed = True
                    self._later(running, now + 50, told.Exited(unit))
                    running.running.discard(unit)
                case ordered.Probe():
                    self._later(running, now + self._random.randint(*API_MS), told.SchedulerAlive())
                case ordered.Verify():
                    still = tuple(sorted(running.running)) if running.contract.drain.how == "nothing" else ()
                    self._later(running, now + 30, told.Looked(still))
                case ordered.Publish():
                    self._later(running, now + 5, told.OutcomeHeard())
                case _:
                    continue

    def _exit(self, running: _Running, unit: str, asked: int) -> None:
        """When the unit's processes end after being asked at `asked`; stuck ones never do."""
        if unit not in running.running:
            return
        running.running.discard(unit)
        if self._random.random() < STUCK:
            return
        took = self._random.randint(*WIND_DOWN_MS)
        checkpoint = running.contract.checkpoint
        if checkpoint.mode in ("on-notice", "both") and checkpoint.size:
            share = min(NODE_WRITES, self._gateway // max(1, self._saving)) // max(1, len(running.state.units))
            took += checkpoint.size * 1000 // max(1, share)
        self._later(running, asked + took, told.Exited(unit))


def _met(known: Notices | None, notice: Notice, now: int) -> Notices | None:
    """What an earlier drain knew. What that was for is met: it binds the node, to no time of its own."""
    if known is None:
        return None
    ends_at = honest_deadline(notice, now=now, wall=now)
    return replace(known, standing=tuple(replace(one, deadline=ends_at) for one in known.standing))


def notice_of(
    instance: str, *, reclaim: str, kind: NoticeKind, issued_at: int, ends_at: int, withdrawn: bool = False
) -> Notice:
    """The node's view of a provider's notice or of an agreed return."""
    return Notice(
        instance=instance,
        reclaim=reclaim,
        kind=kind,
        issued_at=issued_at,
        ends_at=ends_at,
        remaining_s=(ends_at - issued_at) / 1000,
        source="returns" if kind is NoticeKind.RETURN else "simulated",
        withdrawn=withdrawn,
    )

"""A node, its scheduler and its kernel as a small true model: what a drain orders happens, after stated times.

The model keeps what is true (what runs, whose taint is on) and obeys every action, repeated ones too, so that a test
can ask what became of the node instead of which actions were ordered.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count

from agent.actions import (
    Action,
    Evict,
    Hold,
    Kill,
    Outcome,
    Probe,
    Publish,
    Release,
    Requeue,
    RunCommand,
    SignalUnit,
    Taint,
    Untaint,
    Verify,
)
from agent.deadline import Notice, NoticeKind
from agent.drain import Entry, Step, begin, next_deadline, step
from agent.inputs import (
    Accepted,
    Began,
    ClockJumped,
    CommandEnded,
    Exited,
    How,
    Input,
    Looked,
    OutcomeHeard,
    Refusal,
    Refused,
    Restarted,
    Scheduler,
    SchedulerAlive,
    SeenRunning,
    TaintAnswered,
    Tick,
    Unit,
)
from agent.state import DrainState

NEVER = 10**12
NOTICE = Notice("i7", "r1", NoticeKind.RECLAIM, 0, 120_000, 120)


def began(
    *units: Unit,
    how: How = How.EVICT,
    scheduler: Scheduler = Scheduler.KUBERNETES,
    budget_s: int = 90,
    notice: Notice = NOTICE,
) -> Began:
    """A drain of node n7 with these units."""
    return Began("n7", "i7", units, budget_s, how, scheduler, notice)


@dataclass
class World:
    """How the node's surroundings behave, in ms; what takes `NEVER` is silent or goes on for ever."""

    answer_ms: int = 90
    probe_ms: int = 5
    taint_ms: int = 6
    ends_ms: dict[str, int] = field(default_factory=dict)  # from the first word to end until gone; 5 s unless stated
    kill_ms: dict[str, int] = field(default_factory=dict)  # from the kill until gone; 50 ms unless stated
    refusals: dict[str, list[Refusal]] = field(default_factory=dict)  # one for each request, then acceptance
    always: dict[str, Refusal] = field(default_factory=dict)  # the answer to each request
    returns_ms: dict[str, int] = field(default_factory=dict)  # started again so long after it ended, once
    command_works: bool = True
    # what is true
    running: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    held: bool = False
    tainted: bool = False
    requeued: list[str] = field(default_factory=list)
    signals: list[str] = field(default_factory=list)
    requests: list[tuple[int, str]] = field(default_factory=list)
    flying: dict[str, int] = field(default_factory=dict)  # requests without an answer, by queue
    most_flying: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    queues: dict[str, str] = field(default_factory=dict)
    events: list[tuple[int, int, Input]] = field(default_factory=list)
    serial: count[int] = field(default_factory=count)

    def settle(self, units: tuple[Unit, ...]) -> None:
        """Start the units."""
        self.running = {unit.name for unit in units if unit.standing.counts}
        self.queues = {unit.name: unit.queue for unit in units}

    def later(self, at: int, said: Input) -> None:
        """Something that will be seen at `at`."""
        if at < NEVER:
            heapq.heappush(self.events, (at, next(self.serial), said))

    def seen(self, said: Input, now: int) -> None:
        """Make true what an input says when it comes."""
        if isinstance(said, Exited):
            self.running.discard(said.unit)
            if said.unit in self.returns_ms and not self.held:
                self.later(now + self.returns_ms.pop(said.unit), SeenRunning(said.unit))
        elif isinstance(said, SeenRunning):
            self.running.add(said.unit)
        elif isinstance(said, Accepted | Refused):
            queue = self.queues[said.unit]
            self.flying[queue] = max(0, self.flying.get(queue, 0) - 1)
            if isinstance(said, Accepted):
                self._tell(said.unit, now)

    def obey(self, action: Action, now: int) -> None:
        """Carry out one action; carrying it out twice changes nothing more, but for signals, which are counted."""
        match action:
            case Taint() | Untaint():
                self.tainted = isinstance(action, Taint)
                self.later(now + self.taint_ms, TaintAnswered(on=self.tainted))
            case Hold() | Release():
                self.held = isinstance(action, Hold)
            case Evict(unit) | Requeue(unit):
                self._request(unit, now, requeue=isinstance(action, Requeue))
            case RunCommand(unit):
                self.later(now + 1_000, CommandEnded(unit, ok=self.command_works))
                if self.command_works:
                    self._tell(unit, now)
            case _:
                self._obey_locally(action, now)

    def _obey_locally(self, action: Action, now: int) -> None:
        """What needs no scheduler, and what only asks."""
        match action:
            case SignalUnit(unit):
                self.signals.append(unit)
                self._tell(unit, now)
            case Kill(unit):
                if unit in self.running:
                    self.later(now + self.kill_ms.get(unit, 50), Exited(unit))
            case Probe():
                self.later(now + self.probe_ms, SchedulerAlive())
            case Verify():
                self.later(now + 10, Looked(tuple(sorted(self.running))))
            case Publish(outcome):
                self.outcomes.append(outcome)
                self.later(now + 20, OutcomeHeard())
            case _:
                pass

    def _tell(self, unit: str, now: int) -> None:
        """The unit hears for the first time that it has to end."""
        if unit not in self.told and unit in self.running:
            self.told.add(unit)
            self.later(now + self.ends_ms.get(unit, 5_000), Exited(unit))

    def _request(self, unit: str, now: int, *, requeue: bool) -> None:
        """The scheduler's answer to one request, in its own time."""
        queue = self.queues[unit]
        self.requests.append((now, unit))
        self.flying[queue] = self.flying.get(queue, 0) + 1
        self.most_flying = max(self.most_flying, self.flying[queue])
        planned = self.refusals.get(unit, [])
        refusal = planned.pop(0) if planned else self.always.get(unit)
        if refusal is not None:
            self.later(now + self.answer_ms, Refused(unit, refusal))
            return
        if requeue and self.answer_ms < NEVER:
            self.requeued.append(unit)
        self.later(now + self.answer_ms, Accepted(unit))


@dataclass
class Run:
    """One drain played to its end."""

    entries: list[Entry]
    steps: list[Step]
    world: World

    @property
    def state(self) -> DrainState:
        """The last state."""
        return self.steps[-1].state

    @property
    def outcome(self) -> Outcome:
        """The one outcome; fails when there is none."""
        assert self.state.outcome is not None
        return self.state.outcome

    def record(self, unit: str) -> tuple[str, str | None, str | None]:
        """How a unit left, why the node ended it itself, and the scheduler's last no, as words."""
        one = next(record for record in self.outcome.units if record.unit == unit)
        return one.leaving.value, one.cause and one.cause.value, one.refusal and one.refusal.value


def play(
    start: Began,
    world: World,
    script: tuple[tuple[int, Input], ...] = (),
    *,
    killed: tuple[int, int] | None = None,
    paused: tuple[int, int] | None = None,
    twice: bool = False,
    until: int = 200_000,
) -> Run:
    """Play a drain that begins at 0 until nothing is due.

    `script` holds further inputs with their instants. `killed` is when the agent dies and when it is back: what comes
    in between is lost but for what the kernel still shows. `paused` is a pause of the whole guest, seen as a jump at
    its end. `twice` carries out every action and says every input twice.
    """
    world.settle(start.units)
    for at, happens in script:
        world.later(at, happens)
    run = Run([Entry(0, start)], [begin(start, 0)], world)
    _obey(run, 0, twice=twice)
    while True:
        due = next_deadline(run.state)
        event = world.events[0][0] if world.events else None
        times = [at for at in (due, event) if at is not None]
        now = min(times, default=until)
        if now >= until:
            return run
        if killed is not None and now >= killed[0]:
            _die(run, killed)
            killed = None
            continue
        if paused is not None and now >= paused[0]:
            _pause(run, paused)
            paused = None
            continue
        said = heapq.heappop(world.events)[2] if event == now else Tick()
        assert event == now or now > run.state.now, "a tick that is due must lead somewhere"
        for _ in range(2 if twice else 1):
            _say(run, said, now)
            _obey(run, now, twice=twice)


def _pause(run: Run, paused: tuple[int, int]) -> None:
    """Let no time pass inside the guest; everything due meanwhile is due at the end."""
    since, until = paused
    run.world.events = [(max(at, until), serial, said) for at, serial, said in sorted(run.world.events)]
    _say(run, ClockJumped(until - since), until)
    _obey(run, until, twice=False)


def _say(run: Run, said: Input, now: int) -> None:
    run.world.seen(said, now)
    run.entries.append(Entry(now, said))
    run.steps.append(step(run.state, said, now))


def _obey(run: Run, now: int, *, twice: bool) -> None:
    for action in run.steps[-1].actions:
        for _ in range(2 if twice and not isinstance(action, SignalUnit | RunCommand) else 1):
            run.world.obey(action, now)


def _die(run: Run, killed: tuple[int, int]) -> None:
    """Lose every answer to the dead agent; what ended meanwhile is seen when it is back."""
    down, up = killed
    world = run.world
    events, world.events = world.events, []
    for at, _, said in sorted(events):
        if isinstance(said, Exited):
            world.later(max(at, up), said)
        elif at >= up:
            world.later(at, said)
    world.flying.clear()
    assert run.state.now <= down
    _say(run, Restarted(), up)
    _obey(run, up, twice=False)

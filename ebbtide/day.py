"""Lets a day pass on the simulated provider: which day, under which planner, and what it left.

`demo`, `run` and `plan` call it. A second planner runs in a process of its own, so that two of them use two cores; its
events travel through its spool and its samples through a pipe. Nothing here decides or renders.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from agent.drain import Entry
from contracts.errors import EbbtideError, Refused
from ebbtide.advice import Advice
from ebbtide.estate import laid
from ledger.events import Event
from ledger.spool import Spool
from reconciler.cycle import Decision
from reconciler.desired import Partition, partition
from repo_layout.model import Estate
from simulation.day import Day, modelled_day, recorded_day
from simulation.day import setting as day_setting
from simulation.leader import Keeper
from simulation.moments import Moment
from simulation.policies import POLICIES, Policy
from simulation.trace_formats import TraceFormat, find_traces, load
from simulation.work import Work
from simulation.world import Progress, Setting, World

TRACES = "EBBTIDE_TRACES"


@dataclass(frozen=True, slots=True)
class Losses:
    """What takes capacity back: a recorded trace of a folder, or the region model (`trace` empty)."""

    trace: str
    folder: str

    @property
    def recorded(self) -> bool:
        """Whether it is a record."""
        return bool(self.trace)


@dataclass(frozen=True, slots=True)
class Order:
    """One day to let pass, in values that travel to another process."""

    estate: str
    commit: str
    region: str
    seed: int
    hours: float
    losses: Losses
    policy: str
    spool: str


@dataclass(frozen=True, slots=True)
class Passed:
    """What a day left besides its events: samples, the nodes' answers, refusals by cause."""

    moments: tuple[Moment, ...]
    first_action_ms: tuple[int, ...]
    refusals: Mapping[str, int]
    cycles: int
    journals: Mapping[str, Sequence[Entry]] = field(default_factory=dict)
    last: Decision | None = None


Tell = Callable[[float, str], None]


def losses(*, trace: str | None, model: bool) -> Losses:
    """The named trace; else, where EBBTIDE_TRACES names a folder, its first cluster failure trace; else the model."""
    folder = os.environ.get(TRACES, "")
    if model:
        return Losses("", "")
    if trace is not None:
        return Losses(trace, folder)
    if not folder:
        return Losses("", "")
    found = [t.name for t in find_traces(Path(folder)) if t.format is TraceFormat.FAILURE_TRACE]
    if not found:
        raise Advice(
            f"{TRACES} names {folder}, which holds no cluster failure trace",
            hint="ebbtide traces lists what is there; --trace NAME takes another, --model does without",
        )
    return Losses(found[0], folder)


def the_day(part: Partition, chosen: Losses, *, seed: int) -> Day:
    """The day's disturbances for one region."""
    if not chosen.recorded:
        return modelled_day(part.pools, seed=seed)
    try:
        trace = load(chosen.trace, folder=Path(chosen.folder) if chosen.folder else None)
    except Refused as error:
        raise Advice(str(error), hint="ebbtide traces lists the names; --model does without a trace") from error
    return recorded_day(trace, part.pools, seed=seed)


@dataclass
class Spooled:
    """A recorder that makes events durable and keeps them at hand."""

    spool: Spool
    events: list[Event] = field(default_factory=list)

    def record(self, events: Sequence[Event]) -> None:
        """Durable before it returns."""
        self.spool.append(events)
        self.events += events


@dataclass
class Watched(Policy):
    """A policy that keeps the last decision that was sampled: the ranking and the fleet at the end of the day."""

    last: list[Decision] = field(default_factory=list)

    def sample(self, now: int, decision: Decision, work: Work) -> Moment:
        """The sample, and the decision behind it."""
        self.last[:] = [decision]
        return Policy.sample(self, now, decision, work)


def watched(name: str, part: Partition) -> Watched:
    """The named policy, watched."""
    policy = POLICIES[name](part)
    return Watched(policy.name, policy.part, policy.appraiser, policy.judged)


def settle_heap() -> None:
    """Keep the cycle collector from walking what lasts: a day keeps every event it makes, hardly any of it in cycles.

    It takes a sixth off a simulated day. What is there now is never looked at again, and the youngest generation may
    hold two hundred thousand objects (some 30 MiB) before it is.
    """
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)


def world_of(
    estate: Estate, part: Partition, day: Day, *, policy: str, seed: int, hours: float, keeper: Keeper
) -> tuple[World, Watched]:
    """A region that stands ready to let its day pass."""
    settle_heap()
    watching = watched(policy, part)
    return World(day_setting(estate, part.region, day, seed=seed, hours=hours), watching, keeper), watching


def world_in(setting: Setting, part: Partition, *, policy: str, keeper: Keeper) -> tuple[World, Watched]:
    """The same for a setting made elsewhere."""
    settle_heap()
    watching = watched(policy, part)
    return World(setting, watching, keeper), watching


def let_pass(order: Order, tell: Tell) -> tuple[Passed, list[Event]]:
    """Let the day pass here; events are in the order's spool when it returns, and returned."""
    estate = laid(Path(order.estate), order.commit)
    part = partition(estate, order.region)
    day = the_day(part, order.losses, seed=order.seed)
    with Spool(Path(order.spool)) as spool:
        keeper = Spooled(spool)
        world, watching = world_of(
            estate, part, day, policy=order.policy, seed=order.seed, hours=order.hours, keeper=keeper
        )
        run = world.run(lambda progress: tell(progress.share, note_of(progress)))
    passed = Passed(
        moments=tuple(run.moments),
        first_action_ms=tuple(run.first_action_ms),
        refusals=dict(run.refusals),
        cycles=run.decisions,
        journals=world.nodes.journals,
        last=watching.last[0] if watching.last else None,
    )
    return passed, keeper.events


def note_of(progress: Progress) -> str:
    """What a progress bar says beside its share."""
    hour, minute = divmod(progress.now // 60_000 % 1440, 60)
    return f"{hour:02d}:{minute:02d}  {progress.instances} instances, {progress.lost} lost"


class Aside:
    """A day that passes in a process of its own. `poll` shows how far it is, `join` waits and returns what it left."""

    def __init__(self, process: BaseProcess, pipe: Connection) -> None:
        self._process = process
        self._pipe = pipe
        self._end: Passed | str | None = None

    def poll(self, tell: Tell, wait_s: float = 0.0) -> bool:
        """Tell what arrived; whether the day has ended."""
        while self._end is None and self._pipe.poll(wait_s):
            wait_s = 0.0
            try:
                word = self._pipe.recv()
            except EOFError:
                word = "its process ended without a word"
            if isinstance(word, tuple):
                tell(*word)
            else:
                self._end = word
        return self._end is not None

    def join(self, tell: Tell) -> Passed:
        """What the day left; raises what it raised."""
        while not self.poll(tell, 0.2):
            pass
        self._process.join()
        if isinstance(self._end, Passed):
            return self._end
        raise Advice(f"the day beside ours failed: {self._end}", hint="run it alone: ebbtide run --hours 1")


@contextlib.contextmanager
def aside(order: Order) -> Iterator[Aside]:
    """Start a day beside this process; it is ended when the block is left early."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_pass_aside, args=(order, there), daemon=True)
    process.start()
    there.close()
    try:
        yield Aside(process, here)
    finally:
        if process.is_alive():
            process.terminate()
            process.join()
        here.close()


def _pass_aside(order: Order, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal interrupts both; the other process ends this one
    word: Passed | str
    try:
        passed, _ = let_pass(order, lambda share, note: pipe.send((share, note)))
        word = Passed(passed.moments, passed.first_action_ms, passed.refusals, passed.cycles)
    except (EbbtideError, OSError) as error:
        word = str(error)
    with contextlib.suppress(BrokenPipeError):  # whoever asked is gone, and so is the question
        pipe.send(word)

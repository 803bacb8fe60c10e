"""The reconciler of a fair world: one process on a machine to which nothing ever happens.

Built by `simulation.world` where nobody asked for replicas. What a world needs of whoever acts in it is `Control`;
`simulation.replicas` is the other one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo

from ledger.events import Event
from reconciler import cadence
from reconciler.cycle import Decision, Memory
from reconciler.fleet import Instance
from reconciler.loop import Ports, Reconciler
from reconciler.opening import open_day
from reconciler.steps import Step
from reconciler.store_memory import MemoryStore
from repo_layout.model import Estate
from simulation.machine import CalmMachine
from simulation.policies import Policy

if TYPE_CHECKING:
    from simulation.world import World

SAMPLE_MS = 900_000
"""Pictures and scores need no finer grain than a quarter of an hour."""


class Keeper(Protocol):
    """Where a world's events go."""

    def record(self, events: Sequence[Event]) -> None:
        """Keep them."""


class Control(Protocol):
    """Whoever decides in a world: when it acts next, and what it knows of our instances."""

    @property
    def reconciler(self) -> Reconciler:
        """The reconciler that leads."""

    def next_at(self) -> int:
        """When it acts next."""

    def act(self) -> bool:
        """Do what is due now; whether a cycle ran to its end."""

    def poke(self) -> None:
        """Something happened that deserves a cycle soon."""

    def known(self, name: str) -> Instance | None:
        """What it knows of the instance of this name."""

    def finish(self) -> None:
        """The last cycle of a run: what ended since the one before is written down."""


class Pace:
    """When the next cycle is due: every five minutes, sooner when something happened or was left undone."""

    def __init__(self, start: int) -> None:
        self.due = start + cadence.CYCLE_MS // 5

    def poke(self, at: int) -> None:
        """A cycle by `at`."""
        self.due = min(self.due, at)

    def news(self, now: int) -> None:
        """Something happened that wants an answer."""
        self.due = cadence.after_news(self.due, now)

    def done(self, now: int, reconciler: Reconciler) -> None:
        """A cycle ended now."""
        self.due = cadence.following(now, deferred=reconciler.deferred, stalled=reconciler.stalled)


class Sampler:
    """What a run keeps of the cycles that were decided in it."""

    def __init__(self, world: World, policy: Policy) -> None:
        self._world, self._policy = world, policy
        self._due = world.setting.start

    def take(self, decision: Decision) -> None:
        """One more cycle."""
        world, run = self._world, self._world.run_result
        run.decisions += 1
        for refusal in decision.refused:
            key = refusal.cause.value
            run.refusals[key] = run.refusals.get(key, 0) + 1
        if world.now >= self._due:
            self._due = (world.now // SAMPLE_MS + 1) * SAMPLE_MS
            run.moments.append(self._policy.sample(world.now, decision, world.work))


class Leader:
    """The real loop, wired straight to a world that it never loses."""

    def __init__(self, world: World, policy: Policy) -> None:
        self._world = world
        self._pace = Pace(world.setting.start)
        self._sampler = Sampler(world, policy)
        self.reconciler = _reconciler(world, policy)

    def next_at(self) -> int:
        """As `Control` promises."""
        return self._pace.due

    def act(self) -> bool:
        """As `Control` promises."""
        decision = self.reconciler.cycle()
        self._world.flush()
        self._sampler.take(decision)
        self._pace.done(self._world.now, self.reconciler)
        return True

    def poke(self) -> None:
        """As `Control` promises."""
        self._pace.news(self._world.now)

    def known(self, name: str) -> Instance | None:
        """As `Control` promises."""
        return self.reconciler.memory.fleet.instances.get(name)

    def finish(self) -> None:
        """As `Control` promises."""
        self.act()


def user_data(step: Step) -> bytes:
    """A boot document of the simulation: nobody reads it."""
    return f"#cloud-config\n# {step.instance} {step.workload}\n".encode()


def day_in(estate: Estate, region: str) -> Callable[[int], str]:
    """What gives the region's date at a time, as the live command does."""
    zone = ZoneInfo(estate.region(region).time_zone)
    return lambda at: dt.datetime.fromtimestamp(at / 1000, tz=zone).date().isoformat()


def opened_store(estate: Estate, region: str, start: int) -> MemoryStore:
    """A store in which somebody said that nothing is reserved on the first day yet."""
    store = MemoryStore()
    open_day(store, key=f"reservations/{region}", day=day_in(estate, region)(start))
    return store


def _reconciler(world: World, policy: Policy) -> Reconciler:
    machine = CalmMachine(world.setting.estate, world.pending)
    return Reconciler(
        Ports(
            provider=world.cloud,
            schedulers=world.site,
            nodes=world.site,
            recorder=machine,
            stop=machine,
            desired=machine,
            store=opened_store(world.setting.estate, world.setting.region, world.setting.start),
            journal=None,
            clock=lambda: world.now,
            monotonic=lambda: world.now,
            local_day=day_in(world.setting.estate, world.setting.region),
            user_data=user_data,
            sole=True,
        ),
        policy.appraiser,
        parted=lambda _: policy.part,
        memory=Memory(epoch=1, listed_at=world.setting.start),
    )

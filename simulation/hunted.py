"""A region to hunt in: one seed is one history of it, with any part of the faults that the seed draws.

Called by `ebbtide simulate`, the hunt and the tests. `hunted` makes a history ready to run; `HuntedWorld.run` lets it
pass and returns what it left, the cloud's own account and the chronicle. The same seed, faults, days and size give the
same events byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from ledger.events import Event
from repo_layout.model import Estate
from simulation.chronicle import Chronicle
from simulation.cloud_model import CloudParameters
from simulation.courier import Courier
from simulation.faults import KINDS, Fault, draw, facts_of, quiet_from
from simulation.git_host import CodeHost, part_of
from simulation.happenings import Happenings
from simulation.leader import Control, opened_store
from simulation.policies import Policy, ours
from simulation.register import Register
from simulation.replica import TERMS
from simulation.replicas import Replicas
from simulation.scene import Scene
from simulation.small_estate import REGION, small_estate
from simulation.weather import Weather
from simulation.world import Progress, Run, Setting, World

START = 1_793_577_600_000
"""2026-11-02T00:00Z, a Monday: every history begins there."""

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Ground:
    """An estate and the region of it that a history happens in."""

    estate: Estate
    region: str


@lru_cache(maxsize=4)
def small() -> Ground:
    """About sixty instances: four halls, two projects, two schedulers, floors, fallback and four tiers."""
    return Ground(small_estate(), REGION)


def end_of(days: float) -> int:
    """When a history of so many days ends."""
    return START + int(days * DAY_MS)


def drawn(seed: int, days: float, ground: Ground, kinds: Iterable[str] = KINDS) -> tuple[Fault, ...]:
    """The faults that a seed draws for a history of this length."""
    return draw(seed, kinds, START, end_of(days), facts_of(ground.estate, ground.region))


def _nothing(_: Chronicle) -> None:
    """Nobody asked to be called after each cycle."""


def hunted(
    seed: int,
    days: float,
    faults: Sequence[Fault],
    ground: Ground,
    *,
    after: Callable[[Chronicle], None] = _nothing,
    replicas: int = 2,
) -> HuntedWorld:
    """A history ready to run; `after` is called with the chronicle so far when a cycle of the leader is over."""
    return HuntedWorld(seed, days, faults, ground, after=after, replicas=replicas)


class HuntedWorld:
    """One history: the world, its weather and its chronicle."""

    def __init__(
        self,
        seed: int,
        days: float,
        faults: Sequence[Fault],
        ground: Ground,
        *,
        after: Callable[[Chronicle], None],
        replicas: int,
    ) -> None:
        self.ground, end = ground, end_of(days)
        self.chronicle = Chronicle(faults=tuple(faults), quiet_from=quiet_from(START, end), end=end)
        limits = ground.estate.region(ground.region).guard
        self.chronicle.term_ms, self.chronicle.call_ms = TERMS.term, TERMS.call
        self.chronicle.spool_limit = limits.spool_limit
        settings = ground.estate.settings
        setting = Setting(
            estate=ground.estate,
            region=ground.region,
            start=START,
            days=days,
            seed=seed,
            cloud=CloudParameters(
                estate=settings.estate, currency=settings.currency, tenants=None, victims="seed", boot_failures=0.0
            ),
            counts_from=START,
        )
        policy = ours(part_of(ground.estate, ground.region))
        self.world = World(setting, policy, self, partial(self._control, seed, after, replicas))

    def _control(
        self, seed: int, after: Callable[[Chronicle], None], replicas: int, world: World, policy: Policy
    ) -> Control:
        weather = Weather(self.chronicle.faults, seed=seed)
        host = CodeHost(world, self.chronicle, weather)
        happenings = Happenings(world.cloud.state, weather)
        Courier(world, weather)
        self.register = Register(world, weather, self.chronicle)
        store = opened_store(world.setting.estate, world.setting.region, world.setting.start)
        scene = Scene(world, weather, self.chronicle, host, store, happenings, self.register, seed)
        control = Replicas(scene, policy, replicas, after)
        weather.plan(world.cloud.state.push)
        return control

    def record(self, events: Sequence[Event]) -> None:
        """What the nodes tell themselves."""
        self.register.record(events)

    def run(self, progress: Callable[[Progress], None] | None = None) -> tuple[Run, Chronicle]:
        """Let the history pass; what the cloud and the samples say, and the chronicle."""
        run, chronicle = self.world.run(progress), self.chronicle
        chronicle.invoice = self.world.cloud.invoice()
        alive = self.world.reconciler.memory.fleet.alive()
        chronicle.known = frozenset(instance.server for instance in alive if instance.server)
        return run, chronicle

"""What all parts of one history share: the world, its weather, what is written down of it, and its code host."""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.store_memory import MemoryStore
from simulation.chronicle import Chronicle
from simulation.git_host import CodeHost
from simulation.happenings import Happenings
from simulation.register import Register
from simulation.weather import Weather
from simulation.world import World


@dataclass(frozen=True)
class Scene:
    """One history's common ground."""

    world: World
    weather: Weather
    chronicle: Chronicle
    host: CodeHost
    store: MemoryStore
    happenings: Happenings
    register: Register
    seed: int

"""How notices reach nodes while things go wrong: lost, twice, late, in another order, forged, or to a dead agent.

Called by the site for each notice and by `Weather` for each fault. What a node does with what it hears is the drain
machine's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pools.provider import Notice
from pools.provider import NoticeKind as ProviderKind
from simulation.faults import Fault
from simulation.weather import Weather, hit
from simulation.world import World

KILLED_AFTER_MS = (200, 60_000)
BACK_AFTER_MS = (1_000, 40_000)
"""An agent's supervisor starts it again within seconds; forty are a slow machine's."""

TWICE_MS = 700
FORGED_WINDOW_MS = 120_000


class Courier:
    """The way to the nodes."""

    def __init__(self, world: World, weather: Weather) -> None:
        self._world, self._weather = world, weather
        self._dead: dict[str, list[str]] = {}
        world.site.carry = self.carry
        world.site.joins = lambda _: weather.strikes("never_joins") is None
        weather.begins |= {"agent_dead": self._kill_agents, "notice_forged": self._forge}
        weather.ends |= {"agent_dead": self._wake_agents}

    def carry(self, notice: Notice, deliver: Callable[[Notice], None]) -> None:
        """Bring it, as far as it comes."""
        weather, world = self._weather, self._world
        if weather.strikes("notice_lost"):
            return
        delay = 0
        for kind in ("notice_late", "notice_reordered"):
            fault = weather.on(kind)
            delay += weather.luck(fault).randrange(fault.size * 1000) if fault is not None else 0
        copies = (0, TWICE_MS) if weather.on("notice_doubled") else (0,)
        for more in copies:
            if delay + more:
                world.at(world.now + delay + more, partial(deliver, notice))
            else:
                deliver(notice)
        fault = weather.strikes("agent_killed")
        if fault is not None and not notice.withdrawn:
            luck = weather.luck(fault)
            dies = world.now + delay + luck.randrange(*KILLED_AFTER_MS)
            world.at(dies, partial(world.site.agent_died, notice.name))
            world.at(dies + luck.randrange(*BACK_AFTER_MS), partial(world.site.agent_back, notice.name))

    def _kill_agents(self, fault: Fault) -> None:
        pools = {pool.name for pool in self._world.cloud.state.pools.values() if pool.domain == fault.target}
        nodes = [n for n, s in self._world.work.by_instance.items() if s.joined and s.pool in pools and hit(fault, n)]
        self._dead[fault.name] = nodes
        for name in nodes:
            self._world.site.agent_died(name)

    def _wake_agents(self, fault: Fault) -> None:
        for name in self._dead.pop(fault.name, ()):
            if name in self._world.nodes.dead:
                self._world.site.agent_back(name)

    def _forge(self, fault: Fault) -> None:
        """Nodes hear that another instance goes away, some that one of ours which is no more does."""
        luck, now = self._weather.luck(fault), self._world.now
        there = sorted(name for name, slots in self._world.work.by_instance.items() if slots.joined)
        for node in luck.sample(there, min(fault.size, len(there))):
            victim = luck.choice([name for name in there if name != node] or ["nobody"])
            forged = Notice(
                id=f"forged/{fault.name}/{node}",
                server="forged",
                name=victim,
                pool="",
                reclaim=f"rc-{fault.name}",
                kind=ProviderKind.RECLAIM,
                issued_at=now,
                ends_at=now + luck.randrange(1_000, FORGED_WINDOW_MS),
            )
            self._world.site.deliver(replace(forged, withdrawn=luck.random() < 0.2), node)

"""Who decides in a world with faults: the replicas of one region's reconciler, over one store.

Only the replica that leads runs cycles; the other watches the lease, since a rehearsal changes nothing. What the
weather does to them is `simulation.mishaps`.
"""

from __future__ import annotations

from collections.abc import Callable

from ledger.events import Paid
from pools.provider import Mark
from reconciler.fleet import Instance, Phase
from reconciler.loop import Reconciler
from simulation.chronicle import Chronicle
from simulation.leader import Sampler
from simulation.mishaps import Mishaps
from simulation.people import People
from simulation.policies import Policy
from simulation.replica import NEVER, Replica
from simulation.scene import Scene

TICK_MS = 30_000
"""How often a replica looks after its lease between cycles."""


class Replicas:
    """The replicas, by name; `after` is called when a cycle of the leader is over."""

    def __init__(self, scene: Scene, policy: Policy, count: int, after: Callable[[Chronicle], None]) -> None:
        self.scene, self._after = scene, after
        self.all = [Replica(scene, name, number) for number, name in enumerate("ab"[:count])]
        self._tick_at = {replica.number: scene.world.now for replica in self.all}
        self._sampler = Sampler(scene.world, policy)
        self.people = People(scene.world, scene.chronicle)
        for replica in self.all:
            replica.accepted_at, replica.orders = self.people.accepted_at, self.people.orders_after
            replica.start()
        self._last = self.all[0].process
        self._mishaps = Mishaps(scene, self)

    @property
    def reconciler(self) -> Reconciler:
        """The reconciler that leads, or that led last."""
        for replica in self.all:
            if replica.leads and replica.process is not None:
                self._last = replica.process
        if self._last is None:
            raise RuntimeError("no replica ever started")
        return self._last.reconciler

    def leader(self) -> Replica:
        """The replica that holds the lease by the store's word, else the first."""
        led = self.scene.chronicle.led
        return next((r for r in self.all if led and r.name == led[-1].replica), self.all[0])

    def next_at(self) -> int:
        """As `Control` promises; whoever is in the middle of something is not asked."""
        return min((self._due(replica) for replica in self.all if not replica.busy), default=NEVER)

    def _due(self, replica: Replica) -> int:
        if replica.process is None:
            return replica.start_at
        tick = self._tick_at[replica.number]
        return min(tick, replica.pace.due) if replica.leads else tick

    def act(self) -> bool:
        """As `Control` promises."""
        now = self.scene.world.now
        ran = False
        for replica in self.all:
            if not replica.busy and self._due(replica) <= now:
                ran |= self._act(replica)
        return ran

    def _act(self, replica: Replica) -> bool:
        world = self.scene.world
        if replica.process is None:
            replica.start()
            return False
        self._tick_at[replica.number] = world.now + TICK_MS
        if not replica.tick() or replica.pace.due > world.now:
            return self._gone(replica)
        decision = replica.cycle()
        if decision is None or replica.process is None:
            return self._gone(replica)
        self._last = replica.process
        world.flush()
        self._sampler.take(decision)
        self.people.look(decision, replica)
        replica.pace.done(world.now, replica.process.reconciler)
        self._over()
        return True

    def _gone(self, replica: Replica) -> bool:
        """No cycle came to its end, because the process died or because none was due."""
        if replica.process is None:
            self._mishaps.died(replica)
        return False

    def _over(self) -> None:
        """A cycle of the leader is over."""
        chronicle = self.scene.chronicle
        chronicle.room.append((self.scene.world.now, self.scene.register.room()))
        self._after(chronicle)

    def poke(self) -> None:
        """As `Control` promises."""
        for replica in self.all:
            replica.pace.news(self.scene.world.now)

    def known(self, name: str) -> Instance | None:
        """As `Control` promises: what the mark on a server of ours says, with what a replica knows of it."""
        for replica in self.all:
            found = replica.known(name)
            if found is not None and found.phase is not Phase.GONE:
                return found
        cloud = self.scene.world.cloud.state
        rows = (record.server for record in cloud.records.values() if record.server.name == name)
        mark = next((r.mark for r in rows if r.mark is not None and _ours(r.mark, cloud.parameters.estate)), None)
        if mark is None or mark.region != cloud.region:
            return None
        paid = Paid(mark.paid)
        return Instance(name, "", "", mark.workload, mark.units, paid, Phase.BOOTING, self.scene.world.now, mark.epoch)

    def finish(self) -> None:
        """As `Control` promises."""
        leader = self.leader()
        if leader.process is not None:
            leader.cycle()
            self.scene.world.flush()
            self._over()


def _ours(mark: Mark, estate: str) -> bool:
    return mark.estate == estate

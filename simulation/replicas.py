"""Who decides in a world with faults: the replicas of one region's reconciler, over one store.

Only the replica that leads runs cycles; the other watches the lease, since a rehearsal changes nothing. Deaths, pauses,
clocks and disks come from the weather.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ledger.events import Paid
from pools.provider import Mark
from reconciler.fleet import Instance, Phase
from reconciler.loop import Reconciler
from reconciler.ports import Versioned
from simulation.chronicle import Chronicle
from simulation.faults import Fault
from simulation.leader import POKE_MS, Sampler
from simulation.line import Doom
from simulation.people import People
from simulation.policies import Policy
from simulation.replica import NEVER, Replica
from simulation.scene import Scene

RESTART_MS = (2_000, 60_000)
"""A supervisor starts a dead process again within seconds; a machine that boots takes a minute."""

TICK_MS = 30_000
"""How often a replica looks after its lease between cycles."""

SKEWS = {"clock_forward": 1000, "clock_back": -1000}


class Replicas:
    """The replicas, by name; `after` is called when a cycle of the leader is over."""

    def __init__(self, scene: Scene, policy: Policy, count: int, after: Callable[[Chronicle], None]) -> None:
        self.scene, self._after = scene, after
        self.all = [Replica(scene, name, number) for number, name in enumerate("ab"[:count])]
        self._tick_at = {replica.number: scene.world.now for replica in self.all}
        self._sampler = Sampler(scene.world, policy)
        self._hit: dict[str, Replica] = {}
        self._down: set[str] = set()
        self.people = People(scene.world, scene.chronicle)
        for replica in self.all:
            replica.accepted_at, replica.orders = self.people.accepted_at, self.people.orders_after
            replica.start()
        self._last = self.all[0].process
        weather = scene.weather
        weather.begins |= {
            "crash": self._doom,
            "empty_disk": self._doom,
            "pause": self._doom,
            "guest_pause": self._doom,
            "control_down": self._kill_all,
            "standby_dies": self._kill_standby,
            "clock_forward": self._skew,
            "clock_back": self._skew,
            "disk_full": partial(self._strike, "full"),
            "store_cut": partial(self._strike, "cut"),
            "store_lost": lambda _: scene.store.values.clear(),
            "store_restored": self._remember_store,
        }
        weather.ends |= {
            "crash": self._doom_over,
            "empty_disk": self._doom_over,
            "standby_dies": self._standby_back,
            "control_down": self._all_back,
            "clock_forward": self._unskew,
            "clock_back": self._unskew,
            "disk_full": partial(self._heal, "full"),
            "store_cut": partial(self._heal, "cut"),
            "store_restored": self._restore_store,
        }
        self._stores: dict[str, dict[str, Versioned]] = {}

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
            self._if_dead(replica)
            return False
        decision = replica.cycle()
        if self._if_dead(replica) or decision is None or replica.process is None:
            return False
        self._last = replica.process
        world.flush()
        self._sampler.take(decision)
        self.people.look(decision, replica)
        replica.pace.done(world.now, replica.process.reconciler)
        self._over()
        return True

    def _over(self) -> None:
        """A cycle of the leader is over."""
        chronicle, now = self.scene.chronicle, self.scene.world.now
        if now >= chronicle.quiet_from:
            chronicle.room.append((now, self.scene.register.room()))
        self._after(chronicle)

    def _if_dead(self, replica: Replica) -> bool:
        """A process that died by itself is started again."""
        if replica.process is not None:
            return False
        fault = next((f for f in self._hit_by(replica) if f.kind in ("crash", "empty_disk")), None)
        if fault is not None:
            self._buried(replica, fault)
        elif replica.start_at == NEVER and not self._down:
            replica.start_at = self.scene.world.now + RESTART_MS[0]
        return True

    def poke(self) -> None:
        """As `Control` promises."""
        for replica in self.all:
            replica.pace.poke(self.scene.world.now + POKE_MS)

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

    # -- what the weather does to them --------------------------------------------------------------------------------

    def _strike(self, what: str, fault: Fault) -> None:
        replica = self._hit[fault.name] = self.leader()
        setattr(replica, what, True)

    def _heal(self, what: str, fault: Fault) -> None:
        setattr(self._hit.pop(fault.name), what, False)

    def _skew(self, fault: Fault) -> None:
        replica = self._hit[fault.name] = self.leader()
        replica.skew_ms += SKEWS[fault.kind] * fault.size

    def _unskew(self, fault: Fault) -> None:
        replica = self._hit.pop(fault.name)
        replica.skew_ms -= SKEWS[fault.kind] * fault.size

    def _hit_by(self, replica: Replica) -> list[Fault]:
        return [f for f in self.scene.weather.faults if self._hit.get(f.name) is replica]

    def _doom(self, fault: Fault) -> None:
        """The leader's end, or pause, at one of its next calls."""
        replica = self.leader()
        pauses = fault.kind in ("pause", "guest_pause")
        if not pauses:
            self._hit[fault.name] = replica
        resumed = replica.stood_still if fault.kind == "guest_pause" else None
        replica.doom(Doom(fault, fault.size, fault.target == "before", fault.until if pauses else 0, resumed))

    def _buried(self, replica: Replica, fault: Fault) -> None:
        """A death that was doomed has come: when and as what the replica starts again."""
        del self._hit[fault.name]
        luck = self.scene.weather.luck(fault)
        if fault.kind == "empty_disk":
            at, name, _ = self.scene.chronicle.killed.pop()
            self.scene.chronicle.killed.append((at, name, "empty"))
            replica.new_machine()
        delay = luck.randrange(*RESTART_MS)
        replica.start_at = NEVER if self._down else self.scene.world.now + delay

    def _doom_over(self, fault: Fault) -> None:
        """A death that found no call comes anyway, between two cycles."""
        replica = self._hit.get(fault.name)
        if replica is None or replica.busy:
            return
        replica.kill()
        self._if_dead(replica)

    def _kill_all(self, fault: Fault) -> None:
        self._down.add(fault.name)
        for replica in self.all:
            replica.kill()
            replica.start_at = NEVER

    def _all_back(self, fault: Fault) -> None:
        self._down.discard(fault.name)
        for replica in self.all:
            if replica.process is None and not self._down:
                replica.start_at = self.scene.world.now

    def _kill_standby(self, fault: Fault) -> None:
        leader = self.leader()
        standby = next((r for r in self.all if r is not leader and not r.busy), None)
        if standby is not None and standby.process is not None:
            self._hit[fault.name] = standby
            standby.kill()
            standby.start_at = NEVER

    def _standby_back(self, fault: Fault) -> None:
        standby = self._hit.pop(fault.name, None)
        if standby is not None and standby.process is None and not self._down:
            standby.start_at = self.scene.world.now

    def _remember_store(self, fault: Fault) -> None:
        self._stores[fault.name] = dict(self.scene.store.values)

    def _restore_store(self, fault: Fault) -> None:
        """What the store held when the fault began, under the revisions that it had."""
        self.scene.store.values = self._stores.pop(fault.name)


def _ours(mark: Mark, estate: str) -> bool:
    return mark.estate == estate

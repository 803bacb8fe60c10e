"""One reconciler process of a simulated region: its machine, its clocks, its disk, its life and its deaths.

Driven by `simulation.replicas`. The process is the real `reconciler.loop.Reconciler` over wires; when it dies its
memory is gone, and what its disk and the store hold is all that the next one finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from contracts.errors import EbbtideError
from reconciler.appraisal import Appraiser
from reconciler.breakers import Order
from reconciler.cycle import Decision
from reconciler.fleet import Instance
from reconciler.lease import Terms
from reconciler.loop import Ports, Reconciler
from simulation.chronicle import Look
from simulation.git_host import Follower
from simulation.leader import Pace, day_in, user_data
from simulation.line import Died, Doom, Line
from simulation.own_wires import Disk, WiredDesired, WiredDisk, WiredStop, WiredStore
from simulation.scene import Scene
from simulation.wires import WiredProvider, WiredSchedulers
from simulation.witness import Sight, Witness

Answer = TypeVar("Answer")

TERMS = Terms(term=90_000, renew=30_000, deadline=60_000)
"""Three times the real ones: a standby looks every half minute, and a history of a day costs fewer looks."""

NEVER = 1 << 60
START_AGAIN_MS = 30_000
"""A process that cannot start is started again by its supervisor."""

CLOCK_JUMP_MS = 2_000
"""A clock that moved so much against the true one has jumped."""

BOOT_MS = 3_600_000
"""How long a machine ran when its first process started: its monotonic clock begins nowhere near another's."""


@dataclass
class Process:
    """What dies with the process."""

    reconciler: Reconciler
    line: Line
    witness: Witness
    follower: Follower


class Replica:
    """One replica of a region's reconciler: its name, its machine, and the process that runs there, if one does.

    `busy` says that it is in the middle of something, `leads` that it led when it last looked after its lease,
    `skew_ms` how far its wall clock is from the truth.
    """

    def __init__(self, scene: Scene, name: str, number: int) -> None:
        self.scene, self.name, self.number = scene, name, number
        self.process: Process | None = None
        self.busy = False
        self.leads = False
        self.full = False
        self.cut = False
        self.skew_ms = 0
        self.start_at = scene.world.now
        self.pace = Pace(scene.world.now)
        self.machines = 0
        self.accepted_at: Callable[[], int] = lambda: 0
        self.orders: Callable[[int], Sequence[Order]] = lambda _: ()
        self.disk = Disk(0)
        self._looked_with: int | None = None
        self._look_open = False
        self.new_machine()

    def new_machine(self) -> None:
        """Another machine with an empty disk, under another name."""
        self.machines += 1
        world = self.scene.world
        self.disk = Disk(world.now - BOOT_MS * (self.number + 3 * self.machines))
        if self.machines > 1:
            self.name = f"{self.name.partition('.')[0]}.{self.machines}"
        self.scene.chronicle.events[self.name] = self.disk.spool
        self.scene.chronicle.recorded[self.name] = self.disk.recorded
        self.skew_ms = 0
        self._looked_with = None

    def known(self, name: str) -> Instance | None:
        """What its process knows of an instance."""
        return self.process.reconciler.memory.fleet.instances.get(name) if self.process else None

    def start(self) -> bool:
        """A process starts; False when it cannot, or dies at once."""
        line = Line(self.scene)
        witness = Witness(self.scene, line, self.name, self._epoch, self._acting, lambda: self.skew_ms)
        follower = Follower(
            self.scene.host,
            self.scene.weather,
            self.disk.accepted,
            WiredStore(witness, lambda: self.cut),
        )
        self._looked_with = None
        self.busy = True
        try:
            reconciler = Reconciler(
                self._ports(line, witness, follower),
                Appraiser(),
                parted=self.scene.host.part,
            )
        except EbbtideError:
            self.start_at = self.scene.world.now + START_AGAIN_MS
            return False
        finally:
            self.busy = False
        self.process = Process(reconciler, line, witness, follower)
        self.start_at = NEVER
        self.pace.poke(self.scene.world.now)
        return True

    def cycle(self) -> Decision | None:
        """One cycle; None when the process died in it."""
        process = self.process
        if process is None:
            return None
        process.witness.sight = Sight()
        self._look_open = True
        decision = self._alive(process.reconciler.cycle)
        if decision is None:
            self._look_open = False
            return None
        self._acting()
        return decision

    def tick(self) -> bool:
        """Renews or watches the lease; whether it leads. Who does not looks at the reviewed files all the same, as a
        standby of `ebbtide run` does in each of its cycles: its disk notes what is accepted while others lead.
        """
        process = self.process
        self.leads = bool(process and self._alive(process.reconciler.watch))
        if process is not None and self.process is process and not self.leads:
            self._alive(process.follower.look)
        return self.leads

    def _alive(self, action: Callable[[], Answer]) -> Answer | None:
        self.busy = True
        try:
            return action()
        except Died:
            self.died()
            return None
        finally:
            self.busy = False

    def died(self) -> None:
        """The process is no more; its disk is as it left it."""
        self.scene.chronicle.killed.append((self.scene.world.now, self.name, "disk"))
        self.process = None
        self.leads = False

    def kill(self) -> None:
        """Ends the process now: at once where it rests, at its next step where it is in the middle of something."""
        if self.process is None:
            return
        if self.busy:
            self.process.line.dead = True
        else:
            self.died()

    def stood_still(self, ms: int) -> None:
        """Its machine was paused: its monotonic clock did not go on, its wall clock was set right."""
        self.disk.booted_at += ms

    def doom(self, doom: Doom) -> None:
        """Something waits for the process at one of its next calls."""
        if self.process is not None:
            self.process.line.doom = doom

    def _epoch(self) -> int:
        return self.process.reconciler.leadership.epoch if self.process else 0

    def _acting(self) -> None:
        """What this cycle could see is complete, and goes into the chronicle once."""
        process = self.process
        if not self._look_open or process is None:
            return
        self._look_open = False
        scene, sight = self.scene, process.witness.sight
        led = scene.chronicle.led
        moved = jumped(self._looked_with, sight.skew_ms, self.skew_ms)
        self._looked_with = sight.skew_ms
        region = scene.world.setting.region
        apart_ms = scene.world.setting.estate.region(region).guard.listing_age * 1000
        scene.chronicle.looks.append(
            Look(
                at=scene.world.now,
                replica=self.name,
                epoch=self._epoch(),
                leads=bool(led) and led[-1].replica == self.name and led[-1].epoch == self._epoch(),
                whole=sight.whole,
                listed_at=sight.listed_at,
                told=sight.told_at > 0,
                silent=sight.silent,
                git=process.follower.newest,
                clock=not moved and abs(self.skew_ms) <= apart_ms,
                disk=not self.full,
                pending=process.reconciler.ports.recorder.pending_bytes(),
                stopped=process.reconciler.ports.stop.reason(),
                hidden=sight.hidden,
                commit=process.follower.commit,
                store=sight.store,
                told_at=sight.told_at,
                rated=sight.rated,
                unseen=sight.unseen,
                half_shown=sight.half_shown,
            )
        )

    def _ports(self, line: Line, witness: Witness, follower: Follower) -> Ports:
        scene, world = self.scene, self.scene.world
        disk = self.disk
        own = WiredDisk(scene, line, disk, lambda: self.full, self._acting)
        clusters = {contract.name: contract.cluster for contract in world.setting.estate.contracts}
        schedulers = WiredSchedulers(witness, clusters)
        return Ports(
            provider=WiredProvider(witness),
            schedulers=schedulers,
            nodes=schedulers,
            recorder=own,
            stop=WiredStop(scene),
            desired=WiredDesired(line, follower),
            store=WiredStore(witness, lambda: self.cut),
            journal=own,
            clock=lambda: world.now + self.skew_ms,
            monotonic=lambda: world.now - disk.booted_at,
            local_day=day_in(world.setting.estate, world.setting.region),
            user_data=user_data,
            accepted_at=lambda: self.accepted_at(),  # noqa: PLW0108  # people come after the replicas
            orders=lambda number: self.orders(number),  # noqa: PLW0108  # as above
            holder=self.name,
            terms=TERMS,
        )


def jumped(before: int | None, read: int, now: int) -> bool:
    """Whether a clock that was so far from the truth (in ms) when its process read it for the look before (None: there
    was none), when it read it for this one, and now, has jumped. One that moved while a look went on is the next one's
    to tell too; one that was set back before that went by no other time at any look, and nobody can tell.
    """
    moves = now - read, read - (read if before is None else before)
    return max(abs(moved) for moved in moves) > CLOCK_JUMP_MS

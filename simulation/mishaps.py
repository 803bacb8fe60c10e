"""What the weather does to the processes of replicas: deaths and pauses. The rest is in `simulation.ailments`.

Told of each fault's beginning and end; `simulation.replicas` asks it what becomes of a process that died.
"""

from __future__ import annotations

from functools import partial

from simulation.ailments import Ailments, Group
from simulation.faults import Fault
from simulation.line import Doom
from simulation.own_wires import Disk
from simulation.replica import NEVER, Replica
from simulation.scene import Scene

RESTART_MS = (2_000, 60_000)
"""A supervisor starts a dead process again within seconds; a machine that boots takes a minute."""

DEADLY = ("crash", "crash_midway", "empty_disk", "journal_damaged")

PAUSES = ("pause", "pause_midway", "guest_pause")

MIDWAY = ("crash_midway", "pause_midway", "stop_midway")
"""These count what the leader changes, so that they strike in the middle of its list."""

MOVED_AWAY_MS = 900_000
"""A reconciler that refuses to start over its journal is looked at a quarter of an hour later."""


class Mishaps:
    """Which faults have hit which replica, until they are over."""

    def __init__(self, scene: Scene, group: Group) -> None:
        self._scene, self._group = scene, group
        self._hit: dict[str, Replica] = {}
        self._down: set[str] = set()
        Ailments(scene, group)
        weather = scene.weather
        weather.begins |= {
            "crash": self._doom,
            "crash_midway": self._doom,
            "empty_disk": self._doom,
            "journal_damaged": self._doom,
            "pause": self._doom,
            "pause_midway": self._doom,
            "stop_midway": self._stop_midway,
            "guest_pause": self._doom,
            "control_down": self._kill_all,
            "site_lost": self._lose_site,
            "standby_dies": self._kill_standby,
        }
        weather.ends |= {
            "crash": self._doom_over,
            "crash_midway": self._doom_over,
            "stop_midway": scene.register.let_go_on,
            "empty_disk": self._doom_over,
            "journal_damaged": self._doom_over,
            "standby_dies": self._standby_back,
            "control_down": self._all_back,
            "site_lost": self._site_anew,
        }

    def died(self, replica: Replica) -> None:
        """Its process is no more: when, and as what, it starts again."""
        hit = (f for f in self._scene.weather.faults if f.kind in DEADLY and self._hit.get(f.name) is replica)
        fault = next(hit, None)
        if fault is not None:
            self._buried(replica, fault)
        elif replica.start_at == NEVER and not self._down:
            replica.start_at = self._scene.world.now + RESTART_MS[0]

    def _doom(self, fault: Fault) -> None:
        """The leader's end, or pause, at one of its next calls."""
        replica = self._group.leader()
        pauses = fault.kind in PAUSES
        if not pauses:
            self._hit[fault.name] = replica
        resumed = replica.stood_still if fault.kind == "guest_pause" else None
        until, midway = fault.until if pauses else 0, fault.kind in MIDWAY
        replica.doom(Doom(fault, fault.size, fault.target == "before", until, resumed, midway=midway))

    def _stop_midway(self, fault: Fault) -> None:
        """People stop the region while a change of the leader is on its way back; without one they stop nothing."""
        throw = partial(self._scene.register.throw, fault)
        self._group.leader().doom(Doom(fault, fault.size, before=False, midway=True, struck=throw))

    def _buried(self, replica: Replica, fault: Fault) -> None:
        """A death that was doomed has come: when and as what the replica starts again."""
        del self._hit[fault.name]
        luck = self._scene.weather.luck(fault)
        if fault.kind == "empty_disk":
            at, name, _ = self._scene.chronicle.killed.pop()
            self._scene.chronicle.killed.append((at, name, "empty"))
            replica.new_machine()
        if fault.kind == "journal_damaged" and replica.disk.journal is not None:
            journal = bytes(replica.disk.journal)
            self._damage(replica.disk, journal, luck.randrange(len(journal)))
        delay = luck.randrange(*RESTART_MS)
        replica.start_at = NEVER if self._down else self._scene.world.now + delay

    def _damage(self, disk: Disk, journal: bytes, at: int) -> None:
        """One byte of the journal is another; whoever comes moves it away, whatever stands there by then."""
        disk.journal = damaged = journal[:at] + bytes([journal[at] ^ 0x55]) + journal[at + 1 :]
        world = self._scene.world

        def move_away() -> None:
            if disk.journal == damaged:
                disk.journal = None

        world.at(world.now + MOVED_AWAY_MS, move_away)

    def _doom_over(self, fault: Fault) -> None:
        """A death that found no call comes anyway, between two cycles."""
        replica = self._hit.get(fault.name)
        if replica is not None:
            replica.kill()
            if not replica.busy:
                self.died(replica)

    def _kill_all(self, fault: Fault) -> None:
        self._down.add(fault.name)
        for replica in self._group.all:
            replica.kill()
            replica.start_at = NEVER

    def _all_back(self, fault: Fault) -> None:
        self._down.discard(fault.name)
        for replica in self._group.all:
            if replica.process is None and not self._down:
                replica.start_at = self._scene.world.now

    def _lose_site(self, fault: Fault) -> None:
        self._kill_all(fault)
        self._scene.store.values.clear()

    def _site_anew(self, fault: Fault) -> None:
        """Others start on empty disks; who is in the middle of something dies there, and keeps its own."""
        for replica in self._group.all:
            if replica.process is None:
                replica.new_machine()
        self._all_back(fault)

    def _kill_standby(self, fault: Fault) -> None:
        leader = self._group.leader()
        standby = next((r for r in self._group.all if r is not leader and not r.busy), None)
        if standby is not None and standby.process is not None:
            self._hit[fault.name] = standby
            standby.kill()
            standby.start_at = NEVER

    def _standby_back(self, fault: Fault) -> None:
        standby = self._hit.pop(fault.name, None)
        if standby is not None and standby.process is None and not self._down:
            standby.start_at = self._scene.world.now

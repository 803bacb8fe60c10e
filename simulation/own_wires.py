"""Wires around what is a replica's own: its disk, its store, its reviewed files and its stop switch.

A disk outlives the process that writes it; the store outlives everybody, unless it is lost.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import SupportsBytes

from contracts.errors import Transient
from ledger.events import Event
from reconciler.lease import read_lease
from reconciler.ports import Desired, Versioned
from simulation.chronicle import Led
from simulation.git_host import Accepted, Follower
from simulation.line import Line, Side
from simulation.scene import Scene
from simulation.witness import Witness

EVENT_BYTES = 480
"""What an event's line takes in a spool, about."""

LEASE, RESERVATIONS = "lease/", "reservations/"


@dataclass
class Disk:
    """What outlives a process on its machine: journal, spool, how much of it somebody took, accepted version.

    `booted_at` is when the machine's monotonic clock began.
    """

    booted_at: int
    journal: SupportsBytes | None = None
    spool: list[Event] = field(default_factory=list)
    recorded: list[int] = field(default_factory=list)
    taken: int = 0
    accepted: Accepted = field(default_factory=Accepted)


class WiredDisk:
    """`Recorder` and `Journal` over a disk that may be full, in a process that may die at each write."""

    def __init__(
        self, scene: Scene, line: Line, disk: Disk, full: Callable[[], bool], acting: Callable[[], None]
    ) -> None:
        self._weather, self._line, self._disk = scene.weather, line, disk
        self._world = scene.world
        self._full, self._acting = full, acting

    def record(self, events: Sequence[Event]) -> None:
        """As the seam promises, or not."""

        def write() -> None:
            self._disk.spool.extend(events)
            self._disk.recorded.extend([self._world.now] * len(events))

        self._write(write)

    def position(self) -> int:
        """As the seam promises."""
        return len(self._disk.spool)

    def pending_bytes(self) -> int:
        """As the seam promises; whoever reads the spool is quick, or stuck."""
        if not self._weather.on("spool_stuck"):
            self._disk.taken = len(self._disk.spool)
        return (len(self._disk.spool) - self._disk.taken) * EVENT_BYTES

    def load(self) -> bytes | None:
        """As the seam promises."""
        return None if self._disk.journal is None else bytes(self._disk.journal)

    def save(self, content: SupportsBytes) -> None:
        """As the seam promises, or not; put into words when somebody reads it, which is seldom."""

        def write() -> None:
            self._disk.journal = content

        self._write(write)

    def _write(self, effect: Callable[[], None]) -> None:
        self._acting()
        self._line.reach(before=True)
        if self._full():
            raise OSError(errno.ENOSPC, "no space left on device")
        effect()
        self._line.answer("write", Side.OWN)


class WiredStore:
    """`reconciler.ports.Store` over what the replicas share."""

    def __init__(self, witness: Witness, cut: Callable[[], bool]) -> None:
        self._witness, self._cut = witness, cut
        self._scene, self._line = witness.scene, witness.line

    def get(self, key: str) -> Versioned | None:
        """As the seam promises, or not."""
        self._silence()
        return self._scene.store.get(key)

    def put(self, key: str, value: bytes, *, expected: str) -> str:
        """As the seam promises, or not."""
        self._line.reach(before=True)
        self._silence()
        revision = self._scene.store.put(key, value, expected=expected)
        self._note(key, value)
        try:
            self._line.answer(f"put {key}", Side.STORE)
        except Transient:
            self._witness.sight.store = False
            raise
        return revision

    def _note(self, key: str, value: bytes) -> None:
        """A lease that was taken or renewed goes into the chronicle, and so do the day's reservations."""
        if key.startswith(RESERVATIONS):
            wallet = json.loads(value)
            totals = {**wallet["reserved_micro"], **wallet["by_workload"]}
            self._scene.chronicle.reserved.append((self._scene.world.now, wallet["day"], totals))
        if not key.startswith(LEASE):
            return
        lease = read_lease(value)
        if lease.holder:
            led = Led(self._scene.world.now, self._witness.replica, lease.epoch, renewed=lease.beat > 0)
            self._scene.chronicle.led.append(led)

    def _silence(self) -> None:
        if self._scene.weather.on("store_silent") or self._cut():
            self._witness.sight.store = False
            raise Transient("the store does not answer")


class WiredDesired:
    """`reconciler.ports.DesiredState`: the follower of the code host, in a process that may die while it looks."""

    def __init__(self, line: Line, follower: Follower) -> None:
        self._line, self.follower = line, follower

    def look(self) -> Desired:
        """As the seam promises."""
        self._line.reach(before=False)
        return self.follower.look()


class WiredStop:
    """`reconciler.ports.StopSwitch`: people's."""

    def __init__(self, scene: Scene) -> None:
        self._register = scene.register

    def reason(self) -> str:
        """As the seam promises."""
        by = self._register.stopped_by
        return f"{by}: somebody looks at the region" if by else ""

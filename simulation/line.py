"""The line between one replica and everything outside: calls that take long, fail, lie, lose their answer, or are the
last thing that a process does.

Every wire sends its calls through here. `Died` ends the process in the middle of a call: it is no error that the
product could catch.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from contracts.errors import EbbtideError, Transient
from pools.provider import Conflict
from simulation.faults import Fault
from simulation.scene import Scene

Answer = TypeVar("Answer")

GIVEN_UP_MS = 10_000
LATEST_MS = 30_000
"""A client gives a call up after ten seconds; a call that went out has its effect within thirty, or never: what
`reconciler.lease.Terms.call` waits for."""

RETRY_AFTER_S = 7.0

SLOW_MS = 6_000
"""How long a call takes in which people stop the region: longer than a stop may take to hold."""


class Died(BaseException):
    """The process was killed."""


class Side(enum.Enum):
    """Where a call goes: what it is exposed to."""

    PROVIDER = "provider"
    NODES = "nodes"
    STORE = "store"
    OWN = "own"


OUTSIDE = (Side.PROVIDER, Side.NODES)
"""Where a call changes something that costs money or runs work."""


@dataclass
class Doom:
    """What waits for the process at a call: its death, or a pause until `until`, after which `resumed` is called. With
    `midway` only calls that change something outside are counted; with `struck`, that is called and the call takes
    `SLOW_MS`, and nothing else happens.
    """

    fault: Fault
    left: int
    before: bool
    until: int = 0
    resumed: Callable[[int], None] | None = None
    midway: bool = False
    struck: Callable[[], None] | None = None


class Line:
    """One process's calls. `doom` waits for it in the middle of them, `dead` says that it was killed meanwhile, and
    `begun_at` when it began the last call that changes something: nothing that it reads later holds that one back.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._weather = scene.weather
        self.doom: Doom | None = None
        self.dead = False
        self.begun_at = 0

    def read(self, call: str, effect: Callable[[], Answer]) -> Answer:
        """A question to the provider."""
        self._take_time()
        self._fail(call, Side.PROVIDER)
        return effect()

    def change(
        self,
        call: str,
        side: Side,
        effect: Callable[[], Answer],
        lie: Callable[[], Answer],
        late: Callable[[], None] | None = None,
    ) -> Answer:
        """A call that changes something; `lie` is the answer of a success that never was, `late` the effect when nobody
        waits for an answer any more.
        """
        self.begun_at = self._scene.world.now
        self.reach(before=True, changes=True)
        if side is Side.PROVIDER:
            self._take_time()
        if side in OUTSIDE:
            self._fail(call, side)
            if self._weather.strikes("api_lies"):
                return lie()
            fault = self._weather.strikes("api_late")
            if fault is not None and late is not None:
                self._give_up(call, self._weather.luck(fault).randrange(LATEST_MS), late)
        return effect()

    def _give_up(self, call: str, after: int, late: Callable[[], None]) -> NoReturn:
        """The effect comes after a while, and the client waits in vain."""
        world = self._scene.world
        world.at(world.now + after, late)
        self.wait(world.now + GIVEN_UP_MS)
        raise Transient(f"{call}: timed out; it may still take effect")

    def answer(self, call: str, side: Side) -> None:
        """The way back of a call that took effect: it may be the process's last, or lose its answer."""
        self.reach(before=False, changes=side in OUTSIDE)
        kind = "store_answer_lost" if side is Side.STORE else "answer_lost"
        if side is not Side.OWN and self._weather.strikes(kind):
            raise Transient(f"{call}: timed out; it may have taken effect")

    def reach(self, *, before: bool, changes: bool = False) -> None:
        """The process reaches one side of a call: what waits for it there happens."""
        if self.dead:
            raise Died
        doom = self.doom
        if doom is None or (doom.midway and not changes):
            return
        doom.left -= before
        if doom.left > 0 or doom.before is not before:
            return
        self.doom = None
        if doom.struck is not None:
            doom.struck()
            self.wait(self._scene.world.now + SLOW_MS)
            return
        if not doom.until:
            raise Died
        began = self._scene.world.now
        try:
            self.wait(doom.until)
        finally:
            if doom.resumed is not None:
                doom.resumed(self._scene.world.now - began)

    def wait(self, until: int) -> None:
        """Time passes for everybody else; the process may be killed meanwhile."""
        if until > self._scene.world.now:
            self._scene.world.spend(until)
        if self.dead:
            raise Died

    def _take_time(self) -> None:
        fault = self._weather.on("api_slow")
        if fault is not None:
            self.wait(self._scene.world.now + self._weather.luck(fault).randrange(fault.size * 1000))

    def _fail(self, call: str, side: Side) -> None:
        """Raises what a failing other side raises; nothing changes there."""
        weather = self._weather
        if side is Side.PROVIDER and weather.on("api_down"):
            raise Transient(f"{call}: no answer")
        fault = weather.strikes("api_fails")
        if fault is not None:
            asks = weather.luck(fault).random() < 0.3
            raise Transient(f"{call}: 503 service unavailable", retry_after_s=RETRY_AFTER_S if asks else None)
        fault = weather.strikes("api_garbles")
        if fault is not None:
            raise _strange(call, weather.luck(fault).randrange(3))
        if call == "create" and weather.strikes("race_lost"):
            raise Conflict("409 generation conflict", retry_after_s=1.0)


def _strange(call: str, number: int) -> Exception:
    """Errors that nobody listed."""
    made: tuple[Exception, ...] = (ValueError(f"{call}: <html>"), KeyError("servers"), EbbtideError(f"{call}: odd"))
    return made[number]

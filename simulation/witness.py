"""Who acts on a wire and where that is written down, and what one cycle could see.

Used by every wire around a replica. What took effect becomes an act at that instant, whatever answer comes back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from contracts.errors import EbbtideError
from simulation.chronicle import Act, Call
from simulation.line import Line, Side
from simulation.scene import Scene


@dataclass
class Sight:
    """What one cycle brought, by the world's account; wires fill it in, the replica makes a `Look` of it. `skew_ms` is
    how far its clock was from the truth when it asked the first question of its look, right after it had read it;
    `told_at` is when signals were answered (0: none were), `rated` whether the rate card came.
    """

    skew_ms: int = 0
    whole: frozenset[str] = frozenset()
    listed_at: int = 0
    told_at: int = 0
    silent: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    unseen: frozenset[str] = frozenset()
    half_shown: frozenset[str] = frozenset()
    store: bool = True
    rated: bool = False


@dataclass
class Witness:
    """Who acts on a wire, and where that is written down; `epoch` is the one that the process believes in, `skew` how
    far its clock is from the truth now.
    """

    scene: Scene
    line: Line
    replica: str
    epoch: Callable[[], int]
    acting: Callable[[], None]
    skew: Callable[[], int]
    sight: Sight = field(default_factory=Sight)
    _late: tuple[int, int] | None = None

    def late(self, effect: Callable[[], object]) -> Callable[[], None]:
        """The effect for when its caller gave the call up: under the epoch of now, and nobody hears of it."""
        sent = self.epoch(), self.scene.world.now

        def come() -> None:
            self._late = sent
            try:
                with contextlib.suppress(EbbtideError):
                    effect()
            finally:
                self._late = None

        return come

    def unheard(self, act: Act) -> None:
        """One effect, now, whose answer never comes back."""
        self.scene.chronicle.acts.append(replace(act, answered=False))

    def act(self, act: Act, side: Side) -> None:
        """One effect, now: written down, then its answer goes back."""
        acts = self.scene.chronicle.acts
        place = len(acts)
        acts.append(act)
        if self._late is not None:
            acts[place] = replace(act, answered=False)
            return
        try:
            self.line.answer(act.call.value, side)
        except BaseException:
            acts[place] = replace(act, answered=False)
            raise

    def new(self, call: Call, name: str, **about: object) -> Act:
        """An act of this replica, now."""
        now = self.scene.world.now
        if self._late is None:
            self.acting()
        epoch, begun_at = (self.epoch(), self.line.begun_at) if self._late is None else self._late
        sent_at = begun_at if begun_at < now else 0
        return Act(now, self.replica, epoch, call, name, sent_at=sent_at, **about)  # type: ignore[arg-type]  # the dataclass checks the names

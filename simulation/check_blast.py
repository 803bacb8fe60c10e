"""Blast radius and ramp (DESIGN 10): how much may go and come in a rolling window, and how little after blindness.

What was decided counts when it was written down; a call that landed later counts no second time. A change of leaders
lets one call slip.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator

from ledger.causes import Cause
from simulation.check_missing import improbable
from simulation.check_reading import Checker
from simulation.check_scene import Scene
from simulation.chronicle import Act, Call, Led, Look

OUTAGE_MS = 15 * 60_000
"""Three cycles without a look by a leader: nobody reconciled, as in an outage."""

RAMP = (8, 4, 2)
"""The first three seeing cycles after blindness get an eighth, a quarter and a half of each limit; then all holds."""

RETURNS = frozenset({Cause.RECLAIMABLE_HELD, Cause.AUTHORITY_SPENT})
"""Why fallback goes back: it is needed no longer, or nobody's money is left for it."""


class Tally:
    """When things of one kind were decided."""

    def __init__(self) -> None:
        self._times: list[int] = []

    def add(self, at: int) -> None:
        """One more, not always in order."""
        insort(self._times, at)

    def within(self, at: int, window_ms: int) -> int:
        """How many in the window that ends at `at`."""
        return bisect_right(self._times, at) - bisect_right(self._times, at - window_ms)

    def forget(self, before: int) -> None:
        """Drop what no window reaches."""
        del self._times[: bisect_left(self._times, before)]


class Windows:
    """The rolling counts that both checkers of this module read."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = defaultdict(Tally)
        self._alive: list[tuple[int, int]] = []

    def looked(self, scene: Scene) -> None:
        """Note how many servers stand; the most of late is the denominator of shares."""
        window = scene.ground.limits.window * 1000
        self._alive = [(at, n) for at, n in self._alive if at > scene.now - window - OUTAGE_MS]
        self.grown(scene)
        for tally in self.tallies.values():
            tally.forget(scene.now - 4 * window - OUTAGE_MS)

    def grown(self, scene: Scene) -> None:
        """Note what stands at this moment: what came and went between two looks was listed by some replica."""
        self._alive.append((scene.now, len(scene.standing)))

    def count(self, scene: Scene, act: Act) -> tuple[str, int, int] | None:
        """What the act is (released, acquired or replaced), when it was decided, how many there are in the window that
        ends there; None for what has no limit.
        """
        if act.call is Call.CREATE and act.fresh:
            self.grown(scene)
        kind = kind_of(scene, act)
        if not kind:
            return None
        at = scene.decided_at(act)
        self.tallies[kind].add(at)
        window = scene.ground.limits.window * 1000
        slips = self.tallies["slipped"].within(at, window)
        return kind, at, self.tallies[kind].within(at, window) - slips

    def limit(self, scene: Scene, kind: str) -> int:
        """The stated limit: for releases a share of what is alive, and a count."""
        limits = scene.ground.limits
        if kind == "acquired":
            return limits.acquire_count
        if kind == "replaced":
            return limits.replace_count
        alive = max([len(scene.standing), *(n for _, n in self._alive)])
        return max(1, min(limits.release_count, alive * limits.release_share // 100))

    def led(self, led: Led) -> None:
        """Another term: one call of the former one may still land."""
        if not led.renewed:
            self.tallies["slipped"].add(led.at)


def kind_of(scene: Scene, act: Act) -> str:
    """Which limit an act falls under; empty for what finishes something agreed."""
    if not act.fresh:
        return ""
    if act.call is Call.CREATE:
        if len(scene.namesakes.get(act.name, ())) > 1:
            return ""  # a second server under one key was decided once; `check_owners` sees to its end
        return "replaced" if scene.pays_debt(act.name) else "acquired"
    if _returns_fallback(scene, act):
        return ""  # nor has one that is no node yet, and ends without being asked
    if act.call is Call.ASK_RETURN:
        return "" if _asked_before(scene, act) else "released"
    stand = scene.servers.get(act.server)
    released = act.call is Call.DELETE and stand is not None and not stand.joined_at and scene.decided_at(act) < act.at
    return "released" if released else ""


def _asked_before(scene: Scene, act: Act) -> bool:
    """Whether the node was asked before: it goes once, and `check_debts` judges whether that was decided twice."""
    return any(0 < stand.asked_at < act.at for stand in scene.namesakes.get(act.name, ())[-1:])


def _returns_fallback(scene: Scene, act: Act) -> bool:
    """Whether a return gives back fallback that nobody's money stands behind any more: no breaker holds it up."""
    told, ever = scene.releases.get(act.name), scene.namesakes.get(act.name, [])
    return told is not None and told.cause in RETURNS and any(s.paid == "fallback" for s in ever)


class Radius(Checker):
    """In every rolling window at most the stated share and number are released, and the stated numbers acquired and
    replaced.
    """

    name = "check_blast.Radius"

    def __init__(self) -> None:
        self._windows = Windows()

    def on_led(self, scene: Scene, led: Led) -> Iterator[str]:
        """A slip is allowed for."""
        self._windows.led(led)
        yield from ()

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """What is alive."""
        self._windows.looked(scene)
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """One more within its window."""
        counted = self._windows.count(scene, act)
        if counted is None:
            return
        kind, _, number = counted
        limit = self._windows.limit(scene, kind)
        if number > limit:
            yield f"{act.name} is number {number} {kind} within {scene.ground.limits.window} s, {limit} are allowed"


class Ramp(Checker):
    """After blindness of any length the limits grow back over the first cycles: no burst reconciles what was missed."""

    name = "check_blast.Ramp"

    def __init__(self) -> None:
        self._windows = Windows()
        self._seeing = 0
        self._looked_at = 0

    def on_led(self, scene: Scene, led: Led) -> Iterator[str]:
        """A slip is allowed for."""
        self._windows.led(led)
        yield from ()

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """One more seeing cycle, or blindness."""
        self._windows.looked(scene)
        if not look.leads:
            return
        blind = bool(look.stopped) or not (look.git and look.clock) or improbable(scene, look)
        blind = blind or not scene.ground.projects <= look.whole
        if blind:
            self._seeing = 0
        elif not self._looked_at or look.at - self._looked_at > OUTAGE_MS:
            self._seeing = 1
        else:
            self._seeing += 1
        self._looked_at = look.at
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """One more within its window, while limits grow back."""
        counted = self._windows.count(scene, act)
        if counted is None or not 1 <= self._seeing <= len(RAMP):
            return
        kind, at, number = counted
        limit = self._windows.limit(scene, kind)
        allowed = max(1, limit // RAMP[self._seeing - 1])
        if number > allowed and at >= self._looked_at:
            yield (
                f"{act.name} is number {number} {kind} within {scene.ground.limits.window} s in seeing cycle "
                f"{self._seeing} after blindness, {allowed} of {limit} are allowed"
            )

"""Leases and fencing (DESIGN 9): one leader acts, a deposed one stops in mid-list, and epochs only grow."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from simulation.check_reading import Checker
from simulation.check_scene import Scene
from simulation.chronicle import Act, Call, Led

SLIPS = 1
"""Calls of a deposed leader that may take effect: the one that was in flight (DESIGN 9)."""


def _told(act: Act) -> str:
    return f"{act.call.value} of {act.name} by {act.replica} in epoch {act.epoch}"


class Acts(Checker):
    """Whoever acts is named by the store; once another term began, at most one call in flight of an older one lands.

    A call that whoever carries it sent twice is one call: its second server is a twin, which `check_owners` follows.
    """

    name = "check_fencing.Acts"

    def __init__(self) -> None:
        self._term: Led | None = None
        self._slipped: Counter[tuple[str, int]] = Counter()
        self._last: tuple[Call, str, int] | None = None

    def on_led(self, scene: Scene, led: Led) -> Iterator[str]:
        """Another term begins."""
        if not led.renewed:
            self._term = led
            self._slipped.clear()
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge one act by the term that the store names."""
        who, term = (act.replica, act.epoch), self._term
        call, last = (act.call, act.name, act.at), self._last
        self._last = call
        if who not in scene.epochs:
            yield f"{_told(act)}, which the store never named"
        elif term is not None and (term.replica, term.epoch) != who and act.at > term.at and call != last:
            self._slipped[who] += 1
            if self._slipped[who] > SLIPS:
                yield (
                    f"{_told(act)} is call {self._slipped[who]} of that term "
                    f"after {term.replica} led from {term.at} in epoch {term.epoch}"
                )


class Epochs(Checker):
    """No epoch serves two terms, and nobody acts in an epoch below one that stands on a mark it could list.

    Where the replicas, their disks and the store went with the site, and nothing of ours stood when the next leader
    came, nothing tells how late it is: an epoch may serve again, since nobody is left to act in it. One mark is enough
    to tell, also an earlier term's: it says since when others had time to lead.
    """

    name = "check_fencing.Epochs"

    def __init__(self) -> None:
        self._began: dict[int, list[int]] = defaultdict(list)
        self._used: dict[int, set[int]] = defaultdict(set)

    def on_led(self, scene: Scene, led: Led) -> Iterator[str]:
        """Note when each term of an epoch began."""
        if not led.renewed:
            self._began[led.epoch].append(led.at)
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge one act's epoch."""
        used, began = self._used[act.epoch], self._began[act.epoch]
        if len(began) not in used:
            served = bool(used)
            used.add(len(began))
            if served and not _untold(scene, began):
                yield f"{_told(act)}, which served a term before"
        look = scene.looks.get(act.replica)
        if not act.fresh or look is None:
            return
        later = max((s.by[1] for s in scene.standing.values() if s.created_at <= look.listed_at), default=0)
        if later > act.epoch:
            yield f"{_told(act)}; a mark that it lists has {later}"


def _untold(scene: Scene, began: list[int]) -> bool:
    """Whether nothing that outlived a lost site told that there were terms before the last of these."""
    *before, last = began
    sites = [fault for fault in scene.chronicle.faults if fault.kind == "site_lost"]
    lost = any(max(before, default=last) < fault.at < last for fault in sites)
    return lost and not any(s.created_at < last for s in scene.standing.values())


class Waits(Checker):
    """Another replica takes a lease only a whole term after it was last renewed, and acts one call's limit later."""

    name = "check_fencing.Waits"

    def __init__(self) -> None:
        self._last: Led | None = None
        self._from: dict[tuple[str, int], int] = {}

    def on_led(self, scene: Scene, led: Led) -> Iterator[str]:
        """Judge when the lease was taken."""
        last, chronicle = self._last, scene.chronicle
        self._last = led
        if led.renewed or last is None or last.replica == led.replica or not chronicle.term_ms:
            return
        waited = led.at - last.at
        if waited < chronicle.term_ms:
            yield f"{led.replica} took the lease {waited} ms after {last.replica} had it, a term is {chronicle.term_ms}"
        self._from[led.replica, led.epoch] = last.at + chronicle.term_ms + chronicle.call_ms

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge the first act of a term."""
        free_at = self._from.pop((act.replica, act.epoch), 0)
        if act.at < free_at:
            yield f"{_told(act)} is {free_at - act.at} ms before the term could begin"

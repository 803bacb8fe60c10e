"""Which faults are on now in one history, and the luck of each: asked by wires and by whatever else goes wrong.

Driven by the simulated cloud's clockwork. Each fault has a stream of its own, so that leaving one out changes no other.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from random import Random

from simulation.cloud_model import stream
from simulation.faults import Fault

Push = Callable[[int, Callable[[], None]], None]


class Weather:
    """The faults of one history over time. `begins` and `ends` are told of each fault by kind."""

    def __init__(self, faults: Iterable[Fault], *, seed: int) -> None:
        self.faults = tuple(faults)
        self.begins: dict[str, Callable[[Fault], None]] = {}
        self.ends: dict[str, Callable[[Fault], None]] = {}
        self._seed = seed
        self._on: defaultdict[str, list[Fault]] = defaultdict(list)
        self._luck: dict[str, Random] = {}

    def plan(self, push: Push) -> None:
        """Puts every beginning and end on the clock."""
        for fault in self.faults:
            push(fault.at, lambda fault=fault: self._begin(fault))  # type: ignore[misc]  # the default binds the loop's value
            push(fault.until, lambda fault=fault: self._end(fault))  # type: ignore[misc]  # as above

    def _begin(self, fault: Fault) -> None:
        self._on[fault.kind].append(fault)
        begins = self.begins.get(fault.kind)
        if begins is not None:
            begins(fault)

    def _end(self, fault: Fault) -> None:
        self._on[fault.kind].remove(fault)
        ends = self.ends.get(fault.kind)
        if ends is not None:
            ends(fault)

    def on(self, kind: str, target: str = "") -> Fault | None:
        """The latest fault of this kind that is on, of this target where one is given."""
        found = self._on.get(kind)
        if not found:
            return None
        return next((fault for fault in reversed(found) if not target or fault.target == target), None)

    def all_on(self, kind: str) -> tuple[Fault, ...]:
        """All faults of this kind that are on."""
        return tuple(self._on.get(kind, ()))

    def strikes(self, kind: str) -> Fault | None:
        """The fault of this kind that is on and hits this time: `size` in a hundred times."""
        fault = self.on(kind)
        return fault if fault is not None and self.luck(fault).randrange(100) < fault.size else None

    def luck(self, fault: Fault) -> Random:
        """The fault's own stream."""
        found = self._luck.get(fault.name)
        if found is None:
            found = self._luck[fault.name] = stream(self._seed, "luck", fault.name)
        return found


def hit(fault: Fault, name: str) -> bool:
    """Whether a fault that strikes `size` in a hundred strikes this one: the same answer each time it is asked."""
    return zlib.crc32(f"{fault.name}/{name}".encode()) % 100 < fault.size

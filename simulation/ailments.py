"""What the weather does to the machines of replicas that go on: wrong clocks, full disks, and stores that are cut off,
lost or restored.

Told of each fault's beginning and end; made by `simulation.mishaps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from reconciler.ports import Versioned
from simulation.faults import Fault
from simulation.replica import Replica
from simulation.scene import Scene

SKEWS = {"clock_forward": 1000, "clock_back": -1000}


class Group(Protocol):
    """The replicas of one region."""

    @property
    def all(self) -> Sequence[Replica]:
        """Each of them."""

    def leader(self) -> Replica:
        """Who holds the lease by the store's word."""


class Ailments:
    """Which of them have hit which replica, until they are over."""

    def __init__(self, scene: Scene, group: Group) -> None:
        self._scene, self._group = scene, group
        self._hit: dict[str, Replica] = {}
        self._stores: dict[str, dict[str, Versioned]] = {}
        weather = scene.weather
        weather.begins |= {
            "clock_forward": self._skew,
            "clock_back": self._skew,
            "disk_full": partial(self._strike, "full"),
            "store_cut": partial(self._strike, "cut"),
            "store_lost": lambda _: scene.store.values.clear(),
            "store_restored": self._remember_store,
        }
        weather.ends |= {
            "clock_forward": self._unskew,
            "clock_back": self._unskew,
            "disk_full": partial(self._heal, "full"),
            "store_cut": partial(self._heal, "cut"),
            "store_restored": self._restore_store,
        }

    def _strike(self, what: str, fault: Fault) -> None:
        replica = self._hit[fault.name] = self._group.leader()
        setattr(replica, what, True)

    def _heal(self, what: str, fault: Fault) -> None:
        setattr(self._hit.pop(fault.name), what, False)

    def _skew(self, fault: Fault) -> None:
        replica = self._hit[fault.name] = self._group.leader()
        replica.skew_ms += SKEWS[fault.kind] * fault.size

    def _unskew(self, fault: Fault) -> None:
        replica = self._hit.pop(fault.name)
        replica.skew_ms -= SKEWS[fault.kind] * fault.size

    def _remember_store(self, fault: Fault) -> None:
        self._stores[fault.name] = dict(self._scene.store.values)

    def _restore_store(self, fault: Fault) -> None:
        """What the store held when the fault began, under the revisions that it had."""
        self._scene.store.values = self._stores.pop(fault.name)

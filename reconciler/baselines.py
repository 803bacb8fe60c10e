"""What people last approved, kept in the store that a partition's replicas share: it outlives every leader and disk.

Used by `logbook`, which asks for it where a memory holds none, and by `loop`, which keeps each new one. Commits that
wait for an approval to name them stay in memory alone: forgotten, a removal waits for a word about the present commit.
It is written under the writer's epoch, over the revision that its term began with: a deposed leader replaces nothing.
A write that is not confirmed is tried again in the next cycle; until then a successor counts from an older approval,
and waits for longer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

from contracts.errors import EbbtideError, Refused
from reconciler.answers import answered
from reconciler.lease import LARGEST
from reconciler.ports import Store
from reconciler.removals import Baseline

KINDS = {"commit": str, "epoch": int, "units": dict, "used": list}


class Baselines:
    """One partition's baseline in the store; `epoch` is that of the leader who wrote what was read last."""

    def __init__(self, store: Store, *, seat: str) -> None:
        self.epoch = 0
        self._store, self._key = store, f"approved/{seat}"
        self._revision = ""
        self._kept: bytes = b""

    def recall(self) -> Baseline | None:
        """The one that was kept last, when a term begins; None where there is none. Raises what the store raises."""
        found = answered(lambda: self._store.get(self._key))
        baseline, self.epoch = read_baseline(found.value) if found is not None else (None, 0)
        self._revision, self._kept = (found.revision, found.value) if found is not None else ("", b"")
        return baseline

    def keep(self, baseline: Baseline, *, epoch: int, holds: Callable[[], bool]) -> None:
        """Write it under the epoch of who leads, where it is another than the last that was written; `holds` says
        whether the lease still does. What another wrote since is looked at before it is replaced, and what a later
        leader wrote stays.
        """
        value = write_baseline(baseline, epoch)
        if value == self._kept or not baseline.commit or self.epoch > epoch or not holds():
            return
        try:
            self._revision = answered(lambda: self._store.put(self._key, value, expected=self._revision))
        except EbbtideError:
            with suppress(EbbtideError):
                self.recall()  # the answer may be lost, or somebody wrote since
            return
        self._kept, self.epoch = value, epoch


def write_baseline(baseline: Baseline, epoch: int) -> bytes:
    """The baseline as it stands in the store, with who wrote it: one line of JSON with its keys in order, without what
    waits.
    """
    units = dict(baseline.units)
    said = {"commit": baseline.commit, "epoch": epoch, "units": units, "used": sorted(baseline.used)}
    return (json.dumps(said, sort_keys=True, separators=(",", ":")) + "\n").encode()


def read_baseline(raw: bytes) -> tuple[Baseline, int]:
    """The baseline that was written so, and under which epoch; `Refused` for anything else: damage does not say that
    nobody approved.
    """
    try:
        found = json.loads(raw)
        fields = {key: type(value) for key, value in found.items()} if isinstance(found, dict) else {}
        sound = fields == KINDS and all(type(n) is int and 0 <= n <= LARGEST for n in found["units"].values())
        read = Baseline(found["commit"], found["units"], used=frozenset(found["used"])) if sound else None
    except (ValueError, TypeError, RecursionError):
        read = None
    if read is None or write_baseline(read, found["epoch"]) != raw:
        raise Refused("the approved desired units in the store are damaged: bring the value back, or remove it")
    return read, found["epoch"]

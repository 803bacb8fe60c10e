"""What people last approved, kept in the store that a partition's replicas share: it outlives every leader and disk.

Used by `logbook`, which asks for it where a memory holds none, and by `loop`, which keeps each new one. Commits that
wait for an approval to name them stay in memory alone: forgotten, a removal waits for a word about the present commit.
A write that is not confirmed is tried again in the next cycle; until then a successor counts from an older approval,
and waits for longer.
"""

from __future__ import annotations

import json
from dataclasses import replace

from contracts.errors import EbbtideError, Refused
from reconciler.answers import answered
from reconciler.lease import LARGEST
from reconciler.ports import Store
from reconciler.removals import Baseline

KINDS = {"commit": str, "units": dict, "used": list}


class Baselines:
    """One partition's baseline in the store."""

    def __init__(self, store: Store, *, seat: str) -> None:
        self._store, self._key = store, f"approved/{seat}"
        self._kept: Baseline | None = None

    def recall(self) -> Baseline | None:
        """The one that the last leader kept; None where there is none. Raises what the store raises."""
        found = answered(lambda: self._store.get(self._key))
        return read_baseline(found.value) if found is not None else None

    def keep(self, baseline: Baseline) -> None:
        """Write it where it is another than the last that was written; for who leads."""
        bare = replace(baseline, pending=())
        if bare == self._kept or not bare.commit:
            return
        value = write_baseline(bare)
        try:
            found = answered(lambda: self._store.get(self._key))
            if found is None or found.value != value:
                answered(lambda: self._store.put(self._key, value, expected=found.revision if found else ""))
        except EbbtideError:
            return
        self._kept = bare


def write_baseline(baseline: Baseline) -> bytes:
    """The baseline as it stands in the store: one line of JSON with its keys in order, without what waits."""
    said = {"commit": baseline.commit, "units": dict(baseline.units), "used": sorted(baseline.used)}
    return (json.dumps(said, sort_keys=True, separators=(",", ":")) + "\n").encode()


def read_baseline(raw: bytes) -> Baseline:
    """The baseline that was written so; `Refused` for anything else: damage does not say that nobody approved."""
    try:
        found = json.loads(raw)
        fields = {key: type(value) for key, value in found.items()} if isinstance(found, dict) else {}
        sound = fields == KINDS and all(type(n) is int and 0 <= n <= LARGEST for n in found["units"].values())
        read = Baseline(found["commit"], found["units"], used=frozenset(found["used"])) if sound else None
    except (ValueError, TypeError, RecursionError):
        read = None
    if read is None or write_baseline(read) != raw:
        raise Refused("the approved desired units in the store are damaged: bring the value back, or remove it")
    return read

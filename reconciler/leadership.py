"""Whether this process leads its partition now: a lease in the store, and a fencing epoch that only grows.

Used by `loop` once a cycle and by `acting` before each call. Time is the process's own monotonic clock: no two clocks
are ever compared.
"""

from __future__ import annotations

from collections.abc import Callable

from contracts.errors import EbbtideError
from reconciler.ports import Store


class Leadership:
    """One replica's claim to lead one partition; `epoch` is the one it leads with, 0 while it never led."""

    def __init__(self, store: Store, *, key: str, holder: str, monotonic: Callable[[], int]) -> None:
        self.epoch = 0
        self._store, self._key, self._holder, self._monotonic = store, key, holder, monotonic

    def ensure(self) -> bool:
        """Renew the lease, or take it where nobody holds it; whether this replica leads."""
        if self.epoch:
            return True
        try:
            found = self._store.get(self._key)
            epoch = 1 + (int(found.value) if found else 0)
            self._store.put(self._key, str(epoch).encode(), expected=found.revision if found else "")
        except EbbtideError:
            return False
        self.epoch = epoch
        return True

    def holds(self) -> bool:
        """Whether the lease still holds, by this process's own clock; asks nobody."""
        return self.epoch > 0

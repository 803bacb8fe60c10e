"""The store of replicas that share one process: simulations and tests, and a region with a single reconciler."""

from __future__ import annotations

import threading

from contracts.errors import Refused
from pools.provider import Conflict
from reconciler.ports import LARGEST_VALUE, Versioned


class MemoryStore:
    """`reconciler.ports.Store` in a dictionary.

    `values` may be emptied, or set back to an older copy of itself, by whoever plays with lost and restored stores: the
    revisions go on from where they were.
    """

    def __init__(self) -> None:
        self.values: dict[str, Versioned] = {}
        self._revisions = 0
        self._one = threading.Lock()

    def get(self, key: str) -> Versioned | None:
        """As the seam promises."""
        return self.values.get(key)

    def put(self, key: str, value: bytes, *, expected: str) -> str:
        """As the seam promises."""
        if len(value) > LARGEST_VALUE:
            raise Refused(f"{key}: {len(value)} bytes, a store takes {LARGEST_VALUE}")
        with self._one:
            found = self.values.get(key)
            if (found.revision if found else "") != expected:
                raise Conflict(f"{key} was replaced meanwhile")
            self._revisions += 1
            self.values[key] = Versioned(value, str(self._revisions))
            return str(self._revisions)

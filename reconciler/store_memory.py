"""The store of replicas that share one process: simulations and tests, and a region with a single reconciler."""

from __future__ import annotations

from pools.provider import Conflict
from reconciler.ports import Versioned


class MemoryStore:
    """`reconciler.ports.Store` in a dictionary."""

    def __init__(self) -> None:
        self.values: dict[str, Versioned] = {}
        self._revisions = 0

    def get(self, key: str) -> Versioned | None:
        """As the seam promises."""
        return self.values.get(key)

    def put(self, key: str, value: bytes, *, expected: str) -> str:
        """As the seam promises."""
        found = self.values.get(key)
        if (found.revision if found else "") != expected:
            raise Conflict(f"{key} was replaced meanwhile")
        self._revisions += 1
        self.values[key] = Versioned(value, str(self._revisions))
        return str(self._revisions)

"""The machine that a simulated reconciler runs on while nothing ever happens to it.

Plays `reconciler.ports` for what is the machine's own: recorder, journal, desired state and stop switch. Used by
`simulation.world`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ledger.events import Event
from reconciler.ports import Desired
from repo_layout.model import Estate


class CalmMachine:
    """Events go into the world's own batch at once, files never change, nobody stops anything, nothing is restarted."""

    def __init__(self, estate: Estate, batch: list[Event]) -> None:
        self._desired = Desired(estate, estate.commit)
        self._batch = batch

    def reason(self) -> str:
        """Never stopped."""
        return ""

    def look(self) -> Desired:
        """The estate that the world began with."""
        return self._desired

    def load(self) -> bytes | None:
        """Nothing: the world ends with its process."""
        return None

    def save(self, content: bytes) -> None:
        """Nothing is kept."""

    def record(self, events: Sequence[Event]) -> None:
        """Pass events on together with the world's own, in one batch."""
        self._batch += events

    def position(self) -> int:
        """Nothing outlives this process, and nobody asks."""
        return 0

    def pending_bytes(self) -> int:
        """Events leave at once."""
        return 0

"""The ledger's spool as `reconciler.ports.Recorder`: a batch is one write, and its end is the position."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.events import Event
from ledger.spool import Spool


class SpoolRecorder:
    """Writes into a spool that is open and that nobody else writes."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool

    def record(self, events: Sequence[Event]) -> None:
        """As the seam promises; `Transient` where there is no room."""
        self.spool.append(events)

    def position(self) -> int:
        """As the seam promises: bytes since the first record ever, so that discarded segments change nothing."""
        return self.spool.end

    def pending_bytes(self) -> int:
        """As the seam promises."""
        return self.spool.pending_bytes

"""From the spool to where the lines are kept: at least once on the way, once in effect on arrival.

The shell calls `deliver` whenever it likes; whether the sink is ClickHouse at once or a broker in between is its
business. A line is acknowledged only after the sink said that it holds it, so a crash, or a sink that took the lines
and failed to say so, leads to the same lines being sent again and to nothing being stored twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ledger.spool import Spool

BATCH_LINES = 10_000
"""Enough to make the sink's cost per batch small, little enough to be sent again after a failure."""


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of a batch: lines new to the sink, lines already there, and ids that are there with other content.

    A line in conflict is not stored; the one that came in an earlier batch stands, and of two in one batch one of them,
    whichever way round they came. Whoever meant to correct an event writes a new one.
    """

    new: int = 0
    repeated: int = 0
    conflicts: tuple[str, ...] = ()


class Sink(Protocol):
    """Where lines are kept."""

    def append_lines(self, lines: Sequence[bytes]) -> Appended:
        """Hold the lines durably, each id once. Returning means that all are held; `Transient`, that some may be."""


def deliver(spool: Spool, sink: Sink, *, batch_lines: int = BATCH_LINES) -> Appended:
    """Send everything that is pending and acknowledge batch by batch; returns the sums.

    What the sink raises goes through; the batches before it stay acknowledged and the rest stays pending.
    """
    new = repeated = 0
    conflicts: list[str] = []
    entries = spool.read(spool.acknowledged)
    while batch := list(itertools.islice(entries, batch_lines)):
        told = sink.append_lines([entry.line for entry in batch])
        spool.acknowledge(batch[-1].after)
        new, repeated = new + told.new, repeated + told.repeated
        conflicts += told.conflicts
    return Appended(new, repeated, tuple(conflicts))

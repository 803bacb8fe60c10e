"""Lines leave the spool at least once and arrive once in effect, whatever fails between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import Transient
from ledger.adapters.clickhouse import ClickHouseLedger
from ledger.delivery import Appended, deliver
from ledger.net_saving import net_saving
from ledger.reports import Period
from ledger.spool import Spool
from tests.ledger.histories import HORIZON, one_lost_instance

if TYPE_CHECKING:
    import pytest


class Forgetful:
    """A sink that holds each line once, and at the stated calls takes the lines but says that it timed out."""

    def __init__(self, silent: set[int]) -> None:
        self.held: dict[bytes, int] = {}
        self.calls = 0
        self.silent = silent

    def append_lines(self, lines: Sequence[bytes]) -> Appended:
        self.calls += 1
        new = sum(line not in self.held for line in lines)
        for line in lines:
            self.held[line] = self.held.get(line, 0) + 1
        if self.calls in self.silent:
            raise Transient("timed out, and yet written")
        return Appended(new=new, repeated=len(lines) - new)


@given(silent=st.sets(st.integers(1, 12)), batch=st.integers(1, 9))
def test_a_sink_that_times_out_after_writing_causes_neither_a_hole_nor_a_double(
    tmp_path_factory: pytest.TempPathFactory, silent: set[int], batch: int
) -> None:
    lines = [b"e%d" % number for number in range(20)]
    directory = tmp_path_factory.mktemp("delivery")
    sink = Forgetful(silent)
    with Spool(directory, segment_bytes=60) as spool:
        for line in lines:
            spool.append_lines([line])
    for _ in range(20):
        # a new process each time: all that it knows is on the disk
        with Spool(directory, segment_bytes=60) as spool:
            try:
                deliver(spool, sink, batch_lines=batch)
            except Transient:
                continue
            assert spool.pending_bytes == 0
            break
    assert list(sink.held) == lines


def test_delivery_to_the_ledger_again_after_a_lost_acknowledgement_changes_no_sum(
    ledger: ClickHouseLedger, tmp_path: Path
) -> None:
    events, period = one_lost_instance().events, Period(0, HORIZON)
    with Spool(tmp_path) as spool:
        spool.append(events)
        ledger.append_lines([entry.line for entry in spool.read(0)])
        told = deliver(spool, ledger, batch_lines=4)
        assert told == Appended(new=0, repeated=len(events))
        assert spool.pending_bytes == 0
        assert deliver(spool, ledger) == Appended()
    assert ledger.savings(period) == net_saving(events, period)

"""The journal's lines: what is torn or foreign is passed over, and time goes on after a restart."""

from __future__ import annotations

import pytest

from agent.deadline import Reading
from agent.drain import Entry, replay
from agent.inputs import Accepted, Exited, Tick, Unit
from agent.journal import clock_after, decode, encode
from tests.drain.world import began

ENTRIES = [
    Entry(0, began(Unit("wêb-0")), Reading(500, 0)),
    Entry(90, Accepted("wêb-0"), Reading(590, 90)),
    Entry(40_000, Tick(), Reading(40_500, 40_000)),
]
LINES = b"".join(encode(entry) for entry in ENTRIES)


def test_a_torn_tail_loses_its_own_line_only() -> None:
    for cut in range(1, len(encode(ENTRIES[-1])) - 1):
        read, bad = decode(LINES[: -cut - 1])
        assert (read, bad) == (ENTRIES[:2], 1)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"no journal\n",
        b"00000000 {}\n",
        b"\xff\xfe\n",
        encode(ENTRIES[1]).replace(b"Accepted", b"Abducted"),
        encode(Entry(1, Exited(5))),  # type: ignore[arg-type]  # a number where a name belongs
    ],
)
def test_a_line_that_is_no_entry_is_counted_and_passed_over(line: bytes) -> None:
    read, bad = decode(line + LINES)
    assert read == ENTRIES
    assert bad == (0 if line == b"\n" else 1)


def test_a_journal_that_never_began_holds_no_drain() -> None:
    assert replay(ENTRIES[1:]) is None
    assert replay([]) is None


def test_the_drain_goes_on_with_the_time_that_is_left() -> None:
    """Killed at 40 s and back at 43 s: 77 s are left, whichever clock says so."""
    state = replay(ENTRIES)
    assert state is not None
    for reading in (Reading(43_500, 43_000), Reading(43_500, 0), Reading(12, 43_000)):
        assert state.deadline - clock_after(ENTRIES, reading).now == 77_000

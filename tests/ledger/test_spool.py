"""The spool keeps what it said it kept, and says what it cut."""

from __future__ import annotations

import itertools
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import Breach, Refused, Transient
from ledger.causes import Cause
from ledger.events import Event, EventType, from_line
from ledger.spool import Spool

BATCHES = ((b"alpha",), (b"beta", b"gamma", b"delta"), (b"a longer line, with \xc3\xa4", b"z"))


def lines_of(spool: Spool) -> list[bytes]:
    return [entry.line for entry in spool.read(spool.start)]


def written(directory: Path, *, segment_bytes: int = 1 << 20) -> list[int]:
    """The ends of the batches of a spool that holds `BATCHES`."""
    with Spool(directory, segment_bytes=segment_bytes) as spool:
        return [spool.append_lines(batch) for batch in BATCHES]


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.seg"))


def test_lines_come_back_in_order_after_reopening(tmp_path: Path) -> None:
    written(tmp_path)
    with Spool(tmp_path) as spool:
        assert lines_of(spool) == list(itertools.chain.from_iterable(BATCHES))
        assert spool.recovered.lost == 0


def test_a_spool_cut_at_any_byte_keeps_every_whole_batch_before_the_cut_and_nothing_of_the_next(tmp_path: Path) -> None:
    ends = [end + 8 for end in written(tmp_path / "whole")]
    content = segments(tmp_path / "whole")[0].read_bytes()
    for cut in range(len(content) + 1):
        directory = tmp_path / f"cut{cut}"
        directory.mkdir()
        (directory / f"{0:020d}.seg").write_bytes(content[:cut])
        kept = [line for end, batch in zip(ends, BATCHES, strict=True) if end <= cut for line in batch]
        with Spool(directory) as spool:
            assert lines_of(spool) == kept
            assert spool.recovered.lost == cut - max([8 if cut >= 8 else 0, *[end for end in ends if end <= cut]])
            spool.append_lines([b"after"])
        with Spool(directory) as spool:
            assert lines_of(spool) == [*kept, b"after"]
        shutil.rmtree(directory)


def test_a_wrong_bit_before_the_last_batch_is_a_breach_and_in_the_last_batch_is_cut(tmp_path: Path) -> None:
    last = written(tmp_path)[-2] + 8
    path = segments(tmp_path)[0]
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        if at < last:
            with pytest.raises(Breach):
                Spool(tmp_path)
        else:
            with Spool(tmp_path) as spool:
                assert 0 < spool.recovered.lost <= len(content) - last
                assert lines_of(spool)[:4] == [b"alpha", b"beta", b"gamma", b"delta"]


def test_damage_before_the_acknowledged_position_is_never_taken_for_a_torn_tail(tmp_path: Path) -> None:
    end = written(tmp_path)[-1]
    with Spool(tmp_path) as spool:
        spool.acknowledge(end)
    path = segments(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Breach, match="acknowledged"):
        Spool(tmp_path)


def test_damage_in_a_closed_segment_is_a_breach_when_it_is_read(tmp_path: Path) -> None:
    written(tmp_path, segment_bytes=1)
    first = segments(tmp_path)[0]
    content = bytearray(first.read_bytes())
    content[-1] ^= 1
    first.write_bytes(content)
    with Spool(tmp_path) as spool, pytest.raises(Breach, match="position 0"):
        lines_of(spool)


def test_a_missing_or_short_closed_segment_is_a_breach_on_opening(tmp_path: Path) -> None:
    written(tmp_path, segment_bytes=1)
    middle = segments(tmp_path)[1]
    content = middle.read_bytes()
    middle.write_bytes(content[:-1])
    with pytest.raises(Breach, match="does not end where"):
        Spool(tmp_path)
    middle.unlink()
    with pytest.raises(Breach, match="does not end where"):
        Spool(tmp_path)


def test_segments_that_vanished_after_an_acknowledgement_are_a_breach(tmp_path: Path) -> None:
    end = written(tmp_path)[-1]
    with Spool(tmp_path) as spool:
        spool.acknowledge(end)
    segments(tmp_path)[0].unlink()
    with pytest.raises(Breach, match="missing"):
        Spool(tmp_path)


def test_reading_goes_on_from_any_position_across_segments(tmp_path: Path) -> None:
    written(tmp_path, segment_bytes=1)
    with Spool(tmp_path) as spool:
        entries = list(spool.read(0))
        assert len(segments(tmp_path)) == 3
        for index, entry in enumerate(entries):
            assert list(spool.read(entry.at)) == entries[index:]
        assert list(spool.read(spool.end)) == []
        with pytest.raises(Refused, match="outside"):
            list(spool.read(spool.end + 1))


def test_the_acknowledged_position_survives_and_never_goes_back(tmp_path: Path) -> None:
    ends = written(tmp_path)
    with Spool(tmp_path) as spool:
        spool.acknowledge(ends[1])
    with Spool(tmp_path) as spool:
        assert spool.acknowledged == ends[1]
        assert spool.pending_bytes == ends[2] - ends[1]
        for wrong in (ends[0], ends[2] + 1):
            with pytest.raises(Refused, match="outside the pending"):
                spool.acknowledge(wrong)


def test_only_acknowledged_whole_segments_are_discarded(tmp_path: Path) -> None:
    ends = written(tmp_path, segment_bytes=1)
    with Spool(tmp_path, segment_bytes=1) as spool:
        assert spool.discard_before(ends[2]) == 0
        spool.acknowledge(ends[1])
        before = spool.size_bytes
        assert spool.discard_before(ends[2]) == ends[1]
        assert spool.size_bytes < before
        assert lines_of(spool) == list(BATCHES[2])
    with Spool(tmp_path, segment_bytes=1) as spool:
        assert spool.start == ends[1]
        assert spool.append_lines([b"more"]) > ends[2]


def test_a_second_writer_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    with Spool(tmp_path), pytest.raises(Refused, match="another process"):
        Spool(tmp_path)
    Spool(tmp_path).close()


def test_a_full_disk_leaves_the_spool_valid_and_the_batch_can_be_tried_again(tmp_path: Path) -> None:
    batch = [b"x" * 1000] * 10
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Spool(tmp_path) as spool:
        end = spool.append_lines([b"kept"])
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
        try:
            with pytest.raises(Transient, match="no room"):
                spool.append_lines(batch)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert spool.end == end
        assert segments(tmp_path)[0].stat().st_size == end + 8
        spool.append_lines(batch)
    with Spool(tmp_path) as spool:
        assert lines_of(spool) == [b"kept", *batch]


def test_a_writer_that_is_killed_leaves_every_line_it_reported(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib, itertools\n"
        "from ledger.spool import Spool\n"
        "spool = Spool(pathlib.Path(sys.argv[1]), segment_bytes=4096)\n"
        "for number in itertools.count():\n"
        "    spool.append_lines([b'%d-%d' % (number, part) for part in range(5)])\n"
        "    print(number, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        for _ in range(100):
            reported = int(child.stdout.readline())
        child.kill()
    with Spool(tmp_path) as spool:
        assert [b"%d-%d" % (n, part) for n in range(reported + 1) for part in range(5)] == lines_of(spool)[
            : (reported + 1) * 5
        ]


@settings(max_examples=40, deadline=None)
@given(
    batches=st.lists(
        st.lists(st.binary(min_size=1, max_size=40).filter(lambda x: b"\n" not in x), min_size=1), max_size=6
    ),
    segment_bytes=st.integers(1, 400),
)
def test_any_batches_in_any_segment_size_come_back(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[bytes]], segment_bytes: int
) -> None:
    directory = tmp_path_factory.mktemp("spool")
    with Spool(directory, segment_bytes=segment_bytes) as spool:
        for batch in batches:
            spool.append_lines(batch)
    with Spool(directory, segment_bytes=segment_bytes) as spool:
        assert lines_of(spool) == [line for batch in batches for line in batch]
        assert sum(path.stat().st_size for path in segments(directory)) == spool.size_bytes


def test_lines_that_no_reader_could_tell_apart_are_refused(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        for line in (b"", b"two\nlines", b"x" * (1024 * 1024 + 1)):
            with pytest.raises(Refused, match="spool line"):
                spool.append_lines([b"good", line])
        assert spool.append_lines([]) == spool.end == 0


def test_events_survive_the_spool_unchanged(tmp_path: Path) -> None:
    event = Event(
        id="e1",
        occurred_at=1,
        recorded_at=2,
        type=EventType.NOTICE_RECEIVED,
        cause=Cause.NOTICE,
        region="north",
        instance="i-1",
        data={"reclaim": "r-1", "kind": "reclaim", "ends_at": 120_000},
    )
    with Spool(tmp_path) as spool:
        spool.append([event])
        assert [from_line(entry.line) for entry in spool.read(0)] == [event]

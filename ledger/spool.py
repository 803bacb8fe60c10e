"""The durable local spool: what was appended is on the disk before `append` returns, and survives being torn.

The agent, the reconciler's shell and the simulation append events; a shipper reads on from the acknowledged position.
Standard library only, because the agent uses it. The spool must not know where its lines travel.

A spool is a directory of segments named by the position at which they start. A position is a byte count from the first
record ever written, so it stays valid when old segments are discarded. Each record is a marker (no UTF-8 text contains
it), a kind that says whether a batch begins or ends with it, the length, a CRC-32 and one canonical line. A batch is
written and synced before the next one begins. Hence the rule that tells a torn write from a damaged disk: damage with a
later batch behind it, before the acknowledged position, or in a segment that is not the last was once durable, and is a
`Breach`; a last batch that is damaged or lacks its end is a write that nobody was told had succeeded, and is cut off
whole: of a batch all is there, or nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from contracts.errors import Breach, Refused, Transient
from ledger.events import Event, to_line

SEGMENT_BYTES = 64 * 1024 * 1024
"""A segment is closed beyond this. Only the last one is read on opening, so that a spool of any size recovers fast."""
LARGEST_LINE = 1024 * 1024
"""No event is near this; a length above it is damage, and is not allocated."""

_MAGIC = b"EBBSPL\x00\x02"
_MARK = b"\xff\xebt"
_FIRST, _NEXT, _LAST, _ONLY = b"\x01", b"\x02", b"\x03", b"\x04"
_BEGIN, _END = (_FIRST, _ONLY), (_LAST, _ONLY)
_HEAD = struct.Struct("<3scII")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_ACKNOWLEDGED = "acknowledged"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the spool; acknowledge or continue at `after`."""

    at: int
    after: int
    line: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """What opening had to remove: `lost` bytes from position `at` on; none were ever reported as written."""

    at: int
    lost: int


@dataclass(frozen=True, slots=True)
class _Record:
    line: bytes
    kind: bytes
    size: int


class Spool:
    """The one writer of a spool directory; use it as a context manager.

    Not for several threads at once. Raises `Refused` on construction when another process holds the directory, `Breach`
    when something that was durable is damaged or missing.
    """

    def __init__(self, directory: Path, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._broken = ""
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(directory / "lock")
        try:
            self._acknowledged = _read_acknowledged(directory)
            self._bases = _bases(directory, acknowledged=self._acknowledged)
            base = self._bases[-1]
            path = _segment(directory, base)
            self._descriptor, held, lost = _opened(path, base=base, acknowledged=self._acknowledged)
            self._end = base + held
            self.recovered = Cut(at=self._end, lost=lost)
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the directory; closing twice is allowed."""
        if self._lock >= 0:
            os.close(self._descriptor)
            os.close(self._lock)
            self._lock = -1
            self._broken = "it is closed"

    @property
    def start(self) -> int:
        """The oldest position that can still be read."""
        return self._bases[0]

    @property
    def end(self) -> int:
        """The position after the last durable line."""
        return self._end

    @property
    def acknowledged(self) -> int:
        """Everything before this position has arrived where it was sent."""
        return self._acknowledged

    @property
    def size_bytes(self) -> int:
        """Bytes that the spool holds on the disk, acknowledged ones included."""
        return self._end - self._bases[0] + len(_MAGIC) * len(self._bases)

    @property
    def pending_bytes(self) -> int:
        """Bytes that nobody has acknowledged; growth stops at a stated size of this."""
        return self._end - self._acknowledged

    def append(self, events: Iterable[Event]) -> int:
        """Write a batch of events durably and return the position after it; see `append_lines`."""
        return self.append_lines([to_line(event) for event in events])

    def append_lines(self, lines: Sequence[bytes]) -> int:
        """Write a batch of canonical lines with one sync and return the position after it.

        When it returns, the whole batch is durable. When it raises, nothing of the batch counts: `Transient` when there
        is no room (the spool stays valid, the same call may succeed later), `Breach` when the disk fails otherwise.
        """
        if self._broken:
            raise Breach(f"spool {self._directory.name} takes nothing more: {self._broken}")
        if not lines:
            return self._end
        block = _encoded(lines)
        written = self._end - self._bases[-1]
        if written and written + len(block) > self._segment_bytes:
            following = _created(_segment(self._directory, self._end))
            os.close(self._descriptor)
            self._descriptor = following
            self._bases.append(self._end)
        try:
            _write_all(self._descriptor, block)
            os.fdatasync(self._descriptor)
        except OSError as error:
            self._undo(error)
        self._end += len(block)
        return self._end

    def read(self, position: int) -> Iterator[Entry]:
        """The durable lines from a position on, in order; the position is one that this spool gave out.

        Raises `Refused` for one outside the spool. Damage found on the way is a `Breach`, after the lines before it.
        """
        if not self.start <= position <= self._end:
            raise Refused(f"position {position} is outside the spool's {self.start} to {self._end}")
        for index, base in enumerate(self._bases):
            limit = self._bases[index + 1] if index + 1 < len(self._bases) else self._end
            if position < limit:
                path = _segment(self._directory, base)
                yield from _read_segment(path, base=base, start=max(position, base), limit=limit)

    def acknowledge(self, position: int) -> None:
        """Remember durably that everything before the position has arrived; going back is refused."""
        if not self._acknowledged <= position <= self._end:
            raise Refused(f"position {position} is outside the pending {self._acknowledged} to {self._end}")
        text = str(position).encode()
        _replace(self._directory, _ACKNOWLEDGED, b"%s %08x\n" % (text, zlib.crc32(text)))
        self._acknowledged = position

    def discard_before(self, position: int) -> int:
        """Delete whole segments that end at or before the position and are acknowledged; returns the new start."""
        limit = min(position, self._acknowledged)
        while len(self._bases) > 1 and self._bases[1] <= limit:
            _segment(self._directory, self._bases[0]).unlink()
            _sync_directory(self._directory)
            del self._bases[0]
        return self.start

    def _undo(self, error: OSError) -> None:
        """Take back a batch that was not written whole, so that the next one follows a whole record."""
        try:
            os.ftruncate(self._descriptor, len(_MAGIC) + self._end - self._bases[-1])
            os.fsync(self._descriptor)
        except OSError as second:
            self._broken = f"a failed write could not be taken back ({second.strerror}); open it again"
        raise _translated(error) from error


def _opened(path: Path, *, base: int, acknowledged: int) -> tuple[int, int, int]:
    """The last segment, ready to append to: its descriptor, the bytes of its whole records, and the bytes cut off."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        content = _contents(descriptor)
        whole, lost = _judged(content, base=base, acknowledged=acknowledged)
        if lost or not content:
            os.ftruncate(descriptor, whole)
            if not whole:
                _write_all(descriptor, _MAGIC)
            os.fsync(descriptor)
            _sync_directory(path.parent)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, max(whole - len(_MAGIC), 0), lost


def _created(path: Path) -> int:
    """A new segment, durable with its name, and open for appending."""
    descriptor = -1
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        _write_all(descriptor, _MAGIC)
        os.fsync(descriptor)
        _sync_directory(path.parent)
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
            path.unlink(missing_ok=True)
        raise _translated(error) from error
    return descriptor


def _read_segment(path: Path, *, base: int, start: int, limit: int) -> Iterator[Entry]:
    with path.open("rb") as file:
        file.seek(len(_MAGIC) + start - base)
        at = start
        while at < limit:
            head = file.read(_HEAD.size)
            record = _parsed(head + file.read(_length(head)))
            if record is None:
                raise Breach(f"spool {path.parent.name} is damaged at position {at}")
            yield Entry(at=at, after=at + record.size, line=record.line)
            at += record.size


def _encoded(lines: Sequence[bytes]) -> bytes:
    parts = []
    last = len(lines) - 1
    for number, line in enumerate(lines):
        if not line or len(line) > LARGEST_LINE or b"\n" in line:
            raise Refused(f"a spool line has 1 to {LARGEST_LINE} bytes and no newline, not {line[:80]!r}")
        begins = _ONLY if not last else _FIRST
        kind = begins if number == 0 else _LAST if number == last else _NEXT
        parts.append(_HEAD.pack(_MARK, kind, len(line), zlib.crc32(line, zlib.crc32(kind))))
        parts.append(line)
    return b"".join(parts)


def _length(head: bytes) -> int:
    if len(head) < _HEAD.size:
        return 0
    length: int = _HEAD.unpack(head)[2]
    return length if length <= LARGEST_LINE else 0


def _parsed(content: bytes | memoryview, at: int = 0) -> _Record | None:
    """The whole record that starts at an offset, or None where there is none."""
    if len(content) - at < _HEAD.size:
        return None
    mark, kind, length, checksum = _HEAD.unpack_from(content, at)
    line = bytes(content[at + _HEAD.size : at + _HEAD.size + length]) if 0 < length <= LARGEST_LINE else b""
    if mark != _MARK or kind not in (_FIRST, _NEXT, _LAST, _ONLY) or not line or len(line) != length:
        return None
    if zlib.crc32(line, zlib.crc32(kind)) != checksum:
        return None
    return _Record(line=line, kind=kind, size=_HEAD.size + length)


def _judged(content: bytes, *, base: int, acknowledged: int) -> tuple[int, int]:
    """How many bytes of the last segment are whole batches, and how many behind them a torn write left; `Breach` for
    damage.
    """
    if content[: len(_MAGIC)] != _MAGIC:
        if len(content) > len(_MAGIC) or acknowledged > base:
            raise Breach(f"segment {base} of the spool is damaged at its beginning")
        return 0, len(content)
    at = reached = len(_MAGIC)
    while (record := _parsed(content, reached)) is not None and (record.kind in _BEGIN) == (reached == at):
        reached += record.size
        at = reached if record.kind in _END else at
    position = base + at - len(_MAGIC)
    if position < acknowledged:
        raise Breach(f"the spool is damaged at position {position}, before the acknowledged {acknowledged}")
    later = content.find(_MARK, at + 1)
    while later >= 0:
        behind = _parsed(content, later)
        if behind is not None and behind.kind in _BEGIN:
            raise Breach(f"the spool is damaged at position {position}, with a later batch behind it")
        later = content.find(_MARK, later + 1)
    return at, len(content) - at


def _bases(directory: Path, *, acknowledged: int) -> list[int]:
    """The segments' positions, oldest first, after checking that each begins where the one before it ends."""
    bases = sorted(int(path.stem) for path in directory.glob("*.seg"))
    for base, following in itertools.pairwise(bases):
        if _segment(directory, base).stat().st_size != len(_MAGIC) + following - base:
            raise Breach(f"segment {base} of spool {directory.name} does not end where segment {following} begins")
    if acknowledged and not bases:
        raise Breach(f"spool {directory.name} has acknowledged lines, but its segments are missing")
    return bases or [0]


def _segment(directory: Path, base: int) -> Path:
    return directory / f"{base:020d}.seg"


def _read_acknowledged(directory: Path) -> int:
    try:
        text, _, checksum = (directory / _ACKNOWLEDGED).read_bytes().rstrip(b"\n").partition(b" ")
    except FileNotFoundError:
        return 0
    if not text.isdigit() or checksum != b"%08x" % zlib.crc32(text):
        raise Breach(f"the acknowledged position of spool {directory.name} is damaged")
    return int(text)


def _replace(directory: Path, name: str, content: bytes) -> None:
    draft = directory / f"{name}.draft"
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(directory / name)
        _sync_directory(directory)
    except OSError as error:
        raise _translated(error) from error


def _contents(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def _write_all(descriptor: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(descriptor, view) :]


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise Refused(f"another process writes the spool {path.parent.name}") from None
    with contextlib.suppress(OSError):  # the number is for people who look; the lock is what holds
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
    return descriptor


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _translated(error: OSError) -> Transient | Breach:
    if error.errno in _FULL:
        return Transient(f"no room for the spool: {error.strerror}")
    return Breach(f"the spool's disk fails: {error.strerror}")

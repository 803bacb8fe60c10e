"""Finds recorded traces in a folder and loads them by name: the one door from files to `simulation.trace.Trace`.

The replay benchmark, the simulated cloud and the tests call it with the folder that `EBBTIDE_TRACES` names. It tells
formats by file name, reads bytes, and leaves their meaning to one module a format. No trace stands in this repository.
"""

from __future__ import annotations

import enum
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from contracts.errors import Place, Refused
from simulation import trace_g5k, trace_lifetimes, trace_membership, trace_spot
from simulation.trace import Trace
from simulation.trace_spot import Reading

MOST_BYTES: Final = 256 * 1024 * 1024
"""Ten times the largest public trace, unpacked; more would be a mistake or a bomb."""


_HEAD_BYTES: Final = 4096
_SPOT: Final = re.compile(r"[^_]+_[^_]+_[0-9]+\.json$")
_MEMBERSHIP: Final = re.compile(
    rb"[0-9]+, *(?:add|remove), *[^, ]+|[0-9]+, *[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}, *[0-9:]{8}, *[0-9]+"
)


class TraceFormat(enum.Enum):
    """The formats that can be loaded; `simulation.trace_catalogue` describes them for a person."""

    FAILURE_TRACE = "failure-trace-archive"
    SPOT_AVAILABILITY = "spot-availability"
    LIFETIMES = "preemptible-lifetimes"
    MEMBERSHIP = "membership-log"


@dataclass(frozen=True, slots=True)
class TraceFile:
    """One trace that `load` can read: its name is stable, relative to the folder, and unique in it."""

    name: str
    path: Path
    format: TraceFormat
    reading: Reading | None = None


def find_traces(folder: Path) -> tuple[TraceFile, ...]:
    """Every trace under a folder, by name; a spot set is one trace for each reading.

    Recognised: `event_trace.tab` or `.tab.xz`; folders of `ZONE_ACCELERATOR_COUNT.json`; a CSV whose head holds
    `lifetime_seconds`; logs whose first line is a membership line. Other files are passed over in silence, because the
    folder may hold more than traces. Refused: a folder that does not exist.
    """
    if not folder.is_dir():
        raise Refused(f"{folder}: there is no such folder of traces; EBBTIDE_TRACES must name one")
    found = [
        trace
        for path in (folder, *sorted(folder.rglob("*")))
        for trace in (_in_folder(path, folder) if path.is_dir() else _in_file(path, folder))
    ]
    return tuple(sorted(found, key=lambda trace: trace.name))


def load(name_or_path: str | Path, *, folder: Path | None = None, gap_s: int | None = None) -> Trace:
    """The trace at a path, or of a name that `find_traces(folder)` lists, or of the last parts of such a name.

    A path names a file, or a folder that holds one trace. The name or path of a spot set ends in `:` and a reading,
    since neither reading is the right one. `gap_s` replaces the tick of a spot set. Refused: no trace or more than one
    by that name, and whatever the module of the format refuses.
    """
    wanted = str(name_or_path)
    path, _, reading = wanted.rpartition(":")
    place = Path(path if reading in {each.value for each in Reading} else wanted)
    if place.is_dir():
        listed = [t for t in find_traces(place) if t.reading is None or t.reading.value == reading]
    elif place.is_file():
        listed = list(_in_file(place, place.parent))
    elif folder is not None:
        every = find_traces(folder)
        listed = [t for t in every if t.name == wanted] or [t for t in every if t.name.endswith(f"/{wanted}")]
        if not listed:
            raise Refused(f"trace {wanted!r}: not in {folder}; there are: {', '.join(t.name for t in every) or 'none'}")
    else:
        raise Refused(f"trace {wanted!r}: no such file or folder, and no folder of traces to look in")
    if len(listed) != 1:
        raise Refused(f"trace {wanted!r}: it names {len(listed)} traces where one was expected{_names(listed)}")
    return read(listed[0], gap_s=gap_s)


def read(trace: TraceFile, *, gap_s: int | None = None) -> Trace:
    """The trace of one row of `find_traces`; errors as for `load`."""
    path = trace.path
    match trace.format:
        case TraceFormat.FAILURE_TRACE:
            return trace_g5k.parse(_unpacked(path), path.name, name=trace.name)
        case TraceFormat.SPOT_AVAILABILITY:
            files = {str(member): _bytes(member) for member in sorted(path.glob("*.json")) if _SPOT.match(member.name)}
            return trace_spot.parse(
                files, name=trace.name, reading=trace.reading or Reading.ONE_IS_AVAILABLE, gap_s=gap_s
            )
        case TraceFormat.LIFETIMES:
            return trace_lifetimes.parse(_bytes(path), path.name, name=trace.name)
        case TraceFormat.MEMBERSHIP:
            return trace_membership.parse(_bytes(path), path.name, name=trace.name)


def _names(listed: list[TraceFile]) -> str:
    return f": {', '.join(trace.name for trace in listed)}" if listed else ""


def _in_folder(path: Path, root: Path) -> Iterator[TraceFile]:
    if any(_SPOT.match(member.name) for member in path.glob("*.json")):
        for reading in Reading:
            name = f"{_relative(path, root)}:{reading.value}"
            yield TraceFile(name, path, TraceFormat.SPOT_AVAILABILITY, reading)


def _in_file(path: Path, root: Path) -> Iterator[TraceFile]:
    if path.name in ("event_trace.tab", "event_trace.tab.xz"):
        yield TraceFile(_relative(path.parent, root), path, TraceFormat.FAILURE_TRACE)
    elif path.suffix in (".csv", ".txt"):
        with path.open("rb") as file:
            head = file.readline(_HEAD_BYTES).strip()
        name = _relative(path.with_suffix(""), root)
        if b"lifetime_seconds" in head.split(b","):
            yield TraceFile(name, path, TraceFormat.LIFETIMES)
        elif _MEMBERSHIP.fullmatch(head):
            yield TraceFile(name, path, TraceFormat.MEMBERSHIP)


def _relative(path: Path, root: Path) -> str:
    """A path below the root with forward slashes; the root itself goes by its own name."""
    inside = path.relative_to(root).as_posix()
    return root.resolve().name if inside == "." else inside


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    return _limited(data, path)


def _unpacked(path: Path) -> bytes:
    if path.suffix != ".xz":
        return _bytes(path)
    try:
        with lzma.open(path) as file:
            return _limited(file.read(MOST_BYTES + 1), path)
    except (lzma.LZMAError, EOFError) as error:
        raise Refused(f"{Place(path.name)}: no xz file that unpacks: {error}") from None


def _limited(data: bytes, path: Path) -> bytes:
    if len(data) > MOST_BYTES:
        raise Refused(f"{Place(path.name)}: more than {MOST_BYTES} bytes")
    return data

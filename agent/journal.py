"""The drain's journal as bytes: one line an input, so that a killed agent goes on with the same drain.

The agent's loop writes a line, with fsync, before it acts on it; `agent.drain.replay` reads the entries back. This
module turns entries into lines and lines into entries and touches no file. A line is a checksum, a blank and one JSON
object. A torn or foreign line is skipped and counted, never an error: what stands in the other lines still saves the
drain. The writer ends every line, and begins with a line feed where the file does not end with one.
"""

from __future__ import annotations

import json
import types
import zlib
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Final, Union, get_args, get_origin, get_type_hints

from agent.deadline import Clock, Reading
from agent.drain import Entry
from agent.inputs import Began, Input

_KINDS: Final[dict[str, type]] = {kind.__name__: kind for kind in (Began, *get_args(Input))}

# A line beyond this is no line of ours: 512 units with long names are a tenth of it.
MAX_LINE: Final = 1 << 20


def encode(entry: Entry) -> bytes:
    """One line for `entry`, with its line feed."""
    body = {
        "at": entry.at,
        "kind": type(entry.said).__name__,
        "said": _plain(entry.said),
        "reading": _plain(entry.reading),
    }
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode(data: bytes) -> tuple[list[Entry], int]:
    """The entries of a journal in order, and how many lines were no entries (a torn tail is one)."""
    entries: list[Entry] = []
    bad = 0
    for line in data.split(b"\n"):
        if not line:
            continue
        entry = _entry(line)
        if entry is None:
            bad += 1
        else:
            entries.append(entry)
    return entries, bad


def clock_after(entries: Iterable[Entry], reading: Reading) -> Clock:
    """Honest time after a restart: it goes on from the last reading that the journal holds."""
    clock = Clock.at(reading)
    for entry in entries:
        if entry.reading is not None:
            clock = Clock(entry.reading, entry.at)
    return clock.advance(reading)[0]


def _entry(line: bytes) -> Entry | None:
    """One entry, or None for a line that is torn, changed or of a kind this version does not know."""
    if len(line) > MAX_LINE or line[8:9] != b" ":
        return None
    text = line[9:]
    try:
        if int(line[:8], 16) != zlib.crc32(text):
            return None
        body = json.loads(text)
        kind = _KINDS[body["kind"]]
        said = _value(kind, body["said"])
        reading = _value(Reading | None, body["reading"])
        at = _value(int, body["at"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Entry(at, said, reading)  # type: ignore[arg-type]  # _value built them from the annotations


def _plain(value: object) -> object:
    """A value as JSON knows it."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


@cache
def _hints(kind: type) -> dict[str, object]:
    """The annotations of a dataclass, resolved once."""
    return dict(get_type_hints(kind))


def _value(hint: object, plain: object) -> object:
    """The value that `plain` stands for where `hint` is expected; raises TypeError or ValueError for another one."""
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        if plain is None:
            return None
        return _value(next(arm for arm in get_args(hint) if arm is not type(None)), plain)
    if origin is tuple:
        return _tuple(get_args(hint), plain)
    if not isinstance(hint, type):
        raise TypeError(f"no value of {hint} can stand in a journal")
    if issubclass(hint, Enum):
        return hint(plain)
    if is_dataclass(hint):
        if not isinstance(plain, dict):
            raise TypeError(f"{hint.__name__} wants an object")
        return hint(**{name: _value(kind, plain[name]) for name, kind in _hints(hint).items() if name in plain})
    wanted = (int, float) if hint is float else hint
    if not isinstance(plain, wanted) or (isinstance(plain, bool) and hint is not bool):
        raise TypeError(f"{hint.__name__} wanted, {type(plain).__name__} found")
    return plain


def _tuple(arms: tuple[object, ...], plain: object) -> tuple[object, ...]:
    """A tuple of one kind, or of fixed kinds."""
    if not isinstance(plain, list):
        raise TypeError("a list was expected")
    if len(arms) == 2 and arms[1] is Ellipsis:
        return tuple(_value(arms[0], one) for one in plain)
    return tuple(_value(arm, one) for arm, one in zip(arms, plain, strict=True))

"""Reads foreign JSON so that two readers cannot disagree about it: limits, no duplicate keys, whole numbers, real text.

The readers of bundles and key sets call it before anything is verified, so it has to survive every input: what it
raises is `ValueError` and nothing else. Standard library only: nodes import it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn, cast

from contracts.canonical import MAX_INTEGER, JsonValue, canonical

MAX_DEPTH = 16
"""A Sigstore bundle nests six levels, a node bundle eight; twice that is nobody's document."""

DIGEST_DIGITS = 64
"""Of a SHA-256 in hexadecimal."""

_STRUCTURE = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)
_SHOWN = 60
_LONGEST_INTEGER = len(str(MAX_INTEGER)) + 1


def read_json(raw: bytes, *, limit: int) -> JsonValue:
    """The value that the bytes hold. Raises `ValueError` with one clause that says what is wrong."""
    if len(raw) > limit:
        raise ValueError(f"it has {len(raw):,} bytes, and at most {limit:,} are read")
    if _depth(raw) > MAX_DEPTH:
        raise ValueError(f"it nests deeper than {MAX_DEPTH} levels")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is no UTF-8") from None
    try:
        value: JsonValue = json.loads(
            text, object_pairs_hook=_object, parse_float=_fraction, parse_constant=_fraction, parse_int=_integer
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error.msg} at character {error.pos}") from None
    if "\\u" in text:
        _require_text(value)
    return value


def read_canonical(raw: bytes, *, limit: int) -> JsonValue:
    """The value behind bytes that are its canonical form, and no other. Raises `ValueError`."""
    value = read_json(raw, limit=limit)
    if canonical(value) != raw:
        raise ValueError("it is not in canonical form: it was written, or changed, by something else")
    return value


class Reader:
    """One object of a document, whose every field is asked for; `done` refuses what nobody asked for."""

    def __init__(self, value: JsonValue, what: str) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{what} is no object")  # noqa: TRY004 - callers turn ValueError into their refusal
        self._fields = dict(value)
        self._what = what

    def text(self, name: str, *, longest: int, default: str | None = None) -> str:
        """Text of at most so many characters, all of them printable; empty only where that is the default."""
        value = self._take(name, default)
        if not isinstance(value, str):
            raise ValueError(f"{self._what}: {name} is no text")  # noqa: TRY004 - the same
        if len(value) > longest or not value.isprintable() or (not value and default is None):
            raise ValueError(f"{self._what}: {name} is not 1 to {longest} printable characters")
        return value

    def number(self, name: str, *, least: int = 0) -> int:
        """A whole number of at least `least`."""
        value = self._take(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{self._what}: {name} is no whole number of at least {least}")
        return value

    def data(self, name: str, *, limit: int) -> bytes:
        """The bytes behind base64 as RFC 4648 section 4 writes it, in the one way in which they can be written."""
        value = self._take(name)
        if not isinstance(value, str) or len(value) > 4 * (limit // 3 + 1):
            raise ValueError(f"{self._what}: {name} is no base64 of at most {limit:,} bytes")
        try:
            data = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError(f"{self._what}: {name} is no base64") from None
        if base64.b64encode(data) != value.encode():
            raise ValueError(f"{self._what}: {name} is base64 that could be written in another way")
        return data

    def digest(self, name: str) -> str:
        """A SHA-256 in lower-case hexadecimal."""
        value = self.text(name, longest=DIGEST_DIGITS)
        if len(value) != DIGEST_DIGITS or not set(value) <= set("0123456789abcdef"):
            raise ValueError(f"{self._what}: {name} is not {DIGEST_DIGITS} lower-case hexadecimal digits")
        return value

    def object(self, name: str) -> Reader:
        """An object below this one."""
        return Reader(self._take(name), f"{self._what}: {name}")

    def objects(self, name: str, *, most: int, least: int = 1) -> list[Reader]:
        """A list of objects."""
        return [Reader(item, f"{self._what}: {name}") for item in self.items(name, most=most, least=least)]

    def items(self, name: str, *, most: int, least: int = 1) -> Sequence[JsonValue]:
        """A list of anything, `least` to `most` long."""
        value = self._take(name)
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise ValueError(f"{self._what}: {name} is no list of {least} to {most}")
        return cast("Sequence[JsonValue]", value)

    def mapping(self, name: str, *, most: int) -> Mapping[str, JsonValue]:
        """An object whose keys are names of their own, at most so many."""
        value = self._take(name)
        if not isinstance(value, Mapping) or len(value) > most:
            raise ValueError(f"{self._what}: {name} is no object of at most {most}")
        return value

    def exactly(self, name: str, *expected: JsonValue) -> None:
        """One of the values expected, and nothing near them."""
        value = self._take(name)
        if not any(type(value) is type(one) and value == one for one in expected):
            raise ValueError(f"{self._what}: {name} is {_shown(value)}, not {expected[0]}")

    def has(self, name: str) -> bool:
        """Whether the field is there and was not asked for yet."""
        return name in self._fields

    def done(self) -> None:
        """Raises `ValueError` for a field that was never asked for."""
        if self._fields:
            raise ValueError(f"{self._what} has a field {_shown(min(self._fields))} that it may not have")

    def _take(self, name: str, default: str | None = None) -> JsonValue:
        if name in self._fields:
            return self._fields.pop(name)
        if default is None:
            raise ValueError(f"{self._what} lacks {name}")
        return default


def _shown(value: object) -> str:
    """What was read, as a message may show it; `contracts.values` has more of this and costs a node 2 MiB."""
    text = str(value)
    return ascii(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _depth(raw: bytes) -> int:
    """How deep brackets nest outside of strings; in one pass, because the parser itself recurses."""
    depth = deepest = 0
    inside = False
    for found in _STRUCTURE.finditer(raw):
        token = found[0]
        if token == b'"':
            inside = not inside
        elif inside or len(token) > 1:
            continue
        elif token in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # None goes on
        raise ValueError(f"the key {_shown(twice)} stands twice in one object")
    return fields


def _fraction(text: str) -> NoReturn:
    raise ValueError(f"{_shown(text)} is no whole number")


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER or abs(int(text)) > MAX_INTEGER or text == "-0":
        raise ValueError(f"{_shown(text)} is beyond 2^53 - 1, or minus zero")
    return int(text)


def _require_text(value: JsonValue) -> None:
    """Raises `ValueError` for an escape that makes half a character."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("it has a lone surrogate") from None
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _require_text(key)
            _require_text(item)
    elif isinstance(value, list):
        for item in value:
            _require_text(item)

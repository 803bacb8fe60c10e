"""Canonical JSON: one value, one sequence of bytes, on every machine.

The form is RFC 8785 (JSON Canonicalization Scheme) without fractions: whole numbers only, keys sorted by their UTF-16
code units, nothing escaped that need not be. What is signed is made of these bytes. Light on purpose: nodes import it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

JsonValue = None | bool | int | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"]

MAX_INTEGER = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact (RFC 8785 section 3.2.2.3, RFC 7493 section 2.2)."""


def canonical(value: JsonValue) -> bytes:
    """The canonical bytes of a value.

    Raises `ValueError` for what has no canonical form here: fractions, numbers beyond 2^53 - 1, text that is not
    Unicode (lone surrogates), keys that are not text, and anything that is not JSON.
    """
    text = json.dumps(_ordered(value), ensure_ascii=False, separators=(",", ":"), check_circular=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"text with a lone surrogate has no canonical form: {error.object[error.start]!r}") from None


def _ordered(value: JsonValue) -> JsonValue:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise ValueError(f"{value} is beyond 2^53 - 1 and not every reader keeps it exact")
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"the key {key!r} is not text")  # noqa: TRY004 - one error for every misfit
        # UTF-16 big endian sorts as RFC 8785 asks; code points differ from it beyond the basic plane.
        return {key: _ordered(value[key]) for key in sorted(value, key=_utf16)}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_ordered(item) for item in value]
    raise ValueError(f"{type(value).__name__} has no canonical form: whole numbers, text, true, false, lists and maps")


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")

"""Older formats: a table from `apiVersion` to the step that makes the next version's data of it.

The loader calls `to_current`. A step works on plain data and says which paths moved, so that a finding about the
converted data still names the line of the file as it was written. There is one format so far; the table is empty, and
tests bring a version of their own.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contracts.fields import shown
from contracts.findings import Fault
from contracts.model import API_VERSION
from repo_layout.layout import Kind
from repo_layout.source import Moves

MAX_STEPS = 16  # a format that needs more is converted by hand


@dataclass(frozen=True, slots=True)
class Converted:
    """The data in the next format, with its new `apiVersion`, and where its paths stood before."""

    data: Mapping[str, object]
    moves: Moves


Converter = Callable[[Kind, Mapping[str, object]], Converted]
CONVERTERS: Mapping[str, Converter] = {}


@dataclass(frozen=True, slots=True)
class Current:
    """The data in the current format, through `moves`, or the fault that kept it from getting there."""

    data: Mapping[str, object]
    moves: tuple[Moves, ...] = ()
    fault: Fault | None = None


def to_current(kind: Kind, data: Mapping[str, object], converters: Mapping[str, Converter] = CONVERTERS) -> Current:
    """The data as the current format has it; data without an `apiVersion` passes, the schema says what is missing."""
    moves: tuple[Moves, ...] = ()
    for _ in range(MAX_STEPS):
        version = data.get("apiVersion", API_VERSION)
        if version == API_VERSION:
            return Current(data, moves)
        converter = converters.get(version) if isinstance(version, str) else None
        if converter is None:
            return Current(data, moves, _unknown(version, converters))
        converted = converter(kind, data)
        data, moves = converted.data, (*moves, converted.moves)
    return Current(data, moves, _unknown(data.get("apiVersion"), converters))


def _unknown(version: object, converters: Mapping[str, Converter]) -> Fault:
    known = [API_VERSION, *converters]
    near = difflib.get_close_matches(str(version), known, n=1)
    return Fault(
        path=("apiVersion",),
        code="EBT-122",
        message=f'apiVersion is "{shown(version)}", a format that this version does not read',
        seen=shown(version),
        expected=" or ".join(known),
        hint=f"did you mean {near[0]}?" if near else "",
    )

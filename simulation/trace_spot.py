"""Reads spot availability in the JSON form of the published spot traces: one value a tick, one file a pool.

Called by `simulation.trace_formats`; pure. A set of files that were recorded together makes one trace. Whether 1 means
available or not is disputed between users of these files, so both readings exist and a conclusion must hold for both.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from typing import Final

from contracts.errors import Place, Refused
from simulation.trace import Columns, Trace, TraceNode, build
from simulation.trace_counts import Row, slots

MOST_TICKS: Final = 10_000_000
"""Ten years of half-minute ticks; a longer list is no trace."""
MOST_COUNT: Final = 10_000
"""More nodes of one kind in one zone than any of the sources asked for."""


class Reading(enum.Enum):
    """What the largest value of a tick means."""

    ONE_IS_AVAILABLE = "one-is-available"
    ONE_IS_NOT_AVAILABLE = "one-is-not-available"


def parse(files: Mapping[str, bytes], *, name: str, reading: Reading, gap_s: int | None = None) -> Trace:
    """The trace of one set, from file names (`zone_accelerator_count.json`) to their bytes.

    The zone is the hall, the file a pool and its own aggregate. A tick lasts `metadata.gap_seconds`, or `gap_s` where
    that is given (the October set states 600 and may be 300). With the inverse reading a value counts the nodes that
    are missing from the file's largest value. The files carry no date: instants count from the first tick at 0. A pool
    that never had a node is left out and noted. Refused, with file and line: JSON that does not parse, a gap that is
    no positive whole number, values that are no whole numbers from 0 to `MOST_COUNT`, a name of another form.
    """
    pools: list[tuple[str, str, str]] = []
    nodes: list[TraceNode] = []
    rows: list[Row] = []
    longest = 0
    empty: list[str] = []
    for file in sorted(files):
        stem, zone = _zone(file)
        gap, values = _document(files[file], file)
        tick = 1000 * (gap_s or gap)
        if reading is Reading.ONE_IS_NOT_AVAILABLE:
            full = max(values)
            values = [full - value for value in values]
        ends_at = tick * len(values)
        steps = [(tick * i, value) for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
        found, away = slots(steps, label=stem, pool=len(pools), first_node=len(nodes), ends_at=ends_at)
        longest = max(longest, ends_at)
        if not found:
            empty.append(stem)
            continue
        pools.append((stem, zone, stem))
        nodes.extend(found)
        rows.extend(away)
    if not pools:
        raise Refused(f"trace {name}: no file of the set ever shows a node under the reading {reading.value}")
    return build(
        name,
        source=f"Spot availability of accelerators by zone, published spot traces, reading {reading.value}.",
        span=(0, longest),
        pools=pools,
        nodes=nodes,
        outages=Columns.of(rows),
        notes=(
            "no date in the files: instants count from the first tick",
            "counts name no node: the last to come is the first to go",
            *(f"{stem} never shows a node under this reading and is left out" for stem in empty),
        ),
    )


def _zone(file: str) -> tuple[str, str]:
    stem = file.rsplit("/", 1)[-1].removesuffix(".json")
    parts = stem.split("_")
    if len(parts) != 3 or not all(parts):
        raise Refused(f"{Place(file)}: the file name must be ZONE_ACCELERATOR_COUNT.json")
    return stem, parts[0]


def _document(data: bytes, file: str) -> tuple[int, list[int]]:
    """The tick in seconds and the values of one file."""
    try:
        document: object = json.loads(data)
    except json.JSONDecodeError as error:
        raise Refused(f"{Place(file, error.lineno, error.colno)}: no JSON: {error.msg}") from None
    except (UnicodeDecodeError, RecursionError):
        raise Refused(f"{Place(file, 1, 1)}: no JSON text that can be read") from None
    match document:
        case {"metadata": {"gap_seconds": int(gap)}, "data": list(values)} if gap > 0 and not isinstance(gap, bool):
            pass
        case _:
            raise Refused(f'{Place(file, 1, 1)}: expected "metadata" with a positive "gap_seconds", and a list "data"')
    if not 0 < len(values) <= MOST_TICKS:
        raise Refused(f"{Place(file, 1, 1)}: {len(values)} ticks where 1 to {MOST_TICKS} were expected")
    for index, value in enumerate(values):
        if type(value) is not int or not 0 <= value <= MOST_COUNT:
            shown = repr(value)[:40]
            raise Refused(f"{Place(file, 1, 1)}: data[{index}] is {shown}, not a whole number from 0 to {MOST_COUNT}")
    return gap, values

"""Reads the published lifetimes of preemptible virtual machines: a CSV table with one machine a row.

Called by `simulation.trace_formats`; pure. A zone is a hall, a machine type in it a pool and its own aggregate, a
machine a node that never returns.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from contracts.errors import Place, Refused
from simulation.trace import MOST_NODES, Columns, OutageKind, Trace, TraceNode, build
from simulation.trace_counts import Row

COLUMNS: Final = (
    "vm",
    "zone",
    "machine_type",
    "insert_time",
    "insert_done_time",
    "end_cause",
    "end_time",
    "lifetime_seconds",
)
AGE_LIMIT_S: Final = 24 * 3600
"""The provider ends every machine at this age; a loss from there on says nothing about demand for its capacity."""
AGE_SLACK_S: Final = 360
"""The youngest machine that the limit ended, by the gap in the published ages, was not this much younger than it."""
LIFETIME_SLACK_S: Final = 2.0
"""A stated lifetime further than this from its two times is wrong; rounding and the two start times explain less."""
PREEMPTED: Final = "preempted"
STOPPED: Final = "stopped_by_owner"


@dataclass(frozen=True, slots=True)
class _Machine:
    name: str
    zone: str
    kind: str
    start: int
    end: int
    stopped: bool
    wrong_lifetime: bool


def parse(data: bytes, file: str, *, name: str) -> Trace:
    """The trace of one table.

    A machine is present from the moment its creation was done. A preemption is its loss, without an end; from
    `AGE_LIMIT_S` on it is of the kind `AGE_LIMIT`, which a rate must leave out. A stop by the owner is no loss: the
    node leaves, and its exposure up to there counts (censored on the right). Times carry their own offset and are
    taken to UTC; the column of lifetimes is only compared, and rows in which it disagrees are counted in the notes,
    because the times agree among themselves there. Refused, with file and line: a missing column, a time without
    offset or out of order, another end cause.
    """
    machines = _machines(data, file)
    if not machines:
        raise Refused(f"{Place(file)}: it holds no machine")
    keys = sorted({(machine.zone, machine.kind) for machine in machines})
    index = {key: number for number, key in enumerate(keys)}
    machines.sort(key=lambda machine: (index[machine.zone, machine.kind], machine.start, machine.name))
    ends_at = max(machine.end for machine in machines) + 1  # the last loss must lie inside the span
    nodes: list[TraceNode] = []
    rows: list[Row] = []
    for machine in machines:
        left_at = machine.end if machine.stopped else None
        if not machine.stopped:
            old = machine.end - machine.start >= 1000 * (AGE_LIMIT_S - AGE_SLACK_S)
            rows.append((len(nodes), machine.end, None, OutageKind.AGE_LIMIT if old else OutageKind.RECLAIM))
        nodes.append(TraceNode(machine.name, index[machine.zone, machine.kind], machine.start, left_at))
    capped = sum(1 for row in rows if row[3] is OutageKind.AGE_LIMIT)
    return build(
        name,
        source="Lifetimes of preemptible machines in six zones, published preemption data of 2019.",
        span=(min(machine.start for machine in machines), ends_at),
        pools=[(f"{zone}/{kind}", zone, f"{zone}/{kind}") for zone, kind in keys],
        nodes=nodes,
        outages=Columns.of(rows),
        notes=(
            f"{capped} of {len(rows)} losses are the provider's limit of 24 hours and are of the kind age-limit",
            f"{len(nodes) - len(rows)} machines were stopped by their owner: no loss, exposure up to there",
            f"{sum(m.wrong_lifetime for m in machines)} stated lifetimes disagree with their times: the times are used",
        ),
    )


def _machines(data: bytes, file: str) -> list[_Machine]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Refused(f"{Place(file, line, 1)}: a byte that is no UTF-8 text") from None
    table = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    missing = [column for column in COLUMNS if column not in (table.fieldnames or ())]
    if missing:
        raise Refused(f"{Place(file, 1, 1)}: the head lacks the columns {', '.join(missing)}")
    found: list[_Machine] = []
    try:
        for row in table:
            if len(found) >= MOST_NODES:
                raise Refused(f"{Place(file, table.line_num, 1)}: more than {MOST_NODES} machines")
            found.append(_machine(row, Place(file, table.line_num, 1)))
    except csv.Error as error:
        raise Refused(f"{Place(file, table.line_num, 1)}: no CSV: {error}") from None
    return found


def _machine(row: dict[str, str | None], place: Place) -> _Machine:
    value = {column: (row.get(column) or "").strip() for column in COLUMNS}
    cause = value["end_cause"]
    if cause not in (PREEMPTED, STOPPED):
        raise Refused(f"{place}: end cause {cause[:40]!r} where {PREEMPTED} or {STOPPED} was expected")
    asked = _instant(value["insert_time"], place)
    start = _instant(value["insert_done_time"], place) if value["insert_done_time"] else asked
    end = _instant(value["end_time"], place)
    if end <= start:
        raise Refused(f"{place}: machine {value['vm'][:40]} ends before it starts")
    try:
        stated = float(value["lifetime_seconds"])
    except ValueError:
        raise Refused(f"{place}: lifetime {value['lifetime_seconds'][:40]!r} is no number of seconds") from None
    off = min(abs((end - begin) / 1000 - stated) for begin in (start, asked))
    return _Machine(
        value["vm"], value["zone"], value["machine_type"], start, end, cause == STOPPED, off > LIFETIME_SLACK_S
    )


def _instant(text: str, place: Place) -> int:
    """Milliseconds since the Unix epoch of an ISO 8601 time with an offset."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"{place}: {text[:40]!r} is no time in the form 2019-02-18T08:57:37.265-08:00") from None
    if moment.tzinfo is None:
        raise Refused(f"{place}: the time {text[:40]!r} carries no offset from UTC")
    return round(moment.timestamp() * 1000)

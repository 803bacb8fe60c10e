"""Reads logs of a cluster's membership on spot capacity: nodes added and removed by name, or counts over time.

Called by `simulation.trace_formats`; pure. Each log is one pool in one hall, named after the file. The logs were polled
at irregular times, so a loss is known to the interval between two polls and no better.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from contracts.errors import Place, Refused
from simulation.trace import MOST_NODES, Columns, OutageKind, Trace, TraceNode, build
from simulation.trace_counts import Row, slots

MOST_COUNT: Final = 10_000
"""More nodes than any such log was taken on."""
SOURCE: Final = "Membership of a cluster on spot capacity, published with a study of training on it (2020-2021)."
POLLED: Final = "polled at irregular times: a loss is known to the interval between two polls"
_TAIL_MS: Final = 1000
"""The last line holds for at least a second, so that a loss in it lies inside the record."""


def parse(data: bytes, file: str, *, name: str) -> Trace:
    """The trace of one log; its form is told by its first line.

    Forms: `milliseconds, add|remove, node`, with milliseconds from the start of the log; `seconds, count`, with an old
    and a new count at one instant, of which the last holds; `date, time, count` in UTC, where a line whose time steps
    back replaces what was written for later times. Refused, with file and line: another form, a removal of a node that
    is not there, an addition of one that is, times that step back in the first two forms.
    """
    lines = list(_lines(data, file))
    if not lines:
        raise Refused(f"{Place(file)}: it holds no line")
    place, first = lines[0]
    if len(first) == 3 and first[1] in ("add", "remove"):
        return _named(lines, name)
    if len(first) == 2:
        return _counted(_plain_counts(lines), name, "instants count from the start of the log")
    if len(first) == 3:
        return _counted(_dated_counts(lines), name, "times are taken as UTC; the log names no zone")
    raise Refused(f"{place}: expected 'ms,add|remove,node', 'seconds,count' or 'date, time, count'")


Line = tuple[Place, list[str]]


def _lines(data: bytes, file: str) -> Iterator[Line]:
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Refused(f"{Place(file, line, 1)}: a byte that is no ASCII text") from None
    for number, text_line in enumerate(text.splitlines(), start=1):
        if text_line.strip():
            yield Place(file, number, 1), [field.strip() for field in text_line.split(",")]


def _named(lines: list[Line], name: str) -> Trace:
    index: dict[str, int] = {}
    nodes: list[TraceNode] = []
    away: dict[int, int] = {}
    rows: list[Row] = []
    last = 0
    for place, fields in lines:
        if len(fields) != 3 or fields[1] not in ("add", "remove"):
            raise Refused(f"{place}: expected 'milliseconds,add,node' or 'milliseconds,remove,node'")
        at, node = _whole(fields[0], place), fields[2]
        if at < last:
            raise Refused(f"{place}: the time steps back from {last} to {at} ms")
        last = at
        number = index.get(node)
        if fields[1] == "add":
            if number is None:
                index[node] = len(nodes)
                nodes.append(TraceNode(node, 0, at))
            elif number in away:
                rows.append((number, away.pop(number), at, OutageKind.RECLAIM))
            else:
                raise Refused(f"{place}: node {node[:40]} is added twice")
        elif number is None or number in away:
            raise Refused(f"{place}: node {node[:40]} is removed but is not there")
        else:
            away[number] = at
        if len(nodes) > MOST_NODES:
            raise Refused(f"{place}: more than {MOST_NODES} nodes")
    rows.extend((number, at, None, OutageKind.RECLAIM) for number, at in away.items())
    return _trace(name, (nodes[0].joined_at, last + _TAIL_MS), nodes, rows, "instants count from the start of the log")


def _plain_counts(lines: list[Line]) -> list[tuple[int, int]]:
    steps: list[tuple[int, int]] = []
    for place, fields in lines:
        if len(fields) != 2:
            raise Refused(f"{place}: expected 'seconds,count'")
        at = 1000 * _whole(fields[0], place)
        if steps and at < steps[-1][0]:
            raise Refused(f"{place}: the time steps back from {steps[-1][0]} to {at} ms")
        _put(steps, at, _whole(fields[1], place, most=MOST_COUNT))
    return steps


def _dated_counts(lines: list[Line]) -> list[tuple[int, int]]:
    steps: list[tuple[int, int]] = []
    for place, fields in lines:
        if len(fields) != 3:
            raise Refused(f"{place}: expected 'date, time, count'")
        try:
            moment = datetime.fromisoformat(f"{fields[0]}T{fields[1]}").replace(tzinfo=UTC)
        except ValueError:
            raise Refused(f"{place}: '{fields[0][:20]}, {fields[1][:20]}' is no date and time") from None
        at = 1000 * round(moment.timestamp())
        while steps and steps[-1][0] > at:
            steps.pop()
        _put(steps, at, _whole(fields[2], place, most=MOST_COUNT))
    return steps


def _put(steps: list[tuple[int, int]], at: int, count: int) -> None:
    if steps and steps[-1][0] == at:
        steps.pop()
    steps.append((at, count))


def _counted(steps: list[tuple[int, int]], name: str, clock: str) -> Trace:
    ends_at = steps[-1][0] + _TAIL_MS
    nodes, rows = slots(steps, label=name, pool=0, first_node=0, ends_at=ends_at)
    return _trace(name, (steps[0][0], ends_at), nodes, rows, clock, "counts name no node: the last to come goes first")


def _trace(name: str, span: tuple[int, int], nodes: list[TraceNode], rows: list[Row], *notes: str) -> Trace:
    pools = [(name, name, name)]
    return build(
        name, source=SOURCE, span=span, pools=pools, nodes=nodes, outages=Columns.of(rows), notes=(POLLED, *notes)
    )


def _whole(text: str, place: Place, *, most: int = 2**53) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 16 or int(text) > most:
        raise Refused(f"{place}: {text[:40]!r} is no whole number from 0 to {most}")
    return int(text)

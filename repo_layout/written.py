"""One reviewed file as it was written: keys, items, values and comments in their places, before anybody knows a format.

The formatter calls `written` on text that the strict reader has passed, which is why only a small part of YAML occurs
here: no anchors, tags, directives or second documents. Pure. It must not know kinds of files or how text is laid out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import yaml

from repo_layout.strict_yaml import LOADER

Mark = tuple[int, int]
"""Line and column, both from 0."""


@dataclass(slots=True)
class Node:
    """A value: exactly one of a scalar's text, a mapping's entries and a list's items.

    `plain` is a scalar without quotes, which may be a number, true or false; `flow` a collection in braces or brackets.
    """

    start: Mark
    end: Mark
    text: str | None = None
    plain: bool = False
    flow: bool = False
    entries: list[Entry] | None = None
    items: list[Entry] | None = None

    @property
    def inside(self) -> Sequence[Entry]:
        """Entries or items, whichever it has."""
        return self.entries or self.items or ()


@dataclass(slots=True)
class Entry:
    """A key with its value, or an item of a list (`key` is empty), and the comments that belong to it.

    `before` are whole lines above it, an empty one for each run of empty lines; `tail` ends its own line; `after` are
    whole lines below it that are indented like it.
    """

    start: Mark
    key: str
    value: Node
    holder: Entry | None = None
    before: list[str] = field(default_factory=list)
    tail: str = ""
    after: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Written:
    """A file: what stands above its first key, its root, and what stands below its last line at the margin."""

    head: list[str]
    root: Node
    foot: list[str] = field(default_factory=list)


def written(text: str) -> Written:
    """The tree of a text that the strict reader passed, with every comment in it."""
    builder = _Builder()
    root = builder.read(text)
    result = Written([], root)
    _place_comments(result, _comments(text, builder.scalars), builder.entries)
    return result


class _Builder:
    """Events to nodes; `entries` in the order of the text, outer ones first, and the spans of all scalars."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.scalars: list[tuple[Mark, Mark]] = []

    def read(self, text: str) -> Node:
        events = (e for e in yaml.parse(text, Loader=LOADER) if isinstance(e, yaml.NodeEvent | yaml.CollectionEndEvent))
        return self._node(next(events), events, None)

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], holder: Entry | None) -> Node:
        start, end = _at(event.start_mark), _at(event.end_mark)
        if isinstance(event, yaml.ScalarEvent):
            self.scalars.append((start, end))
            return Node(start, end, text=event.value, plain=not event.style)
        node = Node(start, end, flow=bool(getattr(event, "flow_style", False)))
        into: list[Entry] = []
        if isinstance(event, yaml.MappingStartEvent):
            node.entries = into
        else:
            node.items = into
        while not isinstance(event := next(events), yaml.CollectionEndEvent):
            into.append(self._entry(event, events, holder, of_mapping=node.entries is not None))
        # the end of a block collection is where the next thing begins, so what it holds says where it ends
        node.end = _at(event.end_mark) if node.flow or not into else into[-1].value.end
        return node

    def _entry(
        self, event: yaml.Event, events: Iterator[yaml.Event], holder: Entry | None, *, of_mapping: bool
    ) -> Entry:
        start = _at(event.start_mark)
        entry = Entry(start, "", Node(start, start), holder)
        self.entries.append(entry)
        if of_mapping:
            self.scalars.append((start, _at(event.end_mark)))
            entry.key = str(getattr(event, "value", ""))
            event = next(events)
        entry.value = self._node(event, events, entry)
        return entry


class _Marked(Protocol):
    """A place in the text, of either parser."""

    line: int
    column: int


def _at(mark: _Marked | None) -> Mark:
    return (mark.line, mark.column) if mark is not None else (0, 0)


# ------------------------------------------------------------------------------------------------------------- comments


@dataclass(frozen=True, slots=True)
class _Comment:
    """A comment with its `#`, or an empty line (`text` is empty); `own` when nothing else stands in its line."""

    at: Mark
    text: str
    own: bool


def _comments(text: str, scalars: Sequence[tuple[Mark, Mark]]) -> list[_Comment]:
    """Comments and empty lines, in order: a `#` begins one at the start of a line or behind white space, unless it
    stands inside a scalar.
    """
    lines = text.split("\n")
    spans: list[list[tuple[int, int]]] = [[] for _ in lines]
    for first, end in sorted(scalars):
        for number, start, stop in _lines_of(lines, first, end):
            spans[number].append((start, stop))
    found: list[_Comment] = []
    for number, line in enumerate(lines):
        if not line.strip():
            if not spans[number]:
                found.append(_Comment((number, 0), "", own=True))
        elif (at := _begins(line, spans[number])) is not None:
            dashes = line[:at].strip(" -") == "" and "-" in line[:at]  # an item that begins in the next line
            own = dashes or not line[:at].strip()
            found.append(_Comment((number, 0 if dashes else at), line[at:].rstrip(), own))
    return found


def _lines_of(lines: Sequence[str], first: Mark, end: Mark) -> Iterator[tuple[int, int, int]]:
    """The lines that a scalar takes, each with the columns between which it stands."""
    (top, start), (last, stop) = first, end
    last = min(last, len(lines) - 1)
    if lines[top][start : start + 1] not in ("|", ">"):
        for number in range(top, last + 1):
            yield number, start if number == top else 0, stop if number == last else len(lines[number])
        return
    # the header of a literal or folded text may carry a comment; the text ends where the next thing begins, and the
    # empty lines between are nobody's
    last -= stop == 0
    while last > top and not lines[last].strip():
        last -= 1
    for number in range(top + 1, last + 1):
        yield number, 0, len(lines[number])


def _begins(line: str, spans: Sequence[tuple[int, int]]) -> int | None:
    """Where a line's comment begins."""
    at = 0
    for start, end in (*spans, (len(line), len(line))):
        while 0 <= (at := line.find("#", at)) < start:
            if not at or line[at - 1] in " \t":
                return at
            at += 1
        if at < 0:
            return None
        at = max(at, end)
    return None


def _place_comments(into: Written, comments: Sequence[_Comment], entries: Sequence[Entry]) -> None:
    first = entries[0].start if entries else (1 << 30, 0)
    for comment in comments:
        if comment.own and (comment.at < first or not entries):
            _add(into.head, comment.text)
        elif not comment.own:
            _end_a_line(into, comment, entries)
        else:
            _stand_alone(into, comment, entries)
    while into.head and not into.head[0]:
        del into.head[0]
    for lines in (into.foot, into.head if not entries else []):
        while lines and not lines[-1]:
            del lines[-1]


def _end_a_line(into: Written, comment: _Comment, entries: Sequence[Entry]) -> None:
    """A comment behind something: of the widest entry that ends in its line, else of the last that begins there."""
    before = [entry for entry in entries if entry.start < comment.at]
    line = comment.at[0]
    ending = [
        entry
        for entry in before
        if entry.value.end[0] == line
        and entry.value.end <= comment.at
        and entry.start < entry.value.end
        and (entry.value.flow or (entry.start[0] == line and not entry.value.inside))
    ]
    beginning = [e for e in before if e.start[0] == line]
    owner = ending[0] if ending else beginning[-1] if beginning else before[-1] if before else None
    if owner is None:
        _add(into.head, comment.text)
    elif owner.tail:
        owner.before.append(comment.text)
    else:
        owner.tail = comment.text


def _stand_alone(into: Written, comment: _Comment, entries: Sequence[Entry]) -> None:
    """A whole line: above the next entry, or below the one it is indented like, where a block ends there."""
    line, column = comment.at
    later = next((at for at, entry in enumerate(entries) if entry.start[0] > line), len(entries))
    follows = entries[later] if later < len(entries) else None
    owner: Entry | None = entries[later - 1]
    if owner is not None and owner.value.start[0] > line and (owner.value.flow or owner.value.text is not None):
        _add(owner.before, comment.text)  # between a key and its value: above both
        return
    flow = owner is not None and any(e.value.flow and e.value.end > comment.at for e in _with_holders(owner))
    if not comment.text:
        _add(follows.before if follows is not None else into.foot, "")
        return
    if follows is not None and (flow or column <= _column(follows) or follows.holder is owner):
        _add(follows.before, comment.text)
        return
    if follows is None and not column:
        into.foot.append(comment.text)
        return
    while owner is not None and owner.holder is not None and _column(owner) > column:
        owner = owner.holder
    if owner is not None:
        owner.after.append(comment.text)


def _with_holders(entry: Entry) -> Iterator[Entry]:
    at: Entry | None = entry
    while at is not None:
        yield at
        at = at.holder


def _column(entry: Entry) -> int:
    """Where the entry begins as a reader sees it: an item begins with its dash."""
    return entry.start[1] if entry.key else entry.start[1] - 2


def _add(lines: list[str], text: str) -> None:
    """Another line; a run of empty lines is one."""
    if text or not lines or lines[-1]:
        lines.append(text)

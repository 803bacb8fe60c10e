"""The effects of a change as a comment of a pull request. Pure: a view in, lines out.

Names, reasons and paths come from files that anybody may propose: whatever stands in them, the comment mentions nobody,
refers to no issue, links nowhere, gives no command, keeps its tables and holds no markup of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ebbtide.diff_rows import Row, Section
from ebbtide.diff_story import story, verdict
from ebbtide.diff_view import DiffView
from ebbtide.text import count, printable

LONGEST = 60_000
"""Characters of a comment; code hosts take 65,536 and count them in their own way."""
LONGEST_CELL = 600
_ROOM_FOR_MORE = 300

_BREAK = "&#8203;"
"""A space without width: the reader sees nothing, the code host sees two words."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP = frozenset("\\`*_{}[]|~^$=")
"""What begins or ends something inside a line; what does so at its start only never stands there."""
_REFERENCES = re.compile(r"[@#!~%$&:](?=\S)")
"""People, issues, merge requests, labels, milestones, snippets, epics, emoji and addresses, by their first sign."""


def as_markdown(view: DiffView, *, longest: int = LONGEST) -> list[str]:
    """The verdict as a heading, what was compared, then a table for each section, in so many characters at most."""
    sides = f"From {view.base.shown} to {view.head.shown}, {count(len(view.paths), 'file')}."
    lines = [f"### {plain(verdict(view))}", "", plain(sides)]
    lines += ["", plain(f"{view.note[:1].upper()}{view.note[1:]}.")] if view.note else []
    room = longest - _ROOM_FOR_MORE - _length(lines)
    sections = list(story(view))
    for number, section in enumerate(sections):
        block, left_out = _block(section, room)
        lines += block
        room -= _length(block)
        if left_out:
            more = left_out + sum(len(other.rows) for other in sections[number + 1 :])
            return [*lines, "", f"and {more} more; `ebbtide diff --output json` lists everything"]
    return lines


def plain(text: str) -> str:
    """Foreign text as a comment may carry it: it reads the same and does nothing."""
    text = printable(text).replace(" -> ", " \u2192 ")
    shown = text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 3] + "..."
    return "".join(_inert(shown, at) for at in range(len(shown)))


def _inert(text: str, at: int) -> str:
    char = text[at]
    escaped = _ENTITIES.get(char) or (f"\\{char}" if char in _MARKUP else char)
    if char == "." and text[max(0, at - 3) : at].lower() == "www":
        return f"{_BREAK}."
    return escaped + (_BREAK if _REFERENCES.match(text, at) else "")


def _block(section: Section, room: int) -> tuple[list[str], int]:
    """A section in at most so many characters, and how many of its rows are left out."""
    note = f" {plain(section.note)}" if section.note else ""
    sign = f"{plain(section.sign)} " if section.sign else ""
    lines = ["", f"**{sign}{plain(section.title)}**{note}", "", "| | | | |", "| --- | --- | --- | --- |"]
    room -= _length(lines)
    for number, row in enumerate(section.rows):
        line = _line(row)
        room -= len(line) + 1
        if room < 0:
            return (lines if number else []), len(section.rows) - number
        lines.append(line)
    return lines, 0


def _line(row: Row) -> str:
    cells = (plain(cell) or " " for cell in (row.sign.strip(), row.about, row.value, row.words))
    return f"| {' | '.join(cells)} |"


def _length(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)

"""The effects of a change on a terminal. Pure: a view in, lines out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ebbtide.diff_rows import Row, Section
from ebbtide.diff_story import story, verdict
from ebbtide.diff_view import DiffView
from ebbtide.text import WIDTH, Paint, count, printable, seen_width, wrapped

INDENT = "    "
LEAST_WORDS = 36
"""Columns that running text needs to be read; with fewer left it starts a line of its own."""
WIDEST_CELL = 44


def as_text(view: DiffView, paint: Paint) -> list[str]:
    """The verdict, what was compared, then section by section."""
    told = verdict(view)
    colour = paint.good if view.code == 0 else paint.bad
    files = f"{count(len(view.paths), 'file')}; {view.seconds:.2f} s"
    lines = [paint.bold(colour(printable(told)))]
    sides = f"{view.base.shown} -> {view.head.shown} of {view.where}, {files}"
    lines.append(f"  {paint.dim(printable(sides))}")
    lines += wrapped(printable(view.note), indent="  ")
    for section in story(view):
        lines += ["", *_section(section, paint)]
    return lines


def _section(section: Section, paint: Paint) -> Iterator[str]:
    note = f"  {paint.dim(printable(section.note))}" if section.note else ""
    sign = _sign(section.sign, paint) + " " if section.sign else ""
    yield f"{sign}{paint.bold(printable(section.title))}{note}"
    about = min(WIDEST_CELL, max((len(printable(row.about)) for row in section.rows), default=0))
    value = min(WIDEST_CELL, max((len(printable(row.value)) for row in section.rows), default=0))
    for row in section.rows:
        yield from _row(row, about, value, paint)


def _row(row: Row, about: int, value: int, paint: Paint) -> Iterator[str]:
    """One line where it fits; else the words go on below, under themselves or further left."""
    cells = [f"  {_sign(row.sign, paint)}"]
    cells += [printable(text).ljust(room) for text, room in ((row.about, about), (row.value, value)) if room]
    start = "  ".join(cells)
    words = printable(row.words)
    room = WIDTH - seen_width(start) - 2
    if not words:
        yield start.rstrip()
    elif len(words) <= room:
        yield f"{start}  {words}"
    elif room >= LEAST_WORDS:
        first, *rest = wrapped(words, indent=" " * (seen_width(start) + 2))
        yield f"{start}  {first.strip()}"
        yield from rest
    else:
        yield start.rstrip()
        yield from wrapped(words, indent=INDENT * 2)


def _sign(sign: str, paint: Paint) -> str:
    colours: Mapping[str, Callable[[str], str]] = {"+": paint.good, "-": paint.bad, "!": paint.warn}
    return colours.get(sign, str)(sign or " ")

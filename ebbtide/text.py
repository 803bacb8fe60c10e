"""Words and columns for people: the one way in which commands write times, money, shares and tables.

Pure: values in, text out. Colour is a value too (`Paint`), so that what a test reads is what a person reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ledger.money import rounded

WIDTH = 100
"""Columns of a screen: what a terminal beside another window shows, and a mail does not wrap."""

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours when they are on, plain text when they are not."""

    on: bool = False

    def bold(self, text: str) -> str:
        """What the eye should find first."""
        return self._in("1", text)

    def dim(self, text: str) -> str:
        """What explains the rest."""
        return self._in("2", text)

    def good(self, text: str) -> str:
        """A promise kept, a thing added."""
        return self._in("32", text)

    def bad(self, text: str) -> str:
        """A promise broken, a thing taken."""
        return self._in("31", text)

    def warn(self, text: str) -> str:
        """What is worth a look."""
        return self._in("33", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text


def seen_width(text: str) -> int:
    """Columns that a text takes on the screen."""
    return len(_STYLE.sub("", text))


def columns(rows: Sequence[Sequence[str]], align: str, *, gap: int = 2, indent: str = "") -> list[str]:
    """Rows as lines with aligned columns: `<` left, `>` right, one sign a column."""
    widths = [max((seen_width(row[i]) for row in rows if i < len(row)), default=0) for i in range(len(align))]
    lines = []
    for row in rows:
        cells = []
        for i, cell in enumerate(row):
            room = " " * (widths[i] - seen_width(cell))
            cells.append(room + cell if align[i] == ">" else cell + room)
        lines.append((indent + (" " * gap).join(cells)).rstrip())
    return lines


def clock(at: int, *, millis: bool = False) -> str:
    """The UTC time of day of an instant."""
    moment = datetime.fromtimestamp(at / 1000, tz=UTC)
    return moment.strftime("%H:%M:%S") + (f".{at % 1000:03d}" if millis else "")


def date_clock(at: int) -> str:
    """The UTC date and time of an instant."""
    return datetime.fromtimestamp(at / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")


def day_clock(at: int, day: int) -> str:
    """The UTC time, with its date when it lies on another day than `day`."""
    same = at // 86_400_000 == day // 86_400_000
    return clock(at) if same else date_clock(at)


def span(ms: int) -> str:
    """A length of time in its two largest units, tenths of a second below a minute."""
    if ms < 0:
        return "-" + span(-ms)
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    if seconds < 3_600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    minutes = round(seconds / 60)
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = round(minutes / 60)
    return f"{hours // 24} d {hours % 24} h"


def euros(ticks: int, currency: str, *, places: int = 2) -> str:
    """Ticks as money with thousands set apart."""
    return f"{rounded(ticks, places=places):,} {currency}"


def share(part: int, whole: int, *, places: int = 1) -> str:
    """A part of a whole as a percentage; a dash when there is no whole."""
    return f"{100 * part / whole:.{places}f} %" if whole else "-"


def ppm(value: int | None, *, places: int = 1) -> str:
    """Millionths as a percentage; a dash where there is none."""
    return "-" if value is None else f"{value / 10_000:.{places}f} %"


def printable(text: str) -> str:
    """Foreign text as it may stand on a terminal: what would move the cursor or turn the line around is spelt out."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Iterable[str], *, most: int = 4) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    rest = len(every) - most
    return ", ".join(every[:most]) + (f" and {rest} more" if rest > 0 else "")


def words(name: str) -> str:
    """An enum's value as words."""
    return name.replace("_", " ")


def wrapped(text: str, *, indent: str, width: int = WIDTH) -> list[str]:
    """Running text in lines of at most `width`, each behind `indent`."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and len(indent) + len(line) + 1 + len(word) > width:
            lines.append(indent + line)
            line = word
        else:
            line = f"{line} {word}".lstrip()
    return [*lines, indent + line] if line else lines

"""What a command writes to: results on stdout, progress and errors on stderr, colour only where a person reads it.

Commands get a `Terminal` and decide nothing about streams themselves. `NO_COLOR` and `TERM=dumb` are honoured.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TextIO

from ebbtide.text import Paint


class Bars(Protocol):
    """Progress of one or more things side by side."""

    def show(self, number: int, share: float, note: str = "") -> None:
        """Thing `number` is `share` (0 to 1) done."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """Streams and what they can show. `progress` asks for it where nobody seems to look."""

    out: TextIO
    err: TextIO
    paint: Paint
    as_json: bool = False
    progress: bool = False

    @classmethod
    def of(cls, environment: Mapping[str, str], *, as_json: bool = False, progress: bool = False) -> Terminal:
        """The process's own streams."""
        plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
        return cls(sys.stdout, sys.stderr, Paint(sys.stdout.isatty() and not plain), as_json, progress)

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines of text."""
        for line in lines:
            self.out.write(f"{line}\n")
        self.out.flush()

    def document(self, document: object) -> None:
        """Write one JSON document."""
        unicode = (self.out.encoding or "").lower().replace("-", "") == "utf8"
        self.out.write(json.dumps(document, indent=2, ensure_ascii=not unicode) + "\n")
        self.out.flush()

    @property
    def watched(self) -> bool:
        """Whether a person looks, or asked to be told."""
        return self.progress or self.err.isatty()

    def say(self, text: str) -> None:
        """One line about what goes on, where a person looks or asked for it."""
        if self.watched:
            self.err.write(f"{text}\n")
            self.err.flush()

    @contextlib.contextmanager
    def bars(self, titles: Sequence[str]) -> Iterator[Bars]:
        """Progress on stderr: live on a terminal, a line a tenth with --progress elsewhere, silence otherwise."""
        if self.err.isatty() and os.environ.get("TERM") != "dumb":
            with _live(titles, self.err) as live:
                yield live
        elif self.progress:
            yield _Told(titles, self.err)
        else:
            yield _Silent()


class _Silent:
    def show(self, number: int, share: float, note: str = "") -> None:
        """Nobody looks."""


class _Told:
    """A line whenever another tenth is done."""

    def __init__(self, titles: Sequence[str], err: TextIO) -> None:
        self._titles = titles
        self._err = err
        self._tenths = [-1] * len(titles)

    def show(self, number: int, share: float, note: str = "") -> None:
        """Write the line when it is due."""
        tenth = int(share * 10)
        if tenth > self._tenths[number]:
            self._tenths[number] = tenth
            self._err.write(f"{self._titles[number]}: {tenth * 10} %{'  ' + note if note else ''}\n")
            self._err.flush()


class _Live:
    def __init__(self, show: object, tasks: Sequence[object]) -> None:
        self._progress = show
        self._tasks = tasks

    def show(self, number: int, share: float, note: str = "") -> None:
        """Move the bar."""
        self._progress.update(self._tasks[number], completed=share, note=note)  # type: ignore[attr-defined]  # rich is loaded only where bars are drawn


@contextlib.contextmanager
def _live(titles: Sequence[str], err: TextIO) -> Iterator[Bars]:
    from rich.console import Console  # noqa: PLC0415 - slow to load, and needed only where bars are drawn
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - the same

    console = Console(file=err, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Live(progress, [progress.add_task(title, total=1.0, note="") for title in titles])

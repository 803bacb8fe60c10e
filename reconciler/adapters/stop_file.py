"""The local stop: one file that a person writes and the guard reads before each action, and a journal of all orders.

It works without Git, Kafka, ClickHouse or a network, also while no reconciler runs, and survives restarts. The file's
text is the reason; a file that is there and cannot be read stops as well. The acceptance of a listing stands in a
second file beside it, as a time. Every order is a line of a third (`orders`), which the reconciler tells the ledger
once.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contracts.errors import Refused
from reconciler.breakers import Order

LONGEST_REASON = 500
"""Characters of a reason that are shown."""

LONGEST_JOURNAL = 4 * 2**20
"""Bytes of orders that are read: twenty thousand of them, more than people give in a machine's life."""


class StopFile:
    """`reconciler.ports.StopSwitch` over a path; the path is read each time, nothing is remembered."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def reason(self) -> str:
        """Why everything is stopped; empty when it is not."""
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"{self.path} cannot be read: {error.strerror}"
        return text[:LONGEST_REASON] or f"{self.path} is there and gives no reason"

    def stop(self, reason: str, who: str) -> None:
        """Stop everything until `resume`; durable once it returns. `who` is an id of the directory."""
        if not reason.strip() or not who.strip():
            raise Refused("a stop needs a reason and the id of who asks for it")
        now = time.time()
        reason = " ".join(reason.split())[:LONGEST_REASON]
        try:
            _write(self.path, f"{reason} ({who.strip()}, {_stamp(now)})\n")
        except OSError:  # a full disk may still have room for a name, and an empty file stops as well
            self.path.touch()
            return
        self._note(now, who, "stop", reason)

    def resume(self, who: str, reason: str = "") -> bool:
        """Take the stop away; False when there was none. The order stands in the journal before the stop is gone."""
        if not who.strip():
            raise Refused("a resumption needs the id of who asks for it")
        if not os.path.lexists(self.path):
            return False
        self._note(time.time(), who, "resume", reason)
        self.path.unlink(missing_ok=True)
        _sync_folder(self.path.parent)
        return True

    @property
    def acceptance(self) -> Path:
        """Where an accepted listing is written down."""
        return self.path.with_name(self.path.name + ".accepted-listing")

    @property
    def journal(self) -> Path:
        """Where every order is written down."""
        return self.path.with_name(self.path.name + ".orders")

    def accepted_at(self) -> int:
        """The time (ms since the epoch) up to which a person accepted what a listing lacks; 0 when none was."""
        try:
            text = self.acceptance.read_text(encoding="ascii").split()
        except (OSError, UnicodeDecodeError):
            return 0
        return int(text[0]) if text and text[0].isdecimal() else 0

    def accept_listing(self, at: int, who: str, reason: str = "") -> None:
        """Accept that what the listing at `at` (ms) lacks is gone; later absences are not covered."""
        if at <= 0 or not who.strip():
            raise Refused("an acceptance needs the time of the listing and the id of who accepts it")
        _write(self.acceptance, f"{at} {who.strip()}\n")
        self._note(time.time(), who, "accept-listing", reason, until=at)

    def orders(self, after: int = 0) -> tuple[Order, ...]:
        """The orders behind the `after`th, oldest first; a line that is no order is counted and passed over."""
        try:
            with self.journal.open("rb") as file:
                lines = file.read(LONGEST_JOURNAL).splitlines()
        except FileNotFoundError:
            return ()
        found = (_order(number, line) for number, line in enumerate(lines, start=1) if number > after)
        return tuple(order for order in found if order is not None)

    def _note(self, now: float, who: str, what: str, reason: str, *, until: int = 0) -> None:
        """Add one line, durable on return."""
        text = " ".join(reason.split())[:LONGEST_REASON]
        line = json.dumps({"at": int(now * 1000), "who": who.strip(), "what": what, "reason": text, "until": until})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(self.journal) as handle:
            size = os.lseek(handle, 0, os.SEEK_END)
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            os.write(handle, (b"\n" if torn else b"") + line.encode() + b"\n")
            os.fsync(handle)
        _sync_folder(self.path.parent)


@contextmanager
def _alone(path: Path) -> Iterator[int]:
    """The file, open for appending, with nobody else writing it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def _order(number: int, line: bytes) -> Order | None:
    try:
        said = json.loads(line)
        at, who, what, reason, until = (said[name] for name in ("at", "who", "what", "reason", "until"))
    except (ValueError, KeyError, TypeError):
        return None
    whole = type(at) is int and type(until) is int and min(at, until) >= 0
    text = isinstance(who, str) and isinstance(reason, str)
    if not (whole and text and what in ("stop", "resume", "accept-listing")):
        return None
    return Order(number, at, who, what, reason, until)


def _write(path: Path, text: str) -> None:
    """Replace the file in one step that outlives a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))

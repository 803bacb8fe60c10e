"""The local stop: one file that a person writes and the guard reads before each action.

It works without Git, Kafka or a network and survives restarts. The file's text is the reason; a file that is there and
cannot be read stops as well. The acceptance of a listing stands in a second file beside it, as a time.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from contracts.errors import Refused

LONGEST_REASON = 500
"""Characters of a reason that are shown."""


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
        _write(self.path, f"{reason.strip()} ({who.strip()}, {_stamp(time.time())})\n")

    def resume(self) -> bool:
        """Take the stop away; False when there was none."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        _sync_folder(self.path.parent)
        return True

    @property
    def acceptance(self) -> Path:
        """Where an accepted listing is written down."""
        return self.path.with_name(self.path.name + ".accepted-listing")

    def accepted_at(self) -> int:
        """The time (ms since the epoch) up to which a person accepted what a listing lacks; 0 when none was."""
        try:
            text = self.acceptance.read_text(encoding="ascii").split()
        except (OSError, UnicodeDecodeError):
            return 0
        return int(text[0]) if text and text[0].isdecimal() else 0

    def accept_listing(self, at: int, who: str) -> None:
        """Accept that what the listing at `at` (ms) lacks is gone; later absences are not covered."""
        if at <= 0 or not who.strip():
            raise Refused("an acceptance needs the time of the listing and the id of who accepts it")
        _write(self.acceptance, f"{at} {who.strip()}\n")


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

"""The journal as one file, replaced in one step that outlives a power cut, held by one process at a time.

Plays `reconciler.ports.Journal`. The folder's lock refuses a second process: two reconcilers on one state directory
would each go on from the other's memory. What the content means is not its business.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import Self, SupportsBytes

from contracts.errors import Refused, Transient
from repo_layout.adapters.durable import replace_file

NAME, LOCK, DRAFT = "journal", "journal.lock", "journal.new"
"""What stands in the folder; a draft without a journal is a first write that was never done."""

LARGEST = 1 << 30
"""Bytes that are read at most: a million instances are a quarter of it."""


class JournalFile:
    """One process's hold on the journal in a folder; use it as a context manager, or `close` it.

    Raises `Refused` on construction when another process holds the folder, or when it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._lock = _locked(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder; closing twice is allowed."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def load(self) -> bytes | None:
        """As the seam promises; a file that cannot be read is `Refused`, and never the same as none."""
        try:
            with self.path.open("rb") as file:
                content = file.read(LARGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Refused(f"{self.path} cannot be read ({error.strerror}); see docs/state.md") from error
        if len(content) > LARGEST:
            raise Refused(f"{self.path} has over {LARGEST} bytes and is no journal of ours; see docs/state.md")
        return content

    def save(self, content: SupportsBytes) -> None:
        """As the seam promises: `Transient` where there is no room, `Refused` where the folder cannot be written."""
        if self._lock < 0:
            raise Refused(f"{self.path} is closed")
        written = bytes(content)
        try:
            replace_file(self.path, written)
        except OSError as error:
            with contextlib.suppress(OSError):  # a draft that found no room takes some itself
                self.path.with_name(DRAFT).unlink(missing_ok=True)
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise Refused(f"{self.path} cannot be written: {error.strerror}") from error
            raise Transient(f"{self.path} was not written: {error.strerror}") from error


def _locked(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Refused(f"{folder} cannot hold a journal: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise Refused(f"another process holds the state directory {folder}; one reconciler runs on it") from None
    return descriptor

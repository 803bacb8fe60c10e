"""What was accepted, in one file: durable before anything acts on it, and only ever growing.

Reconciler and command keep it; a node keeps its own (`agent`). A file that is there and cannot be read is an error and
never "nothing was accepted yet": to begin anew, a person moves it away.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from contracts.errors import Refused
from contracts.key_set import KeySet
from contracts.verify import NOTHING, Accepted, Verified, read_accepted, write_accepted
from repo_layout.adapters.durable import replace_file


class AcceptedFile:
    """One file, for several processes at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Accepted:
        """What was accepted so far; nothing where the file is not there. Raises `Refused` for a damaged one."""
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return NOTHING
        try:
            return read_accepted(raw)
        except ValueError as error:
            raise Refused(
                f"{self.path} is damaged: {error}; bring it back from a copy, or move it away and accept that an older"
                " bundle could be taken once"
            ) from None

    def accept(self, verified: Verified, keys: KeySet | None = None) -> Accepted:
        """Add one that was verified, durably, and return the whole.

        Raises `Untrusted` where another process accepted a newer one meanwhile.
        """
        return self.accept_all((verified,), keys)

    def accept_all(self, verified: Iterable[Verified], keys: KeySet | None = None) -> Accepted:
        """The same for several at once: all of them, or none."""
        with self._alone():
            before = self.read()
            after = before.having_all(verified, keys)
            if after != before:
                replace_file(self.path, write_accepted(after))
            return after

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock beside the file, which itself is replaced."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

"""A store in a directory that the processes of one machine share: one file a value, one lock for all writers.

A file holds its revision, the digest of its value and the value. One that is there and cannot be read so is damaged and
never absent; to begin anew, a person removes it. A reader takes no lock, because a file is replaced in one step.
Not for a network file system: its locks and its renames do not promise what those of one machine do.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from contracts.errors import Refused, Transient
from pools.provider import Conflict
from reconciler.ports import LARGEST_VALUE, Versioned
from repo_layout.adapters.durable import replace_file

LONGEST_NAME = 200
"""Characters of a file's name: a file system takes 255, and `.new` and `.lock` come behind."""

PATIENCE_S = 2.0
"""How long a writer waits for the others; each holds the lock for two flushes of a disk."""

MAGIC = b"ebbtide-value-1"


class FileStore:
    """`reconciler.ports.Store` over a directory, which is made if need be and must not vanish later."""

    def __init__(self, directory: Path, *, patience_s: float = PATIENCE_S) -> None:
        self.directory, self._patience_s = directory, patience_s
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def get(self, key: str) -> Versioned | None:
        """As the seam promises."""
        path = self._path(key)
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            if self.directory.is_dir():
                return None
            raise Transient(f"the store {self.directory} is not there") from None
        except OSError as error:
            raise Transient(f"{path} cannot be read: {error.strerror}") from error
        return _read(raw, path)

    def put(self, key: str, value: bytes, *, expected: str) -> str:
        """As the seam promises; durable before it returns."""
        if len(value) > LARGEST_VALUE:
            raise Refused(f"{key}: {len(value)} bytes, a store takes {LARGEST_VALUE}")
        path = self._path(key)
        with self._alone():
            found = self.get(key)
            if (found.revision if found else "") != expected:
                raise Conflict(f"{key} was replaced meanwhile")
            # random, so that it never comes again, also after the file was removed or brought back from a copy
            revision = secrets.token_hex(16)
            try:
                replace_file(path, _written(value, revision))
            except OSError as error:
                raise Transient(f"{path} cannot be written: {error.strerror}") from error
        return revision

    def _path(self, key: str) -> Path:
        name = quote(key, safe="").replace(".", "%2E")
        if not 0 < len(name) <= LONGEST_NAME:
            raise Refused(f"{key[:60]!r} is no key for a file of at most {LONGEST_NAME} characters")
        return self.directory / name

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of all writers; silence where another holds it for longer than anybody should."""
        try:
            handle = os.open(self.directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Transient(f"the store {self.directory} cannot be locked: {error.strerror}") from error
        try:
            until = time.monotonic() + self._patience_s
            while not _locked(handle):
                if time.monotonic() >= until:
                    raise Transient(f"another process holds the lock of {self.directory}")
                time.sleep(0.005)
            yield
        finally:
            os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _written(value: bytes, revision: str) -> bytes:
    return b"%s %s %s\n%s" % (MAGIC, revision.encode(), hashlib.sha256(value).hexdigest().encode(), value)


def _read(raw: bytes, path: Path) -> Versioned:
    head, _, value = raw.partition(b"\n")
    words = head.split(b" ")
    if len(words) == 3 and words[1].isalnum() and raw == _written(value, words[1].decode("ascii", "replace")):
        return Versioned(value, words[1].decode("ascii"))
    raise Refused(
        f"{path} is damaged: bring it back from a copy, or stop every process that uses it and then move it away"
    )

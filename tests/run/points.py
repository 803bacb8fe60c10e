"""Where a process is: each flush, rename, append and call of a reconciler as a named point, and death at one of them.

Installed in a child before it runs the command. What the product calls stays what it is; the point is noted in memory
that the parent shares, so that the parent knows where the child was when it died, and the child ends itself with the
same signal where it was told to.
"""

from __future__ import annotations

import mmap
import os
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path

ACTS = ("create", "delete", "ask_return", "remove_node")
STAGES = (
    "starting",
    "observing",
    "resting",
    "journal written, not flushed",
    "journal flushed, not renamed",
    "journal renamed, folder not flushed",
    "journal in place",
    "spool half appended",
    "spool appended, not flushed",
    "spool flushed",
    "lease written",
    *(f"{act} {when}" for act in ACTS for when in ("not sent", "sent, not answered", "answered")),
)
NUMBERS = {stage: number for number, stage in enumerate(STAGES)}
_CALL = re.compile(rb'"call":"(\w+)"')


class Points:
    """The page that parent and child share: where the child is, how often it was at each stage, and where it dies."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, 4096)

    def reset(self) -> None:
        """Forget the last child."""
        self._page[:] = bytes(4096)

    @property
    def stage(self) -> str:
        """Where the child is, or was last."""
        return STAGES[self._page[0]]

    def count(self, stage: str) -> int:
        """How often the child was there, at most 255."""
        return self._page[1 + NUMBERS[stage]]

    def reached(self, stage: str, *, dies: Callable[[str, int], bool]) -> None:
        """The child is there now."""
        number = NUMBERS[stage]
        self._page[0] = number
        times = self._page[1 + number] = min(255, self._page[1 + number] + 1)
        if dies(stage, times):
            os.kill(os.getpid(), signal.SIGKILL)


def install(points: Points, dies: Callable[[str, int], bool]) -> None:
    """From now on this process notes its points."""

    def reached(stage: str) -> None:
        points.reached(stage, dies=dies)

    _watch_files(reached)
    _watch_spool(reached)
    _watch_calls(reached)


def _what(descriptor: int) -> str:
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        return ""


def _watch_files(reached: Callable[[str], None]) -> None:
    fsync, replace = os.fsync, os.replace
    renamed = [False]

    def watched_fsync(descriptor: int) -> None:
        journal = _what(descriptor).endswith("/journal.new")
        if journal:
            reached("journal written, not flushed")
        fsync(descriptor)
        if journal:
            reached("journal flushed, not renamed")
        elif renamed[0]:
            renamed[0] = False
            reached("journal in place")

    def watched_replace(source: str, target: str) -> None:
        replace(source, target)
        if str(target).endswith("/journal"):
            renamed[0] = True
            reached("journal renamed, folder not flushed")
        elif "/store/" in str(target):
            reached("lease written")

    for name, watched in {"fsync": watched_fsync, "replace": watched_replace}.items():
        setattr(os, name, watched)  # only in a child that is to die


def _watch_spool(reached: Callable[[str], None]) -> None:
    fdatasync, write = os.fdatasync, os.write

    def watched_fdatasync(descriptor: int) -> None:
        spool = _what(descriptor).endswith(".seg")
        if spool:
            reached("spool appended, not flushed")
        fdatasync(descriptor)
        if spool:
            reached("spool flushed")

    def watched_write(descriptor: int, data: memoryview) -> int:
        if len(data) > 1 and _what(descriptor).endswith(".seg"):
            done = write(descriptor, data[: len(data) // 2])  # a short write, as a kernel may make one
            reached("spool half appended")
            return done
        return write(descriptor, data)

    for name, watched in {"fdatasync": watched_fdatasync, "write": watched_write}.items():
        setattr(os, name, watched)


def _watch_calls(reached: Callable[[str], None]) -> None:
    sendall, recv = socket.socket.sendall, socket.socket.recv
    asked = [""]

    def watched_sendall(self: socket.socket, data: bytes) -> None:
        found = _CALL.search(data)
        name = asked[0] = found[1].decode() if found else ""
        if name in ACTS:
            reached(f"{name} not sent")
        else:
            reached("resting" if name == "wait" else "starting" if name == "hello" else "observing")
        sendall(self, data)
        if name in ACTS:
            reached(f"{name} sent, not answered")

    def watched_recv(self: socket.socket, limit: int) -> bytes:
        said = recv(self, limit)
        if asked[0] in ACTS:
            reached(f"{asked[0]} answered")
        return said

    for name, watched in {"sendall": watched_sendall, "recv": watched_recv}.items():
        setattr(socket.socket, name, watched)

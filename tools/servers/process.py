"""Starts one real server on this machine, waits until it answers, keeps its log, and ends it by its own pid.

Every other module of the launcher starts its servers with `start`. What does not get ready, or dies, is reported with
the end of its log. It must not know what any server is.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

POLL_S = 0.02
LOG_TAIL = 4000
"""Characters of a log that an error shows."""
# Below the range from which this system draws the ports of outgoing connections, so that none takes one in between.
PORTS = range(20_000, 32_000)


class NotReadyError(RuntimeError):
    """A server that ended early or did not answer in time; the text holds the end of its log."""


@dataclass(slots=True)
class Server:
    """One running server; `stop` it, or use it as a context."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    patience_s: float = 10.0
    _frozen: bool = field(default=False, repr=False)

    @property
    def pid(self) -> int:
        """Of the server itself: nothing stands between it and us."""
        return self.process.pid

    def alive(self) -> bool:
        """Whether the process runs (stopped by a signal counts)."""
        return self.process.poll() is None

    def tail(self) -> str:
        """The end of what it wrote."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:]

    def freeze(self) -> None:
        """SIGSTOP: connections are taken and nothing answers."""
        self.process.send_signal(signal.SIGSTOP)
        self._frozen = True

    def thaw(self) -> None:
        """SIGCONT."""
        self.process.send_signal(signal.SIGCONT)
        self._frozen = False

    def kill(self) -> None:
        """SIGKILL, and wait until the pid is gone."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Ask it to end, wait, and kill it when it takes longer than `patience_s`; again is nothing."""
        if not self.alive():
            return
        if self._frozen:
            self.thaw()
        self.process.terminate()
        try:
            self.process.wait(self.patience_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    name: str,
    command: Sequence[str | Path],
    *,
    log: Path,
    ready: Callable[[], bool],
    within_s: float = 30.0,
    environment: Mapping[str, str] | None = None,
) -> Server:
    """Run `command` and return once `ready()` is true; it may raise `OSError` meanwhile, which counts as not yet.

    The environment is ours with `environment` on top. Raises `NotReadyError` when the process ends first or `within_s`
    passes; nothing of it is left then but its log. A server dies with the thread that started it where the system can
    arrange that, so that a killed test run leaves nothing behind.
    """
    leash = ("setpriv", "--pdeathsig", "TERM", "--") if shutil.which("setpriv") else ()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as written:
        process = subprocess.Popen(
            [*leash, *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
    server = Server(name, process, log)
    with contextlib.ExitStack() as undo:
        undo.callback(server.stop)
        if not wait_until(lambda: ready() or not server.alive(), within_s=within_s):
            raise NotReadyError(f"{name} did not answer within {within_s:g} s; its log ends:\n{server.tail()}")
        if not server.alive():
            raise NotReadyError(f"{name} ended with {process.returncode}; its log ends:\n{server.tail()}")
        undo.pop_all()
    return server


def wait_until(true: Callable[[], bool], *, within_s: float, every_s: float = POLL_S) -> bool:
    """Whether `true()` came true in time; an `OSError` that it raises counts as not yet."""
    end = time.monotonic() + within_s
    while True:
        with contextlib.suppress(OSError):
            if true():
                return True
        if time.monotonic() >= end:
            return False
        time.sleep(every_s)


def free_ports(count: int) -> list[int]:
    """So many different loopback ports that nobody listens on now; take them at once, nothing holds them for you."""
    found: list[int] = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        if len(found) == count:
            break
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
    return found


def listens(port: int) -> bool:
    """Whether somebody takes connections on this loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0

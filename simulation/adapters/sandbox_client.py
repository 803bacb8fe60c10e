"""The reconciler's ports over a sandbox's socket: provider, schedulers, nodes, clocks, and a wait that news cut short.

One link is one connection, opened when it is needed and again after it was lost. What cannot be sent, or is not
answered in time or in this version's words, is `Transient`: it may have taken effect.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import time
from pathlib import Path
from typing import TypeVar

from contracts.errors import Refused, Transient
from pools.provider import (
    CreateRequest,
    ForwardCapacities,
    Listing,
    Mark,
    Quota,
    RateCard,
    Server,
    Signals,
    VictimHint,
)
from reconciler.ports import SchedulerView
from simulation.adapters.monotonic import monotonic_ms
from simulation.sandbox_protocol import (
    HINTS_IN_A_CALL,
    LONGEST_ANSWER,
    VERSION,
    Garbled,
    Hello,
    read_answer,
    write_call,
)

CALL_S = 10.0
"""The longest that an answer is waited for."""

LOOK_ROUND_S = 0.5

Answer = TypeVar("Answer")


class SandboxLink:
    """One client's connection. `greeting` is what the server said of itself the last time it was reached."""

    def __init__(self, path: Path, *, client: str) -> None:
        self._path, self._client = path, client
        self._socket: socket.socket | None = None
        self._heard = bytearray()
        self._count = 0
        self.greeting: Hello | None = None
        self._last_now = 0

    def open(self) -> Hello:
        """Connect, if need be, and greet. Raises `Refused` where the socket is not ours alone or speaks otherwise."""
        if self._socket is None or self.greeting is None:
            self._connect()
            try:
                self.greeting = self._exchange("hello", (VERSION, self._client), Hello)
            except BaseException:
                self.close()
                raise
        return self.greeting

    def introduce(self, client: str) -> None:
        """From now on the server's account knows this client by that name."""
        self._client = client
        self.close()

    def close(self) -> None:
        """Let the connection go; the next call opens another."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._heard.clear()

    def ask(self, name: str, answers: type[Answer], *values: object) -> Answer:
        """One call and its answer; the error that it tells is raised."""
        self.open()
        return self._exchange(name, values, answers)

    def tell(self, name: str, *values: object) -> None:
        """One call that answers nothing."""
        self.ask(name, type(None), *values)

    def now(self) -> int:
        """The sandbox's time; while it does not answer, the last that is known."""
        greeting = self.greeting
        if greeting is not None and greeting.speed:
            return greeting.origin + int((monotonic_ms() - greeting.origin_monotonic) * greeting.speed)
        if greeting is None or not greeting.lockstep:  # where waiting alone moves time, the last answer told it
            with contextlib.suppress(Transient):
                self._last_now = self.ask("clock", int)
        return self._last_now

    def wait(self, milliseconds: int) -> bool:
        """Let so much of the sandbox's time pass, or some of it; True when something wants an answer.

        It ends early for news, and after half a second of real time at the latest, so that the caller can look round.
        While nobody serves, that half second is all that passes.
        """
        try:
            return self.ask("wait", bool, self.now() + milliseconds)
        except Transient:
            time.sleep(LOOK_ROUND_S)
            return False

    def _connect(self) -> None:
        try:
            found = self._path.stat()
            if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
                raise Refused(f"{self._path} is no socket of ours alone (mode 0600)")
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(CALL_S)
            connection.connect(str(self._path))
        except OSError as error:
            raise Transient(f"nobody serves {self._path}: {error.strerror or error}") from error
        self._socket = connection

    def _exchange(self, name: str, values: tuple[object, ...], answers: type[Answer]) -> Answer:
        self._count += 1
        line = write_call(self._count, name, values)
        try:
            said = self._said(line)
        except OSError as error:
            raise Transient(f"{name}: the connection was lost, and it may have taken effect: {error}") from error
        try:
            answer = read_answer(said, self._count, name)
        except Garbled as error:
            self.close()
            raise Transient(f"{name} was answered in words that are not of version {VERSION}: {error}") from error
        self._last_now = answer.now
        if answer.error is not None:
            raise answer.error
        if not isinstance(answer.value, answers):
            raise Transient(f"{name} was answered with {type(answer.value).__name__}")
        return answer.value

    def _said(self, line: bytes) -> bytes:
        """The line that comes back. Whatever interrupts it ends the connection: a late answer belongs to no call."""
        if self._socket is None:
            raise ConnectionError("there is no connection")
        whole = False
        try:
            self._socket.sendall(line)
            while (end := self._heard.find(b"\n")) < 0:
                more = self._socket.recv(1 << 20)
                if not more:
                    raise ConnectionError("it ended before its answer")
                self._heard += more
                if len(self._heard) > LONGEST_ANSWER:
                    raise ConnectionError(f"its answer is longer than {LONGEST_ANSWER:,} bytes")
            said = bytes(self._heard[:end])
            del self._heard[: end + 1]
            whole = True
            return said
        finally:
            if not whole:
                self.close()


class SandboxProvider:
    """`pools.provider.Provider` over a link."""

    def __init__(self, link: SandboxLink) -> None:
        self._link = link

    def signals(self, cursor: str) -> Signals:
        """As the seam promises."""
        return self._link.ask("signals", Signals, cursor)

    def rates(self) -> RateCard:
        """As the seam promises."""
        return self._link.ask("rates", RateCard)

    def forward_capacity(self) -> ForwardCapacities:
        """As the seam promises."""
        return self._link.ask("forward_capacity", ForwardCapacities)

    def instances(self) -> Listing:
        """As the seam promises."""
        return self._link.ask("instances", Listing)

    def create(self, request: CreateRequest) -> Server:
        """As the seam promises."""
        return self._link.ask("create", Server, request)

    def delete(self, server: str, *, expected: Mark) -> None:
        """As the seam promises."""
        self._link.tell("delete", server, expected)

    def quota(self) -> Quota:
        """As the seam promises."""
        return self._link.ask("quota", Quota)

    def mark(self, server: str, mark: Mark | None) -> None:
        """As the seam promises."""
        self._link.tell("mark", server, mark)

    def publish_hints(self, hints: tuple[VictimHint, ...]) -> None:
        """As the seam promises, in parts of a size that a call may have."""
        for first in range(0, len(hints), HINTS_IN_A_CALL):
            self._link.tell("publish_hints", hints[first : first + HINTS_IN_A_CALL])


class SandboxSite:
    """`reconciler.ports.Schedulers` and `Nodes` over a link."""

    def __init__(self, link: SandboxLink) -> None:
        self._link = link

    def view(self) -> SchedulerView:
        """As the seam promises."""
        return self._link.ask("view", SchedulerView)

    def remove_node(self, name: str) -> None:
        """As the seam promises."""
        self._link.tell("remove_node", name)

    def ask_return(self, name: str, *, ends_at: int, cause_event: str) -> None:
        """As the seam promises."""
        self._link.tell("ask_return", name, ends_at, cause_event)

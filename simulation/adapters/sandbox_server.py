"""A sandbox behind a Unix socket: one process, one thread, several clients at once, and the clock that they share.

`ebbtide sandbox` and tests run it. Only the owner's processes may connect (mode 0600). A client that says what this
version does not understand is told so once and let go; nothing that a client does ends the server.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from contracts.errors import EbbtideError, Refused
from simulation.adapters.monotonic import monotonic_ms
from simulation.sandbox import Sandbox
from simulation.sandbox_desk import Desk, Effect
from simulation.sandbox_protocol import (
    LONGEST_CALL,
    VERSION,
    Call,
    Garbled,
    Hello,
    read_call,
    write_answer,
    write_error,
)

MOST_CLIENTS = 64
"""Reconcilers, their standbys and a few tests: more is a client that leaks connections."""

IDLE_S = 0.5
"""The longest sleep, and the longest that a wait stays without an answer: how late a stop is heard."""


@dataclass(eq=False)
class _Client:
    """One connection: what was read and not yet answered, and the wait that stands."""

    socket: socket.socket
    name: str = "?"
    heard: bytearray = field(default_factory=bytearray)
    unsent: bytearray = field(default_factory=bytearray)
    news: int = 0
    waiting: Call | None = None
    until: int = 0
    since: int = 0


class Account:
    """Every effect as one JSON line, in a file that outlives the process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

    def __call__(self, effect: Effect) -> None:
        """Write one effect; it is in the file when the call's answer goes out."""
        os.write(self._file, json.dumps(asdict(effect)).encode() + b"\n")


def read_account(path: Path) -> list[Effect]:
    """Every effect so far, in order."""
    return [Effect(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


class SandboxServer:
    """Serves one sandbox. Time passes at `speed` virtual milliseconds a millisecond; at 0 it stands still until a
    client's wait (`lockstep`), or a client that says `pass`, moves it.
    """

    def __init__(
        self, sandbox: Sandbox, path: Path, *, account: Callable[[Effect], None], speed: float, lockstep: bool
    ) -> None:
        self.sandbox = sandbox
        self._speed, self._lockstep = (0.0 if lockstep else speed), lockstep
        self._origin, self._origin_monotonic = sandbox.now, monotonic_ms()
        self._path = path
        self._selector = selectors.DefaultSelector()
        self._clients: list[_Client] = []
        self._listener = _listening(path)
        self._selector.register(self._listener, selectors.EVENT_READ)
        provider, desk = sandbox.cloud, Desk(sandbox, account)
        self._plain: Mapping[str, Callable[..., object]] = {
            "signals": provider.signals,
            "rates": provider.rates,
            "forward_capacity": provider.forward_capacity,
            "instances": provider.instances,
            "quota": provider.quota,
            "publish_hints": provider.publish_hints,
            "view": sandbox.site.view,
            "clock": lambda: sandbox.now,
            "pass": _passing(sandbox, self._speed),
        }
        self._effects: Mapping[str, Callable[..., object]] = {
            "create": desk.create,
            "delete": desk.delete,
            "mark": desk.mark,
            "ask_return": desk.ask_return,
            "remove_node": desk.remove_node,
        }

    def serve(self, until: Callable[[], bool] = lambda: False) -> None:
        """Answer until the word comes."""
        try:
            while not until():
                for key, ready in self._selector.select(self._nap_s()):
                    self._now()
                    if key.fileobj is self._listener:
                        self._accept()
                    else:
                        self._turn(cast("_Client", key.data), ready)
                self._now()
                self._wake()
        finally:
            self.close()

    def close(self) -> None:
        """Let everybody go and take the socket away."""
        for client in list(self._clients):
            self._drop(client)
        self._selector.close()
        self._listener.close()
        self._path.unlink(missing_ok=True)

    def _now(self) -> None:
        """Let the region catch up with the clock."""
        if self._speed:
            self.sandbox.advance(self._origin + int((monotonic_ms() - self._origin_monotonic) * self._speed))

    def _nap_s(self) -> float:
        """Until the region or a wait has something to do."""
        if not self._speed:
            return IDLE_S
        following = self.sandbox.next_event_at()
        times = [client.until for client in self._clients if client.waiting is not None]
        times += [following] if following is not None else []
        left = min(times, default=self.sandbox.now + 10_000) - self.sandbox.now
        return min(IDLE_S, max(0.001, left / 1000 / self._speed))

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        if len(self._clients) >= MOST_CLIENTS:
            accepted.close()
            return
        accepted.settimeout(0)
        client = _Client(accepted, news=self.sandbox.news)
        self._clients.append(client)
        self._selector.register(accepted, selectors.EVENT_READ, client)

    def _turn(self, client: _Client, ready: int) -> None:
        try:
            if ready & selectors.EVENT_WRITE:
                self._send(client, b"")
            if ready & selectors.EVENT_READ:
                self._hear(client)
        except OSError:
            self._drop(client)

    def _hear(self, client: _Client) -> None:
        said = client.socket.recv(1 << 16)
        if not said:
            self._drop(client)
            return
        client.heard += said
        try:
            while (end := client.heard.find(b"\n")) >= 0:
                line = bytes(client.heard[:end])
                del client.heard[: end + 1]
                self._answer(client, read_call(line))
            _bounded(client.heard)
        except Garbled as error:
            self._send(client, write_error(0, self.sandbox.now, Refused(f"not understood: {error}")))
            self._drop(client)

    def _answer(self, client: _Client, call: Call) -> None:
        if client.waiting is not None:
            raise Garbled("one call at a time")
        if call.name == "wait":
            self._wait(client, call)
            return
        try:
            answer = self._done(client, call)
            line = write_answer(call, self.sandbox.now, answer)
        except EbbtideError as error:
            line = write_error(call.id, self.sandbox.now, error)
        self._send(client, line)

    def _done(self, client: _Client, call: Call) -> object:
        """What the region answers to a call; calls that have an effect say whose they are."""
        if call.name == "hello":
            return self._greet(client, *cast("tuple[int, str]", call.values))
        if call.name == "signals":
            client.news = self.sandbox.news
        if call.name in self._effects:
            return self._effects[call.name](*call.values, client.name)
        return self._plain[call.name](*call.values)

    def _greet(self, client: _Client, version: int, name: str) -> Hello:
        if version != VERSION:
            raise Refused(f"this sandbox speaks version {VERSION} of the protocol, not {version}")
        client.name = name
        ground = self.sandbox.ground
        return Hello(
            version=VERSION,
            estate=ground.estate.settings.estate,
            region=ground.region,
            commit=ground.estate.commit,
            speed=self._speed,
            lockstep=self._lockstep,
            origin=self._origin,
            origin_monotonic=self._origin_monotonic,
        )

    def _wait(self, client: _Client, call: Call) -> None:
        """Answered when its time has come or there is news, soon in any case; in lockstep it passes the time."""
        client.waiting, client.until, client.since = call, cast("int", call.values[0]), monotonic_ms()
        sandbox = self.sandbox
        while self._lockstep and sandbox.now < client.until and sandbox.news == client.news:
            following = sandbox.next_event_at()
            sandbox.advance(client.until if following is None else min(client.until, max(following, sandbox.now + 1)))
        self._wake()

    def _wake(self) -> None:
        for client in list(self._clients):
            call = client.waiting
            news = client.news != self.sandbox.news
            long = monotonic_ms() - client.since >= IDLE_S * 1000
            if call is not None and (news or long or self.sandbox.now >= client.until):
                client.waiting, client.news = None, self.sandbox.news
                self._send(client, write_answer(call, self.sandbox.now, news))

    def _send(self, client: _Client, line: bytes) -> None:
        """Send what the other side takes now, and the rest when it takes more."""
        client.unsent += line
        try:
            sent = client.socket.send(client.unsent) if client.unsent else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self._drop(client)
            return
        del client.unsent[:sent]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
        self._selector.modify(client.socket, wanted, client)

    def _drop(self, client: _Client) -> None:
        if client in self._clients:
            self._clients.remove(client)
            self._selector.unregister(client.socket)
            client.socket.close()


def _passing(sandbox: Sandbox, speed: float) -> Callable[[int], int]:
    """Lets a client pass the time where it does not pass by itself."""

    def passing(milliseconds: int) -> int:
        if speed:
            raise Refused("time passes by itself here; start the sandbox with --lockstep or --speed 0")
        sandbox.advance(sandbox.now + max(0, milliseconds))
        return sandbox.now

    return passing


def _bounded(heard: bytearray) -> None:
    """Raises `Garbled` for a line that would not end."""
    if len(heard) > LONGEST_CALL:
        raise Garbled(f"a line is longer than {LONGEST_CALL:,} bytes")


def _listening(path: Path) -> socket.socket:
    """The socket, for its owner alone. One that nobody serves any more is taken away; `Refused` where somebody does."""
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        if path.is_socket() and not _served(path):
            path.unlink()
        listener.bind(str(path))
        listener.listen(MOST_CLIENTS)
    except OSError as error:
        listener.close()
        raise Refused(f"{path} cannot be served: {error.strerror or error}") from error
    finally:
        os.umask(before)
    return listener


def _served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True

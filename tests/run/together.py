"""Running reconcilers with one store, each a process of its own, and the time that the test alone lets pass."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from pools.provider import seat_of
from reconciler.adapters.store_file import FileStore
from reconciler.lease import NO_LEASE, TERMS, read_lease
from simulation.adapters.sandbox_client import SandboxLink
from simulation.adapters.sandbox_server import read_account
from simulation.sandbox_desk import Effect
from tests.cli.conftest import ROOT
from tests.reconciler.builders import SECOND
from tests.run.region import driver, reach
from tests.run.site import Site

PATIENCE_S = 60.0
"""How long a process on this machine may take for what it does in milliseconds."""

STEP_MS = 5 * SECOND
FOLLOWS_S = 10.0
"""How long a leader may take to renew a lease that is due, before time passes on all the same: it may wait for that."""

NOWHERE = ("resting", "0")


class Together:
    """The region, the replicas started so far, and the time, which this test alone lets pass."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder, self.site = folder, site
        self.socket = folder / "s"
        self.store = FileStore(folder / "store")
        self.link: SandboxLink = driver(self.socket)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._beats: dict[str, tuple[int, int]] = {}
        self._given_up: set[tuple[str, int]] = set()
        self._passed = 0

    def begin(self, name: str, stop_at: tuple[str, str] = NOWHERE, more: tuple[str, ...] = ()) -> None:
        """Start a replica with a state directory of its own; `more` are further words of its command line."""
        words = self.site.words(self.socket, self.state(name), "--store", str(self.store.directory), *more)
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = _started("run", *stop_at, *words, out=log)

    def state(self, name: str) -> Path:
        return self.folder / name

    def lines(self, name: str) -> list[dict[str, object]]:
        """Every cycle that the replica told of."""
        text = (self.folder / f"{name}.log").read_text(encoding="utf-8")
        told = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("}\n")]
        return [line for line in told if line["event"] == "cycle"]

    def leads(self, name: str) -> bool:
        """Whether its last cycle was a leader's."""
        lines = self.lines(name)
        return bool(lines) and lines[-1]["leads"] is True

    def pass_until(self, reached: Callable[[], bool]) -> None:
        """Let time pass in steps that every replica can follow."""
        until = time.monotonic() + PATIENCE_S
        while not reached():
            if time.monotonic() > until:
                told = {name: (self.folder / f"{name}.log").read_text("utf-8")[-1500:] for name in self.running}
                raise TimeoutError(json.dumps(told, indent=1))
            self.link.ask("pass", int, STEP_MS)
            self._passed += STEP_MS
            time.sleep(0.05)  # noqa: TID251 - the replicas are processes of this machine, and follow
            self._follow()

    def _follow(self) -> None:
        """Wait for leaders whose renewal is due: on a busy machine time would outrun them, and their leases end."""
        until = time.monotonic() + FOLLOWS_S
        while lagging := [name for name in self.running if self._lags(name)]:
            if time.monotonic() > until:
                self._given_up |= {(name, self._beats[name][0]) for name in lagging}
                return
            time.sleep(0.01)  # noqa: TID251 - a process of this machine

    def _lags(self, name: str) -> bool:
        """Whether a replica that holds a lease, and is not stopped, is late with its renewal."""
        try:
            own = json.loads((self.state(name) / "reconciler.json").read_text("utf-8"))
        except (FileNotFoundError, ValueError):  # it has only begun
            return False
        found = self.store.get(f"lease/{seat_of(own['region'], own['partition'])}")
        lease = read_lease(found.value) if found else NO_LEASE
        if lease.holder != own["holder"] or self.running[name].poll() is not None or self._is_stopped(name):
            self._beats.pop(name, None)
            return False
        beat, at = self._beats.get(name, (-1, 0))
        if beat != lease.beat:
            self._beats[name] = lease.beat, self._passed
            return False
        return self._passed - at >= TERMS.renew and (name, beat) not in self._given_up

    def let_look(self, name: str) -> None:
        """Let the time of one look of a standby pass, and wait until it has looked."""
        told = len(self.lines(name))
        self.link.ask("pass", int, TERMS.renew)
        until = time.monotonic() + PATIENCE_S
        while len(self.lines(name)) == told:
            if time.monotonic() > until:
                raise TimeoutError(f"{name} looks at nothing")
            time.sleep(0.01)  # noqa: TID251 - a process of this machine

    def await_stopped(self, name: str) -> None:
        """Until the replica stands still at its point."""
        self.pass_until(lambda: self._is_stopped(name))

    def _is_stopped(self, name: str) -> bool:
        stat = Path(f"/proc/{self.running[name].pid}/stat")
        return stat.read_text("ascii").rpartition(")")[2].split()[0] == "T"

    def effects(self, name: str) -> list[Effect]:
        """What the region's account says of a replica."""
        process = f"/{self.running[name].pid}"
        return [one for one in read_account(self.socket.with_name("s.account")) if one.client.endswith(process)]


def _started(*words: str, out: int | IO[bytes] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.run.processes", *words],
        stdout=out,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )


@contextlib.contextmanager
def together_in(folder: Path, site: Site) -> Iterator[Together]:
    """The region's process, and those that the test begins; all end with the block."""
    region = _started("region", str(folder / "s"), "3")
    reach(folder / "s")
    together = Together(folder, site)
    try:
        yield together
    finally:
        together.link.close()
        for process in (*together.running.values(), region):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()

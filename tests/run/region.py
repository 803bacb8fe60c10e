"""The small region that the processes of these tests run against: lively, in a process of its own."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.spool import Spool
from simulation.adapters.sandbox_client import SandboxLink
from simulation.adapters.sandbox_server import Account, SandboxServer
from simulation.cloud_model import CloudParameters, Wave
from simulation.sandbox import Ground, Sandbox, cloud_of
from tests.reconciler.builders import ESTATE, FORECAST, HINDCAST, MINUTE, REGION, START, estate
from tests.simulation.small_region import LARGER

DOMAINS = tuple(f"h{hall}-general-{row}" for hall in (1, 2, 3, 4) for row in "ab")
SWAPS = (*LARGER, ("ebbtide.yaml", "ncuLimit: 400", "ncuLimit: 900"))
READY_S = 30.0


def ground(seed: int) -> Ground:
    """The small region, from the first hour of the year."""
    return Ground(estate(*SWAPS), REGION, START, seed)


def sandbox_at(seed: int, spool: Spool) -> Sandbox:
    """The small region."""
    parameters = CloudParameters(
        estate=ESTATE, tenants=None, rate_changes_per_day=0, boot_failures=0.02, withdrawn=0.1, boot_median_s=30.0
    )
    standing = ground(seed)
    return Sandbox(
        standing,
        cloud_of(standing, parameters),
        emit=lambda events: void(spool.append(events)),
    )


def account_of(path: Path) -> Account:
    """The account beside a socket."""
    return Account(path.with_name(path.name + ".account"))


def disturb(sandbox: Sandbox, rng: random.Random, calm: Path) -> None:
    """Every few minutes a host is taken, one time in four without notice, and demand changes; until `calm` is there."""
    if calm.exists():
        return
    now = sandbox.now
    hold = now + rng.randint(8, 20) * MINUTE
    sandbox.cloud.schedule([Wave(now, rng.choice(DOMAINS), hold, count=1, noticed=rng.random() < 0.75)])
    workload, most = rng.choice(((FORECAST, 60), (HINDCAST, 40)))
    sandbox.work.want(workload, rng.randint(most // 3, most), now)
    sandbox._at(now + rng.randint(1, 5) * MINUTE, lambda: disturb(sandbox, rng, calm))


def void(_: object) -> None:
    """Drop a value."""


def quiet(seed: int = 1) -> Sandbox:
    """The small region without tenants, faults or ledger."""
    standing = ground(seed)
    return Sandbox(standing, cloud_of(standing, CloudParameters(estate=ESTATE, tenants=None)), emit=void)


@contextmanager
def served_here(path: Path, sandbox: Sandbox, *, speed: float = 0.0) -> Iterator[Path]:
    """A region served by a thread of this process while the block lasts; without a speed in lockstep."""
    ended = threading.Event()
    server = SandboxServer(sandbox, path, account=account_of(path), speed=speed, lockstep=not speed)
    thread = threading.Thread(target=server.serve, args=(ended.is_set,))
    thread.start()
    try:
        yield path
    finally:
        ended.set()
        thread.join()


@contextmanager
def served(path: Path, seed: int, *, restless: bool = False) -> Iterator[int]:
    """The region in a process of its own while the block lasts; its process id."""
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            ended: list[int] = []
            signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
            with Spool(path.with_name(path.name + ".nodes")) as spool:
                sandbox = sandbox_at(seed, spool)
                if restless:
                    disturb(sandbox, random.Random(f"restless/{seed}"), path.with_name("calm"))
                server = SandboxServer(sandbox, path, account=account_of(path), speed=0.0, lockstep=True)
                server.serve(lambda: bool(ended))
        finally:
            os._exit(0)
    try:
        reach(path)
        yield child
    finally:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)


def reach(path: Path) -> None:
    """Wait until somebody serves there."""
    until = time.monotonic() + READY_S
    while not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"nobody serves {path}")
        time.sleep(0.01)  # noqa: TID251 - readiness of a socket on this machine


def driver(path: Path) -> SandboxLink:
    """A link for the test itself."""
    return SandboxLink(path, client="test")

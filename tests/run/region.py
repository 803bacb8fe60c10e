"""The small region that the processes of these tests run against: lively, the same for the same seed, in its own process."""

from __future__ import annotations

import os
import random
import signal
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
SWAPS = LARGER
READY_S = 10.0


def lively(seed: int, *, hours: int) -> Ground:
    """A ground on which some hosts are taken every few minutes, one time in four without a notice."""
    rng = random.Random(f"lively/{seed}")
    waves = []
    at = START + 20 * MINUTE
    while at < START + hours * 60 * MINUTE:
        waves.append(
            Wave(at, rng.choice(DOMAINS), at + rng.randint(8, 20) * MINUTE, count=1, noticed=rng.random() < 0.75)
        )
        at += rng.randint(3, 9) * MINUTE
    return Ground(estate(*SWAPS), REGION, START, seed, tuple(waves))


def sandbox_at(path: Path, ground: Ground, spool: Spool, *, restless: bool) -> Sandbox:
    """The region on that ground; where it is `restless`, demand changes every few minutes."""
    parameters = CloudParameters(
        estate=ESTATE, tenants=None, rate_changes_per_day=0, boot_failures=0.02, withdrawn=0.1, boot_median_s=30.0
    )
    sandbox = Sandbox(
        ground,
        cloud_of(ground, parameters),
        emit=lambda events: void(spool.append(events)),
        account=Account(path.with_name(path.name + ".account")),
    )
    if restless:
        rng = random.Random(f"restless/{ground.seed}")
        for number in range(400):
            workload, most = rng.choice(((FORECAST, 60), (HINDCAST, 40)))
            at, units = START + number * 4 * MINUTE, rng.randint(most // 3, most)
            sandbox._at(at, lambda name=workload, n=units: sandbox.work.want(name, n, sandbox.now))  # type: ignore[misc]  # defaults bind the loop's values
    return sandbox


def void(_: object) -> None:
    """Drop a value."""


@contextmanager
def served(path: Path, ground: Ground, *, lockstep: bool = True, restless: bool = False) -> Iterator[int]:
    """The region in a process of its own while the block lasts; its process id."""
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            ended: list[int] = []
            signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
            with Spool(path.with_name(path.name + ".nodes")) as spool:
                sandbox = sandbox_at(path, ground, spool, restless=restless)
                SandboxServer(sandbox, path, speed=0.0, lockstep=lockstep).serve(lambda: bool(ended))
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

"""Two running reconcilers with one store: a leader that was paused, stopped by a person, or asked to end."""

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

import pytest

from reconciler.lease import TERMS
from simulation.adapters.sandbox_client import SandboxLink
from simulation.adapters.sandbox_server import read_account
from simulation.sandbox_desk import Effect
from tests.cli.conftest import ROOT, typed
from tests.reconciler.builders import SECOND
from tests.run.region import SWAPS, driver, reach
from tests.run.site import Site, lay_site

PATIENCE_S = 60.0
"""How long a process on this machine may take for what it does in milliseconds."""

STEP_MS = 5 * SECOND
NOWHERE = ("resting", "0")


class Two:
    """The region, the replicas started so far, and the time, which this test alone lets pass."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder, self.site = folder, site
        self.socket = folder / "s"
        self.link: SandboxLink = driver(self.socket)
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def begin(self, name: str, stop_at: tuple[str, str] = NOWHERE) -> None:
        """Start a replica with a state directory of its own."""
        words = self.site.words(self.socket, self.state(name), "--store", str(self.folder / "store"))
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
            time.sleep(0.05)  # noqa: TID251 - the replicas are processes of this machine, and follow

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
        stat = Path(f"/proc/{self.running[name].pid}/stat")
        self.pass_until(lambda: stat.read_text("ascii").rpartition(")")[2].split()[0] == "T")

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


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return lay_site(tmp_path_factory.mktemp("site"), SWAPS, lambda words: typed(*words).code)


@pytest.fixture(name="two")
def _two(tmp_path: Path, site: Site) -> Iterator[Two]:
    region = _started("region", str(tmp_path / "s"), "3")
    reach(tmp_path / "s")
    two = Two(tmp_path, site)
    try:
        yield two
    finally:
        two.link.close()
        for process in (*two.running.values(), region):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("stage", "slips"), [("create answered", 0), ("create not sent", 1)], ids=["between two calls", "before a call"]
)
def test_a_leader_that_was_paused_past_its_lease_does_at_most_one_call_more(two: Two, stage: str, slips: int) -> None:
    two.begin("first", (stage, "3"))
    two.await_stopped("first")
    before = len(two.effects("first"))
    two.begin("second")
    two.pass_until(lambda: two.leads("second"))
    told = len(two.lines("first"))
    two.running["first"].send_signal(signal.SIGCONT)
    two.pass_until(lambda: len(two.lines("first")) > told)
    two.pass_until(lambda: two.leads("second"))
    after, following = two.effects("first"), two.effects("second")
    assert len(after) - before == slips
    assert not two.leads("first")
    assert {one.epoch for one in after} == {1}
    assert {one.epoch for one in following if one.act == "create"} == {2}
    assert not {one.key for one in after} & {one.key for one in following if one.act == "create"}


def test_a_leader_that_is_asked_to_end_hands_over_at_the_next_look(two: Two) -> None:
    two.begin("first")
    two.pass_until(lambda: two.leads("first"))
    two.begin("second")
    two.pass_until(lambda: bool(two.lines("second")))
    two.running["first"].send_signal(signal.SIGTERM)
    assert two.running["first"].wait(PATIENCE_S) == 0
    looks = 0
    while not two.leads("second"):
        two.let_look("second")
        looks += 1
    assert looks <= 2  # one may have begun before


def test_a_stop_holds_every_replica_that_reads_it_and_survives_the_change_of_leader(two: Two) -> None:
    two.begin("first")
    two.pass_until(lambda: two.leads("first"))
    for name in ("first", "second"):
        assert typed("stop", "the cloud team asked", "--by", "tides-oncall", "--state", str(two.state(name))).code == 0
    told = len(two.lines("first"))
    two.pass_until(lambda: len(two.lines("first")) > told)
    done = len(two.effects("first"))
    assert "the cloud team asked" in str(two.lines("first")[-1]["stopped"])
    two.begin("second")
    two.pass_until(lambda: bool(two.lines("second")))
    two.running["first"].send_signal(signal.SIGTERM)
    two.pass_until(lambda: two.leads("second"))
    assert len(two.effects("first")) == done
    assert two.effects("second") == []

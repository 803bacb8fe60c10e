"""Kills `ebbtide run` again and again at random points, against one region that goes on living, and reckons at the end.

    python -m tests.run.killing FOLDER --kills 200 --seed 7

One process has everything loaded; each run is a child of it that calls the command's `main`, so that a start costs
milliseconds. Half of the children die from outside at a random moment, half at one named point (`tests.run.points`).
The last line written is the report as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ebbtide import compile, keys, run, run_live, sign  # noqa: A004, F401 - loaded once, for every child
from ebbtide.__main__ import main as command
from pools.exclusion import LONGEST_BACK_OFF_MS
from pools.gamma_table import quantile_over_mean
from pools.interruption import Outlook
from reconciler import placement_full  # noqa: F401 - the same
from simulation.adapters.sandbox_client import SandboxLink
from simulation.check_ground import Ground
from tests.reconciler.builders import REGION, estate
from tests.run.points import ACTS, STAGES, Points, install
from tests.run.reckoning import Reckoning, reckon
from tests.run.region import SWAPS, driver, served
from tests.run.site import Site, lay_site

PASSES_MS = (1, 1, 5_000, 30_000, 180_000)
"""What passes in the region between a death and the next start: something always does, and what two lives saw is told
under the times of each.
"""

AIMED = tuple(stage for stage in STAGES for _ in range(3 if stage.partition(" ")[0] in ACTS else 1))
"""Calls that act come seldom: a life that was to end in one often does not make it."""

START_S = 0.1
"""About what a start takes; a slow machine is struck in the first part of it."""

LONGEST_S = 60.0
"""A child that takes longer hangs."""


@dataclass
class Report:
    """What was killed where, and what came of it."""

    kills: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    reckoning: Reckoning | None = None


class Killing:
    """One folder: the region's socket, the state directory, the signed bundle, and the page of points."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng = folder, random.Random(f"killing/{seed}")
        self.socket, self.state = folder / "region" / "s", folder / "state"
        self.site = Site(folder)
        self.points = Points()
        self.report = Report()
        self._typical_s = 0.2

    def prepare(self) -> None:
        """Lay the estate, compile and sign it."""
        quantile_over_mean(np.ones(1), Outlook().quantile)  # a table that each process computes once
        self.socket.parent.mkdir(parents=True)
        self.site = lay_site(self.folder, SWAPS, lambda words: self.wait(self.start(words)))

    def words(self, *more: str) -> tuple[str, ...]:
        """The command line of a run."""
        return self.site.words(self.socket, self.state, *more)

    def start(self, words: tuple[str, ...], dies: Callable[[str, int], bool] | None = None, *, out: str = "log") -> int:
        """A child that runs the command, and writes to that file; its process id."""
        self.points.reset()
        sys.stdout.flush()
        child = os.fork()
        if child:
            return child
        code = 70
        try:
            log = os.open(self.folder / out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            install(self.points, dies or (lambda _stage, _times: False))
            code = command(words)
        finally:
            os._exit(code)

    def wait(self, child: int) -> int:
        """How it ended: its exit code, or the signal as a number below 0."""
        until = time.monotonic() + LONGEST_S
        while True:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise RuntimeError(f"a child hung at {self.points.stage}: {self.log()}")
            time.sleep(0.001)  # noqa: TID251 - a child's end on this machine

    def struck(self, child: int, *, starting: bool, share: float) -> int:
        """How a child ended that was killed from outside: while it starts, or at a random moment of what follows."""
        began = time.monotonic()
        while not starting and self.points.stage == "starting" and time.monotonic() - began < LONGEST_S:
            time.sleep(0.0005)  # noqa: TID251 - until it has looked round
        time.sleep(share * (START_S if starting else self._typical_s))  # noqa: TID251 - the random moment
        os.kill(child, signal.SIGKILL)
        code = self.wait(child)
        if code == -signal.SIGKILL:
            self.report.ended["from outside"] += 1
            self._typical_s *= 1.03  # so that on a slow machine, too, the last moments have their turn
        else:
            self._typical_s *= 0.9
        return code

    def log(self) -> str:
        """The last words of the children."""
        return (self.folder / "log").read_text(encoding="utf-8")[-2000:]

    def once(self) -> None:
        """One life: started, killed unless it ended before, and noted."""
        words = self.words("--cycles", str(self.rng.randint(1, 2)))
        if self.rng.random() < 0.5:
            stage, times = self.rng.choice(AIMED), self.rng.choice((1, 1, 2, 3))
            code = self.wait(self.start(words, lambda at, count: at == stage and count == times))
        else:
            code = self.struck(self.start(words), starting=self.rng.random() < 0.2, share=self.rng.random())
        if code == -signal.SIGKILL:
            self.report.kills += 1
            self.report.stages[self.points.stage] += 1
        elif code in (0, 1):
            self.report.ended["by itself"] += 1
        else:
            raise RuntimeError(f"a child ended with {code}: {self.log()}")

    def planned(self) -> dict[str, Any]:
        """What the product would do next, and what it says that it lacks."""
        self.wait(self.start(self.words("--dry-run"), out="plan"))
        found: dict[str, Any] = json.loads((self.folder / "plan").read_text(encoding="utf-8"))
        return found

    def go_on(self, kills: int, link: SandboxLink) -> None:
        """Kill so often, then let everything settle, at once and again when no exclusion of a pool lasts any more, and
        reckon.
        """
        began = time.monotonic()
        while self.report.kills < kills:
            self.once()
            passes = self.rng.choice(PASSES_MS)
            if passes:
                link.ask("pass", int, passes)
        (self.socket.parent / "calm").touch()
        settled = True
        for quiet in (20 * 60_000, LONGEST_BACK_OFF_MS):
            link.ask("pass", int, quiet)
            settled &= self.wait(self.start(self.words("--cycles", "60", "--until-idle"))) == 0
        self.report.reckoning = reckon(
            self.socket, self.state, link, plan=self.planned(), ground=Ground(estate(*SWAPS), REGION), settled=settled
        )
        self.report.seconds = time.monotonic() - began


def main(argv: list[str]) -> int:
    """0 when nothing is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args(argv)
    killing = Killing(options.folder, options.seed)
    killing.prepare()
    with served(killing.socket, options.seed, restless=True):
        link = driver(killing.socket)
        killing.go_on(options.kills, link)
        link.close()
    report = killing.report
    if report.reckoning is None:
        return 2
    print(  # noqa: T201 - the report
        json.dumps(
            {
                "kills": report.kills,
                "ended": report.ended,
                "stages": {stage: report.stages[stage] for stage in STAGES},
                "seconds": round(report.seconds, 1),
                "counts": report.reckoning.counts,
                "wrong": report.reckoning.wrong,
            }
        )
    )
    return 1 if report.reckoning.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

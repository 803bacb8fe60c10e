"""`kill -9` at random points of `ebbtide run`, two hundred times: no event is lost, and nothing is done twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.cli.conftest import ROOT

KILLS, SEED = 200, 7
BOUND_S = 600


@pytest.fixture(name="report", scope="module")
def _report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the driver said after its last kill."""
    folder = tmp_path_factory.mktemp("killed") / "k"
    done = subprocess.run(
        [sys.executable, "-m", "tests.run.killing", str(folder), "--kills", str(KILLS), "--seed", str(SEED)],
        check=False,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def test_two_hundred_kills_lose_no_event_and_repeat_no_action(report: dict[str, Any]) -> None:
    assert report["wrong"] == []
    assert report["kills"] == KILLS


def test_the_kills_strike_every_part_of_a_life(report: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{KILLS} kills in {report['seconds']} s, where they struck:\n")
        sys.stdout.writelines(f"  {count:4}  {stage}\n" for stage, count in report["stages"].items() if count)
    struck = {stage.split(" ")[0] for stage, count in report["stages"].items() if count}
    assert struck >= {"starting", "observing", "resting", "journal", "spool", "lease", "create", "delete"}
    assert report["counts"]["create"] > KILLS // 2
    assert report["ended"]["from outside"] > KILLS // 4

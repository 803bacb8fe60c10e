"""`kill -9` at random points of `ebbtide run`, two hundred times: no event is lost, and nothing is done twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT

KILLS, SEED = 200, 7
BOUND_S = 600


def test_two_hundred_kills_lose_no_event_and_repeat_no_action(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.run.killing", str(tmp_path / "k"), "--kills", str(KILLS), "--seed", str(SEED)],
        check=False,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    assert done.stdout, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    with capsys.disabled():
        sys.stdout.write(f"\n{KILLS} kills in {report['seconds']} s, where they struck:\n")
        sys.stdout.writelines(f"  {count:4}  {stage}\n" for stage, count in report["stages"].items() if count)
    assert report["wrong"] == []
    assert report["kills"] == KILLS
    struck = {stage.split(" ")[0] for stage, count in report["stages"].items() if count}
    assert struck >= {"starting", "observing", "resting", "journal", "spool", "create", "delete", "remove_node"}
    assert report["counts"]["create"] > KILLS // 2

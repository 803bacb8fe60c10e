"""`ebbtide sandbox`: a region that a person starts, whose time runs by itself, and which leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.errors import Refused
from simulation.adapters.sandbox_client import SandboxLink
from tests.cli.conftest import Run, typed
from tests.run.region import quiet, served_here


def test_it_says_how_to_reach_it_and_ends_after_its_hours(tmp_path: Path) -> None:
    path = tmp_path / "region" / "s"
    ended = typed("sandbox", str(path), "--model", "--speed", "100", "--hours", "0.01")
    assert ended.code == 0, ended.err
    assert f"ebbtide run --provider {path}" in ended.out
    assert not path.exists()
    assert path.with_name("s.account").read_text("utf-8") == ""


@pytest.mark.parametrize(("words", "said"), [(("--speed", "1000"), "from 0 to 100"), (("--hours", "0"), "above 0")])
def test_a_time_that_makes_no_sense_is_refused(here: Run, words: tuple[str, ...], said: str) -> None:
    ended = here("sandbox", "s", *words)
    assert ended.code == 2
    assert said in ended.err


def test_time_runs_by_itself_at_its_speed_and_nobody_else_moves_it(tmp_path: Path) -> None:
    with served_here(tmp_path / "s", quiet(), speed=100.0) as path:
        link = SandboxLink(path, client="a")
        before = link.open().origin
        while link.now() < before + 10_000:
            link.wait(10_000)
        assert link.ask("clock", int) >= before + 10_000
        with pytest.raises(Refused, match="passes by itself"):
            link.ask("pass", int, 1_000)
        link.close()

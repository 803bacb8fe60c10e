"""Runs the command, in this process or as a person does, and keeps golden screens."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ebbtide.__main__ import main

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "golden" / "cli"
LONGEST_S = 300


@dataclass(frozen=True)
class Ended:
    """How one command line ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process: for what opens no ledger, of which a process can hold one."""

    def run(*words: str) -> Ended:
        capsys.readouterr()
        code = main(words)
        said = capsys.readouterr()
        return Ended(code, said.out, said.err)

    return run


def typed(*words: str, **environment: str) -> Ended:
    """Run a command line as a person does, without recorded traces unless the environment names them."""
    variables = {k: v for k, v in os.environ.items() if k not in ("EBBTIDE_TRACES", "NO_COLOR")}
    variables["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "ebbtide", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        env={**variables, **environment},
        cwd=ROOT,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    """One hour of the demo, drawn by the region model: its state directory, and how it ended."""
    state = tmp_path_factory.mktemp("demo") / "state"
    ended = typed("demo", "--hours", "1", "--model", "--output", "json", "--progress", "--state", str(state))
    assert ended.code == 0, ended.err
    return state, ended


@pytest.fixture(scope="session")
def hour(demo: tuple[Path, Ended]) -> Path:
    """The demo's state directory."""
    return demo[0]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a screen with the reviewed one of that name."""
    rewrite = bool(request.config.getoption("--rewrite-golden", default=False))

    def compare(name: str, text: str) -> None:
        path = FOLDER / f"{name}.txt"
        if rewrite:
            path.write_text(text, encoding="utf-8", newline="\n")
        assert text == path.read_text(encoding="utf-8"), f"{path.name} shows something else; see --rewrite-golden"

    return compare

"""The comment that CI keeps on a request: made once, kept up to date, never somebody else's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.code_host import MARK, STRANGER, US, CodeHost, given, serving
from tests.cli.conftest import ROOT

SCRIPT = ROOT / "deploy" / "ci" / "comment.py"


@pytest.fixture(name="host")
def _host() -> Iterator[CodeHost]:
    with serving() as host:
        yield host


def post(tmp_path: Path, text: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "effects.md"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, str(SCRIPT), str(file)]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=60)


BOTH = pytest.mark.parametrize("dialect", ["github", "gitlab"])


@BOTH
def test_one_comment_is_made_and_then_kept_up_to_date(tmp_path: Path, host: CodeHost, dialect: str) -> None:
    host.comments = [(STRANGER, "hello")]
    for text in ("floor 2 -> 3", "floor 2 -> 4"):
        done = post(tmp_path, text, given(host, dialect))
        assert (done.returncode, done.stderr) == (0, "")
        assert host.comments == [(STRANGER, "hello"), (US, f"{MARK}\n{text}")]
    before = len(host.calls)
    assert post(tmp_path, "floor 2 -> 4", given(host, dialect)).returncode == 0
    assert set(host.calls[before:]) == {"GET"}


@BOTH
def test_a_stranger_who_copies_the_mark_is_not_taken_for_us(tmp_path: Path, host: CodeHost, dialect: str) -> None:
    host.comments = [(STRANGER, f"{MARK}\nall is well")]
    assert post(tmp_path, "it is not", given(host, dialect)).returncode == 0
    assert host.comments == [(STRANGER, f"{MARK}\nall is well"), (US, f"{MARK}\nit is not")]


@BOTH
def test_ours_is_found_behind_hundreds_of_others(tmp_path: Path, host: CodeHost, dialect: str) -> None:
    host.comments = [*[(STRANGER, "x")] * 250, (US, f"{MARK}\nold")]
    assert post(tmp_path, "new", given(host, dialect)).returncode == 0
    assert host.comments[250:] == [(US, f"{MARK}\nnew")]


def test_what_is_too_long_for_a_comment_is_cut_and_says_so(tmp_path: Path, host: CodeHost) -> None:
    assert post(tmp_path, "a line\n" * 20_000, given(host, "github")).returncode == 0
    ((_, text),) = host.comments
    assert len(text) < 65_000
    assert "too long" in text


@BOTH
def test_a_host_that_refuses_is_told_and_ends_with_2(tmp_path: Path, host: CodeHost, dialect: str) -> None:
    host.refuses = 403
    done = post(tmp_path, "x", given(host, dialect))
    assert done.returncode == 2
    assert "403" in done.stderr
    assert "Traceback" not in done.stderr


@BOTH
def test_a_variable_that_is_missing_is_named(tmp_path: Path, host: CodeHost, dialect: str) -> None:
    environment = given(host, dialect)
    missing = "EBBTIDE_COMMENT_TOKEN" if dialect == "gitlab" else "GITHUB_TOKEN"
    del environment[missing]
    done = post(tmp_path, "x", environment)
    assert done.returncode == 2
    assert missing in done.stderr

"""The schema checker as a process: found, started in private, and never taken for consent when it does not answer."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from contracts.findings import Finding, Severity
from repo_layout.adapters import cue as adapter
from repo_layout.adapters.cue import Cue, find_cue
from repo_layout.layout import Kind
from tests.checks.documents import WHOLE
from tests.checks.estates import judged, minimal, source_of

SOURCES = [source_of(Kind.CONTRACT, WHOLE[Kind.CONTRACT][0])]


def _program(folder: Path, script: str) -> Cue:
    path = folder / "cue"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Cue(str(path))


def _only_finding(cue: Cue) -> Finding:
    verdict = cue.judge(SOURCES)
    assert not verdict.faults
    (finding,) = verdict.findings
    assert finding.severity is Severity.UNJUDGED
    return finding


def test_a_missing_binary_names_the_command_that_installs_it() -> None:
    finding = _only_finding(Cue(None))
    assert finding.code == "EBT-310"
    assert "make setup" in finding.hint


def test_a_missing_binary_leaves_the_other_findings_and_refuses() -> None:
    verdict = judged(minimal() | {"directory.yaml": b"{}\n"}, Cue(None))
    assert {finding.code for finding in verdict.findings} == {"EBT-124", "EBT-310"}
    assert verdict.refused


def test_a_binary_that_cannot_be_started_is_missing(tmp_path: Path) -> None:
    assert _only_finding(Cue(str(tmp_path / "nothing"))).code == "EBT-310"


@pytest.mark.parametrize("script", ["exit 2", "kill -9 $$", "exit 137"])
def test_an_end_that_is_no_verdict_is_unjudged(tmp_path: Path, script: str) -> None:
    assert _only_finding(_program(tmp_path, script)).code == "EBT-311"


def test_a_checker_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "WALL_S", 0.2)
    assert _only_finding(_program(tmp_path, "exec sleep 600")).code == "EBT-311"


def test_a_checker_that_fails_without_a_word_is_unjudged(tmp_path: Path) -> None:
    assert _only_finding(_program(tmp_path, "exit 1")).code == "EBT-312"


def test_a_flood_of_words_is_cut_and_still_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "REPORT_BYTES", 4096)
    flood = (
        "i=0; while [ $i -lt 400 ]; do echo 'contract.f00000.floor: EBT-120 a number:' >&2; i=$((i+1)); done; exit 1"
    )
    verdict = _program(tmp_path, flood).judge(SOURCES)
    assert [fault.path for fault in verdict.faults[SOURCES[0].file]] == [("floor",)]


def test_the_checker_runs_in_a_folder_of_its_own_without_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EBBTIDE_TEST_SECRET", "x")
    seen = tmp_path / "seen"
    assert not _program(tmp_path, f"(pwd; env; ls) > {seen}").judge(SOURCES).findings
    text = seen.read_text(encoding="utf-8")
    assert "EBBTIDE_TEST_SECRET" not in text
    assert "CUE_REGISTRY=none" in text
    folder = text.splitlines()[0]
    assert folder != os.getcwd()  # noqa: PTH109 - the working directory as the process was given it
    assert not Path(folder).exists()


def test_a_named_binary_wins_and_a_wrong_name_is_not_replaced(tmp_path: Path) -> None:
    mine = _program(tmp_path, "exit 0").binary
    assert find_cue({"EBBTIDE_CUE": str(mine)}) == mine
    assert find_cue({"EBBTIDE_CUE": str(tmp_path / "typo"), "PATH": str(tmp_path)}) is None


def test_no_source_at_all_is_judged(cue: Cue) -> None:
    assert not cue.judge([]).findings

"""The state directory: what a command that writes may remove, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from ebbtide.advice import Advice
from ebbtide.state import being_written


@pytest.mark.parametrize("name", ["notes.txt", "ledger", "report.html", ".gitignore"])
def test_a_folder_that_no_run_made_is_refused_and_keeps_what_it_holds(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(Advice, match="no run of ours left"), being_written(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_an_earlier_run_left_makes_room_for_the_next(tmp_path: Path) -> None:
    with being_written(tmp_path / "state") as state:
        state.report.write_text("old", encoding="utf-8")
    with being_written(tmp_path / "state") as state:
        assert not state.report.exists()


def test_two_commands_never_write_at_once(tmp_path: Path) -> None:
    with being_written(tmp_path), pytest.raises(Advice, match="another command writes"), being_written(tmp_path):
        pass

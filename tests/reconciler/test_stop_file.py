"""The local stop and the acceptance of a listing, as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.errors import Refused
from reconciler.adapters.stop_file import StopFile


def test_without_a_file_nothing_is_stopped(tmp_path: Path) -> None:
    assert StopFile(tmp_path / "stop").reason() == ""


def test_a_stop_survives_the_process_and_says_who_and_why(tmp_path: Path) -> None:
    StopFile(tmp_path / "state" / "stop").stop("the cloud team asked", "tides-oncall")
    text = StopFile(tmp_path / "state" / "stop").reason()
    assert text.startswith("the cloud team asked (tides-oncall, ")


def test_the_path_is_read_each_time(tmp_path: Path) -> None:
    switch = StopFile(tmp_path / "stop")
    assert not switch.reason()
    switch.stop("now", "tides-lead")
    assert switch.reason()
    assert switch.resume("tides-lead")
    assert not switch.reason()
    assert not switch.resume("tides-lead")


def test_an_empty_file_and_a_file_nobody_can_read_both_stop(tmp_path: Path) -> None:
    empty = tmp_path / "stop"
    empty.touch()
    assert "gives no reason" in StopFile(empty).reason()
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "cannot be read" in StopFile(folder).reason()


def test_a_stop_without_a_reason_or_a_person_is_refused(tmp_path: Path) -> None:
    switch = StopFile(tmp_path / "stop")
    for reason, who in (("", "tides-lead"), ("now", " ")):
        with pytest.raises(Refused):
            switch.stop(reason, who)
    assert not switch.reason()


def test_an_accepted_listing_is_a_time_and_rubbish_accepts_nothing(tmp_path: Path) -> None:
    switch = StopFile(tmp_path / "stop")
    assert switch.accepted_at() == 0
    switch.accept_listing(1_767_225_600_000, "tides-lead")
    assert switch.accepted_at() == 1_767_225_600_000
    assert switch.reason() == ""
    switch.acceptance.write_text("yes please", encoding="ascii")
    assert switch.accepted_at() == 0
    switch.acceptance.write_bytes(b"\xff\xfe")
    assert switch.accepted_at() == 0

"""The log of a hunt holds each history under its version, and a hunt goes on from it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.hunt_log import Day, Hunted, opened, version_of

DAY = Day(7, "small", 1.0, "all", 40, 480, 1, 1.25, "check_x.Y: two words broke")
CLEAN = Day(8, "full", 0.5, "crash,pause", 3, 240, 0, 10.5)
BITES = Hunted("bound-ignored", "check_bounds.Placements", "only elsewhere", 0, 40)


def test_what_was_added_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "results" / "hunt.txt"
    log = opened(path, "v1")
    for one in (DAY, CLEAN, BITES):
        log.add(one)
    again = opened(path, "v1")
    assert (again.days, again.mutations) == (log.days, log.mutations)
    assert list(again.days.values()) == [DAY, CLEAN]


def test_another_version_begins_anew_and_the_earlier_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "hunt.txt"
    opened(path, "v1").add(DAY)
    later = opened(path, "v2")
    assert not later.days
    later.add(CLEAN)
    opened(path, "v1").add(BITES)
    assert list(opened(path, "v1").days.values()) == [DAY]
    assert list(opened(path, "v2").days.values()) == [CLEAN]


def test_a_version_changes_with_any_byte_that_ships(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    file = tmp_path / "p" / "data.txt"
    file.write_text("one")
    before = version_of(tmp_path, ["p"])
    file.write_text("two")
    assert version_of(tmp_path, ["p"]) != before

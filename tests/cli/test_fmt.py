"""`ebbtide fmt` and `ebbtide schema` as people and pipelines type them."""

from __future__ import annotations

import io
import json
import stat
import sys
from pathlib import Path

import pytest

from repo_layout.load import MODELS
from tests.checks.estates import FORECAST, minimal
from tests.cli.conftest import Run

LOOSE = b"kind: Contract\nname: a   # who\napiVersion: 'ebbtide/v1'\n"
TIDY = "apiVersion: ebbtide/v1\nkind: Contract\nname: a  # who\n"


@pytest.fixture
def estate(tmp_path: Path) -> Path:
    for name, content in minimal().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_a_tidy_estate_is_left_alone(here: Run, estate: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in estate.rglob("*.yaml")}
    ended = here("fmt", str(estate))
    assert ended.code == 0
    assert f"{len(before)} files left as they are" in ended.out
    assert before == {path: path.stat().st_mtime_ns for path in estate.rglob("*.yaml")}


def test_a_loose_file_is_laid_out_in_place_and_keeps_its_mode(here: Run, estate: Path) -> None:
    path = estate / FORECAST
    path.write_bytes(LOOSE)
    path.chmod(0o640)
    ended = here("fmt", str(estate))
    assert (ended.code, path.read_text(encoding="utf-8")) == (0, TIDY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert ended.out.splitlines()[0] == str(path)
    assert list(path.parent.glob(".*")) == []
    assert here("fmt", "--check", str(estate)).code == 0


def test_check_and_diff_write_nothing_and_say_what_would_change(here: Run, estate: Path) -> None:
    path = estate / FORECAST
    path.write_bytes(LOOSE)
    checked = here("fmt", "--check", str(estate))
    assert checked.code == 1
    others = len(list(estate.rglob("*.yaml"))) - 1
    assert checked.out.splitlines() == [str(path), f"1 file would be laid out anew, {others} files left as they are"]
    compared = here("fmt", "--diff", str(path))
    assert compared.code == 1
    assert "-name: a   # who" in compared.out
    assert "+name: a  # who" in compared.out
    assert path.read_bytes() == LOOSE


def test_windows_line_ends_and_a_mark_at_the_start_are_layout(here: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + LOOSE.replace(b"\n", b"\r\n"))
    assert here("fmt", str(path)).code == 0
    assert path.read_bytes() == TIDY.encode()


def test_a_file_that_cannot_be_read_is_left_alone_with_its_finding(here: Run, estate: Path) -> None:
    path = estate / FORECAST
    path.write_bytes(b"a: 010\n")
    ended = here("fmt", str(estate))
    assert ended.code == 2
    assert f"{path}:1:4 EBT-116" in ended.out
    assert "1 file cannot be read and is left alone" in ended.out
    assert path.read_bytes() == b"a: 010\n"


def test_a_dash_reads_stdin_and_writes_stdout(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOOSE)))
    ended = here("fmt", "-")
    assert (ended.code, ended.out) == (0, TIDY)


def test_json_tells_each_file(here: Run, estate: Path) -> None:
    (estate / FORECAST).write_bytes(LOOSE)
    told = {item["file"]: item for item in json.loads(here("fmt", "--check", str(estate), "--output", "json").out)}
    assert told[str(estate / FORECAST)]["changed"] is True
    assert told[str(estate / FORECAST)]["text"] == TIDY
    assert sum(item["changed"] for item in told.values()) == 1


@pytest.mark.parametrize("words", [("nowhere",), ("-", "a.yaml")])
def test_what_cannot_be_given_is_an_error_with_a_next_step(here: Run, words: tuple[str, ...]) -> None:
    ended = here("fmt", *words)
    assert ended.code == 2
    assert "next:" in ended.err


def test_a_folder_without_an_estate_is_an_error(here: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    assert here("fmt", str(tmp_path)).code == 2


# --------------------------------------------------------------------------------------------------------------- schema


def test_a_folder_inside_an_estate_is_laid_out_as_its_part(here: Run, estate: Path) -> None:
    ended = here("fmt", str(estate / "contracts" / "tides"), "--check", "--output", "json")
    assert ended.code == 0
    assert [Path(one["file"]).name for one in json.loads(ended.out)] == ["forecast.yaml", "hindcast.yaml"]


def test_one_kind_goes_to_stdout(here: Run) -> None:
    schema = json.loads(here("schema", "contract").out)
    assert schema["properties"]["tolerance"]["description"].startswith("Interruptions per unit-hour")


def test_every_kind_goes_into_a_folder_with_settings_for_an_editor(here: Run, tmp_path: Path) -> None:
    ended = here("schema", "--out", str(tmp_path / "schema"))
    assert ended.code == 0
    settings = json.loads((tmp_path / "schema" / "vscode-settings.json").read_text(encoding="utf-8"))
    assert len(settings["yaml.schemas"]) == len(MODELS)
    for name in settings["yaml.schemas"]:
        assert (tmp_path / name).is_file()


def test_an_unknown_kind_is_an_error_with_the_nearest(here: Run) -> None:
    ended = here("schema", "contrac")
    assert ended.code == 2
    assert "did you mean contract?" in ended.err

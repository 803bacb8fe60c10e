"""`ebbtide explain contract`: what holds, where it comes from, and how near each limit is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checks.estates import FORECAST, MINIMAL, minimal
from tests.cli.conftest import Run


def laid(folder: Path, **swaps: str) -> str:
    for name, content in minimal().items():
        text = content.decode()
        if name == FORECAST:
            for old, new in swaps.items():
                text = text.replace(old.replace("_", " "), new)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return str(folder)


def told(here: Run, name: str, estate: str) -> dict[str, list[dict[str, object]]]:
    document: dict[str, list[dict[str, object]]] = json.loads(
        here("explain", "contract", name, "--estate", estate, "--output", "json").out
    )
    return document


def test_a_contract_reads_as_reviewed(here: Run, golden: Callable[[str, str], None]) -> None:
    ended = here("explain", "contract", "forecast", "--estate", str(MINIMAL))
    assert ended.code == 0
    golden("explain_contract", ended.out.replace(str(MINIMAL), "minimal"))


def test_every_value_names_its_line_or_what_fills_the_gap(here: Run) -> None:
    values = {str(value["name"]): value for value in told(here, "forecast", str(MINIMAL))["values"]}
    lines = minimal()[FORECAST].decode().splitlines()
    for name, value in values.items():
        if value["line"]:
            assert name.split(".", maxsplit=1)[0] in lines[int(str(value["line"])) - 1]
            assert value["source"] == "written"
    assert values["floor"]["source"] == "written"
    assert values["drain.budget"]["source"] == "tier anchored"
    assert values["deadline"]["source"] == "default"


def test_a_written_promise_replaces_its_preset_whole(here: Run, tmp_path: Path) -> None:
    estate = laid(tmp_path, maximum="checkpoint: {mode: periodic, interval: 10m}\nmaximum")
    values = {str(value["name"]): value for value in told(here, "forecast", estate)["values"]}
    assert (values["checkpoint.interval"]["source"], values["checkpoint.interval"]["value"]) == ("written", "10m")
    assert (values["checkpoint.startUp"]["source"], values["checkpoint.startUp"]["value"]) == ("default", "0s")
    assert "checkpoint.size" not in values


def test_a_notice_adds_up_against_each_window(here: Run) -> None:
    (notice,) = told(here, "forecast", str(MINIMAL))["notices"]
    steps = notice["steps"]
    assert isinstance(steps, list)
    assert [step["at_s"] for step in steps] == [0, 1, 3, 63, 68]
    assert (notice["window_s"], notice["spare_s"]) == (120, 52)


def test_every_pool_of_the_region_is_eligible_or_says_why_not(here: Run, tmp_path: Path) -> None:
    estate = laid(tmp_path, maximum="drain: {budget: 115s, how: evict}\nmaximum")
    pools = told(here, "forecast", estate)["pools"]
    assert {pool["eligible"] for pool in pools if pool["committed"]} == {True}
    assert {tuple(pool["reasons"]) for pool in pools if not pool["committed"]} == {  # type: ignore[arg-type]  # JSON
        ("its notice of 120 s is shorter than 123 s",)
    }


def test_a_refused_contract_is_explained_with_its_findings(here: Run, tmp_path: Path) -> None:
    estate = laid(tmp_path, maximum="drain: {budget: 115s, how: evict}\nmaximum")
    ended = here("explain", "contract", "forecast", "--estate", estate)
    assert ended.code == 0
    assert "3 s short" in ended.out
    assert "EBT-201" in ended.out.partition("findings")[2]


@pytest.mark.parametrize("largest", [40, 52, 80])
def test_the_limit_that_is_named_is_the_one_that_refuses(here: Run, tmp_path: Path, largest: int) -> None:
    limits = told(here, "forecast", laid(tmp_path, **{"maximum: 40": f"maximum: {largest}"}))["limits"]
    (spread,) = [limit for limit in limits if limit["code"] == "EBT-202"]
    most = 4 + int(str(spread["allowed"]))
    for count, refused in ((most, False), (most + 1, True)):
        estate = laid(tmp_path / str(count), **{"maximum: 40": f"maximum: {count}"})
        codes = {finding["code"] for finding in told(here, "forecast", estate)["findings"]}
        assert ("EBT-202" in codes) == refused


def test_an_unknown_contract_is_an_error_with_the_nearest(here: Run) -> None:
    ended = here("explain", "contract", "forcast", "--estate", str(MINIMAL))
    assert ended.code == 2
    assert "did you mean forecast?" in ended.err


def test_without_an_estate_named_the_one_you_are_in_is_read(
    here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, content in minimal().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    assert here("explain", "contract", "hindcast").out.startswith("hindcast  tier 4, requeued; team tides")

"""`ebbtide simulate` as it is typed: what it refuses, what it prints, its exit codes, and that nothing of it stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ebbtide import simulate
from tests.cli.conftest import ROOT, Run
from tests.hunt.stand_in import stand_in

WIDEST = 100


@pytest.fixture
def hunted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The command over the stand-in, in a folder of its own."""
    monkeypatch.setattr(simulate, "region_histories", stand_in)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seeds", "3-1"), "ends before it begins"),
        (("--seeds", "5"), "not a range such as 1-40"),
        (("--seeds", "1-999999"), "more than 100,000 seeds"),
        (("--seed", "x"), "not a whole number"),
        (("--seed", "1", "--days", "0"), "not a number of days"),
        (("--seed", "1", "--days", "inf"), "not a number of days"),
        (("--seed", "1", "--faults", "crash#0"), "is no fault such as crash or crash#2"),
        (("--seed", "1", "--faults", "all,crash"), "all and none stand alone"),
        (("--seed", "1", "--faults", ""), "is no fault"),
        (("--seed", "1", "--jobs", "0"), "not a number of processes"),
        (("--seed", "1", "--seeds", "1-2"), "not allowed with"),
        (("--scenario", "sunny"), "invalid choice"),
        ((), "is required"),
        (("--seed", "1", "--faults", "krash"), "there is no fault 'krash'; did you mean crash?"),
        (("--seed", "1", "--faults", "crash#99"), "this seed draws 8 of crash, and 'crash#99' is none of them"),
        (("--seed", "1", "--region", "aarhus"), "a small region has no name of its own"),
        (("--seed", "1", "--until", "2"), "--until 2 lies beyond --days 1"),
    ],
)
def test_what_cannot_be_run_ends_with_2_and_says_why(
    hunted: Path, here: Run, words: tuple[str, ...], said: str
) -> None:
    ended = here("simulate", *words)
    assert ended.code == 2
    assert said in ended.err
    assert not ended.out
    assert not list(hunted.iterdir())


def test_clean_seeds_end_with_0_and_write_nothing(hunted: Path, here: Run) -> None:
    ended = here("simulate", "--seeds", "1-4")
    assert ended.code == 0
    assert "4 histories, 4 region-days" in ended.out
    assert "all held" in ended.out
    assert not list(hunted.iterdir())


def test_a_failing_seed_ends_with_1_its_command_its_shrunk_command_and_its_story(hunted: Path, here: Run) -> None:
    ended = here("simulate", "--seeds", "1-10")
    assert ended.code == 1
    assert "broken in 3 of 10 histories" in ended.out
    assert "repeat  ebbtide simulate --seed 5 --days 1 --faults all" in ended.out
    shrunk = next(line for line in ended.out.splitlines() if "shrunk" in line and "--seed 5" in line)
    assert "--faults crash#2,listing_stale#1" in shrunk
    assert max(map(len, ended.out.splitlines())) <= WIDEST
    story = hunted.joinpath(".simulate", "seed-5-bounds.txt").read_text(encoding="utf-8")
    assert "broken  bounds" in story
    again = here("simulate", *shrunk.split()[3:])
    assert again.code == 1
    assert "bounds" in again.out


def test_the_document_holds_every_failing_seed(hunted: Path, here: Run) -> None:
    ended = here("simulate", "--seeds", "1-10", "--output", "json", "--shrink", "0")
    document = json.loads(ended.out)
    assert [one["seed"] for one in document["failing"]] == [5, 7, 10]
    assert (document["region_days"], document["breaches"]) == (10.0, 3)
    assert [cause["broken"]["checker"] for cause in document["causes"]] == ["bounds", "liveness"]
    assert all(cause["runs"] == 0 for cause in document["causes"])
    assert hunted.joinpath(document["causes"][0]["story"]).is_file()


def test_the_first_that_fails_ends_a_hunt(hunted: Path, here: Run) -> None:
    for jobs in ("1", "3"):
        ended = here("simulate", "--seeds", "1-40", "--first", "--jobs", jobs, "--output", "json", "--shrink", "0")
        document = json.loads(ended.out)
        assert (document["histories"], [one["seed"] for one in document["failing"]]) == (5, [5])
    assert hunted.joinpath(".simulate").is_dir()


def test_a_transcript_goes_where_it_is_asked_for_also_of_a_clean_seed(hunted: Path, here: Run) -> None:
    assert here("simulate", "--seed", "1", "--transcript", "clean.txt").code == 0
    assert "broken  nothing" in hunted.joinpath("clean.txt").read_text(encoding="utf-8")
    assert here("simulate", "--seed", "5", "--transcript", "broken.txt").code == 1
    assert "broken  bounds" in hunted.joinpath("broken.txt").read_text(encoding="utf-8")


def test_the_kinds_of_faults_are_listed_with_a_sentence_each(here: Run) -> None:
    ended = here("simulate", "--list-faults", "--output", "json")
    kinds = json.loads(ended.out)["faults"]
    assert len(kinds) > 40
    assert all(kind["told"] for kind in kinds)
    assert ended.code == 0
    assert "crash" in here("simulate", "--list-faults").out


def test_an_interrupt_ends_every_process(tmp_path: Path) -> None:
    """Three processes that each would work for minutes are gone when the command is."""
    program = (
        "import sys\nfrom ebbtide import simulate\nfrom tests.hunt.slow import slow\nsimulate.region_histories = slow\n"
        "from ebbtide.__main__ import main\nif __name__ == '__main__':\n    sys.exit(main(sys.argv[1:]))\n"
    )
    script = tmp_path / "slow_hunt.py"
    script.write_text(program, encoding="utf-8")
    words = [sys.executable, str(script), "simulate", "--seeds", "1-9", "--jobs", "3"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HUNT_SIGNS": str(tmp_path)}
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as hunt:
        while len(list(tmp_path.glob("began-*"))) < 3:
            assert hunt.poll() is None, hunt.communicate()[1].decode()
        hunt.send_signal(signal.SIGINT)
        _, said = hunt.communicate(timeout=60)
    assert hunt.returncode == 130, said.decode()
    assert "interrupted" in said.decode()
    for sign in tmp_path.glob("began-*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(sign.name.partition("-")[2]), 0)

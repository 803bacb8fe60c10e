"""`ebbtide run --provider` at the edges: who may run where, what a look touches, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ebbtide.run_log import CycleLine, as_json, as_text
from ebbtide.run_state import alone_in, running_in
from ebbtide.text import Paint
from repo_layout.adapters.git_lay import lay
from simulation.adapters.sandbox_server import read_account
from tests.checks.estates import changed, minimal
from tests.cli.conftest import ROOT, Run, typed
from tests.reconciler.builders import ESTATE, REGION
from tests.run.region import SWAPS, quiet, served_here
from tests.run.site import AUTHORSHIP, Site, lay_site


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return lay_site(tmp_path_factory.mktemp("site"), SWAPS, lambda words: typed(*words).code)


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Iterator[Path]:
    """The small region, served in lockstep by a thread."""
    with served_here(tmp_path / "s", quiet()) as path:
        yield path


def told(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_it_runs_until_nothing_is_left_to_do_and_goes_on_from_there(here: Run, site: Site, path: Path) -> None:
    state = path.with_name("state")
    ended = here(*site.words(path, state, "--until-idle", "--cycles", "40"))
    assert ended.code == 0, ended.err
    lines = told(ended.out)
    assert [lines[0]["event"], lines[-1]["event"]] == ["started", "ended"]
    assert all(line["commit"] and line["leads"] for line in lines if line["event"] == "cycle")
    done = len(read_account(path.with_name("s.account")))
    again = told(here(*site.words(path, state, "--cycles", "1")).out)[1]
    assert len(read_account(path.with_name("s.account"))) == done
    assert again["instances"] == lines[-2]["instances"]
    assert int(str(again["epoch"])) > int(str(lines[-2]["epoch"]))


def test_each_line_of_a_new_estates_first_day_says_that_it_is_closed_until_a_person_opens_it(
    here: Run, site: Site, path: Path
) -> None:
    state = path.with_name("state")
    words, reservations = site.words(path, state, "--cycles", "1"), ("reservations", "--state", str(state))
    problem = str(told(here(*words).out)[1]["problem"])
    assert problem.startswith("no fallback is bought on ")
    assert "ebbtide reservations" in problem
    assert here(*reservations).code == 1
    assert here(*reservations, "--open-day", "--by", "tides-lead").code == 0
    assert told(here(*words).out)[1]["problem"] == ""
    assert here(*reservations).code == 0


def test_a_look_touches_nothing(here: Run, site: Site, path: Path) -> None:
    ended = here(*site.words(path, path.with_name("state"), "--dry-run"))
    assert ended.code == 1, ended.err  # first contact is more than the ramp lets through
    assert json.loads(ended.out)["steps"]
    assert not path.with_name("state").exists()
    assert read_account(path.with_name("s.account")) == []


def test_a_second_run_in_one_state_directory_is_refused(here: Run, site: Site, path: Path) -> None:
    state = running_in(path.with_name("state"))
    with alone_in(state):
        ended = here(*site.words(path, state.folder, "--cycles", "1"))
    assert ended.code == 2
    assert "one reconciler runs on it" in ended.err
    assert read_account(path.with_name("s.account")) == []


def test_a_folder_that_no_reconciler_left_is_refused_and_keeps_what_it_holds(here: Run, site: Site, path: Path) -> None:
    folder = path.with_name("mine")
    folder.mkdir()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    ended = here(*site.words(path, folder, "--cycles", "1"))
    assert ended.code == 2
    assert "no reconciler left" in ended.err
    assert [one.name for one in folder.iterdir()] == ["notes.txt"]


def test_another_region_s_state_directory_is_refused(here: Run, site: Site, path: Path) -> None:
    state = running_in(path.with_name("state"))
    state.identified(ESTATE, "south")
    ended = here(*site.words(path, state.folder, "--cycles", "1"))
    assert ended.code == 2
    assert f"region south of estate {ESTATE}" in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "what to run is not said"),
        (("--once", "--store", "x"), "--store goes with --provider"),
        (("--provider", "nowhere", "--hours", "1"), "--hours is for a simulated day"),
        (("--provider", "nowhere"), "nobody serves nowhere"),
    ],
)
def test_words_that_do_not_go_together_say_so(here: Run, words: tuple[str, ...], said: str) -> None:
    ended = here("run", *words)
    assert ended.code == 2
    assert said in ended.err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_in_order(site: Site, path: Path, number: signal.Signals, code: int) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "ebbtide", *site.words(path, path.with_name("state"))],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    with running:
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.readline()
        running.send_signal(number)
        last = told(running.stdout.read())[-1]
    assert running.returncode == code
    assert (last["event"], last["why"]) == ("ended", f"this process was asked to end ({number.name})")


def test_a_line_says_the_same_to_people_and_to_machines() -> None:
    line = CycleLine(
        at=1_767_225_600_000,
        cycle=3,
        region=REGION,
        commit="abc",
        epoch=2,
        leads=True,
        did={"acquire claim_grew": 4},
        held={"release ramp": 1},
        instances={"serving": 9},
        deferred=0,
        unrecorded=2,
        stopped="asked",
        problem="",
        next_ms=300_000,
    )
    assert as_text(line, Paint()) == (
        "00:00:00  cycle 3  acquire 4 (claim_grew)  held back: release 1 (ramp)  9 serving  asked"
        "  2 events wait for room  next in 300 s"
    )
    assert json.loads(as_json(line))["did"] == {"acquire claim_grew": 4}


def test_a_followed_branch_is_taken_when_it_grows(here: Run, path: Path) -> None:
    repository = path.with_name("estate.git")
    files = minimal()
    for name, old, new in SWAPS:
        files = changed(name, (old, new), files=files)
    first = lay(repository, files, AUTHORSHIP)
    words = ("run", "--provider", str(path), "--state", str(path.with_name("state")), "--output", "json")
    more = ("--estate", str(repository), "--branch", "main", "--cycles", "1")
    ended = here(*words, *more)
    assert ended.code in (0, 1), ended.err
    assert told(ended.out)[0]["commit"] == first
    assert path.with_name("state").joinpath("accepted.commit").read_text("ascii") == first


def test_a_branch_without_a_repository_is_refused(here: Run, path: Path) -> None:
    ended = here("run", "--provider", str(path), "--branch", "main", "--state", str(path.with_name("state")))
    assert ended.code == 2
    assert "without a repository" in ended.err

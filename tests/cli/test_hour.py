"""One simulated hour, and everything that a person can ask about it afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from ebbtide.state import State
from tests.cli.conftest import ROOT, Ended, typed


def asked(hour: Path, *words: str) -> Ended:
    """A question to the hour's state directory."""
    return typed(*words, "--state", str(hour))


def document(ended: Ended) -> dict[str, object]:
    """The JSON of a command that succeeded."""
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert isinstance(found, dict)
    return found


@pytest.fixture(name="taken", scope="module")
def _taken(hour: Path) -> str:
    """An instance that had notice within the hour or its warm-up and whose work was lost."""
    ids = asked(hour, "savings", "--behind", "redone_paid").out.split()
    assert ids, "no work was lost in this hour: choose another seed"
    return next(name.split("/")[2] for name in ids)


def test_the_demo_leaves_two_days_a_report_and_the_next_thing_to_type(demo: tuple[Path, Ended]) -> None:
    state, ended = demo
    found = document(ended)
    days = found["days"]
    assert isinstance(days, list)
    assert [day["policy"] for day in days] == ["ebbtide", "price-first"]
    assert days[0]["acts"]["broke_a_bound"] == 0
    assert all(day["consistent"] for day in days)
    assert found["recorded"] is False
    assert "<svg" in (state / "report.html").read_text(encoding="utf-8")
    assert {path.name for path in state.iterdir()} >= {"estate.git", "spool", "ledger", "run.json", "price-first"}
    assert "ebbtide    : 0 %" in ended.err
    assert "price-first: 0 %" in ended.err


def test_the_state_holds_the_estate_that_was_run_as_one_commit(hour: Path) -> None:
    commit = State(hour).read().commit
    shown = subprocess.run(
        ["git", "-C", str(hour / "estate.git"), "rev-list", "--all"], check=True, capture_output=True, text=True
    )
    assert shown.stdout.split() == [commit]


def test_the_peers_books_open_as_ours_do(hour: Path) -> None:
    found = document(asked(hour, "savings", "--policy", "price-first", "--output", "json"))
    assert found["consistent"] is True


def test_one_cycle_is_carried_out_and_recorded(tmp_path: Path) -> None:
    state = tmp_path / "state"
    ended = typed("run", "--once", "--at", "00:01", "--model", "--output", "json", "--state", str(state))
    assert ended.code in (0, 1), ended.err
    steps = json.loads(ended.out)["steps"]
    assert document(typed("savings", "--state", str(state), "--output", "json"))["consistent"] is True
    asked_for = {step["instance"] for step in steps if step["kind"] == "acquire"}
    told = {one.name for one in State(state).read().standing}
    assert steps
    assert told
    assert not asked_for & {""}


def test_the_books_are_in_order(hour: Path) -> None:
    found = document(asked(hour, "savings", "--output", "json"))
    assert found["consistent"] is True
    assert found["invoice_difference_ticks"] == "0"
    total = found["total"]
    assert isinstance(total, dict)
    terms = ("reclaimable_paid", "floor_paid", "fallback_paid", "headroom_paid", "storage", "footprint")
    assert int(total["net"]) == int(total["useful_value"]) - sum(int(total[name]) for name in terms)


def test_tiers_sum_to_the_total(hour: Path) -> None:
    found = document(asked(hour, "savings", "--tier", "--output", "json"))
    rows, total = found["rows"], found["total"]
    assert isinstance(rows, dict)
    assert isinstance(total, dict)
    assert sum(int(row["net"]) for row in rows.values()) == int(total["net"])
    assert [name.split()[0] for name in rows] == sorted(name.split()[0] for name in rows)


def test_every_number_opens_down_to_events_that_can_be_explained(hour: Path) -> None:
    ids = asked(hour, "savings", "--behind", "redone_paid").out.split()
    ended = asked(hour, "explain", "action", ids[0])
    assert ended.code == 0, ended.err
    assert ids[0] in ended.out
    assert "unit-minutes of work again" in ended.out


def test_a_lost_instance_is_followed_from_its_request_to_the_money(hour: Path, taken: str) -> None:
    ended = asked(hour, "explain", "action", taken)
    assert ended.code == 0, ended.err
    for word in ("asked for", "started", "work", "what its end cost", "in all", f"explain action {taken} --tree"):
        assert word in ended.out
    told = [line for line in ended.out.splitlines() if "--state" not in line]
    assert max(map(len, told)) <= 100
    found = document(asked(hour, "explain", "action", taken, "--output", "json"))
    cost = found["cost"]
    assert isinstance(cost, dict)
    assert Decimal(cost["total"]) == sum(Decimal(cost[name]) for name in ("redone", "draining", "restarting"))


def test_a_drain_on_notice_is_told_from_the_nodes_own_journal(hour: Path) -> None:
    first = State(hour).journal.read_bytes().split(b"\t")[0].decode()
    ended = asked(hour, "explain", "drain", first)
    assert ended.code == 0, ended.err
    assert "-> taint" in ended.out
    assert "verified" in ended.out or "overrun" in ended.out or "withdrawn" in ended.out


def test_a_workload_shows_its_promises_its_pools_and_its_bounds(hour: Path) -> None:
    workload = State(hour).read().standing[0].workload
    ended = asked(hour, "explain", "workload", workload)
    assert ended.code == 0, ended.err
    for word in ("promises", "tolerance", "pools", "guaranteed", "stands", "of at most", "money"):
        assert word in ended.out
    found = document(asked(hour, "explain", "workload", workload, "--output", "json"))
    assert found["workload"] == workload
    assert found["pools"]


def test_a_pool_shows_its_rate_its_hazard_and_who_stands_there(hour: Path) -> None:
    standing = State(hour).read().standing[0]
    ended = asked(hour, "explain", "pool", standing.pool)
    assert ended.code == 0, ended.err
    for word in ("rate", "hazard", "exclusions", "losses", "who stands there", standing.workload):
        assert word in ended.out
    assert document(asked(hour, "explain", "pool", standing.pool, "--output", "json"))["standing"]


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("explain", "workload"), "workload"),
        (("explain", "pool"), "pool"),
        (("explain", "action"), "instance"),
        (("explain", "drain"), "instance"),
        (("savings", "--workload"), "workload"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(
    hour: Path, words: tuple[str, ...], near: str
) -> None:
    name = getattr(State(hour).read().standing[0], {"instance": "name"}.get(near, near))
    ended = asked(hour, *words, f"{name}x")
    assert ended.code == 2
    assert name in ended.err
    assert not ended.out


def test_a_state_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    ended = typed("savings", "--state", str(tmp_path / "none"))
    assert ended.code == 2
    assert "ebbtide demo --state" in ended.err


def test_a_busy_ledger_is_said_to_be_busy(hour: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from ebbtide.state import State\n"
        "with State(Path(sys.argv[1])).ledger():\n"
        "    print('open', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(hour)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        ended = asked(hour, "savings")
        holder.communicate("")
    assert ended.code == 2
    assert "in use by another ebbtide command" in ended.err
    assert ended.err.count("\n") == 2


def test_a_folder_with_something_else_in_it_is_never_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    ended = typed("run", "--hours", "1", "--model", "--state", str(tmp_path))
    assert ended.code == 2
    assert "thesis.txt" in ended.err
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_the_first_plan_for_an_empty_region_acquires_and_touches_nothing() -> None:
    ended = typed("plan", "--empty", "--model", "--output", "json")
    assert ended.code in (0, 1), ended.err
    found = json.loads(ended.out)
    assert {step["kind"] for step in found["steps"]} == {"acquire"}
    assert {"floor", "claim_grew"} >= {step["cause"] for step in found["steps"]}
    assert (ended.code == 1) == bool(found["refused"])


def all_gone(group: int) -> bool:
    """Whether every process of the group ends within a minute: the last one notices that the others did."""
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        threading.Event().wait(0.1)
    return False


@pytest.fixture(name="interruptible")
def _interruptible() -> Iterator[None]:
    """Lets children be interrupted although a shell started the tests with `&`, which makes them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_demo_ends_with_130_and_leaves_no_process_behind(tmp_path: Path) -> None:
    words = ("demo", "--model", "--progress", "--state", str(tmp_path / "state"))
    demo = subprocess.Popen(
        [sys.executable, "-m", "ebbtide", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with demo:
        assert demo.stderr is not None
        for line in demo.stderr:
            if line.startswith("price-first:"):  # both days pass now
                break
        os.killpg(demo.pid, signal.SIGINT)
        out, err = demo.communicate(timeout=60)
    assert demo.returncode == 130
    assert err.endswith("ebbtide: interrupted\n")
    assert not out
    assert all_gone(demo.pid)


def test_an_unknown_region_is_answered_with_the_regions_there_are() -> None:
    ended = typed("plan", "--region", "arhus", "--model")
    assert ended.code == 2
    assert "did you mean aarhus?" in ended.err


def test_a_ledger_without_the_day_is_never_a_saving_of_nothing(hour: Path, tmp_path: Path) -> None:
    shutil.copy(hour / "run.json", tmp_path)
    assert "there is no ledger" in asked(tmp_path, "savings").err
    (tmp_path / "ledger").mkdir()
    ended = asked(tmp_path, "savings")
    assert (ended.code, ended.out) == (2, "")
    assert "its invoice is 0.00 EUR, not " in ended.err


def test_a_planner_that_did_not_run_has_no_savings(hour: Path, tmp_path: Path) -> None:
    record = json.loads((hour / "run.json").read_text(encoding="utf-8"))
    record["policies"] = record["policies"][:1]
    (tmp_path / "run.json").write_text(json.dumps(record), encoding="utf-8")
    ended = asked(tmp_path, "savings", "--policy", "price-first")
    assert ended.code == 2
    assert "no day under price-first" in ended.err

"""`ebbtide stop` and `ebbtide approve`: orders that need nothing else to be up, and that are written down."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.approval import is_approved_by, read_approval
from ebbtide.stop import local_orders
from reconciler.adapters.stop_store import StoreStop
from reconciler.adapters.store_file import FileStore
from tests.cli.conftest import ROOT, Run

BY = ("--by", "tides-lead")


def test_a_stop_is_heard_by_the_next_read_and_ends_with_a_resumption(here: Run, tmp_path: Path) -> None:
    state = ("--state", str(tmp_path))
    heard = local_orders(tmp_path)
    assert here("stop", "the listing lies", *state, *BY).code == 0
    assert heard.stop.reason().startswith("the listing lies (tides-lead, ")
    assert here("stop", "--status", *state).code == 1
    assert here("stop", "--resume", *state, *BY).code == 0
    assert heard.stop.reason() == ""
    told = here("stop", "--status", *state, "--output", "json")
    assert told.code == 0
    assert [(row["order"], row["who"]) for row in json.loads(told.out)["orders"]] == [
        ("stop", "tides-lead"),
        ("resume", "tides-lead"),
    ]
    assert "nothing was stopped" in here("stop", "--resume", *state, *BY).out


def test_a_stop_needs_a_reason(here: Run, tmp_path: Path) -> None:
    ended = here("stop", "--state", str(tmp_path))
    assert ended.code == 2
    assert "needs a reason" in ended.err
    assert not list(tmp_path.iterdir())


def test_a_listing_is_accepted_up_to_its_time_and_none_to_come(here: Run, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere"
    accepted = here("stop", "they burnt", "--accept-listing", "2026-01-01T00:00:00Z", "--stop-file", str(file), *BY)
    assert accepted.code == 0
    assert local_orders(tmp_path, file).accepted_at() == 1_767_225_600_000
    (order,) = local_orders(tmp_path, file).orders(0)
    assert (order.what, order.reason, order.until) == ("accept-listing", "they burnt", 1_767_225_600_000)
    late = here("stop", "--accept-listing", "2999-01-01T00:00:00Z", "--stop-file", str(file), *BY)
    assert late.code == 2


def test_a_stop_loads_nothing_that_talks_to_anybody() -> None:
    program = (
        "import sys, ebbtide.stop\n"
        "print(sorted({'pygit2', 'chdb', 'confluent_kafka', 'numpy', 'clickhouse_connect'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_an_approval_is_signed_with_the_key_whose_public_one_goes_into_the_directory(here: Run, tmp_path: Path) -> None:
    made = here("keys", "pair", str(tmp_path), "head", "--output", "json")
    key = bytes.fromhex(json.loads(made.out)["approvalKey"])
    words = ("--estate", "minimal", "--region", "north", "--commit", "c" * 40, "--by", "head-of-cloud")
    more = ("--reason", "the code host is down", "--key", str(tmp_path / "head.pem"), "--state", str(tmp_path))
    assert here("approve", *words, *more).code == 0
    (found,) = local_orders(tmp_path).signed()
    assert is_approved_by(key, found)
    assert (found.approval.region, found.approval.approver) == ("north", "head-of-cloud")
    assert not is_approved_by(bytes(32), found)


def test_what_is_no_approval_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "approvals"
    folder.mkdir()
    (folder / "a.approval.json").write_bytes(b"{}")
    (folder / "b.approval.json").write_bytes(b"\xff" * 20_000)
    (folder / "c.approval.json").symlink_to(folder / "nothing")
    assert local_orders(tmp_path).signed() == ()


def test_a_signed_approval_that_was_changed_is_no_approval_any_more(here: Run, tmp_path: Path) -> None:
    here("keys", "pair", str(tmp_path), "head")
    out = tmp_path / "approval"
    words = ("--estate", "minimal", "--region", "north", "--commit", "c" * 40, "--by", "head-of-cloud")
    here("approve", *words, "--reason", "why", "--key", str(tmp_path / "head.pem"), "--out", str(out))
    signed = read_approval(out.read_bytes())
    key = bytes.fromhex(json.loads(here("keys", "pair", str(tmp_path), "other", "--output", "json").out)["approvalKey"])
    assert not is_approved_by(key, signed)


def test_a_stop_in_the_shared_store_is_seen_by_every_replica_and_taken_away_again(here: Run, tmp_path: Path) -> None:
    shared = ("--store", str(tmp_path), "--region", "north")
    reader = StoreStop(FileStore(tmp_path), region="north", monotonic=lambda: 0)
    assert here("stop", "the listing lies", *shared, *BY).code == 0
    assert reader.reason().startswith("the listing lies (tides-lead, ")
    assert here("stop", "--status", *shared).code == 1
    assert here("stop", "--resume", *shared, *BY).code == 0
    assert here("stop", "--status", *shared).code == 0
    assert StoreStop(FileStore(tmp_path), region="north", monotonic=lambda: 0).reason() == ""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--store", "nowhere", "--region", "north"), "there is no store"),
        (("--store", "."), "a folder and a region"),
        (("--region", "north"), "a folder and a region"),
    ],
)
def test_a_shared_stop_without_a_store_or_a_region_is_one_clear_error(
    here: Run, more: tuple[str, ...], words: str
) -> None:
    ended = here("stop", "the listing lies", *BY, *more)
    assert ended.code == 2
    assert words in ended.err

"""`ebbtide reservations`: shows the wallet, and opens a closed day in somebody's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ebbtide.run_state import running_in
from reconciler.adapters.store_file import FileStore
from reconciler.arbiter import Wallet
from reconciler.opening import key_of
from reconciler.wallets import read_wallet, write_wallet
from tests.cli.conftest import Run

DAY = "2026-01-01"
CLOSED = Wallet(DAY, {"tides-lead": 1_500_000}, {"forecast": 1_500_000}, epoch=3, closed=True)


def kept(folder: Path, wallet: Wallet = CLOSED) -> FileStore:
    folder.mkdir(exist_ok=True)
    store = FileStore(folder)
    store.put(key_of("north"), write_wallet(wallet), expected="")
    return store


def stored(store: FileStore) -> Wallet:
    found = store.get(key_of("north"))
    assert found is not None
    return read_wallet(found.value)


def test_a_closed_day_is_shown_with_what_is_reserved_and_the_word_that_opens_it(here: Run, tmp_path: Path) -> None:
    kept(tmp_path)
    shown = here("reservations", "--store", str(tmp_path), "--region", "north")
    assert shown.code == 1
    for words in (f"north, {DAY}: closed", "tides-lead  1.500000", "forecast  1.500000", "--open-day --by ID"):
        assert words in shown.out


def test_a_person_opens_the_day_and_what_was_reserved_stays(here: Run, tmp_path: Path) -> None:
    store = kept(tmp_path)
    where = ("--store", str(tmp_path), "--region", "north", "--output", "json")
    opened = here("reservations", "--open-day", "--by", "tides-lead", *where)
    assert opened.code == 0
    assert json.loads(opened.out) == {
        "region": "north",
        "day": DAY,
        "closed": False,
        "openedBy": "tides-lead",
        "authorities": {"tides-lead": "1.500000"},
        "workloads": {"forecast": "1.500000"},
    }
    wallet = stored(store)
    assert (wallet.closed, wallet.epoch, wallet.reserved_micro) == (False, 3, CLOSED.reserved_micro)
    assert wallet.opened_at > 0


def test_an_open_day_is_not_opened_again_in_another_name(here: Run, tmp_path: Path) -> None:
    store = kept(tmp_path, Wallet(DAY, epoch=3, opened_by="tides-lead", opened_at=1))
    assert here("reservations", "--open-day", "--by", "x", "--store", str(tmp_path), "--region", "north").code == 0
    assert stored(store).opened_by == "tides-lead"


@pytest.mark.parametrize("who", [(), ("--by", " ")])
def test_nobody_opens_a_day_in_no_name(here: Run, tmp_path: Path, who: tuple[str, ...]) -> None:
    store = kept(tmp_path)
    ended = here("reservations", "--open-day", *who, "--store", str(tmp_path), "--region", "north")
    assert ended.code == 2
    assert "somebody has to answer" in ended.err
    assert stored(store) == CLOSED


def test_a_state_directory_says_its_own_region(here: Run, tmp_path: Path) -> None:
    state = running_in(tmp_path / "state")
    state.identified("tides", "north")
    assert "nothing is kept of region north yet" in here("reservations", "--state", str(state.folder)).err
    kept(state.store, Wallet(DAY, epoch=1))
    shown = here("reservations", "--state", str(state.folder))
    assert (shown.code, shown.out) == (0, f"north, {DAY}: open\n  nothing is reserved\n")


def test_a_folder_without_a_reconciler_and_a_damaged_wallet_are_refused(here: Run, tmp_path: Path) -> None:
    assert here("reservations", "--state", str(tmp_path)).code == 2
    assert here("reservations", "--store", str(tmp_path)).code == 2
    FileStore(tmp_path).put(key_of("north"), b"{}", expected="")
    ended = here("reservations", "--store", str(tmp_path), "--region", "north")
    assert ended.code == 2
    assert "damaged" in ended.err

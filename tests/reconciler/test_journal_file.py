"""The journal as a file and the spool as a recorder: whole or not at all, and one process at a time."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.errors import Refused, Transient
from ledger.spool import Spool
from reconciler.adapters.journal_file import DRAFT, NAME, JournalFile
from reconciler.adapters.spool_recorder import SpoolRecorder
from tests.reconciler.builders import Region


def test_nothing_was_saved_is_none_and_what_was_saved_comes_back(tmp_path: Path) -> None:
    with JournalFile(tmp_path / "state") as journal:
        assert journal.load() is None
        journal.save(b"one")
        journal.save(b"two")
        assert journal.load() == b"two"
    with JournalFile(tmp_path / "state") as journal:
        assert journal.load() == b"two"


def test_an_empty_file_is_something_that_is_there(tmp_path: Path) -> None:
    (tmp_path / NAME).touch()
    with JournalFile(tmp_path) as journal:
        assert journal.load() == b""


def test_a_second_process_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from reconciler.adapters.journal_file import JournalFile\n"
        "try:\n JournalFile(Path(sys.argv[1]))\nexcept Exception as error:\n print(type(error).__name__, error)"
    )
    with JournalFile(tmp_path):
        found = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
        assert found.stdout.startswith("Refused another process holds the state directory")
        with pytest.raises(Refused, match="one reconciler"):
            JournalFile(tmp_path)
    JournalFile(tmp_path).close()


def test_without_room_the_old_one_stands_and_the_draft_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with JournalFile(tmp_path) as journal:
        journal.save(b"one")
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(Transient, match="No space left"):
                journal.save(b"two")
        assert journal.load() == b"one"
        assert not (tmp_path / DRAFT).exists()
        journal.save(b"three")
        assert journal.load() == b"three"


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="cannot hold a journal"):
        JournalFile(tmp_path / "file")


def test_a_journal_that_cannot_be_read_is_never_an_empty_disk(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with JournalFile(tmp_path) as journal, pytest.raises(Refused, match=r"docs/state\.md"):
        journal.load()


def test_a_closed_journal_takes_nothing_and_closes_twice(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path)
    journal.close()
    journal.close()
    with pytest.raises(Refused, match="closed"):
        journal.save(b"late")


def test_the_spools_position_grows_with_each_batch_and_stays_when_it_is_opened_again(tmp_path: Path) -> None:
    events = Region().settled(4).recorder.events
    with Spool(tmp_path) as spool:
        recorder = SpoolRecorder(spool)
        before = recorder.position()
        recorder.record(events[:3])
        after = recorder.position()
        assert after > before
        assert recorder.pending_bytes() == after - before
        spool.acknowledge(after)
        assert recorder.pending_bytes() == 0
    with Spool(tmp_path) as spool:
        assert SpoolRecorder(spool).position() == after

"""The stores under the suite, and what the file store and the faulty one show beyond it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from contracts.errors import Refused, Transient
from reconciler.adapters.store_file import FileStore
from reconciler.ports import Store
from reconciler.store_faulty import FaultyStore
from reconciler.store_memory import MemoryStore
from tests.conformance.store_suite import KEY, StoreSuite, add_one

ROOT = Path(__file__).parents[2]
COUNT = """
import sys
from pathlib import Path
from reconciler.adapters.store_file import FileStore
from tests.conformance.store_suite import add_one
store = FileStore(Path(sys.argv[1]), patience_s=60)
sys.stdin.readline()
for _ in range(int(sys.argv[3])):
    add_one(store, sys.argv[2])
"""


class MemoryStage:
    """A dictionary that threads share; silence and damage come from the wrapper in front."""

    def __init__(self) -> None:
        self.memory = MemoryStore()
        self.wire = FaultyStore(self.memory)

    def store(self) -> Store:
        return self.wire

    def silence(self) -> None:
        self.wire.fail("get", *[Transient("silent")] * 10)
        self.wire.fail("put", *[Transient("silent")] * 10)

    def remove(self, key: str) -> None:
        del self.memory.values[key]

    def damage(self, key: str) -> None:
        self.wire.fail("get", Refused(f"{key} is damaged"))

    def count_up(self, key: str, *, writers: int, each: int) -> None:
        def work() -> None:
            for _ in range(each):
                add_one(self.memory, key)

        threads = [threading.Thread(target=work) for _ in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class FileStage:
    """A directory that processes share."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def store(self) -> FileStore:
        return FileStore(self.directory, patience_s=0.05)

    def path(self, key: str) -> Path:
        return self.store()._path(key)

    def silence(self) -> None:
        shutil.rmtree(self.directory)

    def remove(self, key: str) -> None:
        self.path(key).unlink()

    def damage(self, key: str) -> None:
        path = self.path(key)
        path.write_bytes(path.read_bytes()[:-1])

    def count_up(self, key: str, *, writers: int, each: int) -> None:
        running = [
            subprocess.Popen(
                [sys.executable, "-c", COUNT, str(self.directory), key, str(each)], stdin=subprocess.PIPE, cwd=ROOT
            )
            for _ in range(writers)
        ]
        for process in running:
            assert process.stdin is not None
            process.stdin.close()  # the end of its input is the word to begin
        assert [process.wait() for process in running] == [0] * writers


class TestMemoryStore(StoreSuite):
    @pytest.fixture
    def stage(self) -> MemoryStage:
        return MemoryStage()


class TestFileStore(StoreSuite):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> FileStage:
        return FileStage(tmp_path / "store")


# -- the file store beyond the suite ----------------------------------------------------------------------------------


def written(tmp_path: Path, value: bytes = b"value") -> tuple[FileStore, Path, str]:
    store = FileStore(tmp_path, patience_s=0.05)
    revision = store.put(KEY, value, expected="")
    return store, store._path(KEY), revision


def test_every_byte_that_is_lost_or_changed_is_damage(tmp_path: Path) -> None:
    store, path, _ = written(tmp_path)
    whole = path.read_bytes()
    broken = [whole[:cut] for cut in range(len(whole))]
    broken += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    read = 0
    for raw in [*broken, whole + b"more", b"\xff" * 20]:
        path.write_bytes(raw)
        try:
            found = store.get(KEY)
        except Refused:
            continue
        # a revision of another spelling is another revision, which nobody has seen: a conflict to all, and no harm
        assert found is not None
        assert found.value == b"value"
        read += 1
    assert read <= 32


def test_a_value_that_another_process_is_writing_is_read_whole(tmp_path: Path) -> None:
    store, path, revision = written(tmp_path)
    path.with_name(path.name + ".new").write_bytes(b"half of the ne")
    found = store.get(KEY)
    assert found is not None
    assert found.revision == revision
    store.put(KEY, b"next", expected=revision)
    found = store.get(KEY)
    assert found is not None
    assert found.value == b"next"


def test_a_lock_that_nobody_gives_back_is_silence_and_changes_nothing(tmp_path: Path) -> None:
    store, _, revision = written(tmp_path)
    handle = os.open(tmp_path / ".lock", os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(Transient, match="holds the lock"):
            store.put(KEY, b"next", expected=revision)
        assert store.get(KEY) is not None
    finally:
        os.close(handle)
    store.put(KEY, b"next", expected=revision)


def test_a_full_disk_is_silence_and_leaves_the_old_value(tmp_path: Path) -> None:
    store, path, revision = written(tmp_path)
    path.with_name(path.name + ".new").mkdir()  # no file can be written there, as on a full disk
    with pytest.raises(Transient, match="cannot be written"):
        store.put(KEY, b"next", expected=revision)
    found = store.get(KEY)
    assert found is not None
    assert (found.value, found.revision) == (b"value", revision)


def test_what_is_no_file_is_silence(tmp_path: Path) -> None:
    store, path, _ = written(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(Transient, match="cannot be read"):
        store.get(KEY)


@pytest.mark.parametrize("key", ["", "x" * 201, "/" * 100])
def test_a_key_that_is_no_file_name_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(Refused, match="no key"):
        FileStore(tmp_path).get(key)


@pytest.mark.parametrize("key", ["../outside", "/etc/outside", "..", ".", "a/../../outside"])
def test_no_key_leads_out_of_the_directory(tmp_path: Path, key: str) -> None:
    directory = tmp_path / "store"
    FileStore(directory).put(key, b"value", expected="")
    assert {path.name for path in tmp_path.iterdir()} == {"store"}
    assert len([path for path in directory.iterdir() if path.name != ".lock"]) == 1


def test_nobody_else_may_read_a_store(tmp_path: Path) -> None:
    FileStore(tmp_path / "store")
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0


# -- the faulty store -------------------------------------------------------------------------------------------------


def test_a_lost_answer_is_a_write_that_happened() -> None:
    store = FaultyStore(MemoryStore())
    store.lose_answers(Transient("no answer"))
    with pytest.raises(Transient, match="no answer"):
        store.put(KEY, b"first", expected="")
    found = store.get(KEY)
    assert found is not None
    assert found.value == b"first"


def test_a_delayed_write_arrives_later_or_too_late() -> None:
    store = FaultyStore(MemoryStore())
    store.delay_writes(2)
    for value in (b"first", b"second"):
        with pytest.raises(Transient):
            store.put(KEY, value, expected="")
    assert store.get(KEY) is None
    store.deliver()
    found = store.get(KEY)
    assert found is not None
    assert found.value == b"first"


def test_a_stale_answer_is_the_one_before() -> None:
    store = FaultyStore(MemoryStore())
    assert store.get(KEY) is None
    revision = store.put(KEY, b"first", expected="")
    store.answer_stale(1)
    assert store.get(KEY) is None
    found = store.get(KEY)
    assert found is not None
    assert found.revision == revision

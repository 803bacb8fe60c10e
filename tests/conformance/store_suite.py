"""What every store adapter must do, as tests: derive a class named `Test...` and give it a `stage` fixture.

Written from the seam's promises (`reconciler.ports.Store`), not from an adapter.
"""

from __future__ import annotations

from typing import Protocol

import pytest

from contracts.errors import EbbtideError, Refused, Transient
from pools.provider import Conflict
from reconciler.ports import LARGEST_VALUE, Store

KEY = "lease/north"
WRITERS, EACH = 3, 12


class StoreStage(Protocol):
    """One store and what can happen to it. A stage that cannot bring something about skips the test and says why."""

    def store(self) -> Store:
        """A handle of its own on the same store, as another process would have."""

    def silence(self) -> None:
        """From now on the store does not answer."""

    def remove(self, key: str) -> None:
        """Somebody removes the value behind everybody's back."""

    def damage(self, key: str) -> None:
        """What stands under the key is no longer what was written."""

    def count_up(self, key: str, *, writers: int, each: int) -> None:
        """So many writers at once, processes where processes share the store, each call `add_one` so often."""


def add_one(store: Store, key: str) -> None:
    """Add one to the number under the key, however often others are faster."""
    while True:
        found = store.get(key)
        number = int(found.value) if found else 0
        try:
            store.put(key, str(number + 1).encode(), expected=found.revision if found else "")
        except Conflict:
            continue
        return


class StoreSuite:
    """All of it."""

    def test_what_was_never_written_is_not_there(self, stage: StoreStage) -> None:
        assert stage.store().get(KEY) is None

    @pytest.mark.parametrize("value", [b"", b"\n", b"7", b"\x00\xff\n\r", b"x" * LARGEST_VALUE])
    def test_every_handle_reads_what_one_wrote(self, stage: StoreStage, value: bytes) -> None:
        revision = stage.store().put(KEY, value, expected="")
        found = stage.store().get(KEY)
        assert found is not None
        assert (found.value, found.revision) == (value, revision)

    def test_more_than_the_largest_value_is_refused_and_changes_nothing(self, stage: StoreStage) -> None:
        store = stage.store()
        with pytest.raises(Refused, match=str(LARGEST_VALUE)):
            store.put(KEY, b"x" * (LARGEST_VALUE + 1), expected="")
        assert store.get(KEY) is None

    def test_only_one_creates(self, stage: StoreStage) -> None:
        stage.store().put(KEY, b"first", expected="")
        with pytest.raises(Conflict):
            stage.store().put(KEY, b"second", expected="")
        found = stage.store().get(KEY)
        assert found is not None
        assert found.value == b"first"

    def test_only_who_saw_the_last_value_replaces_it(self, stage: StoreStage) -> None:
        store = stage.store()
        first = store.put(KEY, b"first", expected="")
        second = stage.store().put(KEY, b"second", expected=first)
        assert second != first
        for stale in (first, "", "no revision"):
            with pytest.raises(Conflict):
                store.put(KEY, b"third", expected=stale)
        found = store.get(KEY)
        assert found is not None
        assert (found.value, found.revision) == (b"second", second)

    def test_what_is_not_there_cannot_be_replaced(self, stage: StoreStage) -> None:
        with pytest.raises(Conflict):
            stage.store().put(KEY, b"first", expected="1")

    def test_the_same_value_again_is_another_revision(self, stage: StoreStage) -> None:
        store = stage.store()
        revisions = [store.put(KEY, b"same", expected="")]
        for _ in range(4):
            revisions.append(store.put(KEY, b"same", expected=revisions[-1]))
        assert len(set(revisions)) == 5

    def test_a_revision_never_comes_again_after_its_value_was_removed(self, stage: StoreStage) -> None:
        store = stage.store()
        before = {store.put(KEY, b"same", expected="")}
        for _ in range(3):
            stage.remove(KEY)
            assert store.get(KEY) is None
            with pytest.raises(Conflict):
                store.put(KEY, b"same", expected=next(iter(before)))
            after = store.put(KEY, b"same", expected="")
            assert after not in before
            before.add(after)

    @pytest.mark.parametrize(
        "other", ["lease/south", "lease/north.new", "lease", "lease/north/", "LEASE/NORTH", ".lock"]
    )
    def test_keys_do_not_touch_each_other(self, stage: StoreStage, other: str) -> None:
        store = stage.store()
        store.put(KEY, b"one", expected="")
        assert store.get(other) is None
        store.put(other, b"two", expected="")
        found = store.get(KEY)
        assert found is not None
        assert found.value == b"one"

    def test_writers_at_the_same_time_lose_nothing(self, stage: StoreStage) -> None:
        stage.count_up(KEY, writers=WRITERS, each=EACH)
        found = stage.store().get(KEY)
        assert found is not None
        assert int(found.value) == WRITERS * EACH

    def test_silence_is_transient_and_never_an_absent_value(self, stage: StoreStage) -> None:
        store = stage.store()
        revision = store.put(KEY, b"first", expected="")
        stage.silence()
        with pytest.raises(Transient):
            store.get(KEY)
        with pytest.raises(Transient) as told:
            store.put(KEY, b"second", expected=revision)
        assert not isinstance(told.value, Conflict)

    def test_a_damaged_value_is_never_an_absent_one(self, stage: StoreStage) -> None:
        store = stage.store()
        store.put(KEY, b"first", expected="")
        stage.damage(KEY)
        with pytest.raises(EbbtideError):
            store.get(KEY)
        with pytest.raises(EbbtideError):
            store.put(KEY, b"second", expected="")

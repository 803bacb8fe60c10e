"""What was approved outlives memories, disks and leaders: it is kept in the store."""

from __future__ import annotations

import pytest

from contracts.errors import Refused, Transient
from reconciler.baselines import Baselines, read_baseline, write_baseline
from reconciler.cycle import Memory
from reconciler.removals import Baseline
from reconciler.store_faulty import FaultyStore
from reconciler.store_memory import MemoryStore
from tests.reconciler.builders import FORECAST, HINDCAST, REGION, Region

BASE = Baseline("a" * 40, {FORECAST: 40, HINDCAST: 24}, used=frozenset({"removal-north"}))
WAITING = Baseline(BASE.commit, BASE.units, (("b" * 40, {FORECAST: 40}),), BASE.used)
WRITTEN = write_baseline(BASE, 3)
SMALLER = ("contracts/tides/forecast.yaml", "maximum: 40", "maximum: 10")


OTHER = Baseline("c" * 40, {FORECAST: 40}, used=BASE.used)


def keep(kept: Baselines, baseline: Baseline, *, epoch: int = 3, holds: bool = True) -> None:
    kept.keep(baseline, epoch=epoch, holds=lambda: holds)


def test_it_is_read_as_it_was_written_without_what_waits() -> None:
    assert read_baseline(write_baseline(WAITING, 3)) == (BASE, 3)


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", WRITTEN[:-2], WRITTEN.replace(b"40", b"-1"), WRITTEN.replace(b":3", b":true"), b"\xff"]
)
def test_a_damaged_one_is_refused(raw: bytes) -> None:
    with pytest.raises(Refused, match="damaged"):
        read_baseline(raw)


def test_it_is_written_when_it_changes_and_again_until_the_store_confirms() -> None:
    store = FaultyStore(MemoryStore())
    kept = Baselines(store, seat=REGION)
    store.fail("put", Transient("silence"))
    keep(kept, BASE)
    assert kept.recall() is None
    keep(kept, WAITING)
    assert kept.recall() == BASE
    revision = store.get(f"approved/{REGION}")
    keep(kept, BASE)
    assert store.get(f"approved/{REGION}") == revision


def test_a_write_whose_answer_was_lost_is_found_and_not_fought() -> None:
    store = FaultyStore(MemoryStore())
    kept = Baselines(store, seat=REGION)
    store.lose_answers(Transient("no answer"))
    keep(kept, BASE)
    keep(kept, BASE)
    assert kept.epoch == 3
    keep(kept, OTHER)
    assert kept.recall() == OTHER


def test_a_deposed_leader_replaces_nothing() -> None:
    """Neither what its successor wrote, nor anything once its lease is over."""
    store = MemoryStore()
    deposed, successor = Baselines(store, seat=REGION), Baselines(store, seat=REGION)
    keep(deposed, BASE)
    assert successor.recall() == BASE
    keep(successor, BASE, epoch=4)
    for _ in range(2):
        keep(deposed, OTHER)
    assert (successor.recall(), successor.epoch) == (BASE, 4)
    keep(successor, OTHER, epoch=4, holds=False)
    assert successor.recall() == BASE


def test_a_later_leaders_writing_ends_a_term() -> None:
    region = Region().settled()
    later = region.reconciler.leadership.epoch + 5
    key = f"approved/{REGION}"
    region.reconciler = region.leader(Memory(listed_at=region.now))
    found = region.store.get(key)
    region.store.put(key, write_baseline(BASE, later), expected=found.revision if found else "")
    region.cycles(3)
    assert region.reconciler.leadership.epoch > later
    assert region.reconciler.memory.baseline.used == BASE.used


def test_another_leader_counts_from_what_was_approved_before_it() -> None:
    region = Region().settled(forecast=30)
    region.review(SMALLER)
    region.schedulers.want(FORECAST, 10)
    region.cycles(2)
    assert region.reconciler.memory.baseline.units[FORECAST] == 40
    before = len(region.servers())
    region.reconciler = region.leader(Memory(listed_at=region.now))
    region.cycles(20)
    assert region.reconciler.memory.baseline.units[FORECAST] == 40
    assert len(region.servers()) == before

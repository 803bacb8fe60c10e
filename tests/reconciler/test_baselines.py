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
SMALLER = ("contracts/tides/forecast.yaml", "maximum: 40", "maximum: 10")


def test_it_is_read_as_it_was_written_without_what_waits() -> None:
    assert read_baseline(write_baseline(WAITING)) == BASE


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", write_baseline(BASE)[:-2], write_baseline(BASE).replace(b"40", b"-1"), b"\xff"]
)
def test_a_damaged_one_is_refused(raw: bytes) -> None:
    with pytest.raises(Refused, match="damaged"):
        read_baseline(raw)


def test_it_is_written_when_it_changes_and_again_until_the_store_confirms() -> None:
    store = FaultyStore(MemoryStore())
    kept = Baselines(store, seat=REGION)
    store.fail("put", Transient("silence"))
    kept.keep(BASE)
    assert kept.recall() is None
    kept.keep(WAITING)
    assert kept.recall() == BASE
    revision = store.get(f"approved/{REGION}")
    kept.keep(BASE)
    assert store.get(f"approved/{REGION}") == revision


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

"""Whose memory may be acted on: the one that the last act rested on, by the store's word or, without it, by its age."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.acting import Ports
from reconciler.appraisal import Appraiser
from reconciler.blast_radius import GuardState
from reconciler.cycle import Memory
from reconciler.logbook import FRESH_MS, Logbook
from tests.reconciler.builders import REGION, START, Region

KEY = f"memory/{REGION}"
EPOCH = 7


def ports(region: Region, *, sole: bool = False) -> Ports:
    return replace(region.reconciler.ports, sole=sole, clock=lambda: START, holder="a")


def remembered(*, age_ms: int = 0, epoch: int = EPOCH - 1) -> Memory:
    return Memory(epoch=epoch, guard=GuardState(judged_at=START - age_ms), order=5)


def owned(
    said: str, memory: Memory, *, lineage: str = "a/1", sole: bool = False, older: bool = False
) -> tuple[bool, str]:
    """Whether the memory is gone on from, and whose word the store has after."""
    region = Region()
    if said:
        region.store.put(KEY, said.encode(), expected="")
    book = Logbook(ports(region, sole=sole), Appraiser(), seat=REGION)
    book.lineage = lineage
    after = book.own(memory, EPOCH, older=older, holds=lambda: True)
    assert after is not None
    found = region.store.get(KEY)
    return after.order == memory.order, found.value.decode() if found else ""


@pytest.mark.parametrize(
    ("said", "memory", "kept"),
    [
        ("a/1", remembered(age_ms=10 * FRESH_MS, epoch=1), True),  # the store says that nobody acted since
        ("b/3", remembered(), False),  # others did
        ("", remembered(age_ms=FRESH_MS), True),  # it lost its word, and ours is the last term, minutes ago
        ("", remembered(age_ms=FRESH_MS + 1), False),  # others may have led meanwhile
        ("", remembered(epoch=EPOCH - 2), False),  # others did lead: a term lies between
    ],
)
def test_a_memory_that_others_may_have_acted_beyond_is_left(said: str, memory: Memory, kept: bool) -> None:
    assert owned(said, memory) == (kept, "a/1" if kept else f"a/{EPOCH}")


@pytest.mark.parametrize(
    ("memory", "kept"),
    [
        (remembered(age_ms=FRESH_MS), True),
        (remembered(age_ms=FRESH_MS + 1), False),
        (remembered(epoch=EPOCH - 2), False),
    ],
)
def test_a_store_of_earlier_days_is_no_proof_that_nobody_acted_since(memory: Memory, kept: bool) -> None:
    assert owned("a/1", memory, older=True) == (kept, "a/1" if kept else f"a/{EPOCH}")


def test_who_has_no_replicas_goes_on_from_any_memory_over_a_store_that_lost_its_word() -> None:
    assert owned("", remembered(age_ms=10 * FRESH_MS, epoch=1), sole=True) == (True, "a/1")


def test_a_new_memory_gets_a_name_of_its_own_whatever_the_store_says() -> None:
    assert owned("b/3", remembered(), lineage="") == (True, f"a/{EPOCH}")


def test_whose_lease_ended_after_it_read_whose_memory_was_the_last_names_none_of_its_own() -> None:
    region = Region()
    region.store.put(KEY, b"b/8", expected="")
    book = Logbook(ports(region), Appraiser(), seat=REGION)
    book.lineage = "a/1"
    assert book.own(remembered(), EPOCH, older=False, holds=lambda: False) is None
    found = region.store.get(KEY)
    assert found is not None
    assert found.value == b"b/8"
    assert book.lineage == "a/1"

"""What is owed outlives memories, disks and leaders: the store has it before anything that pays goes out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.errors import Transient
from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.script import Boot
from reconciler.blast_radius import GuardState
from reconciler.cycle import Memory
from reconciler.fleet import Debt, Fleet, Phase
from reconciler.owed import NOTHING, Owed, read_owed, succeed, write_owed
from reconciler.ports import LARGEST_VALUE
from reconciler.store_faulty import FaultyStore
from tests.reconciler.builders import FORECAST, MINUTE, REGION, START, Region

KEY = f"owed/{REGION}"
DEBT = Debt(FORECAST, "eb-north-1-000007", Cause.NOTICE, "notice.received/north/n", Paid.FLOOR)
LAST = Owed(4, (START, 9), (START - MINUTE, 7), (DEBT,))


def stored(region: Region) -> Owed:
    found = region.store.get(KEY)
    return read_owed(found.value) if found else NOTHING


def own(*, epoch: int = 4, told_at: int = START, sequence: int = 9) -> Memory:
    other = replace(DEBT, instance="eb-north-1-000008")
    guard = GuardState(judged_at=START, epoch=epoch)
    return Memory(epoch, Fleet(debts=(other,), sequence=sequence), told_at=told_at, guard=guard)


def test_it_is_read_as_it_was_written_and_damage_says_nothing() -> None:
    assert read_owed(write_owed(LAST)) == LAST
    assert [read_owed(raw) for raw in (b"", b"[]", b"\xff", write_owed(LAST)[:-3], b'{"epoch":"4"}')] == [NOTHING] * 5


def test_of_more_than_fits_the_first_are_kept() -> None:
    many = tuple(replace(DEBT, instance=f"eb-north-1-{number:06d}") for number in range(3000))
    value = write_owed(replace(LAST, debts=many))
    assert len(value) <= LARGEST_VALUE
    kept = read_owed(value).debts
    assert kept == many[: len(kept)] != ()


@pytest.mark.parametrize(
    ("memory", "debts"),
    [
        (Memory(), (DEBT,)),  # an empty disk
        (own(epoch=3), (DEBT,)),  # others led meanwhile
        (own(told_at=START - 1), (DEBT,)),  # a disk from before
        (own(sequence=8), (DEBT,)),
        (own(), own().fleet.debts),  # the last leader itself
        (own(told_at=START - MINUTE, sequence=7), own().fleet.debts),  # that died before it told anything of that cycle
    ],
    ids=["empty", "others", "older", "behind", "own", "own, a cycle before"],
)
def test_the_last_leaders_word_holds_where_the_memory_is_not_its_own(memory: Memory, debts: tuple[Debt, ...]) -> None:
    after = succeed(memory, LAST, epoch=5, proven=True, now=START + MINUTE).fleet
    assert (after.debts, after.known) == (debts, (4, 9))
    assert after.answered_until == (START if debts == LAST.debts else 0)


@pytest.mark.parametrize(("epoch", "kept"), [(5, True), (6, False)], ids=["the last term", "a term between"])
def test_without_a_word_only_who_led_last_owes(epoch: int, kept: bool) -> None:
    after = succeed(own(), NOTHING, epoch=epoch, proven=False, now=START).fleet
    assert (bool(after.debts), after.known) == (kept, (0, 0))


def noticed(region: Region) -> str:
    name = region.busy()
    region.cloud.notify(region.server_id(name), seconds=600)
    return name


def causes(region: Region, since: int) -> list[Cause]:
    return [event.cause for event in region.told(EventType.INSTANCE_REQUESTED)[since:]]


@pytest.mark.parametrize("paid", [False, True])
def test_an_empty_disk_pays_what_nobody_paid_and_nothing_twice_while_git_is_away(paid: bool) -> None:
    region = Region().settled(forecast=20)
    going = noticed(region)
    before = len(region.told(EventType.INSTANCE_REQUESTED))
    region.stop.why = "" if paid else "people look at it"
    region.cycle()
    assert [debt.instance for debt in stored(region).debts] == ([] if paid else [going])
    assert len(causes(region, before)) == int(paid)
    region.stop.why = ""
    region.desired.problem = "Git is away"
    region.reconciler = region.leader()
    region.cycles(3)
    assert causes(region, before) == [Cause.NOTICE]


def test_what_pays_stays_at_home_until_the_store_has_it() -> None:
    region = Region().settled(forecast=20)
    store = FaultyStore(region.store)
    region.reconciler.owing._store = store
    noticed(region)
    before = len(region.told(EventType.INSTANCE_REQUESTED))
    store.fail("put", Transient("silence"))
    region.cycle()
    store.lose_answers(Transient("silence"))
    region.cycle()
    assert not causes(region, before)
    region.cycle()
    assert causes(region, before) == [Cause.NOTICE]
    assert stored(region).debts == ()


@pytest.mark.parametrize("fails", [False, True])
def test_what_our_own_word_alone_says_is_owed_once_it_was_told(fails: bool) -> None:
    region = Region().settled(forecast=20)
    going = region.busy()
    if fails:
        region.cloud.notify(region.server_id(going), seconds=600)
        region.cycle()
        region.cloud.due[region.ours(phase=Phase.BOOTING)[0].server].outcome = Boot.NO_HOST
        region.now += 10 * MINUTE
        region.cloud.settle()
    else:
        del region.cloud.servers[region.server_id(going)]
        region.schedulers.leave(going)
    region.stop.why = "people look at it"
    told, type_ = len(region.recorder.events), EventType.INSTANCE_FAILED if fails else EventType.INSTANCE_LOST
    while type_ not in [event.type for event in region.recorder.events[told:]]:
        assert region.now < START + 60 * MINUTE
        before = region.reconciler.memory
        region.cycle()
    (owed,) = region.reconciler.memory.fleet.debts
    assert owed not in before.fleet.debts
    assert stored(region).debts == ()  # whoever died before it was told left nobody to tell it
    region.cycle()
    assert stored(region).debts == (owed,)


def test_nothing_is_written_over_another_leaders_word() -> None:
    region = Region().settled(forecast=20)
    noticed(region)
    found = region.store.get(KEY)
    assert found is not None
    region.store.put(KEY, write_owed(replace(LAST, epoch=99)), expected=found.revision)
    before = len(region.told(EventType.INSTANCE_REQUESTED))
    region.cycles(3)
    assert not causes(region, before)
    assert stored(region).epoch == 99

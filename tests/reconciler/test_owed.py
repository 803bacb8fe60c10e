"""What is owed outlives memories, disks and leaders: the store has it before anything that pays goes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from contracts.errors import Transient
from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.script import Boot
from reconciler.blast_radius import GuardState
from reconciler.cycle import Memory
from reconciler.fleet import Debt, Fleet, Phase
from reconciler.leadership import Leadership
from reconciler.lease import TERMS
from reconciler.owed import NOTHING, Owed, Owing, read_owed, succeed, write_owed
from reconciler.ports import LARGEST_VALUE, Store, Versioned
from reconciler.steps import Step, StepKind
from reconciler.store_faulty import FaultyStore
from reconciler.store_memory import MemoryStore
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


@pytest.mark.parametrize(("epoch", "paid"), [(0, True), (99, False)], ids=["nobody's", "a later leader's"])
def test_only_a_later_leaders_word_over_ours_stays(epoch: int, paid: bool) -> None:
    region = Region().settled(forecast=20)
    noticed(region)
    found = region.store.get(KEY)
    assert found is not None
    region.store.put(KEY, write_owed(Owed(epoch)), expected=found.revision)
    before = len(region.told(EventType.INSTANCE_REQUESTED))
    region.cycles(3)
    assert causes(region, before) == ([Cause.NOTICE] if paid else [])
    assert stored(region).epoch == (1 if paid else 99)


class Pausing:
    """A store whose caller stands still before each read, but for that of a lease, while something happens."""

    def __init__(self, inner: Store, happens: Callable[[], None]) -> None:
        self._inner, self._happens = inner, happens

    def get(self, key: str) -> Versioned | None:
        """As the seam promises, of what is there afterwards."""
        if not key.startswith("lease/"):
            self._happens()
        return self._inner.get(key)

    def put(self, key: str, value: bytes, *, expected: str) -> str:
        """As the seam promises."""
        return self._inner.put(key, value, expected=expected)


class Two:
    """The words of two leaders in one store, on one clock; `at_read` is what happens before the next time that the
    first one reads what is owed.
    """

    def __init__(self) -> None:
        self.now = START
        self.store = MemoryStore()
        self.wire = FaultyStore(self.store)
        self.first, self.owing = self._leader("a", Pausing(self.wire, self._paused))
        self.second, self.successor = self._leader("b", self.store)
        self.at_read: Callable[[], object] = str
        self._wait(self.first)
        region = Region()
        self.decision, self.seen = region.cycle(), region.reconciler.observe()

    def _leader(self, holder: str, store: Store) -> tuple[Leadership, Owing]:
        leadership = Leadership(store, key="lease/north", holder=holder, monotonic=lambda: self.now)
        return leadership, Owing(store, seat=REGION, leadership=leadership)

    def _wait(self, leadership: Leadership) -> None:
        until = self.now + TERMS.term + TERMS.call
        while not leadership.ensure():
            assert self.now <= until
            self.now += TERMS.renew

    def _paused(self) -> None:
        happens, self.at_read = self.at_read, str
        happens()

    def owe(self, *debts: Debt) -> bool:
        """The first leader writes what it owes; whether what pays for it may go out."""
        memory = replace(self.decision.memory, fleet=Fleet(debts=debts))
        pays = Step(
            StepKind.REPLACE,
            FORECAST,
            "",
            "",
            "eb-north-1-000002",
            1,
            Paid.FLOOR,
            Cause.NOTICE,
            replaces="eb-north-1-000001",
        )
        going, home = self.owing.settle(replace(self.decision, memory=memory), self.seen, [pays], memory, ())
        assert going + home == [pays]
        return bool(going)

    def succeeded(self) -> Versioned | None:
        """The second leads after a term; what it wrote."""
        self._wait(self.second)
        assert self.successor.begin(Memory(), now=self.now) is not None
        return self.store.get(KEY)


def test_whose_term_ends_before_it_reads_what_is_owed_writes_nothing_over_its_successors_word() -> None:
    two = Two()
    two.at_read = two.succeeded
    assert two.owing.begin(Memory(), now=two.now) is None
    found = two.store.get(KEY)
    assert found is not None
    assert found.revision == two.successor._revision


def test_nor_does_whose_term_ends_before_it_looks_what_became_of_a_write() -> None:
    two = Two()
    two.seen = replace(two.seen, listing=None)  # neither leader vouches for anything, and their words are the same
    assert two.owing.begin(Memory(), now=two.now) is not None
    two.wire.lose_answers(Transient("silence"))
    assert not two.owe(DEBT)
    word = two.succeeded()
    assert not two.owe()
    assert two.store.get(KEY) == word


def test_a_write_of_ours_that_comes_late_is_gone_on_from() -> None:
    two = Two()
    assert two.owing.begin(Memory(), now=two.now) is not None
    two.wire.delay_writes(2)
    assert not two.owe(DEBT)
    assert not two.owe()
    two.wire.deliver()
    late = two.store.get(KEY)
    assert late is not None
    assert read_owed(late.value).debts == (DEBT,)
    assert two.owe()
    last = two.store.get(KEY)
    assert last is not None
    assert read_owed(last.value).debts == ()

"""Random histories of replicas over one store: never two that hold, epochs that grow, a leader once faults are over.

Real time is the model's own. Each replica has a clock that runs up to one per cent fast or slow from an offset of its
own, wires of its own to the store, and is paused as long as nothing is asked of it, also in the middle of taking the
lease. A restarted replica leaves its old process alive beside it.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from contracts.errors import Refused, Transient
from reconciler.clocks import Reading, leap
from reconciler.leadership import Leadership
from reconciler.lease import TERMS, lapsed
from reconciler.ports import Versioned
from reconciler.store_faulty import FaultyStore
from reconciler.store_memory import MemoryStore

KEY = "lease/north"
LIVE_WITHIN = 3 * (TERMS.term + TERMS.call)
"""Real time within which somebody leads once faults are over: a late write may start one more wait."""

replicas = st.integers(0, 4)
moments = st.sampled_from([0, 100, 1_000, 4_000, 9_900, 10_000, 15_000, 19_900, 20_000, 29_000, 31_000, 61_000, 90_000])


class Wire(FaultyStore):
    """A replica's way to the store: slow where the model says so, and others may act while it is under way."""

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner)
        self.before: list[Callable[[], None]] = []
        self.after: list[Callable[[], None]] = []

    def get(self, key: str) -> Versioned | None:
        found = super().get(key)
        _run(self.after)
        return found

    def put(self, key: str, value: bytes, *, expected: str) -> str:
        _run(self.before)
        try:
            return super().put(key, value, expected=expected)
        finally:
            _run(self.after)


def _run(actions: list[Callable[[], None]]) -> None:
    while actions:
        actions.pop()()


class FaultyRegion(RuleBasedStateMachine):
    """The store, the wires to it, and everything that may befall them."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.store = MemoryStore()
        self.wires: list[Wire] = []
        self.copies: list[tuple[int, dict[str, Versioned]]] = []
        self.lost = False

    @rule(passed=moments)
    def wait(self, passed: int) -> None:
        self.now += passed

    @rule(number=replicas, calls=st.sampled_from(["get", "put"]), count=st.integers(1, 3), refused=st.booleans())
    def fail(self, number: int, calls: str, count: int, refused: bool) -> None:
        error = Refused("403") if refused else Transient("reset")
        self.wires[number % len(self.wires)].fail(calls, *[error] * count)

    @rule(number=replicas, count=st.integers(1, 2))
    def lose_answers(self, number: int, count: int) -> None:
        self.wires[number % len(self.wires)].lose_answers(*[Transient("no answer")] * count)

    @rule(number=replicas, count=st.integers(1, 2))
    def delay(self, number: int, count: int) -> None:
        self.wires[number % len(self.wires)].delay_writes(count)

    @rule(number=replicas)
    def deliver(self, number: int) -> None:
        self.wires[number % len(self.wires)].deliver()

    @rule(number=replicas, times=st.integers(1, 3))
    def answer_stale(self, number: int, times: int) -> None:
        self.wires[number % len(self.wires)].answer_stale(times)

    @rule()
    def copy(self) -> None:
        self.copies.append((self.now, dict(self.store.values)))

    @rule()
    def lose_the_store(self) -> None:
        self.lost = True
        self.store.values.clear()

    @rule()
    def restore(self) -> None:
        """An older copy comes back: one that was made a term ago at least (ADR 0018)."""
        old = [values for at, values in self.copies if self.now - at > 2 * TERMS.term]
        if old:
            self.lost = True
            self.store.values = dict(old[-1])


def holding(leaders: list[Leadership]) -> list[int]:
    """Which of them would act now."""
    return [
        number
        for number, leader in enumerate(leaders)
        if leader._tenure is not None
        and not lapsed(leader._tenure, leader._monotonic(), TERMS)
        and not leap(leader._sent, Reading(leader._clock(), leader._monotonic()))
    ]


class Histories(FaultyRegion):
    """One region's lease under everything at once."""

    def __init__(self) -> None:
        super().__init__()
        self.leaders: list[Leadership] = []
        self.epochs: list[int] = []
        self.own: dict[int, int] = {}
        self.away: list[int] = []

    @initialize(rates=st.lists(st.tuples(st.integers(990, 1010), st.integers(0, 10**9)), min_size=2, max_size=3))
    def start(self, rates: list[tuple[int, int]]) -> None:
        self.rates = rates
        for number in range(len(rates)):
            self._start(number)
        self.go_on(8, {0, 1})

    def _start(self, number: int) -> None:
        rate, offset = self.rates[number]
        wire = Wire(self.store)
        self.wires.append(wire)
        self.away.append(0)
        mine = len(self.away) - 1

        def monotonic() -> int:
            return offset + (self.now - self.away[mine]) * rate // 1000

        self.leaders.append(Leadership(wire, key=KEY, holder=f"r{number}", monotonic=monotonic, clock=lambda: self.now))

    def _note(self) -> None:
        """Every tenure that began has an epoch of its own, above all before while the store was whole."""
        for number, leader in enumerate(self.leaders):
            if leader.epoch == self.own.get(number, 0):
                continue
            assert leader.epoch > self.own.get(number, 0)
            assert self.lost or leader.epoch > max(self.epochs, default=0)
            self.own[number] = leader.epoch
            self.epochs.append(leader.epoch)

    @rule(number=replicas)
    def ask(self, number: int) -> None:
        self.leaders[number % len(self.leaders)].ensure()

    @rule(number=replicas)
    def act(self, number: int) -> None:
        if self.leaders[number % len(self.leaders)].holds():
            assert holding(self.leaders) == [number % len(self.leaders)]

    @rule(rounds=st.sampled_from([1, 3, 8, 12]), which=st.sets(replicas, min_size=1))
    def go_on(self, rounds: int, which: set[int]) -> None:
        """Some replicas ask every ten seconds; the others are paused."""
        for _ in range(rounds):
            for number in sorted(which):
                if number < len(self.leaders):
                    self.leaders[number].ensure()
                    self.check()
            self.now += 9_000

    @rule(number=replicas, passed=st.integers(1_000, 20 * TERMS.term), which=st.sets(replicas))
    def stand_still(self, number: int, passed: int, which: set[int]) -> None:
        """A replica's whole machine is paused, its monotonic clock with it; its wall clock is right when it goes on."""
        paused = number % len(self.leaders)
        for _ in range(1 + passed // 9_000):
            step = min(passed, 9_000)
            self.now, self.away[paused] = self.now + step, self.away[paused] + step
            for other in sorted(which):
                if other < len(self.leaders) and other != paused:
                    self.leaders[other].ensure()

    @rule(number=replicas, other=replicas, passed=moments, answering=st.booleans())
    def interrupt(self, number: int, other: int, passed: int, answering: bool) -> None:
        """The replica's next call is slow, and another asks meanwhile."""
        wire = self.wires[number % len(self.wires)]

        def meanwhile() -> None:
            for _ in range(max(1, passed // 9_000)):
                self.now += min(passed, 9_000)
                self.check()
                if other % len(self.leaders) != number % len(self.leaders):
                    self.leaders[other % len(self.leaders)].ensure()
                    self.check()

        (wire.after if answering else wire.before).append(meanwhile)

    @precondition(lambda self: len(self.leaders) < 5)
    @rule(number=st.integers(0, 2))
    def restart(self, number: int) -> None:
        """A new process of the same name; the old one may be alive."""
        self._start(number % len(self.rates))

    @rule(number=replicas)
    def resign(self, number: int) -> None:
        self.leaders[number % len(self.leaders)].resign()

    @rule(number=replicas, above=st.integers(0, 2))
    def see_an_epoch(self, number: int, above: int) -> None:
        if self.epochs:
            self.leaders[number % len(self.leaders)].raise_above(max(self.epochs) + above - 1)

    @invariant()
    def check(self) -> None:
        assert len(holding(self.leaders)) <= 1
        self._note()

    def teardown(self) -> None:
        """Faults end: within a stated time one replica leads, and goes on leading."""
        if not self.leaders:
            return
        for wire in self.wires:
            wire.deliver()
            wire.__init__(self.store)  # type: ignore[misc]  # a new wire in its place, with nothing in its script
        if all(leader._resigned for leader in self.leaders):
            self._start(0)
        until = self.now + LIVE_WITHIN
        while self.now < until:
            self._everybody_asks()
        led = holding(self.leaders)
        assert led
        for _ in range(6):
            self._everybody_asks()
            assert holding(self.leaders) == led

    def _everybody_asks(self) -> None:
        for leader in self.leaders:
            leader.ensure()
            self.check()
        self.now += 5_000


Histories.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestHistories = Histories.TestCase

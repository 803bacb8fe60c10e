"""Looks for a history in which a promise breaks: asks for histories by seed, and makes the broken ones small.

A history is a `Question` and nothing else: the same question has the same answer on any machine, so one command line
repeats it. The hunt sees histories through `Histories` alone; `ebbtide simulate`, the benchmark and the tests give it
one. Runs nothing in parallel itself and reads no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Protocol

from contracts.errors import Refused
from simulation.check_reading import Broken
from simulation.chronicle import Chronicle
from simulation.shrink import Reduced, shrink

ALL, NONE = "all", "none"
SMALL, FULL = "small", "full"
DAY_MS = 86_400_000
MOST_RUNS = 80
"""To make one history small: a small region's day takes seconds, and a person waits."""

CORPUS = "corpus.txt"


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that a history depends on. `faults` as `--faults` takes them: all, none, kinds, or single ones, out of
    what the seed draws for so many days. `until` ends it earlier than its days (0.0: it does not), with the same
    faults at the same times.
    """

    seed: int
    days: float = 1.0
    faults: tuple[str, ...] = (ALL,)
    size: str = SMALL
    region: str = ""
    until: float = 0.0

    @property
    def lasts(self) -> float:
        """The days that pass."""
        return self.until or self.days

    @property
    def command(self) -> str:
        """The one command that repeats it."""
        words = ["ebbtide simulate", f"--seed {self.seed}", f"--days {self.days:g}"]
        words += [f"--until {self.until:g}"] if self.until else []
        words += [f"--faults {','.join(self.faults)}"]
        words += [f"--size {self.size}"] if self.size != SMALL else []
        words += [f"--region {self.region}"] if self.region else []
        return " ".join(words)


@dataclass(frozen=True)
class History:
    """What came of one question. `counts` are things that happened, such as cycles, by their names."""

    question: Question
    began: int
    chronicle: Chronicle
    broken: tuple[Broken, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


class Histories(Protocol):
    """Where histories come from: the simulated region with its faults and its checkers."""

    def kinds(self) -> Mapping[str, str]:
        """The kinds of faults there are, each with a sentence."""

    def live(self, question: Question) -> History:
        """Let this history pass. Deterministic. Raises `Refused` for faults that there are not."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is kept of a history, small enough to travel between processes. `first` are its breaches in order of time,
    at most one of each checker; `breaches` counts all. `begun` are the faults that had begun when the first broke.
    """

    question: Question
    faults: tuple[str, ...]
    first: tuple[Broken, ...]
    breaches: int
    begun: tuple[str, ...]
    broke_after_days: float
    counts: Mapping[str, int]
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        """Whether every promise held."""
        return not self.first


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A failing history made small: still broken by the same checker."""

    question: Question
    broken: Broken
    reduced: Reduced
    faults: int


def outcome(history: History, *, seconds: float = 0.0) -> Outcome:
    """What is kept of it."""
    ordered = sorted(history.broken, key=lambda broken: (broken.at, broken.checker))
    first = {broken.checker: broken for broken in reversed(ordered)}
    at = ordered[0].at if ordered else 0
    faults = history.chronicle.faults
    return Outcome(
        question=history.question,
        faults=tuple(fault.name for fault in faults),
        first=tuple(sorted(first.values(), key=lambda broken: (broken.at, broken.checker))),
        breaches=len(ordered),
        begun=tuple(fault.name for fault in faults if fault.at <= at),
        broke_after_days=(at - history.began) / DAY_MS if ordered else 0.0,
        counts=dict(history.counts),
        seconds=seconds,
    )


def smallest(
    histories: Histories, failed: Outcome, *, budget: int = MOST_RUNS, told: Callable[[int, str], None] | None = None
) -> Shrunk:
    """The failed history with as few faults and days as still break the promise that broke first.

    Every candidate is asked as it would be typed, so that the command that comes out repeats what was seen. `told`
    hears how many histories have run, and which runs now.
    """
    checker = failed.first[0].checker
    runs = 0

    whole = failed.question

    def asked(faults: tuple[str, ...], days: float) -> Question:
        words = whole.faults if faults == failed.faults else faults or (NONE,)
        return replace(whole, faults=words, until=days if days < whole.days else 0.0)

    def broken(question: Question) -> Broken | None:
        found = [one for one in histories.live(question).broken if one.checker == checker]
        return min(found, key=lambda one: one.at, default=None)

    def fails(faults: tuple[str, ...], days: float) -> bool:
        nonlocal runs
        runs += 1
        question = asked(faults, days)
        if told is not None:
            told(runs, f"{len(faults)} faults, {days:g} days")
        found = broken(question)
        if found is not None:
            seen[question] = found
        return found is not None

    seen: dict[Question, Broken] = {}
    reduced = shrink(
        failed.faults,
        whole.lasts,
        fails,
        before=failed.begun,
        broke_after_days=failed.broke_after_days,
        budget=budget,
    )
    question = asked(reduced.faults, reduced.days)
    return Shrunk(question, seen.get(question, failed.first[0]), reduced, len(failed.faults))


@dataclass(frozen=True, slots=True)
class Tally:
    """A hunt as a whole."""

    histories: int
    days: float
    breaches: int
    failing: tuple[Outcome, ...]
    counts: Mapping[str, int]
    faults: Mapping[str, int]
    seconds: float

    @property
    def days_per_second(self) -> float:
        """Simulated days in one second of one processor that ran them."""
        return self.days / self.seconds if self.seconds else 0.0


def tally(outcomes: Iterable[Outcome]) -> Tally:
    """Sums of a hunt; the failing ones by seed."""
    every = sorted(outcomes, key=lambda one: (one.question.seed, one.question.size))
    counts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for one in every:
        counts.update(one.counts)
        faults.update(name.partition("#")[0] for name in one.faults)
    return Tally(
        histories=len(every),
        days=sum(one.question.lasts for one in every),
        breaches=sum(one.breaches for one in every),
        failing=tuple(one for one in every if not one.clean),
        counts=dict(sorted(counts.items())),
        faults=dict(sorted(faults.items())),
        seconds=sum(one.seconds for one in every),
    )


def to_shrink(failing: Iterable[Outcome]) -> Iterator[Outcome]:
    """One failing history for each promise that broke first: the others most likely fail for the same reason."""
    told: set[str] = set()
    for one in failing:
        if one.first[0].checker not in told:
            told.add(one.first[0].checker)
            yield one


@dataclass(frozen=True, slots=True)
class Kept:
    """One line of the corpus: a history that is run again with every change, and why it is there."""

    question: Question
    why: str


def corpus() -> tuple[Kept, ...]:
    """The corpus that comes with the simulation."""
    return tuple(read_corpus(files("simulation").joinpath("data", CORPUS).read_text(encoding="utf-8")))


def read_corpus(text: str) -> Iterator[Kept]:
    """Lines `seed days[/until] size faults why...`; `#` begins a comment. Raises `Refused` for a line that is none."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(maxsplit=4)
        if len(words) < 5 or words[2] not in (SMALL, FULL) or not words[0].isdecimal():
            raise Refused(f"line {number} of the corpus is not `seed days size faults why`: {line!r}")
        seed, days, size, faults, why = words
        whole, _, until = days.partition("/")
        try:
            question = Question(int(seed), float(whole), tuple(faults.split(",")), size, until=float(until or 0))
        except ValueError as error:
            raise Refused(f"line {number} of the corpus: {days!r} is no number of days") from error
        yield Kept(question, why)

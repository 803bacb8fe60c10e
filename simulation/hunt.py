"""Looks for a history in which a promise breaks: asks for histories by seed, and makes the broken ones small.

A history is a `Question` and nothing else: the same question has the same answer on any machine, so one command line
repeats it. The hunt sees histories through `Histories` alone; `ebbtide simulate`, the benchmark and the tests give it
one. Runs nothing in parallel itself and reads no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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
    """What is kept of a history, small enough to travel between processes. `began` is its first instant, `faults` are
    names with the time at which each began; `first` holds the first breach of each checker, in order of time, and
    `breaches` counts all.
    """

    question: Question
    began: int
    faults: tuple[tuple[str, int], ...]
    first: tuple[Broken, ...]
    breaches: int
    counts: Mapping[str, int]
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        """Whether every promise held."""
        return not self.first

    @property
    def names(self) -> tuple[str, ...]:
        """The faults by name."""
        return tuple(name for name, _ in self.faults)


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
    first: dict[str, Broken] = {}
    for broken in ordered:
        first.setdefault(broken.checker, broken)
    return Outcome(
        question=history.question,
        began=history.began,
        faults=tuple((fault.name, fault.at) for fault in history.chronicle.faults),
        first=tuple(first.values()),
        breaches=len(ordered),
        counts=dict(history.counts),
        seconds=seconds,
    )


def smallest(histories: Histories, failed: Outcome, broken: Broken, *, budget: int = MOST_RUNS) -> Shrunk:
    """The failed history with as few faults and days as still break the same checker.

    Every candidate is asked as it would be typed, so that the command that comes out repeats what was seen.
    """
    whole = failed.question
    seen: dict[Question, Broken] = {}

    def asked(faults: tuple[str, ...], days: float) -> Question:
        words = whole.faults if faults == failed.names else faults or (NONE,)
        return replace(whole, faults=words, until=days if days < whole.days else 0.0)

    def fails(faults: tuple[str, ...], days: float) -> bool:
        question = asked(faults, days)
        found = [one for one in histories.live(question).broken if one.checker == broken.checker]
        if found:
            seen[question] = min(found, key=lambda one: one.at)
        return bool(found)

    reduced = shrink(
        failed.names,
        whole.lasts,
        fails,
        before=[name for name, at in failed.faults if at <= broken.at],
        broke_after_days=(broken.at - failed.began) / DAY_MS,
        budget=budget,
    )
    question = asked(reduced.faults, reduced.days)
    return Shrunk(question, seen.get(question, broken), reduced, len(failed.faults))


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
        faults.update(name.partition("#")[0] for name in one.names)
    return Tally(
        histories=len(every),
        days=sum(one.question.lasts for one in every),
        breaches=sum(one.breaches for one in every),
        failing=tuple(one for one in every if not one.clean),
        counts=dict(sorted(counts.items())),
        faults=dict(sorted(faults.items())),
        seconds=sum(one.seconds for one in every),
    )


def to_shrink(failing: Iterable[Outcome]) -> tuple[tuple[Outcome, Broken], ...]:
    """For each checker that complained the failing history with the fewest faults until then: most likely the others
    fail for the same reason, and this one is nearest to it.
    """
    chosen: dict[str, tuple[int, Outcome, Broken]] = {}
    for one in failing:
        for broken in one.first:
            begun = sum(at <= broken.at for _, at in one.faults)
            known = chosen.get(broken.checker)
            if known is None or begun < known[0]:
                chosen[broken.checker] = begun, one, broken
    return tuple((one, broken) for _, one, broken in chosen.values())


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

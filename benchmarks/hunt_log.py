"""The log of a hunt: a line for each history and mutation, written as soon as it is over, so that a hunt can go on.

Lines stand under the version that they are about: a digest of everything that ships. What an earlier version lived
through says nothing about this one, and is not counted. Used by `benchmarks.simulate`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.mutations import ROOT, Tried, packages
from simulation.hunt import Outcome

HEAD = "# day SEED SIZE DAYS FAULTS, faults that the seed drew, cycles, breaches, processor seconds, first breach"
VERSION = "# version"


@dataclass(frozen=True, slots=True)
class Day:
    """One history of the log."""

    seed: int
    size: str
    days: float
    faults: str
    drawn: int
    cycles: int
    breaches: int
    seconds: float
    first: str = ""

    @property
    def key(self) -> tuple[int, str, float, str]:
        """What tells it from others."""
        return self.seed, self.size, self.days, self.faults

    @property
    def line(self) -> str:
        """As it stands in the log."""
        return (
            f"day {self.seed} {self.size} {self.days:g} {self.faults} {self.drawn} {self.cycles} {self.breaches} "
            f"{self.seconds:.2f} {self.first or '-'}"
        )


@dataclass(frozen=True, slots=True)
class Hunted:
    """One mutation of the log."""

    name: str
    checker: str
    verdict: str
    seed: int
    histories: int

    @property
    def line(self) -> str:
        """As it stands in the log."""
        return f"mutation {self.name} {self.checker} {self.verdict.replace(' ', '-')} {self.seed} {self.histories}"


@dataclass
class Log:
    """What is known of one version; every addition is in the file at once. Without a file nothing is kept."""

    path: Path | None
    version: str
    days: dict[tuple[int, str, float, str], Day] = field(default_factory=dict)
    mutations: dict[str, Hunted] = field(default_factory=dict)
    _begun: bool = False

    def add(self, one: Day | Hunted) -> None:
        """Remember one, and write it down."""
        if isinstance(one, Day):
            self.days[one.key] = one
        else:
            self.mutations[one.name] = one
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = not self.path.exists()
        with self.path.open("a", encoding="utf-8") as file:
            if new:
                print(HEAD, file=file)
            if not self._begun:
                print(VERSION, self.version, file=file)
                self._begun = True
            print(one.line, file=file)


def opened(path: Path | None, version: str) -> Log:
    """The log of this version, with what the file holds of it. Raises `ValueError` for a line that is none."""
    log = Log(path, version)
    if path is None or not path.exists():
        return log
    here = False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(VERSION):
            here = line.split()[2] == version
        elif here and line.startswith("day "):
            day = _day(line)
            log.days[day.key] = day
        elif here and line.startswith("mutation "):
            _, name, checker, verdict, seed, histories = line.split()
            log.mutations[name] = Hunted(name, checker, verdict.replace("-", " "), int(seed), int(histories))
    log._begun = here  # noqa: SLF001 - the one place that makes it; the last section is this version's
    return log


def _day(line: str) -> Day:
    _, seed, size, days, faults, drawn, cycles, breaches, seconds, first = line.split(maxsplit=9)
    return Day(
        int(seed), size, float(days), faults, int(drawn), int(cycles), int(breaches), float(seconds),
        "" if first == "-" else first,
    )  # fmt: skip


def day_of(one: Outcome) -> Day:
    """A history that is over, as the log keeps it."""
    asked = one.question
    first = f"{one.first[0].checker}: {one.first[0].sentence}" if one.first else ""
    cycles = one.counts.get("cycles", 0)
    faults = ",".join(asked.faults)
    return Day(asked.seed, asked.size, asked.days, faults, len(one.faults), cycles, one.breaches, one.seconds, first)


def hunted_of(one: Tried) -> Hunted:
    """A mutation that was hunted, as the log keeps it."""
    return Hunted(one.mutation.name, one.mutation.checker, one.verdict, one.seed, one.histories)


def version_of(root: Path = ROOT, names: Iterable[str] = ()) -> str:
    """Twelve digits of everything that ships: two trees with one version pass the same histories."""
    digest = hashlib.sha256()
    for package in names or packages():
        for path in sorted((root / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]

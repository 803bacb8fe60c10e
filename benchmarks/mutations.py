"""Mutations of the product, and how each is hunted: that the checkers bite is shown, not said.

A mutation is exact text in a file and what stands there instead. It is applied to a copy of the packages in a temporary
folder; a process of its own lets histories pass there, seed after seed, until the checker that guards the promise
complains. A history in which the product itself breaks that promise proves nothing, so the same is asked of the
unchanged product too, and only the difference counts. Used by `benchmarks.simulate`; `benchmarks.mutation_list` holds
the list.

    python -m benchmarks.mutations [NAME ...] [--jobs J]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Self

from benchmarks.mutation import Mutation
from benchmarks.mutation_list import MUTATIONS
from simulation.faults import Fault
from simulation.hunted import drawn, small

ROOT = Path(__file__).parents[1]
MOST_SEEDS = 8_000
"""Seeds that are looked through for those that draw a rare pair of kinds."""

LONGEST_S = 600
"""One history; a change may make one that never ends."""

CAUGHT, MISSED, ELSEWHERE, FAILED = "caught", "missed", "only elsewhere", "could not run"


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one mutation: its checker complained at `seed`, after `histories` of them, and `said` something.
    `elsewhere` are other checkers that complained until then of what the unchanged product passes.
    """

    mutation: Mutation
    verdict: str
    seed: int = 0
    histories: int = 0
    seconds: float = 0.0
    said: str = ""
    elsewhere: Mapping[str, int] = field(default_factory=dict)

    @property
    def caught(self) -> bool:
        """Whether the checker that guards the promise complained where it is silent about the unchanged product."""
        return self.verdict == CAUGHT


class Passing:
    """A process in which histories of a folder's packages pass; with the block it ends."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-P", str(ROOT / "benchmarks/passing.py")]
        self._errors = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115 - closed with the process, in `__exit__`
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def broken(self, mutation: Mutation, seed: int) -> dict[str, str]:
        """The first sentence of each checker that complains of this history. Raises `ChildProcessError` when the
        process has died.
        """
        asking, telling = self._process.stdin, self._process.stdout
        if asking is None or telling is None:
            raise ChildProcessError("no pipes")
        limit = threading.Timer(LONGEST_S, self._process.kill)
        limit.start()
        try:
            print(seed, f"{mutation.days:g}", mutation.faults, mutation.region, file=asking, flush=True)
            answer = telling.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            limit.cancel()
        if not answer:
            self._errors.seek(0)
            raise ChildProcessError((self._errors.read().strip().splitlines() or ["it ended"])[-1])
        found: dict[str, str] = json.loads(answer)
        return found


class Unchanged:
    """The product as it is, asked the same questions; each answer is kept."""

    def __init__(self, passing: Passing) -> None:
        self._passing = passing
        self._known: dict[tuple[float, str, str, int], dict[str, str]] = {}
        self._one_at_a_time = threading.Lock()

    def broken(self, mutation: Mutation, seed: int) -> dict[str, str]:
        """What breaks in this history without the mutation."""
        asked = mutation.days, mutation.faults, mutation.region, seed
        with self._one_at_a_time:
            if asked not in self._known:
                self._known[asked] = self._passing.broken(mutation, seed)
            return self._known[asked]


def packages() -> tuple[str, ...]:
    """The packages that ship."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return tuple(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


def mutated(mutation: Mutation, folder: Path) -> None:
    """Lay a changed copy of the packages into the folder. Raises `ValueError` where a text is not there once."""
    for package in packages():
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for edit in mutation.edits:
        path = folder / edit.file
        text = path.read_text(encoding="utf-8")
        if text.count(edit.old) != 1:
            raise ValueError(f"{mutation.name}: the text stands {text.count(edit.old)} times in {edit.file}")
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def seeds_of(mutation: Mutation) -> Iterator[int]:
    """The first seeds that draw what the mutation needs, as many as it is given."""
    needs = [kind for kind in mutation.needs.split(",") if kind]
    found = 0
    for seed in range(1, MOST_SEEDS):
        kinds = [kind for need in needs for kind in need.split("@")]
        there = drawn(seed, mutation.days, small(), kinds)
        if all(_meets(need, there) for need in needs):
            found += 1
            yield seed
        if found == mutation.seeds:
            return


def _meets(need: str, there: Sequence[Fault]) -> bool:
    """Whether a kind is there, or `A@B`: one of A begins while one of B is on."""
    first, _, during = need.partition("@")
    over = [(fault.at, fault.until) for fault in there if fault.kind == during]
    begins = [fault.at for fault in there if fault.kind == first]
    return any(not during or any(at < begun < until for at, until in over) for begun in begins)


def tried(mutation: Mutation, unchanged: Unchanged) -> Tried:
    """Hunt the mutation down: seed after seed, until its checker complains where it is silent about the product as it
    is.
    """
    began = perf_counter()
    elsewhere: dict[str, int] = {}
    said, seed, passed = "", 0, 0
    try:
        with tempfile.TemporaryDirectory(prefix="ebbtide-mutation-") as folder:
            mutated(mutation, Path(folder))
            with Passing(Path(folder)) as passing:
                for seed in seeds_of(mutation):
                    passed += 1
                    found = passing.broken(mutation, seed)
                    if not found:
                        continue
                    anyway = unchanged.broken(mutation, seed)
                    if mutation.checker in found.keys() - anyway.keys():
                        said = found[mutation.checker]
                        return Tried(mutation, CAUGHT, seed, passed, perf_counter() - began, said, elsewhere)
                    for checker in found.keys() - anyway.keys():
                        elsewhere.setdefault(checker, seed)
                    if mutation.checker in found:
                        said = f"seed {seed} breaks it without the mutation too"
    except ChildProcessError as error:
        return Tried(mutation, FAILED, seed, passed, perf_counter() - began, str(error), elsewhere)
    verdict = ELSEWHERE if elsewhere else MISSED
    return Tried(mutation, verdict, 0, passed, perf_counter() - began, said, elsewhere)


def all_tried(mutations: Sequence[Mutation], *, jobs: int, told: Callable[[Tried], None]) -> list[Tried]:
    """Hunt several side by side; in their order."""
    with Passing(ROOT) as passing, ThreadPoolExecutor(jobs) as pool:
        unchanged = Unchanged(passing)

        def one(mutation: Mutation) -> Tried:
            result = tried(mutation, unchanged)
            told(result)
            return result

        return list(pool.map(one, mutations))


def line_of(one: Tried) -> str:
    """One result as a line of a log."""
    at = f" at seed {one.seed}" if one.seed else ""
    others = ", ".join(f"{checker} at {seed}" for checker, seed in sorted(one.elsewhere.items()))
    also = f" (before: {others})" if others else ""
    said = f": {one.said}" if one.said else ""
    name, by = one.mutation.name, one.mutation.checker
    return f"{name:26} {by:24} {one.verdict}{at}, {one.histories} histories, {one.seconds:.1f} s{also}{said}"


def main(argv: Sequence[str] | None = None) -> int:
    """Hunt the named mutations, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args(argv)
    known = {mutation.name: mutation for mutation in MUTATIONS}
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        print(f"error: there is no mutation {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    mutations = [known[name] for name in chosen.names] or list(MUTATIONS)
    results = all_tried(mutations, jobs=chosen.jobs, told=lambda one: print(line_of(one), flush=True))
    caught = sum(one.caught for one in results)
    print(json.dumps({"bench": "mutations", "mutations": len(results), "mutations_caught": caught, "runs": 1}))
    return 0 if caught == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())

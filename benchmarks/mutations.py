"""Mutations of the product, and how each is hunted: that the checkers bite is shown, not said.

A mutation is exact text in a file and what stands there instead. It is applied to a copy of the packages in a temporary
folder; real processes let histories pass there, seed after seed, until a checker complains. A history that the product
itself does not pass proves nothing, so the same question is asked of the unchanged product too. Used by
`benchmarks.simulate`; `benchmarks.mutation_list` holds the list.

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
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from benchmarks.mutation_list import MUTATIONS, Mutation

ROOT = Path(__file__).parents[1]
CAUGHT, MISSED, ELSEWHERE, FAILED = "caught", "missed", "caught elsewhere", "could not run"
LONGEST_S = 3600


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one mutation: `checkers` complained at `seed`, after `histories` of them."""

    mutation: Mutation
    verdict: str
    checkers: tuple[str, ...] = ()
    seed: int = 0
    histories: int = 0
    seconds: float = 0.0
    said: str = ""

    @property
    def caught(self) -> bool:
        """Whether any checker complained of what the unchanged product passes."""
        return self.verdict in (CAUGHT, ELSEWHERE)


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


def hunt(where: Path, mutation: Mutation, seeds: range) -> dict[str, object]:
    """Let the packages of a folder pass the mutation's histories until one breaks; the command's own document."""
    command = [
        sys.executable, "-m", "ebbtide", "simulate", "--seeds", f"{seeds.start}-{seeds.stop - 1}",
        "--days", f"{mutation.days:g}", "--faults", mutation.faults, "--shrink", "0", "--first", "--output", "json",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(where), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, check=False, cwd=where, env=environment, capture_output=True, text=True, timeout=LONGEST_S
    )
    if done.returncode not in (0, 1):
        return {"error": (done.stderr.strip().splitlines() or ["no word"])[-1], "trace": done.stderr}
    document: dict[str, object] = json.loads(done.stdout)
    return document


def tried(mutation: Mutation) -> Tried:
    """Hunt the mutation down: seed after seed, until a checker complains that has nothing to say of the unchanged
    product in the same history.
    """
    began = perf_counter()
    following, histories = 1, 0
    said = ""
    with tempfile.TemporaryDirectory(prefix="ebbtide-mutation-") as folder:
        mutated(mutation, Path(folder))
        while following <= mutation.seeds:
            found = hunt(Path(folder), mutation, range(following, mutation.seeds + 1))
            if "error" in found:
                return Tried(mutation, FAILED, (), following, histories, perf_counter() - began, str(found["error"]))
            seed, broken = _failing(found)
            histories += (seed or mutation.seeds) - following + 1
            if not seed:
                break
            healthy = hunt(ROOT, mutation, range(seed, seed + 1))
            anyway = _failing(healthy)[1]
            checkers = tuple(checker for checker in broken if checker not in anyway)
            if checkers and "error" not in healthy:
                verdict = CAUGHT if any(one.startswith(mutation.checker) for one in checkers) else ELSEWHERE
                said = broken[checkers[0]]
                return Tried(mutation, verdict, checkers, seed, histories, perf_counter() - began, said)
            said = f"seed {seed} breaks without it too" if anyway else ""
            following = seed + 1
    return Tried(mutation, MISSED, (), 0, histories, perf_counter() - began, said)


def _failing(found: dict[str, object]) -> tuple[int, dict[str, str]]:
    """The first failing seed of a document (0: none), and what broke there: sentence by checker."""
    failing = found.get("failing")
    if not isinstance(failing, list) or not failing:
        return 0, {}
    first = failing[0]
    return int(first["seed"]), {str(one["checker"]): str(one["sentence"]) for one in first["broken"]}


def all_tried(mutations: Sequence[Mutation], *, jobs: int, told: Callable[[Tried], None]) -> list[Tried]:
    """Hunt several side by side; in their order."""

    def one(mutation: Mutation) -> Tried:
        result = tried(mutation)
        told(result)
        return result

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, mutations))


def line_of(one: Tried) -> str:
    """One result as a line of a log."""
    by = f" by {', '.join(one.checkers)} at seed {one.seed}" if one.checkers else ""
    said = f": {one.said}" if one.said else ""
    return f"{one.mutation.name:26} {one.verdict}{by}, {one.histories} histories, {one.seconds:.1f} s{said}"


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

"""How long `ebbtide diff` of a one-line change of the reference estate takes, with the bare schema checker beside it.

`seconds` is a fresh process from start to end for a line of a contract, `pool_seconds` for a line of a pool that 54
workloads may use: imports, Git, both sides, schemas, rules, effects, text. `cue_seconds` is `cue vet` alone on one
side's documents, in turn with it, so that a busy machine slows both; `validate_seconds` is `ebbtide validate` of one
side, which the diff cannot be faster than. `cpu_seconds` is what the first of them takes of processors, `cue` included:
on idle cores it bounds `seconds`. Medians of the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from repo_layout.adapters.cue import MEMORY, Cue
from repo_layout.adapters.git_lay import Authorship, files_below, lay
from repo_layout.adapters.worktree import read_worktree
from repo_layout.load import read

ROOT = Path(__file__).parents[1]
ESTATE = ROOT / "repo_layout" / "estate"
RUNS = 9
CHANGES = {
    "seconds": ("contracts/search/query-frontend.yaml", "floor: 10\n", "floor: 12\n"),
    "pool_seconds": ("pools/aarhus/aarhus-h1-general-a.yaml", "hosts:", "noticeWindow: 100s\nhosts:"),
}
AUTHORSHIP = Authorship("Ann", "ann@example.org", 1_790_000_000, "Change a line\n")


def _timed(command: list[str], *, stdin: Path | None = None, cwd: Path = ROOT) -> float:
    environment = {**os.environ, "CUE_REGISTRY": "none", "GOMEMLIMIT": MEMORY, "GOGC": "off"}
    with (stdin or Path(os.devnull)).open("rb") as given:
        start = time.perf_counter()
        subprocess.run(command, check=True, stdin=given, stdout=subprocess.DEVNULL, cwd=cwd, env=environment)
        return time.perf_counter() - start


def _processor_s() -> float:
    """Seconds of processors that ended children have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _laid(folder: Path) -> None:
    """A repository whose branch `main` is the estate, with a branch of one line more for each change."""
    files = files_below(ESTATE)
    base = lay(folder, files, AUTHORSHIP)
    git = ["git", "--git-dir", str(folder)]
    for name, (path, old, new) in CHANGES.items():
        text = files[path].decode()
        if old not in text:
            raise SystemExit(f"error: {old!r} does not stand in {path}")
        index = {**os.environ, "GIT_INDEX_FILE": str(folder / f"index-{name}")}
        who = {
            f"GIT_{role}_{what}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        blob = _said([*git, "hash-object", "-w", "--stdin"], text.replace(old, new, 1))
        _said([*git, "read-tree", base], "", index)
        _said([*git, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}"], "", index)
        commit = _said([*git, "commit-tree", _said([*git, "write-tree"], "", index), "-p", base, "-m", name], "", who)
        _said([*git, "update-ref", f"refs/heads/{name}", commit], "")
    _said([*git, "update-ref", "refs/heads/base", base], "")


def _said(command: list[str], given: str, environment: dict[str, str] | None = None) -> str:
    more = {**os.environ, **(environment or {})}
    return subprocess.run(command, check=True, input=given, capture_output=True, text=True, env=more).stdout.strip()


def main() -> int:
    """Print one line a run and, last, the figures as one JSON object."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=RUNS)
    given = arguments.parse_args()
    checker = Cue.found(os.environ)
    if checker.binary is None:
        print("error: no cue binary; make setup builds it, or EBBTIDE_CUE names one", file=sys.stderr)
        return 2
    sources = read(read_worktree(ESTATE)).sources
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as parent:
        folder, repository = Path(name), Path(parent) / "estate.git"
        _laid(repository)
        command, document = checker.laid_out(folder, sources)
        ebbtide = [sys.executable, "-m", "ebbtide"]
        for run in range(1, given.runs + 1):
            once = {"cue_seconds": _timed(command, stdin=document, cwd=folder)}
            once["validate_seconds"] = _timed([*ebbtide, "validate", str(repository), "--commit", "base"])
            for change in CHANGES:
                before = _processor_s()
                once[change] = _timed([*ebbtide, "diff", "base", change, "--in", str(repository)])
                once.setdefault("cpu_seconds", _processor_s() - before)
            for key, seconds in once.items():
                taken.setdefault(key, []).append(seconds)
            print(f"run {run}: " + ", ".join(f"{key} {seconds:.3f}" for key, seconds in once.items()))
    medians = {key: statistics.median(values) for key, values in taken.items()}
    figures = {"bench": "diff", **{key: round(seconds, 3) for key, seconds in medians.items()}}
    figures |= {
        "ratio": round(medians["seconds"] / medians["cue_seconds"], 2),
        "files": len(sources),
        "runs": given.runs,
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())

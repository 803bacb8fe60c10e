"""How long the whole validation of the reference estate takes, with the bare schema checker beside it.

`seconds` is a fresh process from start to end: imports, files, YAML, models, schemas, rules across files. `cue_seconds`
is `cue vet` alone on the same documents, in turn with it, so that a busy machine slows both. The limit is near
`cue_seconds` plus the start of the interpreter; both grow with the number of files. Medians of the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contracts.findings import exit_code
from repo_layout.adapters.cue import MEMORY, Cue
from repo_layout.adapters.worktree import read_worktree
from repo_layout.load import read
from repo_layout.validate import validate

ROOT = Path(__file__).parents[1]
ESTATE = ROOT / "repo_layout" / "estate"
RUNS = 9


def _once(estate: Path) -> int:
    """What the timed process does: everything but printing."""
    return exit_code(validate(read_worktree(estate), cue=Cue.found(os.environ)).findings)


def _timed(command: list[str], *, stdin: Path | None = None, cwd: Path = ROOT) -> float:
    environment = {**os.environ, "CUE_REGISTRY": "none", "GOMEMLIMIT": MEMORY, "GOGC": "off"}
    with (stdin or Path(os.devnull)).open("rb") as given:
        start = time.perf_counter()
        subprocess.run(command, check=True, stdin=given, cwd=cwd, env=environment)
        return time.perf_counter() - start


def _enlarged(estate: Path, folder: Path, copies: int) -> Path:
    """The estate with each contract `copies` times; the copies have no floor, for which there are no more hosts, and
    teams and gateways have as much more room.
    """
    shutil.copytree(estate, folder)
    settings = folder / "ebbtide.yaml"
    text = settings.read_text(encoding="utf-8")
    text = re.sub(r"(ncuLimit: |checkpointGateway: )([0-9]+)", lambda m: f"{m[1]}{int(m[2]) * copies}", text)
    settings.write_text(text, encoding="utf-8")
    for path in sorted(folder.glob("contracts/*/*.yaml")):
        kept = [
            line
            for line in path.read_text(encoding="utf-8").splitlines(keepends=True)
            if line.partition(":")[0] not in {"floor", "minimum", "fallback", "restart"}
        ]
        for at in range(1, copies):
            name = f"{path.stem}-{at}"
            text = "".join(kept).replace(f"name: {path.stem}\n", f"name: {name}\n", 1)
            path.with_stem(name).write_text(text, encoding="utf-8")
    return folder


def main(bench: str = "validate", *, copies: int = 1, runs: int = RUNS) -> int:
    """Print one line a run and, last, the figures as one JSON object."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--once", type=Path, help="validate this folder once and say nothing")
    arguments.add_argument("--estate", type=Path, default=ESTATE)
    arguments.add_argument("--runs", type=int, default=runs)
    given = arguments.parse_args()
    if given.once is not None:
        return _once(given.once)
    checker = Cue.found(os.environ)
    if checker.binary is None:
        print("error: no cue binary; make setup builds it, or EBBTIDE_CUE names one", file=sys.stderr)
        return 2
    whole, bare = [], []
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as parent:
        estate = given.estate if copies == 1 else _enlarged(given.estate, Path(parent) / "estate", copies)
        sources = read(read_worktree(estate)).sources
        folder = Path(name)
        command, document = checker.laid_out(folder, sources)
        for run in range(1, given.runs + 1):
            bare.append(_timed(command, stdin=document, cwd=folder))
            whole.append(_timed([sys.executable, "-m", "benchmarks.validate", "--once", str(estate)]))
            print(f"run {run}: whole {whole[-1]:.3f} s, bare cue {bare[-1]:.3f} s")
    seconds, cue_seconds = statistics.median(whole), statistics.median(bare)
    figures = {
        "bench": bench,
        "seconds": round(seconds, 3),
        "cue_seconds": round(cue_seconds, 3),
        "ratio": round(seconds / cue_seconds, 2),
        "files": len(sources),
        "runs": given.runs,
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())

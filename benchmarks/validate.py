"""How long the whole validation of the reference estate takes, with the bare schema checker beside it.

`seconds` is the command from start to end: interpreter, imports, files, YAML, models, schemas, rules across files,
text. `cue_seconds` is `cue vet` alone with the same schemas, reading the same YAML files itself in the quickest way it
has (one process that embeds them), in turn with ours, so that a busy machine slows both. `cue_json_seconds` is the
process that we run: the same documents as one JSON text. The limit is near `cue_json_seconds` plus the start of the
interpreter and the reading; all grow with the number of files. Medians of the runs.
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
from typing import get_args

from repo_layout.adapters.cue import MEMORY, SCHEMAS, Cue
from repo_layout.adapters.worktree import read_worktree
from repo_layout.layout import ROOT_FILES, SHAPES
from repo_layout.load import MODELS, read

ROOT = Path(__file__).parents[1]
ESTATE = ROOT / "repo_layout" / "estate"
RUNS = 9


def _timed(command: list[str], *, stdin: Path | None = None, cwd: Path = ROOT) -> float:
    environment = {**os.environ, "CUE_REGISTRY": "none", "GOMEMLIMIT": MEMORY, "GOGC": "off"}
    with (stdin or Path(os.devnull)).open("rb") as given:
        start = time.perf_counter()
        subprocess.run(command, check=True, stdin=given, stdout=subprocess.DEVNULL, cwd=cwd, env=environment)
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


def _yaml_package(estate: Path, folder: Path) -> Path:
    """A CUE module in which every file of the estate is embedded below the definition of its kind."""
    shutil.copytree(estate, folder)
    (folder / "cue.mod").mkdir()
    (folder / "cue.mod" / "module.cue").write_text('module: "estate.example/bare"\nlanguage: version: "v0.17.0"\n')
    schema = folder / "schema"
    schema.mkdir()
    for package, name in SCHEMAS:
        shutil.copy(ROOT / package / "schema" / name, schema / name)
    kinds = {kind: [path] for path, kind in ROOT_FILES.items()}
    kinds |= {shape.kind: [f"{at}/*.yaml", f"{at}/*/*.yaml"] for at, shape in SHAPES.items()}
    lines = ["@extern(embed)", "package bare", 'import "estate.example/bare/schema:estate"']
    for kind, globs in kinds.items():
        word = get_args(MODELS[kind].model_fields["kind"].annotation)[0]
        for found in (found for found in globs if any(folder.glob(found))):
            lines += [f"{word}: [string]: estate.#{word}", f"{word}: _ @embed(glob={found})"]
    (folder / "bare.cue").write_text("\n".join(lines) + "\n")
    return folder


def main(bench: str = "validate", *, copies: int = 1, runs: int = RUNS) -> int:
    """Print one line a run and, last, the figures as one JSON object."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--estate", type=Path, default=ESTATE)
    arguments.add_argument("--runs", type=int, default=runs)
    given = arguments.parse_args()
    checker = Cue.found(os.environ)
    if checker.binary is None:
        print("error: no cue binary; make setup builds it, or EBBTIDE_CUE names one", file=sys.stderr)
        return 2
    whole, of_yaml, of_json = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        estate = _enlarged(given.estate, folder / "estate", copies)
        sources = read(read_worktree(estate)).sources
        package = _yaml_package(estate, folder / "yaml")
        (folder / "json").mkdir()
        command, document = checker.laid_out(folder / "json", sources)
        for run in range(1, given.runs + 1):
            of_json.append(_timed(command, stdin=document, cwd=folder / "json"))
            of_yaml.append(_timed([checker.binary, "vet", "."], cwd=package))
            whole.append(_timed([sys.executable, "-m", "ebbtide", "validate", str(estate)]))
            print(f"run {run}: whole {whole[-1]:.3f} s, cue {of_yaml[-1]:.3f} s, of one JSON text {of_json[-1]:.3f} s")
    seconds, cue_seconds = statistics.median(whole), statistics.median(of_yaml)
    figures = {
        "bench": bench,
        "seconds": round(seconds, 3),
        "cue_seconds": round(cue_seconds, 3),
        "cue_json_seconds": round(statistics.median(of_json), 3),
        "ratio": round(seconds / cue_seconds, 2),
        "files": len(sources),
        "runs": given.runs,
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Coverage-guided fuzzing of what reads foreign bytes: the strict reader and the verifier, each for a bounded time.

`make fuzz` runs it in an environment of its own, which has atheris. Each target is one process that begins from its
seeds and keeps what reached new code in a corpus below .tools/fuzz. A finding ends its target, leaves the bytes in that
folder and gives exit code 1; so does an input that takes longer than `LONGEST_S`. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module, util
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".tools" / "fuzz"
TARGETS = {"reader": "fuzz_reader", "verify": "fuzz_verify"}
LARGEST = {"reader": 4096, "verify": 12 * 1024}  # bytes of an input: a file of 100 lines; a node bundle and a half
LONGEST_S = 5
SEED = 7
INSTRUMENTED = ["contracts", "repo_layout", "pools", "correlation_groups", "yaml"]


def main() -> int:
    """Fuzz every target, or the one that is named, one after another."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=int, default=120, help="for each target (default: 120)")
    arguments.add_argument("--target", choices=sorted(TARGETS))
    arguments.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given, rest = arguments.parse_known_args()
    if given.child:
        return _child(given.target, rest)
    if util.find_spec("atheris") is None:
        print("error: this Python has no atheris; make fuzz runs it in one that has", file=sys.stderr)
        return 2
    figures = []
    for name in TARGETS:
        if given.target in (None, name):
            figures.append(_fuzz(name, given.seconds))
            print(json.dumps(figures[-1]))
    print(json.dumps({"bench": "fuzz", "targets": figures, "runs": 1}))
    return 1 if any(figure["findings"] for figure in figures) else 0


def _fuzz(name: str, seconds: int) -> dict[str, object]:
    """One bounded run; its figures."""
    corpus, found = HOME / "corpus" / name, HOME / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    seeds = import_module(f"benchmarks.{TARGETS[name]}").SEEDS
    for seed, content in seeds.items():
        (corpus / f"seed-{seed[-120:]}").write_bytes(content)
    command = [
        sys.executable, "-m", "benchmarks.fuzz", "--child", "--target", name, str(corpus),
        f"-max_total_time={seconds}", f"-max_len={LARGEST[name]}", f"-timeout={LONGEST_S}", f"-seed={SEED}",
        f"-artifact_prefix={found}{os.sep}", "-print_final_stats=1", "-rss_limit_mb=2048", "-verbosity=1",
    ]  # fmt: skip
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, errors="replace")
    log = done.stdout + done.stderr
    (HOME / f"{name}.log").write_text(log, encoding="utf-8")
    edges = [int(number) for number in re.findall(r"\b(?:INITED|NEW|REDUCE|pulse|DONE)\s+cov: (\d+)", log)] or [0]
    executed = re.search(r"stat::number_of_executed_units: (\d+)", log)
    broken = done.returncode != 0
    if broken:
        print("\n".join(log.splitlines()[-40:]), file=sys.stderr)
    return {
        "target": name,
        "seconds": seconds,
        "executions": int(executed[1]) if executed else 0,
        "seeds": len(seeds),
        "corpus": sum(1 for path in corpus.iterdir() if not path.name.startswith("seed-")),
        "coverage_at_start": edges[0],
        "coverage": edges[-1],
        "findings": int(broken),
    }


def _child(name: str, arguments: list[str]) -> int:
    """The process that is fuzzed; it ends by itself."""
    atheris = import_module("atheris")
    with atheris.instrument_imports(include=INSTRUMENTED):
        module = import_module(f"benchmarks.{TARGETS[name]}")
    judge: Callable[[bytes], None] = getattr(module, TARGETS[name])

    def target(data: bytes) -> None:
        try:
            judge(data)
        except BaseException:
            # at once and by ourselves: the fuzzer writes its own copy only where it ends in good order
            (HOME / "found" / name / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
            raise

    atheris.Setup([sys.argv[0], *arguments], target)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())

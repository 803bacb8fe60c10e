"""The hunt as a figure: region-days with every fault and no breach, how fast they pass, and the mutations caught.

Small region-days and full-sized ones pass in processes side by side; each seed is a line of the log, so that every one
can be repeated by `ebbtide simulate --seed N`. Then the same days pass in fair weather, for the speed, and every
mutation of `benchmarks.mutation_list` is hunted. The last line is one JSON object.

    python -m benchmarks.simulate [--days N] [--full-size N] [--jobs J] [--first-seed N] [--log FILE] [--no-mutations]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.mutation_list import MUTATIONS
from benchmarks.mutations import Tried, all_tried, line_of
from ebbtide.histories import region_histories
from ebbtide.hunting import Hunters, hunters
from simulation.hunt import ALL, FULL, NONE, SMALL, Outcome, Question, Tally, tally

DAYS = 40
"""A few minutes on two cores."""

CALM_DAYS = 6
LOG_HEAD = "# seed size days faults-switched-on cycles breaches processor-seconds first-breach"


def questions(args: argparse.Namespace) -> list[Question]:
    """One region-day a seed, small ones first."""
    first = args.first_seed
    small = [Question(seed, 1.0, (ALL,), SMALL) for seed in range(first, first + args.days)]
    return small + [Question(seed, 1.0, (ALL,), FULL) for seed in range(first, first + args.full_size)]


def log_line(one: Outcome) -> str:
    """One history of the log."""
    asked = one.question
    broke = f"{one.first[0].checker}: {one.first[0].sentence}" if one.first else "-"
    return (
        f"{asked.seed} {asked.size} {asked.lasts:g} {len(one.faults)} {one.counts.get('cycles', 0)} "
        f"{one.breaches} {one.seconds:.2f} {broke}"
    )


def hunted(hunting: Hunters, asked: Sequence[Question], log: list[str]) -> tuple[Tally, float]:
    """Let them pass; the sums and the seconds that it took by the clock."""
    began = perf_counter()
    done: list[Outcome] = []

    def told(one: Outcome) -> None:
        done.append(one)
        if not one.clean or len(done) % 50 == 0:
            print(f"{len(done)} of {len(asked)}: {log_line(one)}", flush=True)

    outcomes = hunting.outcomes(asked, told)
    log += map(log_line, outcomes)
    return tally(outcomes), perf_counter() - began


def speed(summed: Tally, seconds: float) -> float | None:
    """Simulated days a second by the clock."""
    return round(summed.days / seconds, 2) if seconds and summed.days else None


def main(argv: Sequence[str] | None = None) -> int:
    """Hunt, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=DAYS, help="small region-days, one a seed (default: %(default)s)")
    parser.add_argument("--full-size", type=int, default=1, help="full-sized region-days (default: %(default)s)")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--log", type=Path, help="keep a line for each seed and mutation there")
    parser.add_argument("--no-mutations", action="store_true")
    args = parser.parse_args(argv)
    log = [LOG_HEAD]
    asked = questions(args)
    with hunters(region_histories, jobs=args.jobs) as hunting:
        summed, seconds = hunted(hunting, [q for q in asked if q.size == SMALL], log)
        full, full_seconds = hunted(hunting, [q for q in asked if q.size == FULL], log)
        calm = [Question(seed, 1.0, (NONE,), SMALL) for seed in range(1, CALM_DAYS + 1)]
        fair, fair_seconds = hunted(hunting, calm, [])
    results: list[Tried] = []
    if not args.no_mutations:
        results = all_tried(MUTATIONS, jobs=args.jobs, told=lambda one: print(line_of(one), flush=True))
        log += ["# mutations", *map(line_of, results)]
    if args.log is not None:
        args.log.parent.mkdir(parents=True, exist_ok=True)
        args.log.write_text("\n".join(log) + "\n", encoding="utf-8")
    breaches = summed.breaches + full.breaches + fair.breaches
    figures = {
        "bench": "simulate",
        "region_days": summed.days + full.days,
        "full_size_days": full.days,
        "breaches": breaches,
        "failing_seeds": [one.question.seed for one in (*summed.failing, *full.failing)],
        "mutations": len(results),
        "mutations_caught": sum(one.caught for one in results),
        "days_per_second": speed(summed, seconds),
        "days_per_second_full_size": speed(full, full_seconds),
        "days_per_second_without_faults": speed(fair, fair_seconds),
        "jobs": args.jobs,
        "runs": 1,
    }
    print(json.dumps(figures))
    return 1 if breaches or not all(one.caught for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())

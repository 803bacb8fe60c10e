"""The hunt as a figure: region-days with every fault and no breach, how fast they pass, and the mutations caught.

Small region-days and full-sized ones pass in processes side by side, a seed each; then some in fair weather, for the
speed, and mutations of `benchmarks.mutation_list` are hunted. With `--log` each is a line of a file as soon as it is
over, and the same command goes on where it was cut off; another version of the product begins anew. Speeds are
simulated days in a second of one processor. The last line is one JSON object.

    python -m benchmarks.simulate [--days N] [--full-size N] [--mutations all|none|sample] [--jobs J] [--first-seed N]
                                  [--log FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.hunt_log import Day, Log, day_of, hunted_of, opened, version_of
from benchmarks.mutation import Mutation
from benchmarks.mutation_list import MUTATIONS
from benchmarks.mutations import CAUGHT, Tried, all_tried, line_of
from ebbtide.histories import region_histories
from ebbtide.hunting import hunters
from simulation.hunt import ALL, FULL, NONE, SMALL, Outcome, Question

DAYS = 20
"""With one full-sized day and the sample of mutations a few minutes on two cores."""

CALM_DAYS = 4
SAMPLE = 6
"""Every so many mutations of the list: the quick look."""

TOLD_EVERY = 50


def asked_for(args: argparse.Namespace) -> list[Question]:
    """One region-day a seed: full-sized ones first, since they last longest, and those in fair weather at the end."""
    first = args.first_seed
    return [
        *(Question(seed, 1.0, (ALL,), FULL) for seed in range(first, first + args.full_size)),
        *(Question(seed, 1.0, (ALL,), SMALL) for seed in range(first, first + args.days)),
        *(Question(seed, 1.0, (NONE,), SMALL) for seed in range(1, CALM_DAYS + 1)),
    ]


def key_of(question: Question) -> tuple[int, str, float, str]:
    """As the log tells histories apart."""
    return question.seed, question.size, question.days, ",".join(question.faults)


def let_pass(asked: Sequence[Question], log: Log, jobs: int) -> list[Day]:
    """Let those pass that the log does not have yet; all of them, as it has them then."""
    missing = [question for question in asked if key_of(question) not in log.days]
    if len(missing) < len(asked):
        print(f"{len(asked) - len(missing)} of {len(asked)} histories stand in the log", flush=True)
    done = 0

    def told(one: Outcome) -> None:
        nonlocal done
        done += 1
        log.add(day_of(one))
        if not one.clean or done % TOLD_EVERY == 0:
            print(f"{done} of {len(missing)}: {day_of(one).line}", flush=True)

    if missing:
        with hunters(region_histories, jobs=jobs) as hunting:
            hunting.outcomes(missing, told)
    return [log.days[key_of(question)] for question in asked]


def hunt_mutations(which: str, log: Log, jobs: int) -> list[str]:
    """The verdicts on the mutations of the choice; those that the log does not have yet are hunted."""
    chosen: tuple[Mutation, ...] = {"all": MUTATIONS, "sample": MUTATIONS[::SAMPLE], "none": ()}[which]
    missing = [mutation for mutation in chosen if mutation.name not in log.mutations]
    if missing:

        def told(one: Tried) -> None:
            log.add(hunted_of(one))
            print(line_of(one), flush=True)

        all_tried(missing, jobs=jobs, told=told)
    return [log.mutations[mutation.name].verdict for mutation in chosen]


def speed(days: Iterable[Day]) -> float | None:
    """Simulated days in a second of one processor."""
    counted = list(days)
    seconds = sum(day.seconds for day in counted)
    return round(sum(day.days for day in counted) / seconds, 3) if seconds else None


def main(argv: Sequence[str] | None = None) -> int:
    """Hunt, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=DAYS, help="small region-days, one a seed (default: %(default)s)")
    parser.add_argument("--full-size", type=int, default=1, help="full-sized region-days (default: %(default)s)")
    parser.add_argument("--mutations", choices=("all", "none", "sample"), default="sample")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--log", type=Path, help="keep a line for each history and mutation there, and go on from it")
    args = parser.parse_args(argv)
    try:
        log = opened(args.log, version_of())
    except (OSError, ValueError) as error:
        print(f"error: {args.log} is no log of a hunt: {error}", file=sys.stderr)
        return 2
    days = let_pass(asked_for(args), log, args.jobs)
    verdicts = hunt_mutations(args.mutations, log, args.jobs)
    hunted = [day for day in days if day.faults == ALL]
    small, full = ([day for day in hunted if day.size == size] for size in (SMALL, FULL))
    caught = verdicts.count(CAUGHT)
    breaches = sum(day.breaches for day in days)
    figures = {
        "bench": "simulate",
        "version": log.version,
        "region_days": sum(day.days for day in hunted),
        "full_size_days": sum(day.days for day in full),
        "breaches": breaches,
        "failing_seeds": [f"{day.seed} {day.size}" for day in days if day.breaches],
        "mutations": len(verdicts),
        "mutations_caught": caught,
        "days_per_second": speed(small),
        "days_per_second_calm": speed(day for day in days if day.faults == NONE),
        "days_per_second_full_size": speed(full),
        "jobs": args.jobs,
        "runs": 1,
    }
    print(json.dumps(figures))
    return 1 if breaches or caught < len(verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())

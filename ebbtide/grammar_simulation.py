"""What can be typed behind `ebbtide simulate`. Standard library only, like the grammar that imports it."""

from __future__ import annotations

import argparse
import re

SIZES = ("small", "full")
SCENARIOS = ("no-control-plane",)
LONGEST_DAYS = 1000.0
MOST_SEEDS = 100_000
MOST_JOBS = 64
WORD = re.compile(r"[a-z][a-z0-9_]*(#[1-9][0-9]{0,4})?")


def simulate(to: argparse.ArgumentParser) -> None:
    """`ebbtide simulate`."""
    which = to.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=_seed, metavar="N", help="one history")
    which.add_argument("--seeds", type=_seeds, metavar="A-B", help="a hunt: one history for each seed from A to B")
    which.add_argument("--corpus", action="store_true", help="the seeds that are kept, each as its line says")
    game = "a game day: no-control-plane, twelve hours without anybody who decides"
    which.add_argument("--scenario", choices=SCENARIOS, metavar="NAME", help=game)
    which.add_argument("--list-faults", action="store_true", help="the kinds of faults, each with a sentence")
    to.add_argument("--days", type=_days, default=1.0, metavar="D", help="of each history, such as 0.5 (default: 1)")
    to.add_argument(
        "--until", type=_days, default=0.0, metavar="D", help="end after D days; faults are those of --days"
    )
    told = "all, none, or a list of kinds and single faults such as crash,listing_stale#1 (default: all)"
    to.add_argument("--faults", type=_faults, default=("all",), metavar="LIST", help=told)
    to.add_argument("--size", choices=SIZES, default="small", help="about 60 instances, or 800 (default: small)")
    to.add_argument("--region", default="", metavar="R", help="a region of the reference estate (full size only)")
    to.add_argument("--jobs", type=_jobs, default=1, metavar="J", help="processes side by side (default: 1)")
    to.add_argument("--first", action="store_true", help="end the hunt at the first seed that fails")
    shrunk = "histories to try in making a failing one small; 0 leaves it as it is (default: 80)"
    to.add_argument("--shrink", type=_runs, default=80, metavar="N", help=shrunk)
    story = "where to write the story (default: .simulate/seed-N.txt for a seed that failed)"
    to.add_argument("--transcript", metavar="FILE", help=story)


def _seed(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number such as 7")
    return int(text)


def _seeds(text: str) -> tuple[int, ...]:
    first, dash, last = text.partition("-")
    if not dash:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range such as 1-40")
    low, high = _seed(first), _seed(last)
    if high < low:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it begins")
    if high - low >= MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r} are more than {MOST_SEEDS:,} seeds")
    return tuple(range(low, high + 1))


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days <= LONGEST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days above 0, at most {LONGEST_DAYS:g}")
    return days


def _faults(text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    wrong = [word for word in words if not WORD.fullmatch(word)]
    if wrong:
        raise argparse.ArgumentTypeError(f"{wrong[0]!r} is no fault such as crash or crash#2")
    if len(words) > 1 and {"all", "none"} & set(words):
        raise argparse.ArgumentTypeError("all and none stand alone")
    return words


def _jobs(text: str) -> int:
    jobs = _seed(text)
    if not 0 < jobs <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes from 1 to {MOST_JOBS}")
    return jobs


def _runs(text: str) -> int:
    runs = _seed(text)
    if runs > 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is more than 10,000 runs")
    return runs

"""Lets histories pass in one process of its own, as they are asked for: a line in, a line out.

Run by its path, so that the packages are those of the folder that `PYTHONPATH` names, and imported once for many
histories. In: `SEED DAYS FAULTS [REGION]`, a whole region of the reference estate where one is named. Out: one JSON
object, the first sentence of each checker that complained by its name. Used by `benchmarks.mutations`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator

from ebbtide.histories import region_histories
from simulation.hunt import FULL, SMALL, Question, outcome


def answers(lines: Iterable[str]) -> Iterator[str]:
    """One answer for each line."""
    histories = region_histories()
    for line in lines:
        seed, days, faults, *region = line.split()
        size = FULL if region else SMALL
        question = Question(int(seed), float(days), tuple(faults.split(",")), size, "".join(region))
        passed = outcome(histories.live(question))
        yield json.dumps({one.checker: one.sentence for one in passed.first})


def main() -> int:
    """Answer until nobody asks any more."""
    for answer in answers(sys.stdin):
        print(answer, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

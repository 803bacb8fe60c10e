"""How much work the simulated region's workloads have over a day, from one seed.

A level between 0 and 1 of the interruptible part of each contract: a mean and a daily swing by kind of work, and a
slowly wandering deviation (a first-order autoregression), changed every hour at a minute of the workload's own.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from contracts.model import Contract, Tier

STEP_MS = 3_600_000
HOUR_MS = 3_600_000
PERSISTENCE = 0.8
"""Share of the deviation that is left an hour later."""

DEVIATION = 0.03
"""Standard deviation of each hour's news, as a share of the interruptible maximum."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Mean level, relative daily swing, and the hour of the day (UTC) of its top."""

    mean: float
    swing: float
    peak_hour: float


SHAPES: dict[Tier, Shape] = {
    Tier.ANCHORED: Shape(0.60, 0.35, 15.0),
    Tier.RESUMABLE: Shape(0.75, 0.10, 22.0),
    Tier.STAGED: Shape(0.60, 0.40, 2.0),
    Tier.REQUEUED: Shape(0.60, 0.35, 13.0),
    Tier.SCAVENGER: Shape(0.65, 0.25, 1.0),
}


def changes(contract: Contract, *, seed: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """(time, units wanted) for one contract from `start` on; the first change stands at `start`."""
    rng = random.Random(f"demand/{seed}/{contract.name}")
    shape = SHAPES[contract.tier]
    offset = rng.randrange(STEP_MS // 60_000) * 60_000
    deviation = rng.gauss(0.0, DEVIATION / math.sqrt(1 - PERSISTENCE**2))
    at = start
    while at < end:
        hour = at / HOUR_MS % 24
        daily = 1 + shape.swing * math.cos(2 * math.pi * (hour - shape.peak_hour) / 24)
        level = min(1.0, max(0.05, shape.mean * daily + deviation))
        yield at, _units(contract, level)
        deviation = PERSISTENCE * deviation + rng.gauss(0.0, DEVIATION)
        at = (at // STEP_MS + 1) * STEP_MS + offset


def _units(contract: Contract, level: float) -> int:
    beyond = round((contract.maximum - contract.floor) * level)
    gang = contract.gang_size
    return contract.floor + (beyond // gang * gang if gang > 1 else beyond)

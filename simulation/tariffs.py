"""What instances cost over time: a guaranteed rate from the flavor's shape, and a saving that changes.

Seeded per pool, lazy, and independent of what the cloud does. Rates are per instance-hour with four decimals.
"""

from __future__ import annotations

import bisect
import random
from decimal import Decimal

from pools.model import InstanceShape, Pool
from simulation.cloud_model import DAY_MS, CloudParameters, RatePeriod, stream

PER_VCPU = Decimal("0.0210")
PER_GIB = Decimal("0.0028")
PER_GPU = Decimal("1.9000")
"""Per hour. Believable sizes, chosen so that 1 vCPU + 4 GiB costs about three cents; no source is claimed."""

LEAST_SAVING, MOST_SAVING = 40, 85
"""Percent, the span within which a drawn saving moves."""

GIB = 1024**3
PLACES = Decimal("0.0001")


def guaranteed_rate(shape: InstanceShape, factor: Decimal) -> Decimal:
    """The guaranteed rate per hour of one such instance."""
    gib = Decimal(shape.memory) / GIB
    return ((PER_VCPU * shape.vcpu + PER_GIB * gib + PER_GPU * shape.gpu) * factor).quantize(PLACES)


class Tariff:
    """One pool's rate over time from `start`; asked for any time from there on, in any order, it answers the same."""

    def __init__(self, pool: Pool, *, region: str, start: int, seed: int, parameters: CloudParameters) -> None:
        factor = Decimal(stream(seed, "region-rate", region).randint(90, 115)) / 100
        self.guaranteed = guaranteed_rate(pool.instance, factor)
        self._random: random.Random = stream(seed, "saving", pool.name)
        drawn = self._random.randint(LEAST_SAVING, MOST_SAVING)
        self._saving = 0 if pool.committed else parameters.savings.get(pool.name, drawn)
        fixed = pool.committed or pool.name in parameters.savings
        self._changes_per_ms = 0.0 if fixed else parameters.rate_changes_per_day / DAY_MS
        self._starts = [start]
        self._rates = [self._rate()]
        self._next = self._draw_next(start)

    @property
    def next_change(self) -> int | None:
        """When the rate changes after the last time asked for; None when never."""
        return self._next

    def hasten(self, instant: int) -> None:
        """The next change comes at this time, which nobody has asked about yet, instead of its own."""
        if self._next is not None:
            self._extend(instant)
            self._next = max(instant, self._starts[-1] + 1)

    def at(self, instant: int) -> tuple[Decimal, int]:
        """The rate at this time and since when it holds."""
        self._extend(instant)
        index = max(0, bisect.bisect_right(self._starts, instant) - 1)
        return self._rates[index], self._starts[index]

    def periods(self, start: int, end: int) -> tuple[RatePeriod, ...]:
        """The rates over [start, end), joined without a gap."""
        self._extend(end)
        first = max(0, bisect.bisect_right(self._starts, start) - 1)
        found = []
        for index in range(first, len(self._starts)):
            until = self._starts[index + 1] if index + 1 < len(self._starts) else end
            low, high = max(start, self._starts[index]), min(end, until)
            if low < high:
                before = self._starts[index - 1] if index else 0
                found.append(RatePeriod(low, high, self._rates[index], before))
        return tuple(found)

    def _rate(self) -> Decimal:
        return (self.guaranteed * (100 - self._saving) / 100).quantize(PLACES)

    def _draw_next(self, after: int) -> int | None:
        if self._changes_per_ms <= 0:
            return None
        return after + max(1000, int(self._random.expovariate(self._changes_per_ms)))

    def _extend(self, instant: int) -> None:
        while self._next is not None and self._next <= instant:
            self._saving = min(MOST_SAVING, max(LEAST_SAVING, self._saving + self._random.randint(-8, 8)))
            self._starts.append(self._next)
            self._rates.append(self._rate())
            self._next = self._draw_next(self._next)

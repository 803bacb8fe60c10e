"""The guaranteed tenants' demand: batches of hosts that arrive by the time of day and leave after a while.

Pure and lazy: a seeded sequence that does not depend on what the cloud does with it, so that two policies meet the same
demand. Called by the simulated cloud, one stream per domain.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from simulation.cloud_model import DAY_MS, HOUR_MS, TenantParameters


@dataclass(frozen=True, slots=True)
class Batch:
    """A tenant's hosts: wanted in [arrives, leaves)."""

    arrives: int
    leaves: int
    hosts: int


def intensity(parameters: TenantParameters, at: int) -> float:
    """Arrivals relative to the mean at this time of day (UTC)."""
    phase = 2 * math.pi * ((at % DAY_MS) / HOUR_MS - parameters.peak_hour) / 24
    return 1 + parameters.swing * math.cos(phase)


def arrivals_per_ms(parameters: TenantParameters, hosts: int) -> float:
    """Mean batches per millisecond: by Little's law, load x hosts = arrivals x stay x batch."""
    return parameters.load * hosts / (parameters.batch_mean * parameters.stay_mean_s * 1000)


def batches(parameters: TenantParameters, *, hosts: int, start: int, random_: random.Random) -> Iterator[Batch]:
    """Batches in order of arrival, without end; first those that are there at `start`.

    Stays are exponential, so the rest of a stay is drawn like a whole one. Arrivals are a Poisson process thinned by
    the time of day (Lewis and Shedler 1979). No demand at all ends the sequence at once.
    """
    rate = arrivals_per_ms(parameters, hosts)
    if rate <= 0:
        return
    stay_ms = parameters.stay_mean_s * 1000
    present = _poisson(random_, rate * stay_ms)
    for _ in range(present):
        yield _batch(parameters, start, random_)
    top = rate * (1 + abs(parameters.swing))
    at = float(start)
    while True:
        at += random_.expovariate(top)
        accepted = random_.random() * (1 + abs(parameters.swing)) < intensity(parameters, int(at))
        if accepted:
            yield _batch(parameters, int(at), random_)


def _batch(parameters: TenantParameters, at: int, random_: random.Random) -> Batch:
    """A batch of geometric size and exponential stay, at least a second."""
    more = 1 - 1 / max(1.0, parameters.batch_mean)
    size = 1
    while random_.random() < more:
        size += 1
    stay = max(1000, int(random_.expovariate(1 / (parameters.stay_mean_s * 1000))))
    return Batch(at, at + stay, size)


def _poisson(random_: random.Random, mean: float) -> int:
    """A Poisson number by counting exponential gaps; means here are at most a few hundred."""
    count, total = 0, random_.expovariate(1.0)
    while total < mean:
        count += 1
        total += random_.expovariate(1.0)
    return count

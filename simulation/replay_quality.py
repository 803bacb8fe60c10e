"""How good the ranker alone is on a window: calibration and coverage of the next hour, beside "same as the last hour".

Called by the replay benchmark; pure. A pool-hour counts when the pool had at least an hour at risk in it. The quantile
is that of the number of losses: the rate's upper quantile times the hours at risk, plus what a Poisson count at that
rate exceeds its mean by with the same probability, is what a strict tier is told to expect at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simulation.replay_window import RANK_MS, Window
from simulation.trace import Floats, Ints
from simulation.trace_measures import HOUR_MS, exposure_hours, hour_edges, losses

DECILES = 10
COVERED = 0.9
"""The probability of `Outlook.quantile`."""


@dataclass(frozen=True, slots=True)
class Quality:
    """Mean absolute and mean squared errors in losses a pool-hour, shares of pool-hours covered, and (predicted, seen)
    rates by decile of the prediction, per node-hour.

    Most pool-hours lose nothing, which the absolute error rewards; the squared one is proper for an expected count.
    """

    error: float
    last_error: float
    squared: float
    last_squared: float
    coverage: float
    last_coverage: float
    deciles: tuple[tuple[float, float], ...]


def quality(win: Window) -> Quality:
    """The figures over the scored part of a window."""
    edges = hour_edges(win.score_at - HOUR_MS, int(win.hours) + 1)
    order = sorted(range(len(win.trace.pools)), key=lambda p: win.trace.pools[p].name)
    seen: Ints = losses(win.trace, edges)[:, order]
    hours: Floats = exposure_hours(win.trace, edges)[:, order]
    step = ((edges[1:-1] - win.place_at) // RANK_MS).astype(np.int64)
    mean, upper = win.published[step, 0], win.published[step, 1]
    now, before = seen[1:], seen[:-1]
    at_risk, at_risk_before = hours[1:], np.maximum(hours[:-1], 1e-9)
    there = (at_risk >= 1.0) & (hours[:-1] >= 1.0)
    last = before / at_risk_before
    return Quality(
        error=float(np.abs(mean * at_risk - now)[there].mean()),
        last_error=float(np.abs(last * at_risk - now)[there].mean()),
        squared=float(((mean * at_risk - now) ** 2)[there].mean()),
        last_squared=float(((last * at_risk - now) ** 2)[there].mean()),
        coverage=float((now <= _most(upper * at_risk))[there].mean()),
        last_coverage=float((now <= last * at_risk)[there].mean()),
        deciles=_deciles(mean[there], now[there], at_risk[there]),
    )


def _most(expected: Floats) -> Ints:
    """The COVERED quantile of a Poisson count with each of these means, found by adding terms."""
    ceiling = int(expected.max() + 10 * math.sqrt(expected.max() + 1)) + 1
    term = np.exp(-expected)
    total = term.copy()
    found = np.zeros(expected.shape, dtype=np.int64)
    for count in range(1, ceiling + 1):
        found += total < COVERED
        term = term * expected / count
        total = total + term
    return found


def _deciles(mean: Floats, seen: Ints, hours: Floats) -> tuple[tuple[float, float], ...]:
    order = np.argsort(mean, kind="stable")
    rows = []
    for part in np.array_split(order, DECILES):
        at_risk = float(hours[part].sum())
        rows.append((float((mean[part] * hours[part]).sum()) / at_risk, float(seen[part].sum()) / at_risk))
    return tuple(rows)

"""Gamma quantiles for many shapes at once, read from a table: what the estimate of interruptions needs of every pool.

The table is made of `pools.gamma.quantile` once per probability. Pure.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pools.gamma import quantile

Floats = NDArray[np.float64]

NARROWEST_SHAPE = 0.02
WIDEST_SHAPE = 1_000.0
"""The table's ends. Outside, the end's ratio holds: below nothing is known anyway, above the quantile is the mean."""

TABLE_POINTS = 121


@lru_cache(maxsize=16)
def _table(q: float) -> tuple[Floats, Floats]:
    """Log shapes, and the log of quantile over mean at each."""
    shapes = np.geomspace(NARROWEST_SHAPE, WIDEST_SHAPE, TABLE_POINTS)
    ratios = np.array([math.log(quantile(float(a), q) / float(a)) for a in shapes])
    return np.log(shapes), ratios


def quantile_over_mean(shape: Floats, q: float) -> Floats:
    """By how much the q-quantile of a Gamma exceeds its mean, for many shapes at once: from a table, with an error
    below 0.1 % for shapes from 0.02 to 1,000.
    """
    logs, ratios = _table(q)
    return np.exp(np.interp(np.log(shape), logs, ratios))

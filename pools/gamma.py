"""Tails of the Gamma and Poisson distributions, small enough to read: the estimate and the burst test rest on them.

Standard library only, so that no scientific package has to be installed on a control plane, nor loaded to check an
estate. The regularised incomplete gamma function is its power series below `a + 1` and Lentz's continued fraction above
it (Abramowitz and Stegun 6.5.29 and 6.5.31); quantiles are found by bisection (`gamma_table` has many at once).
"""

from __future__ import annotations

import math

TERMS = 10_000
"""More terms than either expansion needs for a shape of 1,000, a few hundred."""

PRECISION = 1e-12
QUANTILE_PRECISION = 1e-10


def lower_tail(shape: float, x: float) -> float:
    """P(X <= x) for X ~ Gamma(shape, rate 1), that is P(shape, x); relative error about 1e-12."""
    if x <= 0:
        return 0.0
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1.0 / shape
        for n in range(1, TERMS):
            term *= x / (shape + n)
            total += term
            if term < total * PRECISION:
                break
        return min(1.0, front * total)
    return max(0.0, 1.0 - front * _continued(shape, x))


def _continued(shape: float, x: float) -> float:
    """The continued fraction of the upper tail, without its factor."""
    tiny = 1e-300
    b = x + 1.0 - shape
    c = 1.0 / tiny
    d = 1.0 / b
    value = d
    for n in range(1, TERMS):
        a = -n * (n - shape)
        b += 2.0
        d = 1.0 / _away_from_zero(a * d + b, tiny)
        c = _away_from_zero(b + a / c, tiny)
        step = d * c
        value *= step
        if abs(step - 1.0) < PRECISION:
            break
    return value


def _away_from_zero(value: float, tiny: float) -> float:
    return tiny if abs(value) < tiny else value


def quantile(shape: float, q: float) -> float:
    """The x with P(X <= x) = q for X ~ Gamma(shape, rate 1); q strictly between 0 and 1."""
    low, high = -800.0, math.log(shape + 10.0 * math.sqrt(shape) + 60.0)
    for _ in range(200):
        middle = (low + high) / 2
        if lower_tail(shape, math.exp(middle)) < q:
            low = middle
        else:
            high = middle
        if high - low < QUANTILE_PRECISION:
            break
    return math.exp((low + high) / 2)


def poisson_tail(count: int, mean: float) -> float:
    """P(N >= count) for N ~ Poisson(mean): the lower tail of a Gamma with shape `count` (the waiting time of the
    count-th event).
    """
    if count <= 0:
        return 1.0
    return lower_tail(float(count), mean)

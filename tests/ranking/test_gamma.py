"""The Gamma and Poisson tails against tables, and their table against themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pools.gamma import lower_tail, poisson_tail, quantile
from pools.gamma_table import quantile_over_mean

# Abramowitz and Stegun, table 26.8: chi-square quantiles; chi-square with n degrees is 2 Gamma(n / 2).
CHI_SQUARE = [
    (1, 0.95, 3.84146),
    (1, 0.90, 2.70554),
    (2, 0.90, 4.60517),
    (2, 0.95, 5.99146),
    (5, 0.90, 9.23635),
    (10, 0.95, 18.3070),
    (10, 0.50, 9.34182),
    (30, 0.99, 50.8922),
    (100, 0.90, 118.498),
]


@pytest.mark.parametrize(("degrees", "q", "value"), CHI_SQUARE)
def test_quantiles_are_those_of_the_chi_square_table(degrees: int, q: float, value: float) -> None:
    assert 2 * quantile(degrees / 2, q) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(("degrees", "q", "value"), CHI_SQUARE)
def test_the_interpolated_table_is_within_a_thousandth(degrees: int, q: float, value: float) -> None:
    shape = np.array([degrees / 2])
    assert float(quantile_over_mean(shape, q)[0]) * degrees == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("shape", [0.05, 0.3, 1.0, 2.5, 40.0, 3000.0])
@pytest.mark.parametrize("q", [0.01, 0.5, 0.9, 0.999])
def test_the_tail_at_a_quantile_is_its_probability(shape: float, q: float) -> None:
    assert lower_tail(shape, quantile(shape, q)) == pytest.approx(q, abs=1e-9)


@pytest.mark.parametrize(("count", "mean"), [(1, 0.1), (3, 0.5), (7, 4.0), (40, 20.0)])
def test_the_poisson_tail_is_the_sum_of_its_terms(count: int, mean: float) -> None:
    below = sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(count))
    assert poisson_tail(count, mean) == pytest.approx(1 - below, rel=1e-6)


def test_no_event_at_all_is_certain() -> None:
    assert poisson_tail(0, 0.3) == 1.0

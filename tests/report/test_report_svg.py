"""Scales, ticks and elements: what every picture stands on."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import Breach
from ebbtide.report_svg import (
    LogScale,
    Scale,
    apart,
    figure,
    hour_ticks,
    nice_ticks,
    nothing,
    num,
    row_of_keys,
    stairs,
    svg,
    text,
)
from tests.report.days import END, HOUR, START, ZONE

reals = st.floats(-1e9, 1e9, allow_nan=False)


@given(reals, st.floats(0.001, 1e9), reals, reals)
def test_a_larger_value_never_stands_before_a_smaller_one(lo: float, extent: float, one: float, other: float) -> None:
    for scale in (Scale(lo, lo + extent, 0, 100), LogScale(extent, extent * 16, 0, 100)):
        small, large = sorted((one, other))
        assert 0 <= scale(small) <= scale(large) <= 100


@given(reals, st.floats(0, 1e9), st.integers(2, 9))
def test_ticks_are_round_rise_and_enclose_their_values(lo: float, extent: float, most: int) -> None:
    ticks = nice_ticks(lo, lo + extent, most=most)
    step = ticks[1] - ticks[0]
    assert all(a < b for a, b in pairwise(ticks))
    assert ticks[0] <= lo + step * 1e-6
    assert lo + extent <= ticks[-1] + step * 1e-6
    assert len(ticks) <= most + 3


def test_an_axis_without_extent_still_has_two_ticks() -> None:
    assert nice_ticks(5, 5) == (5.0, 5.5, 6.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_refused_instead_of_drawn(bad: float) -> None:
    with pytest.raises(Breach):
        num(bad)
    with pytest.raises(Breach):
        nice_ticks(0, bad)


def test_coordinates_are_short_and_never_minus_zero() -> None:
    assert [num(v) for v in (0.0, -0.04, 0.04, 12.0, 3.14159, -2.5)] == ["0", "0", "0", "12", "3.1", "-2.5"]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=6))
def test_labels_keep_their_order_and_their_distance(wanted: list[float]) -> None:
    placed = apart(wanted, gap=15, lo=0, hi=100)
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    for a, b in pairwise(order):
        assert placed[b] - placed[a] >= 15 - 1e-9
    assert all(-1e-9 <= place <= 100 + 1e-9 for place in placed)


def test_hours_are_local_and_on_multiples_of_their_distance() -> None:
    assert [name for _, name in hour_ticks(START, END, ZONE, most=12)] == [f"0{h}:00" for h in range(1, 8)]
    assert [name for _, name in hour_ticks(START, END, ZONE, most=3)] == ["02:00", "04:00", "06:00"]


def test_the_hour_that_occurs_twice_in_autumn_is_ticked_twice() -> None:
    night = 1_792_879_200_000  # 2026-10-25T00:00 in Copenhagen, a day of 25 hours
    names = [name for _, name in hour_ticks(night - 2 * HOUR, night + 4 * HOUR, ZONE, most=24)]
    assert names.count("02:00") == 2


def test_names_cannot_break_a_picture() -> None:
    hostile = '</text><script>alert("x")</script>&'
    drawn = svg(width=10, height=10, name='"x', title=hostile, desc=hostile, body=[text(1, 1, hostile)])
    assert "<script" not in drawn
    assert [t.text for t in ET.fromstring(drawn)] == [hostile] * 3  # noqa: S314 - our own text


def test_nothing_to_draw_is_said_in_a_sentence() -> None:
    drawn = nothing(width=300, name="x", title="Title", sentence="Nothing happened.")
    assert "Nothing happened.</text>" in drawn


def test_figures_have_thin_spaces_and_a_true_minus() -> None:
    assert [figure(v) for v in (1234567, -12, 0.5, 1234.25)] == [
        "1\u202f234\u202f567", "\u221212", "0.5", "1\u202f234.25",
    ]  # fmt: skip


def test_a_step_line_keeps_each_value_until_the_next() -> None:
    assert stairs([(0, 1), (5, 2)]) == ((0, 1), (5, 1), (5, 2))


def test_keys_go_to_a_new_row_before_they_leave_the_picture() -> None:
    _, one_row = row_of_keys(0, 10, [("a", "long name"), ("b", "another name")], ends=400)
    _, two_rows = row_of_keys(0, 10, [("a", "long name"), ("b", "another name")], ends=120)
    assert (one_row, two_rows) == (28, 46)

"""Words, columns, times and money for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide.advice import unknown
from ebbtide.text import Paint, columns, day_clock, euros, listed, seen_width, share, span, wrapped
from ledger.money import TICKS


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (8_034, "8.0 s"),
        (59_940, "59.9 s"),
        (120_000, "2 min 00 s"),
        (3_599_600, "1 h 00 min"),
        (22_959_033, "6 h 23 min"),
        (172_800_000, "2 d 0 h"),
        (-5_000, "-5.0 s"),
    ],
)
def test_a_span_is_told_in_its_two_largest_units(ms: int, said: str) -> None:
    assert span(ms) == said


def test_money_is_rounded_once_and_set_apart() -> None:
    assert euros(1_234_567 * TICKS + TICKS // 2, "EUR") == "1,234,567.50 EUR"
    assert euros(-TICKS // 1000, "EUR", places=4) == "-0.0010 EUR"


def test_a_share_of_nothing_is_a_dash() -> None:
    assert share(0, 0) == "-"
    assert share(1, 3) == "33.3 %"


def test_a_time_on_another_day_carries_its_date() -> None:
    assert day_clock(3_600_000, 0) == "01:00:00"
    assert day_clock(90_000_000, 0) == "1970-01-02 01:00:00"


def test_colour_does_not_move_a_column() -> None:
    rows = [("a", "1"), ("bbb", "22")]
    painted = [(Paint(on=True).bold(name), number) for name, number in rows]
    assert [seen_width(line) for line in columns(painted, "<>")] == [len(line) for line in columns(rows, "<>")]
    assert Paint().bad("x") == "x"


@given(st.text(alphabet="abc xyz", max_size=300), st.integers(20, 100))
def test_wrapped_text_keeps_every_word_and_fits(text: str, width: int) -> None:
    lines = wrapped(text, indent="  ", width=width)
    assert " ".join(lines).split() == text.split()
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)


def test_a_list_says_how_many_it_leaves_out() -> None:
    assert listed("abc", most=3) == "a, b, c"
    assert listed("abcde", most=2) == "a, b and 3 more"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    near = unknown("pool", "north-genral", ["north-general", "south-gpu"], lists="see pools/")
    assert near.hint == "did you mean north-general?"
    assert unknown("pool", "zzz", ["north-general"], lists="see pools/").hint == "see pools/"

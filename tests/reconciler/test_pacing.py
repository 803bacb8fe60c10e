"""Token buckets and the ramp."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reconciler import pacing
from tests.reconciler.builders import START


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    bucket, given_out = pacing.full(20, 60, START), 0
    for _ in range(100):
        bucket, free = pacing.take(bucket, START)
        given_out += free
    assert given_out == 60
    for _ in range(100):
        bucket, free = pacing.take(bucket, START + 1000)
        given_out += free
    assert given_out == 80


def test_nothing_goes_out_before_the_time_the_other_side_asked_for() -> None:
    bucket = pacing.close(pacing.full(20, 60, START), START + 30_000)
    _, free = pacing.take(bucket, START + 29_999)
    assert not free


def test_a_closed_bucket_opens_empty_and_not_with_a_burst() -> None:
    bucket, given_out = pacing.close(pacing.full(20, 60, START), START + 30_000), 0
    for _ in range(100):
        bucket, free = pacing.take(bucket, START + 31_000)
        given_out += free
    assert given_out == 20


def test_a_shorter_retry_after_does_not_shorten_a_longer_one() -> None:
    bucket = pacing.close(pacing.close(pacing.full(20, 60, START), START + 30_000), START + 5_000)
    assert bucket.closed_until == START + 30_000


def test_a_clock_that_goes_back_gives_no_token_twice() -> None:
    bucket = pacing.full(1, 1, START)
    bucket, first = pacing.take(bucket, START)
    bucket, back = pacing.take(bucket, START - 60_000)
    _, again = pacing.take(bucket, START + 500)
    assert (first, back, again) == (True, False, False)


calls = st.lists(st.tuples(st.integers(-2_000, 5_000), st.one_of(st.none(), st.integers(0, 20_000))), max_size=80)


@given(st.integers(1, 50), st.integers(1, 100), calls)
def test_no_window_holds_more_calls_than_burst_and_rate_allow(
    rate: int, burst: int, steps: list[tuple[int, int | None]]
) -> None:
    bucket, now, latest = pacing.full(rate, burst, START), START, START
    out: list[int] = []
    for wait, retry_after in steps:
        now += wait
        latest = max(latest, now)
        if retry_after is not None:
            bucket = pacing.close(bucket, now + retry_after)
        bucket, free = pacing.take(bucket, now)
        if free:
            assert now >= bucket.closed_until
            out.append(latest)
    for first in range(len(out)):
        for last in range(first, len(out)):
            assert last - first + 1 <= burst + (out[last] - out[first]) * rate / 1000 + 1e-9


def test_limits_grow_back_over_four_cycles() -> None:
    assert [pacing.ramp_share(n) for n in range(5)] == [0.125, 0.25, 0.5, 1.0, 1.0]

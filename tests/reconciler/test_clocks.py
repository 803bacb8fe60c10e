"""A clock is believed while two clocks of one machine, and those of machine and provider, agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.clocks import APART_MS, LEAP_MS, TRIES, Answers, Before, Reading, Watch, doubt, leap, read
from tests.reconciler.builders import HOUR, SECOND, START

BEFORE = Reading(START, 5_000)


@given(st.integers(0, 86_400_000), st.integers(-LEAP_MS, LEAP_MS))
def test_two_clocks_that_progress_alike_never_jump(passed: int, apart: int) -> None:
    assert leap(BEFORE, Reading(START + passed + apart, 5_000 + passed)) == 0


@given(st.integers(0, 86_400_000), st.integers(LEAP_MS + 1, 10**12), st.sampled_from([1, -1]))
def test_a_jump_either_way_shows_by_its_length_however_long_the_look_took(passed: int, by: int, way: int) -> None:
    assert leap(BEFORE, Reading(START + passed + way * by, 5_000 + passed)) == way * by


def test_a_guest_that_was_paused_shows_as_a_jump_and_a_process_that_was_paused_does_not() -> None:
    assert leap(BEFORE, Reading(START + HOUR, 5_000)) == HOUR
    assert leap(BEFORE, Reading(START + HOUR, 5_000 + HOUR)) == 0


@pytest.mark.parametrize("stops", range(TRIES + 1))
def test_a_process_that_is_stopped_between_two_clocks_sees_no_jump(stops: int) -> None:
    now, left = 5_000, stops

    def wall() -> int:
        nonlocal now, left
        now, left = now + (5 * SECOND if left else APART_MS), max(0, left - 1)
        return START + now

    found = read(wall, lambda: now)
    seen = leap(Reading(START + 5_000, 5_000), found)
    assert seen == (0 if stops < TRIES else 5 * SECOND)
    assert found.monotonic < now


def test_the_first_look_of_a_process_has_nothing_to_compare_with() -> None:
    assert leap(None, BEFORE) == 0


def said(listed: int, told: int, *, leap_ms: int = 0, judged_at: int = 0, doubted: bool = False) -> str:
    before = Before(judged_at, doubted)
    return doubt(START, leap_ms=leap_ms, before=before, answers=Answers(listed, told), allowed_ms=180 * SECOND)


@pytest.mark.parametrize(
    ("listed", "told", "words"),
    [
        (START, START, ""),
        (0, 0, ""),
        (START + 180 * SECOND, 0, ""),
        (START + 181 * SECOND, START, "the clock is 181 s behind the provider's, 180 s are allowed"),
        (START - 181 * SECOND, START - 200 * SECOND, "the clock is 181 s ahead of the provider's, 180 s are allowed"),
        (START - 181 * SECOND, START, ""),
        (START - 181 * SECOND, 0, ""),
    ],
    ids=["agree", "silence", "just allowed", "behind", "ahead", "an old listing", "an old listing alone"],
)
def test_our_clock_and_the_providers_may_be_apart_by_the_age_of_a_listing(listed: int, told: int, words: str) -> None:
    assert said(listed, told) == words


def test_a_clock_that_was_set_back_while_no_process_ran_shows_by_what_was_written_down() -> None:
    assert said(START, START, judged_at=START + HOUR) == (
        "the clock is 3600.0 s behind the last cycle that was written down"
    )
    assert said(START, START, judged_at=START - HOUR) == ""


def test_a_jump_is_told_with_its_way_and_length() -> None:
    assert said(START, START, leap_ms=-90_500) == "the clock was set back by 90.5 s since the last look"
    assert said(START, START, leap_ms=3_600_000) == "the clock was set forward by 3600.0 s since the last look"


def test_a_doubt_stands_until_an_answer_of_the_provider_ends_it() -> None:
    assert "no answer of the provider has confirmed it" in said(0, 0, doubted=True)
    assert said(START, 0, doubted=True) == ""
    assert said(0, START, doubted=True) == ""


def test_a_watch_measures_looks_from_each_other_and_steps_from_the_last_look() -> None:
    now = [START, 0]
    watch = Watch(lambda: now[0], lambda: now[1])
    assert watch.look() == (START, 0)
    now[:] = [START + HOUR, HOUR]
    assert watch.leap() == 0
    now[0] += 100 * SECOND
    assert watch.leap() == 100 * SECOND
    assert watch.look() == (now[0], 100 * SECOND)
    assert watch.leap() == 0

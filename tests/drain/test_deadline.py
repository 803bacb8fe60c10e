"""Notices and clocks: whatever is said and however late, the earliest honest deadline holds."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.deadline import (
    MAX_NOTICES,
    Clock,
    Merge,
    Notice,
    NoticeKind,
    Notices,
    Reading,
    honest_deadline,
    merge,
)
from agent.drain import start
from agent.inputs import How, Scheduler
from contracts.errors import Refused

NOTICE = Notice("i7", "r1", NoticeKind.RECLAIM, 1_000_000, 1_120_000, 120)
NOBODY = Notices("i7")


def merged(*said: tuple[Notice, int]) -> tuple[Notices, list[Merge]]:
    notices, verdicts = NOBODY, []
    for notice, at in said:
        notices, verdict = merge(notices, notice, now=at, wall=at)
        verdicts.append(verdict)
    return notices, verdicts


@pytest.mark.parametrize(
    ("wall", "deadline"),
    [
        pytest.param(1_000_000, 1_120_000, id="clocks agree"),
        pytest.param(1_004_000, 1_116_000, id="the message is four seconds late, or the clock four ahead"),
        pytest.param(640_000, 1_120_000, id="the node's clock is behind: remaining seconds count from reception"),
        pytest.param(1_130_000, 1_000_000, id="just past the end: no time is left"),
        pytest.param(4_600_000, 1_120_000, id="an hour past the end and alive: the node's clock is wrong"),
    ],
)
def test_the_earlier_honest_bound_is_the_deadline(wall: int, deadline: int) -> None:
    assert honest_deadline(NOTICE, now=1_000_000, wall=wall) == deadline


def test_a_notice_heard_four_seconds_late_keeps_its_end() -> None:
    """Told while reconnecting: published at 1 s, heard at 5 s, still due at 120 s."""
    notices, _ = merged((replace(NOTICE, issued_at=1_001_000, remaining_s=119), 1_005_000))
    assert notices.deadline == 1_120_000


@pytest.mark.parametrize("remaining", [float("inf"), float("nan"), -5.0, 1e300])
def test_absurd_remaining_seconds_make_no_absurd_deadline(remaining: float) -> None:
    assert (
        0
        <= honest_deadline(replace(NOTICE, remaining_s=remaining), now=1_000_000, wall=1_000_000) - 1_000_000
        <= 120_000
    )


def test_twice_is_once_and_a_later_end_is_not_believed() -> None:
    later = replace(NOTICE, issued_at=1_010_000, ends_at=1_300_000, remaining_s=290)
    notices, verdicts = merged((NOTICE, 1_000_000), (NOTICE, 1_000_500), (later, 1_010_000))
    assert notices.deadline == 1_120_000
    assert verdicts == [Merge.FIRST, Merge.REPEATED, Merge.LATER]


def test_a_notice_for_an_old_instance_is_not_ours() -> None:
    notices, verdicts = merged((replace(NOTICE, instance="i6"), 1_000_000))
    assert notices.deadline is None
    assert verdicts == [Merge.OTHER_INSTANCE]


def test_a_withdrawal_that_overtakes_its_notice_still_counts() -> None:
    withdrawal = replace(NOTICE, withdrawn=True, issued_at=1_020_000)
    notices, verdicts = merged((withdrawal, 1_021_000), (NOTICE, 1_022_000))
    assert notices.deadline is None
    assert verdicts == [Merge.WITHDRAWS_NOTHING, Merge.ALREADY_WITHDRAWN]


def test_a_notice_after_its_withdrawal_counts_again() -> None:
    withdrawal = replace(NOTICE, withdrawn=True, issued_at=1_020_000)
    again = replace(NOTICE, issued_at=1_030_000, ends_at=1_150_000)
    notices, _ = merged((NOTICE, 1_000_000), (withdrawal, 1_021_000), (again, 1_030_000))
    assert notices.deadline == 1_150_000


def test_a_withdrawal_leaves_the_other_reclaims_standing() -> None:
    other = replace(NOTICE, reclaim="r2", ends_at=1_200_000, remaining_s=200)
    withdrawal = replace(NOTICE, withdrawn=True, issued_at=1_020_000)
    notices, verdicts = merged((NOTICE, 1_000_000), (other, 1_000_000), (withdrawal, 1_021_000))
    assert notices.deadline == 1_200_000
    assert verdicts[-1] is Merge.WITHDRAWS_PART


def test_the_order_of_arrival_does_not_matter() -> None:
    said = (
        NOTICE,
        replace(NOTICE, reclaim="r2", ends_at=1_090_000),
        replace(NOTICE, withdrawn=True, issued_at=1_000_001),
    )
    ends = {merged(*((notice, 1_000_002) for notice in order))[0].deadline for order in permutations(said)}
    assert ends == {1_090_000}


def test_a_drill_that_meets_a_real_notice_is_no_drill() -> None:
    notices, _ = merged((replace(NOTICE, kind=NoticeKind.DRILL), 1_000_000))
    assert notices.drill
    assert not merge(notices, NOTICE, now=1_000_001, wall=1_000_001)[0].drill


def test_a_flood_of_reclaims_keeps_the_earliest_and_its_limit() -> None:
    flood = [(replace(NOTICE, reclaim=f"r{n}", ends_at=1_120_000 - n), 1_000_000) for n in range(3 * MAX_NOTICES)]
    notices, _ = merged(*flood)
    assert len(notices.standing) == MAX_NOTICES
    assert notices.deadline == 1_120_000 - 3 * MAX_NOTICES + 1


@pytest.mark.parametrize("change", [{"instance": "i6"}, {"withdrawn": True}])
def test_a_notice_that_opens_nothing_is_refused_by_start(change: dict[str, str]) -> None:
    with pytest.raises(Refused, match="opens no drain"):
        start(
            node="n7",
            instance="i7",
            units=(),
            budget_s=90,
            how=How.EVICT,
            scheduler=Scheduler.NONE,
            notice=replace(NOTICE, **change),  # type: ignore[arg-type]  # one changed field a case
            now=1_000_000,
        )


@pytest.mark.parametrize("change", [{"instance": "i6"}, {"withdrawn": True}, {"reclaim": "r2"}])
def test_a_drain_that_is_over_makes_no_cause_of_what_is_none(change: dict[str, str]) -> None:
    withdrawn = replace(NOTICE, reclaim="r2", withdrawn=True)
    known, _ = merged((NOTICE, 1_000_000), (withdrawn, 1_000_000))
    with pytest.raises(Refused, match="opens no drain"):
        start(
            node="n7",
            instance="i7",
            units=(),
            budget_s=90,
            how=How.EVICT,
            scheduler=Scheduler.NONE,
            notice=replace(NOTICE, **change),  # type: ignore[arg-type]  # one changed field a case
            now=1_200_000,
            known=known,
        )


def test_a_paused_guest_counts_the_wall_clocks_progress() -> None:
    clock = Clock.at(Reading(5_000, 1_000_000))
    clock, jump = clock.advance(Reading(6_000, 1_061_000))
    assert (clock.now, jump) == (1_061_000, 60_000)


def test_a_wall_clock_set_back_stops_nothing() -> None:
    clock = Clock.at(Reading(5_000, 1_000_000))
    clock, jump = clock.advance(Reading(7_000, 400_000))
    assert (clock.now, jump) == (1_002_000, -602_000)
    assert clock.advance(Reading(9_000, 402_000)) == (Clock(Reading(9_000, 402_000), 1_004_000), 0)


def test_after_a_reboot_the_wall_clock_counts() -> None:
    clock, _ = Clock.at(Reading(900_000, 1_000_000)).advance(Reading(10, 1_003_000))
    assert clock.now == 1_003_000


@given(st.lists(st.tuples(st.integers(-5_000, 5_000), st.integers(-5_000, 5_000)), max_size=20))
def test_honest_time_is_never_behind_either_clocks_progress(steps: list[tuple[int, int]]) -> None:
    clock = first = Clock.at(Reading(0, 0))
    for monotonic, wall in steps:
        reading = Reading(clock.last.monotonic_ms + monotonic, clock.last.wall_ms + wall)
        later, _ = clock.advance(reading)
        assert later.now >= clock.now + max(0, monotonic, wall)
        clock = later
    assert clock.now >= first.now

"""Exclusion: what counts as misbehaviour, how long it lasts, and how a pool comes back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.causes import Cause
from pools.exclusion import (
    BURST_WINDOW_MS,
    FALSE_ALARMS_PER_DAY,
    FIRST_BACK_OFF_MS,
    FORGIVEN_MS,
    HOUR_MS,
    LONGEST_BACK_OFF_MS,
    MINUTE_MS,
    Change,
    Failed,
    Interrupted,
    Signs,
    Standing,
    State,
    Warned,
    admitted,
    back_off_ms,
    update,
)

NOON = 12 * HOUR_MS
EMPTY = State("r", 47)


def failing(*, at: int, cause: Cause = Cause.CREATE_FAILED, count: int = 1, pool: str = "p") -> Signs:
    return Signs(failed=tuple(Failed(pool, cause, at) for _ in range(count)))


def taken(count: int, *, at: int, given_ms: int | None = 120_000, alive: int = 20, hazard: float = 0.01) -> Signs:
    lost = tuple(Interrupted("p", at, given_ms, 120_000) for _ in range(count))
    return Signs(interrupted=lost, alive={"p": alive}, hazard={"p": hazard})


def causes(changes: tuple[Change, ...]) -> list[Cause]:
    return [change.cause for change in changes]


def test_a_burst_beyond_chance_excludes_in_the_same_call() -> None:
    state, changes = update(EMPTY, taken(6, at=NOON), NOON)
    assert causes(changes) == [Cause.RECLAIM_BURST]
    assert admitted(state, "p", NOON) == 0
    assert admitted(state, "q", NOON) is None


def test_a_burst_that_the_pools_own_rate_expects_does_not_exclude() -> None:
    # 60 instances at 0.6 an hour: six losses in ten minutes are the mean
    _, changes = update(EMPTY, taken(6, at=NOON, alive=54, hazard=0.6), NOON)
    assert changes == ()


def test_one_loss_with_its_full_notice_is_no_misbehaviour() -> None:
    state, changes = update(EMPTY, taken(1, at=NOON, hazard=1e-6), NOON)
    assert changes == ()
    assert admitted(state, "p", NOON) is None


@pytest.mark.parametrize(("given_ms", "cause"), [(None, Cause.MISSING_NOTICE), (60_000, Cause.SHORT_NOTICE)])
def test_a_missing_or_short_notice_excludes(given_ms: int | None, cause: Cause) -> None:
    _, changes = update(EMPTY, taken(1, at=NOON, given_ms=given_ms), NOON)
    assert causes(changes) == [cause]


def test_repeated_failed_acquisitions_exclude_exactly_the_pool_that_failed() -> None:
    # C16: no host counts; one alone is ordinary
    state = EMPTY
    for minute in range(3):
        at = NOON + minute * MINUTE_MS
        state, changes = update(state, failing(at=at), at)
        assert causes(changes) == ([Cause.FAILED_ACQUISITIONS] if minute == 2 else [])
    assert admitted(state, "p", NOON + 2 * MINUTE_MS) == 0
    assert admitted(state, "p-other-flavor", NOON + 2 * MINUTE_MS) is None


def test_quota_never_speaks_against_a_pool() -> None:
    # C16, with 396 of 400 cores used and 8 asked for
    state, changes = update(EMPTY, failing(at=NOON, cause=Cause.QUOTA_EXHAUSTED, count=50), NOON)
    assert changes == ()
    assert admitted(state, "p", NOON) is None


def test_a_server_that_never_joins_counts_as_a_failed_acquisition() -> None:
    _, changes = update(EMPTY, failing(at=NOON, cause=Cause.NEVER_JOINED, count=3), NOON)
    assert causes(changes) == [Cause.FAILED_ACQUISITIONS]


def test_a_node_that_joins_clears_the_failures_before_it() -> None:
    state, _ = update(EMPTY, failing(at=NOON, count=2), NOON)
    state, _ = update(state, Signs(joined={"p": 1}), NOON + 1000)
    _, changes = update(state, failing(at=NOON + 2000, count=2), NOON + 2000)
    assert changes == ()


def test_conflicts_that_succeed_on_another_try_exclude_nothing() -> None:
    # C20: 30 creates, 12 conflicts on the first try, all succeed within three tries
    state, changes = update(EMPTY, failing(at=NOON, cause=Cause.ALLOCATION_CONFLICTS, count=12), NOON)
    assert changes == ()
    for second in (20, 40, 60):
        at = NOON + second * 1000
        signs = failing(at=at, cause=Cause.ALLOCATION_CONFLICTS, count=4)
        signs = Signs(failed=signs.failed, accepted={"p": at})
        state, changes = update(state, signs, at)
        assert changes == ()
    assert admitted(state, "p", NOON + 61_000) is None


def test_conflicts_that_go_on_exclude_within_a_minute_and_a_probe_follows() -> None:
    # C20, variant: 409 on all tries for ten minutes
    state, at = EMPTY, NOON
    changes: tuple[Change, ...] = ()
    while not changes and at < NOON + 10 * MINUTE_MS:
        state, changes = update(state, failing(at=at, cause=Cause.ALLOCATION_CONFLICTS, count=3), at)
        at += 15_000
    assert causes(changes) == [Cause.ALLOCATION_CONFLICTS]
    assert at - 15_000 - NOON <= MINUTE_MS
    state, changes = update(state, Signs(), changes[0].until)
    assert [(c.standing, c.cause) for c in changes] == [(Standing.PROBING, Cause.PROBE_DUE)]
    assert admitted(state, "p", NOON + HOUR_MS) == 1


def test_an_advisory_excludes_until_its_end_and_then_probes() -> None:
    state, changes = update(EMPTY, Signs(warned=(Warned("p", NOON + HOUR_MS),)), NOON)
    assert changes == (Change("p", Standing.EXCLUDED, Cause.ADVISORY, NOON + HOUR_MS),)
    again, changes = update(state, Signs(warned=(Warned("p", NOON + HOUR_MS),)), NOON + 1000)
    assert changes == ()
    assert admitted(again, "p", NOON + HOUR_MS - 1) == 0


def test_a_probe_of_one_doubles_on_success_until_the_pool_is_free() -> None:
    state, changes = update(EMPTY, taken(1, at=NOON, given_ms=None), NOON)
    now = changes[0].until
    state, _ = update(state, Signs(), now)
    seen = []
    while (room := admitted(state, "p", now)) is not None:
        seen.append(room)
        now += MINUTE_MS
        state, _ = update(state, Signs(joined={"p": room}), now)
    assert seen == [1, 2, 4, 8]


def test_what_boots_uses_up_the_probe() -> None:
    state, changes = update(EMPTY, taken(1, at=NOON, given_ms=None), NOON)
    now = changes[0].until
    state, _ = update(state, Signs(), now)
    state, _ = update(state, Signs(starting={"p": 1}), now + 1000)
    assert admitted(state, "p", now + 1000) == 0


def test_a_failed_probe_excludes_for_longer() -> None:
    state, first = update(EMPTY, failing(at=NOON, count=3), NOON)
    state, _ = update(state, Signs(), first[0].until)
    _, second = update(state, failing(at=first[0].until + 1), first[0].until + 1)
    assert causes(second) == [Cause.FAILED_ACQUISITIONS]
    assert second[0].until - first[0].until - 1 > first[0].until - NOON


def test_a_pool_that_behaves_is_forgiven() -> None:
    state, changes = update(EMPTY, taken(1, at=NOON, given_ms=None), NOON)
    now = changes[0].until
    state, _ = update(state, Signs(), now)
    for room in (1, 2, 4, 8):
        now += MINUTE_MS
        state, _ = update(state, Signs(joined={"p": room}), now)
    state, _ = update(state, Signs(), now + FORGIVEN_MS)
    state, _ = update(state, Signs(), now + 2 * FORGIVEN_MS)
    assert dict(state.records) == {}


@settings(max_examples=100, deadline=None)
@given(pool=st.text("abc", max_size=3), at=st.integers(0, 10**13), level=st.integers(1, 40))
def test_back_off_grows_until_its_cap_and_is_the_same_for_the_same_question(pool: str, at: int, level: int) -> None:
    now, then = back_off_ms("r", pool, level, at), back_off_ms("r", pool, level + 1, at)
    assert now == back_off_ms("r", pool, level, at)
    assert FIRST_BACK_OFF_MS <= now <= LONGEST_BACK_OFF_MS * 5 // 4
    capped = FIRST_BACK_OFF_MS << (level - 1) >= LONGEST_BACK_OFF_MS
    assert capped or then > now


def test_pools_excluded_together_do_not_come_back_together() -> None:
    assert len({back_off_ms("r", f"p{n}", 1, NOON) for n in range(20)}) == 20


def test_poisson_noise_excludes_no_more_often_than_stated() -> None:
    pools, alive, hazard, days = 47, 20, 0.05, 30
    drawn = np.random.default_rng(7)
    state, alarms = State("r", pools), 0
    for day in range(days):
        for number in range(pools):
            times = np.sort(drawn.uniform(0, 24 * HOUR_MS, drawn.poisson(hazard * alive * 24))).astype(int)
            for at in times.tolist():
                now = day * 24 * HOUR_MS + at
                name = f"p{number}"
                lost = (Interrupted(name, now, 120_000, 120_000),)
                signs = Signs(interrupted=lost, alive={name: alive}, hazard={name: hazard})
                fresh = State("r", pools, {k: v for k, v in state.records.items() if k == name})
                after, changes = update(fresh, signs, now)
                alarms += sum(c.cause is Cause.RECLAIM_BURST for c in changes)
                state = State("r", pools, {**state.records, **after.records})
    # the windows slide from loss to loss, so a little more than the stated rate is allowed
    assert alarms <= 3 * FALSE_ALARMS_PER_DAY * days
    assert BURST_WINDOW_MS * 144 == 24 * HOUR_MS

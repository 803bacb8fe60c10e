"""The fail-static table, row by row: what each input stops, and what nothing ever stops."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.causes import Cause
from ledger.events import Paid
from reconciler import blast_radius
from reconciler.arbiter import Ruling, Wallet
from reconciler.blast_radius import PAUSE_MS, GuardState, aged, give_back
from reconciler.eyes import with_returns
from reconciler.fleet import Fleet, Phase
from reconciler.guard import Eyes, breakers
from reconciler.pacing import RAMP_CYCLES
from reconciler.removals import Removal
from reconciler.steps import Refusal, Step, StepKind
from tests.reconciler.builders import FORECAST, MINUTE, PROJECT, SECOND, START, fleet, instance, name
from tests.reconciler.test_guard import ACQUIRE, ADOPT, DISOWN, LIMITS, RELEASE, REPLACE, STEADY, about, eyes, judged

FULL = LIMITS.spool_limit
REMOVAL = Removal(40, 30, 10, "c" * 40, "north", {FORECAST: 10}, frozenset({FORECAST}))
FALLBACK = replace(ACQUIRE, instance=name(510), paid=Paid.FALLBACK, cause=Cause.SHORTFALL)
LOST_FALLBACK = replace(REPLACE, instance=name(511), paid=Paid.FALLBACK)
TAKING = {
    "acquire": ACQUIRE,
    "replace": REPLACE,
    "release": replace(RELEASE, cause=Cause.CLAIM_SHRANK),
    "adopt": ADOPT,
    "disown": DISOWN,
    "fallback": FALLBACK,
    "lost fallback": LOST_FALLBACK,
}
ALL = frozenset(TAKING)
GROWTH = frozenset({"acquire", "adopt", "fallback"})
LOST_CLOCK = "the clock was set forward by 3600.0 s since the last look"

ROWS: dict[str, tuple[Eyes, Cause, frozenset[str]]] = {
    "lease lost": (eyes(led=False), Cause.LEASE_LOST, ALL),
    "clock jumped": (eyes(clock=LOST_CLOCK), Cause.CLOCK_JUMPED, ALL),
    "provider unreachable": (
        eyes(listed_at=START - 181 * SECOND, complete_projects=frozenset()),
        Cause.LISTING_STALE,
        ALL,
    ),
    "listing incomplete": (eyes(complete_projects=frozenset()), Cause.LISTING_INCOMPLETE, ALL),
    "improbable and unexplained": (eyes(unexplained=11), Cause.IMPROBABLE_LOSS, ALL),
    "a newer desired state was accepted elsewhere": (
        eyes(verified=False, outdated=True, problem="version 7 is held, 8 was accepted"),
        Cause.DESIRED_STATE_UNVERIFIED,
        ALL,
    ),
    "desired state not verified": (
        eyes(verified=False, problem="history rewritten"),
        Cause.DESIRED_STATE_UNVERIFIED,
        GROWTH | {"release", "disown"},
    ),
    "scheduler unreachable": (
        eyes(silent_workloads=frozenset({FORECAST})),
        Cause.SCHEDULER_SILENT,
        GROWTH | {"release", "disown"},
    ),
    "spool at its size": (eyes(pending=FULL), Cause.SPOOL_FULL, GROWTH | {"lost fallback"}),
    "spool that nobody can measure": (eyes(pending=None), Cause.SPOOL_FULL, GROWTH | {"lost fallback"}),
    "removal without approval": (
        eyes(removal=REMOVAL, capped=frozenset({FORECAST})),
        Cause.REMOVAL_UNAPPROVED,
        frozenset({"release", "disown"}),
    ),
}

OLDEST = START - LIMITS.listing_age * SECOND
BY_WHICH_CLOCK = {
    "by our clock": {"now": START},
    "once a slow provider has answered": {"now": START - 30 * SECOND, "looked_ms": 30 * SECOND},
    "by the provider's, where ours is behind": {"now": START - 2 * MINUTE},
}

FINISHED: Fleet = fleet(
    *[instance(n) for n in range(1, 101)],
    instance(201, phase=Phase.DRAINING, released=True, release_event="told", ends_at=START),
    instance(202, phase=Phase.GONE),
    instance(203, phase=Phase.FAILED, joined_at=0),
    instance(204, release_event="told"),
    instance(205, phase=Phase.DRAINING, released=True, release_event="told", ends_at=START + MINUTE),
    instance(206, paid=Paid.FALLBACK),
)
AGREED = {
    "deletion of a drained server": about(StepKind.DELETE, 201),
    "a gone node leaving its scheduler": about(StepKind.DEREGISTER, 202),
    "deletion of a server in error": about(StepKind.DELETE, 203),
    "the word of a return that the node did not hear": about(StepKind.RELEASE, 204),
    "the word of a return to a node that joined late": about(StepKind.RELEASE, 205),
    "return of fallback that nobody pays": about(
        StepKind.RELEASE, 206, paid=Paid.FALLBACK, cause=Cause.AUTHORITY_SPENT
    ),
    "return of fallback that is agreed": about(StepKind.RELEASE, 206, paid=Paid.FALLBACK, cause=Cause.RECLAIMABLE_HELD),
}


def causes(refused: Iterable[Refusal]) -> set[Cause]:
    return {refusal.cause for refusal in refused}


@pytest.mark.parametrize("row", ROWS)
def test_each_row_of_the_table_stops_what_it_says_and_nothing_else(row: str) -> None:
    sees, cause, stopped = ROWS[row]
    verdict = judged(*TAKING.values(), sees=sees)
    refused = {label for label, step in TAKING.items() if step not in verdict.allowed}
    assert refused == stopped
    assert causes(verdict.refused) == {cause}


@pytest.mark.parametrize(("older_ms", "stopped"), [(0, set()), (1, {Cause.LISTING_STALE})])
@pytest.mark.parametrize("clock", BY_WHICH_CLOCK)
def test_a_listing_is_too_old_by_a_millisecond(clock: str, older_ms: int, stopped: set[Cause]) -> None:
    sees = eyes(**{"listed_at": OLDEST - older_ms, "told_at": START, **BY_WHICH_CLOCK[clock]})
    assert causes(judged(*TAKING.values(), sees=sees).refused) == stopped
    assert {breaker.cause for breaker in breakers(sees, LIMITS)} == stopped


@pytest.mark.parametrize(("older_ms", "stopped"), [(0, set()), (1, {Cause.SIGNALS_SILENT})])
@pytest.mark.parametrize("clock", BY_WHICH_CLOCK)
def test_so_is_the_last_word_of_notices_and_reclaims(clock: str, older_ms: int, stopped: set[Cause]) -> None:
    sees = eyes(**{"told_at": OLDEST - older_ms, "listed_at": START, **BY_WHICH_CLOCK[clock]})
    verdict = judged(ACQUIRE, REPLACE, sees=sees)
    assert causes(verdict.refused) == stopped
    assert {breaker.cause for breaker in breakers(sees, LIMITS)} == stopped
    assert bool(verdict.state.cycles_since_blind) is not bool(stopped), "the limits grow back from there"


def test_the_age_in_the_message_is_above_what_is_allowed() -> None:
    (refusal,) = judged(RELEASE, sees=eyes(listed_at=OLDEST - 1)).refused
    assert refusal.message == "the last listing is 181 s old, 180 s are allowed"


@pytest.mark.parametrize("what", AGREED)
@pytest.mark.parametrize("row", ROWS)
def test_no_breaker_blocks_the_end_of_what_was_agreed(row: str, what: str) -> None:
    """Agents drain and uncordon by themselves: no step of ours asks them to, so that nothing can be blocked there."""
    sees = replace(ROWS[row][0], returning=frozenset({FORECAST}), drained=frozenset({name(201)}))
    assert judged(AGREED[what], sees=sees, known=FINISHED).allowed == [AGREED[what]]


@pytest.mark.parametrize("what", AGREED)
def test_with_all_breakers_tripped_at_once_what_was_agreed_still_ends(what: str) -> None:
    sees = eyes(
        led=False,
        clock=LOST_CLOCK,
        listed_at=0,
        told_at=0,
        complete_projects=frozenset(),
        unexplained=90,
        verified=False,
        silent_workloads=frozenset({FORECAST}),
        pending=None,
        removal=REMOVAL,
        returning=frozenset({FORECAST}),
        drained=frozenset({name(201)}),
        paused_workloads=frozenset({FORECAST}),
    )
    assert judged(AGREED[what], sees=sees, known=FINISHED).allowed
    assert not judged(*TAKING.values(), sees=sees).allowed


def test_fallback_that_stands_for_somebody_is_released_by_no_breaker_either() -> None:
    step = AGREED["return of fallback that is agreed"]
    assert causes(judged(step, sees=eyes(unexplained=11), known=FINISHED).refused) == {Cause.IMPROBABLE_LOSS}


@pytest.mark.parametrize(("granted", "returning"), [(0, {FORECAST}), (1, {FORECAST}), (2, set())])
def test_fallback_is_given_back_as_far_as_the_arbiter_granted_less_than_stands(
    granted: int, returning: set[str]
) -> None:
    standing = fleet(instance(1, paid=Paid.FALLBACK), instance(2, paid=Paid.FALLBACK), instance(3))
    ruling = Ruling({FORECAST: granted}, {}, Wallet(), [], [])
    assert with_returns(eyes(), ruling, standing).returning == returning


def test_a_stop_holds_all_of_it() -> None:
    verdict = judged(*TAKING.values(), *AGREED.values(), sees=eyes(stopped="by hand"), known=FINISHED)
    assert not verdict.allowed
    assert causes(verdict.refused) == {Cause.STOPPED}


def test_while_the_clock_is_in_doubt_no_drain_is_called_over_by_it() -> None:
    """A clock an hour ahead would delete a server in the middle of its drain."""
    ending = about(StepKind.DELETE, 201)
    verdict = judged(ending, sees=eyes(clock=LOST_CLOCK), known=FINISHED)
    assert causes(verdict.refused) == {Cause.CLOCK_JUMPED}


@pytest.mark.parametrize("row", ROWS)
def test_each_row_is_one_breaker_with_its_numbers(row: str) -> None:
    sees, cause, _ = ROWS[row]
    found = [breaker for breaker in breakers(sees, LIMITS) if breaker.cause is cause]
    assert len(found) == 1
    assert found[0].message


def test_the_message_of_an_improbable_loss_adds_up_and_names_the_one_command() -> None:
    (refusal,) = judged(RELEASE, sees=eyes(unexplained=11, alive=97)).refused
    missing, alive, whole, others, again = map(
        int, re.findall(r"(\d+) of (\d+) alive .*\((\d+) = (\d+) others \+ (\d+)\)", refusal.message)[0]
    )
    assert (missing, alive) == (again, whole)
    assert whole == others + again
    assert "ebbtide stop --accept-listing 2026-01-01T00:00:00Z" in refusal.message


def test_a_removal_says_how_many_units_of_whom() -> None:
    assert "10 of 40 desired units are taken away (10 of forecast), over 10 %" in REMOVAL.text
    assert "ebbtide approve --commit " + "c" * 40 in REMOVAL.text


# -- what counts as a release -----------------------------------------------------------------------------------------


def test_releases_disownments_twins_and_broken_nodes_share_one_limit() -> None:
    known = fleet(
        *[instance(n) for n in range(1, 97)],
        instance(101, phase=Phase.FAILED),
        instance(102, phase=Phase.FAILED),
        instance(103, phase=Phase.FAILED, joined_at=0),
    )
    steps = [
        about(StepKind.RELEASE, 1),
        about(StepKind.DISOWN, 2),
        about(StepKind.DELETE, 101),
        about(StepKind.RELEASE, 3),
        about(StepKind.DELETE, 102),
        about(StepKind.RELEASE, 4),
        about(StepKind.DELETE, 103),
    ]
    verdict = judged(*steps, known=known)
    # 5 % of 99 are four; the server that never was a node ends whatever the limit says
    assert [s.instance for s in verdict.allowed] == [name(n) for n in (1, 2, 101, 3, 103)]
    assert causes(verdict.refused) == {Cause.BLAST_RADIUS}


def test_the_same_return_asked_for_again_is_counted_once() -> None:
    known = fleet(*[instance(n, release_event="told") for n in range(1, 101)])
    assert len(judged(*[about(StepKind.RELEASE, n) for n in range(1, 101)], known=known).allowed) == 100


def test_what_did_not_go_out_is_given_back_by_the_fleet_that_judged_it() -> None:
    known = fleet(*[instance(n) for n in range(1, 100)], instance(101, phase=Phase.FAILED))
    steps = [about(StepKind.DISOWN, 1), about(StepKind.DELETE, 101)]
    state = judged(*steps, known=known).state
    returned = give_back(state, START, steps, known)
    assert sum(count for _, count in state.released) == 2
    assert sum(count for _, count in returned.released) == 0


def test_a_return_that_was_told_and_refused_counts_since_it_is_asked_again_without_counting() -> None:
    known, after = fleet(instance(1)), fleet(instance(1, release_event="told"))
    steps = [about(StepKind.RELEASE, 1)]
    state = judged(*steps, known=known).state
    assert give_back(state, START, steps, known, after) == state
    assert give_back(state, START, steps, known, known).released == ()


# -- the ramp ---------------------------------------------------------------------------------------------------------


def grown(state: GuardState, **more: object) -> int:
    steps = [replace(ACQUIRE, instance=name(n)) for n in range(1000, 1300)]
    return len(judged(*steps, state=state, sees=eyes(**more)).allowed)


SEEN = replace(STEADY, judged_at=START - 5 * MINUTE, epoch=3)


@pytest.mark.parametrize(
    ("state", "epoch", "limit"),
    [
        (SEEN, 3, 150),
        (SEEN, 4, 18),
        (replace(SEEN, judged_at=START - PAUSE_MS - 1), 3, 18),
        (replace(SEEN, judged_at=START - PAUSE_MS), 3, 150),
        (replace(SEEN, silent=frozenset({FORECAST})), 3, 18),
        (GuardState(), 1, 18),
    ],
    ids=["steady", "another term", "a long pause", "a short one", "a scheduler that speaks again", "a new memory"],
)
def test_after_any_kind_of_absence_the_limits_grow_back(state: GuardState, epoch: int, limit: int) -> None:
    assert grown(state, epoch=epoch) == limit


@pytest.mark.parametrize(
    "sees",
    [
        eyes(clock=LOST_CLOCK),
        eyes(pending=FULL),
        eyes(led=False),
        eyes(told_at=START - 181 * SECOND),
        eyes(stopped="by hand"),
        eyes(unexplained=11),
        eyes(verified=False),
    ],
)
def test_a_cycle_without_open_eyes_begins_the_ramp_again(sees: Eyes) -> None:
    assert judged(sees=sees).state.cycles_since_blind == 0


def test_a_restart_in_the_middle_of_a_window_opens_no_new_one() -> None:
    spent = replace(SEEN, released=((START - MINUTE, 5),))
    assert not judged(RELEASE, state=spent, sees=eyes(epoch=4)).allowed


@pytest.mark.parametrize(("before", "left"), [(0, 50), (48, 2), (50, 0)])
def test_what_others_asked_for_may_all_have_been_replacements(before: int, left: int) -> None:
    """The first cycle of a term has an eighth of 400."""
    others = tuple((name(n), START - MINUTE) for n in range(2000, 2000 + before))
    steps = [replace(REPLACE, instance=name(n)) for n in range(1000, 1100)]
    assert len(judged(*steps, state=replace(SEEN, grown=others), sees=eyes(epoch=4)).allowed) == left


@pytest.mark.parametrize(("ahead_s", "leap_s"), [(0, -38_230), (0, -30), (30, 30), (38_230, 38_230), (38_230, 0)])
def test_what_others_asked_for_counts_though_the_clock_of_an_empty_memory_is_wrong(ahead_s: int, leap_s: int) -> None:
    """Set back, the clock is right now; else it runs ahead of the provider's, since now or since ever."""
    found = {name(1): START - 9 * MINUTE, name(2): START - 11 * MINUTE}
    now = START + ahead_s * SECOND
    doubted = eyes(now=now, told_at=START, clock="the clock was set", leap_ms=leap_s * SECOND)
    state = judged(state=GuardState(), sees=doubted, grown=found).state
    assert state.grown == ((name(1), now - 9 * MINUTE),)
    sure = eyes(now=START + MINUTE - 1, listed_at=START + MINUTE - 1, leap_ms=START + MINUTE - 1 - now)
    assert [one for one, _ in judged(state=state, sees=sure).state.grown] == [name(1)]


@given(
    st.lists(st.tuples(st.integers(-900, 900), st.integers(1, 40)), max_size=8),
    st.sampled_from([-7200, -60, 0, 60, 7200]),
)
@settings(max_examples=60, deadline=None)
def test_a_clock_that_is_set_makes_the_window_neither_longer_nor_shorter(
    entries: list[tuple[int, int]], leap_s: int
) -> None:
    """What went out n seconds ago by the old clock went out n seconds ago by the new one."""
    before = tuple((START - age * SECOND, count) for age, count in entries)
    leap_ms = leap_s * SECOND
    after = aged(
        GuardState(released=before, cycles_since_blind=RAMP_CYCLES),
        now=START + leap_ms,
        epoch=1,
        leap_ms=leap_ms,
        silent=frozenset(),
        limits=LIMITS,
    )
    kept = sum(count for age, count in entries if age < LIMITS.window)
    assert sum(count for _, count in after.released) == kept
    assert all(at <= START + leap_ms for at, _ in after.released)


def numbers(refusal: Refusal) -> tuple[int, int, int]:
    found = re.match(r"(\d+) \w+ in \d+ min, (\d+) allowed.*this cycle already (\d+)$", refusal.message)
    assert found is not None, refusal.message
    return int(found[1]), int(found[2]), int(found[3])


@given(
    st.lists(st.sampled_from(["acquire", "replace", "release", "disown"]), max_size=60),
    st.integers(0, 6),
    st.integers(0, RAMP_CYCLES),
)
@settings(max_examples=60, deadline=None)
def test_whoever_is_refused_by_a_limit_can_add_its_numbers_up(kinds: list[str], before: int, cycles: int) -> None:
    """C63: what went out before and in this cycle is what is allowed, or more after the fleet shrank."""
    limits = LIMITS.model_copy(update={"acquire_count": 8, "replace_count": 16})
    state = GuardState(((START - SECOND, before),), (), (), cycles) if before else GuardState(cycles_since_blind=cycles)
    steps: list[Step] = []
    for number, kind in enumerate(kinds, start=1):
        made = TAKING[kind]
        steps.append(replace(made, instance=name(number), server=f"server-{number}"))
    verdict = judged(*steps, limits=limits, state=state)
    for refusal in verdict.refused:
        used, allowed, done = numbers(refusal)
        assert used + done >= allowed
        assert used + done == allowed or used > allowed


def test_a_project_that_is_not_proven_complete_is_a_breaker_of_its_own() -> None:
    sees = eyes(owned_projects=frozenset({PROJECT, "other"}), complete_projects=frozenset({"other"}))
    assert [breaker.name for breaker in breakers(sees, LIMITS)] == [f"listing_incomplete/{PROJECT}"]


@pytest.mark.parametrize("cause", [Cause.RECLAIMABLE_HELD, Cause.AUTHORITY_SPENT])
def test_fallback_that_goes_back_spends_nothing_of_the_limit_of_releases(cause: Cause) -> None:
    back = about(StepKind.RELEASE, 206, paid=Paid.FALLBACK, cause=cause)
    assert blast_radius.spends(back, FINISHED) is None
    for other in (replace(back, cause=Cause.REBALANCE), replace(back, paid=Paid.FLOOR)):
        assert blast_radius.spends(other, FINISHED) is StepKind.RELEASE

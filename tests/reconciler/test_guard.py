"""The gate: each rule of it takes away what it names, and never a drain's end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from correlation_groups.spread import Shares, limit
from ledger.causes import Cause
from ledger.events import Paid
from pools.model import InstanceShape
from pools.provider import ProjectQuota, Quota
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.guard import NOBODY, Eyes, GuardState, Verdict, give_back, judge
from reconciler.pacing import RAMP_CYCLES
from reconciler.second_look import Ground, Spread
from reconciler.steps import Refusal, Step, StepKind
from repo_layout.documents import GuardLimits
from tests.reconciler.builders import (
    FORECAST,
    MINUTE,
    OTHER_POOL,
    POOL,
    PROJECT,
    SECOND,
    START,
    fleet,
    instance,
    name,
    step,
)

LIMITS = GuardLimits()
STEADY = GuardState(cycles_since_blind=RAMP_CYCLES)
GIB = 2**30
GROUND = Ground(
    {POOL: "a", OTHER_POOL: "b"},
    {POOL: ("hall-1",), OTHER_POOL: ("hall-2",)},
    {POOL: InstanceShape(vcpu=4, memory=16 * GIB), OTHER_POOL: InstanceShape(vcpu=4, memory=16 * GIB)},
)
KNOWN = fleet(*[instance(n) for n in range(1, 101)])


def eyes(**changes: object) -> Eyes:
    """A control plane that sees everything."""
    made = Eyes(
        now=START,
        listed_at=START,
        complete_projects=frozenset({PROJECT}),
        owned_projects=frozenset({PROJECT}),
        verified=True,
        stopped="",
        paused_workloads=frozenset(),
        paused_pools=frozenset(),
        silent_workloads=frozenset(),
        unexplained=0,
        alive=100,
        closed_pools=frozenset(),
        told_at=START,
    )
    return replace(made, **{"told_at": changes.get("now", START), **changes})  # type: ignore[arg-type]  # the dataclass checks the names


def judged(
    *steps: Step,
    sees: Eyes | None = None,
    known: Fleet = KNOWN,
    limits: GuardLimits = LIMITS,
    state: GuardState = STEADY,
    spread: Spread | None = None,
    grown: Mapping[str, int] = NOBODY,
) -> Verdict:
    return judge(
        steps,
        eyes=sees or eyes(),
        fleet=known,
        limits=limits,
        state=state,
        ground=GROUND,
        spreads={FORECAST: spread} if spread else {},
        grown=grown,
    )


def about(kind: StepKind, number: int = 1, **changes: object) -> Step:
    return step(kind, number, **{"server": f"server-{number}", **changes})


ACQUIRE, REPLACE = step(), step(StepKind.REPLACE, 501)
RELEASE = about(StepKind.RELEASE)
ADOPT = step(StepKind.ADOPT, 502, server="theirs")
DISOWN = about(StepKind.DISOWN)
MOVING = {"acquire": ACQUIRE, "replace": REPLACE, "release": RELEASE, "adopt": ADOPT, "disown": DISOWN}
DRAINED = replace(
    KNOWN,
    instances={**KNOWN.instances, name(2): instance(2, phase=Phase.DRAINING), name(3): instance(3, phase=Phase.GONE)},
)
ENDING = {"delete": about(StepKind.DELETE, 2), "deregister": about(StepKind.DEREGISTER, 3)}
QUARANTINE = step(StepKind.QUARANTINE, 503)


def refused(verdict: Verdict) -> dict[str, Cause]:
    return {r.step.kind.value: r.cause for r in verdict.refused}


def test_who_sees_everything_lets_everything_through() -> None:
    verdict = judged(*MOVING.values(), *ENDING.values(), QUARANTINE, known=DRAINED)
    assert not verdict.refused
    assert len(verdict.allowed) == 8


@pytest.mark.parametrize(
    ("sees", "cause", "stopped"),
    [
        (eyes(stopped="by hand"), Cause.STOPPED, set(MOVING)),
        (eyes(listed_at=START - 181 * SECOND), Cause.LISTING_STALE, set(MOVING)),
        (eyes(unexplained=11), Cause.IMPROBABLE_LOSS, set(MOVING)),
        (eyes(complete_projects=frozenset()), Cause.LISTING_INCOMPLETE, set(MOVING)),
        (eyes(paused_workloads=frozenset({FORECAST})), Cause.PAUSED, set(MOVING)),
        (eyes(paused_pools=frozenset({POOL})), Cause.PAUSED, set(MOVING)),
        (eyes(closed_pools=frozenset({POOL})), Cause.RECLAIM_OPEN, {"acquire", "replace", "adopt"}),
        (eyes(told_at=START - 60 * MINUTE), Cause.SIGNALS_SILENT, {"acquire", "replace", "adopt"}),
        (eyes(verified=False), Cause.DESIRED_STATE_UNVERIFIED, {"acquire", "release", "adopt", "disown"}),
        (
            eyes(silent_workloads=frozenset({FORECAST})),
            Cause.SCHEDULER_SILENT,
            {"acquire", "release", "adopt", "disown"},
        ),
        (eyes(owned_projects=frozenset()), Cause.OUTSIDE_OWNED_PROJECT, set(MOVING)),
    ],
)
def test_what_cannot_be_trusted_stops_what_the_table_says(sees: Eyes, cause: Cause, stopped: set[str]) -> None:
    assert refused(judged(*MOVING.values(), sees=sees)) == dict.fromkeys(stopped, cause)


@pytest.mark.parametrize(
    "sees",
    [
        eyes(listed_at=0),
        eyes(unexplained=90),
        eyes(complete_projects=frozenset()),
        eyes(paused_workloads=frozenset({FORECAST}), paused_pools=frozenset({POOL})),
        eyes(verified=False, silent_workloads=frozenset({FORECAST}), closed_pools=frozenset({POOL})),
    ],
)
def test_no_breaker_blocks_the_end_of_a_drain_or_a_gone_node_leaving_its_scheduler(sees: Eyes) -> None:
    verdict = judged(*ENDING.values(), sees=sees, known=DRAINED, limits=LIMITS.model_copy(update={"release_count": 1}))
    assert len(verdict.allowed) == 2


def test_stop_takes_even_those_away() -> None:
    assert set(refused(judged(*ENDING.values(), sees=eyes(stopped="by hand"), known=DRAINED))) == set(ENDING)


def test_an_incomplete_project_holds_its_own_steps_and_no_others() -> None:
    sees = eyes(owned_projects=frozenset({PROJECT, "other"}), complete_projects=frozenset({"other"}))
    verdict = judged(ACQUIRE, replace(ACQUIRE, project="other", instance=name(600)), sees=sees)
    assert [s.project for s in verdict.allowed] == ["other"]


def test_the_age_of_the_last_complete_listing_stands_in_the_message() -> None:
    sees = eyes(complete_projects=frozenset(), complete_at={PROJECT: START - 5 * MINUTE})
    assert "the last complete one is 300 s old" in judged(ACQUIRE, sees=sees).refused[0].message
    never = judged(ACQUIRE, sees=eyes(complete_projects=frozenset())).refused[0].message
    assert "there was no complete one yet" in never


@pytest.mark.parametrize(
    ("unexplained", "alive", "held"), [(3, 5, False), (4, 39, True), (4, 40, False), (5, 40, True)]
)
def test_a_loss_is_improbable_above_its_share_and_never_for_a_few(unexplained: int, alive: int, held: bool) -> None:
    assert bool(judged(RELEASE, sees=eyes(unexplained=unexplained, alive=alive)).refused) is held


# -- nothing that is not ours -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "foreign",
    [
        about(StepKind.RELEASE, 700),
        about(StepKind.DELETE, 700),
        about(StepKind.DISOWN, 700),
        about(StepKind.DEREGISTER, 700),
        about(StepKind.DELETE, 2, server=""),
        about(StepKind.DELETE, 2, server="somebody-elses"),
        about(StepKind.DISOWN, 1, server="somebody-elses"),
        step(StepKind.ADOPT, 702),
        about(StepKind.ADOPT, 1),
    ],
)
def test_a_step_against_what_is_not_ours_is_refused(foreign: Step) -> None:
    assert [r.cause for r in judged(foreign, known=DRAINED).refused] == [Cause.NOT_OURS]


@pytest.mark.parametrize("phase", [Phase.REQUESTED, Phase.BOOTING, Phase.JOINED, Phase.SERVING, Phase.GONE])
def test_nothing_is_deleted_that_has_not_been_drained(phase: Phase) -> None:
    verdict = judged(about(StepKind.DELETE), known=fleet(instance(1, phase=phase)))
    assert [r.cause for r in verdict.refused] == [Cause.NOT_OURS]


# -- limits -----------------------------------------------------------------------------------------------------------


def releases(count: int) -> list[Step]:
    return [about(StepKind.RELEASE, n) for n in range(1, count + 1)]


def test_at_most_a_share_of_what_is_alive_is_released_in_the_window() -> None:
    verdict = judged(*releases(20))
    assert len(verdict.allowed) == 5
    assert {r.cause for r in verdict.refused} == {Cause.BLAST_RADIUS}
    assert not judged(
        RELEASE, state=verdict.state, sees=eyes(now=START + 9 * MINUTE, listed_at=START + 9 * MINUTE)
    ).allowed
    assert judged(
        RELEASE, state=verdict.state, sees=eyes(now=START + 10 * MINUTE, listed_at=START + 10 * MINUTE)
    ).allowed


def test_at_most_a_number_is_released_however_large_the_fleet() -> None:
    large = fleet(*[instance(n) for n in range(1, 2001)])
    assert len(judged(*releases(100), known=large).allowed) == LIMITS.release_count


def test_a_small_fleet_may_always_release_one() -> None:
    assert len(judged(*releases(2), known=fleet(instance(1), instance(2))).allowed) == 1


def _numbers(refusal: Refusal) -> tuple[int, list[int]]:
    """The denominator of a message, and the members it is said to consist of."""
    whole = re.search(r"% of (\d+) alive \(([^)]*)\)", refusal.message)
    assert whole is not None, refusal.message
    return int(whole[1]), [int(n) for n in re.findall(r"\d+", whole[2])]


phases = st.lists(st.sampled_from(list(Phase)), min_size=1, max_size=60)


@given(phases)
def test_the_numbers_of_a_refusal_add_up(of: list[Phase]) -> None:
    """C63: numerator, denominator and members by class stand in the message and agree."""
    known = fleet(instance(900), *[instance(n, phase=phase) for n, phase in enumerate(of, start=1)])
    steps = [about(StepKind.RELEASE, 900)] * 40
    refusal = judged(*steps, known=known).refused[0]
    denominator, members = _numbers(refusal)
    assert denominator == sum(members) == len(known.alive())


def test_a_lost_floor_is_replaced_while_two_more_start_and_one_release_is_allowed() -> None:
    """C63: a replacement takes nothing away, so no release limit is asked."""
    floor: list[Instance] = [
        instance(1, phase=Phase.GONE, paid=Paid.FLOOR),
        instance(2, phase=Phase.BOOTING, paid=Paid.FLOOR),
        instance(3, phase=Phase.BOOTING, paid=Paid.FLOOR),
    ]
    limits = LIMITS.model_copy(update={"release_count": 1, "replace_count": 1})
    spent = replace(STEADY, released=((START - SECOND, 1),))
    replacement = replace(REPLACE, paid=Paid.FLOOR)
    assert judged(replacement, known=fleet(*floor), limits=limits, state=spent).allowed == [replacement]


def test_growth_and_replacement_have_limits_of_their_own() -> None:
    limits = LIMITS.model_copy(update={"acquire_count": 2, "replace_count": 3})
    steps = [step(number=n) for n in range(600, 610)] + [step(StepKind.REPLACE, n) for n in range(700, 710)]
    verdict = judged(*steps, limits=limits)
    assert [s.kind.value for s in verdict.allowed] == ["acquire"] * 2 + ["replace"] * 3
    assert {r.cause for r in verdict.refused} == {Cause.ACQUIRE_LIMIT}


def test_a_step_that_did_not_go_out_is_given_back_to_its_limit() -> None:
    verdict = judged(*releases(5))
    assert not judged(RELEASE, state=verdict.state).allowed
    returned = give_back(verdict.state, START, verdict.allowed[2:])
    assert len(judged(*releases(9), state=returned).allowed) == 3


def test_what_goes_without_a_release_that_was_agreed_counts_as_released() -> None:
    # given up before it joined, and a node after all
    turned_up = [instance(n, phase=Phase.DRAINING, released=True, ends_at=START) for n in range(1, 101)]
    verdict = judged(*releases(9), known=fleet(*turned_up))
    assert len(verdict.allowed) == 5
    assert not judged(RELEASE, known=fleet(*turned_up), sees=eyes(verified=False)).allowed


def test_after_blindness_of_any_length_limits_grow_back_over_cycles() -> None:
    steps = [step(number=n) for n in range(1000, 1300)]
    state, sizes = judged(sees=eyes(listed_at=0)).state, []
    for cycle in range(5):
        now = START + cycle * 11 * MINUTE
        verdict = judged(*steps, state=state, sees=eyes(now=now, listed_at=now))
        sizes.append(len(verdict.allowed))
        if cycle == 0:
            assert {r.cause for r in verdict.refused} == {Cause.RAMP}
        state = verdict.state
    assert sizes == [18, 37, 75, 150, 150]


@pytest.mark.parametrize("sees", [eyes(complete_projects=frozenset()), eyes(verified=False), eyes(stopped="x")])
def test_a_part_that_was_not_seen_ramps_as_well(sees: Eyes) -> None:
    assert judged(sees=sees).state.cycles_since_blind == 0


def test_a_new_memory_begins_as_after_an_outage() -> None:
    assert len(judged(*[step(number=n) for n in range(1000, 1300)], state=GuardState()).allowed) == 18


# -- quota and bounds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("instances", "vcpu", "memory_gib"), [(3, 1000, 1000), (100, 12, 1000), (100, 1000, 48)])
def test_a_quota_with_room_for_three_gives_three(instances: int, vcpu: int, memory_gib: int) -> None:
    quota = Quota(START, (ProjectQuota(PROJECT, instances, vcpu, memory_gib * GIB),))
    steps = [step(number=n, pool=POOL if n % 2 else OTHER_POOL) for n in range(600, 608)]
    verdict = judged(*steps, sees=eyes(quota=quota))
    assert len(verdict.allowed) == 3
    assert {r.cause for r in verdict.refused} == {Cause.QUOTA_EXHAUSTED}


def spread(here: int = 0, hall: int = 0, unknown: int = 0, *, desired: int = 20, gang: int = 1) -> Spread:
    return Spread(desired, gang, Shares(), {"a": here}, {"hall-1": hall}, unknown)


@pytest.mark.parametrize(
    ("standing", "allowed"),
    [(spread(), 3), (spread(2, 2), 1), (spread(3, 3), 0), (spread(0, 5), 1), (spread(0, 6), 0), (spread(unknown=2), 1)],
)
def test_no_step_of_ours_creates_or_enlarges_an_excess(standing: Spread, allowed: int) -> None:
    """15 % of 20 is 3 in one domain, 30 % is 6 in one group; what stands nobody knows where counts in each."""
    verdict = judged(*[step(number=n) for n in range(600, 610)], spread=standing)
    assert len(verdict.allowed) == allowed
    assert all(r.cause is Cause.BOUND for r in verdict.refused)


def test_an_adoption_is_bound_as_an_acquisition_is() -> None:
    assert refused(judged(ADOPT, spread=spread(3, 3))) == {"adopt": Cause.BOUND}


def test_floors_and_a_single_gang_are_exempt_and_a_retry_is_counted_once() -> None:
    assert judged(replace(ACQUIRE, paid=Paid.FLOOR), spread=spread(9, 9)).allowed
    assert judged(replace(ACQUIRE, units=8), spread=spread(8, 8, desired=8, gang=8)).allowed
    assert judged(replace(ACQUIRE, again=True), spread=spread(3, 3)).allowed


@pytest.mark.parametrize("standing", [spread(4, 4), spread(3, 7), spread(3, 3, 1)])
def test_what_is_asked_again_stands_already_and_enlarges_no_excess_that_came_to_light_since(standing: Spread) -> None:
    assert [r.cause for r in judged(replace(ACQUIRE, again=True), spread=standing).refused] == [Cause.BOUND]


def test_the_last_units_are_kept_for_domains_that_are_not_used_yet() -> None:
    """Of 20 units in 8 domains one belongs into each: with 18 standing in 6, two are left and both go elsewhere."""
    standing = replace(spread(0), used=frozenset({"a", "c", "d", "e", "f", "g"}), supply=18, largest=1)
    again, fresh = step(number=600), step(number=601, pool=OTHER_POOL)
    verdict = judged(again, fresh, spread=standing)
    assert verdict.allowed == [fresh]
    two = replace(standing, desired=21)
    assert judged(again, fresh, spread=two).allowed == [again, fresh]
    assert judged(again, fresh, spread=replace(two, supply=19)).allowed == [fresh]
    assert [r.cause for r in verdict.refused] == [Cause.BOUND]
    assert judged(again, spread=replace(standing, supply=17)).allowed
    one_short = replace(standing, used=standing.used | {"h"}, supply=19)
    assert judged(again, fresh, spread=one_short).allowed == [fresh, again]
    taking_over = replace(again, takes_over=name(1))
    assert judged(taking_over, spread=standing).allowed


def test_a_domain_is_not_known_to_be_fresh_while_something_stands_where_nobody_says() -> None:
    standing = replace(spread(0), used=frozenset({"a", "c", "d", "e", "f"}), supply=18, largest=1)
    fresh = step(number=601, pool=OTHER_POOL)
    assert judged(fresh, spread=standing).allowed
    assert [r.cause for r in judged(fresh, spread=replace(standing, unknown_units=1)).refused] == [Cause.BOUND]
    assert judged(fresh, spread=replace(standing, unknown_units=1, supply=17)).allowed


@given(
    st.integers(0, 60),
    st.lists(st.tuples(st.sampled_from((POOL, OTHER_POOL)), st.sampled_from((1, 2, 4))), max_size=30),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_no_sequence_of_allowed_steps_leaves_more_than_the_bound_in_a_domain(
    desired: int, asked: list[tuple[str, int]], here: int, unknown: int
) -> None:
    standing = Spread(desired, 1, Shares(), {"a": here}, {}, unknown)
    steps = [step(number=600 + n, pool=pool, units=units) for n, (pool, units) in enumerate(asked)]
    verdict = judged(*steps, spread=standing)
    for domain, pool, before in (("a", POOL, here), ("b", OTHER_POOL, 0)):
        added = [s.units for s in verdict.allowed if s.pool == pool]
        if added:
            assert before + unknown + sum(added) <= limit(150, desired, max(added)), domain

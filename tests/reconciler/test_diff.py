"""The difference between what is and what shall be: steps with causes, never more than are needed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.causes import Cause
from ledger.events import Paid
from reconciler.claims import Claim
from reconciler.diff import MOST_ASKED, Difference, Inputs, Naming, Wanted, difference
from reconciler.drafts import Scribe
from reconciler.fleet import Debt, Fleet, Instance, Phase
from reconciler.outcomes import announced
from reconciler.problem import Move, MoveCause
from reconciler.steps import Step, StepKind, step_of
from tests.reconciler.builders import (
    FORECAST,
    HINDCAST,
    HOUR,
    KEPT,
    OTHER_POOL,
    POOL,
    PROJECT,
    REGION,
    SECOND,
    START,
    fleet,
    instance,
    name,
    step,
)


def want(instances: int, pool: str = POOL, paid: Paid = Paid.RECLAIMABLE, workload: str = FORECAST) -> Wanted:
    return Wanted(workload, pool, PROJECT, instances, 1, paid)


def inputs(known: Fleet, *wanted: Wanted, claim: int = 8, **more: object) -> Inputs:
    made = Inputs(
        wanted=wanted,
        fleet=known,
        claims={FORECAST: Claim(FORECAST, 0, claim), HINDCAST: Claim(HINDCAST, 0, claim)},
        claim_events={FORECAST: "claim"},
        naming=Naming(REGION, 1, 1000),
        now=START,
        drained={},
        owned_projects=frozenset({PROJECT}),
        ranks={FORECAST: 1, HINDCAST: 4},
    )
    return replace(made, **more)  # type: ignore[arg-type]  # the dataclass checks the names


def found(known: Fleet, *wanted: Wanted, claim: int = 8, **more: object) -> Difference:
    return difference(inputs(known, *wanted, claim=claim, **more))


def kinds(result: Difference) -> list[StepKind]:
    return [s.kind for s in result.steps]


def empty(number: int, **changes: object) -> Instance:
    return instance(number, busy_units=0, phase=Phase.JOINED, **changes)


def booting(number: int, **changes: object) -> Instance:
    return instance(number, phase=Phase.BOOTING, joined_at=0, busy_units=0, **changes)


# -- growing ----------------------------------------------------------------------------------------------------------


def test_what_is_missing_is_acquired_under_fresh_names_with_the_claim_as_its_cause() -> None:
    result = found(Fleet(), want(2))
    assert [(s.kind, s.instance, s.cause, s.cause_event) for s in result.steps] == [
        (StepKind.ACQUIRE, name(1000), Cause.CLAIM_GREW, "claim"),
        (StepKind.ACQUIRE, name(1001), Cause.CLAIM_GREW, "claim"),
    ]


def test_nothing_is_bought_twice_while_it_boots() -> None:
    asked = replace(booting(2), phase=Phase.REQUESTED)
    assert not found(fleet(booting(1), asked), want(2)).steps


def test_a_create_without_an_answer_is_asked_for_again_under_the_same_key() -> None:
    asked = replace(booting(1), phase=Phase.REQUESTED, server="")
    (again,) = found(fleet(asked), want(1)).steps
    assert (again.kind, again.instance, again.again) == (StepKind.ACQUIRE, name(1), True)


def test_the_floor_is_acquired_as_floor_before_any_other_growth() -> None:
    result = found(Fleet(), want(1), want(1, KEPT, Paid.FLOOR))
    assert [s.paid for s in result.steps] == [Paid.FLOOR, Paid.RECLAIMABLE]
    assert result.steps[0].cause is Cause.FLOOR


@pytest.mark.parametrize("strict", [False, True])
def test_a_node_that_no_notice_would_reach_fills_no_place_of_a_strict_tier(strict: bool) -> None:
    bare, idle = instance(1, covered=False), empty(2, covered=False)
    tiers = frozenset({FORECAST}) if strict else frozenset()
    assert kinds(found(fleet(bare, idle), want(2), strict=tiers)) == (
        [StepKind.ACQUIRE, StepKind.ACQUIRE, StepKind.RELEASE] if strict else []
    ), "one that works is not interrupted for it"
    floor = instance(1, covered=False, paid=Paid.FLOOR)
    assert not found(fleet(floor), want(1, paid=Paid.FLOOR), strict=frozenset({FORECAST})).steps
    assert not found(fleet(booting(1, covered=False)), want(1), strict=frozenset({FORECAST})).steps


# -- replacing --------------------------------------------------------------------------------------------------------


def owed(number: int, workload: str = FORECAST, paid: Paid = Paid.RECLAIMABLE) -> Debt:
    return Debt(workload, name(number), Cause.NOTICE, f"notice-{number}", paid)


def test_a_noticed_instance_is_replaced_with_its_notice_as_the_cause() -> None:
    going = instance(1, phase=Phase.DRAINING, noticed=True, ends_at=START + HOUR)
    known = replace(fleet(going), debts=(owed(1),))
    (replacement,) = found(known, want(1, OTHER_POOL)).steps
    assert (replacement.kind, replacement.cause, replacement.cause_event) == (
        StepKind.REPLACE,
        Cause.NOTICE,
        "notice-1",
    )
    assert replacement.replaces == name(1)


def test_a_lost_floor_instance_is_replaced_and_not_merely_bought() -> None:
    known = replace(Fleet(), debts=(owed(1, paid=Paid.FLOOR),))
    (replacement,) = found(known, want(1, KEPT, Paid.FLOOR)).steps
    assert replacement.kind is StepKind.REPLACE


def test_a_debt_of_one_payment_is_not_paid_with_another() -> None:
    known = replace(Fleet(), debts=(owed(1),))
    (bought,) = found(known, want(1, KEPT, Paid.FLOOR)).steps
    assert (bought.kind, bought.replaces) == (StepKind.ACQUIRE, "")


def test_one_debt_is_paid_by_one_acquisition_only() -> None:
    result = found(replace(Fleet(), debts=(owed(1),)), want(3))
    assert kinds(result).count(StepKind.REPLACE) == 1


def test_a_debt_stands_until_its_replacement_was_really_asked_for() -> None:
    assert found(replace(Fleet(), debts=(owed(1),)), want(1)).debts == (owed(1),)


def test_a_workload_that_has_what_it_claims_owes_nothing() -> None:
    assert not found(replace(fleet(instance(2)), debts=(owed(1),)), want(1), claim=1).debts


def test_replacements_go_first_the_strictest_tier_first() -> None:
    known = replace(Fleet(), debts=(owed(1, HINDCAST), owed(2)))
    wanted = (want(2, "h1-general-a-4x16", workload=HINDCAST), want(2, OTHER_POOL))
    result = found(known, *wanted)
    assert [(s.kind, s.workload) for s in result.steps] == [
        (StepKind.REPLACE, FORECAST),
        (StepKind.REPLACE, HINDCAST),
        (StepKind.ACQUIRE, FORECAST),
        (StepKind.ACQUIRE, HINDCAST),
    ]


# -- shrinking --------------------------------------------------------------------------------------------------------


def test_work_that_shrinks_gives_empty_instances_back_and_interrupts_nobody() -> None:
    result = found(fleet(instance(1), empty(2), instance(3)), want(2))
    assert [(s.kind, s.instance, s.cause) for s in result.steps] == [(StepKind.RELEASE, name(2), Cause.CLAIM_SHRANK)]


def test_busy_instances_stay_however_many_are_too_many() -> None:
    assert not found(fleet(instance(1), instance(2), instance(3))).steps


def test_a_node_that_its_scheduler_does_not_show_is_not_held_to_be_empty() -> None:
    """A scheduler that forgets half its nodes shows less supply than there is: the rest must not go with it."""
    left = [empty(n, left_at=START - 60_000) for n in (1, 2, 3)]
    assert not found(fleet(*left, instance(4)), want(1)).steps
    (gone,) = found(fleet(empty(5), instance(4)), want(1)).steps
    assert (gone.instance, gone.cause) == (name(5), Cause.CLAIM_SHRANK)


def test_what_does_not_run_yet_goes_before_what_is_empty() -> None:
    result = found(fleet(empty(1), booting(2)), want(1))
    assert [s.instance for s in result.steps] == [name(2)]


def test_a_replacement_that_still_boots_is_given_back_when_the_notice_is_withdrawn() -> None:
    result = found(fleet(instance(1), booting(2, cause=Cause.NOTICE)), want(1))
    assert [(s.kind, s.instance, s.cause) for s in result.steps] == [
        (StepKind.RELEASE, name(2), Cause.NOTICE_WITHDRAWN)
    ]


# -- moving -----------------------------------------------------------------------------------------------------------

MOVE = Move(FORECAST, POOL, OTHER_POOL, 1, MoveCause.GAIN, 5)


def test_a_move_builds_up_before_it_takes_down() -> None:
    (up,) = found(fleet(instance(1)), want(1, OTHER_POOL), moves=(MOVE,)).steps
    assert (up.kind, up.cause, up.takes_over) == (StepKind.ACQUIRE, Cause.REBALANCE, name(1))
    waiting = instance(1, moving_to=name(2))
    assert not found(fleet(waiting, booting(2, pool=OTHER_POOL)), want(1, OTHER_POOL)).steps
    (down,) = found(fleet(waiting, empty(2, pool=OTHER_POOL)), want(1, OTHER_POOL)).steps
    assert (down.kind, down.instance, down.cause) == (StepKind.RELEASE, name(1), Cause.REBALANCE)


def test_what_is_told_of_a_request_says_whom_it_relieves() -> None:
    known = fleet(instance(1))
    steps = found(known, want(2, OTHER_POOL), moves=(MOVE,)).steps
    told = announced(steps, known, Scribe(REGION, START, "c1", 1))
    assert [event.data for event in told] == [
        {"units": 1, "paid": "reclaimable", "takes_over": name(1)},
        {"units": 1, "paid": "reclaimable"},
    ]


def test_a_move_away_never_releases_more_than_it_moves() -> None:
    known = fleet(*[empty(n) for n in range(1, 6)])
    two = replace(MOVE, instances=2)
    result = found(known, want(4), want(2, OTHER_POOL), moves=(two,))
    assert kinds(result) == [StepKind.ACQUIRE, StepKind.ACQUIRE]


# -- ending -----------------------------------------------------------------------------------------------------------


def test_failed_drained_and_overdue_servers_are_deleted_and_others_are_not() -> None:
    leaving = {"phase": Phase.DRAINING, "released": True, "drain_asked": True}
    known = fleet(
        instance(1, phase=Phase.FAILED, cause=Cause.CREATE_FAILED),
        instance(2, **leaving, ends_at=START + SECOND),
        instance(3, **leaving, ends_at=START + SECOND),
        instance(4, **leaving, ends_at=START),
        instance(5, phase=Phase.DRAINING, noticed=True, ends_at=START - HOUR),
        instance(6, phase=Phase.FAILED, server=""),
    )
    result = found(known, drained={name(2): "verified", name(3): "withdrawn"})
    assert [(s.kind, s.instance, s.cause) for s in result.steps] == [
        (StepKind.DELETE, name(1), Cause.CREATE_FAILED),
        (StepKind.DELETE, name(2), Cause.DRAINED),
        (StepKind.DELETE, name(4), Cause.CLAIM_GREW),
    ]


def test_one_that_became_a_node_after_its_release_was_decided_is_drained_before_it_ends() -> None:
    surprised = instance(1, phase=Phase.DRAINING, released=True, ends_at=START - SECOND)
    assert kinds(found(fleet(surprised))) == [StepKind.RELEASE]


@pytest.mark.parametrize("silent", [False, True])
def test_a_server_that_was_no_node_yet_ends_by_the_word_of_a_scheduler_that_answers(silent: bool) -> None:
    released = booting(1, released=True, ends_at=START - SECOND)
    claims = {FORECAST: Claim(FORECAST, 0, 8, held=silent)}
    leaving = fleet(replace(released, phase=Phase.DRAINING))
    assert kinds(found(leaving, claims=claims)) == ([] if silent else [StepKind.DELETE])


@pytest.mark.parametrize(("left_s", "expected"), [(60, []), (0, [StepKind.DELETE])], ids=["not yet", "its end came"])
def test_one_that_became_a_node_and_was_noticed_after_its_release_goes_at_the_end_that_it_was_told(
    left_s: int, expected: list[StepKind]
) -> None:
    told = (("rc-1", START + left_s * SECOND),)
    surprised = instance(1, phase=Phase.DRAINING, released=True, noticed=True, notices=told, ends_at=START - SECOND)
    assert kinds(found(fleet(surprised), shown=frozenset({surprised.name}))) == expected


@pytest.mark.parametrize(
    ("release", "shown", "drained", "expected"),
    [
        ("notice.received/north/n-1", True, "", []),
        ("notice.received/north/n-1", True, "verified", [StepKind.DELETE]),
        ("notice.received/north/n-1", False, "", [StepKind.DELETE]),
        ("release.asked/north/r-1", True, "", [StepKind.DELETE]),
    ],
    ids=["it may work on", "it is drained", "it left its scheduler", "it was agreed"],
)
def test_a_drain_that_was_merely_seen_binds_no_node_that_may_work_on(
    release: str, shown: bool, drained: str, expected: list[StepKind]
) -> None:
    seen = instance(
        1, phase=Phase.DRAINING, released=True, drain_asked=True, release_event=release, ends_at=START - SECOND
    )
    told = {seen.name: drained} if drained else {}
    assert kinds(found(fleet(seen), shown=frozenset({seen.name} if shown else ()), drained=told)) == expected


@pytest.mark.parametrize(
    ("shown", "asked", "kind"),
    [
        (True, 1, StepKind.RELEASE),
        (True, MOST_ASKED - 1, StepKind.RELEASE),
        (True, MOST_ASKED, StepKind.DELETE),
        (False, 1, StepKind.DELETE),
    ],
    ids=["it answered and drains not", "the last time", "it will never drain", "its scheduler shows no such node"],
)
def test_a_node_that_only_says_it_heard_is_asked_again_before_it_ends(shown: bool, asked: int, kind: StepKind) -> None:
    told = instance(1, phase=Phase.DRAINING, released=True, asked=asked, ends_at=START - SECOND, covered=False)
    assert kinds(found(fleet(told), shown=frozenset({told.name} if shown else ()))) == [kind]


def test_a_node_whose_agent_lives_is_asked_until_it_drains() -> None:
    """It answered often enough, and lied: whoever lives and has heard is seen to drain."""
    told = instance(1, phase=Phase.DRAINING, released=True, asked=9 * MOST_ASKED, ends_at=START - SECOND)
    (again,) = found(fleet(told), shown=frozenset({told.name})).steps
    assert again.kind is StepKind.RELEASE


def test_a_node_that_was_seen_to_drain_is_not_asked_again() -> None:
    drains = instance(1, phase=Phase.DRAINING, released=True, asked=1, drain_asked=True, ends_at=START + SECOND)
    assert not found(fleet(drains), shown=frozenset({drains.name})).steps


def test_a_node_that_is_gone_leaves_its_scheduler_once() -> None:
    gone = instance(1, phase=Phase.GONE)
    assert kinds(found(fleet(gone))) == [StepKind.DEREGISTER]
    assert not found(fleet(replace(gone, deregistered=True))).steps
    assert not found(fleet(replace(gone, joined_at=0))).steps


def test_nothing_outside_owned_projects_is_ever_planned() -> None:
    stray = step(StepKind.QUARANTINE, project="payroll")
    known = fleet(instance(1, phase=Phase.FAILED, project="payroll"))
    assert not found(known, replace(want(2), project="payroll"), extra=(stray,)).steps


slots = st.lists(
    st.builds(
        lambda number, pool, phase, busy: instance(
            number, pool=pool, phase=phase, busy_units=busy, joined_at=START - HOUR if phase is Phase.SERVING else 0
        ),
        st.integers(1, 40),
        st.sampled_from((POOL, OTHER_POOL)),
        st.sampled_from((Phase.REQUESTED, Phase.BOOTING, Phase.SERVING, Phase.DRAINING, Phase.FAILED)),
        st.integers(0, 1),
    ),
    max_size=12,
    unique_by=lambda i: i.name,
)


@given(slots, st.integers(0, 6), st.integers(0, 6))
def test_supply_after_the_steps_is_what_was_wanted_or_busy(known: list[Instance], here: int, there: int) -> None:
    result = found(fleet(*known), want(here), want(there, OTHER_POOL), claim=12)
    assert len({step.instance for step in result.steps}) == len(result.steps)
    for pool, wanted in ((POOL, here), (OTHER_POOL, there)):
        supply = [i for i in known if i.supply and i.pool == pool]
        adds = [s for s in result.steps if s.pool == pool and s.kind is StepKind.ACQUIRE and not s.again]
        gone = [s for s in result.steps if s.pool == pool and s.kind is StepKind.RELEASE]
        busy = [i for i in supply if i.ready and i.busy_units]
        assert not (adds and gone)
        assert len(supply) + len(adds) - len(gone) == max(wanted, min(len(busy), len(supply)))
        assert not {s.instance for s in gone} & {i.name for i in busy}


def test_every_step_of_a_cycle_has_a_name_of_its_own() -> None:
    steps: tuple[Step, ...] = found(Fleet(), want(3), want(3, OTHER_POOL), want(2, KEPT, Paid.FLOOR)).steps
    assert len({s.instance for s in steps}) == 8


@pytest.mark.parametrize(("wanted", "kinds_"), [(1, [StepKind.ACQUIRE]), (0, [StepKind.RELEASE])])
def test_a_create_without_an_answer_is_asked_for_again_or_let_go_and_never_both(
    wanted: int, kinds_: list[StepKind]
) -> None:
    asked = booting(1, server="")
    result = found(fleet(replace(asked, phase=Phase.REQUESTED)), want(wanted), claim=wanted)
    assert kinds(result) == kinds_


def test_what_is_given_back_is_neither_released_nor_deleted_in_the_same_breath() -> None:
    handed = instance(1, phase=Phase.SERVING)
    drained = instance(2, phase=Phase.DRAINING, released=True)
    back = tuple(step_of(StepKind.DISOWN, one, Cause.DISOWNED_BY_REVIEW) for one in (handed, drained))
    result = found(fleet(handed, drained), claim=0, extra=back, drained={name(2): "verified"})
    assert kinds(result) == [StepKind.DISOWN, StepKind.DISOWN]

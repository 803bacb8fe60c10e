"""What a new leader tells and does: the same facts to the letter, whatever it remembers, and nothing that happened
while nobody looked is left out.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import Event, EventType, Paid
from pools.provider import Lifecycle, LifecycleKind, Mark, Notice, NoticeKind, Server, Signals, Status
from reconciler.blast_radius import GuardState, aged, carried, rooms, witnessed
from reconciler.census import take
from reconciler.drafts import event_id
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.pacing import RAMP_CYCLES
from reconciler.sight import Census, Sight
from reconciler.steps import StepKind
from tests.reconciler.builders import (
    ESTATE,
    FORECAST,
    KEPT,
    MINUTE,
    OTHER_POOL,
    POOL,
    PROJECT,
    REGION,
    SECOND,
    START,
    Region,
    fleet,
    instance,
    listing,
    name,
    node,
    of_kind,
    part,
    row,
    scribe,
    sight,
)

BORN, ACTIVE, NOTICED, ENDED = (START - minutes * MINUTE for minutes in (50, 49, 4, 2))


def passed(known: Fleet, shown: Sight) -> Census:
    return take(known, shown, replace(scribe(shown.now), epoch=2))


def marked(number: int = 1, *, estate: str = ESTATE, workload: str = FORECAST, paid: str = "reclaimable") -> Mark:
    return Mark(estate, REGION, name(number), 1, workload, 1, paid)


def said(kind: LifecycleKind, at: int, mark: Mark | None, **changes: object) -> Lifecycle:
    made = Lifecycle(at, kind, "server-1", mark.name if mark else name(1), POOL, "", PROJECT, mark)
    return replace(made, **changes)  # type: ignore[arg-type]  # the dataclass checks the names


def stream(*lifecycle: Lifecycle, notices: tuple[Notice, ...] = ()) -> Signals:
    return Signals(START, "9", notices, lifecycle=lifecycle)


def life(mark: Mark | None, *, taken: bool = True, **changes: object) -> tuple[Lifecycle, ...]:
    """A server that came and went."""
    return (
        said(LifecycleKind.CREATED, BORN, mark, **changes),
        said(LifecycleKind.ACTIVE, ACTIVE, mark, **changes),
        said(LifecycleKind.DELETED, ENDED, mark, taken=taken, **changes),
    )


def notice(*, withdrawn_at: int = 0) -> Notice:
    ends_at = NOTICED + 2 * MINUTE
    made = Notice("n-1", "server-1", name(1), POOL, "r-1", NoticeKind.RECLAIM, NOTICED, ends_at)
    return replace(made, withdrawn=withdrawn_at > 0, withdrawn_at=withdrawn_at)


def facts(events: list[Event]) -> list[tuple[EventType, int, Cause, str]]:
    return [(event.type, event.occurred_at, event.cause, event.caused_by) for event in events]


def about(type_: EventType, subject: str = name(1)) -> str:
    return event_id(type_, REGION, subject)


# -- the same thing is told in the same words --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paid", "cause"),
    [(Paid.RECLAIMABLE, Cause.CLAIM_GREW), (Paid.FLOOR, Cause.FLOOR), (Paid.FALLBACK, Cause.SHORTFALL)],
)
def test_start_and_join_are_told_alike_by_who_remembers_and_by_who_reads_the_mark(paid: Paid, cause: Cause) -> None:
    asked = instance(
        paid=paid, phase=Phase.BOOTING, started_at=0, joined_at=0, cause=Cause.NOTICE, cause_event="notice.received/x"
    )
    began = stream(Lifecycle(ACTIVE, LifecycleKind.ACTIVE, asked.server, asked.name, POOL))
    shown = sight(row(asked), signals=began, nodes={asked.name: node(asked, joined_at=ACTIVE + MINUTE)})
    first, second = passed(fleet(asked), shown).events, passed(fleet(), shown).events
    assert first == second
    assert {event.type for event in first} == {EventType.INSTANCE_STARTED, EventType.INSTANCE_JOINED}
    assert {event.cause for event in first} == {cause}


def test_a_migrated_node_joined_wherever_it_is_now() -> None:
    here = instance(phase=Phase.BOOTING, joined_at=0)
    joined = node(here, joined_at=START - MINUTE)
    now, later = (
        sight(row(here), nodes={here.name: joined}),
        sight(row(here, pool=OTHER_POOL), nodes={here.name: joined}),
    )
    first = [e for e in passed(fleet(here), now).events if e.type is EventType.INSTANCE_JOINED]
    assert first == [e for e in passed(fleet(), later).events if e.type is EventType.INSTANCE_JOINED]


@pytest.mark.parametrize(
    "known", [instance(), instance(cause=Cause.REBALANCE, cause_event="x"), instance(released=True, ends_at=START)]
)
def test_the_end_of_a_bill_is_told_alike_whatever_was_remembered_of_it(known: Instance) -> None:
    over = Lifecycle(ENDED, LifecycleKind.DELETED, known.server, known.name, POOL)
    (end,) = [e for e in passed(fleet(known), sight(signals=stream(over))).events if e.type is EventType.INSTANCE_ENDED]
    assert facts([end]) == [
        (EventType.INSTANCE_ENDED, ENDED, Cause.ACCOUNTING, about(EventType.INSTANCE_STARTED)),
    ]


def test_a_withdrawal_is_told_with_the_time_at_which_the_provider_said_it_and_leads_to_its_notice() -> None:
    again = stream(notices=(notice(), notice(withdrawn_at=NOTICED + 30 * SECOND)))
    for known in (fleet(instance()), fleet()):
        for now in (START, START + MINUTE):
            events = passed(known, sight(row(instance()), now=now, signals=again)).events
            (taken_back,) = [event for event in events if event.type is EventType.NOTICE_WITHDRAWN]
            told = about(EventType.NOTICE_RECEIVED, f"n-1/{name(1)}")
            assert (taken_back.occurred_at, taken_back.caused_by) == (NOTICED + 30 * SECOND, told)


def test_each_decision_to_release_is_an_event_of_its_own() -> None:
    region = Region().settled(forecast=12)
    free = region.busy()
    region.schedulers.join(free, busy=0)
    region.schedulers.want(FORECAST, 11)
    region.nodes.asked.clear()
    for _ in range(20):
        region.cycle()
    ids = [event.id for event in region.told(EventType.RELEASE_ASKED)]
    assert ids
    assert len(ids) == len(set(ids))
    assert all(event.caused_by for event in region.told(EventType.RELEASE_ASKED))


# -- what a mark brings back -------------------------------------------------------------------------------------------


def test_what_a_mark_brings_back_leads_to_its_request() -> None:
    shown = sight(row(instance()), nodes={name(1): node(instance())})
    found = passed(fleet(), shown).fleet.instances[name(1)]
    assert found.cause_event == about(EventType.INSTANCE_REQUESTED)


@pytest.mark.parametrize("outcome", ["verified", "overrun"])
@pytest.mark.parametrize("known", [fleet(), fleet(instance())], ids=["empty", "older"])
def test_a_node_that_says_it_is_drained_is_finished_whoever_asked_for_that(known: Fleet, outcome: str) -> None:
    drained = node(instance(), busy_units=0, drained=outcome)
    found = passed(known, sight(row(instance()), nodes={name(1): drained})).fleet.instances[name(1)]
    assert (found.phase, found.released, found.drain_asked) == (Phase.DRAINING, True, True)


@pytest.mark.parametrize("known", [fleet(), fleet(instance())], ids=["empty", "older"])
def test_a_node_that_drains_for_a_return_is_draining_until_the_end_that_it_says(known: Fleet) -> None:
    asked = about(EventType.RELEASE_ASKED, f"{name(1)}/{START}")
    drains = node(instance(), draining_until=START + MINUTE, draining_for=asked)
    found = passed(known, sight(row(instance()), nodes={name(1): drains})).fleet.instances[name(1)]
    assert (found.phase, found.ends_at, found.cause_event) == (Phase.DRAINING, START + MINUTE, asked)


def test_a_node_that_drains_for_a_notice_was_released_by_nobody() -> None:
    heard = about(EventType.NOTICE_RECEIVED, f"n-1/{name(1)}")
    drains = node(instance(), draining_until=START + MINUTE, draining_for=heard)
    assert not passed(fleet(), sight(row(instance()), nodes={name(1): drains})).fleet.instances[name(1)].released


def test_a_node_that_was_found_drained_for_a_notice_and_takes_work_again_is_ours_as_before() -> None:
    heard = about(EventType.NOTICE_RECEIVED, f"n-1/{name(1)}")
    drained = node(instance(), busy_units=0, drained="verified", draining_for=heard)
    found = passed(fleet(), sight(row(instance()), nodes={name(1): drained})).fleet
    assert found.instances[name(1)].released
    again = passed(found, sight(row(instance()), nodes={name(1): node(instance())})).fleet.instances[name(1)]
    assert (again.supply, again.released, again.ends_at, again.release_event) == (True, False, 0, "")


def test_a_drained_node_that_nobody_remembers_is_deleted_and_told_as_no_loss() -> None:
    region = Region().settled(forecast=12)
    gone = region.busy()
    region.schedulers.nodes[gone] = replace(region.schedulers.nodes[gone], drained="verified", busy_units=0)
    (delete,) = of_kind(region.cycle(), StepKind.DELETE)
    assert (delete.instance, delete.cause) == (gone, Cause.DRAINED)
    region.cycles(3)
    assert not region.told(EventType.INSTANCE_LOST)


# -- what happened while nobody looked ---------------------------------------------------------------------------------


def test_what_came_and_went_is_told_with_the_providers_times_under_the_ids_that_anybody_would_give() -> None:
    census = passed(fleet(), sight(signals=stream(*life(marked()), notices=(notice(),))))
    told = about(EventType.NOTICE_RECEIVED, f"n-1/{name(1)}")
    asked, started = about(EventType.INSTANCE_REQUESTED), about(EventType.INSTANCE_STARTED)
    assert facts(census.events) == [
        (EventType.INSTANCE_STARTED, ACTIVE, Cause.CLAIM_GREW, asked),
        (EventType.INSTANCE_ENDED, ENDED, Cause.ACCOUNTING, started),
        (EventType.NOTICE_RECEIVED, NOTICED, Cause.NOTICE, ""),
        (EventType.INSTANCE_LOST, ENDED, Cause.LOST_AFTER_NOTICE, told),
    ]
    assert (census.fleet.instances, census.fleet.debts, census.losses, census.notices) == ({}, (), [], [])


def test_a_number_that_the_stream_knows_is_not_given_again() -> None:
    assert passed(fleet(), sight(signals=stream(*life(marked(1041))))).fleet.sequence == 1042


def test_where_it_stood_at_its_end_is_the_providers_word() -> None:
    ends = tuple(replace(one, pool=KEPT if one.kind is LifecycleKind.DELETED else POOL) for one in life(marked()))
    for known in (fleet(), fleet(instance(started_at=0, requested_at=BORN, pool=""))):
        told = {event.type: event.pool for event in passed(known, sight(signals=stream(*ends))).events}
        assert told[EventType.INSTANCE_LOST] == KEPT
        assert told[EventType.INSTANCE_ENDED] == ""


def test_an_adopted_server_that_came_and_went_was_billed_from_when_it_was_ours() -> None:
    mark = replace(marked(), name="old-1", since=ACTIVE + MINUTE)
    before = said(LifecycleKind.ACTIVE, ACTIVE, None, name="old-1")
    gone = said(LifecycleKind.DELETED, ENDED, mark)
    census = passed(fleet(), sight(signals=stream(before, gone)))
    assert [(event.type, event.occurred_at) for event in census.events] == [
        (EventType.INSTANCE_REQUESTED, ACTIVE + MINUTE),
        (EventType.INSTANCE_STARTED, ACTIVE + MINUTE),
        (EventType.INSTANCE_ENDED, ENDED),
    ]


def test_who_remembered_it_tells_the_same_events() -> None:
    shown = sight(signals=stream(*life(marked()), notices=(notice(),)))
    before = instance(started_at=0, requested_at=BORN, busy_units=0)
    first = {event.id: event for event in passed(fleet(before), shown).events}
    assert first == {event.id: event for event in passed(fleet(), shown).events}


def test_a_stream_in_another_order_tells_the_same_events() -> None:
    other = replace(notice(), id="n-0", reclaim="r-0", issued_at=NOTICED - MINUTE)
    withdrawn = replace(other, withdrawn=True, withdrawn_at=NOTICED - SECOND)
    lives, notices = life(marked()), (other, withdrawn, notice())
    first = passed(fleet(), sight(signals=stream(*lives, notices=notices))).events
    again = passed(fleet(), sight(signals=stream(*lives[::-1], notices=notices[::-1]))).events
    assert {event.id: event for event in first} == {event.id: event for event in again}


def test_an_end_that_a_leader_only_believes_leaves_the_providers_word_its_own_event() -> None:
    released = fleet(instance(released=True, phase=Phase.DRAINING, ends_at=START - MINUTE, started_at=ACTIVE))
    later = START + 61 * MINUTE
    believed = passed(passed(released, sight()).fleet, sight(now=later, signals=Signals(later, "9"))).events
    assert [(event.id, event.occurred_at) for event in believed] == [
        (about(EventType.INSTANCE_ENDED, f"{name(1)}/{START}"), START)
    ]
    word = passed(fleet(), sight(signals=stream(*life(marked(), taken=False)))).events
    assert about(EventType.INSTANCE_ENDED) in {event.id for event in word}


def test_who_finds_a_failure_again_without_a_memory_tells_it_as_an_event_of_its_own() -> None:
    booting = instance(phase=Phase.BOOTING, joined_at=0)
    told = [
        passed(fleet(booting), sight(row(booting, status=Status.ERROR), now=at)).events for at in (START, START + 1)
    ]
    failed = [next(event for event in events if event.type is EventType.INSTANCE_FAILED) for events in told]
    assert len({event.id for event in failed}) == 2
    assert {event.caused_by for event in failed} == {about(EventType.INSTANCE_REQUESTED)}


def test_a_server_that_comes_into_quarantine_again_is_told_again() -> None:
    stranger = row(instance(), mark=replace(marked(), units=0))
    first = passed(Fleet(), sight(stranger))
    assert first.strays
    assert not passed(first.fleet, sight(stranger, now=START + MINUTE)).events
    out = passed(first.fleet, sight(now=START + MINUTE))
    again = passed(out.fleet, sight(stranger, now=START + 2 * MINUTE))
    assert {event.id for event in first.events}.isdisjoint({event.id for event in again.events})


def test_what_was_deleted_on_request_is_no_loss() -> None:
    census = passed(fleet(), sight(signals=stream(*life(marked(), taken=False))))
    assert [event.type for event in census.events] == [EventType.INSTANCE_STARTED, EventType.INSTANCE_ENDED]


@pytest.mark.parametrize(
    "lives",
    [
        life(None),
        life(marked(estate="another")),
        life(marked(paid="with shells")),
        life(marked(), project="somebody-elses"),
        life(marked())[:1],
    ],
    ids=["no mark", "another estate", "a mark without sense", "another project", "neither start nor end"],
)
def test_nothing_is_told_of_what_is_not_ours_or_never_ran(lives: tuple[Lifecycle, ...]) -> None:
    assert not passed(fleet(), sight(signals=stream(*lives))).events


def test_nothing_is_told_of_what_an_incomplete_listing_may_hide() -> None:
    shown = sight(signals=stream(*life(marked())))
    census = passed(fleet(), replace(shown, listing=listing(complete=False)))
    assert not census.events
    assert census.unheard


def test_what_its_scheduler_still_shows_is_taken_out_of_it() -> None:
    left = {name(1): node(instance())}
    found = passed(fleet(), sight(signals=stream(*life(marked())), nodes=left)).fleet.instances[name(1)]
    assert (found.phase, found.joined_at, found.project) == (Phase.GONE, START - 60 * MINUTE, PROJECT)


def test_an_end_that_was_heard_before_explains_why_a_listing_lacks_it() -> None:
    rows: tuple[Server, ...] = ()
    census = passed(fleet(instance(ended_at=ENDED)), sight(*rows))
    assert [loss.at for loss in census.losses] == [ENDED]
    assert [event.type for event in census.events] == [EventType.INSTANCE_LOST]


def test_what_a_leader_of_before_released_comes_to_light_with_its_time() -> None:
    """By the node that drains for it, and by the provider's word on a server that nobody here knows."""
    asked = about(EventType.RELEASE_ASKED, f"{name(1)}/{START - MINUTE}")
    drains = node(instance(), draining_until=START + MINUTE, draining_for=asked)
    ends = tuple(
        Lifecycle(START - 1000, kind, f"server-{n}", name(n), "", taken=taken)
        for n, kind, taken in (
            (2, LifecycleKind.DELETED, False),
            (3, LifecycleKind.DELETED, True),
            (4, LifecycleKind.FAILED, False),
        )
    )
    shown = sight(row(instance()), nodes={name(1): drains}, signals=Signals(START, "1", lifecycle=ends))
    assert passed(fleet(), shown).let_go == {name(1): START - MINUTE, name(2): START - 1000}
    remembered = fleet(replace(instance(), released=True, drain_asked=True, phase=Phase.DRAINING), instance(2))
    assert passed(remembered, shown).let_go == {}


def test_the_window_of_releases_outlasts_a_takeover() -> None:
    limits = part().estate.region(REGION).guard
    once = witnessed(GuardState(), {"b": START - MINUTE, "a": START + MINUTE}, {}, now=START, limits=limits)
    assert once.others == (("a", START), ("b", START - MINUTE))
    assert witnessed(once, {"a": START, "b": START}, {}, now=START + 1, limits=limits) == once
    known = fleet(*[instance(n) for n in range(1, 101)])
    full = rooms(known, limits, replace(GuardState(), cycles_since_blind=RAMP_CYCLES))[StepKind.RELEASE].left
    assert rooms(known, limits, replace(once, cycles_since_blind=RAMP_CYCLES))[StepKind.RELEASE].left == full - 2
    later = START + limits.window * 1000
    aged_ = aged(once, now=later - MINUTE + 1, epoch=0, leap_ms=0, silent=frozenset(), limits=limits)
    assert [name_ for name_, _ in aged_.others] == ["a"]


def test_the_window_of_acquisitions_outlasts_a_takeover() -> None:
    """What a mark brings back was acquired when its server was made; what is remembered counted when it was."""
    young = replace(instance(), requested_at=START - MINUTE)
    shown = sight(row(young))
    assert passed(fleet(), shown).grown == {name(1): START - MINUTE}
    assert passed(fleet(young), shown).grown == {}
    limits = part().estate.region(REGION).guard
    seen = GuardState(cycles_since_blind=RAMP_CYCLES)
    once = witnessed(seen, {}, {name(1): START - MINUTE}, now=START, limits=limits)
    assert witnessed(once, {}, {name(1): START}, now=START + 1, limits=limits) == once
    assert witnessed(seen, {}, {name(1): START - limits.window * 1000}, now=START, limits=limits) == seen

    def left(state: GuardState, kind: StepKind = StepKind.ACQUIRE) -> int:
        return rooms(fleet(), limits, state)[kind].left

    assert left(once) == limits.acquire_count - 1
    assert left(once, StepKind.REPLACE) == limits.replace_count - 1, "it may have replaced something"
    later = START - MINUTE + limits.window * 1000
    for now, back in ((later - 1, 1), (later, 0)):
        still = aged(once, now=now, epoch=0, leap_ms=0, silent=frozenset(), limits=limits)
        assert left(still) == limits.acquire_count - back


def test_a_window_lasts_from_when_the_last_step_of_a_cycle_went_out() -> None:
    state = GuardState(released=((START - MINUTE, 1), (START, 2)), acquired=((START, 3),))
    slow = carried(state, START, START + 1000)
    assert slow.released == ((START - MINUTE, 1), (START + 1000, 2))
    assert slow.acquired == ((START + 1000, 3),)
    assert carried(state, START, START - MINUTE) == state, "a clock that was set back shortens no window"

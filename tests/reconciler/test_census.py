"""The census: what is there, what left, and what nobody can tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.provider import Advisory, FaultKind, Lifecycle, LifecycleKind, Listing, Mark, Part, Signals, Status
from reconciler.absence import REMEMBERED_MS
from reconciler.census import take
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.ports import NodeView
from reconciler.sight import Census, Sight
from tests.reconciler.builders import (
    ESTATE,
    FORECAST,
    HOUR,
    MINUTE,
    PROJECT,
    REGION,
    SECOND,
    START,
    fleet,
    instance,
    listing,
    name,
    node,
    row,
    scribe,
    sight,
)

BOOTING = {"joined_at": 0, "started_at": 0, "busy_units": 0, "covered": False, "requested_at": START - MINUTE}


def booting(number: int = 1, **changes: object) -> Instance:
    return instance(number, **{**BOOTING, "phase": Phase.BOOTING, **changes})


def happened(kind: LifecycleKind, of: Instance, at: int = START) -> Signals:
    return Signals(START, "1", lifecycle=(Lifecycle(at, kind, of.server, of.name, of.pool),))


def still(count: int) -> dict[str, NodeView]:
    """What the schedulers show when they show the first instances as ever, whatever the provider says."""
    return {name(n): node(instance(n)) for n in range(1, count + 1)}


def types(census: Census) -> list[EventType]:
    return [event.type for event in census.events]


def after(census: Census, number: int = 1) -> Instance:
    return census.fleet.instances[name(number)]


def passed(fleet_: Fleet, shown: Sight) -> Census:
    return take(fleet_, shown, scribe(shown.now))


# -- phases -----------------------------------------------------------------------------------------------------------


def test_an_instance_goes_from_requested_to_gone_through_every_phase() -> None:
    asked = booting(phase=Phase.REQUESTED, server="")
    shown = row(replace(asked, server="server-1"))
    known = passed(fleet(asked), sight(shown)).fleet
    assert known.instances[asked.name].phase is Phase.BOOTING
    assert known.instances[asked.name].server == "server-1"
    here = node(asked, busy_units=0)
    known = passed(known, sight(shown, nodes={asked.name: here})).fleet
    assert known.instances[asked.name].phase is Phase.JOINED
    known = passed(known, sight(shown, nodes={asked.name: replace(here, busy_units=1)})).fleet
    assert known.instances[asked.name].phase is Phase.SERVING
    left = {asked.name: replace(known.instances[asked.name], phase=Phase.DRAINING, released=True)}
    known = passed(replace(known, instances=left), sight()).fleet
    assert known.instances[asked.name].phase is Phase.GONE
    deregistered = {asked.name: replace(known.instances[asked.name], deregistered=True)}
    known = passed(replace(known, instances=deregistered), sight(now=START + REMEMBERED_MS - 1)).fleet
    assert known.instances[asked.name].phase is Phase.GONE
    assert not passed(known, sight(now=START + REMEMBERED_MS + HOUR)).fleet.instances


def test_a_node_that_is_gone_stays_known_until_it_left_its_scheduler() -> None:
    gone = instance(phase=Phase.GONE)
    assert gone.name in passed(fleet(gone), sight()).fleet.instances


def test_one_that_never_was_a_node_is_forgotten_in_its_time() -> None:
    gone = instance(phase=Phase.GONE, joined_at=0, gone_at=START - REMEMBERED_MS)
    assert not passed(fleet(gone), sight()).fleet.instances


def test_a_server_that_never_joins_fails_after_its_join_time() -> None:
    late = booting(requested_at=START - 601 * SECOND)
    census = passed(fleet(late), sight(row(late)))
    assert after(census).phase is Phase.FAILED
    assert [failure.cause for failure in census.failures] == [Cause.NEVER_JOINED]


def test_a_server_still_has_its_last_second_to_join() -> None:
    late = booting(requested_at=START - 600 * SECOND)
    assert after(passed(fleet(late), sight(row(late)))).phase is Phase.BOOTING


def test_while_its_scheduler_is_silent_nobody_is_said_to_have_never_joined() -> None:
    late = booting(requested_at=START - HOUR)
    census = passed(fleet(late), sight(row(late), silent_workloads=frozenset({FORECAST})))
    assert after(census).phase is Phase.BOOTING
    assert not census.failures


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (FaultKind.NO_HOST, Cause.CREATE_FAILED),
        (FaultKind.QUOTA, Cause.QUOTA_EXHAUSTED),
        (FaultKind.CONFLICT, Cause.ALLOCATION_CONFLICTS),
        (FaultKind.OTHER, Cause.CREATE_FAILED),
        (None, Cause.CREATE_FAILED),
    ],
)
def test_a_boot_that_ends_in_error_fails_for_its_own_reason(fault: FaultKind | None, cause: Cause) -> None:
    dead = booting()
    census = passed(fleet(dead), sight(row(dead, status=Status.ERROR, fault=fault, fault_text="No valid host")))
    assert after(census).phase is Phase.FAILED
    assert [failure.cause for failure in census.failures] == [cause]
    assert census.events[-1].data["error"] == "No valid host"


def test_a_running_server_in_error_whose_node_is_gone_is_a_loss_and_is_removed() -> None:
    broken = instance()
    census = passed(fleet(broken), sight(row(broken, status=Status.ERROR)))
    assert after(census).phase is Phase.FAILED
    assert [loss.cause for loss in census.losses] == [Cause.LOST_WITHOUT_NOTICE]
    assert [debt.instance for debt in census.fleet.debts] == [broken.name]


def test_a_running_server_in_error_whose_node_works_on_is_left_alone() -> None:
    odd = instance()
    census = passed(fleet(odd), sight(row(odd, status=Status.ERROR), nodes={odd.name: node(odd)}))
    assert after(census).phase is Phase.SERVING


# -- what a listing does not show -------------------------------------------------------------------------------------


def test_what_an_incomplete_listing_does_not_show_is_unknown_and_never_gone() -> None:
    """C14: 1,003 servers, and the page with three of them did not come."""
    known = [instance(n) for n in range(1, 1004)]
    shown = sight(*[row(i) for i in known[:1000]])
    shown = replace(shown, listing=listing(*[row(i) for i in known[:1000]], complete=False), nodes=still(1003))
    for _ in range(5):
        census = passed(fleet(*known), shown)
        assert census.fleet.instances[name(1003)] == known[1002]
        assert not census.losses
        assert not census.unexplained


def test_without_any_listing_everything_stays_as_it_was() -> None:
    known = fleet(instance(1), booting(2))
    assert passed(known, sight(listing=None, nodes=still(1))).fleet.instances == known.instances


def test_only_the_project_that_is_not_complete_is_unknown() -> None:
    here, there = instance(1), instance(2, project="other")
    shown = sight(projects=frozenset({PROJECT, "other"}), nodes=still(2))
    shown = replace(shown, listing=Listing(START, (), (Part(PROJECT, complete=True), Part("other", complete=False))))
    census = passed(fleet(here, there), shown)
    assert census.unexplained == [here.name]
    assert after(census, 2) == there


def test_one_that_is_seen_again_was_never_missing() -> None:
    here = instance()
    missing = passed(fleet(here), sight(nodes=still(1))).fleet
    back = passed(missing, sight(row(here), now=START + MINUTE, nodes=still(1))).fleet
    again = passed(back, sight(now=START + 2 * MINUTE, nodes=still(1)))
    assert again.unexplained == [here.name]


def test_an_absence_that_a_lifecycle_event_explains_is_believed_at_once_at_its_own_time() -> None:
    here = instance()
    census = passed(fleet(here), sight(signals=happened(LifecycleKind.FAILED, here, at=START - 7 * SECOND)))
    assert after(census).phase is Phase.GONE
    assert census.losses[0].at == START - 7 * SECOND


def test_a_scheduler_that_shows_the_node_no_more_bears_an_absence_out_and_a_silent_one_does_not() -> None:
    known = fleet(*[instance(n) for n in range(1, 41)])
    assert len(passed(known, sight()).losses) == 40
    silent = passed(known, sight(silent_workloads=frozenset({FORECAST})))
    assert len(silent.unexplained) == 40


def test_an_advisory_for_its_pool_bears_an_absence_out_while_it_stands() -> None:
    known = fleet(*[instance(n) for n in range(1, 41)])
    silent = frozenset({FORECAST})
    for until, losses in ((START + 1, 40), (START, 0)):
        signals = Signals(START, "1", advisories=(Advisory(instance().pool, START - HOUR, until),))
        assert len(passed(known, sight(signals=signals, silent_workloads=silent)).losses) == losses
        assert not passed(known, sight(signals=signals, nodes=still(40))).losses, "its scheduler shows it"


def test_a_server_that_was_just_asked_for_may_be_absent() -> None:
    young = booting(requested_at=START - 10 * SECOND)
    census = passed(fleet(young), sight())
    assert after(census) == young
    assert not census.unexplained


def test_a_create_without_answer_fails_when_no_server_has_its_key() -> None:
    lost = booting(phase=Phase.REQUESTED, server="", requested_at=START - 61 * SECOND)
    census = passed(fleet(lost), sight())
    assert after(census).phase is Phase.FAILED
    assert [failure.cause for failure in census.failures] == [Cause.CREATE_FAILED]


def test_an_improbable_loss_is_not_believed_however_often_it_is_listed() -> None:
    known = fleet(*[instance(n) for n in range(1, 41)])
    shown = [row(instance(n)) for n in range(1, 31)]
    for minute in range(10):
        census = passed(known, sight(*shown, now=START + minute * MINUTE, nodes=still(40)))
        known = census.fleet
        assert len(census.unexplained) == 10
        assert not census.losses


def test_an_improbable_loss_is_believed_once_a_person_accepts_it_and_a_later_one_is_not() -> None:
    shown = [row(instance(n)) for n in range(1, 31)]
    known = passed(fleet(*[instance(n) for n in range(1, 41)]), sight(*shown, nodes=still(40))).fleet
    later = START + MINUTE
    census = passed(known, sight(*shown[:20], now=later, accepted_at=START, nodes=still(40)))
    assert len(census.losses) == 10
    assert len(census.unexplained) == 10


def test_an_explained_wave_is_never_improbable() -> None:
    known = [instance(n, noticed=True, phase=Phase.DRAINING, ends_at=START) for n in range(1, 41)]
    census = passed(fleet(*known), sight())
    assert len(census.losses) == 40


def test_every_loss_ends_the_bill_even_when_the_provider_says_nothing() -> None:
    missing = instance(missing_since=START - 2 * MINUTE)
    gone = passed(fleet(missing), sight()).fleet
    census = passed(gone, sight(now=START + 60 * MINUTE))
    ends = [event for event in census.events if event.type is EventType.INSTANCE_ENDED]
    assert [event.occurred_at for event in ends] == [START - 2 * MINUTE]


def test_the_bill_follows_the_providers_times_and_is_opened_and_closed_once() -> None:
    here = booting()
    active = happened(LifecycleKind.ACTIVE, here, at=START - 20 * SECOND)
    first = passed(fleet(here), sight(row(here), signals=active))
    assert types(first).count(EventType.INSTANCE_STARTED) == 1
    assert first.events[0].occurred_at == START - 20 * SECOND
    again = passed(first.fleet, sight(row(here), signals=active))
    assert EventType.INSTANCE_STARTED not in types(again)
    over = passed(again.fleet, sight(signals=happened(LifecycleKind.DELETED, here, at=START + SECOND)))
    assert types(over).count(EventType.INSTANCE_ENDED) == 1


# -- whose it is ------------------------------------------------------------------------------------------------------


def test_foreign_unmarked_and_nameless_rows_are_nobodys() -> None:
    mine = row(instance())
    theirs = replace(mine, id="x1", mark=Mark("elsewhere", REGION, "a", 1, FORECAST, 1, "floor"))
    far = replace(mine, id="x2", mark=Mark(ESTATE, "south", "b", 1, FORECAST, 1, "floor"))
    outside = replace(mine, id="x3", project="payroll", mark=Mark(ESTATE, REGION, "c", 1, FORECAST, 1, "floor"))
    bare = replace(mine, id="x4", mark=None)
    nameless = replace(mine, id="", mark=Mark(ESTATE, REGION, "d", 1, FORECAST, 1, "floor"))
    census = passed(Fleet(), sight(theirs, far, outside, bare, nameless))
    assert not census.fleet.instances
    assert not census.fleet.quarantined
    assert census.foreign == 3


def test_an_empty_memory_comes_back_from_the_marks() -> None:
    before = [instance(n, paid=Paid.FLOOR, units=2, epoch=3) for n in (7, 41)]
    nodes = {i.name: node(i) for i in before}
    census = passed(Fleet(), sight(*[row(i) for i in before], nodes=nodes))
    found = [(i.name, i.pool, i.workload, i.units, i.paid, i.epoch, i.phase) for i in census.fleet.instances.values()]
    assert found == [(i.name, i.pool, i.workload, 2, Paid.FLOOR, 3, Phase.SERVING) for i in before]


def test_after_a_restart_no_name_is_given_twice() -> None:
    census = passed(Fleet(), sight(row(instance(41))))
    assert census.fleet.sequence == 42


def test_a_restart_while_the_scheduler_is_silent_condemns_nobody() -> None:
    census = passed(Fleet(), sight(row(instance()), silent_workloads=frozenset({FORECAST})))
    assert after(census).phase is Phase.BOOTING
    assert not census.failures


@pytest.mark.parametrize(
    "mark",
    [
        Mark(ESTATE, REGION, "a", 1, "", 1, "reclaimable"),
        Mark(ESTATE, REGION, "a", 1, FORECAST, 0, "reclaimable"),
        Mark(ESTATE, REGION, "a", 1, FORECAST, 1, "gratis"),
        Mark(ESTATE, REGION, "", 1, FORECAST, 1, "reclaimable"),
    ],
)
def test_a_mark_that_makes_no_sense_is_quarantined_and_not_acted_on(mark: Mark) -> None:
    census = passed(Fleet(), sight(row(instance(), mark=mark)))
    assert not census.fleet.instances
    assert len(census.strays) == 1


def test_a_mark_of_ours_comes_back_whether_it_has_a_contract_or_not() -> None:
    """Its node is drained and its loss is told like any other."""
    mark = Mark(ESTATE, REGION, "a", 1, "nobodys-work", 2, "reclaimable")
    census = passed(Fleet(), sight(row(instance(), mark=mark)))
    assert not census.strays
    assert census.fleet.beyond({FORECAST}) == {"nobodys-work": 2}


def test_what_is_known_stays_known_when_its_contract_leaves_the_estate() -> None:
    here = instance()
    census = passed(fleet(here), sight(row(here), workloads=frozenset()))
    assert after(census).phase is Phase.SERVING
    assert not census.unexplained


def test_a_lost_instance_is_owed_once_and_paid_as_it_was() -> None:
    floor = instance(paid=Paid.FLOOR, missing_since=START - 2 * MINUTE)
    census = passed(fleet(floor), sight())
    assert [(d.instance, d.paid, d.cause) for d in census.fleet.debts] == [
        (floor.name, Paid.FLOOR, Cause.LOST_WITHOUT_NOTICE)
    ]
    assert len(passed(census.fleet, sight()).fleet.debts) == 1


def test_the_end_of_a_noticed_instance_owes_nothing_more_than_its_notice_did() -> None:
    replaced = instance(phase=Phase.DRAINING, noticed=True, ends_at=START)
    census = passed(fleet(replaced), sight())
    assert census.losses
    assert not census.fleet.debts


def test_when_a_replacements_boot_fails_its_debt_stands_again() -> None:
    dead = booting(cause=Cause.NOTICE, cause_event="notice.received/north/x")
    census = passed(fleet(dead), sight(row(dead, status=Status.ERROR)))
    assert [(d.cause, d.cause_event) for d in census.fleet.debts] == [(Cause.NOTICE, "notice.received/north/x")]


def test_what_we_let_go_is_no_loss() -> None:
    census = passed(fleet(instance(phase=Phase.DRAINING, released=True)), sight())
    assert after(census).phase is Phase.GONE
    assert not census.losses
    assert not census.fleet.debts


def test_whoever_waits_for_a_taker_that_fails_stays() -> None:
    source = instance(1, moving_to=name(2))
    for phase in (Phase.FAILED, Phase.DRAINING, Phase.GONE):
        taker = instance(2, phase=phase, end_told=phase is Phase.GONE)
        census = passed(fleet(source, taker), sight(row(source), row(taker), nodes={source.name: node(source)}))
        assert after(census).moving_to == ""
    without = passed(fleet(source), sight(row(source)))
    assert after(without).moving_to == ""


def test_an_incomplete_listing_ends_no_move() -> None:
    source, taker = instance(1, moving_to=name(2)), booting(2)
    census = passed(fleet(source, taker), replace(sight(), listing=listing(row(source), complete=False)))
    assert after(census).moving_to == name(2)


def test_a_request_that_was_let_go_is_closed_once_a_listing_had_time_to_show_its_server() -> None:
    asked = instance(phase=Phase.DRAINING, released=True, server="", joined_at=0, started_at=0, requested_at=START)
    soon = take(fleet(asked), sight(now=START + 30 * SECOND), scribe())
    assert soon.fleet.instances[asked.name].phase is Phase.DRAINING
    assert not soon.events
    later = take(soon.fleet, sight(now=START + 61 * SECOND), scribe())
    assert [event.type for event in later.events] == [EventType.INSTANCE_FAILED]
    assert later.fleet.instances[asked.name].phase is Phase.GONE
    assert not later.failures


def test_who_comes_back_from_its_mark_after_the_stream_went_on_has_it_read_again() -> None:
    census = passed(Fleet(), sight(row(instance())))
    assert census.missed
    assert census.cursor("7", "8") == ""
    active = happened(LifecycleKind.ACTIVE, instance(), at=START - MINUTE)
    census = passed(Fleet(), sight(row(instance()), signals=active))
    assert not census.missed
    assert census.cursor("7", "8") == "8"

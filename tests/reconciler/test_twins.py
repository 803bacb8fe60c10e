"""Second servers under one key: one of them goes, told once and counted as a release, and never both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.errors import Transient
from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.provider import LifecycleKind, Mark, Server, Status
from reconciler.blast_radius import spends
from reconciler.census import take
from reconciler.claims import Claim
from reconciler.fleet import Fleet, Phase
from reconciler.second_look import Spread
from reconciler.sighting import Twin
from reconciler.standing import spreads_of
from reconciler.steps import StepKind
from reconciler.twins import sort_twins
from tests.reconciler.builders import (
    ESTATE,
    FORECAST,
    MINUTE,
    OTHER_POOL,
    PROJECT,
    REGION,
    START,
    Region,
    fleet,
    instance,
    name,
    node,
    of_kind,
    part,
    row,
    scribe,
    sight,
    step,
)


def twin_of(region: Region, name: str, *, epoch: int = 1) -> Server:
    """A second server under the key, in another pool and older by no rule."""
    mark = Mark(ESTATE, REGION, name, epoch, FORECAST, 1, "reclaimable")
    return region.cloud.plant(name, OTHER_POOL, mark=mark)


def settled() -> tuple[Region, str]:
    region = Region().settled(12)
    return region, region.busy()


def test_the_second_server_is_deleted_and_the_one_we_know_works_on() -> None:
    region, name = settled()
    known, twin = region.server_id(name), twin_of(region, name)
    decision = region.cycle()
    (step,) = of_kind(decision, StepKind.DELETE)
    assert (step.server, step.cause, step.instance) == (twin.id, Cause.TWIN, name)
    region.cycles(3)
    assert twin.id not in region.cloud.servers
    assert known in region.cloud.servers
    assert region.reconciler.memory.fleet.instances[name].phase is Phase.SERVING
    (told,) = region.told(EventType.TWIN_REMOVED)
    assert (told.cause, told.instance, told.data["server"]) == (Cause.TWIN, name, twin.id)
    assert told.caused_by == f"instance.requested/{REGION}/{name}"
    assert not region.reconciler.memory.fleet.twins


def test_a_twin_counts_as_a_release() -> None:
    region, name = settled()
    twin_of(region, name)
    region.cycle()
    assert sum(number for _, number in region.reconciler.memory.guard.released) == 1


def test_a_twin_of_fallback_counts_as_none_since_nobodys_money_is_behind_it() -> None:
    known = fleet(instance(paid=Paid.FALLBACK))
    second = step(StepKind.DELETE, 1, server="server-2", cause=Cause.TWIN, paid=Paid.FALLBACK)
    assert spends(second, known) is None
    assert spends(replace(second, paid=Paid.RECLAIMABLE), known) is StepKind.RELEASE


def test_what_the_provider_says_of_the_twin_is_not_said_of_the_one_we_know() -> None:
    region, name = settled()
    twin = twin_of(region, name)
    region.cloud.notify(twin.id, seconds=600)
    region.cycles(3)
    known = region.reconciler.memory.fleet.instances[name]
    assert twin.id not in region.cloud.servers
    assert not known.noticed
    assert (known.phase, known.ended_at) == (Phase.SERVING, 0)
    assert not region.told(EventType.INSTANCE_ENDED)


def test_a_deletion_without_an_answer_is_asked_again_and_told_once() -> None:
    region, name = settled()
    twin = twin_of(region, name)
    region.cloud.script.fail("delete", times=2, error=lambda: Transient("503"))
    region.cycles(4)
    assert twin.id not in region.cloud.servers
    assert len(region.told(EventType.TWIN_REMOVED)) == 1


def test_an_incomplete_listing_deletes_no_twin() -> None:
    region, name = settled()
    twin_of(region, name)
    region.cloud.page_limit = 5
    region.cloud.script.fail_page(PROJECT, 3, times=100)
    assert not of_kind(region.cycle(), StepKind.DELETE)


def test_after_a_restart_on_an_empty_disk_the_older_one_stays_and_the_other_waits_a_listing() -> None:
    region, name = settled()
    known, twin = region.server_id(name), twin_of(region, name)
    region.reconciler = region.leader()
    assert not of_kind(region.cycle(), StepKind.DELETE)
    region.cycles(4)
    ours = {s.id for s in region.servers() if s.mark is not None and s.mark.name == name}
    assert ours == {known}
    assert twin.id not in region.cloud.servers


def test_a_listing_from_before_a_deletion_takes_no_second_one_with_it() -> None:
    """The older was deleted by a leader that died; its successor still sees both, and deletes neither by that."""
    region, name = settled()
    known, twin = region.server_id(name), twin_of(region, name)
    region.cloud.servers[twin.id] = replace(region.cloud.servers[twin.id], created_at=START - MINUTE)
    region.reconciler = region.leader()
    region.cycle()  # sees both
    region.cloud.remove(twin.id)  # what the dead leader had asked for
    region.cycles(4)
    assert known in region.cloud.servers
    assert {i.server for i in region.ours() if i.name == name} == {known}


@pytest.mark.parametrize("status", [Status.ERROR, Status.DELETING])
def test_while_the_one_we_know_goes_away_the_other_stays(status: Status) -> None:
    region, name = settled()
    known, twin = region.server_id(name), twin_of(region, name)
    region.cloud.servers[known] = replace(region.cloud.servers[known], status=status)
    region.schedulers.leave(name)
    assert twin.id not in {s.server for s in of_kind(region.cycle(), StepKind.DELETE)}


@pytest.mark.parametrize("status", [Status.BUILDING, Status.ACTIVE])
@pytest.mark.parametrize("phase", [Phase.BOOTING, Phase.JOINED])
def test_the_one_we_count_on_gives_its_key_up_in_error_to_one_that_is_not(status: Status, phase: Phase) -> None:
    joined_at = START if phase is Phase.JOINED else 0
    ours = instance(1, phase=phase, joined_at=joined_at, requested_at=START, started_at=0, busy_units=0)
    broken, other = row(ours, status=Status.ERROR), row(ours, id="server-9", status=status, created_at=START)
    first = take(fleet(ours), sight(broken, other), scribe())
    after = first.fleet.instances[ours.name]
    assert (after.server, after.phase) == ("server-9", phase)
    assert (first.failures, first.losses, first.fleet.debts) == ([], [], ())
    then = take(first.fleet, sight(broken, other, now=START + MINUTE), scribe(START + MINUTE))
    # of what once was a node, its scheduler has to say on which of them it runs
    assert [gone.id for gone in then.twins] == ([broken.id] if phase is Phase.BOOTING else [])


@pytest.mark.parametrize("status", [Status.ERROR, Status.DELETING])
def test_it_gives_it_to_none_that_goes_away_as_well(status: Status) -> None:
    ours = instance(1, phase=Phase.BOOTING, joined_at=0)
    other = row(ours, id="server-0", status=status, created_at=0)
    after = take(fleet(ours), sight(row(ours, status=Status.ERROR), other), scribe())
    assert (after.fleet.instances[ours.name].server, len(after.failures)) == (ours.server, 1)


def test_what_is_on_its_way_out_keeps_its_key_in_error() -> None:
    ours = instance(1, phase=Phase.DRAINING, released=True, ends_at=START + MINUTE)
    other = row(ours, id="server-9", created_at=START)
    after = take(fleet(ours), sight(row(ours, status=Status.ERROR), other), scribe())
    assert after.fleet.instances[ours.name].server == ours.server


def test_a_second_server_that_works_under_the_key_of_a_failed_boot_is_capacity() -> None:
    """The deletion that was asked for was the failed one's: nobody is drained while its units are claimed."""
    failed = instance(1, phase=Phase.FAILED, joined_at=0, released=True, cause=Cause.CREATE_FAILED)
    after = take(fleet(failed), sight(row(failed, id="server-9"), nodes={failed.name: node(failed)}), scribe())
    found = after.fleet.instances[failed.name]
    assert (found.server, found.phase, found.released) == ("server-9", Phase.SERVING, False)


def test_a_boot_that_was_made_twice_and_fails_once_is_neither_given_back_nor_bought_again() -> None:
    region = Region()
    region.cloud.boot_s = 150
    region.schedulers.want(FORECAST, 12)
    region.cycle()
    booting = next(one.name for one in region.ours() if one.paid is Paid.RECLAIMABLE)
    twin, broken = twin_of(region, booting), region.server_id(booting)
    region.cloud.servers[broken] = replace(region.cloud.servers[broken], status=Status.ERROR)
    region.cycles(14)
    assert broken not in region.cloud.servers
    assert region.reconciler.memory.fleet.instances[booting].server == twin.id
    assert region.supply() == len(region.servers()) == 12
    assert not region.told(EventType.INSTANCE_FAILED)
    assert not region.nodes.asked


def test_when_the_one_we_know_is_gone_the_other_takes_its_place() -> None:
    region, name = settled()
    known, twin = region.server_id(name), twin_of(region, name)
    region.cloud.lose(known, reason="host failed")
    region.cycles(6)
    assert twin.id in region.cloud.servers
    assert region.reconciler.memory.fleet.instances[name].server == twin.id


def test_a_twin_of_a_later_term_is_left_to_whoever_leads_then() -> None:
    ours = instance(1)
    later = row(ours, id="server-9")
    assert later.mark is not None
    later = replace(later, mark=replace(later.mark, epoch=7))
    known = fleet(ours).instances
    going, waiting = sort_twins([Twin(later, row(ours))], known, known, sight(), epoch=6)
    assert not going
    assert [stray.row.id for stray in waiting] == ["server-9"]


def test_a_drained_one_keeps_its_twin_waiting() -> None:
    ours = instance(1)
    after = fleet(replace(ours, phase=Phase.DRAINING, paid=Paid.RECLAIMABLE)).instances
    pair = [Twin(row(ours, id="server-9"), row(ours))]
    going, _ = sort_twins(pair, fleet(ours).instances, after, sight(), epoch=1)
    assert not going


@pytest.mark.parametrize(
    ("shown", "behind", "silent", "goes"),
    [
        (True, False, frozenset(), True),
        (True, True, frozenset(), False),
        (True, False, frozenset({FORECAST}), False),
        (False, False, frozenset(), False),
    ],
    ids=["the node is shown", "an old view", "silence", "its scheduler forgot it"],
)
def test_while_no_scheduler_says_which_is_the_node_both_stay(
    shown: bool, behind: bool, silent: frozenset[str], goes: bool
) -> None:
    ours = instance()
    known = fleet(ours).instances
    seen = sight(nodes={ours.name: node(ours)} if shown else {}, behind=behind, silent_workloads=silent)
    going, waiting = sort_twins([Twin(row(ours, id="server-9"), row(ours))], known, known, seen, epoch=1)
    assert ([one.id for one in going], len(waiting)) == (["server-9"] if goes else [], int(not goes))


@pytest.mark.parametrize("paid", [Paid.RECLAIMABLE, Paid.FLOOR])
def test_a_working_node_that_was_exchanged_for_its_twin_in_half_a_listing_comes_back_and_the_twin_goes(
    paid: Paid,
) -> None:
    ours = instance(paid=paid)
    nodes = {ours.name: node(ours, server=ours.server)}
    twin = row(ours, id="server-9")
    half = take(fleet(ours), sight(twin, nodes=nodes), scribe())
    assert half.fleet.instances[ours.name].server == "server-9"
    both = take(half.fleet, sight(twin, row(ours), nodes=nodes), scribe())
    assert (both.fleet.instances[ours.name].server, both.twins) == (ours.server, [])
    last = take(both.fleet, sight(twin, row(ours), nodes=nodes), scribe())
    assert [one.id for one in last.twins] == ["server-9"]


@pytest.mark.parametrize("known", [Fleet(), fleet(instance(server="server-9"))], ids=["empty", "answered last"])
def test_of_twins_the_one_stays_that_is_the_node(known: Fleet) -> None:
    """Whoever remembers nothing, or knows the second by the answer that came, and the first joined."""
    first, second = row(instance(), created_at=START - 1), row(instance(), id="server-9", created_at=START - 2)
    nodes = {name(1): node(instance(), server=first.id)}
    census = take(known, sight(first, second, nodes=nodes), scribe())
    assert census.fleet.instances[name(1)].server == first.id
    assert [row.id for row in take(census.fleet, sight(first, second, nodes=nodes), scribe()).twins] == [second.id]


def test_a_twin_that_fell_into_error_is_deleted_as_well() -> None:
    region, name = settled()
    twin = twin_of(region, name)
    region.cloud.servers[twin.id] = replace(region.cloud.servers[twin.id], status=Status.ERROR)
    region.cloud.tell(LifecycleKind.FAILED, region.cloud.servers[twin.id], "no host")
    region.cycles(2)
    assert twin.id not in region.cloud.servers
    assert region.reconciler.memory.fleet.instances[name].phase is Phase.SERVING


def test_of_twins_the_one_we_know_is_ours_and_the_other_may_be_deleted() -> None:
    ours = instance()
    twin = row(ours, id="server-0", created_at=0)
    census = take(fleet(ours), sight(twin, row(ours), nodes={ours.name: node(ours)}), scribe())
    assert census.fleet.instances[ours.name].server == ours.server
    assert [row.id for row in census.twins] == ["server-0"]
    assert not census.fleet.quarantined


def test_of_twins_that_nobody_knows_the_older_is_ours_and_the_other_is_quarantined_first() -> None:
    older, younger = row(instance(), id="server-0", created_at=START - 2), row(instance(), created_at=START - 1)
    census = take(Fleet(), sight(younger, older), scribe())
    assert census.fleet.instances[instance().name].server == "server-0"
    assert not census.twins
    assert census.fleet.quarantined == {younger.id}
    assert EventType.QUARANTINED in [e.type for e in census.events]
    again = take(census.fleet, sight(younger, older), scribe())
    assert [row.id for row in again.twins] == [younger.id]
    assert not again.fleet.quarantined


def test_a_second_server_counts_where_it_stands() -> None:
    plan = part()
    mark = Mark(ESTATE, REGION, name(1), 1, FORECAST, 2, "reclaimable")
    twin = Server("twin", name(1), PROJECT, OTHER_POOL, Status.ACTIVE, START, mark)
    floor = replace(twin, mark=replace(mark, paid="floor"))
    lost = replace(twin, pool="")
    domain = plan.pool_by_name[OTHER_POOL].domain

    def spread(*rows: Server) -> Spread:
        claimed = {c.name: Claim(c.name, 4, 8) for c in plan.contracts}
        return spreads_of(plan, Fleet(), claimed, {}, growing=frozenset({FORECAST}), beside=rows)[FORECAST]

    assert spread(twin).domain_units == {domain: 2}
    assert set(spread(twin).group_units.values()) == {2}
    assert (spread(lost).domain_units, spread(lost).unknown_units) == ({}, 2)
    assert spread(floor) == spread()


def test_the_number_of_pools_is_judged_also_while_nobody_can_offer_anything() -> None:
    plan = part()
    claimed = {c.name: Claim(c.name, 4, 8) for c in plan.contracts}
    spread = spreads_of(plan, Fleet(), claimed, {}, growing=frozenset({FORECAST}))[FORECAST]
    assert spread.largest == plan.eligible_units[FORECAST, OTHER_POOL]


def test_what_no_notice_would_reach_stands_in_its_bounds_and_is_no_supply() -> None:
    plan = part()
    claimed = {c.name: Claim(c.name, 4, 8) for c in plan.contracts}
    for covered in (True, False):
        known = fleet(instance(pool=OTHER_POOL, covered=covered))
        spread = spreads_of(plan, known, claimed, {}, growing=frozenset({FORECAST}))[FORECAST]
        assert sum(spread.domain_units.values()) == 1
        assert (spread.supply, len(spread.used)) == (int(covered), int(covered))

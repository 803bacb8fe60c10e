"""Adoption is a reviewed file and nothing else; when the file goes, so does our mark."""

from __future__ import annotations

from dataclasses import replace

from contracts.errors import Transient
from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.provider import Mark, Server, Status
from reconciler.adoption import adoption_steps
from reconciler.fleet import Fleet, Phase
from reconciler.lease import TERMS
from reconciler.steps import Step, StepKind
from tests.reconciler.builders import (
    ADOPTED_SERVER,
    ADOPTION_FILE,
    ESTATE,
    FORECAST,
    KEPT,
    OTHER_POOL,
    POOL,
    PROJECT,
    REGION,
    START,
    Region,
    fleet,
    instance,
    listing,
    of_kind,
    part,
    row,
)

OLD = Server(ADOPTED_SERVER, "old-forecast-1", PROJECT, POOL, Status.ACTIVE, START)
BY_ID = f"servers: [{ADOPTED_SERVER}]"
BY_TAG = (ADOPTION_FILE, BY_ID, "selector: {pool-of: forecast}")
NOBODYS = (ADOPTION_FILE, ADOPTED_SERVER, "00000000-0000-4000-8000-000000000000")


def steps(*rows: Server, known: Fleet | None = None, swaps: tuple[tuple[str, str, str], ...] = ()) -> tuple[Step, ...]:
    return adoption_steps(part(*swaps), listing(*rows), known or Fleet(), (), projects=frozenset({PROJECT}))


def changed(**changes: object) -> Server:
    values = {name: getattr(OLD, name) for name in OLD.__slots__} | changes
    return Server(**values)


def test_a_server_that_a_file_names_is_adopted_under_its_own_name() -> None:
    (adopt,) = steps(OLD)
    assert (adopt.kind, adopt.instance, adopt.server) == (StepKind.ADOPT, "old-forecast-1", ADOPTED_SERVER)
    assert (adopt.workload, adopt.pool, adopt.units, adopt.paid) == (FORECAST, POOL, 1, Paid.RECLAIMABLE)
    assert adopt.cause is Cause.ADOPTION_REVIEWED


def test_a_selector_adopts_by_every_tag_it_names() -> None:
    tagged = changed(id="x", tags=(("pool-of", "forecast"), ("stage", "live")))
    other = changed(id="y", tags=(("pool-of", "hindcast"),))
    assert [s.server for s in steps(tagged, other, changed(id="z"), swaps=(BY_TAG,))] == ["x"]


def test_on_committed_capacity_an_adopted_server_is_floor() -> None:
    (adopt,) = steps(changed(pool=KEPT), swaps=((ADOPTION_FILE, POOL, KEPT),))
    assert adopt.paid is Paid.FLOOR


def test_what_no_file_names_is_left_alone() -> None:
    assert not steps(changed(id="somebody-elses"))


def test_what_carries_a_mark_already_is_never_adopted() -> None:
    ours = Mark(ESTATE, REGION, "old-forecast-1", 1, FORECAST, 1, "reclaimable")
    theirs = Mark("elsewhere", REGION, "old-forecast-1", 1, FORECAST, 1, "reclaimable")
    assert not steps(changed(mark=ours), known=fleet(instance(1, server=ADOPTED_SERVER)))
    assert not steps(changed(mark=theirs))


def test_a_server_outside_owned_projects_is_not_adopted() -> None:
    assert not steps(changed(project="payroll"))


def test_what_a_file_names_and_we_cannot_take_is_shown_in_quarantine() -> None:
    elsewhere, nameless = steps(changed(pool=OTHER_POOL)), steps(changed(name=""))
    taken = steps(OLD, known=fleet(instance(1, name="old-forecast-1")))
    for found in (elsewhere, nameless, taken):
        assert [s.kind for s in found] == [StepKind.QUARANTINE]
    assert f"says pool {POOL}, the provider says {OTHER_POOL}" in elsewhere[0].detail


def test_a_server_that_still_boots_is_waited_for_and_a_broken_one_is_shown() -> None:
    assert steps(changed(status=Status.BUILDING)) == ()
    (shown,) = steps(changed(status=Status.ERROR))
    assert (shown.kind, shown.detail) == (StepKind.QUARANTINE, "adoption old-forecast: the server is error")


def test_an_adopted_instance_is_disowned_when_no_file_names_it_and_one_we_made_is_not() -> None:
    adopted, made = instance(1, name="old-forecast-1", server=ADOPTED_SERVER), instance(2)
    known = fleet(adopted, made)
    assert not steps(row(adopted), row(made), known=known)
    (disown,) = steps(row(adopted), row(made), known=known, swaps=(NOBODYS,))
    assert (disown.kind, disown.server, disown.cause) == (StepKind.DISOWN, ADOPTED_SERVER, Cause.DISOWNED_BY_REVIEW)


def old_server(region: Region) -> Server:
    """The server of the estate's adoption, as somebody made it before us."""
    planted = region.cloud.plant("old-forecast-1", POOL)
    del region.cloud.servers[planted.id]
    server = Server(ADOPTED_SERVER, planted.name, PROJECT, POOL, Status.ACTIVE, region.now)
    region.cloud.servers[server.id] = server
    return server


def test_an_adopted_server_serves_its_workload_and_is_paid_for_from_then_on() -> None:
    region = Region()
    old_server(region)
    region.schedulers.want(FORECAST, 20)
    decision = region.cycle()
    assert [s.instance for s in of_kind(decision, StepKind.ADOPT)] == ["old-forecast-1"]
    mark = region.cloud.servers[ADOPTED_SERVER].mark
    assert mark is not None
    assert (mark.key, mark.since) == ((ESTATE, REGION, "old-forecast-1"), region.now)
    assert {i.cause_event for i in region.ours() if i.name == "old-forecast-1"} == {
        e.id for e in region.told(EventType.INSTANCE_REQUESTED) if e.instance == "old-forecast-1"
    }
    (started,) = [e for e in region.told(EventType.INSTANCE_STARTED) if e.instance == "old-forecast-1"]
    assert started.occurred_at == region.now
    assert started.caused_by in {e.id for e in region.told(EventType.INSTANCE_REQUESTED)}
    region.cycles(13)
    assert region.supply() == 20
    assert "old-forecast-1" in {i.name for i in region.ours(phase=Phase.SERVING)}


def test_no_second_mark_follows_one_that_may_still_land() -> None:
    region = Region()
    old_server(region)
    region.cloud.script.fail("mark", error=lambda: Transient("no answer came"))
    region.cycle()
    for later in (TERMS.call - 1, 1):
        assert region.cloud.servers[ADOPTED_SERVER].mark is None
        region.now += later
        region.cycle(0)
    mark = region.cloud.servers[ADOPTED_SERVER].mark
    assert mark is not None
    assert mark.since == region.now


def test_a_mark_that_was_answered_and_not_put_on_is_put_on_again_with_the_time_that_was_told() -> None:
    region = Region()
    unmarked = old_server(region)
    region.cycle()
    since = region.now
    region.cloud.servers[ADOPTED_SERVER] = unmarked
    for _ in range(12):
        region.cycle()
        mark = region.cloud.servers[ADOPTED_SERVER].mark
        if mark is not None:
            break
    assert mark is not None
    assert mark.since == since < region.now
    region.cycle()
    told = [e for e in region.recorder.events if e.instance == "old-forecast-1"]
    for type_ in (EventType.INSTANCE_REQUESTED, EventType.INSTANCE_STARTED):
        assert {e.occurred_at for e in told if e.type is type_} == {since}
    assert [e.type for e in told][-1] is EventType.INSTANCE_FOUND
    assert "old-forecast-1" in {i.name for i in region.reconciler.memory.fleet.alive()}


def test_an_adopted_server_that_never_joins_is_not_deleted_for_it() -> None:
    region = Region()
    old_server(region)
    region.schedulers.want(FORECAST, 20)
    for _ in range(30):
        region.cycle()
    assert ADOPTED_SERVER in region.cloud.servers


def test_a_leader_without_a_memory_tells_the_start_of_what_was_adopted_to_the_letter() -> None:
    region = Region()
    old_server(region)
    region.schedulers.want(FORECAST, 20)
    region.cycle()
    region.cycles(3)
    region.reconciler = region.leader()
    region.cycles(3)
    for type_ in (EventType.INSTANCE_REQUESTED, EventType.INSTANCE_STARTED):
        told = [e for e in region.told(type_) if e.instance == "old-forecast-1"]
        assert len(told) == 2
        assert replace(told[1], recorded_at=told[0].recorded_at, epoch=told[0].epoch) == told[0]


def given_back() -> Region:
    """A region with an adopted server that no file names any more."""
    region = Region()
    old_server(region)
    region.schedulers.want(FORECAST, 20)
    region.cycles(14)
    memory = region.reconciler.memory
    region.review(NOBODYS)
    region.reconciler = region.leader(memory)
    return region


def test_a_disowning_that_was_answered_and_not_done_is_done_again_and_its_end_is_none() -> None:
    region = given_back()
    row = region.cloud.servers[ADOPTED_SERVER]
    region.cycle()
    region.cloud.servers[ADOPTED_SERVER] = replace(region.cloud.servers[ADOPTED_SERVER], mark=row.mark)
    region.cycles(14)
    assert region.cloud.servers[ADOPTED_SERVER].mark is None
    first, second = (e for e in region.told(EventType.INSTANCE_ENDED) if e.instance == "old-forecast-1")
    (found,) = (e for e in region.told(EventType.INSTANCE_FOUND) if e.instance == "old-forecast-1")
    assert first.id != second.id
    assert found.data["to_ms"] == first.occurred_at < second.occurred_at


def test_a_disowning_without_an_answer_is_no_loss() -> None:
    region = given_back()
    region.cloud.script.fail("mark", error=lambda: Transient("no answer came"))
    region.cycle()
    region.cloud.servers[ADOPTED_SERVER] = replace(region.cloud.servers[ADOPTED_SERVER], mark=None)
    region.cycles(2)
    assert "old-forecast-1" not in {i.name for i in region.reconciler.memory.fleet.alive()}
    assert not region.told(EventType.INSTANCE_LOST)


def test_a_disowned_server_keeps_running_without_our_mark() -> None:
    region = given_back()
    region.cycle()
    assert region.cloud.servers[ADOPTED_SERVER].mark is None
    assert "old-forecast-1" not in {i.name for i in region.reconciler.memory.fleet.alive()}
    assert "old-forecast-1" in {e.instance for e in region.told(EventType.INSTANCE_ENDED)}
    region.cycles(14)
    assert ADOPTED_SERVER in region.cloud.servers
    assert region.supply() == 20

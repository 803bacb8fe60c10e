"""Restarts that a history of single kills does not reach: full disks, other machines, other leaders, two kills."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from contracts.errors import Refused, Transient
from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.provider import CreateRequest, Mark, Status
from reconciler.appraisal import Appraiser
from reconciler.cycle import Memory
from reconciler.desired import partition
from reconciler.fakes import FakeJournal, FakeRecorder
from reconciler.fleet import Debt, Phase
from reconciler.loop import Reconciler
from reconciler.resume import resume
from reconciler.saved import Saved, decode, encode
from reconciler.steps import Step, StepKind
from tests.reconciler.builders import (
    ADOPTED_SERVER,
    ESTATE,
    FORECAST,
    HOUR,
    MINUTE,
    POOL,
    PROJECT,
    REGION,
    START,
    Region,
    fleet,
    instance,
    of_kind,
    step,
    with_region,
)

WIDE = with_region("    guard: {releaseShare: 100, acquireCount: 1000, callBurst: 200}")
FULL = Transient("no space left")


def restarted(region: Region, **ports: object) -> Region:
    """The same surroundings under a new process that finds what its disk holds."""
    changed = replace(region.reconciler.ports, journal=region.journal, recorder=region.recorder)
    changed = replace(changed, **ports)  # type: ignore[arg-type]  # the dataclass checks the names
    region.reconciler = Reconciler(changed, Appraiser(), parted=lambda estate: partition(estate, REGION))
    return region


def emptied(region: Region) -> Region:
    """The same on a machine that never ran here."""
    region.journal, region.recorder = FakeJournal(), FakeRecorder()
    return restarted(region)


# -- what a step without an outcome becomes ---------------------------------------------------------------------------


def after(intent: Step, *known: object) -> Memory:
    saved = Saved(at=START, memory=Memory(fleet=fleet(*known)), intents=(intent,))  # type: ignore[arg-type]  # instances
    return resume(decode(encode(saved)), position=0).memory


def test_an_acquisition_without_an_outcome_is_asked_for() -> None:
    found = after(step(StepKind.ACQUIRE, 7)).fleet.instances[step(StepKind.ACQUIRE, 7).instance]
    assert (found.phase, found.server, found.requested_at) == (Phase.REQUESTED, "", START)


def test_the_debt_that_an_acquisition_pays_is_settled_once_it_may_have_gone_out() -> None:
    debts = tuple(Debt(FORECAST, f"lost-{n}", Cause.NOTICE, "told") for n in (1, 2))
    memory = Memory(fleet=replace(fleet(), debts=debts))
    saved = Saved(at=START, memory=memory, intents=(step(StepKind.REPLACE, 7, replaces="lost-1"),))
    assert [debt.instance for debt in resume(saved, position=0).memory.fleet.debts] == ["lost-2"]


def test_a_release_without_an_outcome_drains_and_its_node_is_asked_again() -> None:
    ours = instance(1)
    found = after(step(StepKind.RELEASE, 1, told="told"), ours).fleet.instances[ours.name]
    assert (found.phase, found.released, bool(found.release_event), found.drain_asked) == (
        Phase.DRAINING,
        True,
        True,
        False,
    )


def test_what_was_to_be_deleted_is_let_go_by_us_and_drains_on() -> None:
    ours = instance(1, phase=Phase.DRAINING, noticed=True, ends_at=START + MINUTE)
    found = after(step(StepKind.DELETE, 1, server=ours.server), ours).fleet.instances[ours.name]
    assert (found.phase, found.released) == (Phase.DRAINING, True)


def test_the_deletion_of_a_twin_releases_nobody() -> None:
    ours = instance(1)
    memory = after(step(StepKind.DELETE, 1, server="server-9", cause=Cause.TWIN), ours)
    assert memory.fleet.instances[ours.name] == ours
    assert memory.fleet.twins == {"server-9"}


@pytest.mark.parametrize(("position", "told"), [(5, 0), (4, 1), (3, 1)])
def test_events_are_told_again_only_where_the_spool_has_not_grown(position: int, told: int) -> None:
    (event, *_) = Region().settled(4).recorder.events
    found = resume(Saved(position=4, events=(event,)), position=position)
    assert len(found.events) == told


# -- the disk ---------------------------------------------------------------------------------------------------------


def test_what_the_journal_does_not_take_is_not_begun_and_goes_on_when_there_is_room() -> None:
    region = Region(WIDE)
    region.schedulers.want(FORECAST, 8)
    region.journal.fail("save", *[FULL] * 6)
    for _ in range(3):
        region.cycle()
    assert not region.cloud.servers
    assert not region.recorder.events
    region.cycles(8)
    assert region.supply() == 8
    told = Counter(event.id for event in region.recorder.events)
    assert set(told.values()) == {1}
    assert len(region.told(EventType.CLAIM_CHANGED)) >= 1


def test_what_was_agreed_before_goes_on_while_the_disk_is_full() -> None:
    region = Region(WIDE).settled(10)
    going = region.busy()
    server = region.server_id(going)
    region.cloud.notify(server, seconds=600)
    region.cycle()
    region.nodes.finish(going)
    region.journal.fail("save", *[FULL] * 4)
    region.cycle()
    assert server not in region.cloud.servers


def test_killed_while_the_disk_is_full_an_older_journal_finds_everything_again() -> None:
    region = Region(WIDE).settled(10)
    lost = region.busy()
    region.journal.fail("save", *[FULL] * 8)
    region.cloud.lose(region.server_id(lost), reason="host failed")
    for _ in range(3):
        region.cycle()
    assert not region.told(EventType.INSTANCE_LOST)
    restarted(region).cycles(6)
    assert [e.instance for e in region.told(EventType.INSTANCE_LOST)] == [lost]
    assert region.supply() == 10
    assert max(Counter(event.id for event in region.recorder.events).values()) == 1


def test_a_batch_that_became_durable_without_an_answer_is_not_told_twice() -> None:
    region = Region(WIDE)
    region.schedulers.want(FORECAST, 4)
    record = region.recorder.record

    def silent(events: object) -> None:
        record(events)  # type: ignore[arg-type]  # handed on as it came
        raise OSError("timed out")

    region.recorder.record = silent  # type: ignore[method-assign]  # the fake's answer, not our code
    region.cycle()
    region.recorder.record = record  # type: ignore[method-assign]  # as above
    region.cycles(4)
    assert max(Counter(event.id for event in region.recorder.events).values()) == 1
    assert len(region.cloud.servers) == 4


def test_a_damaged_journal_starts_nothing() -> None:
    region = Region().settled(4)
    assert region.journal.content is not None
    region.journal.content = region.journal.content[:-9]
    with pytest.raises(Refused, match="damaged"):
        restarted(region)


def test_without_a_journal_nothing_is_kept_and_all_else_is_as_ever() -> None:
    region = restarted(Region(WIDE), journal=None)
    region.settled(8)
    assert region.supply() == 8
    assert region.journal.content is None


def test_a_pool_that_was_excluded_stays_so_and_no_rate_is_told_again() -> None:
    region = Region(WIDE).settled(10)
    region.cloud.advise(POOL, seconds=7200)
    region.cycles(2)
    rates = len(region.told(EventType.RATE_KNOWN))
    region.cloud.advisories.clear()
    decision = restarted(region).cycle()
    assert decision.appraisal.admitted[POOL] == 0
    assert len(region.told(EventType.POOL_EXCLUDED)) == 1
    assert len(region.told(EventType.RATE_KNOWN)) == rates


# -- another machine --------------------------------------------------------------------------------------------------


def test_on_an_empty_disk_a_drain_that_goes_on_is_finished_and_no_second_victim_is_chosen() -> None:
    region = Region(WIDE).settled(10)
    idle = region.busy()
    region.schedulers.occupy(idle, 0)
    region.schedulers.want(FORECAST, 9)
    while idle not in region.nodes.asked:
        region.cycle()
    others = [i.name for i in region.ours() if i.paid is Paid.RECLAIMABLE and i.name != idle]
    for name in others:  # each would be a better one to let go now
        region.schedulers.occupy(name, 0)
    region.schedulers.occupy(idle, 1)
    until = region.nodes.asked[idle]
    emptied(region)
    region.cycle(5)
    assert region.reconciler.memory.fleet.instances[idle].ends_at == until
    region.nodes.finish(idle)
    region.cycles(12)
    assert list(region.nodes.asked) == [idle]
    assert idle not in {s.name for s in region.servers()}
    assert region.supply() == 9


def test_a_create_that_arrives_after_the_new_leaders_first_listing_is_surplus_and_never_an_orphan() -> None:
    region = Region(WIDE).settled(10)
    epoch = region.reconciler.memory.epoch
    emptied(region)
    region.cycles(2)
    late = Mark(ESTATE, REGION, f"eb-{REGION}-{epoch}-000999", epoch, FORECAST, 1, "reclaimable")
    region.reconciler.ports.provider.create(CreateRequest(POOL, PROJECT, late))
    region.cycle()
    assert late.name in region.reconciler.memory.fleet.instances
    assert region.reconciler.memory.epoch > epoch
    for _ in range(14):
        region.cycle()
        for name in list(region.nodes.asked):
            if name in region.schedulers.nodes:
                region.nodes.finish(name)
        region.cloud.settle()
    assert region.supply() == len(region.servers()) == 10
    names = Counter(s.name for s in region.servers())
    assert max(names.values()) == 1


def test_an_adopted_server_that_only_its_mark_remembers_is_billed_since_it_was_marked_until_it_ends() -> None:
    region = Region()
    since = region.now - HOUR
    mark = Mark(ESTATE, REGION, "old-forecast-1", 1, FORECAST, 1, "reclaimable", since)
    row = region.cloud.plant("old-forecast-1", POOL, mark=mark, status=Status.ACTIVE)
    region.cloud.servers[ADOPTED_SERVER] = replace(region.cloud.servers.pop(row.id), id=ADOPTED_SERVER)
    region.schedulers.want(FORECAST, 5)
    region.cycles(3)
    (started,) = [e for e in region.told(EventType.INSTANCE_STARTED) if e.instance == "old-forecast-1"]
    assert (started.cause, started.occurred_at) == (Cause.ADOPTION_REVIEWED, since)
    region.cloud.lose(ADOPTED_SERVER, reason="host failed")
    region.cycles(3)
    assert "old-forecast-1" in {e.instance for e in region.told(EventType.INSTANCE_ENDED)}


# -- another leader ---------------------------------------------------------------------------------------------------


def test_a_replica_that_others_have_acted_beyond_forgets_its_memory_and_calls_nothing_lost() -> None:
    region = Region(WIDE).settled(10)
    first = region.reconciler
    second = Region(WIDE)  # for its disk alone
    region.journal, region.recorder = second.journal, second.recorder
    restarted(region, holder="another").cycles(2)
    for released in [i for i in region.ours() if i.paid is Paid.RECLAIMABLE][:3]:
        region.cloud.remove(released.server)
        region.schedulers.leave(released.name)
    region.cycles(8)
    region.journal, region.recorder = FakeJournal(), FakeRecorder()
    region.journal.content = encode(Saved(at=region.now, memory=first.memory, lineage=first.logbook.lineage))
    restarted(region)
    region.cycles(6)
    assert not region.told(EventType.INSTANCE_LOST)
    assert region.supply() == len(region.servers()) == 10


def test_while_the_store_does_not_say_whose_memory_counts_nothing_is_done() -> None:
    region = Region(WIDE)
    region.schedulers.want(FORECAST, 4)
    get = region.store.get

    def silent(key: str) -> object:
        if key.startswith("memory/"):
            raise Transient("silent")
        return get(key)

    region.store.get = silent  # type: ignore[method-assign, assignment]  # the store's answer, not our code
    region.cycle()
    assert not region.cloud.servers
    region.store.get = get  # type: ignore[method-assign]  # as above
    region.cycle()
    assert len(region.cloud.servers) == 4


def test_after_a_restart_the_next_names_are_of_a_new_term() -> None:
    region = Region(WIDE).settled(6)
    before = region.reconciler.memory.epoch
    restarted(region)
    region.schedulers.want(FORECAST, 8)
    asked = of_kind(region.cycle(), StepKind.ACQUIRE)
    assert {s.instance.split("-")[2] for s in asked} == {str(region.reconciler.memory.epoch)}
    assert region.reconciler.memory.epoch > before

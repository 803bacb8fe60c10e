"""Two partitions of a region over one provider and one store: whose an instance is, and what each may use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.events import EventType
from pools.provider import Mark
from reconciler.appraisal import Appraiser
from reconciler.claims import Claim
from reconciler.desired import Facts, Partition, partition, problem
from reconciler.drafts import Scribe
from reconciler.fleet import Fleet, name_of, number_in
from reconciler.loop import Reconciler
from reconciler.problem import Resources
from reconciler.sharing import held_beside
from reconciler.sighting import sort_rows
from reconciler.standing import spend_limits
from repo_layout.model import Estate
from tests.reconciler.builders import (
    ESTATE,
    FORECAST,
    HINDCAST,
    POOL,
    PROJECT,
    REGION,
    START,
    Region,
    estate,
    instance,
    listing,
    row,
    with_region,
)

SERVING, BATCH = "serving", "batch"
DIVIDED = with_region(
    "    partitions:\n"
    "      - {name: serving, clusters: [north-k8s], share: 60}\n"
    "      - {name: batch, clusters: [north-slurm], share: 40}"
)


def parts() -> tuple[Partition, Partition]:
    return partition(estate(DIVIDED), REGION, SERVING), partition(estate(DIVIDED), REGION, BATCH)


class Divided(Region):
    """The small region under two leaders, on one clock."""

    def __init__(self) -> None:
        super().__init__(DIVIDED)
        self.leaders = {name: self.leader_of(name) for name in (SERVING, BATCH)}

    def leader_of(self, name: str) -> Reconciler:
        own = partition(self.part.estate, REGION, name)
        ports = replace(self.reconciler.ports, journal=None, holder=name)
        return Reconciler(ports, Appraiser(), parted=own.again)

    def pass_cycles(self, count: int) -> None:
        for _ in range(count):
            self.now += 60_000
            for leader in self.leaders.values():
                leader.cycle()


@pytest.fixture(name="divided")
def _divided() -> Divided:
    region = Divided()
    region.schedulers.want(FORECAST, 30)
    region.schedulers.want(HINDCAST, 20)
    region.pass_cycles(20)
    return region


def test_each_leads_its_own_workloads_under_its_own_lease_epoch_and_names(divided: Divided) -> None:
    fleets = {name: leader.memory.fleet.instances for name, leader in divided.leaders.items()}
    assert {one.workload for one in fleets[SERVING].values()} == {FORECAST}
    assert {one.workload for one in fleets[BATCH].values()} == {HINDCAST}
    for name, fleet in fleets.items():
        assert fleet
        assert all(number_in(one, f"{REGION}-{name}") for one in fleet)
        assert {f"{key}/{REGION}-{name}" for key in ("lease", "memory")} <= divided.store.values.keys()


def test_neither_takes_the_others_instances_for_its_own_for_strangers_or_for_lost(divided: Divided) -> None:
    told = {event.type for event in divided.recorder.events}
    assert not told & {EventType.QUARANTINED, EventType.INSTANCE_LOST, EventType.BREAKER_TRIPPED}
    for leader in divided.leaders.values():
        assert not leader.memory.fleet.quarantined


def test_a_leader_with_an_empty_disk_finds_its_own_again_and_no_other(divided: Divided) -> None:
    before = {name for name, one in divided.leaders[BATCH].memory.fleet.instances.items() if one.phase.value != "gone"}
    divided.leaders[BATCH] = divided.leader_of(BATCH)
    divided.pass_cycles(2)
    assert before <= divided.leaders[BATCH].memory.fleet.instances.keys()
    assert {one.workload for one in divided.leaders[BATCH].memory.fleet.instances.values()} == {HINDCAST}


def test_an_epoch_of_another_partition_ends_no_term(divided: Divided) -> None:
    for _ in range(3):  # three terms more of the one
        divided.leaders[SERVING] = divided.leader_of(SERVING)
        divided.pass_cycles(2)
    assert divided.leaders[SERVING].leadership.epoch > divided.leaders[BATCH].leadership.epoch
    assert divided.leaders[BATCH].leadership.epoch == 1


def test_what_leaders_say_of_themselves_is_told_once_each(divided: Divided) -> None:
    began = [event.id for event in divided.recorder.events if event.type is EventType.LEADER_BEGAN]
    assert len(set(began)) == len(divided.leaders)
    both = [Scribe(REGION, START, "", 1, partition=name) for name in (SERVING, BATCH)]
    tripped = {scribe.id_of(EventType.BREAKER_TRIPPED, "x/1") for scribe in both}
    assert len(tripped) == len(both)
    heard = {scribe.id_of(EventType.NOTICE_RECEIVED, "n/i") for scribe in both}
    assert heard == {f"notice.received/{REGION}/n/i"}  # as the node says it, which knows no partitions


def test_counts_rates_and_authorities_are_shared_and_percentages_are_not() -> None:
    whole = estate(DIVIDED).region(REGION).guard
    guards = [part.estate.region(REGION).guard for part in parts()]
    for name in ("release_count", "acquire_count", "replace_count", "call_rate", "call_burst"):
        assert sum(getattr(guard, name) for guard in guards) <= getattr(whole, name)
    assert {guard.release_share for guard in guards} == {whole.release_share}
    money = [spend_limits(part, START)["tides-lead"] for part in parts()]
    assert money == [24_000_000, 16_000_000]


def capacity_of(part: Partition, free: int, theirs: int = 0, ours: int = 0) -> int:
    """VCPU that the partition may use in the domain of `POOL`, instances of four."""
    pool = part.pool_by_name[POOL]
    fleet = {f"i{n}": instance(n + 1, workload=part.contracts[0].name, pool=POOL) for n in range(ours)}
    facts = Facts(
        now=START,
        claims={one.name: Claim(one.name, 0, 0) for one in part.contracts},
        fleet=Fleet(instances=fleet),
        offers={},
        room={pool.domain: Resources(4 * free, 10**6, 0, 10**6)},
        quota=None,
        beside={pool.domain: Resources(4 * theirs, 0, 0, 0)},
    )
    return next(one for one in problem(part, facts).domains if one.name == pool.domain).capacity.vcpu // 4


def test_a_partition_leaves_the_others_their_share_of_a_domain_whoever_was_first() -> None:
    serving, batch = parts()
    assert capacity_of(serving, free=100) == 60
    assert capacity_of(batch, free=100) == 40
    assert capacity_of(batch, free=40, theirs=60) == 40
    assert capacity_of(serving, free=10, theirs=90) == 10  # a share is no claim on what is taken
    assert capacity_of(serving, free=0, ours=70) == 70  # what stands is nobody's excess to end at once


def test_what_others_hold_is_counted_from_their_marks_alone() -> None:
    serving, batch = parts()
    theirs = row(instance(1, workload=HINDCAST, pool=POOL))
    assert theirs.mark is not None
    marked = replace(theirs, mark=replace(theirs.mark, partition=BATCH))
    foreign = replace(theirs, id="f", mark=replace(theirs.mark, estate="somebody"))
    domain = serving.pool_by_name[POOL].domain
    assert held_beside(serving, listing(marked, foreign))[domain].vcpu == serving.resources[POOL].vcpu
    assert held_beside(batch, listing(marked)) == {}
    assert held_beside(partition(estate(), REGION), listing(marked)) == {}


def test_what_a_partition_left_behind_is_shown_and_never_acted_on() -> None:
    left = row(instance(1, workload=HINDCAST))
    assert left.mark is not None
    assert left.mark.partition == ""
    rows = sort_rows(
        (left,),
        {},
        estate=ESTATE,
        region=REGION,
        partition=BATCH,
        led=frozenset({SERVING, BATCH}),
        projects=frozenset({PROJECT}),
        workloads=frozenset({HINDCAST}),
    )
    assert rows.known == {}
    assert [stray.reason for stray in rows.strays] == [
        "it is of the undivided region, which nobody leads in this commit"
    ]


def test_a_commit_that_ends_the_partition_is_not_taken(divided: Divided) -> None:
    leader = divided.leaders[BATCH]
    before = leader.part
    divided.review()
    divided.pass_cycles(1)
    assert leader.part is before
    assert not leader.desired.trusted
    assert "has no leader for north-batch" in leader.desired.problem


def test_a_name_says_of_which_seat_it_is() -> None:
    name = name_of("north-batch", 3, 7)
    assert number_in(name, "north-batch") == 7
    assert number_in(name, "north") == 0
    mark = Mark(ESTATE, REGION, name, 3, HINDCAST, 1, "reclaimable", partition=BATCH)
    assert mark.owner == (ESTATE, REGION, BATCH)
    assert mark.seat == "north-batch"


def test_an_adoption_is_of_the_partition_that_runs_its_workload() -> None:
    found: list[Estate] = [part.estate for part in parts()]
    assert [[one.workload for one in each.adoptions] for each in found] == [[FORECAST], []]

"""The bridge: what the appraiser learns from a cycle's census and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from contracts.values import Money
from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.model import Pool
from pools.provider import (
    Advisory,
    ForwardCapacities,
    ForwardCapacity,
    Notice,
    NoticeKind,
    RateCard,
    Signals,
)
from reconciler.appraisal import RANK_MS, RATE_AGE_MS, Appraisal, Appraiser
from reconciler.cycle import Seen
from reconciler.desired import Partition, partition
from reconciler.drafts import Scribe
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.ports import SchedulerView
from reconciler.sight import Census, Failure, Loss
from repo_layout.documents import ClusterEntry, RegionEntry, SettingsFile, TeamEntry
from repo_layout.model import Estate
from tests.ranking.samples import contract, pool

MINUTE_MS = 60_000
START = 1_000_000_000_000
POOLS = (pool("p1", domain="d1"), pool("p2", vcpu=16, domain="d2"), pool("safe", committed=True, domain="d3"))
CARD = RateCard(
    as_of=START,
    currency="EUR",
    rates={"p1": Decimal("0.20"), "p2": Decimal("0.44")},
    guaranteed={"p1": Decimal("0.50"), "p2": Decimal("1.00"), "safe": Decimal("0.50")},
)


def part(pools: tuple[Pool, ...] = POOLS) -> Partition:
    region = RegionEntry(
        name="r",
        time_zone="UTC",
        halls=("h1",),
        projects=("p",),
        clusters=(ClusterEntry(name="k", scheduler="kubernetes"),),
    )
    team = TeamEntry(name="t", ncu_limit=1000, tiers=("staged",), spend_ceiling_per_day=Money(Decimal(1), "EUR"))
    settings = SettingsFile(
        api_version="ebbtide/v1", kind="Settings", estate="e", currency="EUR", regions=(region,), teams=(team,)
    )
    estate = Estate("c0", 0, settings, (), (contract("w"), contract("v", tier="resumable")), pools, ())
    return partition(estate, "r")


PART = part()


def instance(name: str, *, of: str = "p1", phase: Phase = Phase.SERVING, busy: int = 2) -> Instance:
    return Instance(
        name=name,
        pool=of,
        project="p",
        workload="w",
        units=2,
        paid=Paid.RECLAIMABLE,
        phase=phase,
        requested_at=START,
        epoch=1,
        server=f"s-{name}",
        joined_at=START if phase is Phase.SERVING else 0,
        busy_units=busy,
    )


def census(
    *instances: Instance,
    losses: Sequence[Loss] = (),
    failures: Sequence[Failure] = (),
    notices: Sequence[Notice] = (),
) -> Census:
    fleet = Fleet({i.name: i for i in instances})
    return Census(fleet, losses=list(losses), failures=list(failures), notices=list(notices))


def seen(now: int, *, card: RateCard | None = CARD, advisories: tuple[Advisory, ...] = ()) -> Seen:
    ahead = ForwardCapacities(now, (ForwardCapacity("d1", 64, 256 * 2**30, 0, now + 3_600_000, 0.9),))
    return Seen(
        now=now,
        signals=Signals(now, "", advisories=advisories),
        listing=None,
        schedulers=SchedulerView(now, {}, {}),
        rates=card,
        forward=ahead,
        quota=None,
    )


def appraised(by: Appraiser, now: int, counted: Census | None = None, **more: object) -> Appraisal:
    return by.appraise(PART, counted or census(), seen(now, **more), Scribe("r", now, "c0", 1))  # type: ignore[arg-type]  # as `seen` takes them


def notice(name: str, now: int, *, kind: NoticeKind = NoticeKind.RECLAIM, window_ms: int = 120_000) -> Notice:
    return Notice(f"n-{name}", f"s-{name}", name, "p1", "r1", kind, now, now + window_ms)


def hazard(answer: Appraisal, name: str = "p1") -> float:
    assert answer.ranking is not None
    return next(row.hazard for row in answer.ranking.rows("w") if row.pool == name)


def test_the_first_call_ranks_and_tells_every_rate() -> None:
    answer = appraised(Appraiser(), START)
    assert set(answer.offers["w"].pools) == {"p1", "p2", "safe"}
    assert answer.guaranteed_micro == {"w": 250_000, "v": 250_000}
    told = {e.pool: e.data["rate"] for e in answer.events if e.type is EventType.RATE_KNOWN}
    assert told == {"p1": "0.20", "p2": "0.44", "safe": "0.50"}


def test_rates_are_told_again_only_when_they_change() -> None:
    by = Appraiser()
    first = appraised(by, START)
    same = appraised(by, START + MINUTE_MS, card=replace(CARD, as_of=START + MINUTE_MS))
    dearer = replace(CARD, as_of=START + 2 * MINUTE_MS, rates={**CARD.rates, "p1": Decimal("0.30")})
    changed = appraised(by, START + 2 * MINUTE_MS, card=dearer)
    assert same.events == ()
    assert same.offers["w"] is first.offers["w"]
    assert [e.pool for e in changed.events] == ["p1"]
    assert changed.offers["w"].cost_micro != first.offers["w"].cost_micro


def test_a_rate_that_is_heard_again_after_a_long_silence_is_not_told_again() -> None:
    by = Appraiser()
    appraised(by, START)
    later = START + RATE_AGE_MS + MINUTE_MS
    appraised(by, later, card=None)  # too old by now: forgotten for offers
    again = appraised(by, later + MINUTE_MS, card=replace(CARD, as_of=later))
    assert len(again.offers["w"]) == 3
    assert not [e for e in again.events if e.type is EventType.RATE_KNOWN]


def test_a_rate_that_came_into_force_again_is_told_though_what_held_between_was_never_heard() -> None:
    by = Appraiser()
    appraised(by, START, card=replace(CARD, effective_from={"p1": START}))
    later = START + MINUTE_MS
    again = appraised(by, later, card=replace(CARD, as_of=later, effective_from={"p1": START + 1}))
    assert [(e.pool, e.occurred_at) for e in again.events if e.type is EventType.RATE_KNOWN] == [("p1", START + 1)]


def test_without_a_rate_card_nothing_is_offered_but_what_floors_stand_on() -> None:
    assert appraised(Appraiser(), START, card=None).offers["w"].pools == ("safe",)


def test_a_rate_card_is_kept_for_an_hour_and_no_longer() -> None:
    by = Appraiser()
    appraised(by, START)
    assert len(appraised(by, START + RATE_AGE_MS, card=None).offers["w"]) == 3
    assert appraised(by, START + RATE_AGE_MS + 1, card=None).offers["w"].pools == ("safe",)


def test_unchanged_inputs_give_the_same_ranking_object() -> None:
    by = Appraiser()
    first = appraised(by, START)
    second = appraised(by, START + RANK_MS)
    assert second.ranking is first.ranking


def after_notices(kind: NoticeKind) -> float:
    """The hazard of a pool of six instances after all of them got a notice of this kind."""
    fleet = [instance(f"i{n}") for n in range(6)]
    by, now = Appraiser(), START + RANK_MS
    appraised(by, START, census(*fleet))
    noticed = [replace(i, phase=Phase.DRAINING, noticed=True) for i in fleet]
    return hazard(appraised(by, now, census(*noticed, notices=[notice(i.name, now, kind=kind) for i in fleet])))


def test_reclaims_and_broken_hosts_raise_a_pools_hazard_and_maintenance_and_drills_do_not() -> None:
    found = {kind: after_notices(kind) for kind in NoticeKind}
    assert found[NoticeKind.RECLAIM] == found[NoticeKind.HOST_FAILURE] > 2 * found[NoticeKind.DRILL]
    assert found[NoticeKind.MAINTENANCE] == found[NoticeKind.DRILL]


def test_a_withdrawn_notice_is_no_loss() -> None:
    fleet = [instance(f"i{n}") for n in range(4)]
    noticed = [replace(i, phase=Phase.DRAINING, noticed=True) for i in fleet]
    by, calm = Appraiser(), Appraiser()
    for each in (by, calm):
        appraised(each, START, census(*fleet))
    appraised(by, START + MINUTE_MS, census(*noticed, notices=[notice(i.name, START) for i in fleet]))
    appraised(calm, START + MINUTE_MS, census(*noticed))
    late = START + RANK_MS
    assert hazard(appraised(by, late, census(*fleet))) == hazard(appraised(calm, late, census(*fleet)))


def test_a_loss_without_notice_excludes_its_pool_in_the_same_call() -> None:
    by = Appraiser()
    appraised(by, START, census(instance("a"), instance("b")))
    now = START + 5000
    gone = [Loss(instance("a"), Cause.LOST_WITHOUT_NOTICE, now)]
    answer = appraised(by, now, census(instance("b"), losses=gone))
    assert answer.admitted == {"p1": 0}
    told = [e for e in answer.events if e.type is EventType.POOL_EXCLUDED]
    assert [(e.pool, e.cause) for e in told] == [("p1", Cause.MISSING_NOTICE)]


def test_what_was_drained_may_be_taken_early_and_what_works_may_not() -> None:
    for busy, admitted in ((0, {}), (2, {"p1": 0})):
        by = Appraiser()
        appraised(by, START, census(instance("a")))
        early = [Loss(instance("a", busy=busy), Cause.ENDED_BEFORE_ITS_TIME, START + 5000)]
        assert appraised(by, START + 5000, census(losses=early)).admitted == admitted


def test_failed_creates_and_failed_boots_exclude_together_and_quota_does_not() -> None:
    by = Appraiser()
    appraised(by, START)
    for _ in range(9):
        by.acquisition_failed("p2", "w", Cause.QUOTA_EXHAUSTED, START + 1000)
    for _ in range(2):
        by.acquisition_failed("p1", "w", Cause.CREATE_FAILED, START + 1000)
    answer = appraised(by, START + 5000, census(failures=[Failure("p1", "w", Cause.NEVER_JOINED)]))
    assert answer.admitted == {"p1": 0}


def test_a_probe_that_boots_and_joins_between_two_calls_doubles_the_next() -> None:
    by = Appraiser()
    until = START + MINUTE_MS
    appraised(by, START, advisories=(Advisory("p1", START, until),))
    assert appraised(by, until).admitted == {"p1": 1}
    answer = appraised(by, until + RANK_MS, census(instance("a")))
    assert answer.admitted == {"p1": 2}
    assert [(e.pool, e.cause) for e in answer.events] == [("p1", Cause.PROBE_SUCCEEDED)]


def test_an_advisory_excludes_and_says_until_when() -> None:
    until = START + 3_600_000
    answer = appraised(Appraiser(), START, advisories=(Advisory("p2", START, until),))
    assert answer.admitted == {"p2": 0}
    assert [e.data["until"] for e in answer.events if e.type is EventType.POOL_EXCLUDED] == [until]


def test_room_is_what_was_announced_at_its_confidence() -> None:
    room = appraised(Appraiser(), START).room["d1"]
    assert (room.vcpu, room.memory_mib) == (57, 235_929)


def test_a_rehearsal_learns_apart() -> None:
    by = Appraiser()
    appraised(by, START, census(instance("a")))
    now = START + 5000
    gone = census(losses=[Loss(instance("a"), Cause.LOST_WITHOUT_NOTICE, now)])
    assert appraised(by.rehearsal(), now, gone).admitted == {"p1": 0}
    assert appraised(by, now, census(instance("a"))).admitted == {}


def test_a_new_commit_keeps_what_was_learnt() -> None:
    by = Appraiser()
    fleet = [instance(f"i{n}") for n in range(6)]
    appraised(by, START, census(*fleet))
    gone = [Loss(i, Cause.LOST_WITHOUT_NOTICE, START + RANK_MS) for i in fleet]
    before = appraised(by, START + RANK_MS, census(losses=gone))
    grown = part((*POOLS, pool("p9", domain="d9")))
    now = START + RANK_MS + 1000
    after = by.appraise(grown, census(), seen(now), Scribe("r", now, "c1", 1))
    assert hazard(after) == pytest.approx(hazard(before), rel=0.2)
    assert after.admitted == before.admitted == {"p1": 0}

"""A day's figures, counted by hand: losses, drains, floors, shortfalls, and bounds judged from events."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from ledger.causes import Cause
from ledger.events import Event, EventType, Paid
from ledger.reports import Period
from reconciler.desired import Partition, partition
from repo_layout.adapters.worktree import read_worktree
from repo_layout.load import assemble, judge, read
from repo_layout.versions import CONVERTERS
from simulation.concentration import WINDOW_MS, concentration
from simulation.floors import floors, shortfalls
from simulation.summary import drains, losses, quantile

ESTATE = Path(__file__).parents[2] / "repo_layout" / "estate"
DAY = Period(1_000_000, 2_000_000)
NUMBERS = itertools.count()


@cache
def part() -> Partition:
    """One region of the reference estate."""
    tree = read_worktree(ESTATE)
    estate = assemble(tree, [judge(source) for source in read(tree, CONVERTERS).sources]).estate
    assert estate is not None
    return partition(estate, estate.settings.regions[0].name)


def event(kind: EventType, at: int, cause: Cause = Cause.NOTICE, /, **fields: object) -> Event:
    """One event `at` milliseconds into the day; `data` beside the fields of the envelope."""
    about = {name: str(fields.pop(name, "")) for name in ("workload", "pool", "instance", "caused_by")}
    when = DAY.from_ms + at
    return Event(
        id=f"{kind.value}/{next(NUMBERS)}",
        occurred_at=when,
        recorded_at=when,
        type=kind,
        cause=cause,
        region=part().region,
        caused_by=about["caused_by"],
        workload=about["workload"],
        pool=about["pool"],
        instance=about["instance"],
        data={name: value if isinstance(value, int) else str(value) for name, value in fields.items()},
    )


def noticed(instance: str, at: int, reclaim: str = "r") -> Event:
    return event(EventType.NOTICE_RECEIVED, at, instance=instance, reclaim=reclaim, kind="reclaim", ends_at=at + 120)


def lost(instance: str, at: int, cause: Cause) -> Event:
    return event(EventType.INSTANCE_LOST, at, cause, instance=instance, noticed=int(cause is not LOST))


LOST = Cause.LOST_WITHOUT_NOTICE


def test_an_instance_is_taken_once_and_a_withdrawn_notice_takes_nothing() -> None:
    withdrawn = event(EventType.NOTICE_WITHDRAWN, 9, Cause.NOTICE_WITHDRAWN, instance="c", reclaim="r")
    found = losses(
        [
            noticed("a", 0),
            noticed("a", 1, "s"),
            lost("a", 120, Cause.LOST_AFTER_NOTICE),
            noticed("b", 0),
            noticed("c", 0),
            withdrawn,
            lost("d", 50, LOST),
            noticed("e", 0),
            lost("e", 3, Cause.ENDED_BEFORE_ITS_TIME),
        ]
    )
    assert (found.noticed, found.given_back, found.early, found.unnoticed) == (3, 1, 1, 1)
    assert (found.withdrawn, found.reclaims, found.total) == (1, 2, 4)


def test_a_notice_that_was_withdrawn_and_came_true_all_the_same_counts() -> None:
    withdrawn = event(EventType.NOTICE_WITHDRAWN, 9, Cause.NOTICE_WITHDRAWN, instance="c", reclaim="r")
    assert losses([noticed("c", 0), withdrawn, lost("c", 99, Cause.LOST_AFTER_NOTICE)]).noticed == 1


def drained(instance: str, at: int, outcome: str, cause: str = "notice.received/x", ends: int = 120) -> Iterator[Event]:
    began = event(
        EventType.DRAIN_STARTED, at, instance=instance, caused_by=cause, ends_at=DAY.from_ms + at + ends, units=1
    )
    yield began
    if outcome:
        yield event(
            EventType.DRAIN_ENDED, at + 5, Cause.DRAINED, instance=instance, caused_by=began.id, outcome=outcome
        )


def test_drains_are_told_apart_by_who_asked_and_how_they_ended() -> None:
    events = [
        *drained("a", 0, "verified"),
        *drained("b", 0, "overrun"),
        *drained("c", 0, "withdrawn"),
        *drained("d", 0, ""),
        *drained("e", 0, "verified", "release.asked/x"),
        *drained("f", -5, "verified"),
        *drained("g", 999_000, "", ends=50_000),
    ]
    ours, theirs = drains(events, DAY, asked=True), drains(events, DAY, asked=False)
    assert (ours.verified, ours.total) == (1, 1)
    assert (theirs.verified, theirs.overrun, theirs.withdrawn, theirs.unknown) == (1, 1, 1, 1)
    assert theirs.overrun_ppm == 666_666


def test_a_quantile_is_a_value_that_was_seen() -> None:
    assert [quantile([5, 1, 3], permille) for permille in (1, 334, 500, 990)] == [1, 3, 3, 5]
    assert quantile([], 500) == 0


def with_floor() -> tuple[str, int]:
    contract = next(c for c in part().contracts if c.floor)
    return contract.name, contract.floor


def committed(workload: str, units: int, name: str = "f") -> list[Event]:
    pool = next(p.name for p in part().pools if p.committed)
    about = {"workload": workload, "pool": pool, "instance": name}
    return [
        event(EventType.INSTANCE_STARTED, -500, Cause.FLOOR, **about, units=units, paid=Paid.FLOOR.value),
        event(EventType.INSTANCE_JOINED, -400, Cause.FLOOR, **about),
    ]


def test_a_floor_counts_from_its_join_to_its_drain() -> None:
    name, floor = with_floor()
    whole = committed(name, floor)
    assert name not in floors(whole, part(), DAY).below
    gone = event(EventType.DRAIN_STARTED, 600_000, workload=name, instance="f", ends_at=DAY.to_ms)
    assert floors([*whole, gone], part(), DAY).below[name] == 400_000
    assert floors(whole[:1], part(), DAY).below[name] == 1_000_000


def test_a_drain_that_is_withdrawn_gives_the_floor_back() -> None:
    name, floor = with_floor()
    gone = event(EventType.DRAIN_STARTED, 600_000, workload=name, instance="f", ends_at=DAY.to_ms)
    back = event(EventType.DRAIN_ENDED, 610_000, workload=name, instance="f", outcome="withdrawn")
    assert floors([*committed(name, floor), gone, back], part(), DAY).below[name] == 10_000


def test_reclaimable_units_are_no_floor() -> None:
    name, floor = with_floor()
    events = [replace(e, data={**e.data, "paid": "reclaimable"}) if e.data else e for e in committed(name, floor)]
    assert floors(events, part(), DAY).below[name] == 1_000_000


def test_a_shortfall_is_cut_to_the_day_and_an_open_one_lasts_to_its_end() -> None:
    one, other = (contract.name for contract in part().contracts[:2])
    events = [
        event(EventType.SHORTFALL_BEGAN, -9_000, Cause.SHORTFALL, workload=one, missing_units=2),
        event(EventType.SHORTFALL_ENDED, 61_000, Cause.RESTORED, workload=one),
        event(EventType.SHORTFALL_BEGAN, 900_000, Cause.SHORTFALL, workload=other, missing_units=1),
    ]
    found = {s.workload: s for s in shortfalls(events, part(), DAY)}
    assert (found[one].from_ms, found[one].to_ms, found[one].minutes) == (DAY.from_ms, DAY.from_ms + 61_000, 2)
    assert found[other].to_ms == DAY.to_ms


def spreadable() -> tuple[str, list[str]]:
    """A workload without gangs, and one pool of each domain that it may use."""
    built = part()
    contract = next(c for c in built.contracts if c.gang_size == 1 and c.maximum >= 40 and c.restart != "never")
    by_domain: dict[str, str] = {}
    for pool in built.pools:
        if not pool.committed and (contract.name, pool.name) in built.eligible_units:
            by_domain.setdefault(pool.domain, pool.name)
    return contract.name, sorted(by_domain.values())


def claimed(workload: str, beyond_floor: int, at: int = 0) -> Event:
    floor = part().contract_by_name[workload].floor
    return event(EventType.CLAIM_CHANGED, at, Cause.CLAIM_GREW, workload=workload, units=floor + beyond_floor)


def asked(workload: str, pool: str, name: str, units: int, at: int = 10) -> Event:
    about = {"workload": workload, "pool": pool, "instance": name}
    return event(EventType.INSTANCE_REQUESTED, at, Cause.CLAIM_GREW, **about, units=units, paid="reclaimable")


def test_a_request_up_to_the_bound_is_kept_and_the_next_one_breaks_it() -> None:
    workload, pools = spreadable()
    share = part().shares[workload].pool_permille
    allowed = -(-share * 20 // 1000)
    events = [claimed(workload, 20), *(asked(workload, pools[0], f"i{n}", 1) for n in range(allowed))]
    assert concentration(events, part(), DAY).broken == 0
    found = concentration([*events, asked(workload, pools[0], "over", 1)], part(), DAY)
    assert (found.broken, found.requests) == (1, allowed + 1)
    assert {(act.units, act.allowed) for act in found.acts} >= {(allowed + 1, allowed)}


def test_room_is_free_again_when_an_instance_failed_or_ended() -> None:
    workload, pools = spreadable()
    allowed = -(-part().shares[workload].pool_permille * 20 // 1000)
    events = [claimed(workload, 20), *(asked(workload, pools[0], f"i{n}", 1) for n in range(allowed))]
    failed = event(EventType.INSTANCE_FAILED, 11, Cause.CREATE_FAILED, instance="i0", workload=workload, error="x")
    assert concentration([*events, failed, asked(workload, pools[0], "next", 1)], part(), DAY).broken == 0


def fallen(workload: str, name: str, at: int, units: int) -> Event:
    return event(
        EventType.DRAIN_STARTED,
        at,
        workload=workload,
        instance=name,
        caused_by=f"notice.received/{name}",
        ends_at=DAY.to_ms,
        units=units,
    )


def test_what_falls_in_one_place_within_the_window_is_added_up() -> None:
    workload, pools = spreadable()
    events = [claimed(workload, 20), *(asked(workload, pools[0], f"i{n}", 1) for n in range(6))]
    events += [fallen(workload, f"i{n}", 100 + n, 1) for n in range(5)]
    events.append(fallen(workload, "i5", 100 + WINDOW_MS, 1))
    found = concentration(events, part(), DAY)
    assert found.worst_place is not None
    assert (found.worst_place.units, found.worst_place.desired) == (5, 20)
    assert found.worst_place.permille > 1000
    assert found.falls_broke > 0


def test_a_fall_within_the_bound_of_its_placement_is_not_broken_by_a_claim_that_shrank() -> None:
    workload, pools = spreadable()
    events = [claimed(workload, 40), *(asked(workload, pools[0], f"i{n}", 1) for n in range(6))]
    events += [claimed(workload, 10, 50), *(fallen(workload, f"i{n}", 100, 1) for n in range(6))]
    found = concentration(events, part(), DAY)
    assert found.broken == 0
    assert found.falls_over > 0
    assert found.falls_broke == 0


def test_places_that_fall_at_once_are_seen_together() -> None:
    workload, pools = spreadable()
    events = [claimed(workload, 20)]
    events += [asked(workload, pool, f"i{n}", 1) for n, pool in enumerate(pools[:4])]
    events += [fallen(workload, f"i{n}", 100, 1) for n in range(4)]
    together = concentration(events, part(), DAY).worst_together
    assert together is not None
    assert together.units == 4


@pytest.mark.parametrize("units", [0, 1])
def test_an_instance_on_which_nothing_ran_takes_nothing_with_it(units: int) -> None:
    workload, pools = spreadable()
    events = [claimed(workload, 20), asked(workload, pools[0], "i", 1), fallen(workload, "i", 100, units)]
    assert (concentration(events, part(), DAY).worst_place is not None) == bool(units)

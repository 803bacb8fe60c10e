"""The reckoning of the kill test: who waits because a bound or want of room holds it back, and who waits wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from ledger.causes import Cause
from ledger.events import Event, EventType, Paid
from pools.exclusion import LONGEST_BACK_OFF_MS
from pools.provider import (
    ForwardCapacities,
    ForwardCapacity,
    Lifecycle,
    LifecycleKind,
    ProjectQuota,
    Quota,
    RateCard,
    Signals,
)
from reconciler.ports import Demand
from simulation.check_ground import Ground
from tests.reconciler.builders import (
    FORECAST,
    HINDCAST,
    HOUR,
    KEPT,
    MINUTE,
    POOL,
    PROJECT,
    REGION,
    START,
    estate,
    instance,
    listing,
    row,
    scribe,
)
from tests.run.region import DOMAINS, SWAPS
from tests.run.waiting import Region, Stated, doubted_in, stated_in, waits_wrongly

GROUND = Ground(estate(*SWAPS), REGION)
CLOSED = frozenset({"h1-general-a", "h1-general-b"})
OPEN = tuple(domain for domain in DOMAINS if domain not in CLOSED)
MANY = 1_000
LAST = "h4-general-b"


def wants(running: int, waiting: int) -> Demand:
    return Demand(HINDCAST, running, 0, waiting)


def region(
    units: Mapping[str, int],
    said: Stated | None,
    *,
    closed: frozenset[str] = CLOSED,
    full: frozenset[str] = frozenset(),
) -> Region:
    """So many units of hindcast in each domain, room everywhere but in those that are `full`, and what is said."""
    pools = [f"{domain}-4x16" for domain, count in units.items() for _ in range(count)]
    rows = [row(instance(number, pool=pool, workload=HINDCAST)) for number, pool in enumerate(pools)]
    free = {domain: 0 if domain in full else MANY for domain in DOMAINS}
    return Region(
        ground=GROUND,
        listing=listing(*rows),
        forward=ForwardCapacities(
            START, tuple(ForwardCapacity(name, room, room * 2**30, 0, START, 1.0) for name, room in free.items())
        ),
        quota=Quota(START, (ProjectQuota(PROJECT, MANY, MANY, MANY * 2**30),)),
        rates=RateCard(START, "EUR", dict.fromkeys(GROUND.pools, Decimal(1)), dict.fromkeys(GROUND.pools, Decimal(10))),
        signals=Signals(START, "1"),
        closed=closed,
        stated={HINDCAST: said} if said else {},
    )


def spread(units: int, **but: int) -> dict[str, int]:
    """So many units in each open domain, but for those that are named."""
    return {domain: but.get(domain.replace("-", "_"), units) for domain in OPEN}


HELD_BACK = Stated(2, frozenset({"pool_share", "headroom"}))


def test_who_stands_at_every_bound_waits_rightly() -> None:
    """Of 20 desired at most 3 stand in a domain, and two of eight domains are under a reclaim."""
    assert list(waits_wrongly(wants(18, 2), region(spread(3), HELD_BACK))) == []


def test_who_waits_for_nothing_needs_no_reason() -> None:
    assert list(waits_wrongly(wants(12, 0), region(spread(2), None))) == []


def test_who_waits_although_a_pool_takes_one_more_waits_wrongly() -> None:
    found = region(spread(3, h4_general_b=2), Stated(3, HELD_BACK.lacks))
    waits = "hindcast has 17 units and waits for 3"
    assert list(waits_wrongly(wants(17, 3), found)) == [f"{waits}, and {LAST}-4x16 takes one more"]


def test_who_waits_although_the_reclaim_is_over_waits_wrongly() -> None:
    found = list(waits_wrongly(wants(18, 2), region(spread(3), HELD_BACK, closed=frozenset())))
    waits = "hindcast has 18 units and waits for 2"
    assert found[:2] == [f"{waits}, and {domain}-4x16 takes one more" for domain in sorted(CLOSED)]
    assert found[2:] == [f"{waits} for headroom, it is said, and that is so nowhere"]


def test_who_waits_and_says_nothing_of_it_waits_wrongly() -> None:
    found = list(waits_wrongly(wants(18, 2), region(spread(3), None)))
    assert found[0] == "hindcast has 18 units and waits for 2, and it is said that 0 come or find no place"
    assert len(found) == 1 + len(DOMAINS)


def test_what_is_said_to_find_no_place_is_at_least_what_waits() -> None:
    found = list(waits_wrongly(wants(18, 2), region(spread(3), Stated(1, HELD_BACK.lacks))))
    assert found == ["hindcast has 18 units and waits for 2, and it is said that 1 come or find no place"]


def test_a_reason_that_is_not_so_is_none() -> None:
    found = list(waits_wrongly(wants(18, 2), region(spread(3), Stated(2, frozenset({"capacity", "headroom"})))))
    waits = "hindcast has 18 units and waits for 2"
    so, said = "group_share, pool_count, pool_share", "and it is said to be by capacity, headroom"
    assert found == [
        *(f"{waits}: {domain}-4x16 is held back by {so}, {said}" for domain in sorted(OPEN)),
        f"{waits} for capacity, it is said, and that is so nowhere",
    ]


def test_a_domain_without_room_keeps_its_units_out() -> None:
    said = Stated(3, frozenset({"pool_share", "headroom", "capacity"}))
    one_less = spread(3, h4_general_b=2)
    assert list(waits_wrongly(wants(17, 3), region(one_less, said, full=frozenset({LAST})))) == []


def test_a_group_at_its_bound_keeps_its_units_out() -> None:
    """Of 20 desired at most 6 stand in a hall: one that stands in excess beside it leaves a domain no room."""
    units = dict.fromkeys(DOMAINS, 2) | {"h4-general-a": 4}
    full = frozenset(DOMAINS) - {"h4-general-a", LAST}
    found = region(units, Stated(2, frozenset({"capacity", "group_share"})), closed=frozenset(), full=full)
    assert list(waits_wrongly(wants(18, 2), found)) == []
    found = replace(found, stated={HINDCAST: Stated(2, frozenset({"capacity", "pool_share"}))})
    said = f"{LAST}-4x16 is held back by group_share, and it is said to be by capacity, pool_share"
    assert list(waits_wrongly(wants(18, 2), found)) == [f"hindcast has 18 units and waits for 2: {said}"]


def passed(servers: int, *, hours: int, taken: int) -> Signals:
    """So many servers that ran for so long in the last domain, and as many of them as were taken in the end."""
    said = [
        Lifecycle(at, kind, f"server-{number}", "", f"{LAST}-4x16", taken=kind is LifecycleKind.FAILED)
        for number in range(servers)
        for at, kind in ((START - hours * HOUR, LifecycleKind.ACTIVE), (START, LifecycleKind.FAILED))
        if kind is LifecycleKind.ACTIVE or number < taken
    ]
    return Signals(START, "1", lifecycle=tuple(said))


def test_a_pool_that_is_not_offered_is_one_where_much_was_taken() -> None:
    """Ten of ten in two hours are more than the four tenths an hour that are tolerated; one in 10,000 hours is less."""
    said = replace(HELD_BACK, units=3, not_offered=frozenset({f"{LAST}-4x16"}))
    waiting = region(spread(3, h4_general_b=2), said)
    often = replace(waiting, signals=passed(10, hours=2, taken=10))
    seldom = replace(waiting, signals=passed(100, hours=100, taken=1))
    waits = "hindcast has 17 units and waits for 3"
    assert list(waits_wrongly(wants(17, 3), often)) == []
    assert list(waits_wrongly(wants(17, 3), waiting)) == []  # nobody knows it yet
    assert list(waits_wrongly(wants(17, 3), seldom)) == [
        f"{waits}, and {LAST}-4x16 is not offered, though it costs little and little was taken there"
    ]


def test_the_last_units_are_kept_for_domains_that_are_not_used_yet() -> None:
    """Of 8 desired one stands in each domain that is open; another one there would leave too few for the others."""
    units, said = spread(1), Stated(2, frozenset({"pool_count", "headroom"}))
    assert list(waits_wrongly(wants(6, 2), region(units, said))) == []
    again = list(waits_wrongly(wants(6, 2), region(units, said, closed=frozenset({"h1-general-a"}))))
    assert again == ["hindcast has 6 units and waits for 2, and h1-general-b-4x16 takes one more"]


def test_a_floor_waits_for_room_on_committed_capacity_alone() -> None:
    """No bound and no reclaim of lent domains is a reason to lack a unit of a floor, and no lent pool takes it."""
    rows = [row(instance(number, pool=KEPT, paid=Paid.FLOOR)) for number in range(3)]
    waits, floor = Demand(FORECAST, 3, 0, 1), Stated(1, frozenset({"capacity"}))
    full = replace(region({}, None), listing=listing(*rows), stated={FORECAST: floor})
    assert list(waits_wrongly(waits, full)) == []
    room = ForwardCapacity("h1-committed", MANY, MANY * 2**30, 0, START, 1.0)
    assert list(waits_wrongly(waits, replace(full, forward=ForwardCapacities(START, (room,))))) == [
        f"forecast has 3 units and waits for 1, and {KEPT} takes one more",
        "forecast has 3 units and waits for 1 for capacity, it is said, and that is so nowhere",
    ]


def test_the_statement_is_read_from_the_plan() -> None:
    lacks, dropped = ["pool_share", "capacity"], {"h1-general-a-4x16": "intolerable"}
    short = {"workload": HINDCAST, "units": 2, "floor_units": 1, "lacks": lacks, "not_offered": dropped}
    one = {"kind": "acquire", "workload": HINDCAST, "pool": POOL, "units": 1, "paid": "reclaimable"}
    steps = [{**one, "cause": "claim_grew"}, {**one, "cause": "rebalance"}, {**one, "kind": "release", "cause": "-"}]
    assert stated_in({"shortfalls": [short], "steps": steps}) == {
        HINDCAST: Stated(4, frozenset(lacks), frozenset(dropped), {POOL: 2})
    }


def test_what_is_coming_waits_rightly_and_takes_its_place() -> None:
    """One comes into the last place that a bound leaves, and two find none."""
    came = Stated(3, HELD_BACK.lacks, coming={f"{LAST}-4x16": 1})
    assert list(waits_wrongly(wants(17, 3), region(spread(3, h4_general_b=2), came))) == []
    few = replace(came, units=2)
    assert list(waits_wrongly(wants(17, 3), region(spread(3, h4_general_b=2), few))) == [
        "hindcast has 17 units and waits for 3, and it is said that 2 come or find no place"
    ]


def test_a_pool_is_doubted_until_the_ledger_readmits_it_or_the_longest_back_off_is_over() -> None:
    def word(type_: EventType, minutes: int) -> Event:
        at = START + minutes * MINUTE
        cause = Cause.FAILED_ACQUISITIONS
        return scribe(at).event(type_, f"{POOL}/{at}", cause, pool=POOL, data={"until": at})

    excluded, probed = word(EventType.POOL_EXCLUDED, 0), word(EventType.POOL_PROBED, 10)
    assert doubted_in((excluded,), START) == {POOL}
    assert doubted_in((excluded, probed), probed.occurred_at) == {POOL}
    assert not doubted_in((excluded, probed, word(EventType.POOL_READMITTED, 20)), START + 20 * MINUTE)
    assert not doubted_in((excluded,), START + LONGEST_BACK_OFF_MS)


def test_a_pool_that_is_doubted_takes_no_more() -> None:
    found = region(spread(3, h4_general_b=2), Stated(3, HELD_BACK.lacks))
    assert not list(waits_wrongly(wants(17, 3), replace(found, doubted=frozenset({f"{LAST}-4x16"}))))

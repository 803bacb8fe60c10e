"""Whether a spread can be had, against a search that tries every way to lay the units out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from correlation_groups.reach import Domain, Field, Shortfall
from correlation_groups.spread import Shares, limit, pools_required


def _layouts(rooms: Sequence[int], units: int, gang: int) -> Iterator[tuple[int, ...]]:
    """Every way to put the units into the rooms, in whole gangs."""
    if not rooms:
        if units == 0:
            yield ()
        return
    for here in range(0, min(rooms[0], units) + 1, gang):
        for others in _layouts(rooms[1:], units - here, gang):
            yield (here, *others)


def _can_be_had(field: Field, desired: int) -> bool:
    """The promise itself: some layout keeps each bound and uses the pools asked for."""
    shares, domains = field.shares, field.domains
    rooms = [min(d.capacity, limit(shares.pool_permille, desired, d.quantum)) for d in domains]
    required = pools_required(desired, max(d.quantum for d in domains), shares.pools)
    kinds = {kind for d in domains for kind in d.groups}
    members = [
        [at for at, d in enumerate(domains) if d.groups.get(kind) == group]
        for kind in kinds
        for group in {d.groups[kind] for d in domains if kind in d.groups}
    ]
    bounds = [limit(shares.group_permille, desired, max(domains[at].quantum for at in group)) for group in members]
    return any(
        sum(1 for units in layout if units) >= required
        and all(sum(layout[at] for at in group) <= most for group, most in zip(members, bounds, strict=True))
        for layout in _layouts(rooms, desired, field.gang)
    )


def _within_bounds(field: Field, layout: Sequence[int], desired: int) -> bool:
    """Whether a layout keeps each share, whatever number of pools it uses."""
    shares, domains = field.shares, field.domains
    for at, domain in enumerate(domains):
        if layout[at] > min(domain.capacity, limit(shares.pool_permille, desired, domain.quantum)):
            return False
    for kind in {kind for d in domains for kind in d.groups}:
        for group in {d.groups[kind] for d in domains if kind in d.groups}:
            held = [at for at, d in enumerate(domains) if d.groups.get(kind) == group]
            largest = max(domains[at].quantum for at in held)
            if sum(layout[at] for at in held) > limit(shares.group_permille, desired, largest):
                return False
    return True


@st.composite
def _fields(draw: st.DrawFn) -> Field:
    gang = draw(st.sampled_from([1, 1, 1, 2]))
    count = draw(st.integers(1, 5))
    domains = [
        Domain(
            name=f"d{at}",
            quantum=gang * draw(st.integers(1, 2)),
            capacity=draw(st.sampled_from([0, 2, 4, 100])),
            groups={kind: f"{kind}{draw(st.integers(1, 3))}" for kind in ("hall", "power") if draw(st.integers(0, 4))},
        )
        for at in range(count)
    ]
    pool, group = draw(st.sampled_from([(150, 300), (300, 300), (300, 600), (500, 600)]))
    return Field(tuple(domains), Shares(pool, group, draw(st.integers(1, 4))), gang)


@settings(max_examples=150)
@given(field=_fields(), lots=st.integers(1, 8))
def test_a_count_can_be_spread_exactly_when_some_layout_exists(field: Field, lots: int) -> None:
    desired = lots * field.gang
    assert (field.shortfall(desired) is None) == _can_be_had(field, desired)


@settings(max_examples=150)
@given(field=_fields(), lots=st.integers(1, 9))
def test_no_shortfall_means_that_every_smaller_count_can_be_spread(field: Field, lots: int) -> None:
    largest = lots * field.gang
    counts = range(field.gang, largest + 1, field.gang)
    exempt = field.gang > 1 and largest <= field.gang
    assert (field.first_shortfall(largest) is None) == (exempt or all(_can_be_had(field, n) for n in counts))


def _halls(*sizes: int, quantum: int = 1, capacity: int = 10**7) -> tuple[Domain, ...]:
    return tuple(
        Domain(f"h{hall}-{at}", quantum, capacity, {"hall": f"h{hall}"})
        for hall, size in enumerate(sizes, start=1)
        for at in range(size)
    )


@pytest.mark.parametrize("largest", [1, 7, 8, 9, 20, 92, 1_000, 999_999])
def test_eight_domains_in_four_halls_reach_the_usual_bounds_at_every_count(largest: int) -> None:
    assert Field(_halls(2, 2, 2, 2), Shares()).first_shortfall(largest) is None


def test_seven_domains_satisfy_the_share_and_not_the_count() -> None:
    assert Field(_halls(2, 2, 2, 1), Shares()).first_shortfall(100) == Shortfall("pools", 10, 8, 7)
    assert Field(_halls(2, 2, 2, 1), Shares()).first_shortfall(7) is None


def test_three_halls_are_short_from_ten_units_on() -> None:
    assert Field(_halls(3, 3, 3), Shares()).first_shortfall(92) == Shortfall("hall", 10, 10, 9)


def test_domains_that_crowd_one_hall_do_not_count_as_spread() -> None:
    assert Field(_halls(5, 1, 1, 1), Shares()).shortfall(8) == Shortfall("pools", 8, 8, 6)


def test_large_instances_ask_for_fewer_domains() -> None:
    assert Field(_halls(1, 1, 1, 1, quantum=4), Shares()).first_shortfall(16) is None
    assert Field(_halls(1, 1, 1, 1, quantum=4), Shares()).first_shortfall(20) is not None


def test_empty_hosts_are_not_room_enough() -> None:
    assert Field(_halls(2, 2, 2, 2, capacity=10), Shares()).shortfall(90) == Shortfall("capacity", 90, 90, 80)


def test_kinds_that_cross_are_judged_together() -> None:
    """Halls alone hold 12 and feeds alone 12; but two halls hang on one feed, and the other feeds on one hall."""
    crossing = (("a", "x"), ("a", "x"), ("b", "x"), ("b", "x"), ("c", "y"), ("c", "z"))
    domains = tuple(Domain(f"d{n}", 1, 100, {"hall": hall, "power": feed}) for n, (hall, feed) in enumerate(crossing))
    assert Field(domains, Shares(400, 400, 1)).shortfall(10) == Shortfall("all", 10, 10, 8)


def test_a_workload_of_one_gang_is_exempt() -> None:
    assert Field(_halls(1, quantum=8), Shares(), gang=8).first_shortfall(8) is None
    assert Field(_halls(1, quantum=8), Shares(), gang=8).first_shortfall(16) is not None


def test_a_group_holds_what_its_domains_and_its_bound_let_stand() -> None:
    widened = Shares(150, 400, 8)
    field = Field(_halls(4, 2, 2, 2), widened)
    first = {domain.name for domain in field.domains if domain.groups["hall"] == "h1"}
    assert field.crowd(100).most_in(first) == 40
    assert field.crowd(100).most_in(sorted(first)[:2]) == 30
    assert field.crowd(100).most_in({"elsewhere"}) == 0


@given(field=_fields(), lots=st.integers(1, 6), chosen=st.sets(st.integers(0, 4)))
@settings(max_examples=60, deadline=None)
def test_no_layout_within_the_bounds_puts_more_into_some_domains(field: Field, lots: int, chosen: set[int]) -> None:
    desired, names = lots * field.gang, {f"d{at}" for at in chosen}
    inside = [d.name in names for d in field.domains]
    most = field.crowd(desired).most_in(names)
    for units in range(most + 1, desired + 1):
        for layout in _layouts([desired] * len(field.domains), desired, field.gang):
            if sum(n for n, there in zip(layout, inside, strict=True) if there) == units:
                assert not _within_bounds(field, layout, desired)

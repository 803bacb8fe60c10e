"""Floors on whole hosts: what is accepted can really be packed, and what shares no hosts is not blamed."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.findings import Finding
from pools.eligibility import fitting_into
from repo_layout.feasibility import check
from repo_layout.model import Estate
from repo_layout.room_for_floors import left_after_floors
from tests.checks.estates import FORECAST, HINDCAST, changed, judged, minimal, with_lines

COMMITTED = "pools/north/h1-committed.yaml"
GIB = 2**30


def estate_with(hosts: int, vcpu: int, rows: list[int], floors: tuple[tuple[int, int], tuple[int, int]]) -> Estate:
    """Committed hosts with rows of so many vCPU, and two contracts of (vCPU of a unit, floor); memory never binds."""
    files = minimal()
    listed = "".join(
        f"  - {{name: c{n}, flavor: c{n}, rateClass: committed, instance: {{vcpu: {each}, memory: {each}GiB}}}}\n"
        for n, each in enumerate(rows)
    )
    head = files[COMMITTED].decode().partition("rows:")[0]
    head = "\n".join(
        f"hosts: {{count: {hosts}, vcpu: {vcpu}, memory: {vcpu}GiB}}" if line.startswith("hosts:") else line
        for line in head.splitlines()
    )
    files[COMMITTED] = f"{head}\nrows:\n{listed}".encode()
    for path, (unit, floor) in zip((FORECAST, HINDCAST), floors, strict=True):
        lines = [
            line for line in files[path].decode().splitlines() if line.partition(":")[0] not in ("floor", "minimum")
        ]
        lines = [f"unit: {{vcpu: {unit}, memory: 1GiB}}" if line.startswith("unit:") else line for line in lines]
        files[path] = "\n".join([*lines, f"floor: {floor}", ""]).encode()
    estate = judged(files).estate
    assert estate is not None
    return estate


def refused(estate: Estate) -> list[Finding]:
    return [finding for finding in check(estate) if finding.code == "EBT-203"]


def test_what_is_left_on_two_hosts_does_not_make_one_instance() -> None:
    # two hosts of 64 vCPU with an instance of 40 on each have 48 left, and no place for 32
    (finding,) = refused(estate_with(2, 64, [32, 40], ((40, 2), (32, 1))))
    assert "1 of its 1 find no room" in finding.message
    assert refused(estate_with(2, 64, [24, 40], ((40, 2), (24, 2)))) == []


def test_what_floors_leave_is_told_by_aggregate() -> None:
    estate = estate_with(2, 64, [24, 40], ((40, 1), (24, 2)))
    left = left_after_floors(estate, estate.settings.regions[0])["h1-committed"]
    assert (left.vcpu, left.gpu) == (128 - 40 - 48, 0)


@given(
    hosts=st.integers(1, 3),
    rows=st.lists(st.integers(2, 8), min_size=1, max_size=2, unique=True),
    floors=st.tuples(st.tuples(st.integers(1, 6), st.integers(1, 5)), st.tuples(st.integers(1, 6), st.integers(1, 5))),
)
@settings(max_examples=25, deadline=None)
def test_floors_that_are_accepted_can_be_packed(
    hosts: int, rows: list[int], floors: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    estate = estate_with(hosts, 12, sorted(rows), floors)
    assert all(fitting_into(pool.hosts, pool.instance) for pool in estate.pools if pool.committed)
    if not refused(estate):
        assert _packable(hosts, 12, rows, floors)


def _packable(hosts: int, vcpu: int, rows: list[int], floors: tuple[tuple[int, int], tuple[int, int]]) -> bool:
    """Whether some layout of instances of the rows over the hosts holds both floors, by trying all."""
    kinds = [(row, unit) for row in rows for unit, _ in floors if row >= unit]
    one_host = [
        counts
        for counts in product(*(range(vcpu // row + 1) for row, _ in kinds))
        if sum(n * row for n, (row, _) in zip(counts, kinds, strict=True)) <= vcpu
    ]
    return any(
        all(
            sum(
                n * (row // unit)
                for counts in layout
                for n, (row, served), which in zip(counts, kinds, _owners(rows, floors), strict=True)
                if which == at and served == unit
            )
            >= floor
            for at, (unit, floor) in enumerate(floors)
        )
        for layout in product(one_host, repeat=hosts)
    )


def _owners(rows: list[int], floors: tuple[tuple[int, int], tuple[int, int]]) -> list[int]:
    """Which floor each kind of instance serves."""
    return [at for row in rows for at, (unit, _) in enumerate(floors) if row >= unit]


@pytest.mark.parametrize(("floor", "codes"), [(28, []), (29, ["EBT-203"])])
def test_committed_hosts_hold_exactly_their_floors(floor: int, codes: list[str]) -> None:
    files = changed(HINDCAST, ("maximum: 24", "maximum: 40"), files=with_lines(HINDCAST, f"floor: {floor}\n"))
    estate = judged(files).estate
    assert estate is not None
    assert [finding.code for finding in refused(estate)] == codes

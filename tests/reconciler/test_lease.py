"""The lease's record and its decisions: what is damaged, when it is free, when its holder must stop."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import Refused
from reconciler.lease import (
    NO_LEASE,
    TERMS,
    Lease,
    Tenure,
    Terms,
    Watch,
    free_at,
    lapsed,
    read_lease,
    watched,
    write_lease,
)

HELD = Lease("a", 5, TERMS.term, 7)
WAIT = TERMS.term + TERMS.call

leases = st.builds(
    Lease,
    holder=st.text(max_size=20),
    epoch=st.integers(1, 2**53),
    term=st.integers(1, 3_600_000),
    beat=st.integers(0, 2**53),
)


@given(leases)
def test_a_record_says_what_was_written(lease: Lease) -> None:
    assert read_lease(write_lease(lease)) == lease


@given(leases, st.data())
def test_a_record_that_lost_a_byte_or_got_another_is_damaged_or_another_whole_record(
    lease: Lease, data: st.DataObject
) -> None:
    raw = write_lease(lease)
    at = data.draw(st.integers(0, len(raw) - 1))
    with_other = raw[:at] + bytes([data.draw(st.integers(0, 255))]) + raw[at + 1 :]
    with pytest.raises(Refused, match="damaged"):
        read_lease(raw[:at])
    try:
        found = read_lease(with_other)
    except Refused:
        return
    assert write_lease(found) == with_other


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"null",
        b"5",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 1000,
        b'{"beat":0,"epoch":0,"holder":"a","term":30000}\n',
        b'{"beat":0,"epoch":true,"holder":"a","term":30000}\n',
        b'{"beat":0,"epoch":1.0,"holder":"a","term":30000}\n',
        b'{"beat":0,"epoch":1,"holder":null,"term":30000}\n',
        b'{"beat":0,"epoch":1,"holder":"a","term":3600001}\n',
        b'{"beat":0,"epoch":1,"holder":"a","term":30000}',
        b'{"beat":0,"epoch":1,"holder":"a","more":1,"term":30000}\n',
        b'{"beat":0, "epoch":1,"holder":"a","term":30000}\n',
        write_lease(Lease("a" * 2000, 1, 30_000, 0)),
    ],
)
def test_a_damaged_record_never_says_that_nobody_leads(raw: bytes) -> None:
    with pytest.raises(Refused, match="damaged"):
        read_lease(raw)


@pytest.mark.parametrize(
    "times", [(30, 10, 30, 0), (30, 20, 20, 0), (30, 0, 20, 0), (30, 10, 20, -1), (3_600_001, 1, 2, 0)]
)
def test_terms_under_which_two_could_lead_are_refused(times: tuple[int, int, int, int]) -> None:
    with pytest.raises(Refused, match="longer than the one before"):
        Terms(*times)


def test_a_record_that_stands_still_is_free_after_its_term_and_one_call() -> None:
    first = watched(None, HELD, "r1", 1000, TERMS)
    again = watched(first, HELD, "r1", 20_000, TERMS)
    assert free_at(again, TERMS) == 1000 + WAIT


def test_each_renewal_starts_the_wait_anew() -> None:
    first = watched(None, HELD, "r1", 1000, TERMS)
    again = watched(first, Lease("a", 5, TERMS.term, 8), "r2", 20_000, TERMS)
    assert free_at(again, TERMS) == 20_000 + WAIT


def test_the_longer_of_two_terms_is_waited_for() -> None:
    long = Lease("a", 5, 90_000, 7)
    assert free_at(watched(None, long, "r1", 0, TERMS), TERMS) == 90_000 + TERMS.call
    short = Lease("a", 5, 1_000, 7)
    assert free_at(watched(None, short, "r1", 0, TERMS), TERMS) == WAIT


def test_an_empty_store_is_waited_for_like_a_lease() -> None:
    assert free_at(watched(None, NO_LEASE, "", 500, TERMS), TERMS) == 500 + WAIT


def test_who_did_not_look_for_a_term_has_not_watched() -> None:
    first = watched(None, HELD, "r1", 0, TERMS)
    late = watched(first, HELD, "r1", TERMS.term + 1, TERMS)
    assert late.since == TERMS.term + 1


def given_up(before: Lease, after: Lease, pause: int = 1000) -> Watch:
    return watched(watched(None, before, "r1", 0, TERMS), after, "r2", pause, TERMS)


def test_a_lease_that_was_seen_being_given_up_is_free_at_once() -> None:
    watch = given_up(HELD, Lease("", 5, TERMS.term, 8))
    assert free_at(watch, TERMS) == 1000
    assert free_at(watched(watch, watch.lease, "r2", 3000, TERMS), TERMS) == 1000


@pytest.mark.parametrize(
    ("before", "after", "pause"),
    [
        (HELD, Lease("", 4, TERMS.term, 8), 1000),  # an older copy of the store
        (HELD, Lease("", 6, TERMS.term, 8), 1000),  # another led between
        (Lease("", 5, TERMS.term, 8), Lease("", 5, TERMS.term, 9), 1000),
        (HELD, Lease("", 5, TERMS.term, 8), TERMS.term + 1),  # nobody looked meanwhile
    ],
)
def test_a_vacant_record_whose_end_nobody_saw_is_waited_for(before: Lease, after: Lease, pause: int) -> None:
    assert free_at(given_up(before, after, pause), TERMS) == pause + WAIT


@pytest.mark.parametrize(
    ("after", "older"),
    [
        (Lease("b", 6, 30_000, 0), False),
        (Lease("a", 5, 30_000, 6), True),
        (Lease("b", 4, 30_000, 9), True),
        (NO_LEASE, True),
    ],
)
def test_a_record_that_goes_back_is_a_copy_of_earlier_days(after: Lease, older: bool) -> None:
    assert given_up(HELD, after).older is older
    assert given_up(HELD, after, TERMS.term + 1).older is older


@pytest.mark.parametrize(("passed", "over"), [(0, False), (TERMS.deadline - 1, False), (TERMS.deadline, True)])
def test_a_holder_stops_at_its_deadline(passed: int, over: bool) -> None:
    assert lapsed(Tenure(5, 0, "r1", 1000), 1000 + passed, TERMS) is over


def test_a_holder_stops_long_before_its_lease_is_free_whatever_their_clocks_rates() -> None:
    slowest, fastest = 0.99, 1.01
    assert TERMS.deadline / slowest + TERMS.call / slowest < WAIT / fastest

"""Key sets: rotation without a flag day, followed offline from files, and every way in which a set is not one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.key_set import KeySet, Role, anchor, follow, read_signed, write_key_set, write_signed
from contracts.untrusted import Reason, Untrusted
from tests.trust.signers import DAY_MS, T0, key_id, key_set, public, signed_set

FIRST = key_set(public("ci"))
SECOND = key_set(public("ci"), public("ann"), version=2)
THIRD = key_set(public("ann"), version=3)
ONE, TWO, THREE = signed_set(FIRST, "ci"), signed_set(SECOND, "ci"), signed_set(THIRD, "ci", "ann")


def why(held: KeySet, *documents: bytes) -> Reason:
    with pytest.raises(Untrusted) as refused:
        follow(held, documents)
    return refused.value.reason


def test_a_key_set_reads_back_as_it_was_written() -> None:
    assert anchor(ONE) == FIRST
    assert read_signed(THREE).keys == THIRD


def test_a_node_that_slept_through_two_rotations_follows_both_from_files_in_any_order() -> None:
    assert follow(anchor(ONE), [THREE, TWO]) == THIRD
    assert follow(anchor(ONE), []) == FIRST
    assert follow(FIRST, [ONE, ONE]) == FIRST


def test_an_older_or_other_set_of_the_same_number_is_a_rollback() -> None:
    assert why(THIRD, TWO) is Reason.KEY_SET_REPLAYED
    other = key_set(public("ci"), public("bo"), version=2)
    assert why(SECOND, signed_set(other, "ci")) is Reason.KEY_SET_REPLAYED
    backdated = key_set(public("ci"), version=2, issued=T0)
    assert why(key_set(public("ci"), issued=T0 + 1), signed_set(backdated, "ci")) is Reason.KEY_SET_REPLAYED


def test_a_version_that_is_missing_between_is_named() -> None:
    assert why(FIRST, THREE) is Reason.KEY_SET_GAP
    with pytest.raises(Untrusted, match="give key set 2 too"):
        follow(FIRST, [THREE])


def test_the_next_set_needs_enough_keys_of_this_one() -> None:
    held = key_set(public("ci"), public("ann"), public("bo"), sets=2)
    after = key_set(public("ci"), public("ann"), public("bo"), version=2, sets=2)
    assert why(held, signed_set(after, "ci")) is Reason.BELOW_THRESHOLD
    assert why(held, signed_set(after, "ci", "eve")) is Reason.BELOW_THRESHOLD
    assert follow(held, [signed_set(after, "ci", "bo")]) == after
    taken_over = key_set(public("eve"), public("mallory"), version=2, sets=2)
    assert why(held, signed_set(taken_over, "eve", "mallory")) is Reason.BELOW_THRESHOLD


def test_the_next_set_needs_its_own_keys_too_so_that_nobody_rotates_to_keys_that_nobody_has() -> None:
    assert why(FIRST, signed_set(key_set(public("ann"), version=2), "ci")) is Reason.BELOW_THRESHOLD


def test_a_key_that_signs_bundles_alone_makes_no_next_set() -> None:
    machine, person = public("ci", roles=frozenset({Role.BUNDLES})), public("ann", roles=frozenset({Role.KEYS}))
    held = key_set(machine, person)
    after = key_set(public("ci"), version=2)
    assert why(held, signed_set(after, "ci")) is Reason.BELOW_THRESHOLD
    kept = key_set(machine, person, version=2)
    assert follow(held, [signed_set(kept, "ann")]) == kept


def test_a_key_rotates_only_while_it_is_valid() -> None:
    held = key_set(public("ci", ends=T0 + DAY_MS))
    after = key_set(public("ci", ends=T0 + DAY_MS), public("ann"), version=2, issued=T0 + DAY_MS)
    assert why(held, signed_set(after, "ci", "ann")) is Reason.BELOW_THRESHOLD


def test_a_set_of_another_estate_does_not_follow() -> None:
    assert why(FIRST, signed_set(key_set(public("ci"), version=2, estate="elsewhere"), "ci")) is Reason.WRONG_ESTATE


def test_an_anchor_has_to_be_whole() -> None:
    with pytest.raises(Untrusted) as refused:
        anchor(signed_set(FIRST))
    assert refused.value.reason is Reason.BELOW_THRESHOLD
    wrong = write_signed(FIRST.payload, {key_id("ci"): bytes(64)})
    with pytest.raises(Untrusted) as refused:
        anchor(wrong)
    assert refused.value.reason is Reason.SIGNATURE


@pytest.mark.parametrize("at", range(0, len(ONE), 7))
def test_no_byte_of_a_key_set_changes_unnoticed(at: int) -> None:
    for bit in (1, 32):
        altered = bytearray(ONE)
        altered[at] ^= bit
        with pytest.raises(Untrusted):
            anchor(bytes(altered))


@pytest.mark.parametrize(
    "keys",
    [
        key_set(),
        key_set(public("ci"), bundles=2),
        key_set(public("ci"), bundles=0),
        key_set(public("ci"), version=0),
        key_set(public("ci", ends=T0)),
        key_set(public("ci", roles=frozenset())),
        key_set(public("ci", roles=frozenset({Role.KEYS}))),
        key_set(public("ci"), estate=""),
        key_set(*(public(f"k{n}") for n in range(33))),
    ],
)
def test_a_set_that_no_reader_takes_is_not_written(keys: KeySet) -> None:
    with pytest.raises(ValueError, match=r"."):
        write_key_set(keys)


NAMES = ("ci", "ann", "bo", "eve")
STEP = st.tuples(
    st.sets(st.sampled_from(NAMES), min_size=1), st.integers(1, 3), st.lists(st.sampled_from(NAMES), max_size=5)
)


@given(st.lists(STEP, min_size=1, max_size=5))
def test_a_chain_goes_as_far_as_a_simple_twin_says(steps: list[tuple[set[str], int, list[str]]]) -> None:
    """The twin counts names: enough of those before, and enough of its own."""
    held, members, needed = FIRST, {"ci"}, 1
    for version, (new, asked, by) in enumerate(steps, start=2):
        limit = min(asked, len(new))
        offered = key_set(*map(public, sorted(new)), version=version, sets=limit)
        raw = signed_set(offered, *by)
        if len(members & set(by)) < needed or len(new & set(by)) < limit:
            assert why(held, raw) is Reason.BELOW_THRESHOLD
            return
        held, members, needed = follow(held, [raw]), new, limit
        assert held == offered


@given(st.lists(st.sampled_from(["ci", "ann", "bo"]), min_size=1, max_size=6))
def test_one_key_is_one_signature_however_often_it_signs(by: list[str]) -> None:
    held = key_set(public("ci"), public("ann"), public("bo"), sets=2)
    after = key_set(public("ci"), public("ann"), public("bo"), version=2, sets=2)
    raw = signed_set(after, *by)
    if len(set(by)) >= 2:
        assert follow(held, [raw]) == after
    else:
        assert why(held, raw) is Reason.BELOW_THRESHOLD

"""Whatever bytes arrive, the verifier believes what was signed or says `Untrusted`: no other error, no long wait."""

from __future__ import annotations

import contextlib
import json
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_verify import SEEDS, fuzz_verify, hostile
from contracts.bundle import read_node_bundle
from contracts.dsse import Kind
from contracts.key_set import KeySet, anchor
from contracts.strict_json import MAX_DEPTH, read_json
from contracts.untrusted import Reason, Untrusted
from contracts.verify import NOTHING, Accepted, Expects, Verified, read_accepted, verify, verify_node, write_accepted
from tests.trust.signers import (
    ESTATE,
    NOW,
    PAYLOAD,
    REGION,
    WORKLOAD,
    bundles,
    compiled,
    key_set,
    public,
    signed,
    signed_set,
    statement,
)

KEYS = key_set(public("ci"))
DOCUMENT = signed_set(KEYS, "ci")
(BUNDLE,) = bundles(statement(), "ci")
NODE = signed(compiled(), "ci")[f"nodes/{WORKLOAD}.bundle.json"]
EXPECTS = Expects(ESTATE, REGION, Kind.REGION)


def believed(payload: bytes, bundle: bytes, document: bytes) -> Verified | None:
    try:
        keys = anchor(document)
        return verify(payload, [bundle], keys=keys, expects=EXPECTS, accepted=NOTHING, now=NOW)
    except Untrusted:
        return None


def flipped(data: bytes, at: int, bit: int) -> bytes:
    altered = bytearray(data)
    altered[at % len(data)] ^= 1 << bit
    return bytes(altered)


def test_the_unaltered_is_believed() -> None:
    assert believed(PAYLOAD, BUNDLE, DOCUMENT) is not None


def test_no_single_bit_of_a_bundle_changes_unnoticed() -> None:
    # Two bits of each byte: the lowest, which makes the nearest character, and one that walks through the others.
    altered = [flipped(BUNDLE, at, bit) for at in range(len(BUNDLE)) for bit in (0, 1 + at % 7)]
    assert not any(believed(PAYLOAD, one, DOCUMENT) for one in altered)


def test_no_single_bit_of_a_payload_changes_unnoticed() -> None:
    assert not any(
        believed(flipped(PAYLOAD, at, bit), BUNDLE, DOCUMENT) for at in range(len(PAYLOAD)) for bit in range(8)
    )


def test_no_single_bit_of_a_node_bundle_changes_unnoticed() -> None:
    expects = Expects(ESTATE, REGION, Kind.NODE)
    for at in range(len(NODE)):
        for bit in (0, 5):
            try:
                verify_node(flipped(NODE, at, bit), keys=KEYS, expects=expects, accepted=NOTHING, now=NOW)
            except Untrusted:
                continue
            raise AssertionError(f"bit {bit} of byte {at} changed unnoticed")


@given(at=st.integers(0, len(DOCUMENT) - 1), bit=st.integers(0, 7))
def test_no_single_bit_of_a_key_set_changes_unnoticed(at: int, bit: int) -> None:
    assert believed(PAYLOAD, BUNDLE, flipped(DOCUMENT, at, bit)) is None


@given(st.binary(max_size=300))
@example(b"")
@example(b"\xef\xbb\xbf{}")
@example(b'{"\\ud800":1}')
@example(b"1e999")
@example(b"-0")
@example(b"9" * 5000)
@example(b"[" * 100_000)
@example(b'"' + b"\\" * 99_999)
def test_no_bytes_are_more_than_untrusted(data: bytes) -> None:
    fuzz_verify(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(value=JSON, at=st.integers(0, 20))
@settings(max_examples=30)
def test_no_json_in_any_place_of_a_bundle_is_more_than_untrusted(value: object, at: int) -> None:
    document = json.loads(NODE)
    paths = list(_paths(document))
    *above, last = paths[at % len(paths)]
    inside = document
    for step in above:
        inside = inside[step]
    inside[last] = value
    hostile(json.dumps(document).encode())


def _paths(value: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[tuple[str | int, ...]] = [at] if at else []
    for step, inner in items:
        found += _paths(inner, (*at, step))
    return found


@given(st.integers(0, 2**32 - 1))
def test_no_splice_of_good_bundles_is_believed_but_the_good_ones(seed: int) -> None:
    """Pieces of two good bundles put together: only what one signer wrote whole holds."""
    rng = random.Random(seed)
    (other,) = bundles(statement(version=8), "ci")
    cut, join = rng.randrange(len(BUNDLE)), rng.randrange(len(other))
    spliced = BUNDLE[:cut] + other[join:]
    assert spliced in (BUNDLE, other) or believed(PAYLOAD, spliced, DOCUMENT) is None


@given(st.binary(max_size=200) | st.sampled_from([b"[" * n for n in (MAX_DEPTH, MAX_DEPTH + 1, 50_000)]))
def test_the_strict_reader_raises_value_error_alone(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        read_json(data, limit=100_000)


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        st.tuples(st.integers(1, 2**53 - 1), st.binary(min_size=32, max_size=32)),
        max_size=5,
    ),
    st.integers(0, 100),
)
def test_what_was_accepted_reads_back_as_it_was_written(rows: dict[str, tuple[int, bytes]], version: int) -> None:
    accepted = Accepted({name: (number, digest.hex()) for name, (number, digest) in rows.items()}, version)
    assert read_accepted(write_accepted(accepted)) == accepted


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from([b"{}", b"[]"])), max_size=8))
def test_versions_only_grow_whatever_is_offered(offers: list[tuple[int, bytes]]) -> None:
    """The twin keeps one number and one payload."""
    accepted, version, payload = NOTHING, 0, b""
    for offered, what in offers:
        signer = bundles(statement(what, version=offered), "ci")
        older, other = offered < version, offered == version and what != payload
        if older or other:
            with pytest.raises(Untrusted) as refused:
                verify(what, signer, keys=KEYS, expects=EXPECTS, accepted=accepted, now=NOW)
            assert refused.value.reason is (Reason.REPLAYED if older else Reason.SAME_VERSION_DIFFERS)
        else:
            found = verify(what, signer, keys=KEYS, expects=EXPECTS, accepted=accepted, now=NOW)
            accepted, version, payload = accepted.having(found, KEYS), offered, what


@given(st.permutations(["ci", "ann", "bo"]), st.integers(1, 3), st.integers(1, 3))
def test_the_order_of_bundles_decides_nothing(order: list[str], count: int, needed: int) -> None:
    """A deliberately simple twin: so many distinct known keys, or a refusal."""
    keys: KeySet = key_set(public("ci"), public("ann"), public("bo"), bundles=needed)
    signers = bundles(statement(), *order[:count])
    try:
        found = verify(PAYLOAD, signers, keys=keys, expects=EXPECTS, accepted=NOTHING, now=NOW)
    except Untrusted:
        assert count < needed
    else:
        assert count >= needed
        assert len(found.signers) == count


def test_the_seeds_of_the_fuzzer_reach_a_bundle_that_holds() -> None:
    assert read_node_bundle(SEEDS["node"]).payload
    assert hostile(SEEDS["node"]) == "believed"

"""The node bundle file: payload and signatures in at most 8 KiB, whole or refused."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.bundle import MAX_NODE_BUNDLE, MAX_NODE_PAYLOAD, NodeBundle, read_node_bundle, write_node_bundle
from contracts.canonical import JsonValue, canonical
from contracts.errors import Refused
from tests.bundle.samples import signature


@given(st.binary(max_size=900), st.lists(st.integers(0, 400).map(signature), min_size=1, max_size=8))
def test_what_is_written_reads_back_to_the_byte(payload: bytes, bundles: list[bytes]) -> None:
    raw = write_node_bundle(payload, bundles)
    assert read_node_bundle(raw) == NodeBundle(payload, tuple(bundles))
    assert len(raw) <= MAX_NODE_BUNDLE
    assert raw.isascii()
    assert b"\n" not in raw


def test_the_largest_payload_leaves_room_for_three_signatures() -> None:
    raw = write_node_bundle(b"x" * MAX_NODE_PAYLOAD, [signature(1_290)] * 3)
    assert MAX_NODE_BUNDLE - 200 < len(raw) <= MAX_NODE_BUNDLE


def test_the_limit_is_met_to_the_byte_and_a_byte_more_is_refused_with_its_parts() -> None:
    room = MAX_NODE_BUNDLE - len(write_node_bundle(b"payload", [signature()]))
    assert len(write_node_bundle(b"payload", [signature(room)])) == MAX_NODE_BUNDLE
    with pytest.raises(
        Refused, match=r"8,193 bytes, more than 8,192: the payload takes 12 in base64, 1 signatures take"
    ):
        write_node_bundle(b"payload", [signature(room + 1)])


@pytest.mark.parametrize(
    "bundles", [[], [signature()] * 9, [b"{"], [b'{"a":1.5}'], ['{"a":"\u00e9"}'.encode()], [b'{"a":1,"a":2}']], ids=str
)
def test_signatures_that_cannot_be_carried_are_refused(bundles: list[bytes]) -> None:
    with pytest.raises(Refused):
        write_node_bundle(b"payload", bundles)


GOOD: dict[str, JsonValue] = {"format": 1, "payload": base64.b64encode(b"abcd").decode(), "bundles": [{"a": 1}]}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"null",
        canonical(GOOD) + b"\n",
        json.dumps(GOOD).encode(),
        canonical({**GOOD, "format": 2}),
        canonical({**GOOD, "format": "1"}),
        canonical({**GOOD, "bundles": []}),
        canonical({**GOOD, "bundles": ["text"]}),
        canonical({**GOOD, "bundles": [{}] * 9}),
        canonical({**GOOD, "payload": "YWJjZB=="}),
        canonical({**GOOD, "payload": "YWJjZA"}),
        canonical({**GOOD, "payload": "YWJj ZA=="}),
        canonical({**GOOD, "payload": base64.b64encode(b"x" * (MAX_NODE_PAYLOAD + 3)).decode()}),
        canonical({**GOOD, "more": 1}),
        canonical({**GOOD, "bundles": [{"a": "x" * MAX_NODE_BUNDLE}]}),
        canonical({name: value for name, value in GOOD.items() if name != "payload"}),
    ],
    ids=lambda raw: raw[:40].decode(errors="replace"),
)
def test_what_nobody_wrote_is_no_node_bundle(raw: bytes) -> None:
    with pytest.raises(Refused, match="this is no node bundle"):
        read_node_bundle(raw)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    with pytest.raises(Refused):
        read_node_bundle(raw)

"""Node payloads: what is written reads back, older and newer formats, and nothing else is ever taken for one."""

from __future__ import annotations

import contextlib
import json
import typing
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.inputs import How, Scheduler
from contracts import bundle, model
from contracts.bundle import FORMAT, MAX_NODE_PAYLOAD, NodeDrain, NodePayload, read_node, write_node
from contracts.canonical import JsonValue, canonical
from contracts.errors import Refused
from tests.bundle.samples import ONE, PAYLOADS

RAW = write_node(ONE)


def changed(**fields: JsonValue) -> bytes:
    """A payload with some fields set, or taken away by None."""
    document = {**json.loads(RAW), **fields}
    return canonical({name: value for name, value in document.items() if value is not None})


def below(part: str, **fields: JsonValue) -> bytes:
    return changed(**{part: {**json.loads(RAW)[part], **fields}})


@given(PAYLOADS)
def test_what_is_written_reads_back_equal(payload: NodePayload) -> None:
    assert read_node(write_node(payload)) == payload


@given(PAYLOADS)
def test_the_same_payload_is_the_same_bytes(payload: NodePayload) -> None:
    labels = dict(reversed(list(payload.place.selector.items())))
    assert write_node(replace(payload, place=replace(payload.place, selector=labels))) == write_node(payload)


@given(PAYLOADS, st.data())
def test_no_single_changed_byte_reads_as_the_same_payload(payload: NodePayload, data: st.DataObject) -> None:
    raw = bytearray(write_node(payload))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(Refused):
        assert read_node(bytes(raw)) != payload


@given(st.binary(max_size=200) | st.text(max_size=60).map(str.encode))
def test_bytes_that_nobody_wrote_are_refused_and_never_anything_worse(raw: bytes) -> None:
    with pytest.raises(Refused):
        read_node(raw)


def test_a_payload_holds_every_field_that_this_version_knows() -> None:
    document = json.loads(RAW)
    inner = {f"{name}.{key}" for name, value in document.items() if isinstance(value, dict) for key in value}
    slurm = {"place.partition", "place.account"}
    # no field of a label is a field of ours
    assert {*document, *inner} | slurm == bundle.KNOWN | {"format", "require"}


# ------------------------------------------------------------------------------------------------------------- formats


def test_a_field_that_is_not_known_is_passed_over_wherever_it_stands() -> None:
    assert read_node(changed(colour="blue")) == ONE
    assert read_node(below("drain", patience=3)) == ONE


@pytest.mark.parametrize("name", ["colour", "drain.patience", "unit.vcpu.model", "Drain", ""])
def test_a_required_field_that_is_not_known_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="does not know: update it first"):
        read_node(changed(require=[name], colour="blue"))


def test_a_required_field_that_is_known_has_to_be_there() -> None:
    assert read_node(write_node(ONE, require=["drain.how", "drain"])) == ONE
    with pytest.raises(Refused, match=r"requires place\.partition and lacks it"):
        read_node(changed(require=["place.partition"]))
    with pytest.raises(Refused):
        read_node(changed(require=[1]))
    with pytest.raises(Refused):
        read_node(changed(require="drain"))


def test_a_newer_format_is_refused_and_says_what_helps() -> None:
    with pytest.raises(Refused, match=f"format {FORMAT + 1}, and this version reads up to {FORMAT}: it needs a newer"):
        read_node(changed(format=FORMAT + 1))


def of_minutes(document: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """From a format of these tests, in which the notice window was called `notice` and counted minutes."""
    minutes = document["notice"]
    assert isinstance(minutes, int)
    return {**document, "noticeWindow": minutes * 60}


def test_the_format_before_is_read_through_its_converter_and_the_one_before_that_is_not() -> None:
    older = changed(format=FORMAT - 1, noticeWindow=None, notice=2)
    assert read_node(older, converters={FORMAT - 1: of_minutes}) == ONE
    with pytest.raises(Refused, match="compile it again"):
        read_node(older)
    oldest = changed(format=FORMAT - 2, noticeWindow=None, notice=2)
    with pytest.raises(Refused, match="compile it again"):
        read_node(oldest, converters={FORMAT - 2: of_minutes, FORMAT - 1: of_minutes})


# ----------------------------------------------------------------------------------------------------------- strictness


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        RAW + b"\n",
        b" " + RAW,
        RAW.replace(b'"gang":1', b'"gang":1.0'),
        RAW.replace(b'"gang":1', b'"gang":1,"gang":2'),
        RAW.replace(b"maps", b"\\u006daps", 1),
        RAW.replace(b'"format":1', b'"format":true'),
        RAW.replace(b'"format":1', b'"format":9007199254740993'),
        changed(deep=json.loads("[" * 20 + "]" * 20)),
        changed(padding="x" * MAX_NODE_PAYLOAD),
        changed(format=None),
        changed(contract="0A" * 32),
        changed(contract="0a" * 31),
        changed(tier="platinum"),
        changed(gang=0),
        changed(noticeWindow=-1),
        changed(noticeWindow=True),
        changed(workload=""),
        changed(workload="a\nb"),
        changed(unit=[]),
        below("unit", vcpu=0),
        below("place", scheduler="nomad"),
        below("place", selector=None),
        below("place", selector={"a": 1}),
        below("place", scheduler="slurm"),
        below("drain", how="ask"),
        below("drain", command=[]),
        below("drain", command=[1]),
        below("drain", command=["x" * 201]),
        below("checkpoint", interval="900"),
        below("checkpoint", mode="daily"),
    ],
    ids=lambda raw: raw[:24].decode(errors="replace"),
)
def test_what_no_compiler_wrote_is_refused(raw: bytes) -> None:
    with pytest.raises(Refused, match="this is no node payload"):
        read_node(raw)


@pytest.mark.parametrize("name", sorted(set(json.loads(RAW)) - {"require"}))
def test_a_payload_without_a_field_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="this is no node payload"):
        read_node(changed(**{name: None}))


def test_a_payload_that_is_too_large_is_not_written() -> None:
    long = replace(ONE, drain=NodeDrain(60, "command", tuple("x" * 200 for _ in range(16))))
    with pytest.raises(Refused, match=r"nightly-features has 3,\d{3} bytes, more than 3,072"):
        write_node(long)


def _choices(annotation: object) -> tuple[str, ...]:
    return typing.get_args(annotation)


def test_the_words_of_a_payload_are_those_of_contracts_and_of_the_drain() -> None:
    assert _choices(typing.get_type_hints(model.Drain)["how"]) == bundle.HOW
    assert tuple(how.value for how in How) == bundle.HOW
    assert _choices(typing.get_type_hints(model.Checkpoint)["mode"]) == bundle.CHECKPOINTS
    assert _choices(model.Restart) == bundle.RESTARTS
    assert tuple(tier.value for tier in model.Tier) == bundle.TIERS
    assert set(bundle.SCHEDULERS) == {one.value for one in Scheduler} - {"none"}

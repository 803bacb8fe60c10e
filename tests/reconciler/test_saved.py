"""The journal's text: anything comes back as it was, and what no writer of ours left is refused with what to do."""

from __future__ import annotations

import base64
import dataclasses
import enum
import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from types import NoneType
from typing import get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import Refused
from ledger.events import Event
from pools.interruption import Outlook
from reconciler.cycle import Memory
from reconciler.fleet import Fleet, Instance
from reconciler.lessons import Past, Sums, learnt_of, lessons_of
from reconciler.saved import FORMAT, Saved, Writer, decode, encode
from tests.reconciler.builders import Region, fleet, instance

LEFT_OUT = {(Memory, "placement")}


# -- anything ---------------------------------------------------------------------------------------------------------


def anything(type_: object) -> st.SearchStrategy[object]:
    """Values of a declared type, built from nothing but its declaration."""
    plain: dict[object, st.SearchStrategy[object]] = {
        str: st.text(max_size=6),
        int: st.integers(),
        bool: st.booleans(),
        float: st.floats(allow_nan=False),
        Decimal: st.decimals(allow_nan=False, allow_infinity=False),
        NoneType: st.none(),
    }
    if type_ in plain:
        return plain[type_]
    if type_ is Event:
        return st.sampled_from(Region().settled(6).recorder.events)
    if isinstance(type_, type) and issubclass(type_, enum.Enum):
        return st.sampled_from(list(type_))
    if isinstance(type_, type) and is_dataclass(type_):
        hints = get_type_hints(type_)
        held = {f.name: anything(hints[f.name]) for f in fields(type_) if (type_, f.name) not in LEFT_OUT}
        return st.builds(type_, **held)
    origin, inner = get_origin(type_), get_args(type_)
    if origin is tuple and inner[1:] == (...,):
        return st.lists(anything(inner[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(anything(one) for one in inner))
    if origin is frozenset:
        return st.frozensets(anything(inner[0]), max_size=2)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return st.dictionaries(anything(inner[0]), anything(inner[1]), max_size=2)
    return st.one_of([anything(one) for one in inner])


def named(saved: Saved) -> Saved:
    """The same with each instance under its own name, as a fleet keeps them."""
    fleet_ = saved.memory.fleet
    instances = {one.name: one for one in fleet_.instances.values()}
    return replace(saved, memory=replace(saved.memory, fleet=replace(fleet_, instances=instances)))


@settings(max_examples=25, deadline=None)
@given(anything(Saved))
def test_whatever_is_saved_comes_back_and_has_one_text(saved: Saved) -> None:
    saved = named(saved)
    content = encode(saved)
    again = decode(content)
    assert again == saved
    assert list(again.memory.fleet.instances) == list(saved.memory.fleet.instances)
    assert encode(again) == content


@settings(max_examples=15, deadline=None)
@given(st.lists(anything(Saved), min_size=2, max_size=4))
def test_what_was_written_before_changes_nothing(entries: list[Saved]) -> None:
    writer = Writer()
    for entry in map(named, entries):
        assert writer.encode(entry) == encode(entry)


def test_a_writer_notices_an_instance_that_changed() -> None:
    writer = Writer()
    one = Saved(memory=Memory(fleet=fleet(instance(1), instance(2))))
    writer.encode(one)
    two = Saved(memory=Memory(fleet=fleet(instance(1), instance(2, busy_units=0))))
    assert decode(writer.encode(two)) == two


def test_everything_that_a_memory_holds_is_kept_but_the_last_placement() -> None:
    region = Region().settled(12, 6)
    assert region.journal.content is not None
    saved = decode(region.journal.content)
    memory = region.reconciler.memory
    assert memory.placement is not None
    assert saved.memory == replace(memory, placement=None)
    for field in fields(Memory):
        if field.name != "placement":
            assert getattr(saved.memory, field.name) == getattr(memory, field.name), field.name


def test_a_field_that_older_text_lacks_has_its_default() -> None:
    content = encode(Saved(memory=Memory(fleet=fleet(instance(1, reclaim="")))))
    assert b'"reclaim":' not in content
    assert decode(content).memory.fleet.instances[instance(1).name].reclaim == ""


# -- what was learnt --------------------------------------------------------------------------------------------------


def test_an_appraiser_goes_on_where_it_was() -> None:
    region = Region().settled(12)
    learnt = region.reconciler.appraiser.learnt
    again = learnt_of(lessons_of(learnt), region.reconciler.memory.fleet, Outlook())
    assert learnt.history is not None
    assert again.history is not None
    for one, other in zip(learnt.history.evidence, again.history.evidence, strict=True):
        assert one.exposure.tolist() == other.exposure.tolist()
        assert one.group_squares.tolist() == other.group_squares.tolist()
    assert (again.excluded, again.ahead, again.told_rates) == (learnt.excluded, learnt.ahead, learnt.told_rates)
    assert again.nodes == learnt.nodes


def test_a_history_kept_under_other_memories_is_none() -> None:
    region = Region().settled(6)
    lessons = lessons_of(region.reconciler.appraiser.learnt)
    assert learnt_of(lessons, Fleet(), Outlook(memories_h=(100.0,), strength=())).history is None


@pytest.mark.parametrize("text", ["*", base64.b64encode(b"1234567").decode(), base64.b64encode(b"12345678").decode()])
def test_a_history_that_does_not_fit_its_names_is_refused(text: str) -> None:
    sums = Sums(text, text, text, text, 0.0)
    past = Past(("a", "b"), (), Outlook().memories_h, (sums,) * 4, 0, 0)
    lessons = replace(lessons_of(Region().reconciler.appraiser.learnt), past=past)
    with pytest.raises(Refused, match="interruption history"):
        learnt_of(lessons, Fleet(), Outlook())


# -- what is refused --------------------------------------------------------------------------------------------------


def kept() -> bytes:
    content = Region().settled(6).journal.content
    assert content is not None
    return content


@pytest.mark.parametrize("length", [0, 1, 20, 90, 2000, -1])
def test_a_torn_journal_is_refused_and_never_an_empty_disk(length: int) -> None:
    with pytest.raises(Refused, match=r"docs/state\.md"):
        decode(kept()[:length])


def test_any_flipped_bit_is_told() -> None:
    content = kept()
    for at in range(0, len(content), 97):
        damaged = content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]
        with pytest.raises(Refused):
            decode(damaged)


def test_another_version_is_refused_with_both_numbers() -> None:
    content = kept().replace(f"{FORMAT} 1 ".encode(), f"{FORMAT} 2 ".encode(), 1)
    with pytest.raises(Refused, match="version b'2', this release reads 1"):
        decode(content)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"cursor":', '"cursr":'),
        ('"phase":"serving"', '"phase":"resting"'),
        ('"units":1', '"units":"1"'),
        ('"units":1', '"units":true'),
        ('"instances":[', '"instances":[[],'),
    ],
)
def test_text_with_its_checksum_that_says_what_nothing_of_ours_says_is_refused(old: str, new: str) -> None:
    content = encode(decode(kept()))
    body = content.partition(b"\n")[2]
    assert old.encode() in body
    with pytest.raises(Refused, match="cannot be read"):
        decode(sealed(body.replace(old.encode(), new.encode(), 1)))


def test_two_instances_of_one_name_are_refused() -> None:
    body = encode(Saved(memory=Memory(fleet=fleet(instance(1), instance(2))))).partition(b"\n")[2]
    doubled = body.replace(instance(2).name.encode(), instance(1).name.encode())
    with pytest.raises(Refused, match="one name"):
        decode(sealed(doubled))


def sealed(body: bytes) -> bytes:
    """Bytes under a checksum that fits them."""
    return f"{FORMAT} 1 {hashlib.sha256(body).hexdigest()}\n".encode() + body


def test_every_field_of_an_instance_has_a_form() -> None:
    full = instance(7)
    changed = {f.name: getattr(full, f.name) for f in dataclasses.fields(Instance)}
    assert decode(encode(Saved(memory=Memory(fleet=fleet(Instance(**changed)))))).memory.fleet == fleet(full)

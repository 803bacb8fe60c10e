"""Canonical JSON: RFC 8785's own examples as far as they have no fractions, and the laws that signing rests on."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.canonical import MAX_INTEGER, JsonValue, canonical
from contracts.strict_json import read_json

TEXT = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_written_reads_back_equal_and_is_written_the_same_again(value: JsonValue) -> None:
    raw = canonical(value)
    read = read_json(raw, limit=1 << 20)
    assert read == value
    assert canonical(read) == raw


@given(st.dictionaries(TEXT, st.integers(0, 9), max_size=6), st.randoms(use_true_random=False))
def test_the_order_in_which_keys_were_given_does_not_show(fields: dict[str, int], random: object) -> None:
    names = list(fields)
    random.shuffle(names)  # type: ignore[attr-defined]  # hypothesis hands out a Random
    assert canonical({name: fields[name] for name in names}) == canonical(fields)


def test_the_keys_of_rfc_8785_stand_in_its_order() -> None:
    """Section 3.2.3: by UTF-16 code units, so that the emoji (U+1F600, surrogates from D83D) stands before U+FB33."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    raw = canonical(dict.fromkeys(keys, 0))
    assert list(json.loads(raw)) == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert sorted(keys)[-2:] == ["\ufb33", "\U0001f600"]  # code points would turn the two round


def test_the_text_of_rfc_8785_is_escaped_as_it_says() -> None:
    """Section 3.2.2.2, its example string: only what has to be escaped is, and in the short form where there is one."""
    text = '\u20ac$\u000f\nA\'B"\\\\"/'
    assert canonical(text) == b'"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'
    assert canonical({"literals": [None, True, False]}) == b'{"literals":[null,true,false]}'


def test_a_canonical_text_holds_no_space_between_its_parts() -> None:
    assert canonical({"b": [1, 2, {"d": "x y"}], "a": -0}) == b'{"a":0,"b":[1,2,{"d":"x y"}]}'


@pytest.mark.parametrize(
    "value",
    [1.0, 0.5, float("nan"), MAX_INTEGER + 1, -MAX_INTEGER - 1, "\ud800", {"\ud800": 1}, {1: 2}, b"x", object()],
    ids=lambda value: type(value).__name__,
)
def test_what_readers_would_disagree_about_has_no_canonical_form(value: JsonValue) -> None:
    with pytest.raises(ValueError, match=r"."):
        canonical({"inside": [value]})


@pytest.mark.parametrize("number", [0, 1, -1, 2**53 - 1, 1 - 2**53, 10**15])
def test_whole_numbers_are_plain_digits(number: int) -> None:
    assert canonical(number) == str(number).encode()


def test_a_value_has_the_same_bytes_in_a_process_with_other_hashes_and_another_locale() -> None:
    program = (
        "import sys; from contracts.canonical import canonical\n"
        "sys.stdout.buffer.write(canonical({k: {k: 1} for k in {'\\u00e9', 'a', '\\U0001f600', 'B'}}))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed, locale in (("0", "C"), ("1", "C.UTF-8"), ("77", "POSIX"))
    }
    assert len(seen) == 1

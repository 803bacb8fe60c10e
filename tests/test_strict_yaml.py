"""Strict YAML: what passes unchanged, and one clear finding for everything else."""

from __future__ import annotations

import json
import re
import tracemalloc

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contracts.errors import Place
from repo_layout.codes import RULES, joined
from repo_layout.plain_scalars import Ambiguous, resolve
from repo_layout.strict_yaml import MAX_DEPTH, MAX_NODES, Parsed, parse

FILE = "contracts/web/front.yaml"


def read(text: str | bytes) -> Parsed:
    return parse(FILE, text if isinstance(text, bytes) else text.encode())


def found(text: str | bytes) -> list[tuple[str, int, int]]:
    return [(finding.code, finding.place.line, finding.place.column) for finding in read(text).findings]


def test_every_value_that_readers_would_change_is_refused_in_one_run() -> None:
    text = "budget: 1:30\nunits: 010\nport: 08\nfloor: 1_000\ndeadline: 22:22\non: 5\nyes: x\n"
    parsed = read(text)
    assert parsed.data is None
    assert [(f.place, f.seen) for f in parsed.findings] == [
        (Place(FILE, 1, 9), "1:30"),
        (Place(FILE, 2, 8), "010"),
        (Place(FILE, 3, 7), "08"),
        (Place(FILE, 4, 8), "1_000"),
        (Place(FILE, 5, 11), "22:22"),
        (Place(FILE, 6, 1), "on"),
        (Place(FILE, 7, 1), "yes"),
    ]
    assert all(f.expected and f.seen in f.message and f.code == "EBT-116" for f in parsed.findings)


def test_the_proper_and_the_quoted_forms_pass() -> None:
    text = 'budget: 90s\nunits: 8\nport: "08"\nfloor: 1000\ndeadline: "22:22 Europe/Berlin"\n"on": 5\n\'yes\': x\n'
    assert read(text).data == {
        "budget": "90s",
        "units": 8,
        "port": "08",
        "floor": 1000,
        "deadline": "22:22 Europe/Berlin",
        "on": 5,
        "yes": "x",
    }


WRITTEN = """
yes Yes YES no No NO on On ON off Off OFF y Y n N True TRUE False FALSE
0x10 0X1f 0o7 0b11 012 08 00 -012 1_000 1_0.5 1:30 22:22 190:20:30 -1:30
1e3 1E3 1.5e3 -1e-3 1e+3 .inf -.inf +.Inf .nan .NaN +5 +5.0 -0 .5 5. 012.5 = 12e4567
1234567890123456 0.1234567890123456
"""
AMBIGUOUS = WRITTEN.split()


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_an_ambiguous_plain_scalar_is_refused_as_value_item_and_key(text: str) -> None:
    assert found(f"a: {text}\n") == [("EBT-116", 1, 4)]
    assert found(f"a: [{text}]\n") == [("EBT-116", 1, 5)]
    assert found(f"{text}: 1\n") == [("EBT-116", 1, 1)]


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_an_ambiguous_scalar_in_quotes_is_text(text: str) -> None:
    assert read(f"a: \"{text}\"\nb: '{text}'\n'{text}x': |\n  {text}\n").data == {
        "a": text,
        "b": text,
        f"{text}x": f"{text}\n",
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-7", -7),
        ("123456789012345", 123456789012345),
        ("0.25", 0.25),
        ("-1.50", -1.5),
        ("2026-10-25", "2026-10-25"),
        ("1.2.3", "1.2.3"),
        ("1.4GiB", "1.4GiB"),
        ("12.50 EUR", "12.50 EUR"),
        ("15%", "15%"),
        ("ebbtide/v1", "ebbtide/v1"),
        ("yes please", "yes please"),
        ("nob", "nob"),
    ],
)
def test_a_clear_plain_scalar_passes(text: str, value: object) -> None:
    data = read(f"a: {text}\n").data
    assert data == {"a": value}
    assert isinstance(data, dict)
    assert type(data["a"]) is type(value)


@pytest.mark.parametrize("text", ["a: null\n", "a: ~\n", "a: Null\n", "a:\n", "a: [1, ~]\n", "a:\n  -\n", "a: {b}\n"])
def test_nothing_is_no_value(text: str) -> None:
    assert [code for code, _, _ in found(text)] == ["EBT-117"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"\xef\xbb\xbfa: 1\n", ("EBT-103", 1, 1)),
        ("a: 1\n".encode("utf-16"), ("EBT-103", 1, 1)),
        (b"a: 1\nb: caf\xe9\n", ("EBT-102", 2, 7)),
        (b"\x7fELF\x02\x01\x00\x00", ("EBT-106", 1, 1)),
        (b"a: x\x00y\n", ("EBT-106", 1, 5)),
        (b"a: \x1b[31m\n", ("EBT-106", 1, 4)),
        (b"a: 1\nb: 2\r\n", ("EBT-104", 2, 5)),
        (b"a: 1\rb: 2\n", ("EBT-104", 1, 5)),
        ("a:\n  b:\n\t  c: 1\n", ("EBT-105", 3, 1)),
        ("a:\n  \tb: 1\n", ("EBT-105", 2, 3)),
        ("a: x\u200by\n", ("EBT-106", 1, 5)),
        ("a: 1 # \u202e hidden\n", ("EBT-106", 1, 8)),
        ("a:\u00a01\n", ("EBT-106", 1, 3)),
        ("a: b\u2028c: d\n", ("EBT-106", 1, 5)),
        ("a: b\u0085c: d\n", ("EBT-106", 1, 5)),
        ("", ("EBT-108", 0, 0)),
        ("# only a comment\n", ("EBT-108", 0, 0)),
        ("a: 1\n---\nb: 2\n", ("EBT-108", 2, 1)),
        ("- a\n- b\n", ("EBT-108", 1, 1)),
        ("just text\n", ("EBT-108", 1, 1)),
        ("a: 1\n5: 2\n", ("EBT-111", 2, 1)),
        ("true: 1\n", ("EBT-111", 1, 1)),
        ("? [a, b]\n: 1\n", ("EBT-111", 1, 3)),
        ("a: 1\nb: 2\n'a': 3\n", ("EBT-112", 3, 1)),
        ("a: {b: 1, b: 1}\n", ("EBT-112", 1, 11)),
        ("a: &x 1\n", ("EBT-113", 1, 4)),
        ("a: &x 1\nb: *x\n", ("EBT-113", 2, 4)),
        ("a: *nowhere\n", ("EBT-113", 1, 4)),
        ("<<: {a: 1}\n", ("EBT-114", 1, 1)),
        ("a: !!str 1\n", ("EBT-115", 1, 4)),
        ("a: !!python/object/apply:os.system [ls]\n", ("EBT-115", 1, 4)),
        ("a: ! 1\n", ("EBT-115", 1, 4)),
        ("%YAML 1.1\n---\na: 1\n", ("EBT-115", 1, 1)),
        ("a: [1, 2\n", ("EBT-107", 2, 1)),
        ("a: 'x\n", ("EBT-107", 2, 1)),
        ("a: b: c\n", ("EBT-107", 1, 5)),
        ('a: "\\ud800"\n', ("EBT-107", 1, 7)),
        ("a: @x\n", ("EBT-107", 1, 4)),
    ],
)
def test_a_bad_file_gives_one_finding_at_its_place(text: str | bytes, expected: tuple[str, int, int]) -> None:
    assert found(text) == [expected]
    assert read(text).data is None


@pytest.mark.parametrize("text", ["[" * 60_000, "{a: " * 15_000, "a: " + "[" * 500, "? " * 30_000 + "a"])
def test_deep_nesting_is_one_finding(text: str) -> None:
    codes = [code for code, _, _ in found(text)]
    assert codes in (["EBT-109"], ["EBT-111"])


def test_the_deepest_allowed_nesting_passes() -> None:
    inner = MAX_DEPTH - 1
    assert read("a: " + "[" * inner + "1" + "]" * inner).data is not None
    assert [code for code, _, _ in found("a: " + "[" * (inner + 1) + "1" + "]" * (inner + 1))] == ["EBT-109"]


def test_a_million_keys_and_ten_megabytes_are_one_finding_without_parsing() -> None:
    for content in (b"".join(b"k%d: 1\n" % n for n in range(1_000_000)), b"a" * 10_000_000):
        tracemalloc.start()
        findings = read(content).findings
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert [finding.code for finding in findings] == ["EBT-101"]
        assert str(len(content)) in findings[0].message
        assert peak < 100_000


def test_more_keys_than_a_person_reviews_are_one_finding() -> None:
    lines = "".join(f"k{n}: 1\n" for n in range(MAX_NODES + 500))
    assert found(lines) == [("EBT-110", MAX_NODES + 1, 1)]


MERGES = "L0: &L0 {k: v}\n" + "".join(f"L{i}: &L{i}\n  <<: [*L{i - 1}, *L{i - 1}]\n" for i in range(1, 41))
LISTS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))


@pytest.mark.parametrize(("text", "line", "column"), [(MERGES, 3, 8), (LISTS, 2, 10)])
def test_aliases_that_double_are_refused_before_they_expand(text: str, line: int, column: int) -> None:
    tracemalloc.start()
    places = found(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ("EBT-113", line, column) in places
    assert len(places) <= 2
    assert peak < 1_000_000


def test_places_name_values_and_keys() -> None:
    parsed = read("a:\n  b: [x, 22]\n  c:\n    - d: y\n")
    assert parsed.places[()] == Place(FILE, 1, 1)
    assert parsed.places["a", "b", 1] == Place(FILE, 2, 10)
    assert parsed.places["a", "c", 0, "d"] == Place(FILE, 4, 10)
    assert parsed.key_places["a", "c"] == Place(FILE, 3, 3)
    assert parsed.places["a",] == Place(FILE, 2, 3)


def test_findings_of_both_layers_come_together() -> None:
    assert found(b"a: no\r\nb: 010\r\n") == [("EBT-116", 1, 4), ("EBT-104", 1, 6), ("EBT-116", 2, 4)]


def test_every_code_is_in_the_table_once() -> None:
    assert list(RULES) == sorted(RULES)
    with pytest.raises(ValueError, match="EBT-101"):
        joined({"EBT-101": "a"}, {"EBT-101": "b"})


def judged(content: bytes) -> None:
    parsed = parse("f.yaml", content)
    assert (parsed.data is None) == bool(parsed.findings)
    assert all(finding.code in RULES and finding.message for finding in parsed.findings)
    assert len(parsed.findings) <= MAX_NODES + 10
    if parsed.data is not None:
        assert json.loads(json.dumps(parsed.data, allow_nan=False)) == parsed.data


@given(st.binary(max_size=300))
@example(b"")
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_document_or_findings(content: bytes) -> None:
    judged(content)


SIGNS = "a b on 1 0x1 1.5 ~ null : - ? , [ ] { } & * &a *a ! !!int | > |- ' \" # % %YAML @ ` \\ << = --- ..."
SPACES = [" ", "  ", "\n", "\n  ", "\n    ", ": ", "- ", "\t", "\r\n", "\u00e9", "\u2028", "\ufeff", '"\\x41"', "key: "]
TOKENS = st.sampled_from([*SIGNS.split(), *SPACES])


@given(st.lists(TOKENS, max_size=40).map("".join))
@settings(max_examples=600, deadline=None)
def test_any_mixture_of_yaml_signs_is_a_document_or_findings(text: str) -> None:
    judged(text.encode())


CORE = re.compile(  # what the core schema of YAML 1.2 gives a type (its section 10.3.2)
    r"null|Null|NULL|~|true|True|TRUE|false|False|FALSE|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
TAGS = {bool: "bool", int: "int", float: "float", str: "str"}


@given(st.text("001123456789..eE+-__:xobTZinfaNyYsr~=<", min_size=1, max_size=7) | st.sampled_from(AMBIGUOUS))
@settings(max_examples=1500, deadline=None)
def test_text_that_passes_has_the_type_that_both_versions_of_yaml_give_it(text: str) -> None:
    value = resolve(text)
    if isinstance(value, Ambiguous):
        return
    resolver = yaml.SafeLoader("")
    yaml_1_1 = resolver.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]  # PyYAML's stubs
    assert yaml_1_1 == f"tag:yaml.org,2002:{TAGS[type(value)]}"
    assert (CORE.fullmatch(text) is None) == isinstance(value, str)


SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(10**15) + 1, 10**15 - 1),
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], include_characters=" \n"), max_size=12),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc_-xyz", max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abcnoy", min_size=1, max_size=6), TREES, max_size=5))
@settings(max_examples=200, deadline=None)
def test_a_json_document_reads_back_as_itself(data: dict[str, object]) -> None:
    parsed = read(json.dumps(data, ensure_ascii=False))
    assert parsed.findings == ()
    assert parsed.data == data

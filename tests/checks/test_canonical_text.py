"""The formatter: one layout, nothing of the meaning changed, no comment lost, and the same again when run again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.fields import read_document
from repo_layout.canonical_text import formatted
from repo_layout.layout import Kind
from repo_layout.load import MODELS
from repo_layout.plain_text import text_of
from repo_layout.strict_yaml import parse
from repo_layout.written import written
from tests.checks.documents import WHOLE
from tests.checks.estates import MINIMAL, ROOT

ESTATE = ROOT / "repo_layout" / "estate"


def layout(text: str) -> str:
    result = formatted("contracts/tides/forecast.yaml", text.encode())
    assert result.text is not None, result.findings
    assert formatted("again.yaml", result.text.encode()).text == result.text
    return result.text


HEAD = "apiVersion: ebbtide/v1\nkind: Contract\n"


def fields(text: str) -> str:
    """The layout of a contract that holds these fields, without the two first lines."""
    return layout(HEAD + text).removeprefix(HEAD)


@pytest.mark.parametrize("folder", [ESTATE, MINIMAL], ids=lambda folder: folder.name)
def test_the_estates_that_come_with_ebbtide_are_laid_out_already(folder: Path) -> None:
    for path in sorted(folder.rglob("*.yaml")):
        assert layout(path.read_text(encoding="utf-8")) == path.read_text(encoding="utf-8"), path


def test_fields_stand_in_the_order_of_the_format_at_every_level() -> None:
    text = "maximum: 4\nunit: {memory: 1GiB, vcpu: 2}\nkind: Contract\nname: a\napiVersion: ebbtide/v1\n"
    assert layout(text) == HEAD + "name: a\nunit: {vcpu: 2, memory: 1GiB}\nmaximum: 4\n"


def test_labels_and_unknown_fields_keep_their_own_order() -> None:
    text = "flor: 3\nname: a\nrunsOn: {kubernetes: {selector: {z: a, b: c}}}\n"
    assert fields(text) == "name: a\nrunsOn: {kubernetes: {selector: {z: a, b: c}}}\nflor: 3\n"


@pytest.mark.parametrize(
    ("written_as", "stands_as"),
    [
        ("expectedRun: 90m", "expectedRun: 1h30m"),
        ("expectedRun: 5400s", "expectedRun: 1h30m"),
        ("expectedRun: 120s", "expectedRun: 120s"),
        ("expectedRun: '2m'", "expectedRun: 2m"),
        ("unit: {memory: 16384MiB}", "unit: {memory: 16GiB}"),
        ("unit: {memory: 1.50GiB}", "unit: {memory: 1.5GiB}"),
        ("unit: {memory: 512m}", "unit: {memory: 512m}"),
        ("fallback: {limitPerDay: 20 EUR}", 'fallback: {limitPerDay: "20.00 EUR"}'),
        ("fallback: {limitPerDay: '0.0500 EUR'}", 'fallback: {limitPerDay: "0.05 EUR"}'),
        ("deadline: {at: 05:30 Europe/Oslo}", 'deadline: {at: "05:30 Europe/Oslo"}'),
        ("tolerance: 0.10", "tolerance: 0.10"),
        ('tolerance: "0.10"', 'tolerance: "0.10"'),
        ("reason: 'yes'", 'reason: "yes"'),
        ("reason: 'it''s'", "reason: it's"),
        ('reason: "a: b"', 'reason: "a: b"'),
        ("reason: 'a, [b]'", "reason: a, [b]"),
        ("eligibility: {avoidHalls: ['a, b']}", 'eligibility: {avoidHalls: ["a, b"]}'),
        ("deadline: {}", "deadline: {}"),
        ("eligibility: {avoidHalls: []}", "eligibility: {avoidHalls: []}"),
    ],
)
def test_a_value_is_written_as_people_write_it(written_as: str, stands_as: str) -> None:
    assert fields(written_as + "\n") == stands_as + "\n"


def test_a_short_mapping_takes_one_line_and_a_long_one_a_line_for_each_field() -> None:
    text = (
        "unit:\n    vcpu: 2\n    memory: 1GiB\ncheckpoint: {mode: none, bucket: "
        + "b" * 60
        + ", key: "
        + "k" * 60
        + "}\n"
    )
    assert fields(text) == (
        "unit: {vcpu: 2, memory: 1GiB}\n"
        "checkpoint:\n  mode: none\n  bucket: " + "b" * 60 + "\n  key: " + "k" * 60 + "\n"
    )


def test_a_table_stays_a_table_and_blocks_stay_blocks() -> None:
    head = "apiVersion: ebbtide/v1\nkind: Pools\nrows:\n"
    table = head + "  - {name: a, flavor: f}\n  - {name: b, flavor: f}\n"
    blocks = head + "  - name: a\n    flavor: f\n  - name: b\n    flavor: f\n"
    assert layout(table) == table
    assert layout(blocks) == blocks
    assert layout(head + "- {flavor: f, name: a}\n-   name: b\n    flavor: f\n") == table


def test_a_long_text_is_folded_and_lines_stay_lines() -> None:
    long = " ".join(["word"] * 40)
    assert fields(f"reason: {long}\n").startswith("reason: >-\n  word word")
    assert fields("reason: |\n   one\n   two\n\n   three\n") == "reason: |\n  one\n  two\n\n  three\n"
    assert fields('reason: " one\\ntwo "\n') == 'reason: " one\\ntwo "\n'
    script = "reason: |\n  #!/bin/sh\n  if a; then\n    b   # c\n  fi  \n"
    assert fields(script) == script


def test_a_number_behind_a_key_of_a_whole_line_stays_a_number() -> None:
    long = "k" * 140
    assert fields(f"{long}: 4\n") == f"{long}: 4\n"


@pytest.mark.parametrize(
    ("text", "stands_as"),
    [
        ('x:\n  - name: "a\n     b"  # c\n', "x:\n  - name: a b  # c\n"),
        ("reason: |-\n  a\n  b\n\n\nx: 1\n", "reason: |-\n  a\n  b\n\nx: 1\n"),
        ("x:\n\n\n  z\n", "\nx: z\n"),
        ("k" * 140 + ": [ ]\n", "k" * 140 + ": []\n"),
        ('x: "a\\x07"\n', 'x: "a\\U00000007"\n'),
    ],
)
def test_what_the_fuzzer_found_stays_mended(text: str, stands_as: str) -> None:
    assert fields(text) == stands_as
    assert layout("{}  # c\n") == "# c\n{}\n"


def test_comments_stay_where_they_stand() -> None:
    text = """\
# licence of this file

# who asks
apiVersion: ebbtide/v1
kind: Contract   # always

# the size, as measured in May
unit: {vcpu: 4, memory: 16GiB}  # measured


name: forecast
runsOn:
    kubernetes:
        cluster: north  # the old one
        # goes in June
    # no slurm
eligibility:
    avoidHalls: [h1,  # loud
      h2]
# the end
"""
    assert (
        layout(text)
        == """\
# licence of this file

# who asks
apiVersion: ebbtide/v1
kind: Contract  # always

name: forecast
runsOn:
  kubernetes:
    cluster: north  # the old one
    # goes in June
  # no slurm

# the size, as measured in May
unit: {vcpu: 4, memory: 16GiB}  # measured
eligibility:
  avoidHalls:
    - h1  # loud
    - h2
# the end
"""
    )


def test_a_sign_inside_a_text_is_no_comment() -> None:
    text = "reason: 'a # b'\nname: a#b  # c\nrestart: |  # d\n  # e\n"
    assert fields(text) == 'name: a#b  # c\nrestart: |  # d\n  # e\nreason: "a # b"\n'


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "a: [\n", "", "a: 010\n", "- a\n", "a: &x 1\nb: *x\n"])
def test_a_file_that_cannot_be_read_is_left_alone_with_its_findings(text: str) -> None:
    result = formatted("a.yaml", text.encode())
    assert result.text is None
    assert result.findings


# ----------------------------------------------------------------------------------------------------------- properties


def _spelt(value: object, draw: random.Random, indent: int, *, flow: bool) -> str:
    """Some YAML of a document: keys in any order, block or flow, quoted this or that way, with comments."""
    gap = "\n" + " " * indent
    note = draw.choice(["", "", "", f"  # note {draw.randrange(99)}"])
    if isinstance(value, dict) and value:
        pairs = draw.sample(sorted(value.items()), len(value))
        if flow or draw.random() < 0.5:
            inner = ", ".join(f"{k}: {_spelt(v, draw, 0, flow=True)}" for k, v in pairs)
            return f"{{{inner}}}" + ("" if flow else note)
        above = draw.choice(["", "", f"# lead {draw.randrange(99)}{gap}"])
        lines = (f"{k}:" + _opened(_spelt(v, draw, indent + 3, flow=False), v, indent + 3) for k, v in pairs)
        return above + gap.join(lines)
    if isinstance(value, list) and value:
        if flow or draw.random() < 0.5:
            return f"[{', '.join(_spelt(v, draw, 0, flow=True) for v in value)}]" + ("" if flow else note)
        return gap.join("- " + _spelt(v, draw, indent + 2, flow=False) for v in value)
    if isinstance(value, str):
        quoted = draw.choice([f'"{value}"', f"'{value}'", text_of(value, in_flow=flow)])
        return quoted + ("" if flow else note)
    text = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    return {"[]": "[]", "{}": "{}"}.get(text, text) + ("" if flow else note)


def _opened(text: str, value: object, indent: int) -> str:
    block = isinstance(value, dict | list) and value and text[0] not in "{["
    return ("\n" + " " * indent if block else " ") + text


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(sorted(WHOLE, key=lambda k: k.value)), st.integers(0, 10_000))
def test_any_way_of_writing_a_document_ends_in_one_meaning_and_keeps_its_comments(kind: Kind, seed: int) -> None:
    draw = random.Random(seed)
    document = draw.choice(WHOLE[kind])
    text = _spelt(document, draw, 0, flow=False) + "\n"
    before = parse("a.yaml", text.encode())
    assert isinstance(before.data, dict), (text, before.findings)
    after = layout(text)
    data = parse("a.yaml", after.encode()).data
    assert isinstance(data, dict)
    assert read_document(MODELS[kind], data) == read_document(MODELS[kind], before.data)
    for comment in ("# note", "# lead"):
        assert after.count(comment) == text.count(comment)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab:{}[],#-'\" \n|>&?"), max_size=40))
def test_whatever_the_reader_takes_the_formatter_lays_out(text: str) -> None:
    result = formatted("a.yaml", text.encode())
    if parse("a.yaml", text.encode()).data is None:
        assert result.text is None
    else:
        assert result.text is not None
        assert formatted("a.yaml", result.text.encode()).text == result.text


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_a_text_is_read_back_as_it_was(value: str) -> None:
    shown = f"a: {text_of(value)}\nb: [{text_of(value, in_flow=True)}]\n"
    parsed = parse("a.yaml", shown.encode())
    if parsed.data is not None:
        assert parsed.data == {"a": value, "b": [value]}


def test_a_tree_holds_every_line_of_comment_once() -> None:
    tree = written("# a\nx:  # b\n  # c\n  y: 1  # d\n  # e\n# f\nz: 2\n")
    assert tree.head == ["# a"]

"""One layout for every reviewed file: the order of the format's fields, one way to write a value, comments kept.

`ebbtide fmt` calls `formatted`. Pure: text in, text out. Whatever the layout does, the data that the strict reader
finds in the result is the data of the input, and no comment is lost: `formatted` reads its own output again before it
answers.
"""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic

from contracts.errors import Breach
from contracts.fields import Declared, Spelling
from contracts.findings import Finding
from contracts.values import BadValue
from repo_layout.load import MODELS
from repo_layout.plain_scalars import resolve
from repo_layout.plain_text import below, text_of
from repo_layout.strict_yaml import parse
from repo_layout.written import Entry, Node, written

WIDTH = 130
"""Columns of a field in one line: what a code host shows of a change without wrapping it."""

ROW = 220
"""Columns of a table's row. A row stays a line, so that one person more is one line more; code hosts wrap long ones."""

STEP = "  "
_KINDS: Mapping[str, type[Declared]] = {
    typing.get_args(model.model_fields["kind"].annotation)[0]: model for model in MODELS.values()
}


@dataclass(frozen=True, slots=True)
class Formatted:
    """The canonical text, or None and the findings that kept the file from being understood."""

    text: str | None
    findings: tuple[Finding, ...] = ()


def formatted(file: str, content: bytes) -> Formatted:
    """The canonical layout of one file; `file` is its path, for findings.

    A file of no known kind keeps the order of its keys. Raises `Breach` if the result would not say the same.
    """
    parsed = parse(file, content)
    if not isinstance(parsed.data, dict):
        return Formatted(None, parsed.findings)
    model = _KINDS.get(str(parsed.data.get("kind")))
    tree = written(content.decode())
    lines = [*tree.head, *_root(tree.root, model), *tree.foot]
    text = "\n".join(lines).strip("\n") + "\n"
    _says_the_same(file, parsed.data, text, model)
    if Counter(_comments_of(content.decode())) != Counter(_comments_of(text)):
        raise Breach(f"{file}: the layout would lose a comment; nothing was written")
    return Formatted(text)


def _says_the_same(file: str, data: object, text: str, model: type[pydantic.BaseModel] | None) -> None:
    again = parse(file, text.encode())
    if again.data is None or _meaning(data, model) != _meaning(again.data, model):
        raise Breach(f"{file}: the layout would change what it says; nothing was written")


def _meaning(
    data: object, model: type[pydantic.BaseModel] | None, info: pydantic.fields.FieldInfo | None = None
) -> object:
    """Plain data with its types, and with each text spelt one way."""
    if isinstance(data, dict):
        return {key: _meaning(value, *_below(model, key)) for key, value in data.items()}
    if isinstance(data, list):
        return [_meaning(item, model) for item in data]
    return type(data), _spelt(data, info) if isinstance(data, str) else data


def _comments_of(text: str) -> Iterator[str]:
    tree = written(text)
    waiting = [tree.root]
    yield from filter(None, (*tree.head, *tree.foot))
    while waiting:
        for entry in waiting.pop().inside:
            yield from filter(None, (*entry.before, entry.tail, *entry.after))
            waiting.append(entry.value)


# ------------------------------------------------------------------------------------------------- what the format says


def _below(
    model: type[pydantic.BaseModel] | None, key: str
) -> tuple[type[pydantic.BaseModel] | None, pydantic.fields.FieldInfo | None]:
    """The model and the field that a key of a model leads to."""
    if model is None:
        return None, None
    info = next((f for name, f in model.model_fields.items() if (f.alias or name) == key), None)
    return (inner_model(info.annotation), info) if info is not None else (None, None)


def inner_model(annotation: object) -> type[pydantic.BaseModel] | None:
    """The model inside an annotation such as `tuple[PoolRow, ...]` or `Drain | None`."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    return next((found for part in typing.get_args(annotation) if (found := inner_model(part)) is not None), None)


def _spelt(text: str, info: pydantic.fields.FieldInfo | None) -> str:
    """The text as its field's type spells it; a text that the field does not take stays as it is."""
    marks: list[Any] = [*info.metadata, *_metadata(info.annotation)] if info is not None else []
    for mark in marks:
        if isinstance(mark, Spelling):
            try:
                return mark.of(text)
            except BadValue:
                return text
    return text


def _metadata(annotation: object) -> Iterator[object]:
    for part in typing.get_args(annotation):
        yield from getattr(part, "__metadata__", ())


def _ordered(entries: Sequence[Entry], model: type[pydantic.BaseModel] | None) -> list[Entry]:
    """The fields in the order of their format; what the format does not know stays behind them in its own order."""
    if model is None:
        return list(entries)
    order = {info.alias or name: at for at, (name, info) in enumerate(model.model_fields.items())}
    return sorted(entries, key=lambda entry: order.get(entry.key, len(order)))


# -------------------------------------------------------------------------------------------------------------- layout


def _root(root: Node, model: type[pydantic.BaseModel] | None) -> list[str]:
    if not root.entries:
        return ["{}"]
    return _fields(root.entries, model, "", at_root=True)


def _fields(
    entries: Sequence[Entry], model: type[pydantic.BaseModel] | None, indent: str, *, at_root: bool = False
) -> list[str]:
    lines: list[str] = []
    for entry in _ordered(entries, model):
        inner, info = _below(model, entry.key)
        name = f"{indent}{text_of(entry.key, as_key=True)}:"
        lines += _indented(entry.before, indent, first=not lines)
        lines += _valued(name, entry, inner, info, at_root=at_root)
        lines += _indented(entry.after, indent)
    return lines


def _valued(
    name: str,
    entry: Entry,
    model: type[pydantic.BaseModel] | None,
    info: pydantic.fields.FieldInfo | None,
    *,
    at_root: bool,
) -> list[str]:
    """A key with its value, in one line where it may and fits."""
    value = entry.value
    indent = name[: len(name) - len(name.lstrip(" "))]
    opened = f"{name}  {entry.tail}" if entry.tail else name
    if value.text is not None:
        return _scalar(name, entry, info, indent=indent)
    spread = at_root and bool(value.items) and not value.flow
    line = None if spread else _in_line(value, model)
    if line is not None and (not value.inside or len(name) + 1 + len(line) <= WIDTH):
        return [f"{name} {line}{'  ' + entry.tail if entry.tail else ''}"]
    if value.items:
        return [opened, *_items(value.items, model, indent + STEP)]
    return [opened, *_fields(value.entries or (), model, indent + STEP)]


def _scalar(name: str, entry: Entry, info: pydantic.fields.FieldInfo | None, *, indent: str) -> list[str]:
    """A scalar behind its key; a text that is too long for its line, or has several, stands below."""
    tail = f"  {entry.tail}" if entry.tail else ""
    line = f"{name} {_scalar_text(entry.value, info)}"
    text = entry.value.text or ""
    if _is_text(entry.value) and (len(line) > WIDTH or "\n" in text):
        block = below(text, indent=indent + STEP, width=WIDTH)
        if block is not None:
            return [f"{name} {block[0]}{tail}", *block[1:]]
    return [line + tail]


def _scalar_text(value: Node, info: pydantic.fields.FieldInfo | None, *, in_flow: bool = False) -> str:
    text = value.text or ""
    if not _is_text(value):
        return text  # a number, true or false: as it stands
    return text_of(_spelt(text, info), in_flow=in_flow)


def _is_text(value: Node) -> bool:
    return not value.plain or isinstance(resolve(value.text or ""), str)


def _items(items: Sequence[Entry], model: type[pydantic.BaseModel] | None, indent: str) -> list[str]:
    """A list with an item in each line; mappings are rows of a table or blocks, as the first of them is written."""
    rows = [_in_line(item.value, model) for item in items]
    table = items[0].value.flow or not items[0].value.entries
    table = table and all(row is not None and len(indent) + 2 + len(row) <= ROW for row in rows)
    lines: list[str] = []
    for item, row in zip(items, rows, strict=True):
        lines += _indented(item.before, indent, first=not lines)
        tail = f"  {item.tail}" if item.tail else ""
        if row is not None and (table or not item.value.inside):
            lines.append(f"{indent}- {row}{tail}")
        else:
            lines += _block_item(item, model, indent)
        lines += _indented(item.after, indent)
    return lines


def _block_item(item: Entry, model: type[pydantic.BaseModel] | None, indent: str) -> list[str]:
    inner = indent + STEP
    if item.value.items:
        lines = _items(item.value.items, model, inner)
    else:
        lines = _fields(item.value.entries or (), model, inner)
    at = next(at for at, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#"))
    above = [indent + line[len(inner) :] if line else "" for line in lines[:at]]
    tail = [f"{indent}{item.tail}"] if item.tail else []
    return [*tail, *above, f"{indent}- {lines[at][len(inner) :]}", *lines[at + 1 :]]


def _in_line(
    value: Node,
    model: type[pydantic.BaseModel] | None,
    info: pydantic.fields.FieldInfo | None = None,
    *,
    depth: int = 0,
) -> str | None:
    """A value in one line, None where comments or a list of mappings keep it from that."""
    if value.text is not None:
        return _scalar_text(value, info, in_flow=depth > 0)
    parts: list[str] = []
    listed = value.items is not None
    for entry in _ordered(value.inside, None if listed else model):
        if any((*entry.before, entry.tail, *entry.after)) or (listed and entry.value.entries):
            return None
        inner, field = (model, None) if listed else _below(model, entry.key)
        text = _in_line(entry.value, inner, field, depth=depth + 1)
        if text is None:
            return None
        parts.append(text if listed else f"{text_of(entry.key, as_key=True, in_flow=True)}: {text}")
    return f"[{', '.join(parts)}]" if listed else f"{{{', '.join(parts)}}}"


def _indented(lines: Sequence[str], indent: str, *, first: bool = False) -> list[str]:
    kept = list(lines[1:]) if first and lines and not lines[0] else list(lines)
    return [indent + line if line else "" for line in kept]

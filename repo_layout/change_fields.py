"""Which fields of a declared thing differ, with both values as a file writes them.

`repo_layout.change` asks for every thing that two estates have in common. Order does not count where a list is a set,
such as the members of a group. It must not know what a field means, nor that there is an estate around the thing.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, get_args, runtime_checkable

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from contracts import fields
from contracts.values import ClockTime, Money, format_duration, format_size, shorten

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

NOTHING = "none"
LISTED = 6
"""Items of a list that are written out; whoever wants all of them opens the file."""

_ORDERED = frozenset({"command", "deputies"})
"""Lists in which the order says something."""

_BYTES = frozenset({"checkpoint_throughput"})
"""Fields of computed values that hold bytes."""

Model = TypeVar("Model", bound=BaseModel)


_SCALARS = (Money, ClockTime)
"""Computed values that a file writes as one text."""


@runtime_checkable
class Computed(Protocol):
    """A dataclass, which is how values are held that no file writes as they are."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


class _Notation(enum.Enum):
    PLAIN = "plain"
    DURATION = "duration"
    SIZE = "size"


def _validator(alias: object) -> object:
    """What tells an annotated alias of `contracts.fields` from a plain number."""
    return get_args(alias)[1]


_NOTATIONS = (
    (_validator(fields.Seconds), _Notation.DURATION),
    (_validator(fields.Bytes), _Notation.SIZE),
    (_validator(fields.SomeBytes), _Notation.SIZE),
)


@dataclasses.dataclass(frozen=True, slots=True)
class FieldChange:
    """One field, by its dotted path in the file's names; of a list, `before` and `after` hold what left and what came.

    Both texts are as a file writes them, in one line of at most 80 characters, and `none` where there is nothing.
    """

    path: str
    before: str
    after: str
    of_list: bool = False

    def mirrored(self) -> FieldChange:
        """The same change, undone."""
        return FieldChange(self.path, self.after, self.before, self.of_list)


def fields_changed(before: object, after: object, below: str = "") -> tuple[FieldChange, ...]:
    """What differs between two values of one thing, in the order in which its fields are declared; `below` is the path
    of the thing itself, where it has one.
    """
    return tuple(_changes(below, before, after, _Notation.PLAIN))


def as_set(model: Model) -> Model:
    """The model with every list that is a set in one order, at every depth."""
    changed: dict[str, object] = {}
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            inner = as_set(value)
            if inner is not value:
                changed[name] = inner
        elif isinstance(value, tuple) and len(value) > 1 and name not in _ORDERED:
            changed[name] = tuple(sorted(value, key=_text))
    return model.model_copy(update=changed) if changed else model


def _changes(path: str, before: object, after: object, notation: _Notation) -> Iterator[FieldChange]:
    if before == after:
        return
    if isinstance(before, BaseModel) and type(before) is type(after):
        for name, info in type(before).model_fields.items():
            below = f"{path}.{to_camel(name)}".lstrip(".")
            yield from _changes(below, getattr(before, name), getattr(after, name), _notation(info))
    elif isinstance(before, Computed) and type(before) is type(after) and not isinstance(before, _SCALARS):
        for field in dataclasses.fields(before):
            yield from _of_computed(field.name, before, after)
    elif isinstance(before, tuple) and isinstance(after, tuple) and path.rpartition(".")[2] not in _ORDERED:
        yield FieldChange(path, _missing_from(after, before), _missing_from(before, after), of_list=True)
    elif isinstance(before, dict) and isinstance(after, dict):
        left = (f"{key}: {value}" for key, value in sorted(before.items()) if after.get(key) != value)
        came = (f"{key}: {value}" for key, value in sorted(after.items()) if before.get(key) != value)
        yield FieldChange(path, _listed(left), _listed(came), of_list=True)
    else:
        yield FieldChange(path, shorten(_text(before, notation)), shorten(_text(after, notation)))


def _of_computed(name: str, before: object, after: object) -> Iterator[FieldChange]:
    """One field of a computed value, such as a pool's row; a name that ends in `_s` holds seconds."""
    notation = _Notation.SIZE if name in _BYTES else _Notation.PLAIN
    notation = _Notation.DURATION if name.endswith("_s") else notation
    yield from _changes(to_camel(name.removesuffix("_s")), getattr(before, name), getattr(after, name), notation)


def _missing_from(there: tuple[object, ...], items: tuple[object, ...]) -> str:
    return _listed(_text(item) for item in items if item not in there)


def _listed(items: Iterable[str]) -> str:
    every = list(items)
    more = f" and {len(every) - LISTED} more" if len(every) > LISTED else ""
    return shorten(", ".join(every[:LISTED]), 80 - len(more)) + more if every else NOTHING


def _notation(info: FieldInfo) -> _Notation:
    """How a file writes the field: pydantic keeps the alias's validator, beside an optional field's None too."""
    marks = [*info.metadata, *(mark for part in get_args(info.annotation) for mark in get_args(part))]
    return next((notation for mark in marks for known, notation in _NOTATIONS if mark is known), _Notation.PLAIN)


def _text(value: object, notation: _Notation = _Notation.PLAIN) -> str:
    if value is None or value == ():
        return NOTHING
    if isinstance(value, int) and not isinstance(value, bool) and notation is not _Notation.PLAIN:
        return format_duration(value) if notation is _Notation.DURATION else format_size(value)
    if isinstance(value, BaseModel):
        pairs = ((name, info, getattr(value, name)) for name, info in type(value).model_fields.items())
        inside = (f"{to_camel(n)}: {_text(v, _notation(i))}" for n, i, v in pairs if v is not None and v != ())
        return "{" + ", ".join(inside) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {item}" for key, item in sorted(value.items())) + "}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, enum.Enum):
        return str(value.value)
    return ("true" if value else "false") if isinstance(value, bool) else str(value)

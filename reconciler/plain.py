"""Frozen values as plain JSON values and back, by their declared types: strict in reading, the same text for the same.

Used by `saved` for what outlives a process. A dataclass becomes an object without the fields that have their default;
an unknown field, a missing one without a default, or a value of another type is `Refused`. Knows no field by name, so a
new field with a default is carried, and read from older text, without a change here.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from types import NoneType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

from contracts.errors import Refused

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]

to_text: Callable[[Plain], str] = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""ASCII throughout, so that any text a provider may send comes back as it was."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the values of one type are written and read."""

    dump: Callable[[object], Plain]
    load: Callable[[Plain], object]


@dataclass(frozen=True, slots=True)
class Member:
    """One field of a dataclass: `default` is what is not written, `needed` when there is none."""

    name: str
    form: Form
    default: object
    needed: bool


@cache
def form_of(type_: object) -> Form:
    """The form of a declared type. Raises `TypeError` for one that nothing here knows: a defect of the caller."""
    if isinstance(type_, type):
        if is_dataclass(type_):
            return record(type_)
        if issubclass(type_, enum.Enum):
            return _choice(type_)
    if type_ in _SCALARS:
        return _SCALARS[type_]
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):
        return _either(arguments)
    if origin is tuple:
        return _run(arguments[0]) if arguments[1:] == (...,) else _row(arguments)
    if origin is frozenset:
        return _set(arguments[0])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _named(arguments[1]) if arguments[0] is str else _pairs(*arguments)
    raise TypeError(f"{type_} has no plain form")


def members(class_: type, *, without: frozenset[str] = frozenset()) -> tuple[Member, ...]:
    """The fields of a dataclass and their forms."""
    hints = get_type_hints(class_)
    return tuple(
        Member(field.name, form_of(hints[field.name]), _default(field), _default(field) is MISSING)
        for field in fields(class_)
        if field.name not in without
    )


def record(class_: type, *, without: frozenset[str] = frozenset()) -> Form:
    """The form of a dataclass; what is left out gets its default when it is read."""
    parts = members(class_, without=without)
    by_name = {part.name: part for part in parts}
    needed = {part.name for part in parts if part.needed}
    # a journal is written twice a cycle: what a field needs is looked up once, and its default is mostly there itself
    written = tuple((part.name, part.form.dump, part.default, part.needed) for part in parts)

    def dump(value: object) -> Plain:
        said: dict[str, Plain] = {}
        for name, form_dump, default, always in written:
            held = getattr(value, name)
            if always or (held is not default and held != default):
                said[name] = held if form_dump is _as_it_is else form_dump(held)
        return said

    def load(said: Plain) -> object:
        if type(said) is not dict:
            raise Refused(f"{class_.__name__} is an object, not {str(said)[:40]!r}")
        if said.keys() - by_name.keys() or needed - said.keys():
            odd = sorted((said.keys() - by_name.keys()) | (needed - said.keys()))
            raise Refused(f"{class_.__name__}: {', '.join(odd)} unknown or missing")
        return class_(**{name: by_name[name].form.load(one) for name, one in said.items()})

    return Form(dump, load)


def _default(field: Field[object]) -> object:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _as_it_is(value: object) -> Plain:
    """A scalar is plain already."""
    return value  # type: ignore[return-value]  # the declared type is a plain one


def _scalar(type_: type) -> Form:
    def load(said: Plain) -> object:
        if type(said) is not type_:
            raise Refused(f"{str(said)[:40]!r} is no {type_.__name__}")
        return said

    return Form(_as_it_is, load)


def _decimal(said: Plain) -> object:
    try:
        return Decimal(said if type(said) is str else "no text")
    except InvalidOperation:
        raise Refused(f"{str(said)[:40]!r} is no decimal") from None


_SCALARS: dict[object, Form] = {
    str: _scalar(str),
    int: _scalar(int),
    bool: _scalar(bool),
    NoneType: _scalar(NoneType),
    float: Form(lambda value: float(str(value)) if type(value) is not float else value, _scalar(float).load),
    Decimal: Form(str, _decimal),
}


def _choice(class_: type[enum.Enum]) -> Form:
    by_value = {member.value: member for member in class_}

    def load(said: Plain) -> object:
        if type(said) is not str or said not in by_value:
            raise Refused(f"{str(said)[:40]!r} is no {class_.__name__}")
        return by_value[said]

    return Form(lambda value: value.value, load)  # type: ignore[attr-defined]  # the declared type is an enum


def _either(types: tuple[object, ...]) -> Form:
    """One of several types; they must differ in how they look when they are plain."""
    forms = [(type_, form_of(type_)) for type_ in types]

    def dump(value: object) -> Plain:
        for type_, form in forms:
            if type(value) is type_:
                return form.dump(value)
        return forms[0][1].dump(value)

    def load(said: Plain) -> object:
        for _, form in forms:
            try:
                return form.load(said)
            except Refused as error:
                last = error
        raise last

    return Form(dump, load)


def _list(said: Plain) -> list[Plain]:
    if type(said) is not list:
        raise Refused(f"{str(said)[:40]!r} is no list")
    return said


def _run(inner: object) -> Form:
    form = form_of(inner)
    return Form(
        lambda value: list(value) if form.dump is _as_it_is else [form.dump(one) for one in value],  # type: ignore[call-overload, attr-defined]  # the declared type is a tuple
        lambda said: tuple(form.load(one) for one in _list(said)),
    )


def _row(types: tuple[object, ...]) -> Form:
    forms = [form_of(type_) for type_ in types]

    def load(said: Plain) -> object:
        if len(_list(said)) != len(forms):
            raise Refused(f"{str(said)[:40]!r} has not {len(forms)} parts")
        return tuple(form.load(one) for form, one in zip(forms, _list(said), strict=True))

    return Form(
        lambda value: [form.dump(one) for form, one in zip(forms, value, strict=True)],  # type: ignore[call-overload]  # the declared type is a tuple
        load,
    )


def _set(inner: object) -> Form:
    form = form_of(inner)
    return Form(
        lambda value: sorted((form.dump(one) for one in value), key=to_text),  # type: ignore[attr-defined]  # the declared type is a set
        lambda said: frozenset(form.load(one) for one in _list(said)),
    )


def _named(inner: object) -> Form:
    form = form_of(inner)

    def load(said: Plain) -> object:
        if type(said) is not dict:
            raise Refused(f"{str(said)[:40]!r} is no object")
        return {name: form.load(one) for name, one in said.items()}

    return Form(
        lambda value: {name: form.dump(one) for name, one in value.items()},  # type: ignore[attr-defined]  # the declared type is a mapping
        load,
    )


def _pairs(keys: object, values: object) -> Form:
    """A mapping whose keys are no text: pairs, in the order of the keys' own text."""
    key_form, value_form = form_of(keys), form_of(values)

    def dump(value: object) -> Plain:
        entries: list[Plain] = [
            [key_form.dump(key), value_form.dump(one)]
            for key, one in value.items()  # type: ignore[attr-defined]  # the declared type is a mapping
        ]
        return sorted(entries, key=to_text)

    def load(said: Plain) -> object:
        found = {}
        for entry in _list(said):
            key, value = _two(entry)
            found[key_form.load(key)] = value_form.load(value)
        return found

    return Form(dump, load)


def _two(said: Plain) -> tuple[Plain, Plain]:
    if len(_list(said)) != 2:
        raise Refused(f"{str(said)[:40]!r} is no pair")
    first, second = _list(said)
    return first, second

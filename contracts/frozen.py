"""Frozen values that are made often: built and copied at about the price of values that are not frozen.

A frozen dataclass sets each of its fields through `object.__setattr__`, which costs several times what the assignment
does: a fifth of a simulated day's processor went there. `quick` gives such a class an `__init__` that fills an open
twin and locks it when it is whole, before anybody else holds it; `replace` is `dataclasses.replace`, made the same way
for those classes. Nothing else about them changes (ADR 0027). Used by whoever measured that it matters; knows none of
the classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

Class = TypeVar("Class", bound=type)

_TURN = vars(object)["__class__"].__set__
"""Sets the class of a value that refuses assignment; by way of `object.__setattr__` a value takes a tenth longer."""

_INIT = """
def __init__(self, {arguments}):
    turn(self, Open)
    {fill}
    self.__class__ = Locked
    {check}
"""

_REPLACE = """
def __replace__(self, /, **changes):
    copy = new(Open)
    {copy}
    for name, value in changes.items():
        setattr(copy, name, value)
    copy.__class__ = Locked
    {check_copy}
    return copy
"""


def quick(class_: Class) -> Class:
    """The same frozen dataclass with slots, built faster. Raises `TypeError` for a class that is none, that inherits
    fields, or whose fields are not all plain arguments.
    """
    slots: tuple[str, ...] | None = vars(class_).get("__slots__")
    if slots is None or not vars(class_)["__dataclass_params__"].frozen:
        raise TypeError(f"{class_.__name__} is no frozen dataclass with slots")
    fields = dataclasses.fields(class_)
    names = tuple(field.name for field in fields)
    if names != slots or any(field.kw_only or not field.init for field in fields):
        raise TypeError(f"{class_.__name__} has fields that it inherits, or that are no plain arguments")
    open_twin = type(class_.__name__, class_.__bases__, {"__slots__": names})
    known: dict[str, Any] = {"Open": open_twin, "Locked": class_, "turn": _TURN, "new": object.__new__}
    checked = hasattr(class_, "__post_init__")
    text = (_INIT + _REPLACE).format(
        arguments=", ".join(_argument(field, known) for field in fields),
        fill=_lines(_assigned(field, known) for field in fields),
        check="self.__post_init__()" if checked else "",
        copy=_lines(f"copy.{name} = self.{name}" for name in names),
        check_copy="copy.__post_init__()" if checked else "",
    )
    made: dict[str, Callable[..., Any]] = {}
    exec(text, known, made)  # noqa: S102 - as `dataclasses` does, from the names of fields alone
    for name, function in made.items():
        function.__qualname__ = f"{class_.__qualname__}.{name}"
        function.__module__ = class_.__module__
        setattr(class_, name, function)
    return class_


def _argument(field: dataclasses.Field[Any], known: dict[str, Any]) -> str:
    """The field as an argument of `__init__`; what it defaults to goes into `known`."""
    if field.default is not dataclasses.MISSING:
        known[f"default_{field.name}"] = field.default
    elif field.default_factory is not dataclasses.MISSING:
        known[f"default_{field.name}"] = dataclasses.MISSING
        known[f"make_{field.name}"] = field.default_factory
    else:
        return field.name
    return f"{field.name}=default_{field.name}"


def _assigned(field: dataclasses.Field[Any], known: dict[str, Any]) -> str:
    name = field.name
    made = f"make_{name}() if {name} is default_{name} else {name}" if f"make_{name}" in known else name
    return f"self.{name} = {made}"


def _lines(statements: Iterable[str]) -> str:
    return "\n    ".join(statements)


if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value: object, /, **changes: object) -> object:
        """A copy with some fields changed; raises for a name that is no field."""
        made = getattr(value, "__replace__", None)
        return dataclasses.replace(value, **changes) if made is None else made(**changes)


__all__ = ["quick", "replace"]

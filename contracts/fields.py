"""Pydantic field types for the strict scalars of `contracts.values`: text in a reviewed file, exact values inside.

Only declared documents use these; the agent never imports this module. A document read from a file is validated with
`read_document`, which takes durations, sizes, money and dates as text only; code that builds a model passes values.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Self, TypeVar
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from contracts import values
from contracts.findings import Fault

FROM_FILE = "from_file"
RULES_BROKEN = "rules_broken"


def _from_file(info: ValidationInfo) -> bool:
    return bool(info.context and info.context.get(FROM_FILE))


def _text(parse: Callable[[str], object], expected: str) -> BeforeValidator:
    """A validator that takes text; a value built in Python passes as it is, one from a file does not."""

    def read(value: object, info: ValidationInfo) -> object:
        if isinstance(value, str):
            return parse(value)
        if _from_file(info):
            raise values.BadValue(shown(value), expected)
        return value

    return BeforeValidator(read)


def shown(value: object) -> str:
    """A value of a document as a person would recognise it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return values.shorten(str(value))


@dataclass(frozen=True, slots=True)
class Spelling:
    """In a field's type: how the formatter writes a text that the field takes; the value stays the same."""

    of: Callable[[str], str]


def _spelt_duration(text: str) -> str:
    """`90m` as `1h30m`; up to two minutes seconds stay seconds, as people say them of a notice."""
    seconds = values.parse_duration(text)
    return f"{seconds}s" if text.endswith("s") and seconds <= 120 else values.format_duration(seconds)


def _spelt_size(text: str) -> str:
    return values.format_size(values.parse_size(text))


def _spelt_money(text: str) -> str:
    return values.format_money(values.parse_money(text))


def _shape(pattern: str, told: str, *examples: str, **more: str) -> WithJsonSchema:
    """What an editor's schema says of a text: its pattern, and the words shown where it does not fit."""
    return WithJsonSchema(
        {
            "type": "string",
            "pattern": pattern,
            "patternErrorMessage": f"expected {told}",
            **({"examples": list(examples)} if examples else {}),
            **more,
        }
    )


# The patterns of the values' own parsers, in the part of the language that JavaScript and Python read alike.
_SIXTY = "(0|[1-9]|[1-5][0-9])"
_AMOUNT = "(0|[1-9][0-9]{0,14})"
_PLACE = "[A-Za-z][A-Za-z0-9_+-]{0,30}(/[A-Za-z0-9_+-]{1,30}){1,2}"
_DURATION = f"^([1-9][0-9]{{0,5}}h({_SIXTY}m)?({_SIXTY}s)?|(0|[1-9][0-9]{{0,5}})m({_SIXTY}s)?|(0|[1-9][0-9]{{0,6}})s)$"
_SIZE = rf"({_AMOUNT}(\.[0-9]{{1,6}})?[KMGT]i|{_AMOUNT})B$"
_SIZE_TOLD = "a size such as 512MiB or 1.4GiB"


def _limit(text: str) -> values.Money:
    """Money that limits something: never negative."""
    money = values.parse_money(text)
    if text.startswith("-"):
        raise values.BadValue(text, 'money such as "12.50 EUR"', "a limit is not negative")
    return money


_DECIMAL = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9})?", re.ASCII)
_DECIMAL_EXPECTED = "a decimal number such as 0.05"
_DECIMAL_LIMIT = Decimal(10**9)


def _decimal(value: object) -> Decimal:
    """The exact number of `0.05`, quoted or plain."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return Decimal(value)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and 0 <= value < _DECIMAL_LIMIT:
        # the shortest text of a plain number is what was written, up to the 15 digits that a float keeps
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    raise values.BadValue(shown(value), _DECIMAL_EXPECTED)


def _zone(text: str) -> str:
    """The IANA zone itself."""
    if text != "UTC" and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(/[A-Za-z0-9_+-]{1,30}){1,2}", text, re.ASCII):
        raise values.BadValue(text, "an IANA time zone such as Europe/Berlin")
    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise values.BadValue(text, "an IANA time zone such as Europe/Berlin", f"there is no zone {text}") from None
    return text


Seconds = Annotated[
    int,
    _text(values.parse_duration, "a duration such as 90s, 10m or 1h30m"),
    Field(ge=0, strict=True),
    Spelling(_spelt_duration),
    _shape(_DURATION, "a duration such as 90s, 10m or 1h30m", "90s", "10m", "1h30m"),
]
"""A duration such as `90s`, `10m`, `1h30m`, as whole seconds."""

Bytes = Annotated[
    int,
    _text(values.parse_size, "a size such as 512MiB or 1.4GiB"),
    Field(ge=0, strict=True),
    Spelling(_spelt_size),
    _shape(f"^{_SIZE}", _SIZE_TOLD, "512MiB", "16GiB"),
]
"""A size such as `1.4GiB`, as bytes."""

SomeBytes = Annotated[
    int,
    _text(values.parse_size, "a size such as 512MiB or 1.4GiB"),
    Field(ge=1, strict=True),
    Spelling(_spelt_size),
    _shape(rf"^(?!0(\.0+)?[A-Z]){_SIZE}", _SIZE_TOLD, "512MiB", "16GiB"),
]
"""A size that is not nothing."""

MoneyField = Annotated[
    values.Money,
    _text(_limit, 'money such as "12.50 EUR"'),
    Spelling(_spelt_money),
    _shape(rf"^{_AMOUNT}(\.[0-9]{{1,6}})? [A-Z]{{3}}$", 'money such as "12.50 EUR"', "12.50 EUR"),
]
"""Money such as `12.50 EUR`, not negative."""

Name = Annotated[
    str,
    Field(strict=True),
    AfterValidator(values.parse_name),
    _shape("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", "a name of a-z, 0-9 and inner hyphens, at most 63 characters"),
]
"""A lower-case ASCII label of at most 63 characters."""

Flag = Annotated[bool, Field(strict=True)]
"""true or false, nothing that only looks like it."""

Count = Annotated[int, Field(ge=0, le=10_000_000, strict=True)]
"""A whole number of things."""

Positive = Annotated[int, Field(ge=1, le=10_000_000, strict=True)]
"""At least one of something."""

Percent = Annotated[int, Field(ge=0, le=100, strict=True)]
"""A share in whole percent."""

Rate = Annotated[
    Decimal,
    BeforeValidator(_decimal),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "exclusiveMaximum": int(_DECIMAL_LIMIT)},
                {"type": "string", "pattern": rf"^{_DECIMAL.pattern}$".replace("(?:", "(")},
            ],
            "examples": [0.05],
        }
    ),
]
"""A decimal number written as text or as a plain decimal."""

Date = Annotated[
    dt.date,
    _text(values.parse_date, "a date such as 2026-03-29"),
    _shape("^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}$", "a date such as 2026-03-29", "2026-03-29", format="date"),
]
"""A calendar day `YYYY-MM-DD`."""

ClockField = Annotated[
    values.ClockTime,
    _text(values.parse_clock_time, 'a time of day with its IANA zone, such as "22:22 Europe/Berlin"'),
    _shape(
        f"^([01][0-9]|2[0-3]):[0-5][0-9] (UTC|(?!(posix|right|Etc)/){_PLACE})$",
        'a time of day with its IANA zone, such as "22:22 Europe/Berlin"',
        "22:22 Europe/Berlin",
    ),
]
"""A time of day with its zone, such as `22:22 Europe/Berlin`."""

Zone = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_zone),
    _shape(f"^(UTC|{_PLACE})$", "an IANA time zone such as Europe/Berlin", "Europe/Berlin"),
]
"""A time zone of the IANA database, such as `Europe/Berlin`."""

Line = Annotated[str, Field(strict=True, min_length=1, max_length=200)]
"""Some words, such as a person's name or an address."""

Prose = Annotated[str, Field(strict=True, min_length=1, max_length=400)]
"""A sentence or two for people."""


class Declared(BaseModel):
    """Base of everything written in a reviewed file: camelCase names, unknown keys refused, frozen once read.

    A model with rules among its fields overrides `faults`; all that are broken are reported at once, each at its own
    path below the model.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
    )

    def faults(self) -> Iterable[Fault]:
        """The rules among this model's own fields that do not hold; paths are in the names of the file."""
        return ()

    @model_validator(mode="after")
    def _rules_hold(self) -> Self:
        if broken := tuple(self.faults()):
            text = "; ".join(fault.message for fault in broken).replace("{", "(").replace("}", ")")
            raise PydanticCustomError(RULES_BROKEN, text, {"faults": broken})
        return self


Document = TypeVar("Document", bound=Declared)


def read_document(model: type[Document], data: Mapping[str, Any]) -> Document:
    """The model of one file's plain data; pydantic's ValidationError lists everything that is wrong."""
    return model.model_validate(data, by_alias=True, by_name=False, context={FROM_FILE: True})

"""Pydantic field types for the strict scalars of `contracts.values`: text in a reviewed file, exact values inside.

Only declared documents use these; the agent never imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from contracts import values


def _text(parse: Callable[[str], Any]) -> BeforeValidator:
    """A validator that takes text only; a value built in Python passes as it is."""

    def read(value: object) -> object:
        return parse(value) if isinstance(value, str) else value

    return BeforeValidator(read)


Seconds = Annotated[int, _text(values.parse_duration), Field(ge=0, strict=True)]
"""A duration such as `90s`, `10m`, `1h30m`, as whole seconds."""

Bytes = Annotated[int, _text(values.parse_size), Field(ge=0, strict=True)]
"""A size such as `1.4GiB`, as bytes."""

MoneyField = Annotated[values.Money, _text(values.parse_money)]
"""Money such as `12.50 EUR`."""

Name = Annotated[str, _text(values.parse_name)]
"""A lower-case ASCII label of at most 63 characters."""

Count = Annotated[int, Field(ge=0, le=10_000_000, strict=True)]
"""A whole number of things."""

Positive = Annotated[int, Field(ge=1, le=10_000_000, strict=True)]
"""At least one of something."""

Percent = Annotated[int, Field(ge=0, le=100, strict=True)]
"""A share in whole percent."""

Rate = Annotated[Decimal, _text(values.parse_decimal), Field(ge=0)]
"""A decimal number written as text or as a plain decimal."""

Date = Annotated[values.Date, _text(values.parse_date)]
"""A calendar day `YYYY-MM-DD`."""

ClockField = Annotated[values.ClockTime, _text(values.parse_clock)]
"""A time of day with its zone, such as `22:22 Europe/Berlin`."""


class Declared(BaseModel):
    """Base of everything written in a reviewed file: camelCase names, unknown keys refused, frozen once read."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
    )

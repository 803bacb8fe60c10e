"""Exact money of the ledger: one integer unit in which every rate times every time is whole.

The unit is the *tick*: one billionth of the currency, held for one millisecond at an hourly rate. A rate of 1 per hour
is 10^9 nanos an hour; paid for one hour it costs 10^9 x 3,600,000 = 3.6 x 10^15 ticks, which is 1. Payments, sums and
differences are integers, so nothing is rounded until a person reads a figure (`rounded`). The SQL of the ledger uses
the same unit and none of this code.
"""

from __future__ import annotations

import re
from decimal import Decimal

from contracts.errors import Refused

MS_PER_HOUR = 3_600_000
NANOS = 1_000_000_000
TICKS_PER_NANO = MS_PER_HOUR
TICKS = NANOS * MS_PER_HOUR
"""Ticks of one whole unit of the currency."""

# nine digits on each side: an Int128 of nanos times a century of milliseconds stays far inside an Int256 of ticks
_AMOUNT = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)


def is_amount(text: object) -> bool:
    """Whether this is money as the ledger writes it: decimal text, at most nine digits on each side of the point."""
    return isinstance(text, str) and _AMOUNT.fullmatch(text) is not None


def nanos(text: str) -> int:
    """An amount or hourly rate in billionths; raises `Refused` for text that it cannot hold exactly."""
    if not is_amount(text):
        raise Refused(f"{text!r} is not money: a decimal text with at most 9 digits on each side of the point")
    whole, _, fraction = text.removeprefix("-").partition(".")
    magnitude = int(whole) * NANOS + int(fraction.ljust(9, "0"))
    return -magnitude if text.startswith("-") else magnitude


def amount_text(value: Decimal) -> str:
    """A decimal as the ledger writes it; raises `Refused` when it has more digits than the ledger keeps."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    if not is_amount(text):
        raise Refused(f"{value} has more digits than the ledger keeps (9 on each side of the point)")
    return text


def divided(dividend: int, divisor: int) -> int:
    """The nearest integer to the quotient, halves away from zero: the one rounding rule. `divisor` is positive."""
    magnitude = (2 * abs(dividend) + divisor) // (2 * divisor)
    return -magnitude if dividend < 0 else magnitude


def rounded(ticks: int, *, places: int = 2) -> Decimal:
    """Ticks as an amount of the currency, rounded once, halves away from zero; places from 0 to 9."""
    return Decimal(divided(ticks, TICKS // 10**places)).scaleb(-places)

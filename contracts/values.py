"""Strict scalars of the reviewed files: what a duration, size, share, name, date, money or time of day looks like.

Every parser takes the text as written, promises an exact value and raises `BadValue` otherwise; every `format_` is its
inverse. Models and the agent call it, so it imports the light part of the standard library only. It must not know any
format's fields, nor read a clock or a file.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from fractions import Fraction
from zoneinfo import ZoneInfo

from contracts.errors import Refused

Instant = int
"""Milliseconds since the Unix epoch, UTC."""

MICROS = 1_000_000
MAX_NAME = 63  # RFC 1123 label, which Kubernetes, DNS and OpenStack host names share
SHOWN = 80  # as `Finding.seen`


class BadValue(Refused, ValueError):  # noqa: N818 - named for what it says about the text
    """A text that is not what its field takes; `str` of it is one sentence, with the hint where there is one."""

    def __init__(self, seen: str, expected: str, hint: str = "") -> None:
        self.seen = shorten(seen)
        self.expected = expected
        self.hint = hint
        super().__init__(f'"{self.seen}" is not {expected}' + (f": {hint}" if hint else ""))


def shorten(text: str, limit: int = SHOWN) -> str:
    """The text in one printable line of at most `limit` characters."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."


# ------------------------------------------------------------------------------------------------------------ durations

_DURATION = re.compile(r"(?:([1-9][0-9]{0,5})h)?(?:(0|[1-9][0-9]{0,5})m)?(?:(0|[1-9][0-9]{0,6})s)?", re.ASCII)
_DURATION_EXPECTED = "a duration such as 90s, 10m or 1h30m"


def parse_duration(text: str) -> int:
    """Whole seconds of `90s`, `10m`, `1h30m`; a part behind a larger one stays below 60."""
    match = _DURATION.fullmatch(text)
    if not text or match is None:
        raise BadValue(text, _DURATION_EXPECTED, _duration_hint(text))
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = hours * 3600 + minutes * 60 + seconds
    if (match[1] and minutes > 59) or ((match[1] or match[2]) and seconds > 59):
        raise BadValue(text, _DURATION_EXPECTED, f"did you mean {format_duration(total)}?")
    return total


def format_duration(seconds: int) -> str:
    """The shortest usual form: `90s` below two minutes, else hours, minutes and seconds."""
    if seconds < 120 and seconds % 60:
        return f"{seconds}s"
    parts = ((seconds // 3600, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def _duration_hint(text: str) -> str:
    if re.fullmatch(r"[1-9][0-9]{0,5}", text, re.ASCII):
        return f"did you mean {text}s?"
    if days := re.fullmatch(r"([1-9][0-9]{0,3})d", text, re.ASCII):
        return f"did you mean {int(days[1]) * 24}h?"
    if clock := re.fullmatch(r"([0-9]{1,2}):([0-5][0-9])", text, re.ASCII):
        whole = int(clock[1]) * 60 + int(clock[2])
        return f"did you mean {format_duration(whole)} or {format_duration(whole * 60)}?"
    return ""


# ---------------------------------------------------------------------------------------------------------------- sizes

_SIZE_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = re.compile(r"((?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,6})?)(B|KiB|MiB|GiB|TiB)", re.ASCII)
_SIZE_NEAR = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kmgt])i?b?", re.ASCII | re.IGNORECASE)
_SIZE_EXPECTED = "a size such as 512MiB or 1.4GiB"
MANY_THOUSANDTHS = 10**8
"""So many MiB are 95 TiB, which no unit has; so many thousandths of a byte are 98 KiB."""
MAX_SIZE = 2**53 - 1
"""Bytes: the largest whole number that every JSON reader keeps exact, and so what a payload can carry."""


def parse_size(text: str) -> int:
    """Bytes of `1.4GiB`, rounded up to the whole byte; units B, KiB, MiB, GiB, TiB."""
    match = _SIZE.fullmatch(text)
    if match is None or (match[2] == "B" and "." in match[1]):
        near = _SIZE_NEAR.fullmatch(text)
        raise BadValue(text, _SIZE_EXPECTED, f"did you mean {_size_near(near)}?" if near else "")
    size = _ceil(Fraction(match[1]) * _SIZE_UNITS[match[2]])
    if size > MAX_SIZE:
        raise BadValue(text, f"a size of less than {format_size(MAX_SIZE + 1)}")
    return size


def _size_near(near: re.Match[str]) -> str:
    """What was meant: `512m` is 512MiB, and a number so large that only thousandths of a byte make sense of it, as
    Kubernetes writes `1.2Gi` back, is that many of them.
    """
    number = Fraction(near[1])
    if near[2] == "m" and number >= MANY_THOUSANDTHS:
        return format_size(_ceil(number / 1000))
    return f"{near[1]}{near[2].upper()}iB"


def format_size(count: int) -> str:
    """The largest unit that says `count` bytes exactly with at most three decimals."""
    for unit, factor in reversed(_SIZE_UNITS.items()):
        for digits in (0, 1, 2, 3) if unit != "B" and count >= factor else ():
            scaled = count * 10**digits // factor
            if _ceil(Fraction(scaled * factor, 10**digits)) == count:
                return f"{Decimal(scaled).scaleb(-digits):f}{unit}"
    return f"{count}B"


def _ceil(exact: Fraction) -> int:
    return -(-exact.numerator // exact.denominator)


# ------------------------------------------------------------------------------------------------ Kubernetes quantities

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]{1,24}(?:\.[0-9]{0,24})?|\.[0-9]{1,24}))([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2}|)", re.ASCII
)
_QUANTITY_SCALE = {
    **{unit: Fraction(10) ** (3 * (at - 3)) for at, unit in enumerate("num")},
    "": Fraction(1),
    **{unit: Fraction(10) ** (3 * at) for at, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": Fraction(1024) ** at for at, unit in enumerate("KMGTPE", start=1)},
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A Kubernetes resource quantity: `exact` in its base unit (bytes, cores), and the text it came from."""

    written: str
    exact: Fraction

    @property
    def bytes_up(self) -> int:
        """Whole bytes, rounded up: the API server itself rewrites `1.2Gi` to a number of thousandths."""
        return _ceil(self.exact)

    @property
    def millis_up(self) -> int:
        """Thousandths, rounded up, for processors."""
        return _ceil(self.exact * 1000)

    @property
    def memory_doubt(self) -> str:
        """Why this can hardly be meant as memory, or nothing: `512m` is half a byte, `2048m` two, `512` 512 bytes."""
        if not 0 < self.exact < 1024:
            return ""
        number = self.written.rstrip("num")
        meant = f"; did you mean {number}Mi?" if number.isdigit() else ""
        return f'"{self.written}" of memory is {float(self.exact):g} bytes{meant}'


def parse_quantity(text: str) -> Quantity:
    """A quantity as the Kubernetes API writes it (`1.5Gi`, `129e6`, `250m`), exact and not negative."""
    match = _QUANTITY.fullmatch(text)
    if match is None or match[1].startswith("-"):
        raise BadValue(text, "a Kubernetes quantity such as 1.5Gi, 250m or 129e6")
    suffix = match[2]
    if suffix[:1] in {"e", "E"} and len(suffix) > 1 and suffix != "Ei":
        return Quantity(text, Fraction(match[1]) * Fraction(10) ** int(suffix[1:]))
    return Quantity(text, Fraction(match[1]) * _QUANTITY_SCALE[suffix])


# ------------------------------------------------------------------------------------------------------ money and rates

_MONEY = re.compile(r"(-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,6})?) ([A-Z]{3})", re.ASCII)
_MONEY_EXPECTED = 'money such as "12.50 EUR", with at most six decimals'
# Sixty digits hold any sum of 21-digit amounts that fits in memory; an inexact step is an error, never a rounding.
_EXACT = Context(prec=60, traps=[Inexact, InvalidOperation])


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount in one currency; adding and ordering refuse another currency, `==` just says no."""

    amount: Decimal
    currency: str

    def __add__(self, other: Money) -> Money:
        return Money(_EXACT.add(self.amount, self._same(other)), self.currency)

    def __sub__(self, other: Money) -> Money:
        return Money(_EXACT.subtract(self.amount, self._same(other)), self.currency)

    def __neg__(self) -> Money:
        return Money(_EXACT.minus(self.amount), self.currency)

    def __mul__(self, factor: int | Decimal) -> Money:
        return Money(_EXACT.multiply(self.amount, Decimal(factor)), self.currency)

    def __lt__(self, other: Money) -> bool:
        return self.amount < self._same(other)

    def __le__(self, other: Money) -> bool:
        return self.amount <= self._same(other)

    def __gt__(self, other: Money) -> bool:
        return self.amount > self._same(other)

    def __ge__(self, other: Money) -> bool:
        return self.amount >= self._same(other)

    def __str__(self) -> str:
        return format_money(self)

    @property
    def micros(self) -> int:
        """Millionths of the currency, exactly; an amount with finer decimals is refused."""
        scaled = _EXACT.multiply(self.amount, Decimal(MICROS))
        if scaled != scaled.to_integral_value():
            raise BadValue(format_money(self), "a whole number of millionths of its currency")
        return int(scaled)

    def _same(self, other: Money) -> Decimal:
        if self.currency != other.currency:
            raise BadValue(format_money(other), f"in {self.currency}", "amounts of two currencies do not mix")
        return other.amount


def money_of_micros(micros: int, currency: str) -> Money:
    """The inverse of `Money.micros`."""
    return Money(_EXACT.scaleb(Decimal(micros), -6), currency)


def parse_money(text: str) -> Money:
    """The exact amount and currency of `12.50 EUR`."""
    match = _MONEY.fullmatch(text)
    if match is None:
        raise BadValue(text, _MONEY_EXPECTED, _money_hint(text))
    return Money(Decimal(match[1]), match[2])


def parse_rate(text: str) -> Money:
    """The price of one unit-hour, `0.0912 EUR`; never negative."""
    rate = parse_money(text)
    if rate.amount.is_signed():
        raise BadValue(text, 'a price per unit-hour such as "0.0912 EUR"', "a rate is not negative")
    return rate


def format_money(money: Money) -> str:
    """At least two decimals, no trailing zeros behind them: `12.50 EUR`, `0.0912 EUR`."""
    whole, _, decimals = f"{money.amount:f}".partition(".")
    return f"{whole}.{decimals.rstrip('0').ljust(2, '0')} {money.currency}"


def _money_hint(text: str) -> str:
    match = re.fullmatch(r"(-?[0-9]{1,15})(?:[.,]([0-9]{1,6}))?\s*([A-Za-z]{3})?", text, re.ASCII)
    if match is None:
        return ""
    amount = str(int(match[1])) + (f".{match[2]}" if match[2] else "")
    return f'did you mean "{amount} {match[3].upper()}"?' if match[3] else "the currency is missing"


# --------------------------------------------------------------------------------------------------------------- shares

_PERCENT = re.compile(r"((?:0|[1-9][0-9]{0,2})(?:\.[0-9]{1,4})?)%", re.ASCII)


def parse_share(text: str) -> Decimal:
    """The share of one that `15%` says, here 0.15; from 0 to 1."""
    match = _PERCENT.fullmatch(text)
    expected = "a percentage from 0% to 100%, such as 15% or 2.5%"
    if match is None:
        near = re.fullmatch(r"0?\.[0-9]{1,6}", text, re.ASCII)
        raise BadValue(text, expected, f"did you mean {format_share(Decimal(text))}?" if near else "")
    share = _EXACT.scaleb(Decimal(match[1]), -2)
    if share > 1:
        raise BadValue(text, expected)
    return share


def format_share(share: Decimal) -> str:
    """`0.15` as `15%`."""
    whole, _, decimals = f"{_EXACT.scaleb(share, 2):f}".partition(".")
    return f"{whole}.{decimals}".rstrip("0").rstrip(".") + "%" if decimals else f"{whole}%"


# ------------------------------------------------------------------------------------------------------ names and dates

_NAME = re.compile(rf"[a-z0-9](?:[a-z0-9-]{{0,{MAX_NAME - 2}}}[a-z0-9])?", re.ASCII)
_NAME_EXPECTED = f"a name of lower-case letters a-z, digits and inner hyphens, at most {MAX_NAME} characters"


def parse_name(text: str) -> str:
    """The name itself; a letter that only looks like ASCII is named with its code point."""
    if _NAME.fullmatch(text):
        return text
    for at, char in enumerate(text, start=1):
        if not char.isascii():
            what = f"character {at} is U+{ord(char):04X} {unicodedata.name(char, 'without a name')}"
            raise BadValue(text, _NAME_EXPECTED, what)
    near = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    raise BadValue(text, _NAME_EXPECTED, f"did you mean {near}?" if _NAME.fullmatch(near) else "")


def parse_date(text: str) -> dt.date:
    """The calendar day of `2026-03-29`."""
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII):
            return dt.date.fromisoformat(text)
    except ValueError:
        raise BadValue(text, "a day of the calendar", "months and days count from 01") from None
    raise BadValue(text, "a date such as 2026-03-29")


def format_date(day: dt.date) -> str:
    """`2026-03-29`."""
    return day.isoformat()


# --------------------------------------------------------------------------------------------------------- time of day

_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9]) ([A-Za-z][A-Za-z0-9_+/-]{0,60})", re.ASCII)
_CLOCK_EXPECTED = 'a time of day with its IANA zone, such as "22:22 Europe/Berlin"'
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MS = dt.timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day in an IANA zone."""

    hour: int
    minute: int
    zone: str

    def next_after(self, instant_ms: Instant) -> Instant:
        """The first occurrence strictly after the instant, in milliseconds.

        A time that comes twice on a day counts at its first instant only; one that a day leaves out counts as much
        later as the clock was put forward (02:30 becomes 03:30). Both are what the zone's offset before the change
        says (PEP 495, fold 0).
        """
        zone = ZoneInfo(self.zone)
        local = (_EPOCH + instant_ms * _MS).astimezone(zone)
        for days in range(-1, 4):
            day = local.date() + dt.timedelta(days=days)
            there = dt.datetime(day.year, day.month, day.day, self.hour, self.minute, tzinfo=zone)
            at = (there.astimezone(dt.UTC) - _EPOCH) // _MS
            if at > instant_ms:
                return at
        raise BadValue(str(self), "a time that comes once a day")  # pragma: no cover - no zone leaves out three days

    def __str__(self) -> str:
        return f"{self.hour:02d}:{self.minute:02d} {self.zone}"


def parse_clock_time(text: str) -> ClockTime:
    """The time of day and zone of `22:22 Europe/Berlin`; the zone is a place of the IANA database, or UTC."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        bare = re.fullmatch(r"([01]?[0-9]|2[0-3]):[0-5][0-9]", text, re.ASCII)
        raise BadValue(text, _CLOCK_EXPECTED, "the zone is missing" if bare else "")
    zone = match[3]
    if zone != "UTC" and ("/" not in zone or zone.startswith(("posix/", "right/", "Etc/"))):
        raise BadValue(text, _CLOCK_EXPECTED, f"{zone} does not name a place")
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise BadValue(text, _CLOCK_EXPECTED, f"there is no zone {zone}") from None
    return ClockTime(int(match[1]), int(match[2]), zone)


def format_clock_time(clock: ClockTime) -> str:
    """`22:22 Europe/Berlin`."""
    return str(clock)

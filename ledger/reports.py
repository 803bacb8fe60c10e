"""What the ledger's reports say, as frozen values: net saving, waste, the invoice and whether the two agree.

The ClickHouse adapter and the plain Python twin both return these; screens and HTML render them. Money is in ticks and
instance time in nanoseconds (see `ledger.money` and docs/net-saving.md), so every sum is exact; nothing here knows
where the events are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from contracts.errors import Refused
from ledger.events import EventType, Paid, Use
from ledger.money import MS_PER_HOUR, divided

ALL_THAT_IS_KNOWN = 2**62
"""A `known_by` after every event."""

NS_PER_HOUR = MS_PER_HOUR * 1_000_000


@dataclass(frozen=True, slots=True)
class Period:
    """From `from_ms` up to and not including `to_ms`, with what was recorded by `known_by`.

    A closed period keeps the `known_by` of its closing, so that its report never changes.
    """

    from_ms: int
    to_ms: int
    known_by: int = ALL_THAT_IS_KNOWN

    def __post_init__(self) -> None:
        """Refuse a period without time in it."""
        if not self.from_ms < self.to_ms:
            raise Refused(f"a period ends after it begins, not from {self.from_ms} to {self.to_ms}")


def local_day(day: date, zone: str, *, known_by: int = ALL_THAT_IS_KNOWN) -> Period:
    """One calendar day of an IANA zone: 23, 24 or 25 hours, between two midnights that UTC tells apart.

    Raises `Refused` for a zone that the machine does not know.
    """
    try:
        place = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise Refused(f"{zone!r} is not an IANA time zone that this machine knows") from None
    begin, end = (datetime.combine(d, time(), tzinfo=place) for d in (day, day + timedelta(days=1)))
    return Period(int(begin.timestamp()) * 1000, int(end.timestamp()) * 1000, known_by)


@dataclass(frozen=True, slots=True)
class Behind:
    """Which events are behind one number: a filter that the ledger answers with ids (`ids_behind`).

    Empty tuples and texts do not filter. `paid` and `uses` apply to usage; lost work counts with its instance's `paid`.
    `shared` also takes the events that belong to no workload, of which the number holds a part.
    """

    region: str
    workload: str
    types: tuple[EventType, ...]
    uses: tuple[Use, ...] = ()
    paid: tuple[Paid, ...] = ()
    pool: str = ""
    cause: str = ""
    shared: bool = False


@dataclass(frozen=True, slots=True)
class NetSaving:
    """One workload in one region (or a sum of such rows): where the paid time went, and what was saved after all.

    `_ns` are nanoseconds of a whole instance, `useful_unit_ms` milliseconds of the workload's own units, the others
    ticks. The five `_paid` by what was done and the four by what they were paid as are two cuts of the same payments.
    The workload '' holds shared costs that no workload in the region can carry.
    """

    region: str
    workload: str
    useful_unit_ms: int = 0
    useful_ns: int = 0
    redone_ns: int = 0
    restarting_ns: int = 0
    idle_ns: int = 0
    draining_ns: int = 0
    useful_paid: int = 0
    redone_paid: int = 0
    restarting_paid: int = 0
    idle_paid: int = 0
    draining_paid: int = 0
    reclaimable_paid: int = 0
    floor_paid: int = 0
    fallback_paid: int = 0
    headroom_paid: int = 0
    useful_value: int = 0
    interruptible_value: int = 0
    storage: int = 0
    footprint: int = 0

    @property
    def paid(self) -> int:
        """All payments to the provider, in ticks."""
        return self.reclaimable_paid + self.floor_paid + self.fallback_paid + self.headroom_paid

    @property
    def wasted_paid(self) -> int:
        """The part of `paid` that bought no lasting work: redone, restarting, idle and draining."""
        return self.redone_paid + self.restarting_paid + self.idle_paid + self.draining_paid

    @property
    def paid_ns(self) -> int:
        """All paid instance time."""
        return self.useful_ns + self.redone_ns + self.restarting_ns + self.idle_ns + self.draining_ns

    @property
    def net(self) -> int:
        """Useful hours at the guaranteed rate, less payments, checkpoint storage and footprint; in ticks."""
        return self.useful_value - self.paid - self.storage - self.footprint

    @property
    def share_ppm(self) -> int | None:
        """Net over the guaranteed value of interruptible useful hours, in millionths; None without such hours."""
        if self.interruptible_value <= 0:
            return None
        return divided(self.net * 1_000_000, self.interruptible_value)

    @property
    def wasted_ppm(self) -> int | None:
        """Redone, restarting and draining time over all paid time, in millionths; None where nothing was paid.

        Idle time is left out: it is headroom or demand that went away, not work that a reclamation cost.
        """
        if not self.paid_ns:
            return None
        return divided((self.redone_ns + self.restarting_ns + self.draining_ns) * 1_000_000, self.paid_ns)

    @property
    def unit_hour_paid(self) -> int | None:
        """What one useful unit-hour cost, in ticks, rounded to a tick; None without useful hours."""
        if self.useful_unit_ms <= 0:
            return None
        return divided(self.paid * MS_PER_HOUR, self.useful_unit_ms)

    def behind(self, term: str) -> Behind:
        """The events behind one of this row's numbers; the terms are the names in `TERMS`."""
        types, uses, paid, shared = TERMS[term]
        return Behind(self.region, self.workload, types, uses=uses, paid=paid, shared=shared)


_WORK = (EventType.USAGE, EventType.WORK_LOST)
_INTERRUPTIBLE = (Paid.RECLAIMABLE, Paid.FALLBACK)

TERMS: Mapping[str, tuple[tuple[EventType, ...], tuple[Use, ...], tuple[Paid, ...], bool]] = {
    "useful_value": (_WORK, (Use.SERVING,), (), False),
    "interruptible_value": (_WORK, (Use.SERVING,), _INTERRUPTIBLE, False),
    "useful_paid": (_WORK, (Use.SERVING,), (), False),
    "redone_paid": ((EventType.WORK_LOST,), (), (), False),
    "restarting_paid": ((EventType.USAGE,), (Use.RESTARTING,), (), False),
    "idle_paid": ((EventType.USAGE,), (Use.IDLE,), (), True),
    "draining_paid": ((EventType.USAGE,), (Use.DRAINING,), (), False),
    "reclaimable_paid": ((EventType.USAGE,), (), (Paid.RECLAIMABLE,), False),
    "floor_paid": ((EventType.USAGE,), (), (Paid.FLOOR,), False),
    "fallback_paid": ((EventType.USAGE,), (), (Paid.FALLBACK,), False),
    "headroom_paid": ((EventType.USAGE,), (), (Paid.HEADROOM,), True),
    "storage": ((EventType.STORAGE_CHARGED,), (), (), False),
    "footprint": ((EventType.FOOTPRINT_CHARGED,), (), (), True),
}
"""Each term of the formula and each cut of the payments, with the events that it sums."""

NUMBERS = tuple(field.name for field in fields(NetSaving))[2:]
"""The columns of a row that add up, in order."""


@dataclass(frozen=True, slots=True)
class Waste:
    """Payments that bought no lasting work, with a name and a cause.

    `kind` is redone, restarting, idle or draining; `events` counts the events behind it.
    """

    region: str
    workload: str
    pool: str
    kind: str
    cause: str
    ns: int
    paid: int
    events: int

    def behind(self) -> Behind:
        """The events behind this row."""
        types: tuple[EventType, ...] = (EventType.WORK_LOST,)
        uses: tuple[Use, ...] = ()
        if self.kind != "redone":
            types, uses = (EventType.USAGE,), (Use(self.kind),)
        return Behind(self.region, self.workload, types, uses=uses, pool=self.pool, cause=self.cause)


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """What the provider charges for one instance: billed time at its pool's rates, without looking at usage."""

    instance: str
    region: str
    workload: str
    pool: str
    paid: str
    holds: int
    billed_ms: int
    priced_ms: int
    ticks: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One instance whose usage does not cover its bill exactly once, or whose time had no rate."""

    instance: str
    invoice_ticks: int
    usage_ticks: int
    billed_unit_ms: int
    used_unit_ms: int
    unpriced_ms: int


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Whether the terms of the net saving are the provider's invoice, and where not."""

    invoice_ticks: int
    terms_ticks: int
    states_ticks: int
    disagreements: tuple[Disagreement, ...]
    unpriced_losses: tuple[str, ...]

    @property
    def difference(self) -> int:
        """Terms less invoice, in ticks: exactly 0 on consistent events."""
        return self.terms_ticks - self.invoice_ticks

    @property
    def consistent(self) -> bool:
        """Whether every paid slot of every instance is accounted for exactly once."""
        whole = not self.disagreements and not self.unpriced_losses
        return whole and self.difference == 0 and self.states_ticks == self.terms_ticks


def summed(rows: Iterable[NetSaving], *, region: str = "", workload: str = "") -> NetSaving:
    """The sum of rows as one row under the given names."""
    totals = dict.fromkeys(NUMBERS, 0)
    for row in rows:
        for name in NUMBERS:
            totals[name] += getattr(row, name)
    return NetSaving(region=region, workload=workload, **totals)


def grouped(rows: Iterable[NetSaving], name_of: Callable[[NetSaving], str]) -> dict[str, NetSaving]:
    """Sums by a name that the caller derives from a row (tier, team, region), in the order of the names."""
    groups: dict[str, list[NetSaving]] = {}
    for row in rows:
        groups.setdefault(name_of(row), []).append(row)
    return {name: summed(groups[name], workload=name) for name in sorted(groups)}


def by_tier(rows: Iterable[NetSaving], tier_of: Mapping[str, str]) -> dict[str, NetSaving]:
    """Sums by tier; `tier_of` comes from the contracts, a workload that it does not know is under ''."""
    return grouped(rows, lambda row: tier_of.get(row.workload, ""))


def adjustments(closed: Iterable[NetSaving], now: Iterable[NetSaving]) -> tuple[NetSaving, ...]:
    """What became known about a closed period after its closing: its rows of now less those of then.

    They belong into the open period; rows that did not change are left out.
    """
    rows: dict[tuple[str, str], dict[str, int]] = {}
    for sign, side in ((-1, closed), (1, now)):
        for row in side:
            totals = rows.setdefault((row.region, row.workload), dict.fromkeys(NUMBERS, 0))
            for name in NUMBERS:
                totals[name] += sign * getattr(row, name)
    return tuple(
        NetSaving(region=region, workload=workload, **totals)
        for (region, workload), totals in sorted(rows.items())
        if any(totals.values())
    )


def hours(ns: int, *, places: int = 2) -> Decimal:
    """Instance time as hours, rounded once, halves away from zero."""
    return Decimal(divided(ns * 10**places, NS_PER_HOUR)).scaleb(-places)


def percent(ppm: int | None, *, places: int = 1) -> str:
    """Millionths as a percentage for people; a row without useful interruptible work says so."""
    if ppm is None:
        return "no useful work"
    return f"{Decimal(divided(ppm * 10**places, 10_000)).scaleb(-places)} %"

"""A hand-made day of one small region: nine instances, one wave, one loss without notice, one exclusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ebbtide.report_data import PolicyDay, ReportData
from ebbtide.report_losses import paid_ids
from ledger.causes import Cause
from ledger.events import Datum, Event, EventType
from ledger.net_saving import invoice, net_saving
from ledger.reports import Period, Reconciliation, Waste, by_tier, summed
from simulation.concentration import Concentration
from simulation.floors import Floors
from simulation.moments import Moment
from simulation.summary import DaySummary, Drains, Losses, Money

START = 1_793_577_600_000
"""2026-11-02T00:00Z, as the demo's day."""

HOUR = 3_600_000
END = START + 6 * HOUR
PERIOD = Period(START, END)
ZONE = "Europe/Copenhagen"
HALLS = {"east-h1-a": "east-h1", "east-h1-b": "east-h1", "east-h2-a": "east-h2"}
TIERS = {"render": "resumable", "crawl": "scavenger"}


@dataclass(frozen=True, slots=True)
class Who:
    """Whom an event is about."""

    workload: str = ""
    pool: str = ""
    instance: str = ""


NOBODY = Who()


def event(
    kind: EventType,
    name: str,
    at: int,
    who: Who = NOBODY,
    /,
    *,
    cause: Cause = Cause.ACCOUNTING,
    caused_by: str = "",
    **data: Datum,
) -> Event:
    """One event at `at` milliseconds after the day's start."""
    return Event(
        id=f"{kind.value}/{name}",
        occurred_at=START + at,
        recorded_at=START + at,
        type=kind,
        cause=cause,
        region="east",
        workload=who.workload,
        pool=who.pool,
        instance=who.instance,
        caused_by=caused_by,
        data=data,
    )


def usage(name: str, who: Who, begins: int, ends: int, use: str, *, caused_by: str = "") -> Event:
    """Both slots of an instance in one state, paid as reclaimable."""
    return event(
        EventType.USAGE, name, ends, who, caused_by=caused_by, from_ms=START + begins, to_ms=START + ends, slot=0,
        units=2, of_units=2, use=use, paid="reclaimable",
    )  # fmt: skip


def instance(name: str, pool: str, workload: str, *, at: int = -HOUR, ends: int = 6 * HOUR) -> list[Event]:
    """An instance of two units that serves from its start to its end."""
    who = Who(workload, pool, name)
    return [
        event(EventType.INSTANCE_REQUESTED, name, at, who, units=2, paid="reclaimable"),
        event(EventType.INSTANCE_STARTED, name, at, who, units=2, paid="reclaimable"),
        usage(f"{name}/0", who, at, ends, "serving"),
        event(EventType.INSTANCE_ENDED, name, ends, who),
    ]


def day_events() -> tuple[Event, ...]:
    """Nine instances; two fall in a wave of hall h1 with notice, one in h2 without."""
    events = [
        event(
            EventType.RATE_KNOWN, pool, -HOUR, Who(pool=pool),
            rate="0.10", guaranteed="0.40", currency="EUR", effective_from=START - HOUR,
        )
        for pool in HALLS
    ]  # fmt: skip
    for number in range(6):
        pool = ("east-h1-a", "east-h1-b", "east-h2-a")[number % 3]
        events += instance(f"i{number}", pool, "render" if number < 5 else "crawl")
    for number, name in enumerate(("n0", "n1")):
        events += noticed(name, 2 * HOUR + number * 1000)
    events += instance("u0", "east-h2-a", "render", ends=3 * HOUR)
    lost = Who("render", "east-h2-a", "u0")
    events.append(event(EventType.INSTANCE_LOST, "u0", 3 * HOUR, lost, cause=Cause.LOST_WITHOUT_NOTICE, noticed=0))
    closed, until = Who(pool="east-h1-a"), START + 3 * HOUR
    events += [
        event(EventType.POOL_EXCLUDED, "a", 2 * HOUR + 60_000, closed, cause=Cause.RECLAIM_BURST, until=until),
        event(EventType.POOL_PROBED, "a", 3 * HOUR, closed, cause=Cause.PROBE_DUE),
        event(EventType.POOL_READMITTED, "a", 4 * HOUR, closed, cause=Cause.PROBE_SUCCEEDED),
    ]
    return tuple(events)


def noticed(name: str, at: int) -> list[Event]:
    """An instance with notice that drains in ten seconds, loses half an hour of work and is replaced."""
    who, new = Who("render", "east-h1-a", name), Who("render", "east-h2-a", f"r-{name}")
    notice, drain, asked = f"notice.received/{name}", f"drain.started/{name}", f"instance.requested/r-{name}"
    ended, ends_at = f"drain.ended/{name}", START + at + 120_000
    return [
        *instance(name, "east-h1-a", "render", ends=at + 120_000),
        event(EventType.NOTICE_RECEIVED, name, at, who, reclaim="rc-1", kind="reclaim", ends_at=ends_at),
        event(EventType.DRAIN_STARTED, name, at + 70, who, caused_by=notice, ends_at=ends_at),
        event(EventType.DRAIN_ENDED, name, at + 10_000, who, caused_by=drain, outcome="verified"),
        event(EventType.WORK_LOST, name, at + 10_000, who, cause=Cause.DRAINED, caused_by=ended, unit_ms=1_800_000),
        event(EventType.INSTANCE_LOST, name, at + 120_000, who, caused_by=notice, noticed=1),
        event(EventType.INSTANCE_REQUESTED, f"r-{name}", at + 5000, new, caused_by=notice, units=2, paid="reclaimable"),
        usage(f"r-{name}/0", new, at + 40_000, at + 90_000, "restarting", caused_by=asked),
    ]


def moments() -> tuple[Moment, ...]:
    """Samples every five minutes: a dip after the wave."""
    return tuple(
        Moment(START + at, 5 if _fallen(at) else 7, 1, 0, 20, 16 if _fallen(at) else 20, 800, 900, 1)
        for at in range(0, 6 * HOUR, 300_000)
    )  # fmt: skip


def _fallen(at: int) -> bool:
    return 2 * HOUR <= at < 2.2 * HOUR


def policy_day(events: Sequence[Event], *, policy: str = "ebbtide") -> PolicyDay:
    """The day of these events, with the twin's money."""
    rows = net_saving(events, PERIOD)
    bill = sum(line.ticks for line in invoice(events, PERIOD))
    total = summed(rows, region="east")
    money = Money("EUR", total, by_tier(rows, TIERS), bill, total.paid - bill, consistent=True)
    summary = DaySummary(
        policy=policy,
        region="east",
        period=PERIOD,
        losses=Losses(noticed=2, unnoticed=1, reclaims=1),
        on_notice=Drains(verified=2),
        returns=Drains(),
        first_action_ms=(70, 120),
        acquired=9,
        replaced=2,
        released=0,
        failed=0,
        excluded=1,
        floors=Floors(1, 1, 1, {}),
        shortfalls=(),
        concentration=Concentration(9, 0, (), None, None, falls_over=0, falls_broke=0),
        money=money,
    )
    waste = (Waste("east", "render", "east-h1-a", "redone", "drained", 10**12, total.redone_paid, 2),)
    return PolicyDay(summary, moments(), tuple(events), waste, Reconciliation(bill, bill, bill, (), ()))


def report_data(events: Sequence[Event] | None = None) -> ReportData:
    """A whole report's data."""
    known = tuple(events) if events is not None else day_events()
    return ReportData(
        title="recorded day 2026-11-02",
        source="Made by hand.",
        recorded=True,
        zone=ZONE,
        commit="0123456789abcdef",
        hall_of=HALLS,
        tier_of=TIERS,
        ours=policy_day(known),
        peer=policy_day(known, policy="price-first"),
        costs=dict.fromkeys(paid_ids(known), 10**14),
    )


def renamed(data: ReportData, workload: str) -> ReportData:
    """The same day with another name for its largest workload."""
    events = tuple(replace(e, workload=workload) if e.workload == "render" else e for e in data.ours.events)
    return replace(report_data(events), tier_of={**TIERS, workload: "resumable"})

"""What a day's report is made from, and everything that its pictures and tables show, computed once.

`ReportData` is what the demo hands over; `findings` turns it into values. Pure: it reads summaries, samples and events,
and knows neither HTML nor files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ebbtide import report_reading as reading
from ebbtide.report_losses import Loss, dearest
from ebbtide.report_reading import Bin, Closed, DrainTime, FoundWave, HallShare, Probe, Taking
from ledger.events import Event, EventType
from ledger.reports import TERMS, Reconciliation, Waste
from repo_layout.losses import LargestLoss
from simulation.moments import Moment
from simulation.summary import DaySummary

BIN_MS = 600_000
"""Ten minutes: two cycles, and wide enough to be seen."""

MOST_IDS = 12
"""Event ids shown behind one number; the command beside them lists all."""


@dataclass(frozen=True, slots=True)
class PolicyDay:
    """One planner's day: its summary, its samples, its events (warm-up included) and the ledger's verdicts on them."""

    summary: DaySummary
    moments: tuple[Moment, ...]
    events: tuple[Event, ...]
    waste: tuple[Waste, ...]
    reconciliation: Reconciliation


@dataclass(frozen=True, slots=True)
class ReportData:
    """A day under Ebbtide and the same day under price-first.

    `title` and `source` are the day's own sentences; `recorded` is false for a day of the region model. `zone` is the
    region's IANA zone. `hall_of` maps pools to halls, `tier_of` workloads to tiers. `costs` holds ticks by event id for
    at least `report_losses.paid_ids` of our events. `options` is appended to each command that the report names, such
    as the place of the state that it was made from. `waived` is what workloads can lose at once where a waiver widens
    their bounds.
    """

    title: str
    source: str
    recorded: bool
    zone: str
    commit: str
    hall_of: Mapping[str, str]
    tier_of: Mapping[str, str]
    ours: PolicyDay
    peer: PolicyDay
    costs: Mapping[str, int]
    options: str = ""
    waived: tuple[LargestLoss, ...] = ()


@dataclass(frozen=True, slots=True)
class Behind:
    """The events behind one number of our money: how many, and the first of them."""

    term: str
    count: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaveShares:
    """The largest wave and what it did to halls, and the worst that any wave did to workloads, for each planner."""

    wave: FoundWave
    halls: tuple[HallShare, ...]
    peer_halls: tuple[HallShare, ...]
    workloads: tuple[tuple[str, float], ...]
    peer_workloads: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that the report shows beyond the summaries."""

    takings: tuple[Taking, ...]
    bins: tuple[Bin, ...]
    waves: tuple[FoundWave, ...]
    largest: WaveShares | None
    closed: tuple[Closed, ...]
    probes: tuple[Probe, ...]
    drains: tuple[DrainTime, ...]
    losses: tuple[Loss, ...]
    behind: Mapping[str, Behind]
    wasted: tuple[tuple[str, str, int], ...]
    moments: tuple[Moment, ...]
    peer_moments: tuple[Moment, ...]


def findings(data: ReportData) -> Findings:
    """Read the day's events and samples; only what lies in the summary's period counts."""
    period = data.ours.summary.period
    start, end = period.from_ms, period.to_ms
    events = data.ours.events
    taken = reading.takings(events, start, end)
    found = reading.waves(taken, data.hall_of)
    closed, probes = reading.closures(events, start, end)
    return Findings(
        takings=taken,
        bins=reading.binned(taken, start, end, BIN_MS),
        waves=found,
        largest=_largest(data, taken, found[0]) if found else None,
        closed=closed,
        probes=probes,
        drains=reading.drain_times(events, data.tier_of, start, end),
        losses=dearest(events, taken, data.costs),
        behind=behind(events, start, end),
        wasted=wasted(data.ours.waste),
        moments=_inside(data.ours.moments, start, end),
        peer_moments=_inside(data.peer.moments, start, end),
    )


def _inside(moments: Sequence[Moment], start: int, end: int) -> tuple[Moment, ...]:
    return tuple(moment for moment in moments if start <= moment.at < end)


def _largest(data: ReportData, taken: Sequence[Taking], wave: FoundWave) -> WaveShares:
    period = data.peer.summary.period
    theirs = reading.takings(data.peer.events, period.from_ms, period.to_ms)
    return WaveShares(
        wave,
        reading.hall_shares(data.ours.events, taken, data.hall_of, wave),
        reading.hall_shares(data.peer.events, theirs, data.hall_of, wave),
        reading.worst_shares(data.ours.events, taken, data.hall_of, reading.waves(taken, data.hall_of)),
        reading.worst_shares(data.peer.events, theirs, data.hall_of, reading.waves(theirs, data.hall_of)),
    )


def behind(events: Sequence[Event], start: int, end: int) -> dict[str, Behind]:
    """For each term of the net saving, the events of the period that it sums, by time."""
    paid_as = {event.instance: str(event.data["paid"]) for event in events if event.type is EventType.INSTANCE_STARTED}
    ids: dict[str, list[str]] = {term: [] for term in TERMS}
    money = {kind for types, _, _, _ in TERMS.values() for kind in types}
    for event in sorted((e for e in events if e.type in money), key=lambda e: (e.occurred_at, e.id)):
        if not _counts(event, start, end):
            continue
        paid = str(event.data.get("paid", paid_as.get(event.instance, "")))
        for term, (types, uses, as_paid, _) in TERMS.items():
            used = event.type is not EventType.USAGE or not uses or event.data["use"] in {use.value for use in uses}
            if event.type in types and used and (not as_paid or paid in {p.value for p in as_paid}):
                ids[term].append(event.id)
    return {term: Behind(term, len(found), tuple(found[:MOST_IDS])) for term, found in ids.items()}


def _counts(event: Event, start: int, end: int) -> bool:
    """Whether money of the period follows from this event: usage that overlaps it, else what happened in it."""
    if event.type is EventType.USAGE:
        return int(event.data["from_ms"]) < end and int(event.data["to_ms"]) > start
    return start <= event.occurred_at < end


def wasted(rows: Sequence[Waste]) -> tuple[tuple[str, str, int], ...]:
    """`(kind, cause, ticks)` of payments without lasting work, dearest first."""
    sums: dict[tuple[str, str], int] = {}
    for row in rows:
        sums[row.kind, row.cause] = sums.get((row.kind, row.cause), 0) + row.paid
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return tuple((kind, cause, ticks) for (kind, cause), ticks in ordered if ticks)

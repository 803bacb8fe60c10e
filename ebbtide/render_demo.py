"""The one screen of a day: what was taken back, what was kept, what it cost and saved. Pure: values in, text out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from contracts.model import Tier
from ebbtide.grammar import DEFAULT_STATE
from ebbtide.state import PolicyRecord, RunRecord
from ebbtide.text import Paint, clock, columns, count, date_clock, euros, ppm, words, wrapped
from ledger.money import rounded
from ledger.reports import NetSaving
from repo_layout.losses import LargestLoss
from simulation.concentration import Fall
from simulation.summary import DaySummary


@dataclass(frozen=True, slots=True)
class Screen:
    """What the screen shows: the record, the number of files of the estate, where all of it lies and how long it took.

    `lost` is a lost instance with a story, empty when none was lost; `report` is empty where none was written;
    `waived` is what workloads can lose at once where a waiver widens their bounds.
    """

    record: RunRecord
    estate: str
    files: int
    state: str
    lost: str
    lost_at: int
    report: str
    seconds: float
    waived: tuple[LargestLoss, ...] = ()


def as_text(screen: Screen, paint: Paint) -> list[str]:
    """At most 45 lines of at most 100 columns."""
    record = screen.record
    days = [policy.summary for policy in record.policies]
    return [
        *_head(screen, paint),
        "",
        *columns([("", *(paint.bold(day.policy) for day in days)), *_figures(days, paint)], "<" + ">" * len(days)),
        *_waived(screen.waived),
        "",
        *_savings(days, paint),
        "",
        *_invoice(days, paint),
        *_next(screen, paint),
    ]


def _head(screen: Screen, paint: Paint) -> list[str]:
    record = screen.record
    kind = "recorded losses" if record.recorded else "no recorded losses"
    period = f"{date_clock(record.period.from_ms)[:16]} to {date_clock(record.period.to_ms)[:16]} UTC"
    return [
        paint.bold(f"Ebbtide  {record.region}  {record.title}"),
        *wrapped(f"{kind}: {record.source}", indent="  "),
        f"  {screen.estate}, commit {record.commit[:12]}, {count(screen.files, 'file')}; {period}; seed {record.seed}",
    ]


Row = tuple[str, ...]


def _figures(days: Sequence[DaySummary], paint: Paint) -> list[Row]:
    def row(label: str, *cells: str) -> Row:
        return (label, *cells)

    first = days[0]
    return [
        row("instances taken back by the provider", *(f"{d.losses.total:,}" for d in days)),
        row(
            "  with notice (given back before its end)",
            *(f"{d.losses.noticed:,} ({d.losses.given_back:,})" for d in days),
        ),
        row("  without notice", *(f"{d.losses.unnoticed:,}" for d in days)),
        row("drains on notice: verified", *(f"{d.on_notice.verified:,}" for d in days)),
        row(
            "  overrun, withdrawn, unknown",
            *(f"{d.on_notice.overrun}, {d.on_notice.withdrawn}, {d.on_notice.unknown}" for d in days),
        ),
        row(
            "first action after a notice, p50 and p99",
            *(f"{d.first_action_ms[0]}, {d.first_action_ms[1]} ms" for d in days),
        ),
        row(
            "instances replaced, acquired, released",
            *(f"{d.replaced:,}, {d.acquired:,}, {d.released:,}" for d in days),
        ),
        row(
            f"floors kept all the time ({first.floors.units} units)",
            *(
                _judged(f"{d.floors.kept} of {d.floors.contracts}", d.floors.kept == d.floors.contracts, paint)
                for d in days
            ),
        ),
        row("strict tiers below their minimum", *(_short(d) for d in days)),
        row(
            "acts of ours that broke a spread bound",
            *(
                _judged(
                    f"{d.concentration.broken:,} of {d.concentration.requests:,}", not d.concentration.broken, paint
                )
                for d in days
            ),
        ),
        row(
            "falls in one place in 180 s over their bound",
            *(_judged(f"{d.concentration.falls_broke:,}", not d.concentration.falls_broke, paint) for d in days),
        ),
        row("  largest fall in one place, and its bound", *(_fall(d.concentration.worst_place) for d in days)),
        row("fallback bought", *(euros(d.money.total.fallback_paid, d.money.currency) for d in days)),
        row("wasted work, of all paid time", *(ppm(d.money.total.wasted_ppm, places=2) for d in days)),
    ]


def _judged(text: str, kept: bool, paint: Paint) -> str:
    return paint.good(text) if kept else paint.bad(text)


def _short(day: DaySummary) -> str:
    strict = [s for s in day.shortfalls if s.tier <= STRICT]
    if not strict:
        return "never"
    return f"{len(strict)}, longest {max(s.minutes for s in strict)} min"


STRICT = 2


def _fall(fall: Fall | None) -> str:
    if fall is None:
        return "none"
    return f"{fall.units} of {max(fall.desired, fall.units)} units, {max(fall.allowed, fall.allowed_then)}"


def _waived(losses: Sequence[LargestLoss]) -> list[str]:
    """The largest share that a waiver puts at stake, in one line."""
    if not losses:
        return []
    worst = max(losses, key=lambda loss: (loss.permille, loss.workload))
    return wrapped(f"largest loss under a waiver, of {count(len(losses), 'workload')}: {worst.sentence}", indent="")


def _savings(days: Sequence[DaySummary], paint: Paint) -> list[str]:
    currency = days[0].money.currency
    head = [paint.bold(f"net saving, {currency}")]
    for day in days:
        head += [paint.bold(day.policy), "of value", "wasted"]
    rows: list[Row] = [tuple(head)]
    rows += [
        (f"  {tier.rank} {tier.value}", *_saved([d.money.tiers.get(tier.value) for d in days]))
        for tier in Tier
        if any(tier.value in d.money.tiers for d in days)
    ]
    shared = [d.money.tiers.get("") for d in days]
    if any(shared):
        rows.append(("  shared", *_saved(shared)))
    rows.append(("  total", *_saved([d.money.total for d in days])))
    lines = columns(rows, "<" + ">>>" * len(days))
    if len(days) > 1:
        ahead = days[0].money.total.net - days[1].money.total.net
        more = "more" if ahead >= 0 else "less"
        text = f"{rounded(abs(ahead)):,} {currency} {more} than {days[1].policy}, which keeps no spread bound"
        lines.append("  " + (paint.good(text) if ahead >= 0 else paint.bad(text)))
    return lines


def _saved(rows: Sequence[NetSaving | None]) -> list[str]:
    cells: list[str] = []
    for row in rows:
        if row is None:
            cells += ["-", "", ""]
        else:
            cells += [f"{rounded(row.net):,}", ppm(row.share_ppm), ppm(row.wasted_ppm, places=2)]
    return cells


def _invoice(days: Sequence[DaySummary], paint: Paint) -> list[str]:
    lines = []
    for day in days:
        money = day.money
        verdict = paint.good("the terms sum to it, to the last digit")
        if not money.consistent:
            verdict = paint.bad(f"the terms do not sum to it: {money.difference_ticks} ticks of difference")
        lines.append(f"invoice {day.policy}: {euros(money.invoice_ticks, money.currency)}; {verdict}")
    return lines


def _next(screen: Screen, paint: Paint) -> list[str]:
    where = "" if screen.state == DEFAULT_STATE else f" --state {shlex.quote(screen.state)}"
    rows = []
    if screen.report:
        rows.append(("pictures", screen.report, ""))
    if screen.lost:
        rows.append(("next", f"ebbtide explain action {screen.lost}{where}", f"taken back at {clock(screen.lost_at)}"))
    rows.append(("" if screen.lost else "next", f"ebbtide savings --tier{where}", "every term, down to its events"))
    lines = columns(rows, "<<<")
    return [*lines, paint.dim(f"{screen.seconds:.0f} s; everything lies in {screen.state}")]


def as_document(screen: Screen, days: Sequence[dict[str, object]]) -> dict[str, object]:
    """The same for machines; `days` are the summaries as documents, in the record's order."""
    record = screen.record
    return {
        "region": record.region,
        "title": record.title,
        "source": record.source,
        "recorded": record.recorded,
        "seed": record.seed,
        "hours": record.hours,
        "estate": {"name": screen.estate, "commit": record.commit, "files": screen.files},
        "period": {"from_ms": record.period.from_ms, "to_ms": record.period.to_ms},
        "days": list(days),
        "state": screen.state,
        "report": screen.report,
        "waived_losses": [loss.document() for loss in screen.waived],
        "explain": screen.lost,
        "seconds": round(screen.seconds, 1),
    }


def plain(record: PolicyRecord) -> dict[str, object]:
    """One planner's day as a document: counts, and money in the currency beside its exact ticks."""
    day = record.summary
    return {
        "policy": day.policy,
        "taken_back": day.losses.total,
        "noticed": day.losses.noticed,
        "given_back": day.losses.given_back,
        "unnoticed": day.losses.unnoticed,
        "drains": {name: getattr(day.on_notice, name) for name in ("verified", "overrun", "withdrawn", "unknown")},
        "first_action_ms": {"p50": day.first_action_ms[0], "p99": day.first_action_ms[1]},
        "replaced": day.replaced,
        "acquired": day.acquired,
        "released": day.released,
        "floors": {"contracts": day.floors.contracts, "kept": day.floors.kept, "below_ms": dict(day.floors.below)},
        "shortfalls": [
            {"workload": s.workload, "tier": s.tier, "minutes": s.minutes, "missing_units": s.missing_units}
            for s in day.shortfalls
        ],
        "acts": {"requests": day.concentration.requests, "broke_a_bound": day.concentration.broken},
        "falls_over_bound": {"now": day.concentration.falls_over, "as_placed": day.concentration.falls_broke},
        "refused": {words(cause): number for cause, number in day.refused.items()},
        "currency": day.money.currency,
        "net": {tier or "shared": str(rounded(row.net)) for tier, row in day.money.tiers.items()},
        "net_total": str(rounded(day.money.total.net)),
        "net_ppm": day.money.total.share_ppm,
        "wasted_ppm": day.money.total.wasted_ppm,
        "fallback": str(rounded(day.money.total.fallback_paid)),
        "invoice": str(rounded(day.money.invoice_ticks)),
        "invoice_difference_ticks": day.money.difference_ticks,
        "consistent": day.money.consistent,
    }

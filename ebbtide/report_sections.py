"""The report's sections on the day itself: its figures, capacity, losses, bounds, exclusions and drains.

Pure; called by `ebbtide.report`. Each section is a sentence that says what happened, a picture, and its table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ebbtide import report_charts, report_charts_spread
from ebbtide.report_charts import Span, short_place
from ebbtide.report_charts_money import amount, drain_durations
from ebbtide.report_data import Findings, ReportData, WaveShares
from ebbtide.report_html import Markup, details, join, picture, section, table, tag
from ebbtide.report_losses import FATES
from ebbtide.report_reading import Fate
from ebbtide.report_svg import HOUR_MS, clock, figure, share_text
from ledger.reports import percent
from repo_layout.losses import LargestLoss
from simulation.summary import DaySummary, Drains, quantile

PROMISED_MS = 2_000
"""From a notice to the first action on the node, at most."""

STRICT = 2
"""Tiers 1 and 2 are strict: what counts for them is the minutes below their minimum."""

TIERS = ("anchored", "resumable", "staged", "requeued", "scavenger")
"""Strictest first."""


def span_of(data: ReportData) -> Span:
    """The day and its zone."""
    period = data.ours.summary.period
    return Span(period.from_ms, period.to_ms, data.zone)


def headline(data: ReportData, found: Findings) -> Markup:
    """What happened, in a few sentences, and the key figures beside price-first's."""
    ours, peer = data.ours.summary, data.peer.summary
    said = ["The provider took back no instance."]
    if ours.losses.total:
        without = figure(ours.losses.unnoticed) if ours.losses.unnoticed else "none"
        said = [f"The provider took back {figure(ours.losses.total)} instances, {without} without notice."]
    if found.largest is not None:
        wave = found.largest.wave
        said.append(
            f"The largest wave took {figure(wave.instances)} in hall {short_place(wave.hall)} from "
            f"{clock(wave.begins, data.zone)} within {_minutes(wave.ends - wave.begins)}."
        )
    said.append("Every floor stood." if ours.floors.kept == ours.floors.contracts else "Not every floor stood.")
    if ours.on_notice.total:
        verified, begun = figure(ours.on_notice.verified), figure(ours.on_notice.total)
        said.append(f"{verified} of {begun} drains on notice were seen empty in time.")
    said.append(f"{amount(ours.money.total.net, ours.money.currency, places=0)} were saved after every cost.")
    cards = [
        tag(
            "li",
            tag("span", name, kind="name"),
            tag("b", mine),
            tag("span", f"price-first {theirs}", kind="than"),
            tag("span", note, kind="what"),
        )
        for name, mine, theirs, note in _figures(ours, peer)
    ]
    return join([tag("p", " ".join(said), kind="story"), tag("ul", *cards, kind="figures")])


def _figures(ours: DaySummary, peer: DaySummary) -> list[tuple[str, str, str, str]]:
    """`(name, ours, price-first, what it is)` of each key figure."""

    def both(name: str, show: Callable[[DaySummary], str], note: str) -> tuple[str, str, str, str]:
        return name, show(ours), show(peer), note

    return [
        both(
            "Net saving",
            lambda s: percent(s.money.total.share_ppm),
            "of the guaranteed value of interruptible useful hours",
        ),
        both(
            "Saved",
            lambda s: amount(s.money.total.net, s.money.currency, places=0),
            "value less every payment and charge",
        ),
        both(
            "Wasted work",
            lambda s: percent(s.money.total.wasted_ppm, places=2),
            "of paid time: redone, restarting, draining",
        ),
        both(
            "Requests over a bound",
            lambda s: f"{figure(s.concentration.broken)} of {figure(s.concentration.requests)}",
            "requests after which a workload stood beyond a bound",
        ),
        both("Largest fall", _fall, "units that fell together in one place, over the workload's bound"),
        both("Taken back", lambda s: figure(s.losses.total), "instances that the provider reclaimed or that failed"),
        both(
            "Drains overrun",
            lambda s: f"{figure(s.on_notice.overrun + s.on_notice.unknown)} of {figure(s.on_notice.total)}",
            "not seen empty before the notice ended",
        ),
        both("Strict-tier shortfall", _shortfall, "minutes below minimum, tiers 1 and 2, all workloads"),
    ]


def _fall(one: DaySummary) -> str:
    fall = one.concentration.worst_place
    return "none" if fall is None else f"{fall.permille / 1000:.1f}\u00d7"


def _shortfall(one: DaySummary) -> str:
    return f"{figure(sum(s.minutes for s in one.shortfalls if s.tier <= STRICT))} min"


def _minutes(ms: int) -> str:
    minutes = max(1, round(ms / 60_000))
    return f"{minutes} minute" + ("s" if minutes > 1 else "")


def capacity(data: ReportData, found: Findings) -> Markup:
    """Section 2: what was held and wanted, and what was taken back when."""
    span = span_of(data)
    rows = [
        (
            clock(m.at, data.zone),
            figure(m.reclaimable),
            figure(m.fallback),
            figure(m.floor),
            figure(m.wanted_units),
            figure(m.running_units),
        )
        for m in found.moments
        if m.at % HOUR_MS == 0
    ]
    hourly = table(
        "Capacity on the hour",
        ("time", "reclaimable", "fallback", "floor", "units wanted", "units running"),
        rows,
        columns="lrrrrr",
    )
    ends = [(FATES[fate], figure(sum(1 for t in found.takings if t.fate is fate))) for fate in Fate]
    ends.append(("all", figure(len(found.takings))))
    waves = [
        (
            clock(w.begins, data.zone, seconds=True),
            short_place(w.hall),
            figure(w.instances),
            f"{(w.ends - w.begins) / 1000:.0f} s",
        )
        for w in found.waves[:10]
    ]
    return section(
        "capacity",
        "Capacity and losses",
        "Reclaimable instances do the work; floor and fallback stand on capacity that nobody takes back. A dip of "
        "the lower line is work that waited for a replacement.",
        picture(
            "capacity-picture",
            partial(report_charts.capacity, found.moments, span),
            "Instances held by what they are paid as, and units wanted and running. Samples every five minutes.",
            details("The numbers on the hour", hourly),
        ),
        picture(
            "losses-picture",
            partial(report_charts.taken_back, found.bins, found.waves, span),
            "Each instance counts once, when its notice came or, without one, when it fell. Named: the largest waves "
            "(hall, time, instances).",
            details(
                "The numbers",
                table("How instances that were taken back ended", ("end", "instances"), ends, columns="lr", foot=1),
                table("Largest waves", ("first", "hall", "instances", "within"), waves, columns="llrr"),
            ),
        ),
    )


def concentration(data: ReportData, found: Findings) -> Markup:
    """Section 3: the bounds over time, and what the largest wave did."""
    ours, peer = data.ours.summary.concentration, data.peer.summary.concentration
    lead = (
        "A bound says how much of one workload may stand in one capacity domain or correlation group. "
        f"{figure(ours.broken)} of Ebbtide's {figure(ours.requests)} requests went over one, against "
        f"{figure(peer.broken)} of {figure(peer.requests)} under price-first. "
        f"In {figure(ours.falls_broke)} windows of three minutes more of a workload fell in one place than its bound "
        f"had allowed when it was placed; under price-first in {figure(peer.falls_broke)}. "
        "A line above 1\u00d7 without such a request is an excess that arose by itself: a "
        "workload shrank, and what it holds is moved at pace."
    )
    parts = [
        picture(
            "bounds-picture",
            partial(report_charts.concentration, found.moments, found.peer_moments, span_of(data)),
            "The fullest domain and the fullest group of any workload. The dotted line is the bound.",
            details("The numbers", _bounds_table(found), _falls_table(data)),
        )
    ]
    if found.largest is not None:
        parts += _waves(data, found.largest)
    if data.waived:
        parts += [tag("h3", "Under a waiver"), _waived_table(data.waived)]
    return section("bounds", "Concentration against its bounds", lead, *parts)


def _waves(data: ReportData, shares: WaveShares) -> list[Markup]:
    """What waves did: to workloads over the whole day, to halls in the largest one."""
    theirs = dict(shares.peer_workloads)
    worst = [(name, share_text(one), share_text(theirs.get(name, 0.0))) for name, one in shares.workloads[:10]]
    wave = shares.wave
    return [
        tag("h3", "What fell together"),
        picture(
            "workloads-picture",
            partial(report_charts_spread.workloads_fallen, shares.workloads, shares.peer_workloads),
            "Workloads of eight lent units or more, each by its worst wave of the day. Columns upwards are Ebbtide's, "
            "downwards price-first's; further right means that more of one workload fell at once.",
            details(
                "The numbers",
                table(
                    "Workloads hit hardest under Ebbtide", ("workload", "Ebbtide", "price-first"), worst, columns="lrr"
                ),
            ),
        ),
        tag("h3", f"The largest wave: hall {short_place(wave.hall)}, {clock(wave.begins, data.zone)}"),
        picture(
            "halls-picture",
            partial(report_charts_spread.halls_fallen, shares.halls, shares.peer_halls),
            "Lent instances that stood before the wave and were taken by it, on the same minutes of the same day.",
        ),
    ]


def _bounds_table(found: Findings) -> Markup:
    rows = []
    for label, field in (("domain", "worst_domain_permille"), ("group", "worst_group_permille")):
        cells = []
        for moments in (found.moments, found.peer_moments):
            values = sorted(getattr(moment, field) for moment in moments) or [0]
            cells += [f"{values[len(values) // 2] / 1000:.2f}\u00d7", f"{values[-1] / 1000:.2f}\u00d7"]
        rows.append((f"fullest {label}", *cells))
    head = ("place", "Ebbtide, median", "largest", "price-first, median", "largest")
    return table("Fullest place over its bound, over the day", head, rows, columns="lrrrr")


def _falls_table(data: ReportData) -> Markup:
    rows = []
    for name, one in (("Ebbtide", data.ours.summary), ("price-first", data.peer.summary)):
        for what, fall in (
            ("one place", one.concentration.worst_place),
            ("all places", one.concentration.worst_together),
        ):
            if fall is not None:
                rows.append(
                    (
                        name,
                        what,
                        fall.workload,
                        clock(fall.at, data.zone),
                        figure(fall.units),
                        figure(fall.allowed),
                        figure(fall.allowed_then),
                        figure(fall.desired),
                    )
                )
    head = ("planner", "within", "workload", "time", "units that fell", "bound", "bound when placed", "desired")
    return table("Largest falls within three minutes", head, rows, columns="llllrrrr")


def _waived_table(losses: Sequence[LargestLoss]) -> Markup:
    """What waivers put at stake, by workload."""
    rows = [
        (
            loss.workload,
            figure(loss.units),
            figure(loss.desired),
            f"{loss.permille / 10:.0f} %",
            f"{loss.scope} {loss.name}",
        )
        for loss in sorted(losses, key=lambda one: (-one.permille, one.workload))
    ]
    head = ("workload", "units at once", "interruptible units", "share", "with")
    return table("The most that a widened bound lets fall together", head, rows, columns="lrrrl")


def exclusions(data: ReportData, found: Findings) -> Markup:
    """Section 4: which pools took no placement, when, why, and how they were tried again."""
    hours: dict[str, list[int]] = {}
    for one in found.closed:
        hours.setdefault(one.cause, []).append(one.ends - one.begins)
    rows = [
        (
            report_charts_spread.CAUSES.get(cause, ("", cause.replace("_", " ")))[1],
            figure(len(times)),
            f"{sum(times) / HOUR_MS:.1f}",
        )
        for cause, times in sorted(hours.items())
    ]
    return section(
        "exclusions",
        "Exclusion",
        "A pool that misbehaves takes no new placement within a minute of the evidence. It is tried again with one "
        "instance, then with more after each success. What runs there stays.",
        picture(
            "exclusions-picture",
            partial(report_charts_spread.exclusions, found.closed, found.probes, span_of(data)),
            f"{figure(len(found.closed))} exclusions and {figure(len(found.probes))} probes. Pools that "
            "were never excluded are left out.",
            details("The numbers", table("Exclusions by cause", ("cause", "times", "pool-hours"), rows, columns="lrr")),
        ),
    )


def drains(data: ReportData, found: Findings) -> Markup:
    """Section 6: how long drains took and how they ended."""
    half, most = data.ours.summary.first_action_ms
    rows = [_drain_row(tier, found) for tier in TIERS if any(d.tier == tier for d in found.drains)]
    notice, returns = data.ours.summary.on_notice, data.ours.summary.returns
    both = [_outcomes("on a notice", notice), _outcomes("asked for by us", returns)]
    return section(
        "drains",
        "Drains",
        f"From a notice to a node's first action: {figure(half)} ms at the median, {figure(most)} ms at the 99th "
        f"percentile (at most {figure(PROMISED_MS)} ms are promised). A drain is verified when the node was seen empty "
        "before its notice ended.",
        picture(
            "drains-picture",
            partial(drain_durations, found.drains, TIERS),
            "Drains that a notice began. The strokes on each line are median and 99th percentile.",
        ),
        table(
            "Drains on notice by tier",
            ("tier", "verified", "overrun", "withdrawn", "p50", "p99"),
            rows,
            columns="lrrrrr",
        ),
        table("All drains", ("began", "verified", "overrun", "withdrawn", "unknown"), both, columns="lrrrr"),
    )


def _drain_row(tier: str, found: Findings) -> tuple[str, ...]:
    mine = [d for d in found.drains if d.tier == tier]
    times = [d.duration_ms for d in mine if d.outcome != "withdrawn"]
    counts = [figure(sum(d.outcome == outcome for d in mine)) for outcome in ("verified", "overrun", "withdrawn")]
    quantiles = [f"{quantile(times, permille) / 1000:.1f} s" for permille in (500, 990)]
    return (tier, *counts, *quantiles)


def _outcomes(name: str, one: Drains) -> tuple[str, ...]:
    return (name, *(figure(count) for count in (one.verified, one.overrun, one.withdrawn, one.unknown)))

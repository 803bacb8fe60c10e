"""The report of hours without control plane, as text or as a document. Pure."""

from __future__ import annotations

from dataclasses import asdict

from ebbtide.text import Paint, clock, columns, count, share, span, words
from simulation.scenario_absence import Cycle, Report

SHOWN = 12
"""Cycles after the return: an hour, and the ramp is over after four."""


def as_text(report: Report, paint: Paint) -> list[str]:
    """What nodes did alone, what was missing, and how the region was put right."""
    before, hours = report.before, report.absence.hours
    drains = report.drains
    ended = ", ".join(f"{number} {words(name)}" for name, number in drains.items() if name != "begun" and number)
    lost = ", ".join(f"{number} {words(name)}" for name, number in sorted(report.losses.items()))
    acted = f"{report.acted_while_away} acquisitions and releases meanwhile"
    return [
        paint.bold(f"no control plane  {report.region}, {clock(report.began)} to {clock(report.ended)} UTC"),
        f"  {report.title}; the {hours} hours in which most is taken back",
        f"  before    {before.alive:,} lent instances, {before.running:,} of {before.wanted:,} units run",
        f"  drains    {count(drains['begun'], 'drain')} begun by nodes alone: {ended or 'none ended'}",
        f"  losses    {lost or 'none'}",
        f"  nobody    {acted}",
        "",
        paint.bold("missing while nobody replaces"),
        *_short(report, paint),
        "",
        paint.bold("after the return"),
        *_cycles(report, paint),
        "",
        *_ends(report, paint),
        *_promises(report, paint),
    ]


def _short(report: Report, paint: Paint) -> list[str]:
    head = tuple(paint.bold(name) for name in ("after", "lost", "share", "expected", "units", "below minimum"))
    rows = [
        (
            f"{one.hours} h",
            f"{one.lost:,}",
            share(one.lost, one.of),
            f"{100 * one.expected:.1f} %",
            f"{one.standing.running:,} of {one.standing.wanted:,}",
            count(one.standing.short, "contract"),
        )
        for one in report.short
    ]
    note = (
        "  expected: at the mean rate of the recorded cluster trace (docs/limits.md); this is a day with a hall's wave"
    )
    return [*columns([head, *rows], ">>>>>>", indent="  "), paint.dim(note)]


def _cycles(report: Report, paint: Paint) -> list[str]:
    head = tuple(paint.bold(name) for name in ("cycle", "at", "acquired", "released", "units", "held back"))
    rows = [
        (str(number), f"+{span(cycle.at - report.ended)}", *_numbers(cycle), _refused(cycle))
        for number, cycle in enumerate(report.cycles[:SHOWN], start=1)
    ]
    return columns([head, *rows], ">>>>><", indent="  ")


def _numbers(cycle: Cycle) -> tuple[str, ...]:
    standing = cycle.standing
    return (
        f"{cycle.acquired:,}",
        f"{cycle.released:,}",
        f"{standing.running:,} of {standing.wanted:,}",
    )


def _refused(cycle: Cycle) -> str:
    return ", ".join(f"{number} {words(cause)}" for cause, number in sorted(cycle.refused.items()))


def _ends(report: Report, paint: Paint) -> list[str]:
    ramp = ", ".join(f"{part:g}" for part in report.ramp)
    rows = [
        f"{number} of {limit} {what}"
        for what, number, limit in zip(("acquired", "released"), report.largest, report.limits, strict=True)
    ]
    last = report.cycles[-1].standing
    end = f"at the end {last.running:,} of {last.wanted:,} units run ({share(last.running, last.wanted)})"
    return [
        paint.bold("put right"),
        f"  floors    {_after(report.floors_after_ms, 'no more contracts below their minimum than before')}",
        f"  settled   {_after(report.settled_after_ms, 'as much runs as at the end of the watch')}",
        f"  claims    {_after(report.again_after_ms, 'as much of what is wanted runs as before')}; {end}",
        f"  limits    most in any window: {', '.join(rows)}; ramp of the first cycles: {ramp}",
    ]


def _after(ms: int | None, what: str) -> str:
    return f"not within the watch: {what}" if ms is None else f"{span(ms)} after the return {what}"


def _promises(report: Report, paint: Paint) -> list[str]:
    if not report.broken:
        return [f"  promises  {paint.good('all held')}"]
    return [
        f"  promises  {paint.bad(f'{len(report.broken)} broken')}",
        *(f"    {one.checker}, {clock(one.at)}: {one.sentence}" for one in report.broken[:SHOWN]),
    ]


def as_document(report: Report) -> dict[str, object]:
    """The same for machines, every cycle of it."""
    document = asdict(report)
    for made, short in zip(document["short"], report.short, strict=True):
        made |= {"share": round(short.share, 4), "expected": round(short.expected, 4)}
    return document

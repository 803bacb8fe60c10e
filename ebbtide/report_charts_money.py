"""Pictures of money and of drains: the net-saving waterfall, wasted payments by cause, drain durations.

Pure; called by `ebbtide.report`. Amounts come in ticks and leave rounded once, in the currency given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ebbtide.report_reading import DrainTime
from ebbtide.report_svg import (
    GLYPH,
    NARROW,
    Scale,
    figure,
    line,
    nice_ticks,
    nothing,
    rect,
    row_of_keys,
    svg,
    text,
)
from ledger.money import TICKS, rounded
from simulation.summary import quantile


@dataclass(frozen=True, slots=True)
class Bar:
    """One step of the waterfall: what it is called and what it adds, in ticks; a `total` stands on the ground."""

    words: str
    ticks: int
    total: bool = False


def amount(ticks: int, currency: str = "", *, places: int = 2) -> str:
    """Ticks as money for people: `1 234.56 EUR`."""
    text_ = f"{rounded(ticks, places=places):,f}".replace(",", "\u202f").replace("-", "\u2212")
    return f"{text_} {currency}".strip()


def waterfall(bars: Sequence[Bar], currency: str, *, width: float, name: str) -> str:
    """From the guaranteed value of useful hours, payment by payment, down to the net saving."""
    title = "From the value of useful hours to the net saving"
    if not any(bar.ticks for bar in bars):
        return nothing(width=width, name=name, title=title, sentence="No money moved on this day.")
    small = width < NARROW
    row = 38.0 if small else 27.0
    left = 4.0 if small else 14 + max(len(bar.words) for bar in bars) * GLYPH
    room = (max(len(amount(bar.ticks)) for bar in bars) + 1) * 7.4
    spans = _spans(bars)
    low, high = min(0, *(min(s) for s in spans)), max(0, *(max(s) for s in spans))
    ticks = nice_ticks(low / TICKS, high / TICKS, most=4 if small else 6)
    x = Scale(ticks[0], ticks[-1], left + (room if ticks[0] < 0 else 0), width - room)
    bottom = 26 + row * len(bars)
    body = [text(0, 12, f"Net saving, step by step, in {currency}", "head")]
    for tick in ticks:
        body.append(line(x(tick), 22, x(tick), bottom, "grid" if tick else "axis"))
        body.append(text(x(tick), bottom + 15, figure(tick), "tick", anchor="middle" if tick or not small else "start"))
    for number, (bar, (start, end)) in enumerate(zip(bars, spans, strict=True)):
        top = 26 + number * row + (15 if small else 4)
        x0, x1 = sorted((x(start / TICKS), x(end / TICKS)))
        kind = "ours" if bar.total else "peer" if bar.ticks < 0 else "ours-soft"
        body.append(text(0, top - 3 if small else top + 13, bar.words, "label strong" if bar.total else "label"))
        body.append(rect(x0, top, max(1.0, x1 - x0), 17, kind))
        body.append(text(x1 + 6, top + 13, amount(bar.ticks), "label strong" if bar.total else "label"))
        if number + 1 < len(bars):
            body.append(line(x(end / TICKS), top + 17, x(end / TICKS), top + row, "leader"))
    desc = "; ".join(f"{bar.words}: {amount(bar.ticks, currency)}" for bar in bars) + "."
    return svg(width=width, height=bottom + 24, name=name, title=title, desc=desc, body=body)


def _spans(bars: Sequence[Bar]) -> list[tuple[int, int]]:
    """Where each bar starts and ends: totals from the ground, the others from where the one before ended."""
    spans, at = [], 0
    for bar in bars:
        start = 0 if bar.total else at
        at = bar.ticks if bar.total else at + bar.ticks
        spans.append((start, at))
    return spans


@dataclass(frozen=True, slots=True)
class WasteBar:
    """Payments of one kind and cause that bought no lasting work, in ticks."""

    kind: str
    cause: str
    ticks: int


CAUSE_WORDS = {
    "accounting": "free slots",
    "drained": "since the last save, after a drain in time",
    "budget_exceeded": "since the last save, after an overrun",
    "notice": "on notice",
    "restored": "loading saved state",
    "claim_grew": "new demand",
    "claim_shrank": "less demand",
    "rebalance": "moved by Ebbtide",
}
"""Causes of waste whose ledger names do not explain themselves beside a kind of waste."""


def why(cause: str) -> str:
    """A cause in words."""
    return CAUSE_WORDS.get(cause, cause.replace("_", " "))


def _hundredths(part: int, whole: int) -> str:
    return f"{part * 100 / whole:.1f}\u202f%" if part * 1000 >= whole else "under 0.1\u202f%"


def wasted(bars: Sequence[WasteBar], paid: int, currency: str, *, width: float, name: str) -> str:
    """Payments without lasting work, one bar for each kind and cause, with their share of all payments."""
    title = "Payments that bought no lasting work"
    if not bars or paid <= 0:
        return nothing(width=width, name=name, title=title, sentence="Every payment of this day bought lasting work.")
    small = width < NARROW
    row = 36.0 if small else 22.0
    names = [f"{bar.kind}: {why(bar.cause)}" for bar in bars]
    left = 4.0 if small else 14 + max(len(one) for one in names) * GLYPH
    labels = [f"{amount(bar.ticks)}  ({_hundredths(bar.ticks, paid)})" for bar in bars]
    x = Scale(0, max(bar.ticks for bar in bars), left, width - max(len(one) for one in labels) * 7 - 8)
    body = [text(0, 12, f"Payments without lasting work, in {currency} (share of all payments)", "head")]
    if small:
        body[0] = text(0, 12, f"Paid without lasting work, {currency} (share)", "head")
    for number, (bar, one, label) in enumerate(zip(bars, names, labels, strict=True)):
        top = 24 + number * row + (14 if small else 2)
        body.append(text(0, top - 3 if small else top + 12, one, "label"))
        body.append(rect(left, top, max(1.0, x(bar.ticks) - left), 15, "pale" if bar.kind == "idle" else "peer"))
        body.append(text(max(left + 1, x(bar.ticks)) + 6, top + 12, label, "label"))
    desc = "; ".join(f"{one} {label}" for one, label in zip(names, labels, strict=True)) + "."
    return svg(width=width, height=24 + row * len(bars) + 6, name=name, title=title, desc=desc, body=body)


LIMIT_S = 120
"""The notice that a reclaim gives by contract; a drain beyond it is an overrun."""

COLUMN_S = 2


def drain_durations(
    times: Sequence[DrainTime], tiers: Sequence[str], *, limit_s: int = LIMIT_S, width: float, name: str
) -> str:
    """How long drains on notice took: for each tier columns of two seconds, with median and 99th percentile."""
    title = "How long drains took"
    shown = [tier for tier in tiers if any(t.tier == tier and t.outcome != "withdrawn" for t in times)]
    if not shown:
        return nothing(width=width, name=name, title=title, sentence="No node drained on notice on this day.")
    small = width < NARROW
    row = 62.0 if small else 54.0
    left = 4.0 if small else 96.0
    x = Scale(0, limit_s, left, width - (12 if small else 190))
    bottom = 44 + row * len(shown)
    head, _ = row_of_keys(0, 34, (("ours", "verified"), ("alarm", "overrun")))
    body = [text(0, 12, "Seconds from notice to empty, by tier (each row to its own height)", "head"), head]
    if small:
        body[0] = text(0, 12, "Seconds from notice to empty, by tier", "head")
    for tick in nice_ticks(0, limit_s, most=5 if small else 7):
        if tick <= limit_s:
            body.append(line(x(tick), 44, x(tick), bottom, "grid"))
            body.append(text(x(tick), bottom + 15, figure(tick), "tick", anchor="middle" if tick else "start"))
    for number, tier in enumerate(shown):
        body += _durations(tier, times, x, 44 + number * row, row, small=small)
    body.append(line(x(limit_s), 40, x(limit_s), bottom, "bound"))
    body.append(text(x(limit_s) - 5, 34, "notice ends", "tick", anchor="end"))
    body.append(text(x(limit_s), bottom + 30, "seconds", "tick", anchor="end"))
    desc = ". ".join(f"{tier}: {_quantiles(_millis(tier, times))}" for tier in shown) + "."
    return svg(width=width, height=bottom + 36, name=name, title=title, desc=desc, body=body)


def _durations(tier: str, times: Sequence[DrainTime], x: Scale, top: float, row: float, *, small: bool) -> list[str]:
    counts: dict[tuple[int, bool], int] = {}
    for one in times:
        if one.tier == tier and one.outcome != "withdrawn":
            key = min(int(x.hi) - COLUMN_S, one.duration_ms // 1000 // COLUMN_S * COLUMN_S), one.outcome == "verified"
            counts[key] = counts.get(key, 0) + 1
    height = Scale(0, max(counts.values()), 0, row - (30 if small else 14))
    base = top + row - 4
    parts = [line(x(0), base, x(x.hi), base, "axis")]
    for (second, verified), count in sorted(counts.items()):
        kind = "ours" if verified else "alarm"
        wide = x(second + COLUMN_S) - x(second) - 0.6
        says = f"{count} drains took {second} to {second + COLUMN_S} s"
        parts.append(rect(x(second), base - height(count), wide, height(count), kind, says=says))
    times_ms = _millis(tier, times)
    for permille in (500, 990):
        at = x(quantile(times_ms, permille) / 1000)
        parts.append(line(at, base + 1, at, base - 7, "mark"))
    if small:
        parts += [text(4, top + 12, f"{tier}: {_quantiles(times_ms)}", "label")]
    else:
        parts += [text(0, base - 2, tier, "label"), text(x(x.hi) + 10, base - 2, _quantiles(times_ms), "tick")]
    return parts


def _millis(tier: str, times: Sequence[DrainTime]) -> list[int]:
    return sorted(one.duration_ms for one in times if one.tier == tier and one.outcome != "withdrawn")


def _quantiles(times: Sequence[int]) -> str:
    half, most = (quantile(times, permille) / 1000 for permille in (500, 990))
    return f"{len(times)} drains, p50 {half:.0f} s, p99 {most:.0f} s"

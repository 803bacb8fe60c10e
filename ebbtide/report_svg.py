"""Scales, ticks and SVG elements: what every picture of a report is drawn with.

Pure text in, text out; called by the `report_charts` modules. It knows nothing of regions, money or events. Coordinates
are pixels of the picture, y downwards. All text is escaped here, so that no name can break a picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from zoneinfo import ZoneInfo

from contracts.errors import Breach

HOUR_MS = 3_600_000

NARROW = 520
"""Pictures narrower than this are for a telephone: fewer ticks, labels inside the frame."""

GLYPH = 6.6
"""Mean width of a character at the pictures' 12 px, in pixels: measured on common sans-serif faces, generous."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight map from values `lo..hi` to pixels `start..end`; values outside are clipped to the ends."""

    lo: float
    hi: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value; the start when the scale has no extent."""
        if self.hi <= self.lo:
            return self.start
        share = min(1.0, max(0.0, (value - self.lo) / (self.hi - self.lo)))
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class LogScale:
    """A logarithmic map from `lo..hi`, both above zero, to pixels; values outside are clipped to the ends."""

    lo: float
    hi: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value; zero and less stand at the lower end."""
        if value <= self.lo:
            return self.start
        share = min(1.0, math.log(value / self.lo) / math.log(self.hi / self.lo))
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Frame:
    """The rectangle that a picture's data are drawn in."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.top + self.height


def nice_ticks(lo: float, hi: float, *, most: int = 5) -> tuple[float, ...]:
    """Round numbers (1, 2 or 5 times a power of ten apart) from at most `lo` to at least `hi`, about `most` of them."""
    if not (math.isfinite(lo) and math.isfinite(hi)):
        raise Breach(f"an axis cannot run from {lo} to {hi}")
    if hi <= lo:
        hi = lo + 1
    rough = (hi - lo) / max(1, most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.floor(lo / step + 1e-9), math.ceil(hi / step - 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return tuple(round(n * step, digits) for n in range(first, last + 1))


def hour_ticks(from_ms: int, to_ms: int, zone: str, *, most: int) -> tuple[tuple[int, str], ...]:
    """Whole local hours inside a span as `(instant, "15:00")`, at most about `most`, on multiples of their distance."""
    hours = max(1, -(-(to_ms - from_ms) // HOUR_MS))
    step = next((s for s in (1, 2, 3, 4, 6, 12) if hours / s <= most), 24)
    place = ZoneInfo(zone)
    at = datetime.fromtimestamp(from_ms / 1000, UTC).replace(minute=0, second=0, microsecond=0)
    ticks = []
    while at.timestamp() * 1000 <= to_ms:
        local = at.astimezone(place)
        if at.timestamp() * 1000 >= from_ms and local.hour % step == 0:
            ticks.append((round(at.timestamp() * 1000), local.strftime("%H:%M")))
        at += timedelta(hours=1)
    return tuple(ticks)


def clock(at: int, zone: str, *, seconds: bool = False) -> str:
    """An instant as a clock time of the zone."""
    form = "%H:%M:%S" if seconds else "%H:%M"
    return datetime.fromtimestamp(at / 1000, UTC).astimezone(ZoneInfo(zone)).strftime(form)


def apart(wanted: Sequence[float], *, gap: float, lo: float, hi: float) -> tuple[float, ...]:
    """Positions near the wanted ones, in their order of size, at least `gap` apart where `lo..hi` has room for it."""
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    placed = [0.0] * len(wanted)
    floor = lo
    for i in order:
        placed[i] = max(wanted[i], floor)
        floor = placed[i] + gap
    ceiling = hi
    for i in reversed(order):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return tuple(placed)


def figure(value: float) -> str:
    """A number as a person reads it: thousands set apart by a narrow space, at most two decimals."""
    text = f"{value:,.2f}".rstrip("0").rstrip(".") if value != int(value) else f"{int(value):,}"
    return text.replace(",", "\u202f").replace("-", "\u2212")


def share_text(share: float) -> str:
    """A share as whole hundredths, written like every percentage of ours."""
    return f"{share * 100:.0f}\u202f%"


def num(value: float) -> str:
    """A coordinate, to a tenth of a pixel; raises `Breach` for what is no number."""
    if not math.isfinite(value):
        raise Breach(f"a picture cannot be drawn at {value}")
    return (
        f"{value:.1f}".removesuffix(".0").replace("-0", "0") if abs(value) < 0.05 else f"{value:.1f}".removesuffix(".0")
    )


def svg(*, width: float, height: float, name: str, title: str, desc: str, body: Iterable[str]) -> str:
    """A whole picture; `name` is unique on its page, title and description are what a screen reader says."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {num(width)} {num(height)}" '
        f'width="{num(width)}" height="{num(height)}" role="img" aria-labelledby="{escape(name)}-t {escape(name)}-d">'
        f'<title id="{escape(name)}-t">{escape(title)}</title><desc id="{escape(name)}-d">{escape(desc)}</desc>'
        f"{''.join(body)}</svg>"
    )


def stacked(pictures: Sequence[str], *, left: float, top: float, gap: float) -> tuple[str, float]:
    """Whole pictures below each other inside a larger one, and the y below them; for pictures made by `svg` only."""
    parts, y = [], top
    for one in pictures:
        parts.append(f'<g transform="translate({num(left)} {num(y)})">{one}</g>')
        y += float(one.split('height="', 1)[1].split('"', 1)[0]) + gap
    return "".join(parts), y


def nothing(*, width: float, name: str, title: str, sentence: str) -> str:
    """What stands where a picture would be when there is nothing to draw."""
    body = text(0, 22, sentence, "note")
    return svg(width=width, height=34, name=name, title=title, desc=sentence, body=[body])


def row_of_keys(x: float, y: float, names: Sequence[tuple[str, str]], *, ends: float = 1e9) -> tuple[str, float]:
    """Names with a swatch each (a circle for kinds that are drawn as circles), in rows that end before `ends`.

    For pictures without room at their side. Returns the text and the baseline of the row below.
    """
    parts, at = [], x
    for kind, name in names:
        wide = 16 + len(name) * GLYPH
        if at > x and at + wide > ends:
            at, y = x, y + 18
        swatch = dot(at + 5.5, y - 4, 3.2, kind) if kind in CIRCLES else rect(at, y - 9, 11, 10, kind)
        parts += [swatch, text(at + 16, y, name, "label")]
        at += wide + 14
    return "".join(parts), y + 18


CIRCLES = frozenset({"open", "filled"})


def text(x: float, y: float, words: str, kind: str = "", *, anchor: str = "start") -> str:
    """One line of text with its baseline at `y`; `kind` is a class of the stylesheet."""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{num(x)}" y="{num(y)}"{_kind(kind)}{side}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{num(x1)}" y1="{num(y1)}" x2="{num(x2)}" y2="{num(y2)}"{_kind(kind)}/>'


def rect(x: float, y: float, width: float, height: float, kind: str, *, says: str = "", fade: float = 1.0) -> str:
    """A rectangle, never of negative size; `says` is shown where the pointer rests, `fade` its opacity."""
    opacity = "" if fade >= 1 else f' fill-opacity="{fade:.2f}"'
    shape = f'<rect x="{num(x)}" y="{num(y)}" width="{num(max(0, width))}" height="{num(max(0, height))}"'
    return f"{shape}{_kind(kind)}{opacity}{_said('rect', says)}"


def dot(x: float, y: float, radius: float, kind: str, *, says: str = "") -> str:
    """A filled circle."""
    return f'<circle cx="{num(x)}" cy="{num(y)}" r="{num(radius)}"{_kind(kind)}{_said("circle", says)}'


def path(points: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> str:
    """A line through points, or the area that it closes; nothing for fewer than two points."""
    if len(points) < 2:
        return ""
    steps = "L".join(f"{num(x)} {num(y)}" for x, y in points)
    return f'<path d="M{steps}{"Z" if closed else ""}"{_kind(kind)}/>'


def stairs(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The points of a line that keeps each value until the next one."""
    steps: list[tuple[float, float]] = []
    for x, y in points:
        if steps:
            steps.append((x, steps[-1][1]))
        steps.append((x, y))
    return tuple(steps)


def time_axis(frame: Frame, x: Scale, ticks: Sequence[tuple[int, str]], *, label: str = "", words: bool = True) -> str:
    """Faint lines at the ticks down the frame, and below it their labels and what they count."""
    parts = []
    for at, name in ticks:
        parts.append(line(x(at), frame.top, x(at), frame.bottom, "grid"))
        if words:
            ends = "start" if x(at) < frame.left + 14 else "end" if x(at) > frame.right - 14 else "middle"
            parts.append(text(x(at), frame.bottom + 15, name, "tick", anchor=ends))
    parts.append(line(frame.left, frame.bottom, frame.right, frame.bottom, "axis"))
    if label:
        parts.append(text(frame.right, frame.bottom + 30, label, "tick", anchor="end"))
    return "".join(parts)


def value_axis(frame: Frame, y: Scale | LogScale, ticks: Sequence[float], *, names: Sequence[str] | None = None) -> str:
    """Faint lines at the ticks across the frame and their labels to its left."""
    parts = []
    for number, tick in enumerate(ticks):
        parts.append(line(frame.left, y(tick), frame.right, y(tick), "grid"))
        name = names[number] if names else figure(tick)
        parts.append(text(frame.left - 6, y(tick) + 4, name, "tick", anchor="end"))
    return "".join(parts)


def _said(tag: str, says: str) -> str:
    return f"><title>{escape(says)}</title></{tag}>" if says else "/>"


def _kind(kind: str) -> str:
    return f' class="{escape(kind)}"' if kind else ""

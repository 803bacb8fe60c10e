"""Pictures of capacity, losses and concentration over a day: values in, one SVG text out.

Pure; called by `ebbtide.report` and `ebbtide.report_picture`. Each takes its width in pixels, and below `NARROW` lays
itself out for a telephone. Instants are milliseconds since the epoch and are shown in the zone given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ebbtide.report_reading import Bin, FoundWave
from ebbtide.report_svg import (
    GLYPH,
    HOUR_MS,
    NARROW,
    Frame,
    LogScale,
    Scale,
    apart,
    clock,
    figure,
    hour_ticks,
    line,
    nice_ticks,
    nothing,
    path,
    rect,
    row_of_keys,
    stairs,
    svg,
    text,
    time_axis,
    value_axis,
)
from simulation.moments import Moment


@dataclass(frozen=True, slots=True)
class Span:
    """The time that a picture shows, and the zone that its clock times are in."""

    from_ms: int
    to_ms: int
    zone: str

    def ticks(self, width: float) -> tuple[tuple[int, str], ...]:
        """Labelled hours, as many as a picture of this width has room for."""
        return hour_ticks(self.from_ms, self.to_ms, self.zone, most=5 if width < NARROW else 12)

    @property
    def clock(self) -> str:
        """What the time axis counts."""
        return f"local time, {self.zone}"


def frame_of(width: float, top: float, height: float, *, right: float = 172) -> Frame:
    """The frame of a picture: room for numbers on the left, and on the right for names where the picture is wide."""
    left = 44.0 if width < NARROW else 52.0
    return Frame(left, top, width - left - (10 if width < NARROW else right), height)


def capacity(moments: Sequence[Moment], span: Span, *, width: float, name: str) -> str:
    """Instances held (floor, fallback and reclaimable, stacked) and below them the units wanted and running."""
    title = "Capacity held over the day"
    if len(moments) < 2:
        return nothing(width=width, name=name, title=title, sentence="No samples of this day: nothing to draw.")
    small = width < NARROW
    upper = frame_of(width, 24, 150 if small else 190)
    head = ""
    if small:
        named = (("reclaimable", "reclaimable"), ("fallback", "fallback"), ("floor", "floor"))
        head, below = row_of_keys(upper.left, 40, named, ends=width)
        upper = frame_of(width, below + 2, 150)
    lower = frame_of(width, upper.bottom + 62, 90 if small else 120)
    x = Scale(span.from_ms, span.to_ms, upper.left, upper.right)
    top = max(m.reclaimable + m.floor + m.fallback for m in moments)
    ticks = nice_ticks(0, top, most=5)
    y = Scale(0, ticks[-1], upper.bottom, upper.top)
    body = [head, text(0, 12, "Instances held", "head")]
    body += _stack(moments, x, y, upper)
    body += [value_axis(upper, y, ticks), time_axis(upper, x, span.ticks(width), words=False)]
    if not small:
        body += _stack_names(moments, y, upper)
    body += _units(moments, span, x, lower, small=small)
    last = moments[-1]
    desc = (
        f"At most {top} instances were held at once; at the end {last.reclaimable} reclaimable, {last.floor} floor and "
        f"{last.fallback} fallback, with {last.running_units} of {last.wanted_units} wanted units running."
    )
    return svg(width=width, height=lower.bottom + 36, name=name, title=title, desc=desc, body=body)


def _stack(moments: Sequence[Moment], x: Scale, y: Scale, frame: Frame) -> list[str]:
    layers: list[tuple[str, list[int]]] = [
        ("reclaimable", [m.floor + m.fallback + m.reclaimable for m in moments]),
        ("fallback", [m.floor + m.fallback for m in moments]),
        ("floor", [m.floor for m in moments]),
    ]
    parts = []
    for kind, tops in layers:
        edge = [*stairs([(x(m.at), y(t)) for m, t in zip(moments, tops, strict=True)]), (frame.right, y(tops[-1]))]
        parts.append(path([(edge[0][0], frame.bottom), *edge, (frame.right, frame.bottom)], kind, closed=True))
    return parts


def _stack_names(moments: Sequence[Moment], y: Scale, frame: Frame) -> list[str]:
    last = moments[-1]
    spots = [
        ("reclaimable", y(last.floor + last.fallback + last.reclaimable / 2), _range([m.reclaimable for m in moments])),
        ("fallback", y(last.floor + last.fallback), _range([m.fallback for m in moments])),
        ("floor", y(last.floor / 2), _range([m.floor for m in moments])),
    ]
    places = apart([spot[1] for spot in spots], gap=16, lo=frame.top + 6, hi=frame.bottom - 2)
    return [
        text(frame.right + 8, at + 4, f"{kind} {reach}", f"label name-{kind}")
        for (kind, _, reach), at in zip(spots, places, strict=True)
    ]


def _units(moments: Sequence[Moment], span: Span, x: Scale, frame: Frame, *, small: bool) -> list[str]:
    wanted = [m.wanted_units for m in moments]
    running = [m.running_units for m in moments]
    ticks = nice_ticks(min(*wanted, *running), max(*wanted, *running), most=4)
    y = Scale(ticks[0], ticks[-1], frame.bottom, frame.top)
    times = [*(x(m.at) for m in moments), frame.right]
    upper = stairs([*zip(times, map(y, [*wanted, wanted[-1]]), strict=True)])
    under = stairs([*zip(times, map(y, [*running, running[-1]]), strict=True)])
    note = "" if ticks[0] <= 0 else f", axis from {figure(ticks[0])}"
    parts = [
        text(0, frame.top - 26, f"Units wanted and running{note}", "head"),
        path([*upper, *reversed(under)], "gap", closed=True),
        value_axis(frame, y, ticks),
        time_axis(frame, x, span.ticks(1e9 if not small else 0), label=span.clock),
        path(upper, "line-dark"),
        path(under, "line-ours"),
    ]
    if small:
        return [
            *parts,
            row_of_keys(frame.left, frame.top - 8, (("dark", "wanted"), ("ours", "running"), ("gap", "missing")))[0],
        ]
    places = apart([y(wanted[-1]), y(running[-1])], gap=16, lo=frame.top, hi=frame.bottom)
    parts.append(text(frame.right + 8, places[0] + 4, f"wanted {figure(wanted[-1])}", "label name-dark"))
    parts.append(text(frame.right + 8, places[1] + 4, f"running {figure(running[-1])}", "label name-ours"))
    return parts


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return figure(low) if low == high else f"{figure(low)} to {figure(high)}"


def taken_back(bins: Sequence[Bin], waves: Sequence[FoundWave], span: Span, *, width: float, name: str) -> str:
    """Instances taken back in each interval, by how they ended, with the largest waves named over their bars."""
    title = "Instances the provider took back"
    total = sum(one.total for one in bins)
    if not total:
        return nothing(width=width, name=name, title=title, sentence="The provider took no instance back on this day.")
    small = width < NARROW
    bins = _doubled(bins) if small else bins
    minutes = (bins[1].at - bins[0].at) // 60_000 if len(bins) > 1 else (span.to_ms - span.from_ms) // 60_000
    counts = {kind: sum(getattr(one, field) for one in bins) for field, kind in _FATES}
    head, below = row_of_keys(
        0,
        34,
        [(kind, f"{words} {figure(counts[kind])}") for (_, kind), words in zip(_FATES, _WORDS, strict=True)],
        ends=width,
    )
    frame = frame_of(width, below + 16, 110 if small else 130)
    x = Scale(span.from_ms, span.to_ms, frame.left, frame.right)
    ticks = nice_ticks(0, max(one.total for one in bins), most=4)
    y = Scale(0, ticks[-1], frame.bottom, frame.top)
    wide = max(1.5, x(bins[0].at + minutes * 60_000) - x(bins[0].at) - 0.8)
    body = [text(0, 12, f"Instances taken back, per {minutes} minutes", "head"), head, value_axis(frame, y, ticks)]
    body.append(time_axis(frame, x, span.ticks(width), label=span.clock))
    body += _wave_names(waves, x, frame, span, most=2 if small else 5, ends=width)
    for one in bins:
        before = 0
        for field, kind in _FATES:
            count = getattr(one, field)
            if count:
                height = y(before) - y(before + count)
                body.append(rect(x(one.at), y(before + count), wide, height, kind, says=f"{count} {kind}"))
            before += count
    desc = f"{total} instances were taken back: {', '.join(f'{v} {k}' for k, v in counts.items())}."
    return svg(width=width, height=frame.bottom + 36, name=name, title=title, desc=desc, body=body)


def _doubled(bins: Sequence[Bin]) -> list[Bin]:
    """Two intervals in one, where there is half the room."""
    pairs = zip(bins[::2], [*bins[1::2], Bin(0, 0, 0, 0)], strict=False)
    return [Bin(a.at, a.returned + b.returned, a.ended + b.ended, a.unnoticed + b.unnoticed) for a, b in pairs]


_FATES = (("returned", "returned"), ("ended", "ended"), ("unnoticed", "unnoticed"))
_WORDS = ("drained and given back early", "taken when the notice ended", "lost without notice")


def _wave_names(waves: Sequence[FoundWave], x: Scale, frame: Frame, span: Span, *, most: int, ends: float) -> list[str]:
    """The largest waves, one for each hall and hour, named above the bars."""
    named: list[FoundWave] = []
    for wave in waves:
        near = any(other.hall == wave.hall and abs(other.begins - wave.begins) < HOUR_MS for other in named)
        if not near and len(named) < most and wave.instances >= max(3, waves[0].instances // 5):
            named.append(wave)
    named.sort(key=lambda wave: wave.begins)
    words = [f"{short_place(wave.hall)} {clock(wave.begins, span.zone)}: {wave.instances}" for wave in named]
    half = max((len(word) for word in words), default=0) * GLYPH / 2
    places = apart([x(w.begins) for w in named], gap=2 * half + 10, lo=half, hi=max(half, ends - half))
    parts = []
    for wave, word, place in zip(named, words, places, strict=True):
        parts.append(line(x(wave.begins), frame.top - 4, x(wave.begins), frame.bottom, "grid"))
        parts.append(line(place, frame.top - 11, x(wave.begins), frame.top - 4, "leader"))
        parts.append(text(place, frame.top - 14, word, "label", anchor="middle"))
    return parts


def concentration(ours: Sequence[Moment], peer: Sequence[Moment], span: Span, *, width: float, name: str) -> str:
    """The fullest domain and group of any workload over its bound, ours and price-first, on a logarithmic axis."""
    title = "Concentration against its bounds"
    if len(ours) < 2:
        return nothing(width=width, name=name, title=title, sentence="No samples of this day: nothing to draw.")
    small = width < NARROW
    lines = _series(ours, peer)
    kinds = [(kind.replace("line", "swatch"), words) for kind, words, _ in lines]
    head, below = row_of_keys(0, 34, kinds, ends=width) if small else ("", 24)
    frame = frame_of(width, below + 4, 180 if small else 210)
    worst = max(value for _, _, points in lines for _, value in points)
    ticks = [0.5, 1.0, 2.0]
    while ticks[-1] < worst:
        ticks.append(ticks[-1] * 2)
    x = Scale(span.from_ms, span.to_ms, frame.left, frame.right)
    y = LogScale(ticks[0], ticks[-1], frame.bottom, frame.top)
    names = ["\u2264 \u00bd\u00d7", "1\u00d7", *(f"{figure(tick)}\u00d7" for tick in ticks[2:])]
    body = [text(0, 12, "Fullest place of any workload, as a multiple of its bound (logarithmic)", "head"), head]
    if small:
        body[0] = text(0, 12, "Fullest place over its bound (log scale)", "head")
    body += [value_axis(frame, y, ticks, names=names), time_axis(frame, x, span.ticks(width), label=span.clock)]
    body.append(line(frame.left, y(1), frame.right, y(1), "bound"))
    for kind, _, points in reversed(lines):
        body.append(path(stairs([*((x(at), y(value)) for at, value in points), (frame.right, y(points[-1][1]))]), kind))
    if not small:
        ends = [y(points[-1][1]) if points else frame.top for _, _, points in lines]
        places = apart([*ends, y(1)], gap=15, lo=frame.top, hi=frame.bottom)
        for (kind, words, _), at in zip((*lines, ("bound", "the bound", ())), places, strict=True):
            body.append(text(frame.right + 8, at + 4, words, f"label name-{kind}"))
    desc = "; ".join(f"{words}: at most {max(v for _, v in points):.2f} times its bound" for _, words, points in lines)
    return svg(width=width, height=frame.bottom + 36, name=name, title=title, desc=desc + ".", body=body)


_Line = tuple[str, str, list[tuple[int, float]]]


def _series(ours: Sequence[Moment], peer: Sequence[Moment]) -> list[_Line]:
    lines: list[_Line] = [
        ("line-ours", "Ebbtide, domain", [(m.at, m.worst_domain_permille / 1000) for m in ours]),
        ("line-ours2", "Ebbtide, group", [(m.at, m.worst_group_permille / 1000) for m in ours]),
        ("line-peer", "price-first, domain", [(m.at, m.worst_domain_permille / 1000) for m in peer]),
        ("line-peer2", "price-first, group", [(m.at, m.worst_group_permille / 1000) for m in peer]),
    ]
    return [one for one in lines if len(one[2]) > 1]


def short_place(name: str) -> str:
    """A hall or pool without its region, whose name every one of them starts with."""
    return name.partition("-")[2] or name

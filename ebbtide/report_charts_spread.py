"""Pictures of who fell together and of where nothing was placed: halls, workloads, and the exclusion timeline.

Pure; called by `ebbtide.report`. Values in, one SVG text out, wide or for a telephone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ebbtide.report_charts import Span, short_place
from ebbtide.report_reading import Closed, HallShare, Probe
from ebbtide.report_svg import (
    GLYPH,
    NARROW,
    Frame,
    Scale,
    clock,
    dot,
    figure,
    line,
    nice_ticks,
    nothing,
    rect,
    row_of_keys,
    share_text,
    svg,
    text,
    time_axis,
)

STEP = 0.05
"""Width of one column of the picture of workloads: five hundredths of a workload."""


def halls_fallen(ours: Sequence[HallShare], peer: Sequence[HallShare], *, width: float, name: str) -> str:
    """For each hall, the share of its lent instances that the wave took, ours above price-first."""
    title = "Share of each hall's lent instances that the largest wave took"
    if not any(one.stood for one in (*ours, *peer)):
        return nothing(width=width, name=name, title=title, sentence="No wave took an instance on this day.")
    small = width < NARROW
    left = 12 + max(len(short_place(one.hall)) for one in ours) * GLYPH
    head, below = row_of_keys(0, 34, (("ours", "Ebbtide"), ("peer", "price-first")), ends=width)
    row, wide = 38.0, width - left - (112 if small else 150)
    x = Scale(0, 1, left, left + wide)
    body = [text(0, 12, "Share of a hall's lent instances taken by the largest wave", "head"), head]
    if small:
        body[0] = text(0, 12, "Share of each hall taken by the wave", "head")
    others = {one.hall: one for one in peer}
    for number, mine in enumerate(ours):
        top = below + number * row
        body.append(text(0, top + 18, short_place(mine.hall), "label"))
        for offset, kind, one in ((3, "ours", mine), (17, "peer", others.get(mine.hall, HallShare(mine.hall, 0, 0)))):
            body.append(rect(left, top + offset, wide, 12, "track"))
            body.append(rect(left, top + offset, x(one.share) - left, 12, kind))
            words = f"{share_text(one.share)} of {figure(one.stood)}"
            body.append(text(left + wide + 6, top + offset + 10, words, "label"))
    desc = "; ".join(
        f"{short_place(o.hall)}: Ebbtide {o.fallen} of {o.stood}, price-first "
        f"{others[o.hall].fallen} of {others[o.hall].stood}"
        for o in ours
        if o.hall in others
    )
    return svg(width=width, height=below + len(ours) * row + 4, name=name, title=title, desc=desc, body=body)


def workloads_fallen(
    ours: Sequence[tuple[str, float]], peer: Sequence[tuple[str, float]], *, width: float, name: str
) -> str:
    """How many workloads lost how much of themselves in their worst wave: columns up for ours, down for price-first."""
    title = "How much of a workload one wave took"
    mine, theirs = _columns(ours), _columns(peer)
    if not mine and not theirs:
        sentence = "No wave took a part of any workload of eight units or more."
        return nothing(width=width, name=name, title=title, sentence=sentence)
    small = width < NARROW
    frame = Frame(44 if small else 52, 44, width - (54 if small else 224), 150)
    most = max([*mine.values(), *theirs.values()])
    ticks = nice_ticks(0, most, most=3)
    middle = frame.top + frame.height / 2
    reach = Scale(0, ticks[-1], 0, frame.height / 2 - 2)
    furthest = max([*mine, *theirs, 6])
    x = Scale(0, min(20, furthest + 1) * STEP, frame.left, frame.right)
    body = [text(0, 12, "Workloads by the largest share of their lent units that one wave took", "head")]
    if small:
        body[0] = text(0, 12, "Workloads by the share their worst wave took", "head")
    for tick in ticks:
        for sign in (-1, 1) if tick else (1,):
            body.append(line(frame.left, middle + sign * reach(tick), frame.right, middle + sign * reach(tick), "grid"))
            body.append(text(frame.left - 6, middle + sign * reach(tick) + 4, figure(tick), "tick", anchor="end"))
    for columns, kind, up in ((mine, "ours", True), (theirs, "peer", False)):
        for column, count in columns.items():
            x0, tall = x(column * STEP), reach(count)
            says = f"{count} workloads lost {column * 5} to {column * 5 + 5} %"
            body.append(
                rect(x0 + 1, middle - tall if up else middle, x((column + 1) * STEP) - x0 - 2, tall, kind, says=says)
            )
    body.append(line(frame.left, middle, frame.right, middle, "axis"))
    percents = range(0, min(20, furthest + 1) * 5 + 1, 20 if small and furthest > 6 else 10)
    for p in percents:
        side = "end" if x(p / 100) > frame.right - 14 else "middle"
        body.append(text(x(p / 100), frame.bottom + 15, share_text(p / 100), "tick", anchor=side))
    body.append(text(frame.right, frame.bottom + 30, "of the workload's lent units", "tick", anchor="end"))
    for (label, worst), y in (
        (_worst("Ebbtide", ours), frame.top + 4),
        (_worst("price-first", peer), frame.bottom - 26),
    ):
        where = (frame.right, "end") if small else (frame.right + 10, "start")
        body.append(text(where[0], y + 4, label, "label", anchor=where[1]))
        body.append(text(where[0], y + 19, worst, "tick", anchor=where[1]))
    desc = ". ".join(f"{label}: {worst}" for label, worst in (_worst("Ebbtide", ours), _worst("price-first", peer)))
    return svg(width=width, height=frame.bottom + 36, name=name, title=title, desc=desc, body=body)


def _columns(shares: Sequence[tuple[str, float]]) -> Counter[int]:
    return Counter(min(19, int(share / STEP + 1e-9)) for _, share in shares if share > 0)


def _worst(label: str, shares: Sequence[tuple[str, float]]) -> tuple[str, str]:
    hit = [share for _, share in shares if share > 0]
    return label, f"{len(hit)} hit, worst {share_text(max(hit))}" if hit else "none hit"


CAUSES: Mapping[str, tuple[str, str]] = {
    "reclaim_burst": ("ours", "burst of reclaims"),
    "advisory": ("ours-soft", "provider's advisory"),
    "missing_notice": ("alarm", "taken without notice"),
    "short_notice": ("alarm-soft", "notice too short"),
    "failed_acquisitions": ("dark", "failed acquisitions"),
}
"""The causes of exclusion, each with its colour and words; any other is drawn neutral under its own name."""


def exclusions(closed: Sequence[Closed], probes: Sequence[Probe], span: Span, *, width: float, name: str) -> str:
    """Each pool that took no placement for a time: a bar by cause, and the probes that tried it again."""
    title = "Pools excluded from placement"
    pools = sorted({one.pool for one in closed} | {one.pool for one in probes})
    if not pools:
        sentence = "No pool was excluded from placement on this day."
        return nothing(width=width, name=name, title=title, sentence=sentence)
    small = width < NARROW
    seen = sorted({one.cause for one in closed}, key=lambda c: (list(CAUSES).index(c) if c in CAUSES else 99, c))
    swatches = [CAUSES.get(cause, ("peer", cause.replace("_", " "))) for cause in seen]
    head, below = row_of_keys(
        0, 34, [*swatches, ("filled", "probe after success"), ("open", "first probe")], ends=width
    )
    # a telephone has no room for names beside the bars: they stand above them
    row = 25.0 if small else 15.0
    left = 4.0 if small else 10 + max(len(short_place(pool)) for pool in pools) * GLYPH * 0.92
    frame = Frame(left, below, width - left - 16, row * len(pools) + 4)
    x = Scale(span.from_ms, span.to_ms, frame.left, frame.right)
    body = [text(0, 12, "When pools took no placement, and why", "head"), head]
    body.append(time_axis(frame, x, span.ticks(width), label=span.clock))
    for number, pool in enumerate(pools):
        top = frame.top + number * row + (12 if small else 2)
        body.append(text(0, top - 3 if small else top + 10, short_place(pool), "tick"))
        for one in (c for c in closed if c.pool == pool):
            kind, words = CAUSES.get(one.cause, ("peer", one.cause))
            says = f"{pool}: {words}, {clock(one.begins, span.zone)} to {clock(one.ends, span.zone)}"
            body.append(rect(x(one.begins), top + 1, max(1.5, x(one.ends) - x(one.begins)), 9, kind, says=says))
        for probe in (p for p in probes if p.pool == pool):
            kind, words = ("filled", "probed again") if probe.succeeded else ("open", "probed")
            body.append(dot(x(probe.at), top + 5.5, 2.6, kind, says=f"{pool} {words} {clock(probe.at, span.zone)}"))
    hours = sum(one.ends - one.begins for one in closed) / 3_600_000
    desc = (
        f"{len(pools)} pools were excluded {len(closed)} times, {hours:.0f} pool-hours in all, and "
        f"probed {len(probes)} times."
    )
    return svg(width=width, height=frame.bottom + 36, name=name, title=title, desc=desc, body=body)

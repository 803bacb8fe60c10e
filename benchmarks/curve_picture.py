"""The curve as one standalone SVG: milliseconds of a cycle and its parts over the nodes of the region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources

from ebbtide.report_svg import Frame, LogScale, apart, dot, figure, line, num, path, rect, text, value_axis

WIDTH, HEIGHT = 720.0, 440.0
FRAME = Frame(70.0, 64.0, 500.0, 320.0)
COLOURS = {
    "cycle": "#6e7781",
    "census": "#1f6feb",
    "diff": "#b35900",
    "placement": "#1a7f37",
    "ranking": "#8250df",
    "telling": "#cf222e",
}
"""The lines; each is readable on paper and on a dark ground."""


def picture(points: Sequence[Mapping[str, float]]) -> str:
    """The whole SVG document; the same points give the same text."""
    nodes = [point["nodes"] for point in points]
    values = [max(0.1, point[f"{name}_ms"]) for name in COLOURS for point in points]
    x = LogScale(min(nodes) / 1.2, max(nodes) * 1.2, FRAME.left, FRAME.right)
    y = LogScale(min(values) / 1.5, max(values) * 1.5, FRAME.bottom, FRAME.top)
    ticks = [10.0**power for power in range(6) if min(values) / 1.5 <= 10.0**power <= max(values) * 1.5]
    body = [value_axis(FRAME, y, ticks), line(FRAME.left, FRAME.bottom, FRAME.right, FRAME.bottom, "axis")]
    for count in nodes:
        body.append(line(x(count), FRAME.top, x(count), FRAME.bottom, "grid"))
        body.append(text(x(count), FRAME.bottom + 16, figure(count), "tick", anchor="middle"))
    ends = apart([y(points[-1][f"{name}_ms"]) for name in COLOURS], gap=16, lo=FRAME.top, hi=FRAME.bottom)
    for (name, colour), end in zip(COLOURS.items(), ends, strict=True):
        dots = [(x(point["nodes"]), y(point[f"{name}_ms"])) for point in points]
        told = f"{name} {figure(round(points[-1][f'{name}_ms']))} ms"
        drawn = "".join(dot(at, height, 3, "") for at, height in dots)
        body.append(f'<g fill="{colour}" stroke="none">{drawn}{text(FRAME.right + 10, end + 4, told)}</g>')
        body.append(f'<g fill="none" stroke="{colour}" stroke-width="2">{path(dots, "")}</g>')
    title = "A cycle by the size of its region"
    style = (resources.files("ebbtide") / "data" / "pictures.css").read_text(encoding="utf-8")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {num(WIDTH)} {num(HEIGHT)}" '
        f'width="{num(WIDTH)}" height="{num(HEIGHT)}" role="img" aria-labelledby="curve-t"><title id="curve-t">{title}'
        f"</title><style>{style}</style>{rect(0, 0, WIDTH, HEIGHT, 'paper')}{text(24, 30, title, 'title')}"
        f"{text(24, 48, 'Milliseconds of a processor, over nodes; both axes logarithmic', 'note')}"
        f"{''.join(body)}</svg>\n"
    )

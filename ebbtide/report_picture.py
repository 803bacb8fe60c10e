"""One standalone SVG of a day for documents: capacity, losses and concentration.

Run by hand after a demo: `python -m ebbtide.report_picture .demo docs/pictures/demo-day.svg`. The picture carries its
own colours, light and dark, and fetches nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from contracts.errors import EbbtideError
from ebbtide.report_charts import capacity, concentration, taken_back
from ebbtide.report_data import ReportData, findings
from ebbtide.report_sections import span_of
from ebbtide.report_source import gathered
from ebbtide.report_svg import num, rect, stacked, text
from ebbtide.state import State

WIDTH = 960.0
MARGIN = 24.0


def picture(data: ReportData) -> str:
    """The whole SVG document; the same data give the same text."""
    found, span = findings(data), span_of(data)
    parts = [
        capacity(found.moments, span, width=WIDTH, name="capacity"),
        taken_back(found.bins, found.waves, span, width=WIDTH, name="losses"),
        concentration(found.moments, found.peer_moments, span, width=WIDTH, name="bounds"),
    ]
    body, below = stacked(parts, left=MARGIN, top=64.0, gap=18.0)
    region = data.ours.summary.region
    style = (resources.files("ebbtide") / "data" / "pictures.css").read_text(encoding="utf-8")
    width, height = num(WIDTH + 2 * MARGIN), num(below + MARGIN - 18)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="day-t"><title id="day-t">A day of region '
        f"{region} under Ebbtide: capacity, losses, concentration</title><style>{style}</style>"
        f"{rect(0, 0, float(width), float(height), 'paper')}"
        f"{text(MARGIN, 30, f'A day of region {region} under Ebbtide', 'title')}"
        f"{text(MARGIN, 48, f'{data.title[:1].upper()}{data.title[1:]}. {data.source}', 'note')}{body}</svg>\n"
    )


def main(arguments: Sequence[str]) -> int:
    """`STATE OUT`: 0 when the picture is written, 2 when it could not be."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m ebbtide.report_picture STATE OUT\n")
        return 2
    try:
        drawn = picture(gathered(State(Path(arguments[0]))))
        Path(arguments[1]).write_text(drawn, encoding="utf-8")
    except (EbbtideError, OSError) as error:
        sys.stderr.write(f"report_picture: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

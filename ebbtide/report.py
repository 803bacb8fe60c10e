"""One day as one HTML file: pictures, tables beside them, and every number down to its events.

Called by `ebbtide demo`. The file fetches nothing and runs nothing; it prints, and it follows the reader's setting
of light or dark. Assembly only: values come from `report_data`, drawings from `report_charts` and its neighbours.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ebbtide import report_money, report_sections
from ebbtide.report_data import ReportData, findings
from ebbtide.report_html import Markup, join, link, page, section, tag
from ledger.reports import Period

GLOSSARY = (
    ("instance", "one server in one pool, serving one workload; it holds whole units"),
    ("unit", "one replica-sized share of a workload, as its contract sizes it"),
    ("reclaimable", "an instance on lent capacity, which the provider may take back"),
    ("floor", "units that a contract keeps on committed capacity at all times"),
    ("fallback", "guaranteed capacity bought beyond the floor, within a named person's authority"),
    ("headroom", "committed capacity that was paid and not used"),
    ("taken back", "an instance that the provider reclaimed, or that failed; counted once, with or without notice"),
    ("notice", "the provider's word that an instance goes away at a stated time"),
    (
        "drain",
        "what a node does between a notice and its end: verified when seen empty, overrun when time ran out first",
    ),
    ("wave", "instances of one hall taken back within three minutes of each other"),
    ("domain", "the hosts behind one or more pools; bounds are counted over domains"),
    ("group", "pools that are taken back together: an aggregate, a hall, a power domain"),
    ("bound", "how many units of a workload may stand in one domain or group; 1\u00d7 is exactly at it"),
    ("excluded", "a pool that takes no new placement, after evidence against it, until a probe succeeds"),
    ("useful hours", "time in which slots served and whose work was kept, floor and fallback included"),
    ("value", "useful hours at the guaranteed rate of the same flavor"),
    ("redone", "payments for work that was lost and has to be done again"),
    ("restarting", "payments for slots that boot, join or load their state"),
    ("draining", "payments for slots that a drain has emptied, until the server ends"),
    ("idle", "payments for free slots: spare capacity, or demand that went away"),
    ("wasted time", "redone, restarting and draining time over all paid time; idle is left out"),
    ("net saving", "value, less all payments, checkpoint storage and the orchestrator's own footprint"),
    ("net share", "net saving over the guaranteed value of interruptible (reclaimable and fallback) useful hours"),
    ("shortfall", "fewer running units than the contract's minimum"),
    ("price-first", "a planner that takes the cheapest pool, without bounds and without memory, on the same day"),
)
"""What each word and number of the report means, one line each."""

PLACES = (
    ("capacity", "Capacity and losses"),
    ("bounds", "Bounds"),
    ("exclusions", "Exclusion"),
    ("money", "Net saving"),
    ("drains", "Drains"),
    ("losses", "Dearest losses"),
    ("words", "Words"),
)


def write_report(path: Path, data: ReportData) -> None:
    """Write the report as one UTF-8 file, whole or not at all; raises `OSError` where the place cannot be written."""
    document = report(data)
    half = path.with_name(path.stem + ".draft")
    half.write_text(document, encoding="utf-8")
    half.replace(path)


def report(data: ReportData) -> str:
    """The whole document; the same data give the same text."""
    found = findings(data)
    summary = data.ours.summary
    day = "recorded" if data.recorded else "modelled"
    head = tag(
        "header",
        tag("p", "Ebbtide", kind="brand"),
        tag("h1", f"{summary.region.capitalize()}: a {day} day under Ebbtide"),
        tag("p", f"{data.title[:1].upper()}{data.title[1:]}. {data.source}", kind="source"),
        tag(
            "p",
            f"Region {summary.region}, commit ",
            tag("code", data.commit[:12]),
            f", {_length(summary.period)} in local time ({data.zone}).",
            kind="source",
        ),
        tag("nav", *(link(place, name) for place, name in PLACES)),
    )
    body = join(
        [
            head,
            report_sections.headline(data, found),
            report_sections.capacity(data, found),
            report_sections.concentration(data, found),
            report_sections.exclusions(data, found),
            report_money.money(data, found),
            report_sections.drains(data, found),
            report_money.losses(data, found),
            _words(),
        ]
    )
    return page(title=f"Ebbtide: {summary.region}, {data.title}", style=style(), body=body)


def style() -> str:
    """The stylesheet of pages and pictures, from the package."""
    folder = resources.files("ebbtide") / "data"
    return "".join((folder / name).read_text(encoding="utf-8") for name in ("pictures.css", "report.css"))


def _length(period: Period) -> str:
    hours = (period.to_ms - period.from_ms) / 3_600_000
    return f"{hours:g} hours"


def _words() -> Markup:
    entries = [tag("div", tag("dt", word), tag("dd", meaning)) for word, meaning in GLOSSARY]
    return section("words", "What the words mean", "One line for each word and number above.", tag("dl", *entries))

"""The documents say what the code does: every query, cause and term, and the worked example to the last place."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from ledger.adapters.clickhouse import ClickHouseLedger
from ledger.causes import Cause
from ledger.events import Datum, Event, EventType, Paid, Use
from ledger.money import TICKS, rounded
from ledger.net_saving import net_saving
from ledger.reports import TERMS, NetSaving, Period, percent, summed
from ledger.usage import slots
from tests.ledger.histories import HOUR, Subject, Writer, write_rate

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "net-saving.md").read_text(encoding="utf-8")


def hours(text: str) -> int:
    return round(float(text) * HOUR)


def example() -> list[Event]:
    """The events of the page's example."""
    block = PAGE[PAGE.index("```text") + 7 :]
    writer = Writer()
    instances: dict[str, tuple[Subject, Paid, int]] = {}
    for line in block[: block.index("```")].strip().splitlines():
        kind, *pairs = line.split()
        facts = dict(pair.split("=") for pair in pairs)
        workload = facts.get("workload", "-").replace("-", "")
        if kind == "rate":
            write_rate(writer, facts["pool"], facts["rate"], facts["guaranteed"], effective_from=hours(facts["at"]))
        elif kind == "instance":
            about = Subject("north", workload, facts["pool"], facts["name"])
            instances[facts["name"]] = about, Paid(facts["paid"]), int(facts["units"])
            started: dict[str, Datum] = {"units": int(facts["units"]), "paid": facts["paid"]}
            writer.write(EventType.INSTANCE_STARTED, hours(facts["start"]), started, on=about)
            writer.write(EventType.INSTANCE_ENDED, hours(facts["end"]), on=about)
        elif kind == "usage":
            about, paid, units = instances[facts["name"]]
            used = [(use, int(facts[use.value])) for use in Use if use.value in facts]
            for run in slots(units, used):
                end = hours(facts["to"])
                data = run.data(of_units=units, paid=paid, from_ms=hours(facts["from"]), to_ms=end)
                writer.write(EventType.USAGE, end, data, on=about)
        elif kind == "lost":
            about, _, _ = instances[facts["name"]]
            writer.write(EventType.WORK_LOST, hours(facts["at"]), {"unit_ms": hours(facts["unit_hours"])}, on=about)
        else:
            charged = {"storage": EventType.STORAGE_CHARGED, "footprint": EventType.FOOTPRINT_CHARGED}[kind]
            charge: dict[str, Datum] = {"amount": facts["amount"], "currency": "EUR"}
            writer.write(charged, hours(facts["at"]), charge, on=Subject("north", workload))
    return writer.events


def table(rows: tuple[NetSaving, ...]) -> str:
    """The example's result, as the page prints it."""
    columns = [*rows, summed(rows)]
    lines = []
    for name in (
        *("useful_value", "interruptible_value", "reclaimable_paid", "floor_paid", "fallback_paid", "headroom_paid"),
        *("useful_paid", "redone_paid", "restarting_paid", "idle_paid", "draining_paid", "storage", "footprint", "net"),
    ):
        cells = [f"{rounded(getattr(row, name), places=4)}" for row in columns]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    lines.append(f"| share | {' | '.join(percent(row.share_ppm) for row in columns)} |")
    return "\n".join(lines)


def test_the_worked_example_is_what_the_sql_and_the_twin_compute(ledger: ClickHouseLedger) -> None:
    events, period = example(), Period(0, 10 * HOUR)
    ledger.append(events)
    rows = ledger.savings(period)
    assert [row.workload for row in rows] == ["train", "web"]
    assert table(rows) in PAGE
    assert net_saving(events, period) == rows
    assert ledger.reconcile_invoice(period).consistent
    assert f"1 of the currency is {TICKS:,} ticks" in PAGE


def test_every_query_and_every_term_is_explained() -> None:
    files = {path.name for path in resources.files("ledger").joinpath("sql").iterdir()}
    assert files == set(re.findall(r"`(\w+\.sql)`", PAGE))
    assert [term for term in TERMS if f"`{term}`" not in PAGE] == []


@pytest.mark.parametrize("name", [path.name for path in resources.files("ledger").joinpath("sql").iterdir()])
def test_every_query_says_what_it_answers(name: str) -> None:
    lines = resources.files("ledger").joinpath("sql", name).read_text(encoding="utf-8").splitlines()
    said = [line for line in lines if line.startswith("-- ") and not line.startswith(("-- needs: ", "-- recursive"))]
    assert said


def test_every_cause_is_explained_and_no_other() -> None:
    page = (DOCS / "causes.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE) == [cause.value for cause in Cause]

"""The whole report: one file that fetches nothing, opens every number, and says what the day's events say."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

from ebbtide import report_reading as reading
from ebbtide.grammar import TERMS as GRAMMAR_TERMS
from ebbtide.grammar import parser
from ebbtide.report import GLOSSARY, report, write_report
from ebbtide.report_data import MOST_IDS, behind, findings
from ebbtide.report_losses import dearest, paid_ids
from ebbtide.report_picture import picture
from ebbtide.report_reading import Fate
from ledger.events import EventType
from ledger.reports import Reconciliation
from repo_layout.losses import LargestLoss
from tests.report.days import END, HALLS, HOUR, START, Who, day_events, event, renamed, report_data

if TYPE_CHECKING:
    import pytest

VOID = frozenset({"meta", "br", "link", "img"})
SELF_CLOSED = frozenset({"rect", "line", "path", "circle"})


class Reader(HTMLParser):
    """Keeps open elements, ids, links and words; fails on what does not close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        marks = dict(attrs)
        self.names.add(tag)
        self.ids += [str(marks["id"])] if "id" in marks else []
        self.links += [str(marks[name]) for name in ("href", "src") if name in marks]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.names.add(tag)
        assert tag in SELF_CLOSED

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(document: str) -> Reader:
    reader = Reader()
    reader.feed(document)
    reader.close()
    assert reader.open == []
    return reader


def test_the_document_is_well_formed_and_its_links_lead_somewhere_on_it() -> None:
    reader = read(report(report_data()))
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.links
    assert {target.removeprefix("#") for target in reader.links} <= set(reader.ids)


def test_the_document_fetches_nothing_and_runs_nothing() -> None:
    document = report(report_data()).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|\bon[a-z]+=", document)
    assert read(document).names.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "form"})


def test_the_same_day_gives_the_same_bytes(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", report_data())
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report(report_data())
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_hostile_name_of_a_workload_stays_text() -> None:
    document = report(renamed(report_data(), "<script>alert('x')</script>"))
    assert "<script" not in document
    read(document)


def test_a_day_without_events_says_so_instead_of_drawing() -> None:
    rates = tuple(e for e in day_events() if e.type is EventType.RATE_KNOWN)
    data = report_data(rates)
    quiet = replace(data, ours=replace(data.ours, moments=(), waste=()), peer=replace(data.peer, moments=()))
    words = " ".join(read(report(quiet)).words)
    for sentence in (
        "No samples of this day", "took no instance back", "No pool was excluded", "No money moved",
        "Every payment of this day bought lasting work", "No node drained",
    ):  # fmt: skip
        assert sentence in words


def test_every_amount_of_the_money_opens_to_its_events_and_a_command_for_all_of_them() -> None:
    document = report(report_data())
    for term in ("useful_value", "reclaimable_paid", "redone_paid", "restarting_paid"):
        assert f'href="#behind-{term}"' in document
        assert f"<code>ebbtide savings --behind {term}</code>" in document


def test_the_commands_that_the_report_names_are_commands(request: pytest.FixtureRequest) -> None:
    document = report(replace(report_data(), options="--state elsewhere"))
    named = re.findall(r"<code>ebbtide ([^<]*)</code>", document)
    assert len(named) > 10
    for line in named:
        assert parser().parse_args(line.replace("&#x27;", "").split()).state == "elsewhere"


def test_books_that_do_not_agree_are_told_loudly() -> None:
    data = report_data()
    wrong = replace(
        data, ours=replace(data.ours, reconciliation=Reconciliation(10**15, 10**15 + 5, 0, (), ("work.lost/x",)))
    )
    assert "They do not agree: 1 entries differ" in report(wrong)
    assert "They agree to the last digit" in report(data)


def test_each_word_is_explained_once() -> None:
    assert len({word for word, _ in GLOSSARY}) == len(GLOSSARY)


def test_instances_taken_back_count_once_by_how_they_ended() -> None:
    found = reading.takings(day_events(), START, END)
    assert [(t.instance, t.fate) for t in found] == [("n0", Fate.ENDED), ("n1", Fate.ENDED), ("u0", Fate.UNNOTICED)]
    assert [t.event_id for t in found] == ["instance.lost/n0", "instance.lost/n1", "instance.lost/u0"]


def test_a_withdrawn_notice_took_nothing() -> None:
    events = [e for e in day_events() if e.type is not EventType.INSTANCE_LOST]
    back = event(EventType.NOTICE_WITHDRAWN, "n0", 2 * HOUR + 5000, Who(instance="n0"), reclaim="rc-1")
    assert [t.instance for t in reading.takings([*events, back], START, END)] == ["n1"]


def test_takings_of_one_hall_within_three_minutes_are_one_wave() -> None:
    found = reading.waves(reading.takings(day_events(), START, END), HALLS)
    assert [(w.hall, w.instances) for w in found] == [("east-h1", 2), ("east-h2", 1)]


def test_shares_of_a_wave_are_of_what_stood_before_it() -> None:
    taken = reading.takings(day_events(), START, END)
    wave = reading.waves(taken, HALLS)[0]
    shares = reading.hall_shares(day_events(), taken, HALLS, wave)
    assert [(s.hall, s.fallen, s.stood) for s in shares] == [("east-h1", 2, 6), ("east-h2", 0, 3)]
    worst = reading.worst_shares(day_events(), taken, HALLS, reading.waves(taken, HALLS))
    assert worst == (("render", 4 / 16),)


def test_an_exclusion_lasts_until_its_probe_or_the_end_of_the_day() -> None:
    closed, probes = reading.closures(day_events(), START, END)
    assert [(c.begins - START, c.ends - START, c.cause) for c in closed] == [
        (2 * HOUR + 60_000, 3 * HOUR, "reclaim_burst")
    ]
    assert [p.at - START for p in probes] == [3 * HOUR]
    without = [
        e for e in day_events() if e.type is not EventType.POOL_PROBED and e.type is not EventType.POOL_READMITTED
    ]
    assert [c.ends for c in reading.closures(without, START, END)[0]] == [END]
    assert reading.closures((), START, END) == ((), ())


def test_only_drains_that_answer_a_notice_are_timed() -> None:
    times = reading.drain_times(day_events(), {"render": "resumable"}, START, END)
    assert [(t.tier, t.duration_ms, t.outcome) for t in times] == [("resumable", 9930, "verified")] * 2


def test_a_loss_carries_its_chain_from_the_notice_to_the_money() -> None:
    events = day_events()
    taken = reading.takings(events, START, END)
    found = dearest(events, taken, {"work.lost/n0": 7, "usage.recorded/r-n0/0": 5, "work.lost/n1": 1})
    first = found[0]
    assert (first.taking.instance, first.redone, first.restarting, first.ticks) == ("n0", 7, 5, 12)
    assert [(told.step, told.ticks) for told in first.chain] == [
        ("notice", None), ("drain begins", None), ("replacement asked for", None), ("drain ends", None),
        ("work to redo", 7), ("paid without work", 5), ("loss", None),
    ]  # fmt: skip
    assert [one.taking.instance for one in found] == ["n0", "n1", "u0"]


def test_costs_are_asked_for_lost_work_and_slots_without_work_alone() -> None:
    asked = paid_ids(day_events())
    assert sorted(asked) == ["usage.recorded/r-n0/0", "usage.recorded/r-n1/0", "work.lost/n0", "work.lost/n1"]


def test_the_events_behind_a_number_are_those_that_the_ledger_sums_and_are_capped() -> None:
    found = behind(day_events(), START, END)
    assert set(found) == set(GRAMMAR_TERMS)
    assert found["redone_paid"].ids == ("work.lost/n0", "work.lost/n1")
    assert found["restarting_paid"].count == 2
    assert found["floor_paid"].count == 0
    assert all(len(one.ids) <= MOST_IDS for one in found.values())


def test_findings_keep_to_the_period() -> None:
    found = findings(report_data())
    assert all(START <= moment.at < END for moment in found.moments)
    assert sum(one.total for one in found.bins) == len(found.takings) == 3


def test_the_standalone_picture_is_one_svg_with_its_own_colours() -> None:
    drawn = picture(report_data())
    assert drawn.startswith("<svg")
    assert "prefers-color-scheme: dark" in drawn
    assert not re.search(r"url\(|@import|href", drawn)
    read(drawn)


def test_a_waiver_has_a_table_of_what_it_lets_fall_together_and_no_waiver_has_none() -> None:
    waived = replace(report_data(), waived=(LargestLoss("render", 2, 8, "power", "west-a"),))
    assert "Under a waiver" in report(waived)
    assert "power west-a" in report(waived)
    assert "Under a waiver" not in report(report_data())

"""The pictures: values in, one well-formed SVG out, a sentence where there is nothing to draw."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ebbtide import report_charts, report_charts_money, report_charts_spread
from ebbtide.report_charts import Span
from ebbtide.report_charts_money import Bar, WasteBar
from ebbtide.report_data import findings
from ebbtide.report_reading import Bin, Closed, DrainTime, FoundWave, HallShare, Probe
from ledger.money import TICKS
from tests.report.days import END, HOUR, START, ZONE, moments, report_data

Draw = Callable[..., str]
SPAN = Span(START, END, ZONE)
GOLDEN = Path(__file__).parent.parent / "golden" / "report"
HOSTILE = 'x"><script>&'


def full() -> dict[str, Draw]:
    """Every picture with something to draw."""
    found = findings(report_data())
    assert found.largest is not None
    shares = found.largest
    bars = [Bar("value", 100 * TICKS, total=True), Bar("less paid", -130 * TICKS), Bar("net", -30 * TICKS, total=True)]
    waste = [WasteBar("redone", "drained", 3 * TICKS), WasteBar("idle", "accounting", TICKS)]
    times = [DrainTime("staged", n * 1000, "overrun" if n > 119 else "verified") for n in range(1, 130, 7)]
    return {
        "capacity": partial(report_charts.capacity, found.moments, SPAN),
        "taken_back": partial(report_charts.taken_back, found.bins, found.waves, SPAN),
        "concentration": partial(report_charts.concentration, found.moments, found.peer_moments, SPAN),
        "halls": partial(report_charts_spread.halls_fallen, shares.halls, shares.peer_halls),
        "workloads": partial(
            report_charts_spread.workloads_fallen, [("a", 0.3), ("b", 0.02)], [("a", 1.0), ("c", 0.5)]
        ),
        "exclusions": partial(report_charts_spread.exclusions, found.closed, found.probes, SPAN),
        "waterfall": partial(report_charts_money.waterfall, bars, "EUR"),
        "wasted": partial(report_charts_money.wasted, waste, 100 * TICKS, "EUR"),
        "drains": partial(report_charts_money.drain_durations, times, ("anchored", "staged")),
    }


EMPTY: dict[str, Draw] = {
    "capacity": partial(report_charts.capacity, (), SPAN),
    "taken_back": partial(report_charts.taken_back, (Bin(START, 0, 0, 0),), (), SPAN),
    "concentration": partial(report_charts.concentration, (), (), SPAN),
    "halls": partial(report_charts_spread.halls_fallen, (HallShare("h", 0, 0),), ()),
    "workloads": partial(report_charts_spread.workloads_fallen, (), ()),
    "exclusions": partial(report_charts_spread.exclusions, (), (), SPAN),
    "waterfall": partial(report_charts_money.waterfall, [Bar("value", 0, total=True)], "EUR"),
    "wasted": partial(report_charts_money.wasted, [], 0, "EUR"),
    "drains": partial(report_charts_money.drain_durations, [], ("staged",)),
}

ONE_WAVE = (FoundWave(HOSTILE, START, START, 9),)
HOSTILES: dict[str, Draw] = {
    "taken_back": partial(report_charts.taken_back, (Bin(START, 9, 0, 0),), ONE_WAVE, SPAN),
    "halls": partial(report_charts_spread.halls_fallen, (HallShare(HOSTILE, 1, 2),), ()),
    "exclusions": partial(
        report_charts_spread.exclusions,
        (Closed(HOSTILE, START, END, HOSTILE),), (Probe(HOSTILE, END - 1, succeeded=True),), SPAN,
    ),
    "wasted": partial(report_charts_money.wasted, [WasteBar(HOSTILE, HOSTILE, 1)], 2, HOSTILE),
    "drains": partial(report_charts_money.drain_durations, [DrainTime(HOSTILE, 5, "verified")], (HOSTILE,)),
}  # fmt: skip


def read(drawn: str) -> ET.Element:
    return ET.fromstring(drawn)  # noqa: S314 - our own text


def box(one: ET.Element) -> tuple[float, float, float, str]:
    """Left, right, baseline and words of a text, narrower than any face draws it: an overlap here is one everywhere."""
    words = one.text or ""
    wide = len(words) * 5.2
    start = float(one.attrib["x"]) - wide * {"middle": 0.5, "end": 1.0}.get(one.attrib.get("text-anchor", ""), 0)
    return start, start + wide, float(one.attrib["y"]), words


@pytest.mark.parametrize("width", [960, 344])
@pytest.mark.parametrize("name", sorted(EMPTY))
def test_a_picture_is_well_formed_has_a_title_and_stays_inside_its_frame(name: str, width: int) -> None:
    drawn = full()[name](width=width, name="p")
    root = read(drawn)
    title, desc = root[0], root[1]
    assert title.text
    assert desc.text
    assert "nan" not in drawn
    height = float(root.attrib["height"])
    for shape in root.iter():
        for axis, end in (("x", width), ("y", height)):
            assert -0.5 <= float(shape.attrib.get(axis, 0)) <= end
        if shape.tag.endswith("}text"):
            left, right, _, words = box(shape)
            assert -1 <= left < right <= width + 1, words
        if shape.tag.endswith("rect"):
            assert float(shape.attrib["x"]) + float(shape.attrib["width"]) <= width + 1


@pytest.mark.parametrize("name", sorted(EMPTY))
def test_a_picture_of_nothing_is_a_sentence(name: str) -> None:
    drawn = EMPTY[name](width=960, name="p")
    words = [t.text or "" for t in read(drawn) if t.tag.endswith("text")]
    assert len(words) == 1
    assert words[0].endswith(".")


@pytest.mark.parametrize("name", sorted(HOSTILES))
def test_a_hostile_name_stays_text(name: str) -> None:
    drawn = HOSTILES[name](width=960, name="p")
    read(drawn)
    assert "<script" not in drawn


@pytest.mark.parametrize("width", [960, 344])
@pytest.mark.parametrize("name", sorted(EMPTY))
def test_no_words_overlap(name: str, width: int) -> None:
    texts = (one for one in read(full()[name](width=width, name="p")).iter() if one.tag.endswith("}text"))
    boxes = [box(one) for one in texts]
    for number, (left, right, y, words) in enumerate(boxes):
        for other_left, other_right, other_y, other in boxes[number + 1 :]:
            if abs(y - other_y) < 9:
                assert right <= other_left or other_right <= left, f"{words!r} lies on {other!r}"


def test_a_net_loss_is_drawn_left_of_the_ground() -> None:
    bars = [Bar("value", 10 * TICKS, total=True), Bar("less paid", -30 * TICKS), Bar("net", -20 * TICKS, total=True)]
    drawn = report_charts_money.waterfall(bars, "EUR", width=960, name="p")
    rects = [(float(r.attrib["x"]), float(r.attrib["width"])) for r in read(drawn) if r.tag.endswith("rect")]
    (value, _), (_, _), (net, wide) = rects
    assert net + wide == pytest.approx(value, abs=0.2)


def test_the_waterfall_starts_each_step_where_the_one_before_ended() -> None:
    bars = [
        Bar("value", 10 * TICKS, total=True),
        Bar("a", -3 * TICKS),
        Bar("b", -2 * TICKS),
        Bar("net", 5 * TICKS, total=True),
    ]
    assert report_charts_money._spans(bars) == [
        (0, 10 * TICKS), (10 * TICKS, 7 * TICKS), (7 * TICKS, 5 * TICKS), (0, 5 * TICKS),
    ]  # fmt: skip


def test_what_is_beyond_the_axis_of_drains_stands_in_its_last_column() -> None:
    drawn = report_charts_money.drain_durations(
        [DrainTime("staged", 999_000, "overrun")], ("staged",), width=960, name="p"
    )
    (bar,) = (r for r in read(drawn).iter() if r.attrib.get("class") == "alarm" and float(r.attrib["height"]) > 12)
    assert float(bar.attrib["x"]) < 960 - 190


def test_the_picture_of_a_tiny_day_is_the_golden_one(request: pytest.FixtureRequest) -> None:
    tiny = tuple(moments()[::24])
    bins = (Bin(START, 2, 0, 0), Bin(START + 3 * HOUR, 0, 1, 1))
    waves = (FoundWave("east-h1", START + 60_000, START + 61_000, 2),)
    drawn = "\n".join(
        (
            report_charts.capacity(tiny, SPAN, width=400, name="capacity"),
            report_charts.taken_back(bins, waves, SPAN, width=600, name="losses"),
            report_charts.concentration(tiny, tiny, SPAN, width=600, name="bounds"),
        )
    )
    lines = re.sub(r"(<(?!/))", r"\n\1", drawn).lstrip() + "\n"
    path = GOLDEN / "tiny_day.svg.txt"
    if request.config.getoption("--rewrite-golden"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(lines, encoding="utf-8")
    assert lines == path.read_text(encoding="utf-8")

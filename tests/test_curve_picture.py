"""The picture of the curve is a function of its points, and shows each of them."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from benchmarks.curve_picture import COLOURS, picture


def test_each_part_is_a_line_with_a_dot_for_each_size() -> None:
    points = [{"nodes": nodes, **{f"{name}_ms": nodes / 100 for name in COLOURS}} for nodes in (1000, 4000, 16_000)]
    drawn = picture(points)
    assert drawn == picture(points)
    tags = [element.tag.rpartition("}")[2] for element in ET.fromstring(drawn).iter()]  # noqa: S314  # our own text
    assert tags.count("circle") == len(COLOURS) * len(points)
    assert tags.count("path") == len(COLOURS)

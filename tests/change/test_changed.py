"""Which declared things a change touches."""

from __future__ import annotations

import pytest

from repo_layout.change import changed, things, touched
from tests.change.edits import EDITS, Edit, after, edited, estate_of, reversed_files, swap
from tests.checks.estates import FORECAST, HINDCAST, minimal


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("floor", {"contract/forecast"}),
        ("notice", {"pool/h1-general-a-4x16", "aggregate/north/h1-general-a"}),
        ("no pool", {"pool/h4-general-b-4x16", "aggregate/north/h4-general-b"}),
        ("group", {"group/north/hall-3"}),
        ("waiver", {"waiver/north/x86-64"}),
        ("limit", {"team/tides"}),
        ("authority", {"directory/tides-lead"}),
        ("pause", {"settings/pauses"}),
        ("prose", set()),
        ("comment", set()),
    ],
)
def test_each_edit_touches_the_things_it_names_and_no_other(name: str, keys: set[str]) -> None:
    assert changed(things(after()), things(after(EDITS[name]))) == keys


def test_without_a_base_everything_counts_as_changed() -> None:
    now = things(after())
    assert changed({}, now) == set(now)
    assert {"settings/bounds", "settings/pauses", "team/tides", "contract/forecast", "cluster/north-k8s"} <= set(now)


def test_every_key_is_one_that_the_estate_can_place() -> None:
    estate = after()
    assert [key for key in things(estate) if estate.sources.get(key) is None] == []


def test_what_is_gone_is_told_by_its_old_key() -> None:
    assert "contract/nowcast" in changed(things(after(EDITS["new"])), things(after()))


@pytest.mark.parametrize(
    "edit",
    [
        swap("ebbtide.yaml", "[h1, h2, h3, h4]", "[h4, h2, h1, h3]"),
        swap("ebbtide.yaml", "[anchored, resumable, staged, requeued]", "[requeued, staged, anchored, resumable]"),
        swap(FORECAST, "maximum: 40\nfloor: 4", "floor: 4\nmaximum: 40"),
        swap(FORECAST, '"20.00 EUR"', '"20 EUR"'),
        swap(FORECAST, "16GiB", "16384MiB"),
        swap(HINDCAST, "maximum: 24", "restart: requeue\nfloor: 0\nmaximum: 24"),
    ],
)
def test_the_same_said_otherwise_is_no_change(edit: Edit) -> None:
    assert changed(things(after()), things(after(edit))) == frozenset()


def test_the_order_of_files_is_no_change() -> None:
    files = edited()
    assert changed(things(estate_of(minimal())), things(estate_of(reversed_files(files.items())))) == frozenset()


def test_a_deputy_before_another_is_a_change_because_they_are_asked_in_turn() -> None:
    one, other = (
        after(swap("directory.yaml", "deputies: [tides-lead]", f"deputies: [{names}]"))
        for names in ("tides-lead, head-of-cloud", "head-of-cloud, tides-lead")
    )
    assert changed(things(one), things(other)) == {"directory/tides-oncall"}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("floor", {"contract/forecast/floor"}),
        ("notice", {"pool/h1-general-a-4x16", "aggregate/north/h1-general-a"}),
        ("limit", {"team/tides/ncuLimit"}),
        ("authority", {"directory/tides-lead/spendAuthorityPerDay"}),
        ("new", {"contract/nowcast"}),
        ("prose", set()),
    ],
)
def test_findings_are_weighed_by_the_fields_that_an_edit_touches(name: str, keys: set[str]) -> None:
    assert touched(after(), after(EDITS[name])) == keys

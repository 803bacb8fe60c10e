"""Faults are drawn from the seed alone: one stream for each kind, a quiet end, and names that can be typed again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import Refused
from simulation.fault_kinds import RECIPES
from simulation.faults import KINDS, QUIET_MS, chosen, draw, facts_of, quiet_from
from simulation.hunted import START, end_of, small

END = end_of(1.0)
FACTS = facts_of(small().estate, small().region)
SEEDS = st.integers(0, 2**31)


@given(seed=SEEDS, kinds=st.sets(st.sampled_from(sorted(KINDS))))
@settings(max_examples=40, deadline=None)
def test_leaving_kinds_out_changes_no_other(seed: int, kinds: set[str]) -> None:
    whole = draw(seed, KINDS, START, END, FACTS)
    assert draw(seed, sorted(kinds), START, END, FACTS) == tuple(f for f in whole if f.kind in kinds)


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_everything_is_over_before_the_quiet_end(seed: int) -> None:
    for fault in draw(seed, KINDS, START, END, FACTS):
        assert START < fault.at <= fault.until <= quiet_from(START, END) == END - QUIET_MS


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_sizes_stay_within_their_recipe_and_targets_are_there(seed: int) -> None:
    there = {*FACTS.every, *FACTS.halls, *FACTS.power, *FACTS.projects, *FACTS.clusters, *FACTS.workloads}
    for fault in draw(seed, KINDS, START, END, FACTS):
        least, most = RECIPES[fault.kind].size
        assert least <= fault.size <= most
        if RECIPES[fault.kind].target == "all_halls":
            assert fault.target == ",".join(FACTS.halls)
        elif RECIPES[fault.kind].target == "two_halls":
            assert len(set(fault.target.split(",")) & set(FACTS.halls)) == 2
        else:
            assert fault.target in {*there, "before", "after", ""}


def test_every_kind_is_drawn_by_some_seed() -> None:
    seen = {fault.kind for seed in range(60) for fault in draw(seed, KINDS, START, END, FACTS)}
    assert seen == set(KINDS)


def test_numbers_count_each_kind_in_order_of_time() -> None:
    crashes = [fault for fault in draw(3, ("crash",), START, END, FACTS) if fault.kind == "crash"]
    assert [fault.number for fault in crashes] == list(range(1, len(crashes) + 1))
    assert crashes == sorted(crashes, key=lambda fault: fault.at)


def test_all_none_kinds_and_single_faults_can_be_chosen() -> None:
    drawn = draw(3, KINDS, START, END, FACTS)
    crash = next(fault for fault in drawn if fault.kind == "crash")
    assert chosen("all", drawn) == drawn
    assert chosen("none", drawn) == ()
    assert chosen(crash.name, drawn) == (crash,)
    assert {fault.kind for fault in chosen("crash, reclaim", drawn)} == {"crash", "reclaim"}


@pytest.mark.parametrize(("text", "said"), [("chrash", "did you mean crash"), ("crash#99", "none of them")])
def test_a_name_that_chooses_nothing_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        chosen(text, draw(3, KINDS, START, END, FACTS))


def test_an_unknown_kind_is_told_which_there_are() -> None:
    with pytest.raises(Refused) as refused:
        chosen("weather", ())
    assert all(kind in str(refused.value) for kind in KINDS)


def test_every_kind_stands_in_the_document_with_its_sentence() -> None:
    text = (Path(__file__).parents[2] / "docs" / "faults.md").read_text(encoding="utf-8")
    for kind, recipe in RECIPES.items():
        low, high = recipe.minutes
        assert f"| `{kind}` | {recipe.about} | {recipe.per_day:g} | {low:g} to {high:g} |" in text

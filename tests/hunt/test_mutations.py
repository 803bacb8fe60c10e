"""Every mutation still applies to the product as it is, and changes it into something that can be read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.mutation import Mutation
from benchmarks.mutation_list import MUTATIONS
from benchmarks.mutations import CAUGHT, ELSEWHERE, FAILED, MISSED, Tried, line_of, mutated
from simulation.faults import KINDS, chosen

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_applies_and_can_be_read(mutation: Mutation) -> None:
    for file in {edit.file for edit in mutation.edits}:
        text = (ROOT / file).read_text(encoding="utf-8")
        for edit in (edit for edit in mutation.edits if edit.file == file):
            assert text.count(edit.old) == 1, f"{edit.old!r} stands {text.count(edit.old)} times in {file}"
            assert edit.new != edit.old
            text = text.replace(edit.old, edit.new)
        ast.parse(text)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_names_kinds_that_there_are_and_a_bounded_hunt(mutation: Mutation) -> None:
    assert not chosen(mutation.faults, ())
    assert {word for word in mutation.faults.split(",") if word not in ("all", "none")} <= KINDS.keys()
    assert set(filter(None, mutation.needs.replace("@", ",").split(","))) <= (
        KINDS.keys() if mutation.faults == "all" else set(mutation.faults.split(","))
    )
    assert mutation.days * mutation.seeds <= 20


def test_every_mutation_has_a_name_of_its_own() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


def test_a_text_that_is_gone_is_an_error_and_no_mutation(tmp_path: Path) -> None:
    lost = Mutation("lost", "p", "c", (type(MUTATIONS[0].edits[0])("reconciler/guard.py", "no such text", ""),))
    with pytest.raises(ValueError, match="lost: the text stands 0 times"):
        mutated(lost, tmp_path)


def test_only_the_checker_that_guards_the_promise_catches() -> None:
    told = {verdict: Tried(MUTATIONS[0], verdict) for verdict in (CAUGHT, ELSEWHERE, MISSED, FAILED)}
    assert [told[verdict].caught for verdict in (CAUGHT, ELSEWHERE, MISSED, FAILED)] == [True, False, False, False]
    assert "missed" in line_of(told[MISSED])

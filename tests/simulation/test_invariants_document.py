"""The table of promises, the list of checkers and the code say the same."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

from benchmarks.mutation_list import MUTATIONS
from simulation import checking

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs/invariants.md"


def rows() -> list[list[str]]:
    """The cells of the table, its head apart."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_checker_stands_in_the_table_once_and_the_other_way_round() -> None:
    told = [re.sub("`", "", checker) for _, checker, _ in rows()]
    assert sorted(told) == sorted(made().name for made in checking.CHECKERS)


def test_a_checkers_name_is_where_it_stands() -> None:
    for made in checking.CHECKERS:
        checker = type(made())
        assert checker.name == f"{checker.__module__.removeprefix('simulation.')}.{checker.__name__}"
        assert inspect.getdoc(checker)


def test_no_checker_escapes_the_import_contract() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    named = {module for c in contracts if c["name"].startswith("Checkers") for module in c["source_modules"]}
    there = {f"simulation.{path.stem}" for path in (ROOT / "simulation").glob("check*.py")}
    assert named == there


def test_every_promise_names_the_part_of_the_design_that_makes_it() -> None:
    assert [promise for promise, _, _ in rows() if not re.search(r"\([0-9][0-9., ]*\)", promise)] == []


def test_the_mutations_of_the_table_are_those_of_the_list_each_beside_its_checker() -> None:
    told = {(name, checker.strip("`")) for _, checker, names in rows() for name in re.findall(r"`([a-z-]+)`", names)}
    assert told == {(mutation.name, mutation.checker) for mutation in MUTATIONS}


WITHOUT = ["`check_gangs.Together`"]
"""The small estate, in which mutations are hunted, has no workload of gangs."""


def test_every_other_checker_has_a_mutation() -> None:
    assert [checker for _, checker, names in rows() if not names] == WITHOUT

"""Estates for tests of payloads: the reference estate, read once, and any part of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

from repo_layout.model import Estate
from repo_layout.tree import Tree
from tests.checks.estates import ROOT, assembled, files_of

COMMIT = "c" * 40
One = TypeVar("One")
REGIONS = ("aarhus", "bremen", "cadiz")


@cache
def reference() -> Estate:
    estate = estate_of(files_of(ROOT / "repo_layout" / "estate"))
    return replace(estate, sources={})


def estate_of(files: dict[str, bytes]) -> Estate:
    return assembled(Tree(COMMIT, files, committed_at=1_790_000_000_000))


def some_of(items: tuple[One, ...], cut: tuple[int, int]) -> tuple[One, ...]:
    """Every so many of them, from somewhere on."""
    first, step = cut
    return items[first::step]


CUTS = st.tuples(st.integers(0, 8), st.integers(1, 9))


def parts() -> st.SearchStrategy[Estate]:
    """The reference estate with some of everything taken away."""
    return st.lists(CUTS, min_size=8, max_size=8).map(part)


def part(cuts: list[tuple[int, int]]) -> Estate:
    whole = reference()
    return replace(
        whole,
        directory=some_of(whole.directory, cuts[0]),
        contracts=some_of(whole.contracts, cuts[1]),
        pools=some_of(whole.pools, cuts[2]),
        groups=some_of(whole.groups, cuts[3]),
        approvals=some_of(whole.approvals, cuts[4]),
        adoptions=some_of(whole.adoptions, cuts[5]),
        waivers=some_of(whole.waivers, cuts[6]),
        join_profiles=some_of(whole.join_profiles, cuts[7]),
    )

"""The corpus as a whole: small enough to run with every change, and each history is run once, by one of two modules."""

from __future__ import annotations

from simulation.hunt import SMALL, Kept, corpus
from tests.simulation import test_corpus_even, test_corpus_odd

LONGEST_DAYS = 60.0
"""Of all lines together: the corpus runs with every change, in about two minutes of two workers."""

MOST_APART_DAYS = 6.0
"""By how much one half may last longer than the other: a tenth of all."""


def taken(module: object) -> list[Kept]:
    """The histories that a module's test is run with."""
    (mark,) = module.test_every_promise_holds.pytestmark  # type: ignore[attr-defined]  # a test module, by its name
    return list(mark.args[1])


def days(kept: list[Kept]) -> float:
    return sum(one.question.lasts for one in kept)


def test_each_history_is_run_once_by_one_of_the_two_modules() -> None:
    both = [*taken(test_corpus_odd), *taken(test_corpus_even)]
    assert sorted(both, key=corpus().index) == list(corpus())


def test_two_workers_share_the_corpus_evenly() -> None:
    odd, even = taken(test_corpus_odd), taken(test_corpus_even)
    assert abs(len(odd) - len(even)) <= 1
    assert abs(days(odd) - days(even)) <= MOST_APART_DAYS


def test_the_corpus_stays_small_enough_to_run_with_every_change() -> None:
    assert days(list(corpus())) <= LONGEST_DAYS
    assert {kept.question.size for kept in corpus()} == {SMALL}

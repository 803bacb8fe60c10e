"""Every history of the corpus, each as its line says: what was once found is not found again."""

from __future__ import annotations

import pytest

from ebbtide.histories import region_histories
from simulation.hunt import SMALL, Kept, corpus

LONGEST_DAYS = 45.0
"""Of all lines together: the corpus runs with every change, in about two minutes on two workers."""


@pytest.mark.parametrize("kept", corpus(), ids=lambda kept: f"seed {kept.question.seed} {kept.why}")
def test_every_promise_holds(kept: Kept) -> None:
    broken = region_histories().live(kept.question).broken
    told = "\n".join(f"{one.checker} at {one.at}: {one.sentence}" for one in broken[:5])
    assert not broken, f"{kept.question.command}\n{told}"


def test_the_corpus_stays_small_enough_to_run_with_every_change() -> None:
    assert sum(kept.question.lasts for kept in corpus()) <= LONGEST_DAYS
    assert {kept.question.size for kept in corpus()} == {SMALL}

"""The corpus in two halves, so that two workers share it: one test module takes each, and this is what both ask."""

from __future__ import annotations

from ebbtide.histories import region_histories
from simulation.hunt import Kept, corpus


def halves() -> tuple[tuple[Kept, ...], tuple[Kept, ...]]:
    """The odd lines and the even ones, in their order."""
    kept = corpus()
    return kept[::2], kept[1::2]


def named(kept: Kept) -> str:
    """How a line is called among the tests."""
    return f"seed {kept.question.seed} {kept.why}"


def hold(kept: Kept) -> None:
    """Let one history pass, and ask that it breaks nothing."""
    broken = region_histories().live(kept.question).broken
    told = "\n".join(f"{one.checker} at {one.at}: {one.sentence}" for one in broken[:5])
    assert not broken, f"{kept.question.command}\n{told}"

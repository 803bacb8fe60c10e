"""The drain's tables as Mermaid state diagrams, for `docs/drain.md`.

Reads `agent.phases` and nothing else, so that the picture cannot say what the tables do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from agent.phases import ENDED, NEXT, UNIT_NEXT, Phase, Signal, UnitPhase

AnyPhase = TypeVar("AnyPhase", bound=Enum)


def node_diagram() -> str:
    """The node's phases from notice to outcome."""
    ends = [f"    {phase.value} --> [*]" for phase in Phase if phase in ENDED]
    return _diagram(NEXT, Phase.DRAINING, ends)


def unit_diagram() -> str:
    """One unit's phases from its place in the queue to gone."""
    return _diagram(UNIT_NEXT, UnitPhase.QUEUED, [f"    {UnitPhase.GONE.value} --> [*]"])


def _diagram(table: Mapping[tuple[AnyPhase, Signal], AnyPhase], first: AnyPhase, ends: list[str]) -> str:
    """A diagram with one arrow for each pair of phases and all signals on it, in the order of the table."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for (phase, signal), after in table.items():
        arrows.setdefault((phase.value, after.value), []).append(signal.value)
    lines = [f"    {one} --> {other}: {'<br/>'.join(signals)}" for (one, other), signals in arrows.items()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {first.value}", *lines, *ends])

"""The operator's page says what the tables say, and the node's code starts light."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.diagram import node_diagram, unit_diagram
from agent.inputs import Refusal
from agent.phases import Phase, Signal, UnitPhase

ROOT = Path(__file__).parent.parent.parent
PATH = ROOT / "docs" / "drain.md"
PAGE = PATH.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "diagram"), [("node", node_diagram()), ("unit", unit_diagram())])
def test_the_page_holds_the_diagram_of_the_table(
    name: str, diagram: str, between: Callable[[Path, str, str], None]
) -> None:
    between(PATH, f"{name} diagram", f"```mermaid\n{diagram}\n```\n")


@pytest.mark.parametrize("word", [*Phase, *UnitPhase, *Signal, *Refusal])
def test_the_page_explains_every_word_of_a_record(word: Phase | UnitPhase | Signal | Refusal) -> None:
    assert f"`{word.value}`" in PAGE


def test_the_drain_imports_nothing_heavy() -> None:
    heavy = {"pydantic", "numpy", "yaml", "asyncio", "pygit2", "reconciler", "pools", "repo_layout", "simulation"}
    code = "import sys, agent.drain, agent.journal, agent.transcript; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert not heavy & {name.partition(".")[0] for name in loaded.split()}

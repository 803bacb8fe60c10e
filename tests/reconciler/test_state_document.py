"""`docs/state.md` names every file that a reconciler leaves in its state directory, and every key of its store."""

from __future__ import annotations

import re
from pathlib import Path

from reconciler.adapters import journal_file
from reconciler.adapters.stop_file import StopFile
from tests.reconciler.builders import REGION, Region

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "state.md").read_text(encoding="utf-8")
KEY = re.compile(r'f"([a-z-]+)/\{[a-z_.]*(region|seat)\}"')


def rows(heading: str) -> set[str]:
    """The names in the first column of the table below a heading."""
    table = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}


def test_every_key_of_the_store_has_a_row_and_every_row_a_key() -> None:
    written = {
        found for path in (ROOT / "reconciler").rglob("*.py") for found in KEY.findall(path.read_text(encoding="utf-8"))
    }
    assert {f"{name}/<{of}>" for name, of in written} == rows("The store")


def test_a_run_leaves_no_key_that_the_page_lacks() -> None:
    region = Region().settled(12)
    known = {key.replace("<seat>", REGION).replace("<region>", REGION) for key in rows("The store")}
    assert region.store.values.keys() <= known


def test_every_file_that_an_adapter_leaves_has_a_row() -> None:
    stop = StopFile(Path("stop"))
    left = {journal_file.NAME, journal_file.LOCK, stop.path.name, stop.acceptance.name, "spool/", "accepted"}
    assert left <= rows("The state directory")

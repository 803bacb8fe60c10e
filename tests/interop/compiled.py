"""The minimal estate, compiled by our own command; what signs it is each test's affair."""

from __future__ import annotations

from pathlib import Path

from ebbtide.__main__ import main
from repo_layout.adapters.git_lay import Authorship, lay
from tests.checks.estates import minimal

AUTHORSHIP = Authorship("Ann", "ann@example.org", 1_790_000_000, "Lay it down\n")
ESTATE, REGION = "minimal", "north"
PAYLOADS = ("region", "nodes/forecast", "nodes/hindcast")


def ran(*words: str | Path) -> None:
    """Run a command of ours, which has to succeed."""
    assert main(list(map(str, words))) == 0


def compiled(work: Path) -> Path:
    """Its folder."""
    lay(work / "estate.git", minimal(), AUTHORSHIP)
    ran("compile", work / "estate.git", "--region", REGION, "--out", work / "out")
    return work / "out"

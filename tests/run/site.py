"""A signed bundle of the small region, and the command line that runs a reconciler from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from repo_layout.adapters.git_lay import Authorship, lay
from tests.checks.estates import changed, minimal
from tests.reconciler.builders import ESTATE, REGION

AUTHORSHIP = Authorship("Ann", "ann@example.org", 1_790_000_000, "Lay it down\n")


@dataclass(frozen=True)
class Site:
    """The folder in which estate, keys and signed bundle lie."""

    folder: Path

    def words(self, socket: Path, state: Path, *more: str) -> tuple[str, ...]:
        """The command line of a run."""
        return (
            "run", "--provider", str(socket), "--state", str(state), "--bundle", str(self.folder / "out"),
            "--trust", str(self.folder / "keys" / "keys.1.json"), "--output", "json", *more,
        )  # fmt: skip


def lay_site(folder: Path, swaps: tuple[tuple[str, str, str], ...], ran: Callable[[tuple[str, ...]], int]) -> Site:
    """Lay the estate, compile and sign it; `ran` runs one command line and says how it ended."""
    files = minimal()
    for path, old, new in swaps:
        files = changed(path, (old, new), files=files)
    lay(folder / "estate.git", files, AUTHORSHIP)
    for words in (
        ("keys", "new", str(folder / "keys"), "--estate", ESTATE),
        ("compile", str(folder / "estate.git"), "--region", REGION, "--out", str(folder / "out")),
        ("sign", str(folder / "out"), "--key", str(folder / "keys" / "ci.pem"), "--version", "1", "--requester", "ann"),
    ):
        if ran(words) != 0:
            raise RuntimeError(f"{words[0]} failed in {folder}")
    return Site(folder)

"""The small estate that histories are hunted in: the samples' minimal one, with more contracts, projects and groups.

About sixty instances stand in it. Files are read from the packages and judged as any estate is, the schema layer apart.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from contracts.errors import Refused
from repo_layout.model import Estate
from repo_layout.schema_layer import NoSchema
from repo_layout.tree import Tree
from repo_layout.validate import validate

REGION = "north"
COMMITTED_AT = 1_790_000_000_000
"""Before every history begins, within the approvals' time."""


@cache
def small_estate() -> Estate:
    """The estate. Raises `Refused` when its files do not hold, which is a mistake in this package."""
    laid = _laid(files("repo_layout") / "samples" / "valid" / "minimal") | _laid(files("simulation") / "data" / "small")
    tree = Tree("small-estate", dict(sorted(laid.items())), committed_at=COMMITTED_AT)
    verdict = validate(tree, cue=NoSchema())
    if verdict.estate is None:
        raise Refused("; ".join(f"{found.code}: {found.message}" for found in verdict.findings))
    return verdict.estate


def _laid(folder: Traversable, prefix: str = "") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.is_dir():
            found |= _laid(entry, f"{prefix}{entry.name}/")
        else:
            found[prefix + entry.name] = entry.read_bytes()
    return found

"""Signed approvals that lie beside the reviewed files: one folder, read each cycle, believed by nobody here."""

from __future__ import annotations

from pathlib import Path

from contracts.approval import MAX_APPROVAL_BYTES, SignedApproval, read_approval
from contracts.untrusted import Untrusted

SUFFIX = ".approval.json"
MOST = 100
"""Files that are read; removals that wait are one at a time."""


def signed_in(folder: Path) -> tuple[SignedApproval, ...]:
    """Every file of the folder that can be read, by name; others are passed over, and no folder is an empty one."""
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}"))[:MOST]:
        try:
            with path.open("rb") as file:
                found.append(read_approval(file.read(MAX_APPROVAL_BYTES + 1)))
        except (OSError, Untrusted):
            continue
    return tuple(found)

"""What a check found in the reviewed files: one frozen value, sortable, the same for every kind of check.

Checks return findings, they never print or raise them. Codes: EBT-1xx form (layout, YAML, schema), EBT-2xx feasibility
across files, EBT-3xx reading (Git, clone, remote: could not judge).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contracts.errors import Place


class Severity(enum.Enum):
    """How a finding bears on the exit code: errors give 1, `unjudged` gives 2, warnings and notes give 0."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    `message` is one sentence with the numbers in it; `seen` is the value as written (shortened to 80 characters) and
    `expected` what would have been right, both empty where they do not apply; `hint` says what to do next.
    """

    code: str
    place: Place
    message: str
    seen: str = ""
    expected: str = ""
    hint: str = ""
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong inside one document, before its place in the file is looked up.

    `path` is in the names of the file, list items by their number from 0; it is never shown to a person as it is.
    """

    path: tuple[str | int, ...]
    code: str
    message: str
    seen: str = ""
    expected: str = ""
    hint: str = ""


def listed(items: Sequence[str], most: int) -> str:
    """The first items as a message names them: `a, b and 3 more`."""
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings without repetition, sorted by file, line, column, code and text."""
    return tuple(
        sorted(
            set(findings),
            key=lambda f: (f.place.file, f.place.line, f.place.column, f.code, f.message, f.seen),
        )
    )


def exit_code(findings: Iterable[Finding]) -> int:
    """0 clean, 1 at least one error, 2 something could not be judged."""
    worst = 0
    for finding in findings:
        if finding.severity is Severity.UNJUDGED:
            return 2
        if finding.severity is Severity.ERROR:
            worst = 1
    return worst

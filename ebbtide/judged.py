"""One run of all checks as a value, and what every format says of it: where a finding stands, in which words, and the
name by which it is known again.

`ebbtide.validate` makes it, each `render_...` module writes it. It must not know any format.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contracts.findings import Finding
from ebbtide.text import printable

_PLACE = re.compile(r":\d+(:\d+)?\b")
_NUMBER = re.compile(r"(?<![\w.-])\d[\d,.]*(?![\w-])")


@dataclass(frozen=True, slots=True)
class Judged:
    """What was read, how many files, what was found, how long it took.

    `below` is the estate's folder in its repository, empty or ending in a slash: code hosts want paths from the root of
    the repository. `texts` are the files as they were read, by their path in the estate.
    """

    what: str
    commit: str
    files: int
    findings: Sequence[Finding]
    seconds: float
    below: str = ""
    texts: Mapping[str, bytes] = field(default_factory=dict)

    def path(self, finding: Finding) -> str:
        """The finding's file, from the root of the repository."""
        return self.below + finding.place.file


def told(finding: Finding) -> tuple[str, ...]:
    """A finding in lines: its message, then what was seen, expected and to be done, as far as there is any."""
    labelled = (("seen", finding.seen), ("expected", finding.expected), ("hint", finding.hint))
    rest = tuple(f"{label}: {printable(text)}" for label, text in labelled if text)
    return (printable(finding.message), *rest)


def fingerprints(judged: Judged) -> tuple[str, ...]:
    """For each finding, in order, 64 hex digits that stay the same when lines are added above it, other findings come
    or go, or a number in its message moves; no two findings of one run share them.

    Made of the code, the file, the text of the line and the message; equal ones are told apart by their order.
    """
    lines: dict[str, list[str]] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    prints = []
    for finding in judged.findings:
        file = finding.place.file
        if file not in lines:
            lines[file] = judged.texts.get(file, b"").decode("utf-8", "replace").split("\n")
        key = (finding.code, judged.path(finding), _line(lines[file], finding.place.line), _timeless(finding))
        seen[key] += 1
        prints.append(hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "replace")).hexdigest())
    return tuple(prints)


def _line(lines: Sequence[str], number: int) -> str:
    return " ".join(lines[number - 1].split()) if 0 < number <= len(lines) else ""


def _timeless(finding: Finding) -> str:
    return _NUMBER.sub("#", _PLACE.sub("", f"{finding.message}\0{finding.seen}"))

"""Findings as people and machines read them. Pure: values in, text or a document out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from contracts.findings import Finding, Severity
from ebbtide.judged import Judged
from ebbtide.text import Paint, count, printable, wrapped

_COMMAND = re.compile(r"(?<!\S)::|##(?=\[)")
SUMMARY = (
    (Severity.ERROR, "error"),
    (Severity.UNJUDGED, "not judged"),
    (Severity.WARNING, "warning"),
    (Severity.NOTE, "note"),
)


def as_text(judged: Judged, paint: Paint) -> list[str]:
    """A block a finding, `file:line:column code message` first, and one line of summary."""
    lines = blocks(judged.findings, paint)
    if lines:
        lines.append("")
    return [*lines, _summary(judged, paint)]


def blocks(findings: Sequence[Finding], paint: Paint) -> list[str]:
    """A block for each finding, without a summary."""
    return [line for finding in findings for line in _block(finding, paint)]


def as_document(judged: Judged) -> dict[str, object]:
    """The same for machines."""
    counts = Counter(finding.severity for finding in judged.findings)
    return {
        "read": judged.what,
        "commit": judged.commit,
        "files": judged.files,
        "seconds": round(judged.seconds, 3),
        "errors": counts[Severity.ERROR],
        "unjudged": counts[Severity.UNJUDGED],
        "warnings": counts[Severity.WARNING],
        "notes": counts[Severity.NOTE],
        "findings": [finding_document(finding) for finding in judged.findings],
    }


def finding_document(finding: Finding) -> dict[str, object]:
    """One finding for machines, the same in every document."""
    return {
        "file": finding.place.file,
        "line": finding.place.line,
        "column": finding.place.column,
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "seen": finding.seen,
        "expected": finding.expected,
        "hint": finding.hint,
    }


def _block(finding: Finding, paint: Paint) -> list[str]:
    serious = finding.severity in (Severity.ERROR, Severity.UNJUDGED)
    code = paint.bad(finding.code) if serious else paint.warn(finding.code)
    kind = "" if finding.severity is Severity.ERROR else f"{dict(SUMMARY)[finding.severity]}: "
    lines = [f"{paint.bold(_tame(str(finding.place)))} {code} {kind}{_tame(finding.message)}"]
    for label, value in (("seen", finding.seen), ("expected", finding.expected), ("hint", finding.hint)):
        if value:
            first, *rest = wrapped(_tame(value), indent=" " * 14) or [" " * 14]
            lines += [f"    {paint.dim(label.ljust(8))}  {first.lstrip()}", *rest]
    return lines


def _tame(text: str) -> str:
    """Foreign text that neither steers a terminal nor commands the machine of a code host that reads our lines: its
    commands are words that begin with two colons, and two number signs with a bracket.
    """
    return _COMMAND.sub(lambda found: "".join(f"\\u{ord(sign):04x}" for sign in found[0]), printable(text))


def _summary(judged: Judged, paint: Paint) -> str:
    counts = Counter(finding.severity for finding in judged.findings)
    parts = []
    for severity, name in SUMMARY:
        if number := counts[severity]:
            parts.append(f"{number} not judged" if severity is Severity.UNJUDGED else count(number, name))
    bad = counts[Severity.ERROR] or counts[Severity.UNJUDGED]
    verdict = ", ".join(parts) if parts else "no findings"
    verdict = paint.bad(verdict) if bad else paint.good("holds" if not parts else f"holds, {verdict}")
    return f"{count(judged.files, 'file')} in {printable(judged.what)}: {verdict}; {judged.seconds:.2f} s"

"""Findings as a GitLab Code Quality report. Pure: values in, a document out."""

from __future__ import annotations

from contracts.findings import Severity
from ebbtide.judged import Judged, fingerprints, told

SEVERITIES = {
    Severity.ERROR: "critical",
    Severity.UNJUDGED: "blocker",
    Severity.WARNING: "minor",
    Severity.NOTE: "info",
}


def as_report(judged: Judged) -> list[dict[str, object]]:
    """One entry a finding. What concerns a file as a whole stands in its first line: the format has no other place."""
    return [
        {
            "description": f"{finding.code} {'; '.join(told(finding))}",
            "check_name": finding.code,
            "fingerprint": mark,
            "severity": SEVERITIES[finding.severity],
            "location": {"path": judged.path(finding), "lines": {"begin": max(1, finding.place.line)}},
        }
        for finding, mark in zip(judged.findings, fingerprints(judged), strict=True)
    ]

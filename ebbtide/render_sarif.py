"""Findings as SARIF 2.1.0, which code hosts and editors read. Pure: values in, a document out.

The same files give the same document: it holds no time and no path of a machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from urllib.parse import quote

from contracts.findings import Finding, Severity, exit_code
from ebbtide.grammar import VERSION
from ebbtide.judged import Judged, fingerprints, told
from ebbtide.refusal_pages import Page

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"
FINGERPRINT = "ebbtide/v1"
LEVELS = {
    Severity.ERROR: "error",
    Severity.UNJUDGED: "error",  # nobody may merge on it; the text says that it is no verdict
    Severity.WARNING: "warning",
    Severity.NOTE: "note",
}
_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}


def as_sarif(judged: Judged, pages: Mapping[str, Page]) -> dict[str, object]:
    """One run with a rule for each code, whether it was found or not.

    Paths are relative to the root of the repository. What concerns a file as a whole stands in its first line, because
    hosts show nothing that has no line.
    """
    order = {code: at for at, code in enumerate(pages)}
    unjudged = Counter(finding.severity for finding in judged.findings)[Severity.UNJUDGED]
    run = {
        "tool": {
            "driver": {
                "name": "ebbtide",
                "version": VERSION,
                "rules": [_rule(code, page) for code, page in pages.items()],
            }
        },
        "automationDetails": {"id": f"ebbtide-validate/{judged.below}"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [{"executionSuccessful": not unjudged, "exitCode": exit_code(judged.findings)}],
        "properties": {"commit": judged.commit, "files": judged.files},
        "results": [
            _result(judged, finding, mark, order)
            for finding, mark in zip(judged.findings, fingerprints(judged), strict=True)
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str, page: Page) -> dict[str, object]:
    level = next((word for word in ("warning", "note") if page.title.endswith(f"({word})")), "error")
    return {
        "id": code,
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": page.text.split("\n\n", 1)[0].replace("\n", " ")},
        "help": {"text": page.text, "markdown": f"**{code}: {page.title}**\n\n{page.text}"},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": [page.chapter], "problem.severity": _PROBLEM[level]},
    }


def _result(judged: Judged, finding: Finding, mark: str, order: Mapping[str, int]) -> dict[str, object]:
    region = {"startLine": max(1, finding.place.line)}
    if finding.place.column:
        region["startColumn"] = finding.place.column
    lead = "could not judge: " if finding.severity is Severity.UNJUDGED else ""
    place = {"artifactLocation": {"uri": quote(judged.path(finding)), "uriBaseId": ROOT}, "region": region}
    return {
        "ruleId": finding.code,
        **({"ruleIndex": order[finding.code]} if finding.code in order else {}),
        "level": LEVELS[finding.severity],
        "message": {"text": _plain(lead + "\n".join(told(finding)))},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {FINGERPRINT: mark},
    }


def _plain(text: str) -> str:
    """Text in which no reader takes foreign words for an embedded link."""
    return text.replace("[", "\\[").replace("]", "\\]") if "](" in text else text

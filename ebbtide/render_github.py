"""Findings as workflow commands, which GitHub and hosts like it show beside the line. Pure: values in, lines out.

The runner takes any line of output that begins with `::` for a command, so no foreign text may begin a line or end a
property.
"""

from __future__ import annotations

from contracts.findings import Finding, Severity
from ebbtide.judged import Judged, told
from ebbtide.text import printable
from repo_layout.codes import RULES

COMMANDS = {
    Severity.ERROR: "error",
    Severity.UNJUDGED: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}


def as_commands(judged: Judged) -> list[str]:
    """One command, one line, a finding; nothing for a clean estate."""
    return [_command(judged, finding) for finding in judged.findings]


def _command(judged: Judged, finding: Finding) -> str:
    properties = {"file": printable(judged.path(finding))}
    if finding.place.line:
        properties |= {"line": str(finding.place.line), "col": str(finding.place.column)}
    rule = "could not judge" if finding.severity is Severity.UNJUDGED else RULES.get(finding.code, "")
    properties["title"] = f"{finding.code} {rule}".rstrip()
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{COMMANDS[finding.severity]} {given}::{_data(chr(10).join(told(finding)))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

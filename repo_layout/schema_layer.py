"""The schema layer: the whole estate as one document for an outside checker, and its answer as faults of our files.

`validate` asks a `SchemaChecker`; the adapter that runs one uses `merged_document` and `read_report`. Pure. It must not
know how a process is started, nor which file lies where.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from contracts.errors import Place
from contracts.findings import Fault, Finding, Severity
from repo_layout.faults import fields_at, missing, unknown, wrong_value
from repo_layout.layout import Kind
from repo_layout.load import MODELS
from repo_layout.source import Path, Source

ROOT_KEYS: Mapping[Kind, str] = {
    Kind.SETTINGS: "settings",
    Kind.DIRECTORY: "directory",
    Kind.CONTRACT: "contract",
    Kind.POOL: "pools",
    Kind.CORRELATION_GROUP: "group",
    Kind.APPROVAL: "approval",
    Kind.ADOPTION: "adoption",
    Kind.WAIVER: "waiver",
    Kind.HISTORY: "history",
    Kind.JOIN_PROFILE: "joinProfile",
}
MAX_FAULTS = 10_000
"""Lines of a report that are read; a reviewed estate with more is wrong everywhere."""


@dataclass(frozen=True, slots=True)
class SchemaVerdict:
    """What the schema says: faults by file, or a finding that says why it could not be asked."""

    faults: Mapping[str, tuple[Fault, ...]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


class SchemaChecker(Protocol):
    """The outside checker. Asked once a run; asking again gives the same answer."""

    def judge(self, sources: Sequence[Source]) -> SchemaVerdict:
        """Judge every source. Never raises for what a file holds; a checker that is absent, silent or killed gives an
        `unjudged` finding and no faults.
        """
        ...


@dataclass(frozen=True, slots=True)
class NoSchema:
    """A checker that has nothing to say: for tests and tools that ask for the model alone."""

    def judge(self, sources: Sequence[Source]) -> SchemaVerdict:
        """No fault in any source."""
        del sources
        return SchemaVerdict()


def merged_document(sources: Sequence[Source]) -> bytes:
    """All sources as one JSON document under opaque keys, with their count."""
    root: dict[str, object] = {"count": len(sources)}
    for kind in Kind:
        root[ROOT_KEYS[kind]] = {key(at): s.data for at, s in enumerate(sources) if s.kind is kind}
    return json.dumps(root, ensure_ascii=True, separators=(",", ":")).encode()


def key(at: int) -> str:
    """The opaque key of the source with that number: nothing of a file's name reaches the checker."""
    return f"f{at:05d}"


def unjudged(code: str, message: str, hint: str) -> SchemaVerdict:
    """The schema layer could not be asked."""
    return SchemaVerdict(findings=(Finding(code, Place("."), message, hint=hint, severity=Severity.UNJUDGED),))


# The report: a header line `path: message:` for each error, its positions indented below. What a message quotes is data
# of the files, so nothing but our own error texts and a few fixed words is believed.
_STEP = r'(?:"(?:[^"\\]|\\.)*"|[\w#$-]+)'
_HEADER = re.compile(rf"({_STEP}(?:\.{_STEP})*): (.*)")
_STEPS = re.compile(_STEP)
_OURS = re.compile(r"(EBT-1[0-9]{2}) (.*?):?$")
_TYPES = re.compile(r"\(mismatched types ([a-z]+) and ([a-z]+)\)")
_AT_LEAST = re.compile(r"list\.MinItems\((\d+)\)")
_AT_MOST = re.compile(r"list\.MaxItems\((\d+)\)")
_TYPE_WORDS = {
    "struct": "a mapping",
    "list": "a list",
    "string": "text",
    "int": "a whole number",
    "bool": "true or false",
}


def read_report(report: str, sources: Sequence[Source]) -> SchemaVerdict:
    """The faults of an error report; a report that names no file is a finding, for silence is not consent."""
    keys = {key(at): source for at, source in enumerate(sources)}
    faults: dict[str, dict[tuple[Path, str], Fault]] = {}
    counted = False
    for line in report.split("\n")[: MAX_FAULTS * 8]:
        header = _HEADER.fullmatch(line) if line[:1] not in ("", " ", "\t") else None
        if header is None:
            continue
        steps = _STEPS.findall(header[1])
        source = keys.get(steps[1]) if len(steps) > 1 else None
        if source is None or ROOT_KEYS[source.kind] != steps[0]:
            counted = counted or steps[0] == "_counted"
            continue
        fault = _fault(source, _path(source, steps[2:]), header[2], needed="_need" in steps)
        faults.setdefault(source.file, {}).setdefault((fault.path, fault.code), fault)
    if not faults:
        what = "did not see every file" if counted else "failed and named no file"
        hint = "run it again; if it stays, report it with the output of ebbtide validate --output json"
        return unjudged("EBT-312", f"the schema checker {what}", hint)
    return SchemaVerdict({file: tuple(found.values()) for file, found in faults.items()})


def _path(source: Source, steps: Sequence[str]) -> Path:
    """The path in the document: without the checker's hidden fields, with numbers where a list stands."""
    path: Path = ()
    at: object = source.data
    for step in steps:
        if step.startswith("_"):
            continue
        name = _unquoted(step)
        if isinstance(at, list) and name.isdigit():
            path = (*path, int(name))
            at = at[int(name)] if int(name) < len(at) else None
        else:
            path = (*path, name)
            at = at.get(name) if isinstance(at, dict) else None
    return path


def _unquoted(step: str) -> str:
    if not step.startswith('"'):
        return step
    try:
        return str(json.loads(step))
    except ValueError:
        return step[1:-1]


def _fault(source: Source, path: Path, message: str, *, needed: bool) -> Fault:
    value = source.value(path)
    ours = _OURS.fullmatch(message)
    if needed and path:
        return missing(path)
    if message.startswith("field not allowed") or (ours and ours[1] == "EBT-118"):
        return (
            unknown(path, fields_at(MODELS[source.kind], path[:-1])) if path else wrong_value(path, value, "a mapping")
        )
    if ours and ours[1] in ("EBT-120", "EBT-122", "EBT-123"):
        return wrong_value(path, value, ours[2])
    if ours:
        return Fault(path, ours[1], ours[2])
    return wrong_value(path, value, _expected(value, message))


def _expected(value: object, message: str) -> str:
    """What would have been right, from the few fixed words of the checker's own messages."""
    if types := _TYPES.search(message[-200:]):
        has = "struct" if isinstance(value, dict) else "list" if isinstance(value, list) else ""
        other = [name for name in types.groups() if name != has and name in ("struct", "list")] or [types[2]]
        return _TYPE_WORDS.get(other[0], "another type")
    if least := _AT_LEAST.search(message):
        return f"at least {least[1]} items"
    if most := _AT_MOST.search(message):
        return f"at most {most[1]} items"
    return "a value that the format allows"

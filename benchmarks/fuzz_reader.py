"""What is fuzzed of the reader: any bytes become one document or findings, in bounded time, never an exception.

`benchmarks.fuzz` drives it with a coverage-guided fuzzer, the tests with hypothesis. Whatever it reads it also judges
and lays out anew, since those see the same hostile files.
"""

from __future__ import annotations

from pathlib import Path

from repo_layout.canonical_text import formatted
from repo_layout.codes import RULES
from repo_layout.layout import SHAPES, Kind
from repo_layout.load import judge, read
from repo_layout.strict_yaml import parse
from repo_layout.tree import Tree

FILES = {
    Kind.SETTINGS: "ebbtide.yaml",
    Kind.DIRECTORY: "directory.yaml",
    **{shape.kind: "/".join([folder, *["x"] * (shape.depth - 2), "x.yaml"]) for folder, shape in SHAPES.items()},
    Kind.APPROVAL: "approvals/2026-01-01-x.yaml",
}

_ROOT = Path(__file__).parents[1]
SEEDS = {
    path.relative_to(_ROOT).as_posix().replace("/", "_"): path.read_bytes()
    for folder in ("repo_layout/samples", "contracts/samples")
    for path in sorted((_ROOT / folder).rglob("*.yaml"))
}
"""Files to begin with: every sample, good and bad, of every kind."""


class Broken(AssertionError):  # noqa: N818 - named for what happened to the promise
    """The reader promised something that it did not hold."""


def fuzz_reader(data: bytes) -> None:
    """Read some bytes as a file of every kind. Raises `Broken` where a promise does not hold."""
    file = FILES[Kind.CONTRACT]
    parsed = parse(file, data)
    if (parsed.data is None) != bool(parsed.findings):
        raise Broken("either data or findings")
    lines = data.count(b"\n") + data.count(b"\r") + 1
    for finding in parsed.findings:
        if finding.code not in RULES or finding.place.line > lines + 1:
            raise Broken(f"{finding} has no code or no place")
    if not isinstance(parsed.data, dict):
        return
    if parsed.places.keys() - {()} and not all(place.line <= lines for place in parsed.places.values()):
        raise Broken("a place outside of the file")
    _laid_out(file, data)
    for kind, path in FILES.items():
        taken = read(Tree("worktree", {path: data}))
        for source in taken.sources:
            verdict = judge(source)
            if (verdict.document is None) != bool(verdict.faults):
                raise Broken(f"{kind.value}: either a document or faults")
            for fault in verdict.faults:
                source.finding(fault)


def _laid_out(file: str, data: bytes) -> None:
    once = formatted(file, data)
    if once.text is None:
        raise Broken("what is read is laid out")
    if formatted(file, once.text.encode()).text != once.text:
        raise Broken("a second layout differs from the first")

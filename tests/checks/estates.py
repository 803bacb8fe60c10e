"""Small estates for tests: the minimal one of the samples, what lies over it, and documents without a file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

from contracts.errors import Place
from contracts.findings import Finding
from repo_layout.layout import Kind, Located
from repo_layout.load import assemble, judge, read
from repo_layout.model import Estate
from repo_layout.schema_layer import NoSchema, SchemaChecker
from repo_layout.source import Source
from repo_layout.strict_yaml import Parsed
from repo_layout.tree import Tree
from repo_layout.validate import Validated, validate

ROOT = Path(__file__).parents[2]
MINIMAL = ROOT / "repo_layout/samples/valid/minimal"
INVALID = ROOT / "repo_layout/samples/invalid"
BOUNDARY = ROOT / "repo_layout/samples/boundary"
REMOVED = "removed.txt"
"""In a sample that takes files away: their paths, one a line."""
COMMITTED = "committed.txt"
"""In a sample that is about the calendar: the day of the commit. Others are judged as a work tree, which has none."""

FORECAST = "contracts/tides/forecast.yaml"
HINDCAST = "contracts/tides/hindcast.yaml"
GENERAL = "pools/north/h1-general-a.yaml"


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def minimal() -> dict[str, bytes]:
    return files_of(MINIMAL)


def changed(path: str, *swaps: tuple[str, str], files: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    """The minimal estate with some text of one file swapped."""
    result = dict(files if files is not None else minimal())
    text = result[path].decode()
    for old, new in swaps:
        assert old in text, f"{old!r} does not stand in {path}"
        text = text.replace(old, new)
    return result | {path: text.encode()}


def with_lines(path: str, lines: str, files: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    """The minimal estate with lines added to one file."""
    result = dict(files if files is not None else minimal())
    return result | {path: result.get(path, b"") + lines.encode()}


def laid_over(sample: Path) -> tuple[dict[str, bytes], str]:
    """The minimal estate with a sample's files over it, and the day it is committed on, if it says one."""
    over = files_of(sample)
    removed = over.pop(REMOVED, b"").decode().split()
    day = over.pop(COMMITTED, b"").decode().strip()
    return {path: content for path, content in (minimal() | over).items() if path not in removed}, day


def assembled(tree: Tree) -> Estate:
    """The estate of a tree whose files are well formed."""
    estate = assemble(tree, [judge(source) for source in read(tree).sources]).estate
    assert estate is not None
    return estate


def in_hall_1(files: Mapping[str, bytes], *domains: str) -> dict[str, bytes]:
    """The files with more domains in the group of the first hall."""
    members = ", ".join(("h1-general-b", *domains))
    return changed("correlation_groups/north/hall-1.yaml", ("h1-general-b]", f"{members}]"), files=files)


def judged(files: Mapping[str, bytes], cue: SchemaChecker | None = None, *, day: str = "") -> Validated:
    """The verdict on some files; without a checker, of everything but the schema layer; committed at noon of a day."""
    at = int(dt.datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() * 1000) if day else 0
    tree = Tree("worktree", dict(sorted(files.items())), committed_at=at)
    return validate(tree, cue=cue or NoSchema())


def findings_of(files: Mapping[str, bytes], cue: SchemaChecker | None = None, *, day: str = "") -> tuple[Finding, ...]:
    return judged(files, cue, day=day).findings


def source_of(kind: Kind, data: Mapping[str, object], at: int = 0) -> Source:
    """A document that no file holds."""
    path = f"{kind.name.lower()}/{at}.yaml"
    return Source(Located(kind, path, str(at)), Parsed(data, {(): Place(path, 1, 1)}, ()), data)

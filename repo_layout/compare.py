"""Two commits' files side by side: what was judged of each, what the change does, and which files it is made of.

`ebbtide diff` calls `compare`. What both sides share is read and judged once. Pure but for the schema checker that is
handed in; it must not print, know Git, nor decide an exit code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from repo_layout.change import Effects, Turn, effects
from repo_layout.layout import Kind, Located, locate
from repo_layout.load import Known
from repo_layout.model import Estate
from repo_layout.schema_layer import SchemaChecker, SchemaVerdict
from repo_layout.source import Source
from repo_layout.tree import Tree
from repo_layout.validate import Validated, validate


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that differs; one that moved has the path that it came from."""

    path: str
    turn: Turn
    moved_from: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """Both verdicts, and what the change does; `effects` is None where one side is not well formed.

    `quiet` are files that differ in their text and say the same: reformatted, moved or commented.
    """

    base: Validated
    head: Validated
    files: tuple[FileChange, ...]
    effects: Effects | None = None
    quiet: tuple[str, ...] = ()


def compare(base: Tree, head: Tree, *, cue: SchemaChecker) -> Compared:
    """Judge both and hold them side by side; rules that rest on other people's files judge `head` by what changed."""
    known = Known()
    checker = _AskedOnce(cue)
    before = validate(base, cue=checker, known=known)
    after = validate(head, cue=checker, known=known, since=before.estate)
    files = file_changes(base.files, head.files)
    if before.estate is None or after.estate is None:
        return Compared(before, after, files)
    told = effects(before.estate, after.estate, found=(before.findings, after.findings))
    return Compared(before, after, files, told, _quiet(before.estate, after.estate, told, files))


def file_changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[FileChange, ...]:
    """The files that differ, by path; a contract's file that lies in another folder now has moved, whatever it says."""
    gone = {path for path in before if path not in after}
    homes = {_contract(path): path for path in sorted(gone) if _contract(path)}
    found: list[FileChange] = []
    for path, content in after.items():
        if path not in before:
            came_from = homes.pop(_contract(path), "")
            gone.discard(came_from)
            found.append(FileChange(path, Turn.CHANGED if came_from else Turn.ADDED, came_from))
        elif before[path] != content:
            found.append(FileChange(path, Turn.CHANGED))
    found += [FileChange(path, Turn.REMOVED) for path in gone]
    return tuple(sorted(found, key=lambda change: change.path))


def _contract(path: str) -> str:
    located = locate(path)
    return located.name if isinstance(located, Located) and located.kind is Kind.CONTRACT else ""


def _quiet(base: Estate, head: Estate, told: Effects, files: Iterable[FileChange]) -> tuple[str, ...]:
    """The files of known kinds that hold none of the things that differ."""
    places = (estate.sources.get(thing.key) for estate in (base, head) for thing in told.things)
    telling = {place.file for place in places if place is not None}
    return tuple(
        change.path
        for change in files
        if not telling & {change.path, change.moved_from} and isinstance(locate(change.path), Located)
    )


@dataclass(slots=True)
class _AskedOnce:
    """A schema checker that is not asked again about files that it found clean.

    The schema bounds each file by itself, under a key of its own (`repo_layout/schema/root.cue`), so that what is clean
    among some files is clean among others. After a run with faults everything is asked again.
    """

    inner: SchemaChecker
    clean: dict[int, Source] = field(default_factory=dict)

    def judge(self, sources: Sequence[Source]) -> SchemaVerdict:
        """What the checker says about the sources that it does not know."""
        asked = [source for source in sources if self.clean.get(id(source)) is not source]
        if not asked and self.clean:
            return SchemaVerdict()
        verdict = self.inner.judge(asked)
        if not verdict.faults and not verdict.findings:
            self.clean.update((id(source), source) for source in asked)
        return verdict

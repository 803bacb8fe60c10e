"""Bytes of one reviewed file to plain data with places, or findings; never both and never an exception.

Loaders call `parse`. It works on parser events, so that nothing is expanded or guessed before it was judged: one pass,
bounded by the file's size. It must not know layout, schema or what a field means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from contracts.errors import Place
from contracts.findings import Finding, in_order
from contracts.values import shorten
from repo_layout import plain_scalars
from repo_layout.reviewed_text import decode

MAX_DEPTH = 20  # the deepest format of the estate needs less than half
MAX_NODES = 4096  # keys and items; 64 KiB at 16 bytes each

Path = tuple[str | int, ...]


class Places(Mapping[Path, Place]):
    """Places by path, kept as line and column: most are never asked for."""

    __slots__ = ("_file", "_known")

    def __init__(self, file: str, known: Mapping[Path, tuple[int, int]]) -> None:
        self._file = file
        self._known = known

    def __getitem__(self, path: Path) -> Place:
        return Place(self._file, *self._known[path])

    def __iter__(self) -> Iterator[Path]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


@dataclass(frozen=True, slots=True)
class Parsed:
    """One file, read strictly.

    `data` is JSON-like (mapping, list, text, whole number, decimal, bool) and None when there is any finding. `places`
    says where the value of each path starts, `key_places` where its key stands; the root is the empty path.
    """

    data: object | None
    places: Mapping[Path, Place]
    findings: tuple[Finding, ...]
    key_places: Mapping[Path, Place] = field(default_factory=dict)


def parse(file: str, content: bytes) -> Parsed:
    """The document of one file; `file` is its path in the repository, used for places only."""
    text, findings = decode(file, content)
    builder = _Builder(file)
    if text is not None:
        findings += builder.build(text)
    return Parsed(
        data=None if findings else builder.root,
        places=Places(file, builder.places),
        findings=in_order(findings),
        key_places=Places(file, builder.key_places),
    )


# ------------------------------------------------------------------------------------------------------ events to data

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The C parser where PyYAML was built with it."""


def _events(text: str) -> Iterator[yaml.Event]:
    """The parser's events, as `yaml.parse` yields them, with one call for each."""
    loader = LOADER(text)
    try:
        while not isinstance(event := loader.get_event(), yaml.StreamEndEvent):
            yield event
    finally:
        loader.dispose()


def _start(event: yaml.Event) -> tuple[int, int]:
    """Line and column from 1; 0 where the parser knows none."""
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (0, 0)


@dataclass(slots=True)
class _Frame:
    """A collection that is still open."""

    into: list[object] | dict[str, object]
    path: Path
    first: dict[str, int] = field(default_factory=dict)  # the line of each key
    key: str | None = None


class _Found:
    """What is wrong with one file, collected along the way."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._findings: list[Finding] = []
        self._repeats: dict[str, Finding] = {}

    def all(self) -> list[Finding]:
        """The findings; of anchors and aliases the first alias, or the first anchor where nothing uses it."""
        repeats = self._repeats.get("*") or self._repeats.get("&")
        return [*self._findings, repeats] if repeats else self._findings

    def at(self, event: yaml.Event) -> Place:
        return Place(self._file, *_start(event))

    def add(self, code: str, at: yaml.Event | None, message: str, seen: str = "", expected: str = "") -> None:
        place = self.at(at) if at else Place(self._file)
        self._findings.append(Finding(code, place, message, shorten(seen), expected))

    def once(self, code: str, at: yaml.Event, message: str, seen: str, expected: str) -> None:
        if all(finding.code != code for finding in self._findings):
            self.add(code, at, message, seen, expected)

    def malformed(self, error: yaml.YAMLError) -> None:
        place, problem = Place(self._file), str(error)
        if isinstance(error, yaml.MarkedYAMLError):
            problem = str(error.problem or error.context)
            if mark := error.problem_mark or error.context_mark:
                place = Place(self._file, mark.line + 1, mark.column + 1)
        if "nesting" in problem:  # libyaml looks ahead and has a limit of its own, far above ours
            message = f"collections nest more than {MAX_DEPTH} deep here"
            self._findings.append(Finding("EBT-109", place, message, expected=f"at most {MAX_DEPTH} levels"))
            return
        self._findings.append(Finding("EBT-107", place, f"the file is not well-formed YAML: {shorten(problem)}"))

    def alias(self, event: yaml.AliasEvent) -> None:
        message = f"the alias *{event.anchor} stands for a value that is written elsewhere"
        finding = Finding("EBT-113", self.at(event), message, f"*{event.anchor}", "the value, written out")
        self._repeats.setdefault("*", finding)

    def properties(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.anchor:
            message = f"the anchor &{event.anchor} marks a value to be repeated"
            finding = Finding("EBT-113", self.at(event), message, f"&{event.anchor}", "the value without an anchor")
            self._repeats.setdefault("&", finding)
        if event.tag is not None:
            self.add("EBT-115", event, "a tag changes a value's type", event.tag, "no tags")

    def refuse(self, event: yaml.ScalarEvent, why: plain_scalars.Ambiguous, *, as_key: bool) -> None:
        shown = f'"{shorten(event.value)}"' if event.value else "an empty value"
        what = {"EBT-117": "says nothing", "EBT-111": "is not text"}.get(why.code, "is read differently by other tools")
        self.add(why.code, event, f"{shown}{' as a key' if as_key else ''} {what}", event.value, why.expected)


class _Builder:
    """Builds plain data from parser events and collects what is wrong with them."""

    def __init__(self, file: str) -> None:
        self.found = _Found(file)
        self.root: object | None = None
        self.places: dict[Path, tuple[int, int]] = {}
        self.key_places: dict[Path, tuple[int, int]] = {}
        self._open: list[_Frame] = []
        self._documents = 0
        self._nodes = 0
        self._takers: dict[type[yaml.Event], Callable[[Any], bool]] = {
            yaml.DocumentStartEvent: self._document,
            yaml.AliasEvent: self._alias,
            yaml.ScalarEvent: self._scalar,
            yaml.SequenceStartEvent: self._collection,
            yaml.MappingStartEvent: self._collection,
            yaml.SequenceEndEvent: self._close,
            yaml.MappingEndEvent: self._close,
        }

    def build(self, text: str) -> list[Finding]:
        """Run over the text once; stops early only where going on could not be bounded or understood."""
        try:
            for event in _events(text):
                taker = self._takers.get(type(event))
                if taker is not None and not taker(event):
                    break
            else:
                if not self._documents:
                    self.found.add("EBT-108", None, "the file holds no document", expected="keys and values")
        except yaml.YAMLError as error:
            self.found.malformed(error)
        return self.found.all()

    # Each taker returns whether to go on.

    def _document(self, event: yaml.DocumentStartEvent) -> bool:
        self._documents += 1
        if self._documents > 1:
            message = "a second document starts here"
            self.found.add("EBT-108", event, message, expected="one document a file")
            return False
        if event.version or event.tags:
            self.found.add("EBT-115", event, "the file holds a YAML directive", expected="no directives")
        return True

    def _alias(self, event: yaml.AliasEvent) -> bool:
        self.found.alias(event)
        return self._place_value(event, None, shown=f"*{event.anchor}")

    def _scalar(self, event: yaml.ScalarEvent) -> bool:
        self.found.properties(event)
        value: object = event.value
        plain = not event.style and event.tag is None
        if plain and self._expects_key():
            if event.value == "<<":
                self.found.once("EBT-114", event, "a merge key copies another mapping", "<<", "the keys, written out")
            elif refusal := plain_scalars.refused_as_key(event.value):
                self.found.refuse(event, refusal, as_key=True)
        elif plain:
            resolved = plain_scalars.resolve(event.value)
            if isinstance(resolved, plain_scalars.Ambiguous):
                self.found.refuse(event, resolved, as_key=False)
            else:
                value = resolved
        return self._place_value(event, value, shown=event.value)

    def _collection(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent) -> bool:
        self.found.properties(event)
        if self._expects_key():
            self.found.add("EBT-111", event, "a list or mapping stands where a key is", expected="a key as text")
            return False
        if len(self._open) >= MAX_DEPTH:
            message = f"collections nest more than {MAX_DEPTH} deep here"
            self.found.add("EBT-109", event, message, expected=f"at most {MAX_DEPTH} levels")
            return False
        into: list[object] | dict[str, object] = {} if isinstance(event, yaml.MappingStartEvent) else []
        path = self._next_path()
        going_on = self._place_value(event, into, shown="")
        self._open.append(_Frame(into, path))
        return going_on

    def _close(self, _event: yaml.Event) -> bool:
        self._open.pop()
        return True

    def _expects_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].into, dict) and self._open[-1].key is None

    def _next_path(self) -> Path:
        if not self._open:
            return ()
        frame = self._open[-1]
        return (*frame.path, len(frame.into) if isinstance(frame.into, list) else frame.key or "")

    def _place_value(self, event: yaml.NodeEvent, value: object, *, shown: str) -> bool:
        """Put a key or a value where it belongs and note its place."""
        if self._expects_key():
            return self._place_key(event, shown)
        path = self._next_path()
        if path not in self.places:
            self.places[path] = _start(event)
        if not self._open:
            self.root = value
            if not isinstance(value, dict):
                self.found.add("EBT-108", event, "the document is not a mapping", shown, "keys and values")
            return True
        frame = self._open[-1]
        if isinstance(frame.into, list):
            frame.into.append(value)
            return self._count(event)
        frame.into.setdefault(frame.key or "", value)
        frame.key = None
        return True

    def _place_key(self, event: yaml.NodeEvent, key: str) -> bool:
        frame = self._open[-1]
        frame.key = key
        start = _start(event)
        if key in frame.first:
            message = f'the key "{shorten(key)}" stands in line {frame.first[key]} already'
            self.found.add("EBT-112", event, message, key, "each key once")
        frame.first.setdefault(key, start[0])
        self.key_places.setdefault((*frame.path, key), start)
        return self._count(event)

    def _count(self, event: yaml.NodeEvent) -> bool:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            message = f"the file holds more than {MAX_NODES} keys and items"
            self.found.add("EBT-110", event, message, expected=f"at most {MAX_NODES}")
        return self._nodes <= MAX_NODES

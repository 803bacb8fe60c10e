"""One reviewed file as read: its plain data in the current format, and the way back to the line of every path.

The loader builds sources, the schema layers judge their data and report paths, and `place` turns a path into file, line
and column, through whatever conversion lay between. It must not know what a field means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from contracts.errors import Place
from contracts.findings import Fault, Finding
from repo_layout.layout import Kind, Located
from repo_layout.strict_yaml import Parsed

Path = tuple[str | int, ...]
Moves = Mapping[Path, Path]
"""Where a path of the new data stood in the old: by prefix, the longest that fits; what is not named did not move."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file; `moves` are the conversions from the file's own format to the current one, oldest first."""

    located: Located
    parsed: Parsed
    data: Mapping[str, object]
    moves: tuple[Moves, ...] = ()

    @property
    def kind(self) -> Kind:
        """What the layout says lies at the file's path."""
        return self.located.kind

    @property
    def file(self) -> str:
        """The path in the repository."""
        return self.located.path

    def place(self, path: Path, *, of_key: bool = False) -> Place:
        """Where the value of a path stands, or its key; for a path that the file lacks, the key that would hold it."""
        path = self._written(path)
        if path in self.parsed.places:
            at = self.parsed.key_places.get(path) if of_key else None
            return at or self.parsed.places[path]
        while path and path not in self.parsed.places:
            path = path[:-1]
        return self.parsed.key_places.get(path) or self.parsed.places.get(path) or Place(self.file)

    def finding(self, fault: Fault) -> Finding:
        """The fault at its place in the file."""
        place = self.place(fault.path, of_key=fault.code == "EBT-118")
        return Finding(fault.code, place, fault.message, fault.seen, fault.expected, fault.hint)

    def value(self, path: Path) -> object | None:
        """The plain value at a path, None where there is none."""
        at: object = self.data
        for step in path:
            if isinstance(at, Mapping) and isinstance(step, str):
                at = at.get(step)
            elif isinstance(at, list) and isinstance(step, int) and 0 <= step < len(at):
                at = at[step]
            else:
                return None
        return at

    def _written(self, path: Path) -> Path:
        for moves in reversed(self.moves):
            for length in range(len(path), -1, -1):
                if path[:length] in moves:
                    path = (*moves[path[:length]], *path[length:])
                    break
        return path


class Places(Mapping[str, Place]):
    """Places by `kind/name`, and by `kind/name/field/field` below it, looked up in the source when asked for.

    A field that the file leaves out has the place of what would hold it, so a finding always names a line.
    """

    def __init__(self, known: Mapping[str, tuple[Source, Path]]) -> None:
        self._known = known

    def __getitem__(self, key: str) -> Place:
        steps = key.split("/")
        for length in range(len(steps), 0, -1):
            if entry := self._known.get("/".join(steps[:length])):
                source, path = entry
                return source.place((*path, *(int(s) if s.isdigit() else s for s in steps[length:])))
        raise KeyError(key)

    def written(self, key: str) -> bool:
        """Whether the file itself holds what the key names, and no default or preset does."""
        steps = key.split("/")
        for length in range(len(steps), 0, -1):
            if entry := self._known.get("/".join(steps[:length])):
                source, path = entry
                below = (*path, *(int(s) if s.isdigit() else s for s in steps[length:]))
                return source.value(below) is not None
        return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

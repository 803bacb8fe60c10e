"""The estate's files at one commit, as bytes, and what else lay among them.

Readers in `adapters/` build it; loaders, the compiler and the diff take it. A pure value: it must not know Git, YAML or
where the bytes came from.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from contracts.errors import Place
from contracts.findings import Finding, Severity, in_order
from contracts.values import Instant
from repo_layout.layout import is_ignored
from repo_layout.reviewed_text import MAX_BYTES

MAX_FOLDERS = 8  # the layout needs three levels
MAX_FILES = 20_000  # fifty times the reference estate
MAX_TOTAL_BYTES = 64 * 1024 * 1024  # 20,000 files of 3 KiB, what such files usually have
WORKTREE = "worktree"


class Oddity(enum.Enum):
    """What is unusual about an entry; each has its code below."""

    SYMLINK = "symlink"
    SUBMODULE = "submodule"
    EXECUTABLE = "executable"
    BAD_NAME = "bad name"
    TOO_LARGE = "too large"
    NOT_REGULAR = "not regular"
    TOO_DEEP = "too deep"
    TOO_MANY = "too many"
    NOT_CLONED = "not cloned"
    NOT_STORED = "not stored"
    NOT_READABLE = "not readable"


@dataclass(frozen=True, slots=True)
class Odd:
    """One unusual entry; `size` in bytes where it matters."""

    path: str
    oddity: Oddity
    size: int = 0


@dataclass(frozen=True, slots=True)
class _Rule:
    code: str
    message: str
    expected: str
    hint: str = ""
    severity: Severity = Severity.ERROR


_RULES = {
    Oddity.SYMLINK: _Rule("EBT-136", "this is a symbolic link", "a file", "write the content in its place"),
    Oddity.SUBMODULE: _Rule("EBT-137", "this is a submodule or a repository of its own", "files", "copy its files in"),
    Oddity.EXECUTABLE: _Rule("EBT-138", "this file is executable", "mode 644", "chmod -x", Severity.WARNING),
    Oddity.BAD_NAME: _Rule("EBT-139", "the path is not UTF-8", "a UTF-8 path", "rename it"),
    Oddity.TOO_LARGE: _Rule(
        "EBT-101", "the file has {size} bytes, more than {max_bytes}", "at most {max_bytes} bytes", "split it"
    ),
    Oddity.NOT_REGULAR: _Rule("EBT-140", "this is neither a file nor a folder", "a file"),
    Oddity.TOO_DEEP: _Rule("EBT-141", "folders nest more than {max_folders} deep here", "at most {max_folders} levels"),
    Oddity.TOO_MANY: _Rule("EBT-141", "too many files; this one and the rest are not read", "{max_files} files"),
    Oddity.NOT_CLONED: _Rule(
        "EBT-301",
        "content not in this partial clone",
        "the content of every file",
        "git fetch --refetch --no-filter, or clone without --filter",
        Severity.UNJUDGED,
    ),
    Oddity.NOT_STORED: _Rule(
        "EBT-302",
        "content missing or damaged in this repository",
        "the content of every file",
        "git fsck names what is missing; fetch it again from a whole clone",
        Severity.UNJUDGED,
    ),
    Oddity.NOT_READABLE: _Rule(
        "EBT-303", "the file cannot be read", "a readable file", "check owner and mode", Severity.UNJUDGED
    ),
}


@dataclass(frozen=True, slots=True)
class Tree:
    """Files by path, sorted, with their bytes; `commit` is 40 hex digits or `worktree`."""

    commit: str
    files: Mapping[str, bytes]
    odd: tuple[Odd, ...] = ()
    committed_at: Instant = 0
    findings: tuple[Finding, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = (_finding(odd) for odd in self.odd if not is_ignored(odd.path))
        object.__setattr__(self, "findings", in_order(found))


class TreeDraft:
    """Files and oddities as a reader comes upon them, within the limits of a tree."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._odd: list[Odd] = []
        self._bytes = 0

    def add(self, path: str, content: bytes | Odd) -> bool:
        """Take a file's content or what is odd about the entry; False when the tree is full and reading has to stop."""
        if self._bytes > MAX_TOTAL_BYTES or len(self._files) + len(self._odd) >= MAX_FILES:
            self._odd.append(Odd(path, Oddity.TOO_MANY))
            return False
        if isinstance(content, Odd):
            self._odd.append(content)
        else:
            self._files[path] = content
            self._bytes += len(content)
        return True

    def finish(self, commit: str, committed_at: Instant = 0) -> Tree:
        """The tree, in the order of paths whatever the order of reading."""
        odd = tuple(sorted(self._odd, key=lambda one: (one.path, one.oddity.value)))
        return Tree(commit, MappingProxyType(dict(sorted(self._files.items()))), odd, committed_at)


def _finding(odd: Odd) -> Finding:
    rule = _RULES[odd.oddity]
    numbers = {"size": odd.size, "max_bytes": MAX_BYTES, "max_folders": MAX_FOLDERS, "max_files": MAX_FILES}
    return Finding(
        code=rule.code,
        place=Place(odd.path),
        message=rule.message.format(**numbers),
        expected=rule.expected.format(**numbers),
        hint=rule.hint,
        severity=rule.severity,
    )

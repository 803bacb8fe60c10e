"""Who owns a path by the repository's CODEOWNERS, in the syntax of GitHub and in that of GitLab.

`ebbtide diff` asks whose approval a change needs. The subset that is read stands in docs/diff.md. Pure: text and paths
in, names out. It must not know who a name is, nor whether a code host enforces any of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where code hosts look, the first that is there counts. GitHub begins with its own folder, GitLab with the root."""

MOST_RULES = 1_000
"""Lines that are read: a file of owners with more is a list of files, and every path asks every line."""

_SECTION = re.compile(r"(\^?)\[([^\]]+)\](?:\[([0-9]{1,3})\])?(?:[ \t]+(.*))?$")
_WORDS = re.compile(r"(?:\\.|[^\s\\])+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: a pattern by its segments and who owns what it matches; `excludes` takes paths out of a section."""

    segments: tuple[str, ...]
    owners: tuple[str, ...]
    line: int
    excludes: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Rules that ask for approvals of their own; GitHub knows one, without a name.

    `approvals` is how many of the owners have to approve; an `optional` section asks and never blocks.
    """

    name: str
    rules: tuple[Rule, ...]
    approvals: int = 1
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Owned:
    """Paths whose change needs `approvals` of the owners; without owners nobody in particular."""

    owners: tuple[str, ...]
    paths: tuple[str, ...]
    section: str = ""
    approvals: int = 1
    optional: bool = False


@dataclass(frozen=True, slots=True)
class OwnersChange:
    """Files that are somebody else's after a change of the owners' file; nobody's where a side is empty."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodeOwners:
    """One file of owners."""

    path: str
    sections: tuple[Section, ...]

    def of(self, paths: Iterable[str]) -> tuple[Owned, ...]:
        """The paths by who owns them: in each section the last line that matches decides. Paths that nobody owns come
        last, with no owners.
        """
        found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for path in sorted(set(paths)):
            owned = [(section.name, _owners(section, path)) for section in self.sections]
            for key in [key for key in owned if key[1]] or [("", ())]:
                found.setdefault(key, []).append(path)
        by_name = {section.name: section for section in self.sections}
        ordered = sorted(found.items(), key=lambda item: (not item[0][1], item[0]))
        return tuple(
            Owned(owners, tuple(of), name, by_name[name].approvals, by_name[name].optional)
            for (name, owners), of in ordered
        )


def owners_changes(
    before: CodeOwners | None, after: CodeOwners | None, paths: Iterable[str]
) -> tuple[OwnersChange, ...]:
    """The paths whose owners differ between two files of owners, by who had and who has them."""
    if before == after:
        return ()
    every = tuple(paths)
    had, has = _owners_by_path(before, every), _owners_by_path(after, every)
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for path in sorted(every):
        if had.get(path, ()) != has.get(path, ()):
            found.setdefault((had.get(path, ()), has.get(path, ())), []).append(path)
    return tuple(OwnersChange(*who, tuple(of)) for who, of in sorted(found.items()))


def _owners_by_path(owners: CodeOwners | None, paths: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Everybody who owns a path, in whatever section."""
    found: dict[str, set[str]] = {}
    for owned in owners.of(paths) if owners else ():
        for path in owned.paths:
            found.setdefault(path, set()).update(owned.owners)
    return {path: tuple(sorted(names)) for path, names in found.items()}


def code_owners(files: Mapping[str, bytes]) -> CodeOwners | None:
    """The file of owners among some files, None where there is none or it is no text."""
    for path in PLACES:
        if path in files:
            try:
                return parsed(path, files[path].decode("utf-8"))
            except UnicodeDecodeError:
                return None
    return None


def parsed(path: str, text: str) -> CodeOwners:
    """The rules of a file; lines that name no pattern are left out, as code hosts do.

    A header such as `[Name]` or a place below `.gitlab` tells GitLab's syntax, anything else is GitHub's.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")][:MOST_RULES]
    gitlab = path.startswith(".gitlab/") or any(_SECTION.match(line) for _, line in lines)
    sections: dict[str, Section] = {"": Section("", ())}
    current = ""
    default: tuple[str, ...] = ()
    for number, line in lines:
        if gitlab and (header := _SECTION.match(line)):
            current, default = _open(sections, header)
        elif rule := _rule(line, number, default, gitlab=gitlab):
            had = sections[current]
            sections[current] = Section(had.name, (*had.rules, rule), had.approvals, had.optional)
    return CodeOwners(path, tuple(sections.values()))


def _open(sections: dict[str, Section], header: re.Match[str]) -> tuple[str, tuple[str, ...]]:
    """Begin a section, or go on with one of that name in whatever case; its key and default owners."""
    name = header[2].strip()
    key = name.casefold()
    if key not in sections:
        sections[key] = Section(name, (), max(1, int(header[3] or 1)), optional=bool(header[1]))
    return key, _named(_words(header[4] or ""))


def _rule(line: str, number: int, default: tuple[str, ...], *, gitlab: bool) -> Rule | None:
    words = _words(line)
    pattern = words[0] if words else ""
    excludes = pattern.startswith("!")
    if excludes and not gitlab:
        return None  # GitHub ignores such a line
    segments = _segments(pattern.removeprefix("!"), gitlab=gitlab)
    return Rule(segments, _named(words[1:]) or default, number, excludes) if segments else None


def _words(text: str) -> list[str]:
    """The words up to a comment; a blank may stand in a word behind a backslash."""
    words: list[str] = []
    for word in _WORDS.findall(text):
        if word.startswith("#"):
            break
        words.append(word)
    return words


def _named(words: Sequence[str]) -> tuple[str, ...]:
    """What is a name or an address among the words."""
    return tuple(word for word in words if "@" in word)


def _segments(pattern: str, *, gitlab: bool) -> tuple[str, ...]:
    """The pattern from the root, `**` for any number of folders; empty for one that matches nothing.

    Without a slash at its start GitLab looks at every depth, GitHub only where no slash stands inside either.
    """
    parts = [part for part in pattern.split("/") if part]
    if not parts:
        return ("**",) if gitlab and pattern == "/" else ()
    anchored = pattern.startswith("/") or (not gitlab and len(parts) > 1)
    below = pattern.endswith("/")
    ends = parts[-1]
    if below:
        parts.append("**")
    elif not gitlab and not (ends == "*" and len(parts) > 1) and ends != "**":
        parts.append("/**")  # a folder owns what is in it; a lone * at the end does not
    return tuple(parts) if anchored else ("**", *parts)


def _owners(section: Section, path: str) -> tuple[str, ...]:
    steps = path.split("/")
    if any(rule.excludes and _matches(rule.segments, steps) for rule in section.rules):
        return ()
    for rule in reversed(section.rules):
        if not rule.excludes and _matches(rule.segments, steps):
            return rule.owners
    return ()


def _matches(segments: Sequence[str], steps: Sequence[str]) -> bool:
    """Whether a pattern matches a whole path; in time proportional to pattern x path, whatever it holds.

    `/**` at the end stands for nothing or any number of folders, `**` elsewhere for any number, at the end for one at
    least.
    """
    reached = {0}
    for at, segment in enumerate(segments):
        if segment in ("**", "/**"):
            first = min(reached) + (at == len(segments) - 1 and segment == "**")
            reached = set(range(first, len(steps) + 1))
        else:
            reached = {done + 1 for done in reached if done < len(steps) and _alike(segment, steps[done])}
        if not reached:
            return False
    return len(steps) in reached


def _alike(pattern: str, text: str) -> bool:
    """Whether one segment matches one name: `*` is any text, `?` any character, a backslash takes the next as it is."""
    marks = _marks(pattern)
    at = seen = 0
    star, resume = -1, 0
    while seen < len(text):
        if at < len(marks) and marks[at] == ("*", True):
            star, resume = at, seen
            at += 1
        elif at < len(marks) and (marks[at] == ("?", True) or (marks[at][0] == text[seen] and not marks[at][1])):
            at, seen = at + 1, seen + 1
        elif star >= 0:
            resume += 1
            at, seen = star + 1, resume
        else:
            return False
    return all(mark == ("*", True) for mark in marks[at:])


@lru_cache(maxsize=2 * MOST_RULES)
def _marks(pattern: str) -> tuple[tuple[str, bool], ...]:
    """Characters, and whether each is a wildcard."""
    taken = iter(pattern)
    return tuple((next(taken, char), False) if char == "\\" else (char, char in "*?") for char in taken)

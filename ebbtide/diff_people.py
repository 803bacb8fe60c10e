"""Who has to approve a change: owners of its files, and the people behind money, waivers and removals. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ebbtide.diff_rows import Row, Section, first
from ebbtide.diff_view import DiffView
from ebbtide.diff_words import joined
from ebbtide.text import count
from repo_layout.consent import Ask, Asked
from repo_layout.owners import Owned

MOST_MOVES = 8
"""Groups of files that go from one owner to another and are told one by one."""
MOST_OWNERS = 40
"""The reference estate has 27 groups of owners."""


def approvals(view: DiffView) -> Section:
    """One row for each group of owners and each person; a change without any path asks nobody."""
    owners = [_owned(owned) for owned in view.owned]
    if len(owners) > MOST_OWNERS:
        owners = [*owners[:MOST_OWNERS], Row("!", f"and {len(owners) - MOST_OWNERS} more", "", "groups of owners")]
    rows = [*owners, *(row for asked in view.asked for row in _asked(asked))]
    if view.paths and view.owners is None:
        rows.insert(0, Row("!", "no CODEOWNERS", "", "no file says who owns what; any reviewer may approve"))
    source = f"by {view.owners.path} of the base" if view.owners and view.paths else ""
    return Section("", "who must approve", source, tuple(rows))


def new_owners(view: DiffView) -> Section:
    """Files that are somebody else's once this change is merged: who may wave later ones through."""
    told = [(_names(one.before), _names(one.after), one.paths) for one in view.owners_changed]
    if len(told) > MOST_MOVES:
        by_new: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        for _, after, paths in told:
            by_new[after].append(paths)
        told = [(count(len(of), "group") + " of owners", after, sum(of, ())) for after, of in by_new.items()]
    told.sort(key=lambda one: (-len(one[2]), one))
    rows = [Row("!", count(len(paths), "file"), f"{was} -> {now}", first(sorted(paths))) for was, now, paths in told]
    more = (Row("!", f"and {len(rows) - MOST_MOVES} more"),) if len(rows) > MOST_MOVES else ()
    return Section("", "who approves from then on", "", (*rows[:MOST_MOVES], *more))


def _names(owners: tuple[str, ...]) -> str:
    return joined(owners, "or") or "nobody in particular"


def _owned(owned: Owned) -> Row:
    files = count(len(owned.paths), "file")
    if not owned.owners:
        return Row("!", "nobody in particular", files, f"no line of the owners' file matches: {first(owned.paths)}")
    about = joined(owned.owners, "or")
    if owned.approvals > 1:
        about = f"{owned.approvals} of {about}"
    section = f"section {owned.section}: " if owned.section else ""
    asked = "may be skipped: " if owned.optional else ""
    return Row(" ", about, files, f"{section}{asked}{first(owned.paths)}")


def _asked(asked: Asked) -> Iterator[Row]:
    who = joined(asked.who, "or")
    match asked.ask:
        case Ask.SPEND:
            words = f"{asked.about} answers for {asked.numbers[0]} a day and may spend {asked.numbers[1]}"
            yield Row("!", who or "nobody is named", "", words + ("" if who else ": name an approver in the contract"))
        case Ask.REMOVAL:
            taken = f"{asked.numbers[0]} of {asked.numbers[1]} units of {asked.about} are taken away"
            ends = "the approval of this change says so" if who else "add a file approvals/<date>-<subject>.yaml"
            yield Row("!", who or "an approval", "", f"{taken}, more than 10 %: {ends}")
        case _:
            yield Row(" ", who, "", f"{asked.about.replace('/', ' ', 1)}: {asked.ask.value}")

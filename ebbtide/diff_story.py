"""What a change does, in the order in which a reviewer asks: the verdict, each contract, what follows, who is asked.

Text and Markdown are written from the same sections, so that they cannot say different things. Pure: a view in, plain
words out; nothing here is escaped or coloured.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from contracts.findings import Finding, Severity
from ebbtide.diff_people import approvals, new_owners
from ebbtide.diff_rows import MOST_NAMES, Row, Section, first
from ebbtide.diff_sums import sums
from ebbtide.diff_things import other_things
from ebbtide.diff_view import DiffView
from ebbtide.diff_words import meaning, tightness, values, why
from ebbtide.text import count, listed
from repo_layout.change import ThingChange, Turn
from repo_layout.change_fields import FieldChange
from repo_layout.change_findings import subject
from repo_layout.change_pools import ReachChange, usable_pools
from repo_layout.model import Estate

MOST_CONTRACTS = 15
"""Contracts that are told one by one; a change of more is read as a whole."""
MOST_FINDINGS = 8

KINDS = (
    ("pool", "pool row"), ("group", "correlation group"), ("team", "team"), ("directory", "directory entry"),
    ("waiver", "waiver"), ("approval", "approval"), ("adoption", "adoption"), ("region", "region"),
    ("cluster", "cluster"), ("gpu", "GPU factor"), ("history", "history row"),
)  # fmt: skip


def verdict(view: DiffView) -> str:
    """The first line: how much changes, what stops or starts being feasible, and whether it is refused."""
    what = ", ".join(_amounts(view)) or "no effect"
    if view.compared.effects is None:
        broken = "the base" if view.compared.head.estate is not None else "this change"
        what = f"{broken} is not well formed, so the effect cannot be told"
    if view.code == 2:
        return f"{what}: could not be judged"
    found = view.effects.findings
    named = any(thing.kind == "contract" for thing in view.effects.things)
    turns = ((found.stopped, "stops being feasible", "stop being feasible"),
             (found.started, "starts being feasible", "start being feasible"))  # fmt: skip
    what = ", ".join([what, *(_turned(len(names), *words, named=named) for names, *words in turns if names)])
    if view.errors:
        new = len(view.errors) - len(view.standing)
        told = count(len(view.errors), "error") if new else f"{count(len(view.errors), 'error')} that the base has too"
        return f"{what}: refused" if found.stopped and new == len(view.errors) else f"{what}: refused, {told}"
    warnings = sum(finding.severity is Severity.WARNING for finding in view.compared.head.findings)
    more = f", {count(warnings, 'warning')}" if warnings else ""
    return f"{what}{more}" if what == "no effect" and not more else f"{what}: holds{more}"


def story(view: DiffView) -> Iterator[Section]:
    """Everything behind the first line; sections without rows are left out."""
    yield from _contracts(view)
    for section in (
        other_things(view),
        _findings(view),
        _others_reach(view),
        _others_tight(view),
        sums(view),
        _expiring(view),
        _quiet(view),
        new_owners(view),
        approvals(view),
    ):
        if section.rows:
            yield section


def _turned(number: int, one: str, many: str, *, named: bool) -> str:
    """So many contracts turn; the word is left out behind contracts that were counted before."""
    words = (one, many) if named else (f"contract {one}", f"contracts {many}")
    return count(number, *words)


def _amounts(view: DiffView) -> Iterator[str]:
    by_kind: dict[str, Counter[Turn]] = defaultdict(Counter)
    for thing in view.effects.things:
        by_kind[thing.kind][thing.turn] += 1
    renamed = len(view.effects.renamed)
    contracts = by_kind["contract"]
    for number, one, many in (
        (contracts[Turn.CHANGED], "contract changes", "contracts change"),
        (contracts[Turn.ADDED] - renamed, "contract is new", "contracts are new"),
        (contracts[Turn.REMOVED] - renamed, "contract goes", "contracts go"),
        (renamed, "contract is renamed", "contracts are renamed"),
    ):
        if number:
            yield count(number, one, many)
    for kind, word in KINDS:
        turns = by_kind[kind]
        for turn, verb, verbs in ((Turn.CHANGED, "changes", "change"), (Turn.ADDED, "is new", "are new"),
                                  (Turn.REMOVED, "goes", "go")):  # fmt: skip
            if turns[turn]:
                plural = word[:-1] + "ies" if word.endswith("y") else word + "s"
                yield count(turns[turn], f"{word} {verb}", f"{plural} {verbs}")
    if by_kind["settings"]:
        yield "the settings change"
    if files := sum(len(one.paths) for one in view.owners_changed):
        yield f"the owners of {count(files, 'file')} change"


# ------------------------------------------------------------------------------------------------------------ contracts


def _contracts(view: DiffView) -> Iterator[Section]:
    """Those that change one by one, those that come and go in a list each."""
    things = [thing for thing in view.effects.things if thing.kind == "contract"]
    renamed = {name for pair in view.effects.renamed for name in (pair.before, pair.after)}
    sections = [_renamed(view, pair.before, pair.after) for pair in view.effects.renamed]
    sections += _merged(_contract(view, thing) for thing in things if thing.turn is Turn.CHANGED)
    yield from sections[:MOST_CONTRACTS]
    if rest := sections[MOST_CONTRACTS:]:
        names = listed([section.title for section in rest], most=30)
        yield Section("~", "and other contracts, each in its way", "", (Row(" ", words=names),))
    for turn, sign, title, note in (
        (Turn.ADDED, "+", "new contracts", "admitted from now on"),
        (Turn.REMOVED, "-", "contracts that go", "what runs of them drains, and their floors are given back"),
    ):
        rows = [_whole(view, thing, sign) for thing in things if thing.turn is turn and thing.name not in renamed]
        if rows:
            yield Section(sign, title, note, _shortened(rows, MOST_CONTRACTS))


def _merged(sections: Iterable[Section]) -> list[Section]:
    """Contracts that change in the same way told once, in the order of the first of each."""
    alike: dict[tuple[Row, ...], list[Section]] = defaultdict(list)
    for section in sections:
        alike[section.rows].append(section)
    return [
        some[0]
        if len(some) == 1
        else Section("~", first(one.title for one in some), f"{count(len(some), 'contract')} alike", rows)
        for rows, some in alike.items()
    ]


def _contract(view: DiffView, thing: ThingChange) -> Section:
    old = view.before.contract_by_name.get(thing.name) if view.before else None
    new = view.after.contract_by_name.get(thing.name) if view.after else None
    rows: list[Row] = []
    if old is not None and new is not None:
        rows = [Row("~", one.path, values(one), meaning(one, old, new)) for one in _telling(thing.fields)]
    rows += [row for reach in view.effects.reach if reach.workload == thing.name for row in _reach(reach)]
    rows += [
        Row("!", "spread", "", tightness(change))
        for change in view.effects.slack
        if change.workload == thing.name and change.tight
    ]
    was, now = _file(view.before, thing.key), _file(view.after, thing.key)
    note = f"{was} -> {now}" if was != now else now
    return Section("~", thing.name, note, tuple(rows))


def _telling(fields: Sequence[FieldChange]) -> list[FieldChange]:
    """The fields without those that go with one beside them: a checkpoint that is taken no more has no interval."""
    ended = {one.path.partition(".")[0] for one in fields if (one.path, one.after) in _ENDS}
    return [one for one in fields if one.path.partition(".")[0] not in ended or (one.path, one.after) in _ENDS]


_ENDS = {("checkpoint.mode", "none"), ("fallback.allowed", "false")}


def _whole(view: DiffView, thing: ThingChange, sign: str) -> Row:
    """A contract that came or went, in a line."""
    estate = view.after if thing.turn is Turn.ADDED else view.before
    contract = estate.contract_by_name.get(thing.name) if estate else None
    if estate is None or contract is None:
        return Row(sign, thing.name)
    size = f"{contract.unit.vcpu} vCPU" + (f", {contract.unit.gpu} GPU" if contract.unit.gpu else "")
    value = f"{contract.tier.value}, {contract.maximum} x {size}"
    told = [f"floor {contract.floor}"] if contract.floor else []
    told += [f"fallback up to {contract.fallback.limit_per_day} a day"] if contract.fallback.allowed else []
    if thing.turn is Turn.ADDED:
        told.append(f"may use {count(usable_pools(estate, contract), 'reclaimable pool')}")
    return Row(sign, thing.name, value, "; ".join(told))


def _renamed(view: DiffView, before: str, after: str) -> Section:
    was, now = _file(view.before, f"contract/{before}"), _file(view.after, f"contract/{after}")
    contract = view.after.contract_by_name.get(after) if view.after else None
    units = count(contract.maximum, "unit") if contract else "its units"
    words = f"to the platform another workload: up to {units} of {before} drain, and {after} starts with none"
    return Section("~", f"{before} -> {after}", f"{was} -> {now}", (Row("~", "renamed", "", words),))


def _file(estate: Estate | None, key: str) -> str:
    place = estate.sources.get(key) if estate else None
    return place.file if place else ""


# ---------------------------------------------------------------------------------------------------- pools and spread


def _reach(reach: ReachChange) -> Iterator[Row]:
    """A row for each reason; the count of reclaimable pools stands in the first."""
    counted = f"{reach.before} -> {reach.after}" if reach.before != reach.after else ""
    for gained, moves in ((False, reach.lost), (True, reach.gained)):
        by_reason: dict[str, list[str]] = defaultdict(list)
        for move in moves:
            by_reason[why(move, gained=gained)].append(move.pool)
        for reason, pools in sorted(by_reason.items()):
            sign = "+" if gained else "-"
            yield Row(sign, f"{'gains' if gained else 'loses'} {count(len(pools), 'pool')}", counted,
                      f"{reason}: {first(pools)}")  # fmt: skip
            counted = ""


def _others_reach(view: DiffView) -> Section:
    """Workloads whose contracts do not change, together where the same befalls them."""
    told = {thing.name for thing in view.effects.things if thing.kind == "contract"}
    alike: dict[tuple[bool, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for reach in view.effects.reach:
        if reach.workload in told:
            continue
        for gained, moves in ((False, reach.lost), (True, reach.gained)):
            by_reason: dict[str, list[str]] = defaultdict(list)
            for move in moves:
                by_reason[why(move, gained=gained)].append(move.pool)
            for reason, pools in by_reason.items():
                alike[gained, reason, tuple(pools)].append(reach.workload)
    order = sorted(alike.items(), key=lambda item: (item[0][0], -len(item[1]), item[0]))
    rows = [
        Row(
            "+" if gained else "-",
            *_who(names, "gain" if gained else "lose", count(len(pools), "pool")),
            _with_names(f"{reason}: {first(pools)}", names),
        )
        for (gained, reason, pools), names in order
    ]
    return Section("", "pools that other workloads gain and lose", "", _shortened(rows))


def _others_tight(view: DiffView) -> Section:
    told = {thing.name for thing in view.effects.things if thing.kind == "contract"}
    alike: dict[str, list[str]] = defaultdict(list)
    for change in view.effects.slack:
        if change.tight and change.workload not in told:
            alike[tightness(change)].append(change.workload)
    rows = [
        Row("!", *_who(names, "", ""), _with_names(words, names))
        for words, names in sorted(alike.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return Section("", "bounds that become tight", "", _shortened(rows))


def _who(names: Sequence[str], verb: str, what: str) -> tuple[str, str]:
    """One workload by its name, several by their number; and what they do."""
    if len(names) == 1:
        return names[0], f"{verb}s {what}" if verb else ""
    return count(len(names), "workload"), f"{verb} {what}".strip()


def _with_names(words: str, names: Sequence[str]) -> str:
    return f"{words}; {first(names)}" if len(names) > 1 else words


def _shortened(rows: Sequence[Row], most: int = 12) -> tuple[Row, ...]:
    if len(rows) <= most:
        return tuple(rows)
    return (*rows[:most], Row(" ", f"and {len(rows) - most} more"))


# --------------------------------------------------------------------------------------------------- findings and files


def _findings(view: DiffView) -> Section:
    """What appears and vanishes; where a side is not well formed, what is wrong with it."""
    if view.compared.effects is None:
        bad = [one for one in view.compared.head.findings if one.severity in _SERIOUS]
        rows = [Row("!", one.code, str(one.place), one.message) for one in bad]
        if view.compared.base.estate is None:
            bad = [one for one in view.compared.base.findings if one.severity in _SERIOUS]
            rows += [Row("!", one.code, str(one.place), f"of the base: {one.message}") for one in bad]
        return Section("", "findings", "ebbtide validate says what was expected", _shortened(rows, MOST_FINDINGS))
    found = view.effects.findings
    unread = [one for one in view.compared.head.findings if one.severity is Severity.UNJUDGED]
    rows = [*_told("!", unread), *_told("!", (one for one in found.appear if one not in unread))]
    rows += _told("+", found.vanish, "no longer: ")
    rows = [*_shortened([*rows, *_told("!", view.standing, "as before: ")], MOST_FINDINGS)]
    warnings = [one for one in view.compared.head.findings if one.severity is Severity.WARNING]
    if old := len([one for one in warnings if one not in set(found.appear)]):
        rows.append(Row(" ", count(old, "warning"), "", "as before; ebbtide validate lists them"))
    return Section("", "findings", "", tuple(rows))


_SERIOUS = (Severity.ERROR, Severity.UNJUDGED)


def _told(sign: str, findings: Iterable[Finding], prefix: str = "") -> Iterator[Row]:
    """Errors first; notes do not alarm."""
    for finding in sorted(findings, key=lambda one: one.severity is not Severity.ERROR):
        kind = "" if finding.severity is Severity.ERROR else f"{finding.severity.value}: "
        quiet = " " if sign == "!" and finding.severity is Severity.NOTE else sign
        about = subject(finding).removeprefix("contract/")
        yield Row(
            quiet, finding.code, about if "/" not in about else str(finding.place), prefix + kind + finding.message
        )


def _expiring(view: DiffView) -> Section:
    rows = [Row("!", key.replace("/", " ", 1), str(day), "") for key, day in view.expiring]
    return Section("", "expired, or within a month of the commit", "", _shortened(rows))


def _quiet(view: DiffView) -> Section:
    files = view.compared.quiet
    moved = {change.path: change.moved_from for change in view.compared.files if change.moved_from}
    rows = [Row(" ", path, f"from {moved[path]}" if path in moved else "", "") for path in files[:MOST_NAMES]]
    if len(files) > MOST_NAMES:
        rows.append(Row(" ", f"and {len(files) - MOST_NAMES} more"))
    return Section("", "files that differ and say the same", "", tuple(rows))

"""A commit's files to sources, models and one `Estate`: the first form layer, and the names across files.

`validate` calls `read`, `judge` and `assemble` in turn, with the schema layer beside `judge`. Pure: bytes in, values
and findings out. It must not know rules that compare files with each other, other than by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from pydantic import ValidationError

from contracts.errors import Place
from contracts.fields import Declared, read_document
from contracts.findings import Fault, Finding
from contracts.model import ContractFile
from correlation_groups.model import GroupFile
from pools.join_profiles import JoinProfileFile
from pools.model import PoolFile
from repo_layout.documents import AdoptionFile, ApprovalFile, DirectoryFile, HistoryFile, SettingsFile, WaiverFile
from repo_layout.faults import EMPTY, dotted, fields_at, model_faults
from repo_layout.layout import ROOT_FILES, Kind, Located, Named, disagreement, duplicates, locate, shown
from repo_layout.model import Estate
from repo_layout.shelf import Shelf
from repo_layout.source import Path, Source
from repo_layout.strict_yaml import parse
from repo_layout.tree import Oddity, Tree
from repo_layout.versions import CONVERTERS, Converter, to_current

MODELS: Mapping[Kind, type[Declared]] = {
    Kind.SETTINGS: SettingsFile,
    Kind.DIRECTORY: DirectoryFile,
    Kind.CONTRACT: ContractFile,
    Kind.POOL: PoolFile,
    Kind.CORRELATION_GROUP: GroupFile,
    Kind.APPROVAL: ApprovalFile,
    Kind.ADOPTION: AdoptionFile,
    Kind.WAIVER: WaiverFile,
    Kind.HISTORY: HistoryFile,
    Kind.JOIN_PROFILE: JoinProfileFile,
}

MOST_OF_A_FILE = 200
"""Findings of form that one file shows; a file with more is wrong in one way many times over."""

_WORDS: Mapping[Kind, str] = {
    kind: get_args(model.model_fields["kind"].annotation)[0] for kind, model in MODELS.items()
}


@dataclass(frozen=True, slots=True)
class Read:
    """The files with data in the current format, what was found on the way, and the kinds that have lost a file."""

    sources: tuple[Source, ...]
    findings: tuple[Finding, ...]
    broken: frozenset[Kind]


@dataclass(slots=True)
class Known:
    """What was read and judged before: two commits that share most of their files cost little more than one."""

    files: dict[tuple[str, bytes], FileRead] = field(default_factory=dict)
    judged: dict[int, Judged] = field(default_factory=dict)

    def read(self, located: Located, content: bytes, converters: Mapping[str, Converter]) -> FileRead:
        """The file, read once."""
        key = (located.path, content)
        if key not in self.files:
            self.files[key] = _source(located, content, converters)
        return self.files[key]

    def judge(self, source: Source) -> Judged:
        """The source's model, made once; a source that was read here lives as long as this does."""
        if id(source) not in self.judged:
            self.judged[id(source)] = judge(source)
        return self.judged[id(source)]


FileRead = tuple[Source | None, tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class Judged:
    """One source's model, or what the model says is wrong."""

    source: Source
    document: Declared | None
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Assembled:
    """The estate of every document that is well formed (None without settings), and what their names say.

    `broken` are the kinds in which a name is wrong, so that what refers to them cannot be judged.
    """

    estate: Estate | None
    findings: tuple[Finding, ...]
    broken: frozenset[Kind]


def read(tree: Tree, converters: Mapping[str, Converter] = CONVERTERS, known: Known | None = None) -> Read:
    """Every file of the tree that the layout knows, parsed strictly and brought to the current format.

    What `known` has read with the same converters is not read again.
    """
    known = known if known is not None else Known()
    sources: list[Source] = []
    findings: list[Finding] = list(tree.findings)
    broken: set[Kind] = set()
    for path, content in tree.files.items():
        located = locate(path)
        if isinstance(located, Finding):
            findings.append(located)
        elif located is not None:
            source, found = known.read(located, content, converters)
            findings.extend(first_of(found))
            if found:
                broken.add(located.kind)
            if source is not None:
                sources.append(source)
    there = {*tree.files, *(finding.place.file for finding in tree.findings)}
    for path, kind in ROOT_FILES.items():
        if path not in there:
            broken.add(kind)
            if _listed_whole(tree):
                hint = "ebbtide init DIR lays down a small estate to start from"
                findings.append(Finding("EBT-125", Place(path), f"the estate has no {path}", "", path, hint))
    return Read(tuple(sources), tuple(findings), frozenset(broken))


def first_of(found: Sequence[Finding]) -> Iterator[Finding]:
    """What is found in one file, in the order of places; beyond what a person reads, how many more there are."""
    yield from found[:MOST_OF_A_FILE]
    if more := found[MOST_OF_A_FILE:]:
        message = f"{len(more)} more findings of this file are not listed"
        yield Finding(more[0].code, more[0].place, message, hint="correct those above first")


def judge(source: Source) -> Judged:
    """The source's model, or every fault that the model finds in it."""
    model = MODELS[source.kind]
    if not source.data:
        wanted = ", ".join(name for name, info in _aliases(model).items() if info)
        fault = Fault((), EMPTY, "the file holds no field", "{}", f"at least {wanted}")
        return Judged(source, None, (fault,))
    try:
        return Judged(source, read_document(model, source.data))
    except ValidationError as error:
        return Judged(source, None, model_faults(model, error))


def assemble(tree: Tree, judged: Sequence[Judged]) -> Assembled:
    """One estate of all well-formed documents; names inside agree with paths, and each stands once."""
    good = [(item.source, item.document) for item in judged if item.document is not None]
    findings: list[Finding] = []
    named: list[Named] = []
    shelf = Shelf()
    for source, document in good:
        findings.extend(_against_path(source, document))
        named.extend(shelf.take(source, document))
    findings.extend(duplicates(named))
    wrong = {finding.place.file for finding in findings}
    broken = frozenset(source.kind for source, _ in good if source.file in wrong)
    return Assembled(shelf.estate(tree), tuple(findings), broken)


# ----------------------------------------------------------------------------------------------------- reading one file


def _source(located: Located, content: bytes, converters: Mapping[str, Converter]) -> FileRead:
    parsed = parse(located.path, content)
    if not isinstance(parsed.data, dict):
        return None, parsed.findings
    source = Source(located, parsed, parsed.data)
    if elsewhere := _of_another_folder(source):
        return None, (elsewhere,)
    deep = _too_deep(source)
    if deep is not None:
        lifted, finding = deep
        return lifted, (finding,)
    current = to_current(located.kind, source.data, converters)
    if current.fault is not None:
        return None, (source.finding(current.fault),)
    return Source(located, parsed, current.data, current.moves), ()


def _of_another_folder(source: Source) -> Finding | None:
    """The one thing to say about a file of a known kind that lies where another kind lies: nothing in it fits."""
    said = source.data.get("kind")
    kind = next((kind for kind, word in _WORDS.items() if said == word), source.kind)
    if kind is source.kind:
        return None
    message = f"kind is {_WORDS[kind]}, but files of kind {_WORDS[source.kind]} lie here"
    belongs = f"move the file to {shown(kind)}, or correct its kind"
    return Finding("EBT-123", source.place(("kind",)), message, _WORDS[kind], _WORDS[source.kind], belongs)


def _listed_whole(tree: Tree) -> bool:
    """Whether what is not in the tree is not there: its root was read, to its end."""
    return all(odd.path != "." and odd.oddity is not Oddity.TOO_MANY for odd in tree.odd)


def _too_deep(source: Source) -> tuple[Source, Finding] | None:
    """Where the fields stand below a key that the format lacks, such as `spec`: the source without that level."""
    allowed = set(fields_at(MODELS[source.kind], ()))
    for key, value in source.data.items():
        if key in allowed or not isinstance(value, dict):
            continue
        inside = [name for name in value if name in allowed and name not in source.data]
        if len(inside) < 2:
            continue
        data = {name: item for name, item in source.data.items() if name != key} | {n: value[n] for n in inside}
        data |= {name: item for name, item in value.items() if name not in allowed and name not in data}
        finding = Finding(
            "EBT-126",
            source.place((key,), of_key=True),
            f"{len(inside)} fields stand one level too deep, below {dotted((key,))}",
            dotted((key,)),
            f"{', '.join(inside[:4])} and the others at the root of the file",
            f"remove {dotted((key,))} and move what stands below it to the left",
        )
        moves: dict[Path, Path] = {(name,): (key, name) for name in value if name in data and name not in source.data}
        return Source(source.located, source.parsed, data, (moves,)), finding
    return None


def _aliases(model: type[Declared]) -> dict[str, bool]:
    return {info.alias or name: info.is_required() for name, info in model.model_fields.items()}


# ------------------------------------------------------------------------------------------------------------- names


def _against_path(source: Source, document: Declared) -> Iterator[Finding]:
    """The names inside that a path repeats, compared with it."""
    located, pairs = source.located, []
    match document:
        case ContractFile(name=name, team=team):
            pairs = [("name", name, located.name), ("team", team, located.scope)]
        case PoolFile(aggregate=aggregate, region=region):
            pairs = [("aggregate", aggregate, located.name), ("region", region, located.scope)]
        case GroupFile(name=name, region=region) | AdoptionFile(name=name, region=region):
            pairs = [("name", name, located.name), ("region", region, located.scope)]
        case WaiverFile(eligibility_class=name, region=region):
            pairs = [("class", name, located.name), ("region", region, located.scope)]
        case JoinProfileFile(name=name):
            pairs = [("name", name, located.name)]
        case ApprovalFile(subject=subject, granted=granted):
            pairs = [("granted", granted.isoformat(), located.name[:10]), ("subject", subject, located.name[11:])]
        case HistoryFile(region=region):
            pairs = [("region", region, located.name)]
        case _:
            pass
    for field_name, seen, wanted in pairs:
        if found := disagreement(source.place((field_name,)), field=field_name, seen=seen, wanted=wanted):
            yield found

"""Which folder holds which kind of file, and what names files and folders may carry.

Loaders ask `locate` what a path is; after loading they ask `disagreement` and `duplicates` about names inside. Pure
functions of paths and names: it must not know what a kind's documents contain, nor read them.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from contracts.errors import Place
from contracts.findings import Finding
from contracts.values import BadValue, parse_date, parse_name, shorten


class Kind(enum.Enum):
    """The kinds of reviewed files; the value is the word that messages use."""

    SETTINGS = "settings"
    DIRECTORY = "directory"
    CONTRACT = "contract"
    POOL = "pool"
    CORRELATION_GROUP = "correlation group"
    APPROVAL = "approval"
    ADOPTION = "adoption"
    WAIVER = "waiver"
    HISTORY = "history"
    JOIN_PROFILE = "join profile"


@dataclass(frozen=True, slots=True)
class Located:
    """A path that the layout knows: `scope` is the team or region (or empty), `name` the stem."""

    kind: Kind
    path: str
    name: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class _Shape:
    kind: Kind
    shown: str

    @property
    def depth(self) -> int:
        return self.shown.count("/") + 1


SETTINGS = "ebbtide.yaml"
"""What makes a folder an estate."""
ROOT_FILES = {SETTINGS: Kind.SETTINGS, "directory.yaml": Kind.DIRECTORY}
SHAPES = {
    "contracts": _Shape(Kind.CONTRACT, "contracts/<team>/<workload>.yaml"),
    "pools": _Shape(Kind.POOL, "pools/<region>/<aggregate>.yaml"),
    "correlation_groups": _Shape(Kind.CORRELATION_GROUP, "correlation_groups/<region>/<group>.yaml"),
    "approvals": _Shape(Kind.APPROVAL, "approvals/<date>-<subject>.yaml"),
    "adoptions": _Shape(Kind.ADOPTION, "adoptions/<region>/<name>.yaml"),
    "waivers": _Shape(Kind.WAIVER, "waivers/<region>/<class>.yaml"),
    "history": _Shape(Kind.HISTORY, "history/<region>.yaml"),
    "join_profiles": _Shape(Kind.JOIN_PROFILE, "join_profiles/<name>.yaml"),
}
_IGNORED_FOLDERS = frozenset({".github", ".gitlab", ".gitea", ".forgejo", ".vscode", "docs"})
_IGNORED_FILES = frozenset(
    {"CODEOWNERS", "LICENSE"}
    | {".gitignore", ".gitattributes", ".editorconfig", ".gitlab-ci.yml", ".pre-commit-config.yaml"}
)
_FOREIGN_EXTENSIONS = frozenset({".yml", ".json", ".cue", ".toml", ".txt"})


def shown(kind: Kind) -> str:
    """The path of a kind's files as messages write it."""
    at_root = next((path for path, known in ROOT_FILES.items() if known is kind), "")
    return at_root or next(shape.shown for shape in SHAPES.values() if shape.kind is kind)


def is_ignored(path: str) -> bool:
    """Whether the layout says nothing about a path: code-host folders, documentation, owners."""
    folder, inside, _ = path.partition("/")
    if inside and folder in _IGNORED_FOLDERS:
        return True
    return path in _IGNORED_FILES or PurePosixPath(path).name == "README.md"


def is_read(path: str) -> bool:
    """Whether a reader loads the content: everything that is not ignored, and the owners' file wherever it lies."""
    return not is_ignored(path) or PurePosixPath(path).name == "CODEOWNERS"


def locate(path: str) -> Located | Finding | None:
    """What lies at a path: a known kind, a finding that says where it belongs, or None for an ignored file."""
    if is_ignored(path):
        return None
    parts = path.split("/")
    if len(parts) == 1:
        return _at_root(path)
    shape = SHAPES.get(parts[0])
    if shape is None:
        near = difflib.get_close_matches(parts[0], SHAPES, n=1)
        hint = f"did you mean {near[0]}/?" if near else ""
        return Finding(
            "EBT-131", Place(path), f'no kind of file lies in "{shorten(parts[0])}/"', path, _folders(), hint
        )
    if len(parts) != shape.depth:
        levels = "too deep" if len(parts) > shape.depth else "a folder too high"
        return Finding("EBT-130", Place(path), f"this {shape.kind.value} file lies {levels}", path, shape.shown)
    if finding := _extension(path, shape.shown):
        return finding
    return _named(path, shape)


def disagreement(place: Place, *, field: str, seen: str, wanted: str) -> Finding | None:
    """A finding where the name, team, region or kind inside a file is not what its path says."""
    if seen == wanted:
        return None
    message = f'{field} is "{shorten(seen)}", but the path says "{shorten(wanted)}"'
    return Finding("EBT-134", place, message, shorten(seen), shorten(wanted), "move the file or correct the field")


@dataclass(frozen=True, slots=True)
class Named:
    """A name as loaded: what it names, how far it has to be unique (`""`: the whole estate), and where it stands."""

    kind: Kind
    name: str
    place: Place
    within: str = ""


def duplicates(names: Iterable[Named]) -> tuple[Finding, ...]:
    """One finding for each repetition of a name among its kind, in the order of places; it names the first."""
    first: dict[tuple[Kind, str, str], Place] = {}
    found: list[Finding] = []
    for named in sorted(names, key=lambda n: (n.place.file, n.place.line, n.place.column)):
        before = first.setdefault((named.kind, named.within, named.name), named.place)
        if before != named.place:
            where = f" in {named.within}" if named.within else ""
            message = f'the {named.kind.value} "{shorten(named.name)}"{where} stands in {before} already'
            found.append(Finding("EBT-135", named.place, message, shorten(named.name), "a name of its own"))
    return tuple(found)


def _folders() -> str:
    return ", ".join(f"{folder}/" for folder in SHAPES)


def _at_root(path: str) -> Located | Finding:
    kind = ROOT_FILES.get(path)
    if kind is not None:
        return Located(kind, path, PurePosixPath(path).stem)
    for known in ROOT_FILES:
        if PurePosixPath(path).stem.lower() == PurePosixPath(known).stem:
            return Finding("EBT-132", Place(path), f"this file is not named {known}", path, known, "rename it")
    near = difflib.get_close_matches(path, ROOT_FILES, n=1)
    hint = f"did you mean {near[0]}?" if near else ""
    expected = f"{', '.join(ROOT_FILES)} or a file in {_folders()}"
    return Finding("EBT-131", Place(path), "no kind of file lies at the root under this name", path, expected, hint)


def _extension(path: str, shown: str) -> Finding | None:
    suffix = PurePosixPath(path).suffix
    if suffix == ".yaml":
        return None
    if suffix.lower() in _FOREIGN_EXTENSIONS | {".yaml"}:
        message = f'the extension is "{suffix}"'
        return Finding("EBT-132", Place(path), message, path, shown, "rename it to end in .yaml")
    return Finding("EBT-131", Place(path), "this is no file of a known kind", path, shown)


def _named(path: str, shape: _Shape) -> Located | Finding:
    parts = path.removesuffix(".yaml").split("/")
    name, scope = parts[-1], "/".join(parts[1:-1])
    try:
        for part in parts[1:]:
            parse_name(part)
        if shape.kind is Kind.APPROVAL:
            parse_date(name[:10])
    except BadValue as error:
        return Finding("EBT-133", Place(path), str(error), path, shape.shown, error.hint)
    if shape.kind is Kind.APPROVAL and (len(name) < 12 or name[10] != "-"):
        return Finding("EBT-133", Place(path), "the subject is missing behind the date", path, shape.shown)
    return Located(shape.kind, path, name, scope)

"""From what a person typed to an estate: which files are read, from where, and whether they hold.

Commands call it; it wires the Git and CUE adapters to the checks and knows no screen.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from contracts.findings import Severity
from ebbtide.advice import Advice, unknown
from ebbtide.text import count, listed, printable
from repo_layout.adapters.cue import Cue
from repo_layout.adapters.git import merge_base, read_commit, read_staged, read_worktree
from repo_layout.adapters.git_open import is_url
from repo_layout.layout import Located, locate
from repo_layout.load import Known, assemble, judge, read
from repo_layout.model import Estate
from repo_layout.payload import read_region
from repo_layout.sign import REGION
from repo_layout.tree import WORKTREE, Tree
from repo_layout.validate import Validated, estate_before, validate
from repo_layout.versions import CONVERTERS

PAYLOAD = REGION
"""Of a region, as a command of ours leaves it beside what it made of it."""


@dataclass(frozen=True, slots=True)
class Source:
    """What is read: `where` it is, the `commit` asked for (empty: files on disk, or those that are staged), and words
    for the screen.
    """

    where: str
    commit: str
    staged: bool = False

    def described(self, tree: Tree) -> str:
        """What was read, for a summary line."""
        if self.staged:
            return f"{self.where} as it is staged"
        if tree.commit == WORKTREE:
            return f"{self.where} as it lies on disk"
        return f"commit {tree.commit[:12]} of {self.where}"


def reference() -> Path:
    """The folder of the reference estate that comes with Ebbtide."""
    return Path(str(files("repo_layout").joinpath("estate")))


def at_hand(named: str | None) -> str | None:
    """What `--estate` names, else the folder one is in where it is an estate's; None is the reference estate."""
    return named or ("." if Path("ebbtide.yaml").is_file() else None)


def source(where: str, *, commit: str | None = None, worktree: bool = False, staged: bool = False) -> Source:
    """What to read for a path or address: HEAD of a repository, the files of any other folder, unless told otherwise.

    Raises `Advice` when there is nothing of the kind.
    """
    if commit == "" or not where:
        what = "--commit" if where else "the path"
        raise Advice(f"{what} is empty", hint="name one, or leave it out; a variable may be unset")
    if is_url(where):
        if worktree or staged:
            option = "--worktree" if worktree else "--staged"
            raise Advice(f"{where} is an address and has no files on disk", hint=f"leave {option} out")
        return Source(where, commit or "HEAD")
    path = Path(where)
    if not path.exists():
        raise Advice(f"there is no {where}", hint="name the folder or repository that holds ebbtide.yaml")
    if not path.is_dir():
        raise Advice(f"{where} is no folder", hint="name the folder or repository that holds ebbtide.yaml")
    if worktree or staged:
        return Source(where, "", staged)
    if commit and not is_repository(path):
        raise Advice(f"{where} is no Git repository and has no commits", hint="leave --commit out to read its files")
    if commit or is_repository(path):
        return Source(where, commit or "HEAD")
    return Source(where, "")


def is_repository(path: Path) -> bool:
    """Whether a Git repository stands at exactly this path, bare or not."""
    return (path / ".git").exists() or ((path / "objects").is_dir() and (path / "refs").is_dir())


def below_repository(what: Source) -> str:
    """Where the files read from disk lie below the root of their repository, ending in a slash: an estate may be one
    folder of many. Empty at the root, for a commit, and outside any repository.
    """
    if what.commit:
        return ""
    folder = Path(what.where).resolve()
    root = _repository_around(folder) or folder
    return "" if root == folder else f"{folder.relative_to(root).as_posix()}/"


def _edited_since(what: Source, tree: Tree) -> tuple[str, ...]:
    """Paths of an estate's files that lie on disk otherwise than in HEAD, which was read in their place: a person who
    edits and forgets to commit has to be told. Empty for another commit, and for bare and remote repositories.
    """
    if what.commit != "HEAD" or is_url(what.where) or not (Path(what.where) / ".git").exists():
        return ()
    lying = read_worktree(Path(what.where)).files
    every = sorted(path for path in {*lying, *tree.files} if isinstance(locate(path), Located))
    return tuple(path for path in every if lying.get(path) != tree.files.get(path))


def edited_note(what: Source, tree: Tree, hint: str) -> str:
    """What to tell a person whose edits were not read, with what to do about it; empty where there are none."""
    edited = _edited_since(what, tree)
    shown = listed(map(printable, edited))
    return f"{count(len(edited), 'file')} on disk not as in the commit: {shown}; {hint}" if edited else ""


def _repository_around(folder: Path) -> Path | None:
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


def tree_of(what: Source) -> Tree:
    """The files. Raises `Advice` where none of them is an estate's; other errors are those of the Git adapters."""
    tree = _read(what)
    require_estate(tree, what.described(tree))
    return tree


def _read(what: Source) -> Tree:
    if what.staged:
        root = _repository_around(Path(what.where).resolve())
        if root is None:
            raise Advice(f"{what.where} is in no Git repository", hint="use --worktree to read its files")
        return read_staged(root, below=below_repository(what))
    if not what.commit:
        return read_worktree(Path(what.where))
    return read_commit(what.where, what.commit, cache=cache_folder())


def require_estate(tree: Tree, shown: str) -> None:
    """Raises `Advice` where there are files and none of them, read or not, lies where an estate has one."""
    paths = [*tree.files, *(odd.path for odd in tree.odd)]
    if paths and not any(path == "." or isinstance(locate(path), Located) for path in paths):
        told = f"there is no estate in {shown}: none of its {count(len(tree.files), 'file')} has a place in one"
        raise Advice(told, hint="name the folder or repository that holds ebbtide.yaml")


def tree_before(what: Source, base: str) -> Tree:
    """The files of the commit at which what is read parted from `base`; of a work tree, its HEAD.

    Raises `Advice` where there is no repository, `Refused` where the history does not say, as in a shallow clone.
    """
    if not base:
        raise Advice("--base is empty", hint="name a revision, or leave it out; a variable may be unset")
    if not is_url(what.where) and not is_repository(Path(what.where)):
        hint = "leave --base out, or name the repository"
        raise Advice(f"{what.where} is no Git repository, so --base names no commit", hint=hint)
    fork = merge_base(what.where, base, what.commit or "HEAD", cache=cache_folder())
    return read_commit(what.where, fork, cache=cache_folder())


def checked(tree: Tree, *, since: Tree | None = None) -> Validated:
    """The verdict of all checks, with the schema checker of this machine; `since` are the files before the change.

    Files before that are not well formed say nothing: everything counts as changed.
    """
    known = Known()
    before = estate_before(since, known=known) if since is not None else None
    return validate(tree, cue=Cue.found(os.environ), since=before, known=known)


def estate_of(where: str | None, *, commit: str | None = None) -> tuple[Estate, str]:
    """An estate that holds, and where it came from; None is the reference estate.

    Raises `Advice` when it is refused or could not be judged.
    """
    what = source(where or str(reference()), commit=commit)
    tree = tree_of(what)
    shown = what.described(tree) if where else "the reference estate"
    verdict = checked(tree)
    if verdict.estate is None or verdict.refused:
        raise _refused(verdict, shown, where or str(reference()))
    return verdict.estate, shown


def laid(path: Path, commit: str) -> Estate:
    """An estate that a command of ours checked before it laid it down here: read again, not judged again.

    Where the command worked from a bundle, its payload lies beside `path`, and nothing at it.
    """
    payload = path.with_name(PAYLOAD)
    if payload.exists():
        return read_region(payload.read_bytes(), commit=commit)
    tree = read_commit(str(path), commit)
    estate = assemble(tree, [judge(one) for one in read(tree, CONVERTERS).sources]).estate
    if estate is None:
        raise Advice(
            f"{path} is damaged: its estate cannot be read any more", hint="run the command that made it again"
        )
    return estate


def _refused(verdict: Validated, shown: str, where: str) -> Advice:
    for finding in verdict.findings:
        if finding.severity is Severity.UNJUDGED:
            return Advice(f"{shown} could not be judged: {finding.message} ({finding.code})", hint=finding.hint)
    bad = [f for f in verdict.findings if f.severity is Severity.ERROR]
    first = f"; the first: {bad[0].place} {bad[0].code} {bad[0].message}" if bad else ""
    return Advice(f"{shown} does not hold: {count(len(bad), 'error')}{first}", hint=f"ebbtide validate {where}")


def known_region(estate: Estate, name: str) -> str:
    """The region's name, if the estate has it."""
    names = [region.name for region in estate.settings.regions]
    if name not in names:
        raise unknown("region", name, names, lists=f"the estate has {', '.join(names)}")
    return name


def cache_folder() -> Path:
    """Where copies of remote repositories lie."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "ebbtide" / "git"

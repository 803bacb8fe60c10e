"""`ebbtide diff`: what a change does, in effect and not in text, and who has to approve it."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from contracts.errors import Refused
from ebbtide.advice import Advice
from ebbtide.diff_document import as_document
from ebbtide.diff_view import DiffView, Side
from ebbtide.estate import Source, cache_folder, edited_note, is_repository, require_estate, source, tree_of
from ebbtide.render_diff import as_text
from ebbtide.render_diff_markdown import as_markdown
from ebbtide.terminal import Terminal
from repo_layout.adapters.cue import Cue
from repo_layout.adapters.git import merge_base, named, paths_between, read_commit, read_worktree
from repo_layout.adapters.git_open import is_url
from repo_layout.compare import compare, file_changes
from repo_layout.owners import code_owners, owners_changes
from repo_layout.tree import Tree


@dataclass(frozen=True, slots=True)
class _Pair:
    """Both sides as they were read; `paths` are those that Git says differ, None where Git was not asked; `reads_head`
    where the commit was taken that a person would take for the files on disk.
    """

    where: str
    base: Tree
    head: Tree
    names: tuple[str, str]
    note: str = ""
    paths: tuple[str, ...] | None = None
    reads_head: bool = False


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when HEAD holds, 1 when it has errors, 2 when it could not be judged."""
    began = perf_counter()
    if "" in (args.base, args.head, args.where):
        raise Advice("a revision or path is empty", hint="name one, or leave it out; a variable may be unset")
    pair = _folders(args) if _is_folder(args.base) else _commits(args)
    compared = compare(pair.base, pair.head, cue=Cue.found(os.environ))
    differing = pair.paths
    if differing is None:
        changes = file_changes(pair.base.files, pair.head.files)
        differing = tuple(sorted({path for one in changes for path in (one.path, one.moved_from) if path}))
    owners = code_owners(pair.base.files)
    view = DiffView(
        where=pair.where,
        base=Side(pair.names[0], pair.base.commit, pair.base.committed_at),
        head=Side(pair.names[1], pair.head.commit, pair.head.committed_at),
        compared=compared,
        paths=differing,
        owners=owners,
        owners_changed=owners_changes(owners, code_owners(pair.head.files), pair.head.files),
        note=pair.note,
        seconds=perf_counter() - began,
    )
    _write(view, args.output, terminal)
    if terminal.watched and pair.reads_head:
        note = edited_note(Source(pair.where, "HEAD"), pair.head, "--worktree compares what is on disk")
        if note:
            terminal.say(note)
    return view.code


def _write(view: DiffView, form: str, terminal: Terminal) -> None:
    """The same effects in the form that was asked for, and nothing else."""
    if form == "json":
        terminal.document(as_document(view))
    else:
        terminal.lines(as_markdown(view) if form == "markdown" else as_text(view, terminal.paint))


def _is_folder(name: str) -> bool:
    """Whether BASE names a place and no revision: revisions begin with neither a dot nor a slash."""
    return name.startswith((".", "/")) or is_url(name)


def _folders(args: argparse.Namespace) -> _Pair:
    """Two folders or repositories, each as `ebbtide validate` would read it."""
    if args.head is None or args.where is not None or args.worktree or args.exact:
        hint = "ebbtide diff ./old ./new; or name two revisions of the repository that --in names"
        raise Advice("two folders are compared as they are: BASE, HEAD and nothing else", hint=hint)
    base, head = (tree_of(source(where)) for where in (args.base, args.head))
    return _Pair("two places", base, head, (args.base, args.head))


def _commits(args: argparse.Namespace) -> _Pair:
    """Two commits of one repository, from where their lines parted; or a commit and the files on disk."""
    where = args.where or "."
    if not is_url(where) and not is_repository(Path(where)):
        hint = "name a repository with --in, or two folders such as ./old ./new"
        raise Advice(f"{where} is no Git repository, so {args.base!r} names no commit", hint=hint)
    if args.worktree and (args.head is not None or is_url(where)):
        what = f"{where} is an address and has no files on disk" if is_url(where) else "--worktree is the HEAD already"
        raise Advice(what, hint="leave --worktree out, or name BASE alone")
    head_name = args.head or "HEAD"
    head, base = named(where, head_name, args.base, cache=cache_folder())
    start, note = (base, "") if args.exact else _start(where, base, head, args.base)
    before = read_commit(where, start, cache=cache_folder())
    if args.worktree:
        after, paths = read_worktree(Path(where)), None
    else:
        after, paths = (
            read_commit(where, head, cache=cache_folder()),
            paths_between(where, start, head, cache=cache_folder()),
        )
    require_estate(after, f"{head_name} of {where}")  # a base without one is what a first change starts from
    return _Pair(
        where,
        before,
        after,
        (args.base, where if args.worktree else head_name),
        note,
        paths,
        paths is not None and args.head is None,
    )


def _start(where: str, base: str, head: str, name: str) -> tuple[str, str]:
    """The commit to compare with: where the lines parted, as a pull request means it; and what to say about that."""
    try:
        fork = merge_base(where, base, head, cache=cache_folder())
    except Refused as error:
        hint = "or add --exact, which compares the two commits as they are"
        raise Advice(str(error), hint=f"mend the history, {hint}") from error
    if fork == base:
        return base, ""
    if fork == head:
        return base, f"HEAD is behind {name}: this is what going back does"
    return fork, f"since {fork[:12]}, where they parted: what {name} gained meanwhile is not counted"

"""`ebbtide init`: a small estate of one's own in a folder, as a Git repository with its first commit."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from ebbtide.advice import Advice
from ebbtide.init_files import Names, files_of
from ebbtide.terminal import Terminal
from ebbtide.text import count, listed, printable
from repo_layout.adapters.git_begin import NoIdentity, begin, has_commits, require_identity


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when it is laid, or would be; what is there already is never written over."""
    folder = Path(args.folder)
    names = Names(args.estate or _name_of(folder), args.region, args.team)
    if fault := names.fault():
        raise Advice(fault, hint="lower-case letters, digits and inner hyphens, such as north")
    _require_room(folder)
    if args.git:
        _require_git(folder)
    files = files_of(names, args.host)
    commit = ""
    if not args.dry_run:
        _write(folder, files)
        commit = begin(folder, tuple(files), f"Lay down the estate {names.estate}") if args.git else ""
    if terminal.as_json:
        terminal.document(
            {
                "folder": str(folder),
                "estate": names.estate,
                "region": names.region,
                "team": names.team,
                "dry_run": bool(args.dry_run),
                "commit": commit,
                "files": list(files),
            }
        )
    else:
        terminal.lines(_told(folder, files, commit, dry=args.dry_run))
    return 0


def _name_of(folder: Path) -> str:
    """The folder's own name as an estate can have it."""
    return re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")[:40].rstrip("-") or "estate"


def _require_room(folder: Path) -> None:
    """Raises `Advice` unless the folder is missing, or holds nothing but a repository without a commit."""
    if folder.is_symlink() and not folder.exists():
        raise Advice(f"{folder} is a link that leads nowhere", hint="name another folder")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise Advice(f"{folder} is no folder", hint="name another folder")
    there = sorted(printable(entry.name) for entry in folder.iterdir() if entry.name != ".git")
    if there:
        told = f"{folder} is not empty, and nothing is written over: it holds {listed(there, most=6)}"
        raise Advice(told, hint="name a new folder")
    if (folder / ".git").exists() and has_commits(folder):
        raise Advice(f"{folder} is a repository with commits already", hint="name a new folder")


def _require_git(folder: Path) -> None:
    """Raises `Advice` where a repository of its own cannot be made or committed to."""
    place = folder.resolve()
    near = next(one for one in (place, *place.parents) if one.is_dir())
    above = next((one for one in place.parents if (one / ".git").exists()), None)
    if above is not None and not (place / ".git").exists():
        told = f"{folder} lies inside the Git repository {above}"
        raise Advice(told, hint="add --no-git to lay the files there as part of it, or name a folder outside")
    try:
        require_identity(near)
    except NoIdentity as error:
        hint = 'git config --global user.name "Your Name", and user.email likewise; or add --no-git'
        raise Advice(f"{error}, and the first commit is yours", hint=hint) from error


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        at = folder / path
        at.parent.mkdir(parents=True, exist_ok=True)
        with at.open("xb") as file:  # what appeared meanwhile is not ours
            file.write(content)


def _told(folder: Path, files: Mapping[str, bytes], commit: str, *, dry: bool) -> list[str]:
    shown = printable(str(folder))
    if dry:
        return [f"would lay {count(len(files), 'file')} into {shown}:", *(f"  {path}" for path in files)]
    examples = sum(content.count(b"# change:") for content in files.values())
    made = f", commit {commit[:12]}" if commit else ""
    worktree = "" if commit else " --worktree"
    return [
        f"laid {count(len(files), 'file')} into {shown}{made}",
        f"  {count(examples, 'line')} with an example to replace: a comment with `change:` says why it matters",
        f"next      grep -rn 'change:' {shown}",
        f"          ebbtide validate {shown}{worktree}",
    ]

"""Makes a folder of files a Git repository with its first commit, as the person who runs it would by hand.

`ebbtide init` calls it. It runs the `git` command, so that a person's own identity, signing and hooks hold; nothing
else of ours writes with it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from contracts.errors import Refused
from contracts.values import shorten

LONGEST_S = 120  # a person may have to unlock a signing key
_ELSEWHERE = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"})


class NoIdentity(Refused):
    """Git does not know who commits."""


def require_identity(near: Path) -> None:
    """Raises `NoIdentity` unless name and address are configured or in the environment; Git's guesses do not count."""
    done = _git("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT", at=near)
    if done.returncode:
        raise NoIdentity("Git does not know who you are")


def has_commits(folder: Path) -> bool:
    """Whether the repository at this folder has a commit on any branch, or cannot be read."""
    done = _git("rev-list", "--all", "--max-count=1", at=folder)
    return done.returncode != 0 or bool(done.stdout.strip())


def begin(folder: Path, paths: Sequence[str], message: str) -> str:
    """Commit exactly `paths` as the first commit; the branch is `main` unless a repository is there already.

    Returns the commit's id. Refused: git fails, in its own words.
    """
    if not (folder / ".git").exists():
        _must("init", "--quiet", "--initial-branch=main", at=folder)
    _must("add", "--", *paths, at=folder)
    _must("commit", "--quiet", f"--message={message}", at=folder)
    return _must("rev-parse", "HEAD", at=folder)


def _must(*arguments: str, at: Path) -> str:
    done = _git(*arguments, at=at)
    if done.returncode:
        raise Refused(f"git {arguments[0]} in {at} failed: {shorten(' '.join(done.stderr.split()), 300)}")
    return done.stdout.strip()


def _git(*arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    command = ["git", *arguments]
    try:
        return subprocess.run(
            command,
            cwd=at,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_S,
        )
    except FileNotFoundError as error:
        raise Refused("there is no git command on this machine") from error
    except subprocess.TimeoutExpired as error:
        raise Refused(f"git {arguments[0]} did not end within {LONGEST_S} s") from error

"""Small Git repositories for tests, made with the `git` command so that what is read was not written by the reader."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILE, EXECUTABLE, SYMLINK, SUBMODULE = "100644", "100755", "120000", "160000"
COMMITTED_AT_S = 1_790_000_000

Files = Mapping[str, bytes] | Mapping[str | bytes, bytes | tuple[str, bytes]]


def environment() -> dict[str, str]:
    """Git without the user's and the machine's settings, with a fixed author and time."""
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _WHO.items()}
    return {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", **who}


_WHO = {"NAME": "A Person", "EMAIL": "person@example.org", "DATE": f"{COMMITTED_AT_S} +0200"}


def git(*arguments: str, at: Path, stdin: bytes = b"") -> str:
    done = subprocess.run(["git", *arguments], cwd=at, input=stdin, capture_output=True, env=environment(), check=True)
    return done.stdout.decode().strip()


@dataclass(frozen=True)
class Scratch:
    """A bare repository whose commits are laid down entry by entry."""

    path: Path

    @classmethod
    def made(cls, path: Path) -> Scratch:
        path.mkdir(parents=True)
        git("init", "-q", "--bare", "-b", "main", at=path)
        for capability in ("allowFilter", "allowAnySHA1InWant"):
            git("config", f"uploadpack.{capability}", "true", at=path)
        return cls(path)

    def commit(self, files: Files, *, parent: str = "", branch: str = "main", message: str = "change") -> str:
        """A commit of exactly these files; the branch moves there, forward or not."""
        index = b""
        for path, entry in files.items():
            mode, content = entry if isinstance(entry, tuple) else (FILE, entry)
            blob = content.decode() if mode == SUBMODULE else self.git("hash-object", "-w", "--stdin", stdin=content)
            index += f"{mode} {blob}\t".encode() + (path.encode() if isinstance(path, str) else path) + b"\0"
        self.git("read-tree", "--empty")
        self.git("update-index", "-z", "--index-info", stdin=index)
        parents = ("-p", parent) if parent else ()
        commit = self.git("commit-tree", self.git("write-tree"), "-m", message, *parents)
        self.git("update-ref", f"refs/heads/{branch}", commit)
        return commit

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        return git(*arguments, at=self.path, stdin=stdin)

    def clone(self, to: Path, *options: str) -> Path:
        git("clone", "-q", "--no-checkout", *options, self.url, str(to), at=self.path)
        return to

    @property
    def url(self) -> str:
        return f"file://{self.path}"

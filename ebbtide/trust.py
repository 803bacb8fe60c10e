"""Files of signing as commands meet them: signed folders and refs, key sets, passphrases.

`keys`, `sign`, `publish` and `verify` call it; it reads and writes, and decides nothing about trust.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import Refused
from contracts.key_set import MAX_KEY_SET_BYTES, KeySet, anchor, follow
from contracts.untrusted import Untrusted
from contracts.verify import MAX_PAYLOAD_BYTES
from ebbtide.advice import Advice
from ebbtide.estate import cache_folder, is_repository
from repo_layout.adapters.bundle_refs import fetch_bundles, published_regions
from repo_layout.adapters.git_open import is_url, shown
from repo_layout.sign import COMPILED, KEY_SETS, NODES, REGION, SIGSTORE, Compiled, read_compiled
from repo_layout.taking import followed


@dataclass(frozen=True, slots=True)
class Folder:
    """A signed folder, wherever it lies; `where` names it on the screen."""

    where: str
    files: Mapping[str, bytes]

    @property
    def compiled(self) -> Compiled:
        """Its list of payloads. Raises `Refused`."""
        if COMPILED not in self.files:
            raise Advice(f"{self.where} holds no {COMPILED}", hint="name a folder that ebbtide compile wrote")
        return read_compiled(self.files[COMPILED])


def folder_at(path: Path) -> Folder:
    """The files of a compiled folder that belong to one; others are passed over. Raises `Advice` for no folder."""
    if not path.is_dir():
        raise Advice(f"there is no folder {path}", hint="name a folder that ebbtide compile wrote")
    inside = [path, path / NODES.rstrip("/"), path / KEY_SETS.rstrip("/")]
    found = (file for at in inside if at.is_dir() for file in sorted(at.iterdir()) if file.is_file())
    named = ((file.relative_to(path).as_posix(), file) for file in found)
    return Folder(str(path), {name: read_limited(file, MAX_PAYLOAD_BYTES) for name, file in named if belongs(name)})


def belongs(name: str) -> bool:
    """Whether a file has a place in a signed folder."""
    if name in (COMPILED, REGION) or name.startswith((NODES, KEY_SETS)):
        return name.endswith(".json")
    return name.startswith("region.") and name.endswith(SIGSTORE)


def is_published(where: str) -> bool:
    """Whether this is a repository or an address rather than a plain folder or file."""
    return is_url(where) or is_repository(Path(where))


def published(where: str, region: str | None) -> tuple[str, Folder]:
    """The newest published version and its region: the one named, or the only one there is."""
    if region is None:
        regions = published_regions(where, cache=cache_folder())
        if len(regions) != 1:
            told = f"{shown(where)} has bundles of {', '.join(regions) or 'no region'}"
            raise Advice(told, hint="name one with --region" if regions else "publish one with ebbtide publish")
        region = regions[0]
    found = fetch_bundles(where, region, cache=cache_folder())
    return region, Folder(f"{shown(where)} at {found.commit[:12]}", found.files)


def offered_at(where: str, region: str | None) -> tuple[str | None, Folder]:
    """The signed files of a repository's ref or of a folder, and the region they should be of where anybody said."""
    if is_published(where):
        return published(where, region)
    return region, folder_at(Path(where))


def key_set_of(paths: Sequence[str]) -> KeySet:
    """The key set held (the first file), followed through the others. Raises `Untrusted`."""
    first, *newer = (read_limited(Path(path), MAX_KEY_SET_BYTES) for path in paths)
    return follow(anchor(first), newer)


def key_set_for(paths: Sequence[str], files: Mapping[str, bytes]) -> KeySet:
    """The same, followed through the key sets that lie with the bundles, as a reconciler does. Raises `Untrusted`."""
    keys, problem = followed(key_set_of(paths), files)
    if problem is not None and problem.reason is not None:
        raise Untrusted(problem.reason, problem.message)
    return keys


def read_limited(path: Path, limit: int) -> bytes:
    """A file's bytes. Raises `Refused` above the limit."""
    with path.open("rb") as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise Refused(f"{path} has more than {limit:,} bytes, and nothing of ours is that large: name another file")
    return raw


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder, each replaced in one step. What a lost machine loses is made again by signing."""
    for parent in {(folder / name).parent for name in files}:
        parent.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        fresh = folder / f"{name}.new"
        fresh.write_bytes(content)
        fresh.replace(folder / name)


def passphrase(args: argparse.Namespace) -> bytes:
    """What protects the private keys; empty when nothing does. Raises `Advice` for an empty one."""
    if args.passphrase_file is not None:
        words = read_limited(Path(args.passphrase_file), 4096).split(b"\n")[0].rstrip(b"\r")
        told = f"the first line of {args.passphrase_file}"
    elif args.passphrase_env is not None:
        words, told = os.environ.get(args.passphrase_env, "").encode(), f"the variable {args.passphrase_env}"
    else:
        return b""
    if not words:
        raise Advice(f"{told} is empty", hint="put the passphrase there, or leave the option out")
    return words

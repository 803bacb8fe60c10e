"""Writes compiled folders: whole or not at all, and never over anything else.

The command `ebbtide compile` calls it. A folder that was compiled before is replaced, its signatures included, because
they are about other payloads. It must not know what the files hold.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from contracts.errors import Refused
from contracts.values import shorten
from repo_layout.compiled import is_compiled
from repo_layout.sign import COMPILED, NODES


def write_folder(folder: Path, files: Mapping[str, bytes], *, regions: bool = False) -> None:
    """Leave exactly `files` in `folder`; with `regions` their names begin with a region's own folder.

    A reader of the folder sees what was there before, nothing at all for a moment, or all of it. Refused: the folder
    holds something that no compilation left there, or is no folder.
    """
    _require_ours(folder, regions=regions)
    folder.parent.mkdir(parents=True, exist_ok=True)
    private = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        new, old = private / "new", private / "old"
        for name, content in files.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if folder.exists():
            folder.rename(old)
        try:
            new.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
    finally:
        shutil.rmtree(private)


def _require_ours(folder: Path, *, regions: bool) -> None:
    """Raises `Refused` for a folder that may not be replaced."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise Refused(f"{shorten(str(folder))} is no folder: name another one for --out")
    if not folder.is_dir():
        return
    for root, folders, names in os.walk(folder):
        inside = Path(root).relative_to(folder)
        odd = [name for name in folders if not _is_our_folder(inside / name, Path(root) / name, regions=regions)]
        odd += [name for name in names if not _is_ours(inside / name, regions=regions)]
        if odd:
            raise Refused(
                f"{shorten(str(folder))} holds {shorten(str(inside / odd[0]))}, which no compilation left there: "
                f"name another folder for --out"
            )
    if any(folder.iterdir()) and not any(folder.glob(f"*/{COMPILED}" if regions else COMPILED)):
        raise Refused(f"{shorten(str(folder))} holds no {COMPILED}, so it was never compiled: name another for --out")


def _is_our_folder(path: Path, there: Path, *, regions: bool) -> bool:
    depth = 1 if regions else 0
    named = len(path.parts) == depth or "/".join(path.parts[depth:]) + "/" == NODES
    return named and not there.is_symlink()


def _is_ours(path: Path, *, regions: bool) -> bool:
    parts = path.parts[1:] if regions else path.parts
    return is_compiled("/".join(parts))

"""`ebbtide schema`: JSON Schemas of the reviewed files, on stdout or as files for an editor."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ebbtide.advice import Advice, unknown
from ebbtide.terminal import Terminal
from ebbtide.text import count
from repo_layout.editor_schema import editor_schema, editor_settings, file_name
from repo_layout.layout import Kind
from repo_layout.load import MODELS

SETTINGS = "vscode-settings.json"


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0; one kind goes to stdout as it is, all of them as one document with a key each, or into a folder."""
    names = {kind.value.replace(" ", "-"): kind for kind in MODELS}
    if args.kind is not None and args.kind not in names:
        raise unknown("kind of file", args.kind, names, lists=f"there are {', '.join(names)}")
    kinds = [kind for name, kind in names.items() if args.kind in (None, name)]
    if args.out is None:
        whole = {name: editor_schema(kind) for name, kind in names.items() if kind in kinds}
        terminal.document(whole if args.kind is None else next(iter(whole.values())))
        return 0
    written = _write(Path(args.out), kinds)
    if terminal.as_json:
        terminal.document({"folder": args.out, "files": written})
        return 0
    first = f"# yaml-language-server: $schema={args.out}/{file_name(Kind.CONTRACT)}"
    terminal.lines(
        [
            f"{count(len(written), 'file')} in {args.out}",
            f"  all files  put what {args.out}/{SETTINGS} holds into .vscode/settings.json, or your editor's own",
            f"  one file   begin it with  {first}",
        ]
    )
    return 0


def _write(folder: Path, kinds: list[Kind]) -> list[str]:
    if folder.exists() and not folder.is_dir():
        raise Advice(f"{folder} is no folder", hint="name a folder, which may be new")
    folder.mkdir(parents=True, exist_ok=True)
    documents = {file_name(kind): editor_schema(kind) for kind in kinds}
    # editors resolve the paths from the repository's root
    documents[SETTINGS] = editor_settings(folder.name if folder.is_absolute() else folder.as_posix())
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return sorted(documents)

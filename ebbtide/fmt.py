"""`ebbtide fmt`: one layout for the reviewed files, as formatters do it: in place, `--check`, `--diff`, or stdin."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from contracts.findings import Finding
from ebbtide.advice import Advice
from ebbtide.render_findings import blocks, finding_document
from ebbtide.terminal import Terminal
from ebbtide.text import Paint, count, printable
from repo_layout.adapters.worktree import read_worktree
from repo_layout.canonical_text import formatted
from repo_layout.layout import SETTINGS, Located, locate
from repo_layout.reviewed_text import MAX_BYTES

STDIN = "-"
HELD, CHANGES, CANNOT = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """One file: its text before and after; the same text twice when nothing is to do; findings instead of an after."""

    file: str
    before: str
    after: str | None
    findings: tuple[Finding, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the layout is another one."""
        return self.after is not None and self.after != self.before


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when every file is laid out (now, or with --check already), 1 with --check when one is not, 2 when one cannot
    be read.
    """
    outcomes = [_outcome(file, content) for file, content in _given(args.paths)]
    piped = args.paths == [STDIN]
    if not piped and not args.check and not args.diff:
        for outcome in outcomes:
            if outcome.changed and outcome.after is not None:
                _replace(Path(outcome.file), outcome.after)
    if terminal.as_json:
        terminal.document([_as_document(outcome) for outcome in outcomes])
    else:
        terminal.lines(_as_text(outcomes, args, terminal.paint))
    return _code(outcomes, checked=args.check or args.diff)


def _code(outcomes: Sequence[Outcome], *, checked: bool) -> int:
    if any(outcome.after is None for outcome in outcomes):
        return CANNOT
    return CHANGES if checked and any(outcome.changed for outcome in outcomes) else HELD


def _given(paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Files and their content, in the order of paths: of a folder, every file that the layout knows."""
    if STDIN in paths:
        if len(paths) > 1:
            raise Advice("- is stdin and stands alone", hint="name files and folders, or pipe one file")
        yield "stdin", sys.stdin.buffer.read(MAX_BYTES + 1)
        return
    seen: set[str] = set()
    for name in paths or ["."]:
        path = Path(name)
        if path.is_dir():
            below = _below(path)
            known = [file for file in read_worktree(path).files if isinstance(locate(f"{below}{file}"), Located)]
            if not known:
                raise Advice(f"{name} holds no file of an estate", hint="name the folder that holds ebbtide.yaml")
            found = [str(path / file) for file in known]
        elif path.exists():
            found = [name]
        else:
            raise Advice(f"there is no {name}", hint="name a file, or the folder that holds ebbtide.yaml")
        for file in found:
            if file not in seen:
                seen.add(file)
                with Path(file).open("rb") as content:
                    yield file, content.read(MAX_BYTES + 1)


def _below(path: Path) -> str:
    """Where a folder lies in the estate around it, such as `contracts/`; empty for the estate's own."""
    inside = path.resolve()
    home = next((one for one in (inside, *inside.parents) if (one / SETTINGS).is_file()), inside)
    return "".join(f"{part}/" for part in inside.relative_to(home).parts)


def _outcome(file: str, content: bytes) -> Outcome:
    # line ends and the mark at the start are layout, so they are mended here and no finding
    lines = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    result = formatted(file, lines)
    before = content.decode("utf-8", "replace")
    return Outcome(file, before, result.text, result.findings)


def _replace(path: Path, text: str) -> None:
    """Write beside and move over, so that an interruption leaves the old file or the new one; its mode stays."""
    target = path.resolve()
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(text.encode())
        Path(name).chmod(target.stat().st_mode & 0o7777)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# -------------------------------------------------------------------------------------------------------------- screens


def _as_text(outcomes: Sequence[Outcome], args: argparse.Namespace, paint: Paint) -> Iterator[str]:
    for outcome in outcomes:
        if outcome.after is None:
            yield from blocks(outcome.findings, paint)
    if args.paths == [STDIN] and not args.check and not args.diff:
        yield from (outcome.after.removesuffix("\n") for outcome in outcomes if outcome.after is not None)
        return
    changed = [outcome for outcome in outcomes if outcome.changed]
    for outcome in changed:
        yield from _diff(outcome, paint) if args.diff else [printable(outcome.file)]
    yield _summary(outcomes, changed, paint, kept=args.check or args.diff)


def _diff(outcome: Outcome, paint: Paint) -> Iterator[str]:
    before, after = outcome.before.splitlines(), (outcome.after or "").splitlines()
    for line in difflib.unified_diff(before, after, outcome.file, outcome.file, lineterm=""):
        shown = printable(line)
        heads = line.startswith(("+++", "---", "@@"))
        yield paint.bold(shown) if heads else {"+": paint.good, "-": paint.bad}.get(line[:1], str)(shown)


def _summary(outcomes: Sequence[Outcome], changed: Sequence[Outcome], paint: Paint, *, kept: bool) -> str:
    unread = sum(outcome.after is None for outcome in outcomes)
    rest = len(outcomes) - len(changed) - unread
    told = []
    if changed:
        told.append(paint.warn(f"{count(len(changed), 'file')} {'would be' if kept else 'were'} laid out anew"))
    if unread:
        told.append(
            paint.bad(f"{count(unread, 'file')} cannot be read and {'is' if unread == 1 else 'are'} left alone")
        )
    if rest or not told:
        told.append(paint.good(f"{count(rest, 'file')} left as {'it is' if rest == 1 else 'they are'}"))
    return ", ".join(told)


def _as_document(outcome: Outcome) -> dict[str, object]:
    return {
        "file": outcome.file,
        "changed": outcome.changed,
        "text": outcome.after,
        "findings": [finding_document(finding) for finding in outcome.findings],
    }

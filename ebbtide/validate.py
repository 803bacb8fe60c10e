"""`ebbtide validate`: every finding about an estate in one run, sorted, with its exit code."""

from __future__ import annotations

import argparse
from time import perf_counter

from contracts.findings import exit_code
from ebbtide.estate import below_repository, checked, edited_note, source, tree_before, tree_of
from ebbtide.judged import Judged
from ebbtide.refusal_pages import pages
from ebbtide.render_findings import as_document, as_text
from ebbtide.render_github import as_commands
from ebbtide.render_gitlab import as_report
from ebbtide.render_sarif import as_sarif
from ebbtide.terminal import Terminal


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 without errors, 1 with at least one, 2 when something could not be judged."""
    began = perf_counter()
    what = source(args.where, commit=args.commit, worktree=args.worktree, staged=args.staged)
    tree = tree_of(what)
    verdict = checked(tree, since=tree_before(what, args.base) if args.base is not None else None)
    judged = Judged(
        what=what.described(tree),
        commit=tree.commit,
        files=len(tree.files),
        findings=verdict.findings,
        seconds=perf_counter() - began,
        below=below_repository(what),
        texts=tree.files,
    )
    _write(judged, args.output, terminal)
    if terminal.watched and (note := edited_note(what, tree, "--worktree judges what is on disk")):
        terminal.say(note)
    return exit_code(verdict.findings)


def _write(judged: Judged, form: str, terminal: Terminal) -> None:
    """The same findings in the form that was asked for, and nothing else."""
    match form:
        case "json":
            terminal.document(as_document(judged))
        case "sarif":
            terminal.document(as_sarif(judged, pages()))
        case "github":
            terminal.lines(as_commands(judged))
        case "gitlab":
            terminal.document(as_report(judged))
        case _:
            terminal.lines(as_text(judged, terminal.paint))

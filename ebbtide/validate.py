"""`ebbtide validate`: every finding about an estate in one run, sorted, with its exit code."""

from __future__ import annotations

import argparse
from time import perf_counter

from contracts.findings import exit_code
from ebbtide.estate import checked, require_estate, source, tree_before, tree_of
from ebbtide.render_findings import Judged, as_document, as_text
from ebbtide.terminal import Terminal


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 without errors, 1 with at least one, 2 when something could not be judged."""
    began = perf_counter()
    what = source(args.where, commit=args.commit, worktree=args.worktree)
    tree = tree_of(what)
    require_estate(tree, what.described(tree))
    verdict = checked(tree, since=tree_before(what, args.base) if args.base is not None else None)
    judged = Judged(
        what=what.described(tree),
        commit=tree.commit,
        files=len(tree.files),
        findings=verdict.findings,
        seconds=perf_counter() - began,
    )
    if terminal.as_json:
        terminal.document(as_document(judged))
    else:
        terminal.lines(as_text(judged, terminal.paint))
    return exit_code(verdict.findings)

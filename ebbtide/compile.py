"""`ebbtide compile`: a commit that holds to payloads on disk, ready to be signed; or its findings, and no folder."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

from contracts.findings import exit_code
from ebbtide.advice import Advice
from ebbtide.estate import Source, checked, known_region, source, tree_before, tree_of
from ebbtide.judged import Judged
from ebbtide.render_compile import CompiledRegion, as_document, as_text
from ebbtide.render_findings import as_document as findings_as_document
from ebbtide.render_findings import as_text as findings_as_text
from ebbtide.terminal import Terminal
from repo_layout.adapters.compiled_folder import write_folder
from repo_layout.compiled import compiled_files
from repo_layout.joins import Largest, sizes
from repo_layout.model import Estate
from repo_layout.tree import Tree
from repo_layout.validate import Validated


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when the folder is written, 1 when the estate is refused, 2 when something could not be judged."""
    began = perf_counter()
    what = source(args.where, commit=args.commit)
    if not what.commit:
        told = f"{args.where} is no Git repository: what is compiled is a commit"
        raise Advice(told, hint="name a repository; ebbtide validate reads plain folders")
    tree = tree_of(what)
    verdict = checked(tree, since=tree_before(what, args.base) if args.base is not None else None)
    if verdict.estate is None or verdict.refused:
        return _refused(what, tree, verdict, terminal, seconds=perf_counter() - began)
    estate = verdict.estate
    names = [r.name for r in estate.settings.regions] if args.all else [known_region(estate, args.region)]
    compiled = {name: compiled_files(estate, name) for name in names}
    write_folder(Path(args.out), _laid_out(compiled, below=args.all), regions=args.all)
    regions = [_region(estate, name, files) for name, files in compiled.items()]
    if terminal.as_json:
        terminal.document(as_document(regions, commit=estate.commit, out=args.out))
    else:
        terminal.lines(as_text(regions, what.described(tree), args.out, perf_counter() - began))
    return 0


def _refused(what: Source, tree: Tree, verdict: Validated, terminal: Terminal, *, seconds: float) -> int:
    """Everything that was found, as `ebbtide validate` shows it."""
    judged = Judged(what.described(tree), tree.commit, len(tree.files), verdict.findings, seconds)
    if terminal.as_json:
        terminal.document(findings_as_document(judged))
    else:
        terminal.lines(findings_as_text(judged, terminal.paint))
    return exit_code(verdict.findings)


def _laid_out(compiled: Mapping[str, Mapping[str, bytes]], *, below: bool) -> Mapping[str, bytes]:
    """The files of all regions by their path below the folder."""
    return {
        f"{region}/{name}" if below else name: content
        for region, files in compiled.items()
        for name, content in files.items()
    }


def _region(estate: Estate, region: str, files: Mapping[str, bytes]) -> CompiledRegion:
    largest: Largest | None = max(
        (one for one in sizes(estate) if one.served.pool.region == region),
        key=lambda one: (one.size.encoded - one.size.limit, one.served.pool.name),
        default=None,
    )
    return CompiledRegion(region, files, largest)

"""`ebbtide sign`: one Sigstore bundle beside every payload of a compiled folder, and the node bundles."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from contracts.bundle import MAX_NODE_BUNDLE
from contracts.dsse import read_bundle, read_statement
from contracts.errors import Refused
from ebbtide.advice import Advice
from ebbtide.estate import cache_folder
from ebbtide.terminal import Terminal
from ebbtide.text import count, date_clock
from ebbtide.trust import Folder, folder_at, passphrase, write_all
from repo_layout.adapters.bundle_refs import fetch_bundles, ref_of, tip_of
from repo_layout.adapters.clock import now_ms
from repo_layout.adapters.git_open import shown
from repo_layout.sign import (
    CLOCKS_DIFFER_MS,
    REGION,
    Facts,
    bundles_of,
    by_payload,
    facts_of,
    node_bundles,
    signed_folder,
    statement_files,
)

try:
    from repo_layout.adapters.signature import signer
except ImportError as error:
    raise Advice(f"signing needs {error.name}, which is not installed", hint="install ebbtide[signing]") from error


MOST_COUNTED = 1_000_000_000
"""Versions that `--next` goes on from: one a second for thirty years."""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when everything is signed."""
    folder = folder_at(Path(args.folder))
    compiled = folder.compiled
    facts = _facts(args, folder)
    payloads = {name: folder.files[name] for name in compiled.digests if name in folder.files}
    if args.statements:
        return _statements(args.statements, statement_files(payloads, compiled, facts), facts, terminal)
    mine = signer(Path(args.key), passphrase=passphrase(args))
    made = signed_folder(payloads, compiled, facts, mine)
    all_signed = (file for name, signed in by_payload(folder.files).items() if name in payloads for file in signed)
    theirs = {file: folder.files[file] for file in all_signed if file not in made}
    _require_same(theirs, facts, args.folder)
    files = {**made, **node_bundles(payloads, {**theirs, **made})}
    write_all(Path(args.folder), files)
    largest = max((len(raw) for name, raw in files.items() if name not in made), default=0)
    if terminal.as_json:
        terminal.document(
            {
                "folder": args.folder, "estate": compiled.estate, "region": compiled.region, "commit": compiled.commit,
                "version": facts.version, "notBefore": facts.not_before, "expires": facts.expires,
                "requester": facts.requester, "keyId": mine.key_id, "signed": sorted(made),
                "largestNodeBundle": largest,
            }
        )  # fmt: skip
        return 0
    terminal.lines(
        [
            f"signed {compiled.region} of {compiled.estate}, version {facts.version}, with key {mine.key_id[:12]}",
            f"  {count(len(made), 'payload')} of commit {compiled.commit[:12]}, asked for by {facts.requester}",
            f"  holds from {date_clock(facts.not_before)} to {date_clock(facts.expires)} UTC",
            f"  largest node bundle {largest:,} of {MAX_NODE_BUNDLE:,} bytes",
        ]
    )
    return 0


def _statements(to: str, files: Mapping[str, bytes], facts: Facts, terminal: Terminal) -> int:
    """Write what there is to sign, and sign nothing."""
    write_all(Path(to), files)
    if terminal.as_json:
        terminal.document(
            {
                "folder": to, "version": facts.version, "notBefore": facts.not_before, "expires": facts.expires,
                "requester": facts.requester, "statements": sorted(files),
            }
        )  # fmt: skip
        return 0
    terminal.lines(
        [
            f"wrote {count(len(files), 'statement')} of version {facts.version} to {to}; nothing is signed",
            f"  holds from {date_clock(facts.not_before)} to {date_clock(facts.expires)} UTC",
            "  whoever signs them signs exactly these bytes",
        ]
    )
    return 0


def _facts(args: argparse.Namespace, folder: Folder) -> Facts:
    if args.join:
        others = bundles_of(REGION, folder.files)
        if not others:
            raise Advice(f"nobody signed {folder.where} yet", hint="the first signer gives --version or --next")
        return facts_of(folder.files[others[0]])
    if not args.requester:
        raise Advice("it does not say who asked for this", hint="--requester WHO, the code host's identity")
    begins = args.not_before if args.not_before is not None else now_ms() - CLOCKS_DIFFER_MS
    version = args.version or _next_version(args.next, folder.compiled.region)
    return Facts(args.requester, version, begins, begins + args.valid_for)


def _next_version(repository: str, region: str) -> int:
    """One more than what is published. Its signature is not looked at: a forged one can only make the number larger,
    and not so large that no higher one is left.
    """
    if tip_of(repository, region, cache=cache_folder()) is None:
        return 1
    files = fetch_bundles(repository, region, cache=cache_folder()).files
    there = [facts_of(files[name]).version for name in bundles_of(REGION, files)]
    if not there:
        raise Refused(f"what {shown(repository)} has of {region} is not signed: name the version with --version")
    if max(there) >= MOST_COUNTED:
        told = f"{shown(repository)} has version {max(there):,} of {region}, and nobody counts that far"
        raise Advice(told, hint=f"find out who published it, delete {ref_of(region)} there, and name --version")
    return max(there) + 1


def _require_same(theirs: Mapping[str, bytes], facts: Facts, folder: str) -> None:
    """Raises `Advice` where the folder holds bundles of another run."""
    for name, raw in theirs.items():
        said = read_statement(read_bundle(raw).statement)
        if Facts(said.requester, said.version, said.not_before, said.expires) != facts:
            hint = f"--join says the same as they do; or compile into an empty folder instead of {folder}"
            raise Advice(f"{name} says version {said.version}, and is somebody else's of another run", hint=hint)

"""`ebbtide publish`: a signed folder as one commit on its region's ref, never over what somebody else published."""

from __future__ import annotations

import argparse
from pathlib import Path

from contracts.errors import Refused
from contracts.key_set import MAX_KEY_SET_BYTES, anchor, follow, read_signed
from contracts.untrusted import Untrusted
from contracts.verify import NOTHING, verify
from ebbtide.advice import Advice
from ebbtide.estate import cache_folder
from ebbtide.parts import parts_of
from ebbtide.render_trust import refusal_document, refusal_text
from ebbtide.terminal import Terminal
from ebbtide.text import count
from ebbtide.trust import Folder, folder_at, key_set_for, read_limited
from repo_layout.adapters.bundle_refs import fetch_bundles, publish, ref_of, tip_of
from repo_layout.adapters.clock import now_ms
from repo_layout.adapters.git_lay import Authorship
from repo_layout.adapters.git_open import shown
from repo_layout.sign import KEY_SETS, REGION, bundles_of, by_payload, facts_of

BOT = ("Ebbtide", "bundles@ebbtide.invalid")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when it is published, 1 when it does not hold by --trust; nothing is published then."""
    now = now_ms()
    folder = folder_at(Path(args.folder))
    compiled = folder.compiled
    version = _version(folder)
    tip = tip_of(args.to, compiled.region, cache=cache_folder())
    before = fetch_bundles(args.to, compiled.region, cache=cache_folder()).files if tip is not None else {}
    there = max((facts_of(before[name]).version for name in bundles_of(REGION, before)), default=0)
    if version <= there:
        hint = f"sign again with ebbtide sign --next {shown(args.to)}"
        raise Advice(f"version {there} is published there, and this is version {version}", hint=hint)
    kept = {name: raw for name, raw in before.items() if name.startswith(KEY_SETS)}
    files = {**kept, **folder.files, **_key_sets(args.keys)}
    if (told := _wrong(Folder(folder.where, files), args.trust, now)) is not None:
        if terminal.as_json:
            terminal.document(refusal_document(told))
        else:
            terminal.lines(refusal_text(told, terminal.paint, "nothing was published"))
        return 1
    commit = publish(
        args.to,
        compiled.region,
        files,
        expected=tip,
        authorship=Authorship(
            *BOT, at_s=now // 1000,
            message=f"Publish {compiled.region} version {version}\n\nCompiled from {compiled.commit}.\n",
        ),
        cache=cache_folder(),
    )  # fmt: skip
    if terminal.as_json:
        terminal.document(
            {"ref": ref_of(compiled.region), "commit": commit, "before": tip, "version": version, "files": len(files)}
        )
    else:
        where = f"{ref_of(compiled.region)} of {shown(args.to)}"
        terminal.lines([f"published version {version}: {count(len(files), 'file')} as {commit[:12]} on {where}"])
    return 0


def _version(folder: Folder) -> int:
    signed = by_payload(folder.files)
    if REGION not in signed:
        raise Advice(f"{folder.where} is not signed", hint="ebbtide sign signs it")
    versions = {facts_of(folder.files[name]).version for names in signed.values() for name in names}
    if len(versions) > 1:
        raise Refused(f"{folder.where} holds bundles of versions {sorted(versions)}: compile and sign it again")
    return versions.pop()


def _wrong(offered: Folder, trust: str | None, now: int) -> Untrusted | None:
    """Why somebody who reads the ref would not take all of it: its key sets, and with `trust` its payloads too."""
    try:
        sets = {read_signed(raw).keys.version: raw for name, raw in offered.files.items() if name.startswith(KEY_SETS)}
        if sets:
            # One that does not follow holds up every reader who comes to it.
            follow(anchor(sets[min(sets)]), sets.values())
        if trust is None:
            return None
        keys = key_set_for([trust], offered.files)
        follow(keys, (raw for version, raw in sets.items() if version > keys.version))
        for part in parts_of(offered, keys.estate, offered.compiled.region, None):
            verify(part.payload, part.bundles, keys=keys, expects=part.expects, accepted=NOTHING, now=now)
    except Untrusted as error:
        return error
    return None


def _key_sets(paths: list[str]) -> dict[str, bytes]:
    files = {}
    for path in paths:
        raw = read_limited(Path(path), MAX_KEY_SET_BYTES)
        files[f"{KEY_SETS}{read_signed(raw).keys.version}.json"] = raw
    return files

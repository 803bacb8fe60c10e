"""`ebbtide keys`: makes the keys that sign an estate's bundles, rotates them, and shows who may sign what."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from contracts.dsse import pae
from contracts.key_set import (
    MAX_KEY_SET_BYTES,
    PAYLOAD_TYPE,
    KeySet,
    PublicKey,
    Role,
    anchor,
    follow,
    read_signed,
    write_key_set,
    write_signed,
)
from contracts.untrusted import Reason, Untrusted
from ebbtide.advice import Advice
from ebbtide.render_trust import key_set_document, key_set_text, refusal_document, refusal_text
from ebbtide.terminal import Terminal
from ebbtide.text import count
from ebbtide.trust import key_set_of, passphrase, read_limited
from repo_layout.adapters.clock import now_ms
from repo_layout.adapters.durable import replace_file
from repo_layout.sign import CLOCKS_DIFFER_MS, Signer

try:
    from repo_layout.adapters.signature import PRIVATE, PUBLIC, make_key, public_key, signer
except ImportError as error:
    raise Advice(f"keys need {error.name}, which is not installed", hint="install ebbtide[signing]") from error

ROLES = {"both": frozenset(Role), "bundles": frozenset({Role.BUNDLES}), "keys": frozenset({Role.KEYS})}


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when it is done, 1 when a key set needs more signatures before anybody takes it, or does not hold."""
    return {"new": _new, "pair": _pair, "rotate": _rotate, "sign": _sign, "show": _show}[args.kind](args, terminal)


def _new(args: argparse.Namespace, terminal: Terminal) -> int:
    now, words, folder = now_ms(), passphrase(args), Path(args.folder)
    path = folder / "keys.1.json"
    if path.exists():
        raise Advice(f"{path} is there already", hint="name another folder, or rotate: ebbtide keys rotate")
    named: list[tuple[str, str]] = args.key or [("ci", "both")]
    if len({name for name, _ in named}) < len(named):
        raise Advice("two keys have one name", hint="name each --key once")
    thresholds = {Role.BUNDLES: args.threshold or 1, Role.KEYS: args.keys_threshold or 1}
    for asked, needed in thresholds.items():
        able = sum(asked in ROLES[role] for _, role in named)
        if able < needed:
            told = f"{count(needed, 'key')} must sign {asked.value}, and {able} of these may"
            raise Advice(told, hint="make more with --key NAME[:ROLE], or lower the threshold")
    made = [
        PublicKey(make_key(folder, name, passphrase=words), name, ROLES[role], *_window(args, now))
        for name, role in named
    ]
    keys = KeySet(args.estate, 1, now, thresholds, {key.id: key for key in made})
    mine = [name for name, role in named if Role.KEYS in ROLES[role]]
    signers = [signer(folder / f"{name}{PRIVATE}", passphrase=words) for name in mine]
    replace_file(path, _signed(keys, signers))
    return _told(path, terminal)


def _pair(args: argparse.Namespace, terminal: Terminal) -> int:
    make_key(Path(args.folder), args.name, passphrase=passphrase(args))
    public = Path(args.folder) / f"{args.name}{PUBLIC}"
    raw = public_key(public).hex()
    if terminal.as_json:
        private = str(public.with_name(f"{args.name}{PRIVATE}"))
        terminal.document({"public": str(public), "private": private, "approvalKey": raw})
    else:
        told = f"made {args.name}{PRIVATE}, which stays here, and {public}: keys rotate --add takes it"
        terminal.lines([told, f"  as a person's key for ebbtide approve, in directory.yaml: approvalKey: {raw}"])
    return 0


def _rotate(args: argparse.Namespace, terminal: Terminal) -> int:
    held, now, words = key_set_of([args.held]), now_ms(), passphrase(args)
    out = Path(args.out)
    if out.exists():
        raise Advice(f"{out} is there already", hint="name the file of the next key set, such as keys.2.json")
    keys = {name: key for name, key in held.keys.items() if name not in _retired(args.retire, held)}
    for file, role in args.add:
        name = Path(file).name.removesuffix(PUBLIC)
        one = PublicKey(public_key(Path(file)), name, ROLES[role], *_window(args, now))
        keys[one.id] = one
    thresholds = {
        Role.BUNDLES: args.threshold or held.thresholds[Role.BUNDLES],
        Role.KEYS: args.keys_threshold or held.thresholds[Role.KEYS],
    }
    made = replace(held, version=held.version + 1, issued=now, thresholds=thresholds, keys=keys)
    signers = [signer(Path(file), passphrase=words) for file in args.key]
    replace_file(out, _signed(made, signers))
    return _told(out, terminal, after=held)


def _sign(args: argparse.Namespace, terminal: Terminal) -> int:
    path, words = Path(args.document), passphrase(args)
    found = read_signed(read_limited(path, MAX_KEY_SET_BYTES))
    signers = [signer(Path(file), passphrase=words) for file in args.key]
    replace_file(path, _signed(found.keys, signers, found.signatures))
    return _told(path, terminal)


def _show(args: argparse.Namespace, terminal: Terminal) -> int:
    now = args.at if args.at is not None else now_ms()
    try:
        keys = key_set_of(args.documents)
    except Untrusted as error:
        if terminal.as_json:
            terminal.document(refusal_document(error))
        else:
            terminal.lines(refusal_text(error, terminal.paint))
        return 1
    if terminal.as_json:
        terminal.document({"holds": True, **key_set_document(keys)})
    else:
        terminal.lines(key_set_text(keys, now, terminal.paint))
    return 0


def _window(args: argparse.Namespace, now: int) -> tuple[int, int]:
    return now - CLOCKS_DIFFER_MS, now + int(args.valid_for)


def _retired(asked: Iterable[str], held: KeySet) -> set[str]:
    """The whole ids of keys named by at least eight digits of theirs."""
    found = set()
    for text in asked:
        mine = [name for name in held.keys if name.startswith(text)]
        if len(text) < 8 or len(mine) != 1:
            hint = "ebbtide keys show lists the ids; at least 8 digits of one"
            raise Advice(f"--retire {text} names {len(mine)} keys", hint=hint)
        found.add(mine[0])
    return found


def _signed(keys: KeySet, signers: Iterable[Signer], before: Mapping[str, bytes] | None = None) -> bytes:
    try:
        payload = write_key_set(keys)
    except ValueError as error:
        raise Advice(f"this makes no key set: {error}", hint="ebbtide keys show says what it holds now") from error
    signatures = {one.key_id: one.sign(pae(PAYLOAD_TYPE, payload)) for one in signers}
    return write_signed(payload, {**(before or {}), **signatures})


def _told(path: Path, terminal: Terminal, *, after: KeySet | None = None) -> int:
    """What was written, and whether anybody takes it already."""
    raw = read_limited(path, MAX_KEY_SET_BYTES)
    keys, missing = read_signed(raw).keys, ""
    try:
        anchor(raw)
        if after is not None:
            follow(after, [raw])
    except Untrusted as error:
        if error.reason is not Reason.BELOW_THRESHOLD:
            raise
        missing = str(error)
    if terminal.as_json:
        terminal.document({"file": str(path), "complete": not missing, "missing": missing, **key_set_document(keys)})
    else:
        terminal.lines([*key_set_text(keys, keys.issued, terminal.paint), "", f"written to {path}"])
        if missing:
            terminal.lines([f"{terminal.paint.warn('not complete')}: {missing}"])
    return 1 if missing else 0

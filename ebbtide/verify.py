"""`ebbtide verify`: whether signed bundles hold, offline, in a folder, on a repository's ref, or in one file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from contracts.bundle import MAX_NODE_BUNDLE
from contracts.dsse import MAX_BUNDLE_BYTES, Kind
from contracts.key_set import KeySet
from contracts.untrusted import Reason, Untrusted
from contracts.verify import MAX_PAYLOAD_BYTES, NOTHING, Accepted, Expects, Late, Verified, verify
from ebbtide.advice import Advice
from ebbtide.parts import Part, node_part, parts_of
from ebbtide.render_trust import Checked, Verdict, verdict_document, verdict_text
from ebbtide.terminal import Terminal
from ebbtide.trust import Folder, is_published, key_set_for, offered_at, read_limited
from repo_layout.adapters.accepted_file import AcceptedFile
from repo_layout.adapters.clock import now_ms
from repo_layout.adapters.git_open import shown
from repo_layout.sign import REGION, SIGSTORE

Judge = Callable[[Part], Verified]


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when all of it holds, 1 when any is refused."""
    now = args.at if args.at is not None else now_ms()
    kept = AcceptedFile(Path(args.accepted)) if args.accepted else None
    accepted = kept.read() if kept is not None else NOTHING
    late = Late.SAY if args.late else Late.REFUSE
    region, folder = _offered(args)
    try:
        keys = None if args.keyless else key_set_for(args.trust, folder.files if folder is not None else {})
    except Untrusted as error:
        return _shown(Verdict(shown(args.where), now, args.trust[0], None, [_refused(args.trust[0], error)]), terminal)
    judge = _keyless(args, accepted, now, late) if keys is None else _managed(keys, accepted, now, late)
    estate = keys.estate if keys is not None else None
    if folder is None:
        parts = iter((_of_file(Path(args.where), estate, region, args.node),))
    else:
        parts = parts_of(folder, estate, region, args.node)
    checked = [_checked(part, judge) for part in parts]
    if kept is not None:
        kept.accept_all((one.verified for one in checked if one.verified is not None), keys)
    by = f"key set {keys.version} of {keys.estate}" if keys is not None else f"the trust root {args.trust[0]}"
    return _shown(Verdict(shown(args.where), now, by, keys, checked), terminal)


def _managed(keys: KeySet, accepted: Accepted, now: int, late: Late) -> Judge:
    return lambda part: verify(
        part.payload, part.bundles, keys=keys, expects=part.expects, accepted=accepted, now=now, late=late
    )


def _keyless(args: argparse.Namespace, accepted: Accepted, now: int, late: Late) -> Judge:
    if not args.identity or not args.issuer or len(args.trust) != 1:
        raise Advice("--keyless needs one --trust, --identity and --issuer", hint="who may sign, and who vouches")
    try:
        from repo_layout.adapters.keyless import KeylessRoot  # noqa: PLC0415 - half a second that few need
    except ImportError as error:
        told = f"--keyless needs {error.name}, which is not installed"
        raise Advice(told, hint="install ebbtide[signing]") from error
    root = KeylessRoot(Path(args.trust[0]), identity=args.identity, issuer=args.issuer)

    def judge(part: Part) -> Verified:
        if len(part.bundles) != 1:
            told = f"no keyless bundle lies beside {part.file}: sign it too, or name the one file that is"
            raise Untrusted(Reason.BELOW_THRESHOLD, told)
        return root.verify(part.payload, part.bundles[0], expects=part.expects, accepted=accepted, now=now, late=late)

    return judge


def _checked(part: Part, judge: Judge) -> Checked:
    try:
        found = judge(part)
    except Untrusted as error:
        return _refused(part.file, error)
    return Checked(part.file, found)


def _refused(file: str, error: Untrusted) -> Checked:
    return Checked(file, None, error.reason, str(error))


def _offered(args: argparse.Namespace) -> tuple[str | None, Folder | None]:
    """The region that was asked for, and the folder or ref that was named; none where it is one file."""
    if is_published(args.where) or Path(args.where).is_dir():
        return offered_at(args.where, args.region)
    return args.region, None


def _of_file(path: Path, estate: str | None, region: str | None, node: str | None) -> Part:
    """A node bundle, or a Sigstore bundle with its payload beside it."""
    if not path.exists():
        raise Advice(f"there is no {path}", hint="name a signed folder, a repository, or one bundle")
    if not path.name.endswith(SIGSTORE):
        raw = read_limited(path, max(MAX_NODE_BUNDLE, MAX_BUNDLE_BYTES))
        return node_part(str(path), raw, Expects(estate, region, Kind.NODE, node))
    payload = path.with_name(path.name.removesuffix(SIGSTORE).rpartition(".")[0] + ".json")
    if not payload.exists():
        raise Advice(f"there is no {payload}, which {path.name} is about", hint="a payload lies beside its bundle")
    kind = Kind.REGION if payload.name == REGION and node is None else Kind.NODE
    bundle, expects = read_limited(path, MAX_BUNDLE_BYTES), Expects(estate, region, kind, node)
    return Part(str(path), read_limited(payload, MAX_PAYLOAD_BYTES), (bundle,), expects)


def _shown(verdict: Verdict, terminal: Terminal) -> int:
    if terminal.as_json:
        terminal.document(verdict_document(verdict))
    else:
        terminal.lines(verdict_text(verdict, terminal.paint))
    return 0 if verdict.holds else 1

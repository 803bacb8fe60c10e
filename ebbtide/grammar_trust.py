"""What can be typed behind `ebbtide keys`, `sign`, `publish` and `verify`: part of `ebbtide.grammar`, as light."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from datetime import UTC, datetime

DAY_MS = 86_400_000
_SPANS = {"d": DAY_MS, "h": 3_600_000, "m": 60_000}
ROLES = ("both", "bundles", "keys")
MAX_REQUESTER = 200
"""As readers of a statement have it (`contracts.dsse`), which is too heavy to import here."""


def sign(to: argparse.ArgumentParser) -> None:
    """`ebbtide sign`."""
    to.add_argument("folder", metavar="DIR", help="what ebbtide compile wrote")
    how = to.add_mutually_exclusive_group(required=True)
    how.add_argument("--key", metavar="FILE", help="the private key (PEM, mode 0600)")
    how.add_argument("--statements", metavar="FOLDER", help="sign nothing: write there what somebody else signs")
    passphrase(to)
    which = to.add_mutually_exclusive_group(required=True)
    which.add_argument("--version", type=_version, metavar="N", help="the version; higher than any before")
    which.add_argument("--next", metavar="REPO", help="one more than the version published there")
    which.add_argument("--join", action="store_true", help="say what another signer said in this folder")
    to.add_argument("--requester", type=_requester, metavar="WHO", help="the code host's identity of who asked for it")
    lifetime(to, "30d")
    to.add_argument("--not-before", type=instant, metavar="TIME", help="when it begins (default: 5 minutes ago)")


def publish(to: argparse.ArgumentParser) -> None:
    """`ebbtide publish`."""
    to.add_argument("folder", metavar="DIR", help="what ebbtide sign signed")
    to.add_argument("--to", metavar="REPO", required=True, help="path or address of the repository")
    to.add_argument("--keys", metavar="FILE", action="append", default=[], help="a key set to publish with it; repeat")
    to.add_argument("--trust", metavar="KEYSET", help="verify by this key set first, and publish nothing that fails")


def verify(to: argparse.ArgumentParser) -> None:
    """`ebbtide verify`."""
    to.add_argument("where", metavar="DIR|REPO|FILE", help="a signed folder, a repository, or one bundle")
    told = "the key set held; repeat for newer ones (--keyless: the trust root)"
    to.add_argument("--trust", metavar="KEYSET|ROOT", action="append", required=True, help=told)
    to.add_argument("--region", metavar="R", help="refuse any other region's (default: any; of a REPO its only one)")
    to.add_argument("--node", metavar="W", help="the node bundle of one workload alone")
    to.add_argument("--at", type=instant, metavar="TIME", help="as of this time, such as 2026-11-29T12:00:00Z")
    to.add_argument("--late", action="store_true", help="take what has expired and say so, as nodes do")
    to.add_argument("--accepted", metavar="FILE", help="refuse what is older than noted there, and note what holds")
    to.add_argument("--keyless", action="store_true", help="by certificate and log, against a private trust root")
    to.add_argument("--identity", metavar="WHO", help="keyless: whom the certificate was issued to")
    to.add_argument("--issuer", metavar="URL", help="keyless: who vouched for that identity")


def taken(to: argparse.ArgumentParser) -> None:
    """What a command needs that works from a bundle."""
    to.add_argument("--trust", metavar="KEYSET", action="append", default=[],
                    help="the key set by which a bundle is believed; repeat for newer ones")  # fmt: skip
    to.add_argument("--accepted", metavar="FILE", help="take no bundle older than noted there, and note what is taken")


def _new(to: argparse.ArgumentParser) -> None:
    to.add_argument("folder", metavar="DIR", help="where the keys and the first key set go")
    to.add_argument("--estate", metavar="NAME", required=True, help="the estate id of ebbtide.yaml")
    told = "a key to make, and what it may sign (both, bundles, keys); repeat (default: ci)"
    to.add_argument("--key", metavar="NAME[:ROLE]", type=_named, action="append", help=told)
    _thresholds(to, "1")
    lifetime(to, "365d")
    passphrase(to)


def _rotate(to: argparse.ArgumentParser) -> None:
    to.add_argument("held", metavar="KEYSET", help="the newest key set")
    to.add_argument("--out", metavar="FILE", required=True, help="where the next one goes")
    to.add_argument("--key", metavar="FILE", action="append", default=[], help="a private key that signs it; repeat")
    to.add_argument("--add", metavar="FILE.pub.pem[:ROLE]", type=_named, action="append", default=[],
                    help="a public key to add, named by its file; repeat")  # fmt: skip
    to.add_argument("--retire", metavar="ID", action="append", default=[], help="the id of a key to leave out; repeat")
    _thresholds(to, "as before")
    lifetime(to, "365d")
    passphrase(to)


def _add_signature(to: argparse.ArgumentParser) -> None:
    to.add_argument("document", metavar="KEYSET", help="the key set to sign; the signature is added to the file")
    to.add_argument("--key", metavar="FILE", action="append", required=True, help="a private key; repeat")
    passphrase(to)


def _show(to: argparse.ArgumentParser) -> None:
    to.add_argument("documents", metavar="KEYSET", nargs="+", help="the one held, and newer ones that follow it")
    to.add_argument("--at", type=instant, metavar="TIME", help="as of this time, such as 2026-11-29T12:00:00Z")


def _pair(to: argparse.ArgumentParser) -> None:
    to.add_argument("folder", metavar="DIR", help="where NAME.pem and NAME.pub.pem go")
    to.add_argument("name", metavar="NAME", type=_name, help="what the key is called")
    passphrase(to)


KEYS: tuple[tuple[str, str, Callable[[argparse.ArgumentParser], None]], ...] = (
    ("new", "makes the first keys of an estate and their key set", _new),
    ("pair", "makes one more key pair, for another person or machine", _pair),
    ("rotate", "makes the next key set: keys added and retired, thresholds changed", _rotate),
    ("sign", "adds a signature to a key set that needs several", _add_signature),
    ("show", "shows a key set, or what a chain of them leads to", _show),
)


def instant(text: str) -> int:
    """Milliseconds since the epoch of a UTC time with a Z."""
    if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text, re.ASCII):
        try:
            return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()) * 1000
        except ValueError:
            pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a UTC time such as 2026-11-29T12:00:00Z")


def _lifetime(text: str) -> int:
    found = re.fullmatch(r"([1-9][0-9]{0,4})([dhm])", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a length of time such as 30d, 12h or 90m")
    return int(found[1]) * _SPANS[found[2]]


def _requester(text: str) -> str:
    if len(text) > MAX_REQUESTER or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text[:40]!a} is not 1 to {MAX_REQUESTER} printable characters")
    return text


def _version(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,14}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 7")
    return int(text)


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", text, re.ASCII) or text.endswith(".pub"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name such as ci-2026")
    return text


def _named(text: str) -> tuple[str, str]:
    """A name or file with its role behind a colon."""
    name, colon, role = text.rpartition(":")
    if not colon:
        return text, ROLES[0]
    if not name or role not in ROLES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end with one of {', '.join(ROLES)}")
    return name, role


def _thresholds(to: argparse.ArgumentParser, default: str) -> None:
    for option, what in (("--threshold", "bundles"), ("--keys-threshold", "the next key set")):
        told = f"how many keys have to sign {what} (default: {default})"
        to.add_argument(option, type=_version, metavar="N", help=told)


def lifetime(to: argparse.ArgumentParser, default: str) -> None:
    """How long something signed holds."""
    to.add_argument("--valid-for", type=_lifetime, default=_lifetime(default), metavar="SPAN",
                    help=f"how long it holds, such as {default} (the default)")  # fmt: skip


def passphrase(to: argparse.ArgumentParser) -> None:
    """What protects a private key."""
    how = to.add_mutually_exclusive_group()
    how.add_argument("--passphrase-file", metavar="FILE", help="the first line of this file protects the private keys")
    how.add_argument("--passphrase-env", metavar="NAME", help="this variable does")

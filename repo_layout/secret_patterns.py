"""What a secret looks like in text that anybody may read: one table, and a search that looks behind base64 too.

The compiler runs it over rendered user data. Pure. A pattern that fires on what is no secret costs a person a line; one
that misses costs a credential, so where both cannot be had the table errs towards firing.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """One thing that gives a secret away: the code of its kind, what it is, and how to find it."""

    code: str
    what: str
    found: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Found:
    """A secret: where it starts (line from 1), and what it is; the text itself is never repeated."""

    what: str
    line: int
    encoded: bool


_VALUE = r"""["']?\s*[:=]\s*["']?"""

_NAMED = r"(?i)(?:api|access|secret|auth|credential|client|session)[_-]?(?:key|token|secret)(?:[_-]?id)?"
# A file of cloud-init with one of Slurm's keys, its content after the path or before it; or one that a command
# decodes.
_SLURM = r"(?:munge|slurm|jwks|jwt_hs256)\.key"
_BESIDE = r"(?:[ \t]+(?:owner|permissions|encoding|append|defer):[^\n]*\n)*[ \t]+"
_SLURM_KEY = (
    rf"{_SLURM}[\"']?(?:[ \t]*,[^\n}}]{{0,200}}|[ \t]*\n{_BESIDE})content[\"']?:(?!\s*[\"']?@)"
    rf"|content:[ \t]*[^\s@|>][^\n]*\n{_BESIDE}path:[^\n]*{_SLURM}"
    rf"|\b(?:echo|printf)\b[^\n|]{{0,3000}}\|[^\n|]{{0,20}}\bbase64\b[^\n]{{0,200}}{_SLURM}"
)
_TABLE: tuple[tuple[str, str, str], ...] = (
    # private keys
    ("EBT-233", "a private key", r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
    ("EBT-233", "a PuTTY private key", r"PuTTY-User-Key-File-\d"),
    ("EBT-233", "an age identity", r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    ("EBT-233", "a NATS seed", r"(?<![A-Z0-9])S[ACNOUX][A-Z2-7]{56}(?![A-Z0-9])"),
    ("EBT-233", "a WireGuard key", r"(?i)\b(?:PrivateKey|PresharedKey)\s*=\s*[A-Za-z0-9+/]{43}="),
    # what lets a machine into a cluster
    ("EBT-234", "a bootstrap token", r"(?<![A-Za-z0-9.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![A-Za-z0-9.-])"),
    ("EBT-234", "a certificate key of kubeadm", r"(?:--certificate-key|certificateKey)[\s:=\"',]+[0-9a-f]{64}"),
    ("EBT-234", "a token of a cluster", r"\bK10[0-9a-f]{64}::\S+"),
    ("EBT-234", "a key of Slurm", _SLURM_KEY),
    # passwords
    ("EBT-235", "a password", rf"(?i)\b(?!lock_passwd)[a-z_]*(?:passwd|password|passphrase){_VALUE}[^\s\"'@{{\[]"),
    ("EBT-235", "passwords for chpasswd", r"\bchpasswd\b"),
    ("EBT-235", "a hashed password", r"\$(?:1|2[aby]?|5|6|7|y|gy)\$[./A-Za-z0-9,=$]{8,}"),
    ("EBT-235", "a password in an address", r"[a-z][a-z0-9+.-]{1,15}://[^\s/:@]+:[^\s/@]+@"),
    # keys of clouds, code hosts and APIs
    ("EBT-236", "an access key of a cloud", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("EBT-236", "a token of a code host", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,}|glpat-[\w-]{20,})"),
    ("EBT-236", "a token of a chat or a vault", r"\b(?:xox[abeprs]-[\w-]{10,}|hv[sb]\.[\w-]{20,})"),
    ("EBT-236", "an API key", r"\bAIza[\w-]{35}"),
    ("EBT-236", "a signed token", r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    ("EBT-236", "an authorization header", rf"(?i)\bauthorization{_VALUE}(?:basic|bearer|token)\s+[^\s\"'@]{{8,}}"),
    ("EBT-236", "a key or a token under its name", rf"{_NAMED}{_VALUE}[A-Za-z0-9+/_.-]{{12,}}"),
)
PATTERNS: tuple[Pattern, ...] = tuple(Pattern(code, what, re.compile(text, re.ASCII)) for code, what, text in _TABLE)
"""Of several of one code that fire on one line the first is told."""

_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}", re.ASCII)
_GZIP = b"\x1f\x8b"
MOST_UNPACKED = 1 << 20
"""Bytes that are unpacked of one compressed value; user data holds no more."""


def secrets_in(text: str, code: str) -> tuple[Found, ...]:
    """Every line on which a secret of that code starts, in order; values in base64 are looked into as well."""
    patterns = [pattern for pattern in PATTERNS if pattern.code == code]
    found = {one.line: one for one in reversed([*_plain(text, patterns), *_encoded(text, patterns)])}
    return tuple(found[line] for line in sorted(found))


def _plain(text: str, patterns: Sequence[Pattern]) -> Iterator[Found]:
    for pattern in patterns:
        for match in pattern.found.finditer(text):
            yield Found(pattern.what, text.count("\n", 0, match.start()) + 1, encoded=False)


def _encoded(text: str, patterns: Sequence[Pattern]) -> Iterator[Found]:
    for value in _BASE64.finditer(text):
        line = text.count("\n", 0, value.start()) + 1
        for inside in _plain(_decoded(value[0]), patterns):
            yield Found(inside.what, line, encoded=True)


def _decoded(value: str) -> str:
    """The text behind base64, compressed or not; empty where there is none."""
    try:
        raw = base64.b64decode(value + "=" * (-len(value) % 4))
        if raw.startswith(_GZIP):
            raw = zlib.decompressobj(wbits=31).decompress(raw, MOST_UNPACKED)
    except (binascii.Error, zlib.error):
        return ""
    return raw.decode("latin-1")

"""The verifier under any bytes: a target for a fuzzer, with the seeds to begin from.

`fuzz_verify` takes bytes as a fuzzer makes them, tries them as each thing that the verifier reads, and lets nothing out
but what it may: a refusal. Anything else that it raises is a finding. `tests/trust/test_hostile.py` runs it on drawn
bytes, `benchmarks/fuzz.py` under atheris. Keys and time are fixed, so that one input has one outcome.

    python -m benchmarks.fuzz_verify FOLDER      write the seeds, one file each
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

from nacl.signing import SigningKey

from contracts.bundle import read_node, write_node_bundle
from contracts.canonical import canonical
from contracts.dsse import Kind, Statement, Subject, pae, read_bundle, read_statement
from contracts.errors import Refused
from contracts.key_set import PAYLOAD_TYPE, KeySet, PublicKey, Role, anchor, follow, read_signed, write_signed
from contracts.verify import NOTHING, Expects, Late, read_accepted, verify, verify_node, write_accepted
from repo_layout.sign import Signer, sigstore_bundle

BEGINS, NOW, ENDS = 1_790_000_000_000, 1_790_000_001_000, 1_800_000_000_000
_KEY = SigningKey(hashlib.sha256(b"fuzz").digest())
_ID = hashlib.sha256(bytes(_KEY.verify_key)).hexdigest()
_PUBLIC = PublicKey(bytes(_KEY.verify_key), "fuzz", frozenset(Role), BEGINS, ENDS)
KEYS = KeySet("e", 1, BEGINS, {Role.BUNDLES: 1, Role.KEYS: 1}, {_ID: _PUBLIC})
UNSIGNED = "believed, and it is not what was signed"
PAYLOAD = canonical({"format": 1})


def _sign(data: bytes) -> bytes:
    return _KEY.sign(data).signature


def _seeds() -> dict[str, bytes]:
    digest = hashlib.sha256(PAYLOAD).hexdigest()
    said = Statement(Subject("e", "r", "w"), digest, "c", "a", 1, BEGINS, ENDS)
    bundle = sigstore_bundle(said, Signer(_ID, _sign))
    keys = write_signed(KEYS.payload, {_ID: _sign(pae(PAYLOAD_TYPE, KEYS.payload))})
    holds = verify(PAYLOAD, [bundle], keys=KEYS, expects=Expects("e", "r", Kind.NODE), accepted=NOTHING, now=NOW)
    return {
        "node": write_node_bundle(PAYLOAD, [bundle]),
        "bundle": bundle,
        "statement": read_bundle(bundle).statement,
        "keys": keys,
        "accepted": write_accepted(NOTHING.having(holds, KEYS)),
    }


SEEDS = _seeds()


def fuzz_verify(data: bytes) -> None:
    """Raises only for a finding: an exception that is no refusal, or bytes believed that nobody signed."""
    hostile(data)
    reads: tuple[Callable[[bytes], object], ...] = (read_statement, read_node, read_signed, anchor)
    for read in reads:
        with contextlib.suppress(Refused):
            read(data)
    with contextlib.suppress(ValueError):
        read_accepted(data)
    with contextlib.suppress(Refused):
        if follow(KEYS, [data]) != KEYS:
            raise AssertionError("a key set follows that nobody signed")


def hostile(data: bytes) -> str:
    """What the verifier makes of bytes as a node bundle and as one signer's bundle: believed, or refused.

    Raises `AssertionError` where it believes what nobody signed.
    """
    expects = Expects("e", "r", Kind.NODE)
    outcome = "refused"
    try:
        verify_node(data, keys=KEYS, expects=expects, accepted=NOTHING, now=NOW)
        outcome = "believed"
    except Refused:
        pass
    if outcome == "believed" and data != SEEDS["node"]:
        raise AssertionError(UNSIGNED)
    try:
        verify(PAYLOAD, [data], keys=KEYS, expects=expects, accepted=NOTHING, now=NOW, late=Late.SAY)
    except Refused:
        return outcome
    if read_bundle(data) != read_bundle(SEEDS["bundle"]):  # white space between its parts is not signed
        raise AssertionError(UNSIGNED)
    return "believed"


def main() -> None:
    """Write the seeds."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m benchmarks.fuzz_verify FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in SEEDS.items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()

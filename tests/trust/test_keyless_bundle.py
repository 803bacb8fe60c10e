"""The strict reader of keyless bundles: what no signature covers has one form, so that nothing changes unnoticed."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.dsse import Kind, write_statement
from contracts.untrusted import Untrusted
from contracts.verify import NOTHING, Expects
from repo_layout import keyless_bundle
from repo_layout.adapters.keyless import KeylessRoot
from tests.trust.keyless_site import IDENTITY, ISSUER, ORIGIN, Site, log_id
from tests.trust.signers import ESTATE, NOW, PAYLOAD, REGION, statement

Json = Any
SITE = Site()
BUNDLE = SITE.bundle(write_statement(statement()))
BEGINS_LIKE_IT = b64encode(log_id(SITE.log)[:4] + bytes(28)).decode()
FIVE = {"rfc3161Timestamps": [{"signedTimestamp": "AAAA"}] * 5}
EXPECTS = Expects(ESTATE, REGION, Kind.REGION)


@pytest.fixture(name="root", scope="module")
def _root(tmp_path_factory: pytest.TempPathFactory) -> KeylessRoot:
    path = tmp_path_factory.mktemp("keyless") / "root.json"
    path.write_bytes(SITE.trust_root())
    return KeylessRoot(path, identity=IDENTITY, issuer=ISSUER)


def holds(root: KeylessRoot, bundle: bytes) -> bool:
    try:
        root.verify(PAYLOAD, bundle, expects=EXPECTS, accepted=NOTHING, now=NOW)
    except Untrusted:
        return False
    return True


def strict_bundle(raw: bytes) -> bytes:
    return keyless_bundle.strict_bundle(raw).content


def edited(edit: Callable[[Json, Json], object]) -> bytes:
    document = json.loads(BUNDLE)
    edit(document, document["verificationMaterial"]["tlogEntries"][0])
    return json.dumps(document).encode()


def test_zeros_that_are_left_out_are_zeros(root: KeylessRoot) -> None:
    def without_zeros(_: Json, entry: Json) -> None:
        for part, name in (
            (entry, "logIndex"),
            (entry["inclusionProof"], "logIndex"),
            (entry["inclusionProof"], "hashes"),
        ):
            part.pop(name)

    assert holds(root, edited(without_zeros))
    assert strict_bundle(edited(without_zeros)) == strict_bundle(BUNDLE)


def test_what_was_read_strictly_reads_the_same_again() -> None:
    assert strict_bundle(strict_bundle(BUNDLE)) == strict_bundle(BUNDLE)


def note(entry: Json, change: Callable[[str], str]) -> None:
    checkpoint = entry["inclusionProof"]["checkpoint"]
    checkpoint["envelope"] = change(checkpoint["envelope"])


def of_version_2(_: Json, entry: Json) -> None:
    entry["kindVersion"] = {"kind": "hashedrekord", "version": "0.0.2"}


UNCOVERED: dict[str, tuple[Callable[[Json, Json], object], str]] = {
    "a key's name": (lambda d, _: d["dsseEnvelope"]["signatures"][0].update(keyid="ci"), "keyid"),
    "a label": (lambda _, e: note(e, lambda text: text.replace(f"\u2014 {ORIGIN}", "\u2014 other")), "line of its log"),
    "a line twice": (lambda _, e: note(e, lambda text: text + text[text.index("\u2014") :]), "line of its log"),
    "nine lines": (lambda _, e: note(e, lambda text: text + "\u2014 witness AAAA\n" * 8), "signature lines"),
    "no line": (lambda _, e: note(e, lambda text: text[: text.index("\u2014")]), "signature lines"),
    "words after the line": (lambda _, e: note(e, lambda text: text[:-1] + " more\n"), "signature lines"),
    "no end of the line": (lambda _, e: note(e, lambda text: text[:-1]), "signature lines"),
    "a number as checkpoint": (lambda _, e: e["inclusionProof"]["checkpoint"].update(envelope=7), "no checkpoint"),
    "an index like no number": (lambda _, e: e.update(logIndex="007"), "no whole number"),
    "a number as a number": (lambda _, e: e.update(logIndex=0), "no text"),
    "no promise": (lambda _, e: e.pop("inclusionPromise"), "inclusionPromise"),
    "another kind": (lambda _, e: e["kindVersion"].update(kind="intoto"), "only dsse"),
    "a promise of a log that makes none": (of_version_2, "inclusion"),
    "a second entry": (lambda d, e: d["verificationMaterial"]["tlogEntries"].append(e), "tlogEntries"),
    "five times": (lambda d, _: d["verificationMaterial"].update(timestampVerificationData=FIVE), "rfc3161Timestamps"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNCOVERED)
def test_what_no_signature_covers_has_one_form(what: str) -> None:
    edit, told = UNCOVERED[what]
    with pytest.raises(ValueError, match=told):
        strict_bundle(edited(edit))


def test_a_log_has_its_whole_id(root: KeylessRoot) -> None:
    assert not holds(root, edited(lambda _, entry: entry["logId"].update(keyId=BEGINS_LIKE_IT)))


def test_a_witness_may_sign_a_checkpoint_too(root: KeylessRoot) -> None:
    assert holds(root, edited(lambda _, entry: note(entry, lambda text: text + "\u2014 witness AAAAAAAA\n")))


@settings(max_examples=150)
@given(at=st.integers(0, len(BUNDLE) - 1), bit=st.integers(0, 7))
def test_no_single_bit_of_a_keyless_bundle_changes_unnoticed(root: KeylessRoot, at: int, bit: int) -> None:
    altered = bytearray(BUNDLE)
    altered[at] ^= 1 << bit
    assert not holds(root, bytes(altered))


@settings(max_examples=150)
@given(at=st.integers(0, 10_000), value=st.integers(0, 255))
def test_a_certificate_with_any_byte_is_no_more_than_untrusted(root: KeylessRoot, at: int, value: int) -> None:
    document = json.loads(BUNDLE)
    certificate = document["verificationMaterial"]["certificate"]
    der = bytearray(b64decode(certificate["rawBytes"]))
    same = der[at % len(der)] == value
    der[at % len(der)] = value
    certificate["rawBytes"] = b64encode(der).decode()
    assert holds(root, json.dumps(document).encode()) is same


def test_a_certificate_of_a_version_that_there_is_not_is_untrusted(root: KeylessRoot) -> None:
    document = json.loads(BUNDLE)
    certificate = document["verificationMaterial"]["certificate"]
    der = b64decode(certificate["rawBytes"]).replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x42", 1)
    certificate["rawBytes"] = b64encode(der).decode()
    assert not holds(root, json.dumps(document).encode())

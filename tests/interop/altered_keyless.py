"""A table of keyless bundles that were altered, each against another good one: what cosign and we have to say.

`ours` is `holds` or our reason, or one of two; where cosign takes what we refuse, `why` says by which design. Nothing
that we take is refused by cosign.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.interop.altered import Json, flipped, material, signature

MALFORMED, SIGNATURE = "malformed", "signature"
BY_THE_SECOND = "wrong_root or signature"
"""A certificate issued in the second after the time of signing did not hold then; one of the same second did."""
NOBODYS = "A" * 43 + "="


@dataclass(frozen=True)
class Row:
    """An edit of one bundle with the pieces of another at hand."""

    name: str
    edit: Callable[[Json, Json], object]
    ours: str
    cosign: bool = False
    why: str = ""


def _entry(document: Json) -> Json:
    return material(document)["tlogEntries"][0]


def _proof(document: Json) -> Json:
    return _entry(document)["inclusionProof"]


def _stamps(document: Json) -> Json:
    return material(document)["timestampVerificationData"]["rfc3161Timestamps"]


def _no_certificate(one: Json, _: Json) -> None:
    material(one)["publicKey"] = {"hint": "ci"}
    material(one).pop("certificate")


def _another_label(one: Json, _: Json) -> None:
    note = _proof(one)["checkpoint"]["envelope"]
    _proof(one)["checkpoint"]["envelope"] = note.replace("\u2014 127", "\u2014 128")


UNCOVERED = "cosign finds it elsewhere and passes over this; what nothing covers has one form for us"
STAMPS = "whoever verifies wants one time that holds; more say nothing and take nothing away"

KEYLESS = (
    Row("nothing", lambda *_: None, "holds", cosign=True),
    Row(
        "a second time, of another signature",
        lambda one, other: _stamps(one).extend(_stamps(other)),
        "holds",
        cosign=True,
    ),
    Row("no times", lambda one, _: material(one).pop("timestampVerificationData"), MALFORMED),
    Row("an empty list of times", lambda one, _: _stamps(one).clear(), MALFORMED),
    Row("another signature's time", lambda one, other: _stamps(one).__setitem__(0, _stamps(other)[0]), SIGNATURE),
    Row("no log entry", lambda one, _: material(one).pop("tlogEntries"), MALFORMED),
    Row("an empty list of log entries", lambda one, _: material(one)["tlogEntries"].clear(), MALFORMED),
    Row("the log entry twice", lambda one, _: material(one)["tlogEntries"].append(_entry(one)), MALFORMED),
    Row(
        "another signature's log entry",
        lambda one, other: material(one).update(tlogEntries=[_entry(other)]),
        SIGNATURE,
    ),
    Row(
        "another's entry after the good one",
        lambda one, other: material(one)["tlogEntries"].append(_entry(other)),
        MALFORMED,
    ),
    Row("no proof", lambda one, _: _entry(one).pop("inclusionProof"), MALFORMED),
    Row("another's proof", lambda one, other: _entry(one).update(inclusionProof=_proof(other)), MALFORMED),
    Row("no hashes in the proof", lambda one, _: _proof(one).pop("hashes"), SIGNATURE),
    Row("no checkpoint", lambda one, _: _proof(one).pop("checkpoint"), MALFORMED),
    Row(
        "another's checkpoint", lambda one, other: _proof(one).update(checkpoint=_proof(other)["checkpoint"]), SIGNATURE
    ),
    Row("another index of the entry", lambda one, _: _entry(one).update(logIndex="77"), MALFORMED),
    Row("another log's id", lambda one, _: _entry(one)["logId"].update(keyId=NOBODYS), MALFORMED),
    Row("another body", lambda one, _: _entry(one).update(canonicalizedBody="e30="), SIGNATURE),
    Row("no body", lambda one, _: _entry(one).pop("canonicalizedBody"), MALFORMED),
    Row("a time in a log that has none", lambda one, _: _entry(one).update(integratedTime="1790856001"), MALFORMED),
    Row(
        "another's certificate",
        lambda one, other: material(one).update(certificate=material(other)["certificate"]),
        BY_THE_SECOND,
    ),
    Row("a key instead of the certificate", _no_certificate, MALFORMED),
    Row("another's signature", lambda one, other: signature(one).update(sig=signature(other)["sig"]), SIGNATURE),
    Row(
        "a byte of the signature",
        lambda one, _: signature(one).update(sig=flipped(signature(one)["sig"], 30)),
        SIGNATURE,
    ),
    Row("the signature twice", lambda one, _: one["dsseEnvelope"]["signatures"].append(signature(one)), MALFORMED),
    Row("a key id", lambda one, _: signature(one).update(keyid="ci"), MALFORMED),
    Row(
        "a byte of the statement",
        lambda one, _: one["dsseEnvelope"].update(payload=flipped(one["dsseEnvelope"]["payload"], 80)),
        SIGNATURE,
    ),
    Row("another payload type", lambda one, _: one["dsseEnvelope"].update(payloadType="text/plain"), SIGNATURE),
    Row("a field that nobody knows", lambda one, _: one.update(note="hello"), MALFORMED),
    Row(
        "an older media type",
        lambda one, _: one.update(mediaType="application/vnd.dev.sigstore.bundle+json;version=0.1"),
        MALFORMED,
    ),
    Row("the time twice", lambda one, _: _stamps(one).extend(list(_stamps(one))), SIGNATURE, cosign=True, why=STAMPS),
    Row(
        "another index in the proof",
        lambda one, _: _proof(one).update(logIndex="0"),
        MALFORMED,
        cosign=True,
        why=UNCOVERED,
    ),
    Row(
        "another size beside the checkpoint's",
        lambda one, _: _proof(one).update(treeSize="99"),
        SIGNATURE,
        cosign=True,
        why=UNCOVERED,
    ),
    Row(
        "another root beside the checkpoint's",
        lambda one, _: _proof(one).update(rootHash=NOBODYS),
        SIGNATURE,
        cosign=True,
        why=UNCOVERED,
    ),
    Row(
        "another kind beside the body's",
        lambda one, _: _entry(one)["kindVersion"].update(kind="dsse"),
        MALFORMED,
        cosign=True,
        why=UNCOVERED,
    ),
    Row("another label of the checkpoint's line", _another_label, MALFORMED),
)

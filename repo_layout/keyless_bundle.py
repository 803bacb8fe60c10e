"""Reads a keyless bundle before anybody verifies it: one way to write each thing, and nothing that no signature covers.

`repo_layout.adapters.keyless` calls it. The package that verifies passes over what it does not need (an index beside
its proof, a time in a log that has none, most of a log's id, the label of a checkpoint's line, a key's name), and
refuses the first entry of a log, because Protobuf's JSON leaves out a zero. It must not know certificates or clocks.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from contracts.canonical import JsonValue, canonical
from contracts.dsse import MAX_BUNDLE_BYTES, MEDIA_TYPE
from contracts.strict_json import Reader, read_json

MAX_STAMPS = 4
"""A signer asks one timestamp authority, or two."""
MAX_LINES = 8
"""Of a checkpoint: the log's signature and those of its witnesses."""
MAX_ID_BYTES = 64
MAX_PROOF = 64
"""Hashes of a proof: one for each doubling of the log."""
_NUMBER = re.compile("0|[1-9][0-9]{0,18}", re.ASCII)
_LINE = re.compile("\u2014 ([^\\s+]+) (\\S+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Strict:
    """One keyless bundle as read, nothing of it believed yet: canonical JSON with its zeros, and the id of its log."""

    content: bytes
    log: bytes


def strict_bundle(raw: bytes) -> Strict:
    """A bundle of the one form. Raises `ValueError` with one clause on what is wrong."""
    bundle = Reader(read_json(raw, limit=MAX_BUNDLE_BYTES), "the bundle")
    bundle.exactly("mediaType", MEDIA_TYPE)
    material, envelope = bundle.object("verificationMaterial"), bundle.object("dsseEnvelope")
    bundle.done()
    read, log = _material(material)
    signed = _envelope(envelope)
    return Strict(canonical({"mediaType": MEDIA_TYPE, "verificationMaterial": read, "dsseEnvelope": signed}), log)


def _material(material: Reader) -> tuple[JsonValue, bytes]:
    certificate = material.object("certificate")
    (one,) = material.objects("tlogEntries", most=1)
    entry, log = _entry(one)
    read: dict[str, JsonValue] = {
        "certificate": {"rawBytes": _data(certificate, "rawBytes")},
        "tlogEntries": [entry],
    }
    certificate.done()
    if material.has("timestampVerificationData"):
        data = material.object("timestampVerificationData")
        stamps = data.objects("rfc3161Timestamps", most=MAX_STAMPS)
        data.done()
        read["timestampVerificationData"] = {"rfc3161Timestamps": [_stamp(one) for one in stamps]}
    material.done()
    return read, log


def _stamp(stamp: Reader) -> JsonValue:
    read: JsonValue = {"signedTimestamp": _data(stamp, "signedTimestamp")}
    stamp.done()
    return read


def _envelope(envelope: Reader) -> JsonValue:
    payload, kind = _data(envelope, "payload"), envelope.text("payloadType", longest=200)
    (signature,) = envelope.objects("signatures", most=1)
    envelope.done()
    if signature.has("keyid"):
        signature.exactly("keyid", "")
    read: JsonValue = {"sig": _data(signature, "sig"), "keyid": ""}
    signature.done()
    return {"payload": payload, "payloadType": kind, "signatures": [read]}


def _entry(entry: Reader) -> tuple[JsonValue, bytes]:
    """A log's entry and the log's id: of version 1, or of version 2, which makes no promise and says no time."""
    kind, log = entry.object("kindVersion"), entry.object("logId")
    name, version = (kind.text(field, longest=20) for field in ("kind", "version"))
    key_id, body = log.data("keyId", limit=MAX_ID_BYTES), _data(entry, "canonicalizedBody")
    kind.done()
    log.done()
    index, proof = _number(entry, "logIndex"), _proof(entry.object("inclusionProof"), key_id)
    read: dict[str, JsonValue] = {
        "logIndex": index,
        "logId": {"keyId": base64.b64encode(key_id).decode("ascii")},
        "kindVersion": {"kind": name, "version": version},
        "canonicalizedBody": body,
        "inclusionProof": proof,
    }
    if (name, version) == ("dsse", "0.0.1"):
        promise = entry.object("inclusionPromise")
        read["integratedTime"] = _number(entry, "integratedTime")
        read["inclusionPromise"] = {"signedEntryTimestamp": _data(promise, "signedEntryTimestamp")}
        promise.done()
    elif (name, version) != ("hashedrekord", "0.0.2"):
        raise ValueError(f"the log's entry is {name} {version}, and only dsse 0.0.1 and hashedrekord 0.0.2 are read")
    elif proof["logIndex"] != index:
        raise ValueError("the log's entry has another index than its proof")
    entry.done()
    return read, key_id


def _proof(proof: Reader, log: bytes) -> dict[str, JsonValue]:
    hashes = proof.items("hashes", most=MAX_PROOF, least=0) if proof.has("hashes") else []
    checkpoint = proof.mapping("checkpoint", most=1).get("envelope")
    if not isinstance(checkpoint, str):
        raise ValueError("the proof has no checkpoint")  # noqa: TRY004 - the caller turns ValueError into its refusal
    _require_line_of(log, checkpoint)
    read: dict[str, JsonValue] = {
        "logIndex": _number(proof, "logIndex"),
        "rootHash": _data(proof, "rootHash"),
        "treeSize": _number(proof, "treeSize"),
        "hashes": [_data(Reader({"hash": one}, "the proof"), "hash") for one in hashes],
        "checkpoint": {"envelope": checkpoint},
    }
    proof.done()
    return read


def _require_line_of(log: bytes, checkpoint: str) -> None:
    """Raises `ValueError` unless one signature line is the log's, under the log's name (C2SP signed note)."""
    text, blank, lines = checkpoint.partition("\n\n")
    found = [_LINE.fullmatch(line) for line in lines.removesuffix("\n").split("\n", MAX_LINES)]
    if not blank or not lines.endswith("\n") or len(found) > MAX_LINES or None in found:
        raise ValueError(f"the checkpoint does not end with 1 to {MAX_LINES} signature lines")
    origin = text.partition("\n")[0].partition(" - ")[0]
    mine = [one[1] for one in found if one is not None and _decoded(one[2])[:4] == log[:4]]
    if mine != [origin]:
        raise ValueError(f"the checkpoint has not exactly one signature line of its log {origin!a}")


def _decoded(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("a signature line of the checkpoint is no base64") from None
    if base64.b64encode(data).decode() != text:
        raise ValueError("a signature line of the checkpoint is base64 that could be written in another way")
    return data


def _data(reader: Reader, name: str) -> str:
    """Base64 in its one form, as it stands."""
    return base64.b64encode(reader.data(name, limit=MAX_BUNDLE_BYTES)).decode("ascii")


def _number(reader: Reader, name: str) -> str:
    """A whole number as Protobuf's JSON writes one of 64 bits: as text, and not at all when it is zero."""
    value = reader.text(name, longest=20, default="0")
    if not _NUMBER.fullmatch(value):
        raise ValueError(f"{name} of the log's entry is no whole number")
    return value

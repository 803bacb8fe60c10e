"""A table of bundles that were altered, or written with care by a thief or by nobody we know: what two verifiers say.

Each row is a payload and a bundle made from good ones. `ours` and `cosign` are whether they have to hold; where the two
differ, `why` says by which design.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from contracts.dsse import PAYLOAD_TYPE, Statement, pae, write_statement
from repo_layout.sign import Signer, sigstore_bundle

GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
"""Of Ed25519 (RFC 8032): a signature with it added to its second half fits the equation and is not the one written."""
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
Json = Any


@dataclass(frozen=True)
class Good:
    """What was signed, and by whom; `other` is a signer whom nobody trusts."""

    payload: bytes
    statement: Statement
    bundle: bytes
    signer: Signer
    other: Signer


@dataclass(frozen=True)
class Altered:
    """A payload and its bundle."""

    payload: bytes
    bundle: bytes


@dataclass(frozen=True)
class Row:
    """One way to alter, and who takes the result."""

    name: str
    alter: Callable[[Good], Altered]
    ours: bool = False
    cosign: bool = False
    why: str = ""


def edited(edit: Callable[[Json], object]) -> Callable[[Good], Altered]:
    """The bundle's JSON, edited."""

    def alter(good: Good) -> Altered:
        document = json.loads(good.bundle)
        edit(document)
        return Altered(good.payload, json.dumps(document).encode())

    return alter


def written(write: Callable[[bytes], bytes]) -> Callable[[Good], Altered]:
    """The bundle's bytes, rewritten."""
    return lambda good: Altered(good.payload, write(good.bundle))


def says(**facts: object) -> Callable[[Good], Altered]:
    """A good signer says something else about the same payload."""
    return lambda good: Altered(good.payload, sigstore_bundle(replace(good.statement, **facts), good.signer))  # type: ignore[arg-type]  # rows name fields of Statement


def about(**whom: str) -> Callable[[Good], Altered]:
    """A good signer says it about another subject."""
    return lambda good: says(subject=replace(good.statement.subject, **whom))(good)


def signs(edit: Callable[[Json], object], *, kind: str = PAYLOAD_TYPE) -> Callable[[Good], Altered]:
    """A good signer signs a statement that ours never write."""

    def alter(good: Good) -> Altered:
        said = json.loads(write_statement(good.statement))
        edit(said)
        return Altered(good.payload, enveloped(good, json.dumps(said).encode(), kind))

    return alter


def enveloped(good: Good, statement: bytes, kind: str) -> bytes:
    """A bundle around any bytes, well signed."""
    document = json.loads(good.bundle)
    signed = base64.b64encode(good.signer.sign(pae(kind, statement))).decode()
    envelope = document["dsseEnvelope"]
    envelope.update(payload=base64.b64encode(statement).decode(), payloadType=kind)
    signature(document)["sig"] = signed
    return json.dumps(document).encode()


def signature(document: Json) -> Json:
    """The one in the envelope."""
    return document["dsseEnvelope"]["signatures"][0]


def _other_half(document: Json) -> None:
    """The same equation with another number, which a lenient verifier takes."""
    raw = base64.b64decode(signature(document)["sig"])
    half = int.from_bytes(raw[32:], "little") + GROUP_ORDER
    signature(document)["sig"] = base64.b64encode(raw[:32] + half.to_bytes(32, "little")).decode()


def flipped(text: str, at: int) -> str:
    """Another letter in one place."""
    return text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]


def _unread_bit(document: Json) -> None:
    """The last digit of 64 bytes in base64 has four bits that stand for nothing."""
    text = signature(document)["sig"].removesuffix("==")
    signature(document)["sig"] = text[:-1] + DIGITS[DIGITS.index(text[-1]) ^ 1] + "=="


def _for_addresses(document: Json) -> None:
    """The other alphabet of base64, without padding."""
    signature(document)["sig"] = signature(document)["sig"].replace("+", "-").replace("/", "_").rstrip("=")


def _twice(document: Json) -> None:
    document["dsseEnvelope"]["signatures"] *= 2


def _by_another(good: Good) -> Altered:
    return Altered(good.payload, sigstore_bundle(good.statement, good.other))


def _by_another_under_our_name(good: Good) -> Altered:
    impostor = Signer(good.signer.key_id, good.other.sign)
    return Altered(good.payload, sigstore_bundle(good.statement, impostor))


def material(document: Json) -> Json:
    """What a bundle says about who signed it."""
    return document["verificationMaterial"]


def meaning(bundle: bytes) -> Json:
    """What a lenient reader finds in a bundle, but for the key's id; None where it finds nothing."""
    try:
        document = json.loads(bundle)
        material(document)["publicKey"].pop("hint")
        envelope = document["dsseEnvelope"]
        envelope["payload"] = base64.b64decode(envelope["payload"])
        signature(document)["sig"] = base64.b64decode(signature(document)["sig"])
    except (ValueError, KeyError, TypeError):
        return None
    return document


STRICT = (
    "ours reads one way to write each thing, so that no byte changes unnoticed; cosign reads all that Protobuf allows"
)
JUDGED = "cosign verifies signature, digest and predicate type; what the predicate says is ours to judge"

WHOLE = (
    Row("nothing", lambda good: Altered(good.payload, good.bundle), ours=True, cosign=True),
    Row(
        "other white space", written(lambda raw: json.dumps(json.loads(raw), indent=1).encode()), ours=True, cosign=True
    ),
    Row(
        "keys in another order",
        written(lambda raw: json.dumps(dict(reversed(json.loads(raw).items()))).encode()),
        ours=True,
        cosign=True,
    ),
    Row("no keyid", edited(lambda d: signature(d).pop("keyid")), ours=True, cosign=True),
    Row("an empty log", edited(lambda d: material(d).update(tlogEntries=[])), ours=True, cosign=True),
    Row("a later version", says(version=8), ours=True, cosign=True),
)

REFUSED = (
    Row("a byte more in the payload", lambda good: Altered(good.payload + b" ", good.bundle)),
    Row("a byte of the payload", lambda good: Altered(b"[" + good.payload[1:], good.bundle)),
    Row("no payload", lambda good: Altered(b"", good.bundle)),
    Row(
        "a byte of the statement",
        edited(lambda d: d["dsseEnvelope"].update(payload=flipped(d["dsseEnvelope"]["payload"], 80))),
    ),
    Row("a byte of the signature", edited(lambda d: signature(d).update(sig=flipped(signature(d)["sig"], 40)))),
    Row("the signature's other half", edited(_other_half)),
    Row("a signature of nothing", edited(lambda d: signature(d).update(sig=base64.b64encode(bytes(64)).decode()))),
    Row("half a signature", edited(lambda d: signature(d).update(sig=signature(d)["sig"][:44]))),
    Row("an empty signature", edited(lambda d: signature(d).update(sig=""))),
    Row("no signature", edited(lambda d: d["dsseEnvelope"].update(signatures=[]))),
    Row("the signature twice", edited(_twice)),
    Row("another key's signature", _by_another),
    Row("another key's signature under our key's id", _by_another_under_our_name),
    Row("a key id in the envelope", edited(lambda d: signature(d).update(keyid="ci"))),
    Row("another payload type, unsigned", edited(lambda d: d["dsseEnvelope"].update(payloadType="text/plain"))),
    Row("another payload type, signed", signs(lambda _: None, kind="application/json")),
    Row("another predicate type", signs(lambda s: s.update(predicateType="urn:ebbtide:bundle:v2"))),
    Row("no predicate type", signs(lambda s: s.pop("predicateType"))),
    Row("another digest", says(digest="0" * 64)),
    Row("no subject", signs(lambda s: s.update(subject=[]))),
    Row("no digest", signs(lambda s: s["subject"][0].update(digest={}))),
    Row("a statement that is no JSON", lambda good: Altered(good.payload, enveloped(good, b"{", PAYLOAD_TYPE))),
    Row("another media type", edited(lambda d: d.update(mediaType="application/json"))),
    Row("no envelope", edited(lambda d: d.pop("dsseEnvelope"))),
    Row("an envelope and a message", edited(lambda d: d.update(messageSignature={"signature": "AAAA"}))),
    Row("a field that nobody knows", edited(lambda d: d.update(note="hello"))),
    Row("a field twice", written(lambda raw: raw.replace(b'{"dsse', b'{"mediaType":"x","dsse'))),
    Row("the last byte missing", written(lambda raw: raw[:-1])),
    Row("a byte more", written(lambda raw: raw + b"}")),
    Row("nothing at all", written(lambda _: b"")),
)

DIFFERENT = (
    Row(
        "another key id as hint",
        edited(lambda d: material(d)["publicKey"].update(hint="0" * 64)),
        cosign=True,
        why="cosign is given the key and does not read which one the bundle names; ours finds the key by it",
    ),
    Row(
        "no hint",
        edited(lambda d: material(d)["publicKey"].clear()),
        cosign=True,
        why="cosign is given the key; ours finds it by the hint",
    ),
    Row("expired", lambda good: says(expires=good.statement.not_before + 1)(good), cosign=True, why=JUDGED),
    Row("not begun", lambda good: says(not_before=good.statement.expires - 1)(good), cosign=True, why=JUDGED),
    Row("an older version", says(version=6), cosign=True, why=JUDGED),
    Row("another region", about(region="bremen"), cosign=True, why=JUDGED),
    Row("another estate", about(estate="lagoon"), cosign=True, why=JUDGED),
    Row("another workload", about(workload="other"), cosign=True, why=JUDGED),
    Row("a predicate without a version", signs(lambda s: s["predicate"].pop("version")), cosign=True, why=JUDGED),
    Row("a predicate that says more", signs(lambda s: s["predicate"].update(note="hello")), cosign=True, why=JUDGED),
    Row(
        "a second subject",
        signs(lambda s: s["subject"].append({"name": "x", "digest": {"sha256": "0" * 64}})),
        cosign=True,
        why="cosign wants one subject that fits; ours has exactly one",
    ),
    Row(
        "a second digest",
        signs(lambda s: s["subject"][0]["digest"].update(sha1="0" * 40)),
        cosign=True,
        why="cosign wants one digest that fits; ours has exactly one",
    ),
    Row(
        "another statement type",
        signs(lambda s: s.update(_type="https://in-toto.io/Statement/v9")),
        cosign=True,
        why="cosign looks at the predicate type alone",
    ),
    Row("a bit of base64 that nothing reads", edited(_unread_bit), cosign=True, why=STRICT),
    Row("base64 for addresses", edited(_for_addresses), cosign=True, why=STRICT),
    Row(
        "names with underscores",
        written(lambda raw: raw.replace(b"verificationMaterial", b"verification_material")),
        cosign=True,
        why=STRICT,
    ),
)

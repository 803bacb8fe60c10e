"""The signed envelope: a DSSE in a Sigstore bundle v0.3 with a managed Ed25519 key, around an in-toto statement.

What is signed is a statement about a payload (its digest, for whom, which version, from when to when), never the
payload itself, which travels beside it. `contracts.verify` decides with these what is believed, `repo_layout.sign`
writes them. Reads are strict: one accepted way to write each thing, so that no byte can change unnoticed. Standard
library, and PyNaCl when something is verified: nodes import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from contracts.canonical import JsonValue, canonical
from contracts.strict_json import Reader, read_json
from contracts.untrusted import Reason, Untrusted

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:ebbtide:bundle:v1"
MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
"""`protobuf-specs`, sigstore_bundle.proto; cosign 3.1 takes it with a managed key and exactly one signature."""

MAX_BUNDLE_BYTES = 64 * 1024
"""A managed bundle has 1.3 kB and a keyless one 8 kB; certificates and log entries never need more than this."""
MAX_STATEMENT_BYTES = 4 * 1024
MAX_TEXT = 200
KEY_BYTES = 32
SIGNATURE_BYTES = 64


class Kind(StrEnum):
    """What a bundle is for."""

    REGION = "region"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a payload is for; `workload` is empty for a region's."""

    estate: str
    region: str
    workload: str = ""

    @property
    def kind(self) -> Kind:
        """A region's payload, or a node's."""
        return Kind.NODE if self.workload else Kind.REGION

    def __str__(self) -> str:
        """The name in the statement."""
        return f"{self.estate}/{self.region}/" + (f"node/{self.workload}" if self.workload else "region")


@dataclass(frozen=True, slots=True)
class Statement:
    """The facts that are signed: `digest` is the payload's SHA-256 in hexadecimal, and it holds from `not_before` until
    just before `expires` (ms since the epoch).
    """

    subject: Subject
    digest: str
    commit: str
    requester: str
    version: int
    not_before: int
    expires: int


@dataclass(frozen=True, slots=True)
class Signed:
    """One bundle as read, nothing of it believed yet. `statement` is the exact bytes that the signature covers."""

    key_id: str
    statement: bytes
    signature: bytes


def pae(payload_type: str, payload: bytes) -> bytes:
    """What a DSSE signature covers: the pre-authentication encoding of DSSE protocol v1."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def write_statement(statement: Statement) -> bytes:
    """The canonical bytes of an in-toto statement v1."""
    predicate: dict[str, JsonValue] = {
        "commit": statement.commit,
        "requester": statement.requester,
        "version": statement.version,
        "notBefore": statement.not_before,
        "expires": statement.expires,
    }
    subject: dict[str, JsonValue] = {"name": str(statement.subject), "digest": {"sha256": statement.digest}}
    return canonical(
        {"_type": STATEMENT_TYPE, "subject": [subject], "predicateType": PREDICATE_TYPE, "predicate": predicate}
    )


def read_statement(raw: bytes) -> Statement:
    """The facts of a statement. Raises `Untrusted` (malformed, too large)."""
    try:
        return _statement(raw)
    except ValueError as error:
        raise malformed("this statement", error, raw, MAX_STATEMENT_BYTES) from None


def read_bundle(raw: bytes) -> Signed:
    """One Sigstore bundle with a managed key. Raises `Untrusted` (malformed, too large)."""
    try:
        return _signed(read_json(raw, limit=MAX_BUNDLE_BYTES))
    except ValueError as error:
        raise malformed("this bundle", error, raw, MAX_BUNDLE_BYTES) from None


def malformed(what: str, error: ValueError, raw: bytes, limit: int) -> Untrusted:
    """The refusal of something that could not even be read."""
    reason = Reason.TOO_LARGE if len(raw) > limit else Reason.MALFORMED
    return Untrusted(reason, f"{what} cannot be read: {error}; take the file again from where it was published")


def is_signed_by(public: bytes, signature: bytes, *, payload_type: str, payload: bytes) -> bool:
    """Whether an Ed25519 signature over the envelope fits the raw public key."""
    from nacl import bindings, exceptions  # noqa: PLC0415 - 4 MiB that only who verifies pays

    try:
        bindings.crypto_sign_open(signature + pae(payload_type, payload), public)
    except (exceptions.CryptoError, ValueError):
        return False
    return True


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal, from the library that verifies: `hashlib` would cost a node 3.4 MiB more."""
    from nacl import bindings  # noqa: PLC0415 - the same

    return bindings.crypto_hash_sha256(data).hex()


def _signed(value: JsonValue) -> Signed:
    bundle = Reader(value, "the bundle")
    bundle.exactly("mediaType", MEDIA_TYPE)
    material, envelope = bundle.object("verificationMaterial"), bundle.object("dsseEnvelope")
    bundle.done()
    if material.has("certificate"):
        raise ValueError("the bundle holds a certificate and no managed key: ebbtide verify --keyless reads it")
    if material.has("tlogEntries"):
        material.items("tlogEntries", most=0, least=0)
    key = material.object("publicKey")
    material.done()
    key_id = key.digest("hint")
    key.done()
    envelope.exactly("payloadType", PAYLOAD_TYPE)
    statement = envelope.data("payload", limit=MAX_STATEMENT_BYTES)
    (one,) = envelope.objects("signatures", most=1)
    envelope.done()
    if one.has("keyid"):
        one.exactly("keyid", "")
    signature = one.data("sig", limit=SIGNATURE_BYTES)
    one.done()
    if len(signature) != SIGNATURE_BYTES:
        raise ValueError(f"the signature has {len(signature)} bytes, an Ed25519 one {SIGNATURE_BYTES}")
    return Signed(key_id, statement, signature)


def _statement(raw: bytes) -> Statement:
    document = Reader(read_json(raw, limit=MAX_STATEMENT_BYTES), "the statement")
    document.exactly("_type", STATEMENT_TYPE)
    document.exactly("predicateType", PREDICATE_TYPE)
    (about,) = document.objects("subject", most=1)
    predicate = document.object("predicate")
    document.done()
    digest = about.object("digest")
    statement = Statement(
        subject=_subject(about.text("name", longest=4 * MAX_TEXT)),
        digest=digest.digest("sha256"),
        commit=predicate.text("commit", longest=MAX_TEXT),
        requester=predicate.text("requester", longest=MAX_TEXT),
        version=predicate.number("version", least=1),
        not_before=predicate.number("notBefore"),
        expires=predicate.number("expires"),
    )
    for one in (about, digest, predicate):
        one.done()
    if statement.expires <= statement.not_before:
        raise ValueError("the statement expires before it begins")
    return statement


def _subject(name: str) -> Subject:
    parts: Sequence[str] = name.split("/")
    if all(parts):
        if len(parts) == 3 and parts[2] == Kind.REGION:
            return Subject(parts[0], parts[1])
        if len(parts) == 4 and parts[2] == Kind.NODE:
            return Subject(parts[0], parts[1], parts[3])
    raise ValueError("the statement's subject is neither ESTATE/REGION/region nor ESTATE/REGION/node/WORKLOAD")

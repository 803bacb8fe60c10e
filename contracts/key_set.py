"""The key set: who may sign an estate's bundles, and who may say so next. The only thing that has to be trusted first.

A key set is a versioned canonical document in a DSSE envelope. It is signed by enough of its own keys, which proves
that it is whole, and by enough keys of the version before, which proves that it follows: whoever holds version N walks
to N + 1 and N + 2 from files alone, and keys rotate without a day on which all must change. A node's image carries one
version; newer ones come with the bundles. It must not know files or clocks. Light: nodes import it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from contracts.canonical import JsonValue, canonical
from contracts.dsse import KEY_BYTES, SIGNATURE_BYTES, digest_of, is_signed_by, malformed
from contracts.strict_json import Reader, read_canonical, read_json
from contracts.untrusted import Reason, Untrusted

FORMAT = 1
PAYLOAD_TYPE = "application/vnd.ebbtide.key-set+json"
MAX_KEY_SET_BYTES = 32 * 1024
MAX_KEYS = 32
"""More signers than this is a list of people, not a set of keys; a document with them all has 12 kB."""
MAX_NAME = 80


class Role(StrEnum):
    """What a key may sign."""

    BUNDLES = "bundles"
    KEYS = "keys"
    """The next key set. Kept offline where bundles are signed by a machine, so that a stolen machine ends with a
    rotation and does not make the next one itself."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One raw Ed25519 public key, valid from `not_before` until just before `expires` (ms since the epoch)."""

    public: bytes
    name: str
    roles: frozenset[Role]
    not_before: int
    expires: int

    @property
    def id(self) -> str:
        """SHA-256 of the raw key, in hexadecimal."""
        return digest_of(self.public)

    def is_valid(self, at: int) -> bool:
        """Whether an instant lies within its validity."""
        return self.not_before <= at < self.expires


@dataclass(frozen=True, slots=True)
class KeySet:
    """One version. `thresholds` says how many distinct keys have to sign; `issued` (ms) is when it was made."""

    estate: str
    version: int
    issued: int
    thresholds: Mapping[Role, int]
    keys: Mapping[str, PublicKey]

    @property
    def payload(self) -> bytes:
        """The canonical bytes that are signed."""
        return write_key_set(self)

    def able(self, role: Role) -> tuple[str, ...]:
        """The sorted ids of the keys that may sign this, whenever they are valid."""
        return tuple(sorted(name for name, key in self.keys.items() if role in key.roles))


@dataclass(frozen=True, slots=True)
class SignedKeySet:
    """One version with its signatures, nothing of it believed yet."""

    keys: KeySet
    payload: bytes
    signatures: Mapping[str, bytes]


def write_key_set(keys: KeySet) -> bytes:
    """The canonical bytes of one version. Raises `ValueError` for a set that no reader would take."""
    rows: list[JsonValue] = [
        {
            "id": name,
            "public": _base64(key.public),
            "name": key.name,
            "roles": sorted(key.roles),
            "notBefore": key.not_before,
            "expires": key.expires,
        }
        for name, key in sorted(keys.keys.items())
    ]
    document = canonical(
        {
            "format": FORMAT,
            "estate": keys.estate,
            "version": keys.version,
            "issued": keys.issued,
            "thresholds": {role.value: count for role, count in keys.thresholds.items()},
            "keys": rows,
        }
    )
    _read_payload(document)
    return document


def write_signed(payload: bytes, signatures: Mapping[str, bytes]) -> bytes:
    """The canonical envelope of one version, signatures sorted by key id."""
    rows: list[JsonValue] = [{"keyid": name, "sig": _base64(one)} for name, one in sorted(signatures.items())]
    return canonical({"payload": _base64(payload), "payloadType": PAYLOAD_TYPE, "signatures": rows})


def read_signed(raw: bytes) -> SignedKeySet:
    """One version as it lies in a file, not yet believed. Raises `Untrusted` (malformed, too large)."""
    try:
        return _read_envelope(raw)
    except ValueError as error:
        raise malformed("this key set", error, raw, MAX_KEY_SET_BYTES) from None


def anchor(raw: bytes) -> KeySet:
    """The key set to begin with, trusted because of where it lies; only that it is whole is checked.

    Raises `Untrusted` (malformed, too large, signature, unknown key, below threshold).
    """
    signed = read_signed(raw)
    _require_threshold(signed, signed.keys, "its own")
    return signed.keys


def follow(held: KeySet, documents: Iterable[bytes]) -> KeySet:
    """The newest version that grows out of the one held, through documents in any order; the held one for none.

    Raises `Untrusted`: `KEY_SET_REPLAYED` for an older version, or another one of the held version's number,
    `KEY_SET_GAP` where one between is missing, `WRONG_ESTATE`, and all that `anchor` raises.
    """
    for signed in sorted((read_signed(raw) for raw in documents), key=lambda one: one.keys.version):
        held = _next(held, signed)
    return held


def _next(held: KeySet, signed: SignedKeySet) -> KeySet:
    offered = signed.keys
    if offered.estate != held.estate:
        raise Untrusted(
            Reason.WRONG_ESTATE,
            f"this key set is of the estate {offered.estate}, and the one held of {held.estate}: take that estate's",
        )
    if offered.version == held.version and signed.payload == held.payload:
        return held
    if offered.version <= held.version:
        raise Untrusted(
            Reason.KEY_SET_REPLAYED,
            f"key set {offered.version} cannot follow key set {held.version}, which is held: take the newest one",
        )
    if offered.version != held.version + 1:
        raise Untrusted(
            Reason.KEY_SET_GAP,
            f"key set {offered.version} does not follow key set {held.version} directly:"
            f" give key set {held.version + 1} too",
        )
    if offered.issued < held.issued:
        raise Untrusted(
            Reason.KEY_SET_REPLAYED,
            f"key set {offered.version} says that it was made before key set {held.version}: rotate again",
        )
    _require_threshold(signed, held, f"version {held.version}'s")
    _require_threshold(signed, offered, "its own")
    return offered


def _require_threshold(signed: SignedKeySet, by: KeySet, whose: str) -> None:
    """Enough keys of `by` sign this version, each valid when it says that it was made."""
    counted = 0
    for key_id in by.able(Role.KEYS):
        key, signature = by.keys[key_id], signed.signatures.get(key_id)
        if signature is None or not key.is_valid(signed.keys.issued):
            continue
        if not is_signed_by(key.public, signature, payload_type=PAYLOAD_TYPE, payload=signed.payload):
            raise Untrusted(
                Reason.SIGNATURE,
                f"key set {signed.keys.version} does not fit the signature of key {key_id[:12]}: it was altered;"
                " take it again from where it was published",
            )
        counted += 1
    needed = by.thresholds[Role.KEYS]
    if counted < needed:
        raise Untrusted(
            Reason.BELOW_THRESHOLD,
            f"key set {signed.keys.version} is signed by {counted} of {whose} keys and needs {needed}:"
            " ebbtide keys sign adds a signature",
        )


def _read_envelope(raw: bytes) -> SignedKeySet:
    envelope = Reader(read_json(raw, limit=MAX_KEY_SET_BYTES), "the key set")
    envelope.exactly("payloadType", PAYLOAD_TYPE)
    payload = envelope.data("payload", limit=MAX_KEY_SET_BYTES)
    signatures = dict(_signature(one) for one in envelope.objects("signatures", most=2 * MAX_KEYS, least=0))
    envelope.done()
    if write_signed(payload, signatures) != raw:
        raise ValueError("it is not in canonical form, or a key signs twice")
    return SignedKeySet(_read_payload(payload), payload, signatures)


def _read_payload(payload: bytes) -> KeySet:
    """One version from its canonical bytes. Raises `ValueError`."""
    document = Reader(read_canonical(payload, limit=MAX_KEY_SET_BYTES), "the key set")
    document.exactly("format", FORMAT)
    limits = document.object("thresholds")
    keys = [_public_key(one) for one in document.objects("keys", most=MAX_KEYS)]
    found = KeySet(
        estate=document.text("estate", longest=MAX_NAME),
        version=document.number("version", least=1),
        issued=document.number("issued"),
        thresholds={role: limits.number(role.value, least=1) for role in Role},
        keys={key.id: key for key in keys},
    )
    document.done()
    limits.done()
    if [key.id for key in keys] != sorted(found.keys):
        raise ValueError("a key stands twice, or the keys are not sorted by id")
    for role, needed in found.thresholds.items():
        able = sum(role in key.roles for key in keys)
        if able < needed:
            raise ValueError(f"{needed} keys have to sign {role.value}, and it has {able} that may")
    return found


def _public_key(row: Reader) -> PublicKey:
    roles = [str(one) for one in row.items("roles", most=len(Role))]
    key = PublicKey(
        public=row.data("public", limit=KEY_BYTES),
        name=row.text("name", longest=MAX_NAME),
        roles=frozenset(Role(one) for one in roles),
        not_before=row.number("notBefore"),
        expires=row.number("expires"),
    )
    key_id = row.digest("id")
    row.done()
    if roles != sorted(key.roles):
        raise ValueError("a key's roles are not sorted")
    if len(key.public) != KEY_BYTES or key.id != key_id:
        raise ValueError(f"the id {key_id[:12]} is not the SHA-256 of its key's {KEY_BYTES} bytes")
    if key.expires <= key.not_before:
        raise ValueError(f"the key {key_id[:12]} expires before it begins")
    return key


def _signature(row: Reader) -> tuple[str, bytes]:
    key_id = row.digest("keyid")
    signature = row.data("sig", limit=SIGNATURE_BYTES)
    row.done()
    if len(signature) != SIGNATURE_BYTES:
        raise ValueError("a signature is not an Ed25519 one")
    return key_id, signature


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")

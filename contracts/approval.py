"""A person's consent as a signed file, for the hours in which no reviewed file can be merged.

A statement (which estate and region, which commit, whose word, from when to when) in a DSSE envelope, signed with one
Ed25519 key: the one that the directory names for that person. `ebbtide approve` writes it, the guard reads it. Pure; it
must not know files, directories or what is approved. Reads are strict: one accepted way to write each thing.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass

from contracts.canonical import JsonValue, canonical
from contracts.dsse import MAX_TEXT, SIGNATURE_BYTES, is_signed_by, malformed, pae
from contracts.strict_json import Reader, read_canonical

FORMAT = 1
PAYLOAD_TYPE = "application/vnd.ebbtide.approval+json"
MAX_APPROVAL_BYTES = 8 * 1024
"""A statement of the longest texts has 2 kB, and its envelope a third more."""
MAX_REASON = 500


@dataclass(frozen=True, slots=True)
class Approval:
    """What is signed: `approver` (an id of the directory) agrees to what `commit` desires of a region.

    It holds from `granted` until just before `expires` (ms since the epoch).
    """

    estate: str
    region: str
    commit: str
    approver: str
    reason: str
    granted: int
    expires: int


@dataclass(frozen=True, slots=True)
class SignedApproval:
    """One file as read, nothing of it believed yet."""

    approval: Approval
    payload: bytes
    signature: bytes


def write_approval(approval: Approval, sign: Callable[[bytes], bytes]) -> bytes:
    """The canonical envelope. Raises `ValueError` for what no reader would take."""
    payload = canonical(
        {
            "format": FORMAT,
            "estate": approval.estate,
            "region": approval.region,
            "commit": approval.commit,
            "approver": approval.approver,
            "reason": approval.reason,
            "granted": approval.granted,
            "expires": approval.expires,
        }
    )
    _read(payload)
    signature = b64encode(sign(pae(PAYLOAD_TYPE, payload))).decode()
    signatures: list[JsonValue] = [{"sig": signature}]
    return canonical({"payload": b64encode(payload).decode(), "payloadType": PAYLOAD_TYPE, "signatures": signatures})


def read_approval(raw: bytes) -> SignedApproval:
    """One file, not yet believed. Raises `Untrusted` (malformed, too large)."""
    try:
        envelope = Reader(read_canonical(raw, limit=MAX_APPROVAL_BYTES), "the approval")
        envelope.exactly("payloadType", PAYLOAD_TYPE)
        payload = envelope.data("payload", limit=MAX_APPROVAL_BYTES)
        (one,) = envelope.objects("signatures", most=1)
        envelope.done()
        signature = one.data("sig", limit=SIGNATURE_BYTES)
        one.done()
        return SignedApproval(_read(payload), payload, signature)
    except ValueError as error:
        raise malformed("this approval", error, raw, MAX_APPROVAL_BYTES) from None


def is_approved_by(public: bytes, signed: SignedApproval) -> bool:
    """Whether the signature fits the raw public key."""
    return is_signed_by(public, signed.signature, payload_type=PAYLOAD_TYPE, payload=signed.payload)


def _read(payload: bytes) -> Approval:
    document = Reader(read_canonical(payload, limit=MAX_APPROVAL_BYTES), "the statement")
    document.exactly("format", FORMAT)
    approval = Approval(
        estate=document.text("estate", longest=MAX_TEXT),
        region=document.text("region", longest=MAX_TEXT),
        commit=document.text("commit", longest=MAX_TEXT),
        approver=document.text("approver", longest=MAX_TEXT),
        reason=document.text("reason", longest=MAX_REASON),
        granted=document.number("granted"),
        expires=document.number("expires"),
    )
    document.done()
    if approval.expires <= approval.granted:
        raise ValueError("the approval expires before it begins")
    return approval

"""A private keyless site on paper: certificate authority, CT log, transparency log, and their trust root.

It writes what Fulcio and Rekor (version 1) write, with the formats of RFC 6962 and of the Sigstore bundle, so that the
real `sigstore` verifier takes it with no network.
"""

from __future__ import annotations

import hashlib
import json
import struct
from base64 import b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from contracts.canonical import JsonValue, canonical
from contracts.dsse import MEDIA_TYPE, PAYLOAD_TYPE, pae

IDENTITY, ISSUER = "ci@harbour.example", "https://login.harbour.example"
ORIGIN, TREE = "rekor.harbour.example", 1193050959916656506
"""A log of version 1 names its tree behind the origin; verifiers tell it from version 2 by that."""
SIGNED_AT = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)
ISSUER_V1, SCT_LIST = ObjectIdentifier("1.3.6.1.4.1.57264.1.1"), ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
DAY = timedelta(days=1)


def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def text(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def spki(private: ec.EllipticCurvePrivateKey) -> bytes:
    return private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def log_id(private: ec.EllipticCurvePrivateKey) -> bytes:
    return hashlib.sha256(spki(private)).digest()


def ecdsa(private: ec.EllipticCurvePrivateKey, data: bytes) -> bytes:
    return private.sign(data, ec.ECDSA(hashes.SHA256()))


@dataclass(frozen=True)
class Site:
    """Its keys; `trust_root` is what verifiers get, `bundle` what a signer gets."""

    authority: ec.EllipticCurvePrivateKey = field(default_factory=key)
    ct_log: ec.EllipticCurvePrivateKey = field(default_factory=key)
    log: ec.EllipticCurvePrivateKey = field(default_factory=key)

    def trust_root(self) -> bytes:
        since = {"start": "2020-01-01T00:00:00Z"}
        authority = {
            "subject": {"organization": "harbour", "commonName": "harbour root"},
            "uri": "https://fulcio.harbour.example",
            "certChain": {"certificates": [{"rawBytes": text(self._root().public_bytes(Encoding.DER))}]},
            "validFor": since,
        }
        logs = [
            {
                "baseUrl": f"https://{ORIGIN}",
                "hashAlgorithm": "SHA2_256",
                "publicKey": {"rawBytes": text(spki(one)), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": since},
                "logId": {"keyId": text(log_id(one))},
            }
            for one in (self.log, self.ct_log)
        ]
        kind = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"
        root = {"mediaType": kind, "tlogs": logs[:1], "certificateAuthorities": [authority], "ctlogs": logs[1:]}
        return json.dumps({**root, "timestampAuthorities": []}).encode()

    def bundle(self, statement: bytes, *, identity: str = IDENTITY, issuer: str = ISSUER) -> bytes:
        private = key()
        certificate = self._certificate(private, identity, issuer)
        signature = ecdsa(private, pae(PAYLOAD_TYPE, statement))
        envelope = {
            "payload": text(statement),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"sig": text(signature), "keyid": ""}],
        }
        material = {
            "certificate": {"rawBytes": text(certificate.public_bytes(Encoding.DER))},
            "tlogEntries": [self._entry(statement, signature, certificate)],
        }
        return json.dumps(
            {"mediaType": MEDIA_TYPE, "verificationMaterial": material, "dsseEnvelope": envelope}
        ).encode()

    def _root(self) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "harbour root")])
        public = self.authority.public_key()
        usage = x509.KeyUsage(*(at in (5, 6) for at in range(9)))
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(public)
            .serial_number(1)
            .not_valid_before(SIGNED_AT - 400 * DAY)
            .not_valid_after(SIGNED_AT + 400 * DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self.authority, hashes.SHA256())
        )

    def _certificate(self, private: ec.EllipticCurvePrivateKey, identity: str, issuer: str) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self._root().subject)
            .public_key(private.public_key())
            .serial_number(2)
            .not_valid_before(SIGNED_AT - timedelta(minutes=1))
            .not_valid_after(SIGNED_AT + timedelta(minutes=9))
            .add_extension(x509.SubjectAlternativeName([x509.RFC822Name(identity)]), critical=True)
            .add_extension(x509.KeyUsage(*(at == 0 for at in range(9))), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key()), critical=False
            )
            .add_extension(x509.UnrecognizedExtension(ISSUER_V1, issuer.encode()), critical=False)
        )
        before = builder.sign(self.authority, hashes.SHA256()).tbs_certificate_bytes
        listed = x509.UnrecognizedExtension(SCT_LIST, self._sct_list(before))
        return builder.add_extension(listed, critical=False).sign(self.authority, hashes.SHA256())

    def _sct_list(self, precertificate: bytes) -> bytes:
        """RFC 6962 section 3.2 and 3.3: one timestamp, in a list, in an octet string."""
        at = int(SIGNED_AT.timestamp() * 1000)
        entry = log_id(self.authority) + len(precertificate).to_bytes(3, "big") + precertificate
        signature = ecdsa(self.ct_log, struct.pack("!BBQH", 0, 0, at, 1) + entry + b"\0\0")
        timestamp = struct.pack("!B32sQHBBH", 0, log_id(self.ct_log), at, 0, 4, 3, len(signature)) + signature
        listing = struct.pack("!HH", len(timestamp) + 2, len(timestamp)) + timestamp
        return bytes([0x04, len(listing)]) + listing

    def _entry(self, statement: bytes, signature: bytes, certificate: x509.Certificate) -> dict[str, object]:
        """A `dsse` 0.0.1 entry as the only one of its log."""
        verifier = text(certificate.public_bytes(Encoding.PEM))
        spec: dict[str, JsonValue] = {
            "envelopeHash": {"algorithm": "sha256", "value": "0" * 64},
            "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(statement).hexdigest()},
            "signatures": [{"signature": text(signature), "verifier": verifier}],
        }
        body = canonical({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec})
        at, name = int(SIGNED_AT.timestamp()), log_id(self.log)
        promise = canonical({"body": text(body), "integratedTime": at, "logID": name.hex(), "logIndex": 0})
        root = hashlib.sha256(b"\0" + body).digest()
        note = f"{ORIGIN} - {TREE}\n1\n{text(root)}\n"
        signed = text(name[:4] + ecdsa(self.log, note.encode()))
        return {
            "logIndex": "0",
            "logId": {"keyId": text(name)},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(at),
            "inclusionPromise": {"signedEntryTimestamp": text(ecdsa(self.log, promise))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": text(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n\u2014 {ORIGIN} {signed}\n"},
            },
            "canonicalizedBody": text(body),
        }

"""Keys and certificates of a private keyless site, written into a folder before anything of it runs.

`tools.servers.keyless` calls it. One authority issues the certificates of signers, another the certificate of the
timestamp authority; both logs have a key. Everything ends after some days: it is for tests and trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAYS = 7
BEFORE = timedelta(hours=1)
"""How long the certificates have held already, so that no clock is behind them."""
DIGITAL_SIGNATURE, KEY_CERT_SIGN, CRL_SIGN = 0, 5, 6


@dataclass(frozen=True, slots=True)
class Papers:
    """The files of one site; each `.pem` of a key has its public one beside it."""

    folder: Path

    def key(self, name: str) -> Path:
        """A private key."""
        return self.folder / f"{name}.pem"

    def public(self, name: str) -> Path:
        """The public key."""
        return self.folder / f"{name}.pub.pem"

    def chain(self, name: str) -> Path:
        """Certificates, the root last."""
        return self.folder / f"{name}.chain.pem"

    @classmethod
    def written(cls, folder: Path) -> Papers:
        """New ones. Raises `OSError`."""
        folder.mkdir(parents=True, exist_ok=True)
        papers = cls(folder)
        authority, stamps = papers._pair("authority"), papers._pair("stamps-root")
        for name in ("certificates", "log"):
            papers._pair(name)
        stamp = papers._pair("stamps")
        root = _root("harbour signers", authority)
        papers.chain("authority").write_bytes(root.public_bytes(Encoding.PEM))
        above = _root("harbour stamps root", stamps)
        leaf = _stamping(stamp, above, stamps)
        chain = b"".join(one.public_bytes(Encoding.PEM) for one in (leaf, above))
        papers.chain("stamps").write_bytes(chain)
        return papers

    def _pair(self, name: str) -> ec.EllipticCurvePrivateKey:
        key = ec.generate_private_key(ec.SECP256R1())
        # The CT log reads no other form than this one, and the rest read it too.
        self.key(name).touch(mode=0o600)
        self.key(name).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        self.public(name).write_bytes(public)
        return key


def _named(text: str) -> x509.Name:
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "harbour"), x509.NameAttribute(NameOID.COMMON_NAME, text)]
    )


def _begun(subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(tz=UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BEFORE)
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*bits: int) -> x509.KeyUsage:
    return x509.KeyUsage(*(at in bits for at in range(9)))


def _root(name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    return (
        _begun(_named(name), _named(name), key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(KEY_CERT_SIGN, CRL_SIGN), critical=True)
        .sign(key, hashes.SHA256())
    )


def _stamping(
    key: ec.EllipticCurvePrivateKey, above: x509.Certificate, by: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    """RFC 3161 section 2.3: time stamping as the one critical purpose."""
    return (
        _begun(_named("harbour stamps"), above.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(DIGITAL_SIGNATURE), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
        .sign(by, hashes.SHA256())
    )

"""Certificates of a server that lives for one test: one authority, elliptic-curve keys, made in milliseconds."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

VALID = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Authority:
    """One authority that signs for loopback."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def new(cls) -> Authority:
        """A fresh one, valid for a day from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("loopback authority")
        builder = _builder(name, name, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        return cls(key, builder.sign(key, hashes.SHA256()))

    def file(self, folder: Path) -> Path:
        """Its certificate, written where clients read it."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "authority.crt"
        path.write_bytes(self.pem)
        return path

    @property
    def pem(self) -> bytes:
        """The certificate as clients trust it."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def certify(self, folder: Path, subject: str, *names: str) -> tuple[Path, Path]:
        """Certificate and key of a server for these addresses and names, as two files in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        key_file = key_pair(folder / f"{subject}.key")
        loaded = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)  # noqa: S101 - `key_pair` made it a line above
        builder = _builder(_name(subject), self.certificate.subject, loaded.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        signed = builder.sign(self.key, hashes.SHA256())
        certificate = folder / f"{subject}.crt"
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        return certificate, key_file


def key_pair(path: Path) -> Path:
    """A fresh private key in PEM, readable by its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(
        ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return path


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - VALID)
        .not_valid_after(now + VALID)
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)

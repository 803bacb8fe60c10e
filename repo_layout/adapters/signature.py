"""Key files: Ed25519 private keys as PKCS 8 PEM that only their owner reads, public ones beside them.

The one place that holds a private key in memory, and the one that uses `cryptography` for signing. Public files are PEM
(SubjectPublicKeyInfo), which cosign and openssl read. It must not know what is signed.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from contracts.errors import Refused
from repo_layout.sign import Signer

PRIVATE, PUBLIC = ".pem", ".pub.pem"
MAX_PEM_BYTES = 16 * 1024


def make_key(folder: Path, name: str, *, passphrase: bytes = b"") -> bytes:
    """The raw public key of a new pair in `folder`: NAME.pem with mode 0600, NAME.pub.pem. Raises `Refused` where a
    file of that name is there already: a key is never written over.
    """
    key = Ed25519PrivateKey.generate()
    protection = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    folder.mkdir(parents=True, exist_ok=True)
    private, public = folder / f"{name}{PRIVATE}", folder / f"{name}{PUBLIC}"
    for path in (private, public):
        if path.exists():
            raise Refused(f"{path} is there already, and a key is never written over: choose another name")
    _write_new(private, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection), mode=0o600)
    raw = key.public_key().public_bytes_raw()
    _write_new(public, public_pem(raw), mode=0o644)
    return raw


def signer(path: Path, *, passphrase: bytes = b"") -> Signer:
    """The signer that a private key file makes. Raises `Refused` for a file that others may read, that is no Ed25519
    key, or whose passphrase is missing or wrong.
    """
    mode = path.stat().st_mode
    if stat.S_IMODE(mode) & 0o077:
        raise Refused(f"{path} can be read by others (mode {stat.S_IMODE(mode):04o}): chmod 600 it, and rotate the key")
    try:
        key = load_pem_private_key(_read(path), passphrase or None)
    except TypeError as error:
        what = "takes a passphrase: name it" if not passphrase else "has no passphrase: leave it out"
        raise Refused(f"{path} {what} (--passphrase-file, --passphrase-env)") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        told = "cannot be opened with this passphrase" if passphrase else "is no private key in PEM"
        raise Refused(f"{path} {told}: make one with ebbtide keys new") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise Refused(f"{path} is no Ed25519 key: make one with ebbtide keys new")
    return Signer(hashlib.sha256(key.public_key().public_bytes_raw()).hexdigest(), key.sign)


def public_key(path: Path) -> bytes:
    """The raw public key of a public PEM file. Raises `Refused`."""
    try:
        key = load_pem_public_key(_read(path))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Refused(f"{path} is no public key in PEM: name the {PUBLIC} file") from error
    if not isinstance(key, Ed25519PublicKey):
        raise Refused(f"{path} is no Ed25519 key: make one with ebbtide keys new")
    return key.public_bytes_raw()


def public_pem(raw: bytes) -> bytes:
    """A raw public key as PEM."""
    return Ed25519PublicKey.from_public_bytes(raw).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_PEM_BYTES)


def _write_new(path: Path, content: bytes, *, mode: int) -> None:
    """A file that nobody else could open before its mode was set, durable when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())

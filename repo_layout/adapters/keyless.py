"""The keyless path: a bundle with a short-lived certificate and a transparency log entry, against a private trust root.

For organisations that run their own Fulcio and Rekor. The `sigstore` package verifies certificate, timestamp, log entry
and signature, offline; what the statement says is then judged exactly as with a managed key. It must not go online: the
root is a file, and nothing is ever refreshed.
"""

from __future__ import annotations

import base64
import json
import struct
import warnings
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509 import (
    AttributeNotFound,
    Certificate,
    DuplicateExtension,
    ExtensionNotFound,
    InvalidVersion,
    UnsupportedGeneralNameType,
)
from sigstore.errors import CertValidationError, VerificationError
from sigstore.errors import Error as SigstoreError
from sigstore.models import Bundle, TrustedRoot
from sigstore.verify import Verifier
from sigstore.verify.policy import Identity

from contracts.dsse import MAX_BUNDLE_BYTES, PAYLOAD_TYPE, read_statement
from contracts.errors import Refused
from contracts.untrusted import Reason, Untrusted
from contracts.values import shorten
from contracts.verify import Accepted, Expects, Late, Verified, judge
from repo_layout.keyless_bundle import Strict, strict_bundle

_CERTIFICATE = (
    AttributeNotFound, CryptographyDeprecationWarning, DuplicateExtension, ExtensionNotFound, InvalidVersion,
    UnsupportedGeneralNameType,
)  # fmt: skip
_FOREIGN = (SigstoreError, ValueError, KeyError, TypeError, struct.error, UnsupportedAlgorithm, *_CERTIFICATE)
"""What the package lets out about foreign bytes; `VerificationError` is a `SigstoreError`. What it only warns about, a
certificate against the rules, is no certificate either."""


class KeylessRoot:
    """A private trust root and the one identity that may sign."""

    def __init__(self, root: Path, *, identity: str, issuer: str) -> None:
        """Raises `Refused` for a file that is no trust root with certificate authority, log and CT log."""
        try:
            self._verifier = Verifier(trusted_root=TrustedRoot.from_file(str(root)))
            self._logs = _logs(root)
        except _FOREIGN as error:
            raise Refused(
                f"{root} is no trust root: {shorten(str(error))}; it is a Sigstore TrustedRoot JSON"
            ) from error
        self._who = _Who(identity, issuer)

    def verify(
        self, payload: bytes, bundle: bytes, *, expects: Expects, accepted: Accepted, now: int, late: Late = Late.REFUSE
    ) -> Verified:
        """What holds about a payload; its signer is the identity. Raises `Untrusted`."""
        statement = read_statement(self._signed(bundle))
        expired = judge(statement, payload, expects=expects, accepted=accepted, now=now, late=late)
        return Verified(statement, (self._who.identity,), expired)

    def _signed(self, raw: bytes) -> bytes:
        """The statement that the identity signed."""
        strict = _strict(raw)
        with warnings.catch_warnings(category=CryptographyDeprecationWarning, action="error"):
            kind, statement = self._verified(_bundle(strict))
        if strict.log not in self._logs:
            told = "the log's id was altered, which nothing else covers; take the bundle again"
            raise Untrusted(Reason.SIGNATURE, told)
        if kind != PAYLOAD_TYPE:
            raise Untrusted(
                Reason.MALFORMED, f"what was signed is {shorten(kind)}, not an in-toto statement: sign again"
            )
        return statement

    def _verified(self, bundle: Bundle) -> tuple[str, bytes]:
        try:
            return self._verifier.verify_dsse(bundle, self._who)
        except _OtherIdentityError as error:
            told = f"{self._who.identity} did not sign this: {shorten(str(error), 200)}; name who does, or sign again"
            raise Untrusted(Reason.WRONG_IDENTITY, told) from error
        except CertValidationError as error:
            told = "its certificate does not lead to this trust root: give the root of the authority that issued it"
            raise Untrusted(Reason.WRONG_ROOT, told) from error
        except _FOREIGN as error:
            told = f"it does not hold: {shorten(str(error), 200)}; it was altered, or the root names another log"
            raise Untrusted(Reason.SIGNATURE, told) from error


class _OtherIdentityError(VerificationError):
    """The certificate holds, and is somebody else's."""


class _Who:
    """`sigstore`'s policy of one identity, whose refusal can be told from all others."""

    def __init__(self, identity: str, issuer: str) -> None:
        self.identity = identity
        self._policy = Identity(identity=identity, issuer=issuer)

    def verify(self, cert: Certificate) -> None:
        """Raises `_OtherIdentityError`."""
        try:
            self._policy.verify(cert)
        except VerificationError as error:
            raise _OtherIdentityError(str(error)) from error


def _logs(root: Path) -> frozenset[bytes]:
    """The ids of a trust root's logs."""
    listed = json.loads(root.read_bytes())["tlogs"]
    return frozenset(base64.b64decode(log["logId"]["keyId"]) for log in listed)


def _strict(raw: bytes) -> Strict:
    try:
        return strict_bundle(raw)
    except ValueError as error:
        reason = Reason.TOO_LARGE if len(raw) > MAX_BUNDLE_BYTES else Reason.MALFORMED
        raise Untrusted(reason, f"this is no keyless bundle: {error}; take it again") from error


def _bundle(strict: Strict) -> Bundle:
    try:
        return Bundle.from_json(strict.content)
    except _FOREIGN as error:
        told = f"this is no keyless bundle: {shorten(str(error), 200)}; take it again"
        raise Untrusted(Reason.MALFORMED, told) from error

"""Why something signed is not believed: one reason for each way to be wrong, and a sentence that says what to do.

The verifier, the key sets and the keyless path raise `Untrusted`; reconciler and agent act on its reason and show its
sentence. It must not know where bytes came from. Standard library only: nodes import it.
"""

from __future__ import annotations

from enum import StrEnum

from contracts.errors import Refused


class Reason(StrEnum):
    """Each is a condition of its own; `docs/trust.md` explains them."""

    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    DIGEST = "digest"
    """The payload is not the one that was signed."""
    SIGNATURE = "signature"
    """A signature of a known key does not fit: something was altered."""
    UNKNOWN_KEY = "unknown_key"
    KEY_NOT_VALID = "key_not_valid"
    """The key is known, and this is outside its own validity, or not what it may sign."""
    BELOW_THRESHOLD = "below_threshold"
    WRONG_ESTATE = "wrong_estate"
    WRONG_REGION = "wrong_region"
    WRONG_SUBJECT = "wrong_subject"
    """A region's bundle where a node's is asked for, the reverse, or another workload's."""
    NOT_YET_VALID = "not_yet_valid"
    EXPIRED = "expired"
    REPLAYED = "replayed"
    """Older than what was accepted before."""
    SAME_VERSION_DIFFERS = "same_version_differs"
    """Two payloads carry one version: one of them is not ours, or two runs signed at once."""
    KEY_SET_REPLAYED = "key_set_replayed"
    """A key set older than the one accepted, or another one with the same version."""
    KEY_SET_GAP = "key_set_gap"
    """A key set between the one held and the one offered is missing."""
    WRONG_IDENTITY = "wrong_identity"
    """Keyless: the certificate was issued to somebody else, or by another issuer."""
    WRONG_ROOT = "wrong_root"
    """Keyless: certificate or log do not lead to the trust root given."""


class Untrusted(Refused):
    """Not believed, for one reason; the message is one sentence and says what to do."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason

"""A small OpenID Connect issuer on loopback: it says who somebody is, and publishes the key that it says so with.

A certificate authority of signers asks it for its keys; tests ask it for tokens. It asks nobody for a password.
"""

from __future__ import annotations

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE = "sigstore"
"""The client that cosign is."""
LIFETIME_S = 600
KEY_NAME = "one"


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


@dataclass(frozen=True)
class Issuer:
    """Its address, and the key that signs its tokens."""

    url: str
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65_537, 2048))

    def token(self, email: str, *, audience: str = AUDIENCE, ended: bool = False) -> str:
        """A signed word that whoever shows this is `email` (RFC 7519, RS256); `ended` makes one of yesterday."""
        now = int(time.time()) - (86_400 if ended else 0)
        claims = {
            "iss": self.url, "aud": audience, "sub": email, "email": email, "email_verified": True,
            "iat": now, "nbf": now, "exp": now + LIFETIME_S,
        }  # fmt: skip
        head = {"alg": "RS256", "typ": "JWT", "kid": KEY_NAME}
        signed = ".".join(_text(json.dumps(part).encode()) for part in (head, claims))
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_text(signature)}"

    def documents(self) -> dict[str, object]:
        """What it serves, by path (OpenID Connect Discovery 1.0)."""
        numbers = self.key.public_key().public_numbers()
        modulus, exponent = (_text(n.to_bytes((n.bit_length() + 7) // 8)) for n in (numbers.n, numbers.e))
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": KEY_NAME, "n": modulus, "e": exponent}
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.url, "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/none", "token_endpoint": f"{self.url}/none",
                "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            },
            "/keys": {"keys": [key]},
        }  # fmt: skip


@contextmanager
def issuer() -> Generator[Issuer]:
    """One that answers until the context ends."""

    class Answers(BaseHTTPRequestHandler):
        """Serves the documents of the one issuer."""

        def do_GET(self) -> None:
            document = made.documents().get(self.path)
            body = json.dumps(document or {}).encode()
            self.send_response(200 if document else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: its callers have logs."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        made = Issuer(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()

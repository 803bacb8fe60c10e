"""cosign as somebody else runs it: the pinned binary, an empty home, and its word about files."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from contracts.dsse import PREDICATE_TYPE
from tests.cli.conftest import ROOT

COSIGN = ROOT / ".tools" / "bin" / "cosign"
LONGEST_S = 120


@dataclass(frozen=True)
class Word:
    """Whether it holds, and what cosign wrote."""

    holds: bool
    said: str


@dataclass(frozen=True)
class Cosign:
    """Runs in `home`, with nothing of ours in its environment."""

    home: Path

    def by_key(self, payload: Path, bundle: Path, key: Path, *, kind: str = PREDICATE_TYPE) -> Word:
        """Verify with a public key; a managed key's bundle is in no log."""
        return self._verified(payload, bundle, kind, "--key", str(key), "--insecure-ignore-tlog=true")

    def by_root(self, payload: Path, bundle: Path, root: Path, *who: str, kind: str = PREDICATE_TYPE) -> Word:
        """Verify a keyless bundle against a private trust root; `who` is identity and issuer, then more options."""
        identity, issuer, *more = who
        named = ("--certificate-identity", identity, "--certificate-oidc-issuer", issuer, *more)
        return self._verified(payload, bundle, kind, "--trusted-root", str(root), *named)

    def run(self, *words: str, environment: Mapping[str, str] | None = None) -> Word:
        """Any command."""
        assert COSIGN.exists(), "make test-interop builds cosign"
        done = subprocess.run(
            [COSIGN, *words], cwd=self.home, check=False, capture_output=True, text=True, timeout=LONGEST_S,
            env={"HOME": str(self.home), "PATH": "", **(environment or {})},
        )  # fmt: skip
        return Word(done.returncode == 0, done.stdout + done.stderr)

    def _verified(self, payload: Path, bundle: Path, kind: str, *how: str) -> Word:
        return self.run("verify-blob-attestation", *how, "--bundle", str(bundle), "--type", kind, str(payload))

"""cosign, which shares no code with ours, on the same files: managed keys, and the private keyless site."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from contracts.dsse import write_statement
from repo_layout.adapters.signature import make_key, public_pem, signer
from repo_layout.sign import sigstore_bundle
from tests.cli.conftest import ROOT
from tests.trust.keyless_site import IDENTITY, ISSUER, Site
from tests.trust.signers import PAYLOAD, bundles, private, statement

COSIGN = ROOT / ".tools" / "bin" / "cosign"
TYPE = "urn:ebbtide:bundle:v1"
pytestmark = pytest.mark.interop


@dataclass(frozen=True)
class Desk:
    """A folder with files, and cosign's word about them."""

    folder: Path

    def lay(self, **files: bytes) -> None:
        for name, content in files.items():
            (self.folder / name).write_bytes(content)

    def holds(self, *words: str, payload: str = "payload", bundle: str = "bundle") -> tuple[bool, str]:
        done = subprocess.run(
            [str(COSIGN), "verify-blob-attestation", *words, "--bundle", bundle, "--type", TYPE, payload],
            cwd=self.folder, check=False, capture_output=True, text=True, timeout=60,
            env={"HOME": str(self.folder), "PATH": ""},
        )  # fmt: skip
        return done.returncode == 0, done.stderr

    def holds_by_key(self, key: str = "key", **files: str) -> tuple[bool, str]:
        return self.holds("--key", key, "--insecure-ignore-tlog=true", **files)

    def holds_by_root(self, root: str = "root", identity: str = IDENTITY, issuer: str = ISSUER, **files: str) -> bool:
        who = ("--certificate-identity", identity, "--certificate-oidc-issuer", issuer)
        return self.holds("--trusted-root", root, *who, **files)[0]


@pytest.fixture(name="desk")
def _desk(tmp_path: Path) -> Desk:
    assert COSIGN.exists(), "make test-interop builds it"
    desk = Desk(tmp_path)
    desk.lay(payload=PAYLOAD, bundle=bundles(statement(), "ci")[0], altered=PAYLOAD + b" ")
    desk.lay(key=public_pem(bytes(private("ci").verify_key)), other=public_pem(bytes(private("eve").verify_key)))
    return desk


def test_cosign_takes_a_bundle_with_a_managed_key(desk: Desk) -> None:
    assert desk.holds_by_key()[0]
    assert not desk.holds_by_key(payload="altered")[0]
    assert not desk.holds_by_key(key="other")[0]


def test_cosign_takes_what_key_files_of_ours_sign(desk: Desk) -> None:
    make_key(desk.folder, "mine")
    signed = sigstore_bundle(statement(workload="render"), signer(desk.folder / "mine.pem"))
    desk.lay(node=signed)
    assert desk.holds_by_key(key="mine.pub.pem", bundle="node")[0]


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.95])
def test_cosign_refuses_an_altered_bundle_as_we_do(desk: Desk, share: float) -> None:
    raw = bytearray((desk.folder / "bundle").read_bytes())
    at = int(len(raw) * share)
    raw[at] = ord("A") if raw[at] != ord("A") else ord("B")
    desk.lay(bundle=bytes(raw))
    held, _ = desk.holds_by_key()
    hint = raw.index(b'"hint"')
    assert held is (hint <= at)  # cosign is given the key and does not read its id


def test_cosign_takes_a_keyless_bundle_of_a_private_site_and_no_other(desk: Desk) -> None:
    site = Site()
    desk.lay(root=site.trust_root(), elsewhere=Site().trust_root())
    desk.lay(bundle=site.bundle(write_statement(statement())))
    assert desk.holds_by_root()
    assert not desk.holds_by_root(payload="altered")
    assert not desk.holds_by_root(root="elsewhere")
    assert not desk.holds_by_root(identity="eve@harbour.example")
    assert not desk.holds_by_root(issuer="https://elsewhere.example")

"""The keyless site on paper, whose log is of version 1: cosign takes what the quick tests hold our reader to."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.dsse import write_statement
from tests.interop.cosign import Cosign
from tests.trust.keyless_site import IDENTITY, ISSUER, Site
from tests.trust.signers import PAYLOAD, statement

pytestmark = pytest.mark.interop


def test_cosign_takes_a_bundle_of_the_site_on_paper_and_no_other(tmp_path: Path) -> None:
    site, cosign = Site(), Cosign(tmp_path)
    payload, bundle, root, elsewhere = (tmp_path / name for name in ("payload", "bundle", "root", "elsewhere"))
    payload.write_bytes(PAYLOAD)
    bundle.write_bytes(site.bundle(write_statement(statement())))
    root.write_bytes(site.trust_root())
    elsewhere.write_bytes(Site().trust_root())
    word = cosign.by_root(payload, bundle, root, IDENTITY, ISSUER)
    assert word.holds, word.said
    assert not cosign.by_root(payload, bundle, elsewhere, IDENTITY, ISSUER).holds
    assert not cosign.by_root(payload, bundle, root, "eve@harbour.example", ISSUER).holds
    assert not cosign.by_root(payload, bundle, root, IDENTITY, "https://elsewhere.example").holds
    payload.write_bytes(PAYLOAD + b" ")
    assert not cosign.by_root(payload, bundle, root, IDENTITY, ISSUER).holds

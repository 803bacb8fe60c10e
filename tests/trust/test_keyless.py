"""The keyless path against a private site: the real `sigstore` verifier, no network, one reason for each refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contracts.dsse import Kind, write_statement
from contracts.errors import Refused
from contracts.untrusted import Reason, Untrusted
from contracts.verify import NOTHING, Accepted, Expects
from repo_layout.adapters.keyless import KeylessRoot
from tests.trust.keyless_site import IDENTITY, ISSUER, Site
from tests.trust.signers import DAY_MS, ESTATE, NOW, PAYLOAD, REGION, T0, statement

EXPECTS = Expects(ESTATE, REGION, Kind.REGION)


@pytest.fixture(name="site", scope="module")
def _site() -> Site:
    return Site()


@pytest.fixture(name="root", scope="module")
def _root(site: Site, tmp_path_factory: pytest.TempPathFactory) -> KeylessRoot:
    path = tmp_path_factory.mktemp("keyless") / "root.json"
    path.write_bytes(site.trust_root())
    return KeylessRoot(path, identity=IDENTITY, issuer=ISSUER)


def why(root: KeylessRoot, bundle: bytes, *, payload: bytes = PAYLOAD, accepted: Accepted = NOTHING) -> Reason:
    with pytest.raises(Untrusted) as refused:
        root.verify(payload, bundle, expects=EXPECTS, accepted=accepted, now=NOW)
    return refused.value.reason


def test_a_bundle_of_the_identity_holds_offline(site: Site, root: KeylessRoot) -> None:
    found = root.verify(PAYLOAD, site.bundle(write_statement(statement())), expects=EXPECTS, accepted=NOTHING, now=NOW)
    assert (found.statement, found.signers, found.expired) == (statement(), (IDENTITY,), False)


@pytest.mark.parametrize("who", [{"identity": "eve@harbour.example"}, {"issuer": "https://elsewhere.example"}])
def test_another_identity_or_issuer_is_refused(site: Site, root: KeylessRoot, who: dict[str, str]) -> None:
    assert why(root, site.bundle(write_statement(statement()), **who)) is Reason.WRONG_IDENTITY


def test_another_sites_bundle_does_not_lead_to_this_root(root: KeylessRoot) -> None:
    assert why(root, Site().bundle(write_statement(statement()))) is Reason.WRONG_ROOT


def test_another_log_under_the_same_authority_is_refused(site: Site, root: KeylessRoot) -> None:
    other = Site(authority=site.authority, ct_log=site.ct_log)
    assert why(root, other.bundle(write_statement(statement()))) is Reason.SIGNATURE


def _flip(at: str) -> str:
    return ("B" if at[0] != "B" else "C") + at[1:]


ALTERED: dict[str, Callable[[Any], None]] = {
    "signature": lambda b: b["dsseEnvelope"]["signatures"][0].update(sig="MEUCIQDw"),
    "statement": lambda b: b["dsseEnvelope"].update(payload=_flip(b["dsseEnvelope"]["payload"])),
    "log body": lambda b: b["verificationMaterial"]["tlogEntries"][0].update(canonicalizedBody="e30="),
    "log time": lambda b: b["verificationMaterial"]["tlogEntries"][0].update(integratedTime="1790856001"),
    "log index": lambda b: b["verificationMaterial"]["tlogEntries"][0].update(logIndex="1"),
}


@pytest.mark.parametrize("part", ALTERED)
def test_what_was_altered_is_refused(site: Site, root: KeylessRoot, part: str) -> None:
    bundle = json.loads(site.bundle(write_statement(statement())))
    ALTERED[part](bundle)
    assert why(root, json.dumps(bundle).encode()) is Reason.SIGNATURE


def test_what_the_statement_says_is_judged_as_with_a_key(site: Site, root: KeylessRoot) -> None:
    whole = site.bundle(write_statement(statement()))
    assert why(root, whole, payload=PAYLOAD + b" ") is Reason.DIGEST
    assert why(root, whole, accepted=Accepted({f"{ESTATE}/{REGION}/region": (8, "0" * 64)})) is Reason.REPLAYED
    assert why(root, site.bundle(write_statement(statement(ends=T0 + DAY_MS)))) is Reason.EXPIRED
    assert why(root, site.bundle(write_statement(statement(region="bremen")))) is Reason.WRONG_REGION


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"\xff", b"{" * 100, b'{"a":1,"a":2}'])
def test_what_is_no_bundle_is_refused_as_malformed(root: KeylessRoot, raw: bytes) -> None:
    assert why(root, raw) is Reason.MALFORMED


def test_what_is_no_trust_root_is_refused(tmp_path: Path) -> None:
    for content in ("", "{}", "[]", '{"mediaType": "x", "tlogs": []}'):
        (tmp_path / "root.json").write_text(content, encoding="utf-8")
        with pytest.raises(Refused, match="is no trust root"):
            KeylessRoot(tmp_path / "root.json", identity=IDENTITY, issuer=ISSUER)

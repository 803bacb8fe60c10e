"""The keyless path through a real private site, offline: cosign signs our statements, and both verifiers judge them."""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import ROOT, Run, here
from tests.interop.altered_keyless import KEYLESS, Row
from tests.interop.compiled import PAYLOADS
from tests.interop.cosign import COSIGN
from tests.interop.keyless_desk import IDENTITY, Desk
from tests.offline import CUT_OFF, OFFLINE, needs_namespace
from tools.servers.keyless import SINCE, site
from tools.servers.keyless_papers import Papers

__all__ = ["here"]
pytestmark = pytest.mark.interop
EVE = "eve@harbour.example"


@pytest.fixture(name="desk", scope="module")
def _desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A site whose log is empty, and a folder all of whose payloads are signed keyless, the region's first."""
    work = tmp_path_factory.mktemp("work")
    with site(work / "site") as running:
        desk = Desk.at(running, work)
        for name in PAYLOADS:
            word = desk.attest(name, desk.bundle(name))
            assert word.holds, word.said
        yield desk


@pytest.fixture(name="pair", scope="module")
def _pair(desk: Desk) -> tuple[Path, Path]:
    """Two more bundles of the region's payload, by the same signer."""
    pair = desk.work / "one", desk.work / "other"
    for bundle in pair:
        assert desk.attest("region", bundle).holds
    return pair


def test_what_cosign_signs_without_a_key_holds_for_cosign_and_for_our_command(desk: Desk, here: Run) -> None:
    for name in PAYLOADS:
        assert desk.cosign_says(desk.bundle(name), payload=desk.payload(name)).holds
    who = ("--identity", IDENTITY, "--issuer", desk.site.issuer.url)
    ended = here("verify", str(desk.folder), "--keyless", "--trust", str(desk.site.trusted_root), *who)
    assert ended.code == 0, ended.out
    assert "3 payloads of 3 hold" in ended.out


def test_the_first_entry_of_a_log_holds_although_its_zeros_are_left_out(desk: Desk) -> None:
    first = json.loads(desk.bundle("region").read_bytes())["verificationMaterial"]["tlogEntries"][0]
    assert "logIndex" not in first
    assert desk.we_say(desk.bundle("region")) == "holds"


def test_what_is_signed_is_byte_for_byte_the_statement_that_our_command_wrote(desk: Desk) -> None:
    envelope = json.loads(desk.bundle("region").read_bytes())["dsseEnvelope"]
    assert b64decode(envelope["payload"]) == desk.statement("region").read_bytes()


@pytest.mark.parametrize(("identity", "issuer"), [(EVE, None), (IDENTITY, "http://127.0.0.1:1")])
def test_another_identity_or_issuer_is_refused_by_both(desk: Desk, identity: str, issuer: str | None) -> None:
    bundle = desk.bundle("region")
    assert desk.we_say(bundle, identity=identity, issuer=issuer) == "wrong_identity"
    assert "no matching CertificateIdentity" in desk.cosign_says(bundle, identity=identity, issuer=issuer).said


def test_what_somebody_else_of_the_same_house_signs_holds_as_theirs_alone(desk: Desk) -> None:
    bundle = desk.work / "eve"
    assert desk.attest("region", bundle, token=desk.site.issuer.token(EVE)).holds
    assert desk.we_say(bundle) == "wrong_identity"
    assert not desk.cosign_says(bundle).holds
    assert desk.we_say(bundle, identity=EVE) == "holds"
    assert desk.cosign_says(bundle, identity=EVE).holds


def test_who_shows_no_token_of_today_for_this_site_gets_no_certificate(desk: Desk) -> None:
    issuer = desk.site.issuer
    for token in (issuer.token(IDENTITY, ended=True), issuer.token(IDENTITY, audience="elsewhere")):
        word = desk.attest("region", desk.work / "none", token=token)
        assert "processing the identity token" in word.said
        assert not (desk.work / "none").exists()


@pytest.mark.parametrize("row", KEYLESS, ids=lambda row: row.name)
def test_both_verifiers_say_what_the_table_says(desk: Desk, pair: tuple[Path, Path], row: Row) -> None:
    other = json.loads(pair[1].read_bytes())
    altered = desk.edited(pair[0], lambda one: row.edit(one, other))
    word = desk.cosign_says(altered)
    assert word.holds is row.cosign, word.said
    assert desk.we_say(altered) in row.ours.split(" or ")


def test_the_table_has_a_reason_where_cosign_takes_more_and_never_takes_less() -> None:
    for row in KEYLESS:
        assert bool(row.why) is (row.cosign and row.ours != "holds"), row.name
        assert row.cosign or row.ours != "holds", row.name


def test_another_payload_is_refused_by_both(desk: Desk) -> None:
    other, bundle = desk.payload("nodes/forecast"), desk.bundle("region")
    assert desk.we_say(bundle, payload=other) == "digest"
    assert not desk.cosign_says(bundle, payload=other).holds


ELSEWHERE = {
    "authority": ("certificateAuthorities", "wrong_root"),
    "CT log": ("ctlogs", "signature"),
    "timestamp authority": ("timestampAuthorities", "signature"),
    "log": ("tlogs", "signature"),
}


@pytest.mark.parametrize("part", ELSEWHERE)
def test_a_root_with_one_part_of_another_site_is_refused_by_both(desk: Desk, part: str) -> None:
    name, reason = ELSEWHERE[part]
    papers, root = Papers.written(desk.work / "elsewhere"), desk.work / "elsewhere.json"
    words = {
        "authority": f"--fulcio=url=http://a,certificate-chain={papers.chain('authority')}",
        "CT log": f"--ctfe=url=http://b,public-key={papers.public('certificates')}",
        "timestamp authority": f"--tsa=url=http://c,certificate-chain={papers.chain('stamps')}",
        "log": f"--rekor=url=http://127.0.0.1,public-key={papers.public('log')},origin=127.0.0.1",
    }
    word = desk.cosign.run("trusted-root", "create", f"{words[part]},start-time={SINCE}", "--out", str(root))
    assert word.holds, word.said
    there = json.loads(root.read_bytes())[name]
    mixed = desk.edited(desk.site.trusted_root, lambda whole: whole.update({name: there}))
    assert desk.we_say(desk.bundle("region"), root=mixed) == reason
    assert not desk.cosign_says(desk.bundle("region"), root=mixed).holds


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 12_000), bit=st.integers(0, 7))
def test_no_flipped_bit_outside_of_a_timestamp_changes_unnoticed(
    desk: Desk, pair: tuple[Path, Path], at: int, bit: int
) -> None:
    whole = pair[0].read_bytes()
    stamp = json.loads(whole)["verificationMaterial"]["timestampVerificationData"]["rfc3161Timestamps"][0]
    begin, place = whole.index(stamp["signedTimestamp"].encode()), at % len(whole)
    raw, flipped = bytearray(whole), desk.work / "flipped"
    raw[place] ^= 1 << bit
    flipped.write_bytes(bytes(raw))
    assert desk.we_say(flipped) != "holds" or begin <= place < begin + len(stamp["signedTimestamp"])


@pytest.mark.parametrize("ebbtide", OFFLINE)
def test_we_verify_with_the_network_off(desk: Desk, ebbtide: tuple[str, ...]) -> None:
    words = ["verify", str(desk.bundle("region")), "--keyless", "--trust", str(desk.site.trusted_root)]
    who = ["--identity", IDENTITY, "--issuer", desk.site.issuer.url]
    done = subprocess.run([*ebbtide, *words, *who], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_namespace
def test_cosign_verifies_with_the_network_off(desk: Desk) -> None:
    command = [
        *CUT_OFF, str(COSIGN), "verify-blob-attestation", "--trusted-root", str(desk.site.trusted_root),
        "--certificate-identity", IDENTITY, "--certificate-oidc-issuer", desk.site.issuer.url,
        "--type", "urn:ebbtide:bundle:v1", "--bundle", str(desk.bundle("region")), str(desk.payload("region")),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

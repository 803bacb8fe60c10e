"""cosign, which shares no code with ours, on what `ebbtide compile` and `sign` wrote: the same bundles and verdicts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.dsse import Kind, read_bundle, read_statement
from contracts.key_set import KeySet, Role, anchor
from contracts.untrusted import Untrusted
from contracts.verify import NOTHING, Accepted, Expects, verify
from repo_layout.adapters.signature import signer
from tests.interop.altered import DIFFERENT, REFUSED, WHOLE, Altered, Good, Row, meaning
from tests.interop.compiled import ESTATE, PAYLOADS, REGION, compiled, ran
from tests.interop.cosign import Cosign, Word

pytestmark = pytest.mark.interop
VERSION = 7


@dataclass(frozen=True)
class Signed:
    """A compiled folder of the minimal estate, signed by `ci` and then by `ann`; `eve` has keys too."""

    folder: Path
    keys: Path
    cosign: Cosign

    def payload(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def bundle(self, name: str, key: str = "ci") -> Path:
        return self.folder / f"{name}.{signer(self.keys / f'{key}.pem').key_id[:12]}.sigstore.json"

    def said(self, name: str, *, bundle: str = "ci", key: str = "ci", kind: str | None = None) -> Word:
        """What cosign says about the files as they lie there."""
        files = (self.payload(name), self.bundle(name, bundle), self.keys / f"{key}.pub.pem")
        return self.cosign.by_key(*files) if kind is None else self.cosign.by_key(*files, kind=kind)

    def good(self, name: str) -> Good:
        raw = self.bundle(name).read_bytes()
        statement = read_statement(read_bundle(raw).statement)
        ci, eve = (signer(self.keys / f"{key}.pem") for key in ("ci", "eve"))
        return Good(self.payload(name).read_bytes(), statement, raw, ci, eve)

    def cosign_holds(self, one: Altered) -> Word:
        payload, bundle = self.cosign.home / "payload", self.cosign.home / "bundle"
        payload.write_bytes(one.payload)
        bundle.write_bytes(one.bundle)
        return self.cosign.by_key(payload, bundle, self.keys / "ci.pub.pem")

    def we_hold(self, one: Altered, good: Good) -> bool:
        statement, workload = good.statement, good.statement.subject.workload
        expects = Expects(ESTATE, REGION, Kind.NODE if workload else Kind.REGION, workload or None)
        before = Accepted({str(statement.subject): (VERSION, statement.digest)})
        now = (statement.not_before + statement.expires) // 2
        try:
            verify(one.payload, [one.bundle], keys=self.trusted, expects=expects, accepted=before, now=now)
        except Untrusted:
            return False
        return True

    @functools.cached_property
    def trusted(self) -> KeySet:
        return anchor((self.keys / "keys.1.json").read_bytes())


@pytest.fixture(name="signed", scope="module")
def _signed(tmp_path_factory: pytest.TempPathFactory) -> Signed:
    work = tmp_path_factory.mktemp("work")
    made = Signed(compiled(work), work / "keys", Cosign(tmp_path_factory.mktemp("elsewhere")))
    ran("keys", "new", made.keys, "--estate", ESTATE, "--key", "ci", "--key", "ann")
    ran("keys", "pair", made.keys, "eve")
    ran("sign", made.folder, "--key", made.keys / "ci.pem", "--version", str(VERSION), "--requester", "ann@forge")
    ran("sign", made.folder, "--key", made.keys / "ann.pem", "--join")
    return made


@pytest.mark.parametrize("name", PAYLOADS)
def test_cosign_takes_what_ebbtide_signed_with_the_public_key_that_ebbtide_wrote(signed: Signed, name: str) -> None:
    for key in ("ci", "ann"):
        word = signed.said(name, bundle=key, key=key)
        assert word.holds, word.said
        assert "Verified OK" in word.said


def test_a_threshold_is_ours_to_count(signed: Signed) -> None:
    good = signed.good("region")
    both = replace(signed.trusted, thresholds={**signed.trusted.thresholds, Role.BUNDLES: 2})
    bundles = [signed.bundle("region", key).read_bytes() for key in ("ci", "ann")]
    expects, now = Expects(ESTATE, REGION, Kind.REGION), (good.statement.not_before + good.statement.expires) // 2
    with pytest.raises(Untrusted, match="2 have to sign the same statement"):
        verify(good.payload, bundles[:1], keys=both, expects=expects, accepted=NOTHING, now=now)
    assert len(verify(good.payload, bundles, keys=both, expects=expects, accepted=NOTHING, now=now).signers) == 2
    assert all(signed.said("region", bundle=key, key=key).holds for key in ("ci", "ann"))


def test_our_command_takes_the_same_folder(signed: Signed) -> None:
    ran("verify", signed.folder, "--trust", signed.keys / "keys.1.json")


@pytest.mark.parametrize(("bundle", "key"), [("ci", "ann"), ("ann", "ci"), ("ci", "eve")])
def test_cosign_takes_each_signers_bundle_by_that_signers_key_alone(signed: Signed, bundle: str, key: str) -> None:
    assert not signed.said("region", bundle=bundle, key=key).holds


def test_cosign_refuses_another_predicate_type(signed: Signed) -> None:
    word = signed.said("region", kind="urn:ebbtide:bundle:v2")
    assert not word.holds
    assert "predicate type" in word.said.lower().replace("predicatetype", "predicate type")


@pytest.mark.parametrize("name", PAYLOADS[1:])
def test_cosign_refuses_another_payload_beside_a_good_bundle(signed: Signed, name: str) -> None:
    word = signed.cosign.by_key(signed.payload("region"), signed.bundle(name), signed.keys / "ci.pub.pem")
    assert not word.holds
    assert "digest" in word.said


@pytest.mark.parametrize("name", ["region", "nodes/forecast"])
@pytest.mark.parametrize("row", WHOLE + REFUSED + DIFFERENT, ids=lambda row: row.name)
def test_both_verifiers_say_what_the_table_says(signed: Signed, row: Row, name: str) -> None:
    good = signed.good(name)
    one = row.alter(good)
    word = signed.cosign_holds(one)
    assert (signed.we_hold(one, good), word.holds) == (row.ours, row.cosign), word.said


def test_the_table_gives_a_reason_exactly_where_cosign_takes_more_and_never_takes_less() -> None:
    for row in WHOLE + REFUSED + DIFFERENT:
        assert bool(row.why) is (row.cosign and not row.ours), row.name
        assert row.cosign or not row.ours, row.name


def _twisted(raw: bytes) -> Callable[[int, int], bytes]:
    def twist(at: int, bit: int) -> bytes:
        altered = bytearray(raw)
        altered[at % len(raw)] ^= 1 << bit
        return bytes(altered)

    return twist


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_no_flipped_bit_is_taken_by_us_and_by_cosign_only_what_means_the_same(
    signed: Signed, at: int, bit: int
) -> None:
    good = signed.good("region")
    one = Altered(good.payload, _twisted(good.bundle)(at, bit))
    assert not signed.we_hold(one, good)
    word = signed.cosign_holds(one)
    assert word.holds is (meaning(one.bundle) == meaning(good.bundle)), (one.bundle, word.said)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 100_000), bit=st.integers(0, 7))
def test_a_flipped_bit_of_the_payload_is_refused_by_both(signed: Signed, at: int, bit: int) -> None:
    good = signed.good("region")
    one = Altered(_twisted(good.payload)(at, bit), good.bundle)
    assert not signed.we_hold(one, good)
    assert not signed.cosign_holds(one).holds

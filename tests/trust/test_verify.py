"""What the verifier believes, and the one reason it gives for each thing that it does not."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace

import pytest

from contracts.bundle import MAX_NODE_BUNDLE, write_node_bundle
from contracts.canonical import canonical
from contracts.dsse import Kind, Statement, pae, read_bundle, read_statement, write_statement
from contracts.key_set import KeySet, Role
from contracts.strict_json import MAX_DEPTH, read_json
from contracts.untrusted import Reason, Untrusted
from contracts.verify import NOTHING, Accepted, Expects, Late, Uncounted, Verified, verify, verify_node
from tests.cli.conftest import ROOT
from tests.trust.signers import (
    DAY_MS,
    ESTATE,
    NOW,
    PAYLOAD,
    REGION,
    T0,
    WORKLOAD,
    bundles,
    key_id,
    key_set,
    public,
    signed_set,
    statement,
)

ONE = key_set(public("ci"))
TWO_OF_THREE = key_set(public("ci"), public("ann"), public("bo"), bundles=2)
EXPECTS = Expects(ESTATE, REGION, Kind.REGION)
SUBJECT = f"{ESTATE}/{REGION}/region"


def check(
    signed: Sequence[bytes],
    *,
    payload: bytes = PAYLOAD,
    keys: KeySet = ONE,
    expects: Expects = EXPECTS,
    accepted: Accepted = NOTHING,
    now: int = NOW,
    late: Late = Late.REFUSE,
) -> Verified:
    return verify(payload, signed, keys=keys, expects=expects, accepted=accepted, now=now, late=late)


def test_what_one_known_key_signed_holds() -> None:
    assert check(bundles(statement(), "ci")) == Verified(statement(), (key_id("ci"),), expired=False)


CASES: dict[str, tuple[Statement, Reason]] = {
    "another estate": (statement(estate="elsewhere"), Reason.WRONG_ESTATE),
    "another region": (statement(region="bremen"), Reason.WRONG_REGION),
    "a node's": (statement(workload=WORKLOAD), Reason.WRONG_SUBJECT),
    "another payload": (statement(PAYLOAD + b" "), Reason.DIGEST),
    "tomorrow's": (statement(begins=NOW + 1), Reason.NOT_YET_VALID),
    "yesterday's": (statement(ends=NOW), Reason.EXPIRED),
}


@pytest.mark.parametrize("name", CASES)
def test_each_thing_that_is_wrong_has_its_own_reason(name: str) -> None:
    said, reason = CASES[name]
    with pytest.raises(Untrusted) as refused:
        check(bundles(said, "ci"))
    assert refused.value.reason is reason
    assert ":" in str(refused.value)  # what to do stands behind it


def why(signed: Sequence[bytes], **changed: object) -> Reason:
    with pytest.raises(Untrusted) as refused:
        check(signed, **changed)  # type: ignore[arg-type]  # each test names what it changes
    return refused.value.reason


def test_a_bundle_holds_from_its_first_millisecond_to_its_last() -> None:
    said = bundles(statement(begins=T0 + 10, ends=T0 + 20), "ci")
    assert why(said, now=T0 + 9) is Reason.NOT_YET_VALID
    assert check(said, now=T0 + 10).expired is check(said, now=T0 + 19).expired is False
    assert why(said, now=T0 + 20) is Reason.EXPIRED


def test_the_caller_decides_whether_an_expired_bundle_is_taken_and_said() -> None:
    said = bundles(statement(ends=NOW), "ci")
    assert check(said, late=Late.SAY).expired
    assert why(bundles(statement(begins=NOW + 1), "ci"), late=Late.SAY) is Reason.NOT_YET_VALID


def test_a_key_that_is_not_in_the_set_does_not_count() -> None:
    assert why(bundles(statement(), "eve")) is Reason.UNKNOWN_KEY
    both = check(bundles(statement(), "eve", "ci"))
    assert both.signers == (key_id("ci"),)
    assert both.uncounted == (Uncounted(key_id("eve"), Reason.UNKNOWN_KEY),)


def test_a_signature_that_does_not_fit_refuses_the_good_ones_beside_it() -> None:
    (good,) = bundles(statement(), "ci")
    (stolen,) = bundles(statement(), "eve")
    forged = stolen.replace(key_id("eve").encode(), key_id("ann").encode())
    keys = key_set(public("ci"), public("ann"))
    assert why([good, forged], keys=keys) is Reason.SIGNATURE


def test_a_threshold_counts_distinct_keys_over_the_same_facts() -> None:
    once = bundles(statement(), "ci")
    assert why(once, keys=TWO_OF_THREE) is Reason.BELOW_THRESHOLD
    assert why(once * 2, keys=TWO_OF_THREE) is Reason.BELOW_THRESHOLD
    apart = [*once, *bundles(statement(version=8), "ann")]
    assert why(apart, keys=TWO_OF_THREE) is Reason.BELOW_THRESHOLD
    assert set(check(bundles(statement(), "ci", "ann"), keys=TWO_OF_THREE).signers) == {key_id("ci"), key_id("ann")}
    assert why([], keys=TWO_OF_THREE) is Reason.BELOW_THRESHOLD


def test_an_older_statement_of_one_signer_does_not_hide_the_newer_one_of_enough() -> None:
    three = [*bundles(statement(version=8), "ci", "ann"), *bundles(statement(version=7), "bo")]
    found = check(three, keys=TWO_OF_THREE)
    assert (found.statement.version, len(found.signers)) == (8, 2)


def test_a_key_counts_only_inside_its_own_validity_and_for_what_it_may_sign() -> None:
    short = key_set(public("ci", ends=NOW))
    assert why(bundles(statement(), "ci"), keys=short) is Reason.KEY_NOT_VALID
    late = check(bundles(statement(), "ci"), keys=short, late=Late.SAY)
    assert late.expired
    after = bundles(statement(begins=NOW), "ci")
    assert why(after, keys=short, late=Late.SAY, now=NOW + 1) is Reason.KEY_NOT_VALID
    young = key_set(public("ci", begins=NOW + 1))
    assert why(bundles(statement(), "ci"), keys=young) is Reason.KEY_NOT_VALID
    other = key_set(public("ci", roles=frozenset({Role.KEYS})), public("ann"))
    assert why(bundles(statement(), "ci"), keys=other) is Reason.KEY_NOT_VALID


def test_a_version_below_the_accepted_one_is_a_replay() -> None:
    accepted = Accepted({SUBJECT: (8, "0" * 64)})
    assert why(bundles(statement(version=7), "ci"), accepted=accepted) is Reason.REPLAYED
    assert check(bundles(statement(version=9), "ci"), accepted=accepted).statement.version == 9


def test_an_equal_version_holds_with_the_same_digest_only() -> None:
    digest = hashlib.sha256(PAYLOAD).hexdigest()
    same, differs = Accepted({SUBJECT: (7, digest)}), Accepted({SUBJECT: (7, "0" * 64)})
    assert check(bundles(statement(version=7), "ci"), accepted=same).statement.version == 7
    assert why(bundles(statement(version=7), "ci"), accepted=differs) is Reason.SAME_VERSION_DIFFERS


def test_the_same_payload_holds_again_under_a_higher_version() -> None:
    first = check(bundles(statement(version=7), "ci"))
    accepted = NOTHING.having(first)
    assert check(bundles(statement(version=8), "ci"), accepted=accepted).statement.digest == first.statement.digest


def test_what_one_subject_accepted_says_nothing_about_another() -> None:
    accepted = Accepted({f"{ESTATE}/bremen/region": (99, "0" * 64)})
    assert check(bundles(statement(), "ci"), accepted=accepted).statement.version == 7


def test_a_key_set_below_the_accepted_one_is_refused_before_anything_else() -> None:
    assert why(bundles(statement(), "ci"), accepted=Accepted(key_set=2)) is Reason.KEY_SET_REPLAYED


def test_a_key_set_of_another_estate_is_refused() -> None:
    assert why(bundles(statement(), "ci"), keys=key_set(public("ci"), estate="elsewhere")) is Reason.WRONG_ESTATE


# ------------------------------------------------------------------------------------------------------------ the node


NODE = Expects(ESTATE, REGION, Kind.NODE)
NODE_PAYLOAD = canonical({"format": 1, "workload": WORKLOAD})


def node_bundle(*by: str, said: Statement | None = None) -> bytes:
    return write_node_bundle(NODE_PAYLOAD, bundles(said or statement(NODE_PAYLOAD, workload=WORKLOAD), *by))


def test_a_node_takes_its_bundle_late_and_says_so() -> None:
    raw = node_bundle("ci")
    payload, found = verify_node(raw, keys=ONE, expects=NODE, accepted=NOTHING, now=T0 + 400 * DAY_MS)
    assert payload == NODE_PAYLOAD
    assert found.expired


def test_a_running_node_takes_no_other_workloads_bundle() -> None:
    mine, other = replace(NODE, workload=WORKLOAD), replace(NODE, workload="render")
    assert verify_node(node_bundle("ci"), keys=ONE, expects=mine, accepted=NOTHING, now=NOW)[0] == NODE_PAYLOAD
    for expects in (other, EXPECTS):
        with pytest.raises(Untrusted) as refused:
            verify_node(node_bundle("ci"), keys=ONE, expects=expects, accepted=NOTHING, now=NOW)
        assert refused.value.reason is Reason.WRONG_SUBJECT


def test_a_node_bundle_with_two_signers_fits_and_one_above_8_kib_is_refused_unread() -> None:
    assert len(node_bundle("ci", "ann")) < MAX_NODE_BUNDLE
    for raw, reason in ((b" " * (MAX_NODE_BUNDLE + 1), Reason.TOO_LARGE), (b"{}", Reason.MALFORMED)):
        with pytest.raises(Untrusted) as refused:
            verify_node(raw, keys=ONE, expects=NODE, accepted=NOTHING, now=NOW)
        assert refused.value.reason is reason


def test_the_node_verifies_with_the_standard_library_and_pynacl_alone() -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from contracts.dsse import Kind\n"
        "from contracts.key_set import anchor\n"
        "from contracts.verify import NOTHING, Expects, verify_node\n"
        "assert 'nacl' not in sys.modules\n"
        "raw, keys = (bytes.fromhex(line) for line in sys.stdin.read().split())\n"
        f"verify_node(raw, keys=anchor(keys), expects=Expects({ESTATE!r}, {REGION!r}, Kind.NODE), "
        f"accepted=NOTHING, now={NOW})\n"
        "loaded = {name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)\n"
        "print(sorted(loaded - {'__main__'}), 'hashlib' in sys.modules)"
    )
    given = f"{node_bundle('ci').hex()}\n{signed_set(ONE, 'ci').hex()}"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"],
        cwd=ROOT, input=given, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() == "['_cffi_backend', '_sodium', 'contracts', 'nacl'] False"


# ------------------------------------------------------------------------------------------------------------ the form


def test_the_encoding_that_is_signed_is_that_of_the_dsse_protocol() -> None:
    # The test vector of the DSSE protocol's own document.
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_a_bundle_is_a_sigstore_bundle_with_one_signature_and_a_hint() -> None:
    (raw,) = bundles(statement(), "ci")
    document = read_json(raw, limit=10_000)
    assert isinstance(document, dict)
    assert document["mediaType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
    assert document["verificationMaterial"] == {"publicKey": {"hint": key_id("ci")}}
    envelope = document["dsseEnvelope"]
    assert isinstance(envelope, dict)
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert [sorted(one) for one in envelope["signatures"]] == [["keyid", "sig"]]
    assert len(raw) < 1_500


def test_a_statement_reads_back_as_it_was_written() -> None:
    for said in (statement(), statement(workload=WORKLOAD, requester="Zoë <zoe@harbour>")):
        assert read_statement(write_statement(said)) == said


WELL = bundles(statement(), "ci")[0]
MISSHAPEN: dict[str, bytes] = {
    "empty": b"",
    "no object": b"[]",
    "a number": b"1",
    "cut": WELL[:-1],
    "two": WELL + WELL,
    "byte order mark": b"\xef\xbb\xbf" + WELL,
    "no UTF-8": WELL.replace(b"hint", b"hin\xff"),
    "a key twice": WELL.replace(b'{"publicKey"', b'{"publicKey":{},"publicKey"'),
    "an unknown field": WELL.replace(b'{"dsseEnvelope"', b'{"x":1,"dsseEnvelope"'),
    "a field missing": WELL.replace(b'"keyid":"",', b"").replace(b'"payloadType"', b'"payloadtype"'),
    "another payload type": WELL.replace(b"in-toto+json", b"in-toto+jsom"),
    "another media type": WELL.replace(b"v0.3", b"v0.2"),
    "a key id inside": WELL.replace(b'"keyid":""', b'"keyid":"x"'),
    "no signature": WELL.replace(b'[{"keyid"', b'[],"y":[{"keyid"'),
    "a short hint": WELL.replace(key_id("ci").encode(), key_id("ci")[:63].encode()),
    "a capital hint": WELL.replace(key_id("ci").encode(), key_id("ci").upper().encode()),
    "url-safe base64": WELL.replace(b'"sig":"', b'"sig":"_-'),
    "a line break in base64": WELL.replace(b'"payload":"', b'"payload":"\\n'),
    "a fraction": WELL.replace(b'"keyid":""', b'"keyid":1.5'),
    "not a number": WELL.replace(b'"keyid":""', b'"keyid":NaN'),
    "a huge number": WELL.replace(b'"keyid":""', b'"keyid":' + b"9" * 5000),
    "half a character": WELL.replace(b'"keyid":""', b'"keyid":"\\ud800"'),
    "deep": b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1),
    "deeper than the parser": b"[" * 60_000,
    "a log entry": WELL.replace(b'{"publicKey"', b'{"tlogEntries":[{}],"publicKey"'),
    "a certificate": WELL.replace(b'{"publicKey"', b'{"certificate":{},"publicKey"'),
}


@pytest.mark.parametrize("name", MISSHAPEN)
def test_what_is_not_exactly_a_bundle_is_malformed(name: str) -> None:
    assert MISSHAPEN[name] != WELL
    assert why([MISSHAPEN[name]]) is Reason.MALFORMED


def test_base64_that_decodes_alike_is_still_another_text() -> None:
    # 64 bytes leave four unused bits in the last digit before the padding.
    signature = read_bundle(WELL).signature
    text = b64encode(signature)
    alike = text[:-3] + bytes([text[-3] + 1]) + b"=="
    assert why([WELL.replace(text, alike)]) is Reason.MALFORMED


def test_more_than_anybody_sends_is_too_large() -> None:
    assert why([b" " * 70_000]) is Reason.TOO_LARGE
    assert why([WELL] * 17) is Reason.TOO_LARGE


@pytest.mark.parametrize(
    "change",
    [
        {"subject": []},
        {"subject": [{"name": f"{ESTATE}/{REGION}/pool", "digest": {"sha256": "0" * 64}}]},
        {"subject": [{"name": f"{ESTATE}//region", "digest": {"sha256": "0" * 64}}]},
        {"subject": [{"name": f"{ESTATE}/{REGION}/region", "digest": {"sha256": "0" * 63}}]},
        {"predicateType": "urn:ebbtide:bundle:v2"},
        {"_type": "https://in-toto.io/Statement/v0.1"},
        {"predicate": {"version": 1}},
        {"more": 1},
    ],
)
def test_a_statement_that_is_signed_and_still_not_ours_is_malformed(change: dict[str, object]) -> None:
    document = read_json(write_statement(statement()), limit=10_000)
    assert isinstance(document, dict)
    with pytest.raises(Untrusted) as refused:
        read_statement(canonical({**document, **change}))  # type: ignore[dict-item]  # JSON all of it
    assert refused.value.reason is Reason.MALFORMED


@pytest.mark.parametrize(
    "said", [statement(version=0), statement(ends=T0), statement(requester=""), statement(begins=-1)]
)
def test_facts_that_no_verifier_takes_are_not_read(said: Statement) -> None:
    with pytest.raises(Untrusted):
        read_statement(write_statement(said))

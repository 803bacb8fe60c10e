"""How a reconciler takes what was published, and what it keeps when anything about it is wrong."""

from __future__ import annotations

import hashlib

import pytest

from contracts.canonical import canonical
from contracts.errors import Refused, Transient
from contracts.key_set import KeySet
from contracts.untrusted import Reason
from contracts.verify import NOTHING, Accepted
from repo_layout.taking import Held, Taken, take
from tests.trust.signers import DAY_MS, NOW, PAYLOAD, REGION, T0, compiled, key_set, public, signed, signed_set

FIRST = key_set(public("ci"))
SECOND = key_set(public("ann"), version=2)
FOLDER = signed(compiled(), "ci")


def taken(
    offered: dict[str, bytes] | Refused | Transient,
    *,
    held: Held | None = None,
    keys: KeySet = FIRST,
    accepted: Accepted = NOTHING,
    now: int = NOW,
) -> Taken:
    return take(offered, held=held, keys=keys, region=REGION, accepted=accepted, now=now)


def held() -> Held:
    found = taken(FOLDER).held
    assert found is not None
    return found


def unread() -> dict[str, bytes]:
    """A payload that holds no estate, and the list that names it."""
    payload = canonical({"format": 1})
    return {"region.json": payload, "compiled.json": compiled()["compiled.json"].replace(sha(PAYLOAD), sha(payload))}


def sha(payload: bytes) -> bytes:
    return hashlib.sha256(payload).hexdigest().encode()


def test_a_payload_of_another_region_than_was_signed_is_not_taken() -> None:
    found = take(
        signed(compiled(region="bremen"), "ci"), held=None, keys=FIRST, region="bremen", accepted=NOTHING, now=NOW
    )
    assert found.held is None
    assert found.problem is not None
    assert found.problem.reason is Reason.WRONG_SUBJECT


def test_a_first_good_bundle_is_taken_and_is_fresh() -> None:
    found = taken(FOLDER)
    assert found.held is not None
    assert (found.held.payload, found.fresh, found.trusted, found.problem) == (PAYLOAD, True, True, None)


def test_the_same_bundle_again_is_nothing_new() -> None:
    again = taken(FOLDER, held=held(), accepted=NOTHING.having(held().verified))
    assert (again.held, again.fresh, again.trusted) == (held(), False, True)


def test_the_same_payload_under_a_higher_version_is_fresh() -> None:
    newer = taken(signed(compiled(), "ci", version=8), held=held(), accepted=NOTHING.having(held().verified))
    assert newer.held is not None
    assert (newer.held.verified.statement.version, newer.fresh) == (8, True)


WRONG: dict[str, tuple[dict[str, bytes] | Refused | Transient, Reason | None]] = {
    "another payload": ({**FOLDER, "region.json": PAYLOAD + b" "}, Reason.DIGEST),
    "no payload": ({k: v for k, v in FOLDER.items() if k != "region.json"}, None),
    "nothing": ({}, None),
    "no signature": (compiled(), Reason.BELOW_THRESHOLD),
    "a stranger's": (signed(compiled(), "eve"), Reason.UNKNOWN_KEY),
    "another region's": (signed(compiled(region="bremen"), "ci"), Reason.WRONG_REGION),
    "no estate": (signed({**compiled(), **unread()}, "ci", version=8), None),
    "an older one": (signed(compiled(), "ci", version=6), Reason.REPLAYED),
    "a page of HTML": ({**FOLDER, "region.0123456789ab.sigstore.json": b"<html>"}, Reason.MALFORMED),
    "no Git": (Transient("Git unreachable"), None),
    "no ref": (Refused("nothing was published"), None),
}


@pytest.mark.parametrize("name", WRONG)
def test_whatever_is_wrong_the_last_good_one_is_kept(name: str) -> None:
    offered, reason = WRONG[name]
    found = taken(offered, held=held(), accepted=NOTHING.having(held().verified))
    assert (found.held, found.fresh, found.trusted) == (held(), False, False)
    assert found.problem is not None
    assert found.problem.reason is reason
    assert found.problem.message


@pytest.mark.parametrize("name", [name for name in WRONG if name != "an older one"])
def test_with_nothing_held_nothing_is_made_up(name: str) -> None:
    assert taken(WRONG[name][0]).held is None


def test_an_expired_bundle_is_taken_and_stops_what_it_should_stop() -> None:
    found = taken(FOLDER, now=T0 + 31 * DAY_MS)
    assert found.held is not None
    assert (found.trusted, found.problem and found.problem.reason) == (False, Reason.EXPIRED)
    unreachable = taken(Transient("Git unreachable"), held=held(), now=T0 + 31 * DAY_MS)
    assert (unreachable.held, unreachable.problem and unreachable.problem.reason) == (held(), Reason.EXPIRED)


def test_a_newer_key_set_comes_with_the_bundle_and_is_followed() -> None:
    rotated = {**signed(compiled(), "ann"), "keys/2.json": signed_set(SECOND, "ci", "ann")}
    found = taken(rotated)
    assert (found.trusted, found.keys) == (True, SECOND)
    again = taken({**rotated, "keys/1.json": signed_set(FIRST, "ci")}, keys=SECOND)
    assert (again.trusted, again.keys) == (True, SECOND)


def test_a_key_set_that_does_not_follow_is_told_and_the_bundle_still_taken_by_the_one_held() -> None:
    found = taken({**FOLDER, "keys/2.json": signed_set(SECOND, "ann")})
    assert found.held is not None
    assert (found.keys, found.trusted) == (FIRST, False)
    assert found.problem is not None
    assert found.problem.reason is Reason.BELOW_THRESHOLD


def test_a_good_rotation_before_a_bad_one_is_kept() -> None:
    third = key_set(public("bo"), version=3)
    files = {"keys/2.json": signed_set(SECOND, "ci", "ann"), "keys/3.json": signed_set(third, "eve")}
    found = taken({**signed(compiled(), "ann"), **files})
    assert (found.keys, found.trusted) == (SECOND, False)
    assert found.held is not None


def test_a_key_set_under_another_ones_name_is_told_and_ends_the_walk() -> None:
    found = taken({**FOLDER, "keys/2.json": signed_set(FIRST, "ci")})
    assert (found.keys, found.trusted) == (FIRST, False)
    assert found.held is not None


def test_taking_newer_key_sets_away_from_the_ref_does_not_bring_old_keys_back() -> None:
    found = taken(FOLDER, held=held(), accepted=Accepted(key_set=2))
    assert (found.held, found.problem and found.problem.reason) == (held(), Reason.KEY_SET_REPLAYED)

"""How a reconciler takes a published bundle: the new one when all about it holds, and the last good one otherwise.

The reconciler calls `take` each time it looked at the ref; the answer is a value that always still has what was held
before, so that no bad file takes a region's desired state away. Pure. It must not know Git, files or what growth is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.dsse import Kind, Subject
from contracts.errors import EbbtideError, Refused
from contracts.key_set import KeySet, follow
from contracts.untrusted import Reason, Untrusted
from contracts.verify import Accepted, Expects, Late, Verified, verify
from repo_layout.model import Estate
from repo_layout.payload import read_region
from repo_layout.sign import KEY_SETS, REGION, bundles_of


@dataclass(frozen=True, slots=True)
class Held:
    """A region's payload that was verified, with the statement that was signed and the estate that it holds."""

    payload: bytes
    verified: Verified
    estate: Estate


@dataclass(frozen=True, slots=True)
class Problem:
    """Why nothing newer was taken; `reason` is None where no bundle could be read at all (Git, an empty folder)."""

    reason: Reason | None
    message: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What to work from now. `fresh` says that it is not what was held before, and has to be accepted durably before
    anything acts on it. Without `trusted`, growth, release and recommendations wait; losses are still replaced.
    """

    held: Held | None
    keys: KeySet
    fresh: bool
    trusted: bool
    problem: Problem | None = None


def take(
    offered: Mapping[str, bytes] | EbbtideError,
    *,
    held: Held | None,
    keys: KeySet,
    region: str,
    accepted: Accepted,
    now: int,
) -> Taken:
    """What to work from: the offered files of a ref (or the error with which they could not be read) when they hold,
    else what was held. Never raises for anything about the offer.
    """
    problem: Problem | None
    if isinstance(offered, EbbtideError):
        return _kept(held, keys, now, Problem(None, str(offered)))
    keys, problem = followed(keys, offered)
    try:
        new = verified_region(offered, keys=keys, region=region, accepted=accepted, now=now, late=Late.SAY)
    except Untrusted as error:
        return _kept(held, keys, now, Problem(error.reason, str(error)))
    except Refused as error:
        return _kept(held, keys, now, Problem(None, str(error)))
    if new.verified.expired:
        told = f"version {new.verified.statement.version} has expired: sign the same payload again with a higher one"
        problem = problem or Problem(Reason.EXPIRED, told)
    fresh = held is None or new.verified.statement != held.verified.statement
    return Taken(new, keys, fresh, trusted=problem is None, problem=problem)


def _kept(held: Held | None, keys: KeySet, now: int, problem: Problem) -> Taken:
    """The last good one. It is said to be expired when it is, whatever else is wrong."""
    if held is not None and now >= held.verified.statement.expires and problem.reason is None:
        problem = Problem(Reason.EXPIRED, f"{problem.message}; what is held has expired")
    return Taken(held, keys, fresh=False, trusted=False, problem=problem)


def followed(keys: KeySet, offered: Mapping[str, bytes]) -> tuple[KeySet, Problem | None]:
    """The newest key set that the offer leads to, and what stopped on the way there. Never raises."""
    try:
        while (raw := offered.get(f"{KEY_SETS}{keys.version + 1}.json")) is not None:
            before = keys.version
            keys = follow(keys, (raw,))
            if keys.version == before:
                told = f"{KEY_SETS}{before + 1}.json holds key set {before}: publish the one that it is named after"
                return keys, Problem(Reason.KEY_SET_REPLAYED, told)
    except Untrusted as error:
        return keys, Problem(error.reason, str(error))
    return keys, None


def verified_region(
    offered: Mapping[str, bytes], *, keys: KeySet, region: str | None, accepted: Accepted, now: int, late: Late
) -> Held:
    """One region's offer (whose, where `region` says), verified, with the estate that it holds.

    `late` says what is done about an expired one. Raises `Untrusted` with its reason for what does not hold, a payload
    of another region than was signed included, and `Refused` for files that are no bundle or bytes that hold no estate.
    """
    payload = offered.get(REGION)
    if payload is None:
        raise Refused(f"what was published holds no {REGION}: publish a compiled and signed folder")
    verified = verify(
        payload,
        [offered[name] for name in bundles_of(REGION, offered)],
        keys=keys,
        expects=Expects(keys.estate, region, Kind.REGION),
        accepted=accepted,
        now=now,
        late=late,
    )
    said = verified.statement
    estate = read_region(payload, commit=said.commit)
    holds = Subject(estate.settings.estate, estate.settings.regions[0].name)
    if holds != said.subject:
        told = f"what was signed as {said.subject} holds {holds}: compile again and sign that"
        raise Untrusted(Reason.WRONG_SUBJECT, told)
    return Held(payload, verified, estate)

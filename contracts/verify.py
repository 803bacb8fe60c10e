"""Decides whether a payload is believed: who signed it, for whom, which version, and whether it still holds.

Reconciler, agent and command call `verify` with the key set they trust, what they expect and what they accepted before;
it works from those values alone, offline. Every refusal is an `Untrusted` with its own reason. It must not know where
bundles lie, what a payload means, or what the time is. Light: nodes import it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from contracts.bundle import MAX_NODE_BUNDLE, read_node_bundle
from contracts.canonical import JsonValue, canonical
from contracts.dsse import (
    PAYLOAD_TYPE,
    Kind,
    Signed,
    Statement,
    Subject,
    digest_of,
    is_signed_by,
    read_bundle,
    read_statement,
)
from contracts.errors import Refused
from contracts.key_set import KeySet, PublicKey, Role
from contracts.strict_json import Reader, read_json
from contracts.untrusted import Reason, Untrusted

MAX_PAYLOAD_BYTES = 64 * 1024 * 1024
"""A region's payload has at most a quarter of it; what a machine accepted is read up to it too."""
MAX_BUNDLES = 16
"""Signers of one payload; a threshold is never near it."""
MAX_SUBJECTS = 100_000
"""Of one machine that accepts: its region, and every workload it ever served."""


class Late(Enum):
    """What an expired bundle, or one whose signer's key has expired, is worth."""

    REFUSE = "refuse"
    SAY = "say"
    """It is taken, and `Verified.expired` says so: nodes and drains never stop because nobody could sign."""


@dataclass(frozen=True, slots=True)
class Expects:
    """Whom a payload has to be for. None is any: of `estate` and `region` for a person who looks, of `workload` for a
    node that boots. A key set names its estate, so that with one `estate` is never None.
    """

    estate: str | None
    region: str | None
    kind: Kind
    workload: str | None = None


@dataclass(frozen=True, slots=True)
class Uncounted:
    """A signature that did not count, and why."""

    key_id: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Verified:
    """What holds. `signers` are the ids of the keys that count (keyless: the one identity)."""

    statement: Statement
    signers: tuple[str, ...]
    expired: bool
    uncounted: tuple[Uncounted, ...] = ()


@dataclass(frozen=True, slots=True)
class Accepted:
    """The highest version and its digest that was accepted for each subject, and the highest key set.

    Kept durably by whoever accepts (`repo_layout.adapters.accepted_file`), so that nothing older is taken again.
    """

    highest: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    key_set: int = 0

    def require_newer(self, statement: Statement) -> None:
        """Raises `Untrusted` for a version below the accepted one, or an equal version with another digest."""
        version, digest = self.highest.get(str(statement.subject), (0, ""))
        if statement.version < version:
            raise Untrusted(
                Reason.REPLAYED,
                f"version {statement.version} is older than version {version}, which was accepted before:"
                " sign again with a higher one (ebbtide sign --next)",
            )
        if statement.version == version and statement.digest != digest:
            raise Untrusted(
                Reason.SAME_VERSION_DIFFERS,
                f"version {version} was accepted before with another payload ({digest[:12]}, now"
                f" {statement.digest[:12]}): find out who signed it, and sign again with a higher one",
            )

    def require_key_set(self, keys: KeySet) -> None:
        """Raises `Untrusted` for a key set below the accepted one."""
        if keys.version < self.key_set:
            raise Untrusted(
                Reason.KEY_SET_REPLAYED,
                f"key set {keys.version} is older than key set {self.key_set}, which was accepted before:"
                " give the newer one too",
            )

    def having(self, verified: Verified, keys: KeySet | None = None) -> Accepted:
        """The same with one more that was accepted. Raises what `require_newer` raises."""
        return self.having_all((verified,), keys)

    def having_all(self, verified: Iterable[Verified], keys: KeySet | None = None) -> Accepted:
        """The same with all of these, or none of them. Raises what `require_newer` raises."""
        highest = dict(self.highest)
        after = Accepted(highest, max(self.key_set, keys.version) if keys else self.key_set)
        for one in verified:
            after.require_newer(one.statement)
            highest[str(one.statement.subject)] = (one.statement.version, one.statement.digest)
        return after


NOTHING = Accepted()


def verify(
    payload: bytes,
    bundles: Sequence[bytes],
    *,
    keys: KeySet,
    expects: Expects,
    accepted: Accepted,
    now: int,
    late: Late = Late.REFUSE,
) -> Verified:
    """What holds about a payload. Bundles are Sigstore bundles as bytes, one a signer. Raises `Untrusted`.

    A signature of a known key that does not fit refuses everything; one of an unknown key, or of a key outside its
    validity, does not count. A threshold counts distinct keys that signed the very same statement.
    """
    if len(bundles) > MAX_BUNDLES:
        raise Untrusted(Reason.TOO_LARGE, f"{len(bundles)} bundles, and at most {MAX_BUNDLES} are read: leave some out")
    if len(payload) > MAX_PAYLOAD_BYTES:
        told = f"the payload has {len(payload):,} bytes, and at most {MAX_PAYLOAD_BYTES:,} are read: split the region"
        raise Untrusted(Reason.TOO_LARGE, told)
    accepted.require_key_set(keys)
    if keys.estate != expects.estate:
        told = f"the key set is of the estate {keys.estate}, not of {expects.estate}: give the one of this estate"
        raise Untrusted(Reason.WRONG_ESTATE, told)
    counted: dict[str, Statement] = {}
    uncounted: list[Uncounted] = []
    for one in map(read_bundle, bundles):
        said = _count(one, keys, now, late)
        if isinstance(said, Reason):
            uncounted.append(Uncounted(one.key_id, said))
        elif counted.setdefault(one.key_id, said) != said:
            told = f"key {one.key_id[:12]} signs two different statements here: remove the older bundle"
            raise Untrusted(Reason.SAME_VERSION_DIFFERS, told)
    statement = _agreed(counted, uncounted, keys.thresholds[Role.BUNDLES])
    expired = judge(statement, payload, expects=expects, accepted=accepted, now=now, late=late)
    signers = tuple(sorted(name for name, said in counted.items() if said == statement))
    expired = expired or not all(keys.keys[name].is_valid(now) for name in signers)
    return Verified(statement, signers, expired, tuple(uncounted))


def verify_node(
    raw: bytes, *, keys: KeySet, expects: Expects, accepted: Accepted, now: int, late: Late = Late.SAY
) -> tuple[bytes, Verified]:
    """The payload of a node bundle and what holds about it. Raises `Untrusted`.

    At boot the bundle itself says which workload this node serves: `expects.workload` is None. Later it is that one.
    """
    try:
        bundle = read_node_bundle(raw)
    except Refused as error:
        reason = Reason.TOO_LARGE if len(raw) > MAX_NODE_BUNDLE else Reason.MALFORMED
        raise Untrusted(reason, f"{error}; take the file again from where it was published") from None
    found = verify(bundle.payload, bundle.bundles, keys=keys, expects=expects, accepted=accepted, now=now, late=late)
    return bundle.payload, found


def judge(statement: Statement, payload: bytes, *, expects: Expects, accepted: Accepted, now: int, late: Late) -> bool:
    """Whether a statement whose signature holds has expired; True only where `late` lets it. Raises `Untrusted`.

    The keyless path judges with it too, so that both ways of signing mean the same.
    """
    _require_subject(statement.subject, expects)
    if digest_of(payload) != statement.digest:
        raise Untrusted(
            Reason.DIGEST, "the payload is not the one that was signed: take both again from where they were published"
        )
    accepted.require_newer(statement)
    if now < statement.not_before:
        raise Untrusted(
            Reason.NOT_YET_VALID,
            f"version {statement.version} holds {_seconds(statement.not_before - now)} from now on:"
            " wait, or set this machine's clock",
        )
    expired = now >= statement.expires
    if expired and late is Late.REFUSE:
        raise Untrusted(
            Reason.EXPIRED,
            f"version {statement.version} expired {_seconds(now - statement.expires)} ago: sign the same payload again"
            " with a higher version (ebbtide sign --next)",
        )
    return expired


def write_accepted(accepted: Accepted) -> bytes:
    """The canonical bytes in which it is kept."""
    rows: dict[str, JsonValue] = {
        name: {"version": version, "digest": digest} for name, (version, digest) in accepted.highest.items()
    }
    return canonical({"format": 1, "keySet": accepted.key_set, "subjects": rows})


def read_accepted(raw: bytes) -> Accepted:
    """The same back. Raises `ValueError` for anything else: what was accepted is never guessed."""
    document = Reader(read_json(raw, limit=MAX_PAYLOAD_BYTES), "what was accepted")
    document.exactly("format", 1)
    key_set, rows = document.number("keySet"), document.mapping("subjects", most=MAX_SUBJECTS)
    document.done()
    return Accepted({name: _entry(Reader(row, name)) for name, row in rows.items()}, key_set)


def _count(one: Signed, keys: KeySet, now: int, late: Late) -> Statement | Reason:
    """The statement of a signature that counts, or why it does not. Raises `Untrusted` for an altered one."""
    key = keys.keys.get(one.key_id)
    if key is None:
        return Reason.UNKNOWN_KEY
    if not is_signed_by(key.public, one.signature, payload_type=PAYLOAD_TYPE, payload=one.statement):
        raise Untrusted(
            Reason.SIGNATURE,
            f"the signature of key {one.key_id[:12]} ({key.name}) does not fit: the bundle was altered;"
            " take it again from where it was published",
        )
    statement = read_statement(one.statement)
    if Role.BUNDLES not in key.roles or not _is_in_time(key, statement, now, late):
        return Reason.KEY_NOT_VALID
    return statement


def _is_in_time(key: PublicKey, statement: Statement, now: int, late: Late) -> bool:
    """Valid now, or once valid where late ones are taken; what begins after a key's end was not signed in its time."""
    return key.not_before <= now and statement.not_before < key.expires and (late is Late.SAY or now < key.expires)


def _agreed(counted: Mapping[str, Statement], uncounted: Sequence[Uncounted], needed: int) -> Statement:
    """The statement that enough keys signed; of several the newest."""
    votes = Counter(counted.values())
    enough = [statement for statement, count in votes.items() if count >= needed]
    if enough:
        return max(enough, key=lambda statement: statement.version)
    if not counted and uncounted:
        first = uncounted[0]
        if any(one.reason is Reason.KEY_NOT_VALID for one in uncounted):
            first = next(one for one in uncounted if one.reason is Reason.KEY_NOT_VALID)
            told = (
                f"key {first.key_id[:12]} may not sign bundles, or is outside its validity: sign with another, or"
                " rotate the key set"
            )
            raise Untrusted(Reason.KEY_NOT_VALID, told)
        told = f"key {first.key_id[:12]} is not in the key set: sign with one that is, or give the newer key set"
        raise Untrusted(Reason.UNKNOWN_KEY, told)
    if not counted:
        told = f"nobody signed this, and {needed} of the keys have to: sign it (ebbtide sign)"
        raise Untrusted(Reason.BELOW_THRESHOLD, told)
    most = max(votes.values())
    apart = ", each about something else" if len(votes) > 1 else ""
    raise Untrusted(
        Reason.BELOW_THRESHOLD,
        f"{len(counted)} of the keys that count signed this{apart}; {needed} have to sign the same statement and"
        f" {most} did: let another signer add its bundle (ebbtide sign --join)",
    )


def _require_subject(subject: Subject, expects: Expects) -> None:
    if expects.estate is not None and subject.estate != expects.estate:
        told = f"this is for the estate {subject.estate}, not {expects.estate}: take the bundle of this estate"
        raise Untrusted(Reason.WRONG_ESTATE, told)
    if expects.region is not None and subject.region != expects.region:
        told = f"this is for the region {subject.region}, not {expects.region}: take the bundle of this region"
        raise Untrusted(Reason.WRONG_REGION, told)
    if subject.kind is not expects.kind:
        told = f"this is a {subject.kind.value}'s bundle, not a {expects.kind.value}'s: take the other one"
        raise Untrusted(Reason.WRONG_SUBJECT, told)
    if expects.workload is not None and subject.workload != expects.workload:
        told = f"this is for the workload {subject.workload}, not {expects.workload}: take the bundle of that one"
        raise Untrusted(Reason.WRONG_SUBJECT, told)


def _entry(row: Reader) -> tuple[int, str]:
    version, digest = row.number("version", least=1), row.digest("digest")
    row.done()
    return version, digest


def _seconds(span: int) -> str:
    return f"{span // 1000:,} s"

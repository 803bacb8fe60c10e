"""Keys, versions and refusals as people and machines read them. Pure: values in, text or a document out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contracts.key_set import KeySet, PublicKey, Role
from contracts.strict_json import DIGEST_DIGITS
from contracts.untrusted import Reason
from contracts.verify import Verified
from ebbtide.text import Paint, columns, count, date_clock, printable, span, words, wrapped

MOST = 6
"""Refusals that are told in words; what is wrong with the first is wrong with the rest."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One payload that was looked at: `verified` when it holds, else `reason` (None: unreadable) and `message`."""

    file: str
    verified: Verified | None
    reason: Reason | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One run: where, as of when, by what, and everything that was looked at."""

    where: str
    at: int
    trust: str
    keys: KeySet | None
    checked: Sequence[Checked]

    @property
    def holds(self) -> bool:
        """Whether all of it does."""
        return bool(self.checked) and all(one.verified is not None for one in self.checked)


def verdict_text(verdict: Verdict, paint: Paint) -> list[str]:
    """The first payload in full, a line for each refusal, and one of summary."""
    lines: list[str] = []
    held = [one for one in verdict.checked if one.verified is not None]
    if held:
        lines += _in_full(held[0], verdict, paint)
    refused = [one for one in verdict.checked if one.verified is None]
    for one in refused[:MOST]:
        why = words(one.reason.value) if one.reason else "unreadable"
        lines.append(f"{paint.bad('refused')}  {printable(one.file)}: {paint.bold(why)}")
        lines += wrapped(printable(one.message), indent=" " * 9)
    if len(refused) > MOST:
        lines.append(f"{paint.bad('refused')}  and {len(refused) - MOST:,} more; --output json lists all")
    good = count(len(held), "payload")
    summary = f"{good} of {len(verdict.checked):,} hold" if len(verdict.checked) != 1 else ""
    end = f"{summary or ('it holds' if held else 'it does not hold')}, by {verdict.trust}, as of"
    return [*lines, f"{end} {date_clock(verdict.at)} UTC"]


def verdict_document(verdict: Verdict) -> dict[str, object]:
    """The same for machines."""
    return {
        "holds": verdict.holds,
        "where": verdict.where,
        "at": verdict.at,
        "trust": verdict.trust,
        "keySet": verdict.keys.version if verdict.keys else None,
        "checked": [_row(one) for one in verdict.checked],
    }


def key_set_text(keys: KeySet, now: int, paint: Paint) -> list[str]:
    """A key set with its keys."""
    rows = [["key", "id", "signs", "from", "until", ""]]
    for name, key in sorted(keys.keys.items(), key=lambda item: (item[1].name, item[0])):
        signs = " and ".join(sorted(key.roles))
        row = [printable(key.name), name[:16], signs, date_clock(key.not_before), date_clock(key.expires)]
        rows.append([*row, _state(key, now, paint)])
    enough = ", ".join(f"{keys.thresholds[role]} of {len(keys.able(role))} sign {role.value}" for role in Role)
    title = f"key set {keys.version} of {printable(keys.estate)}, made {date_clock(keys.issued)} UTC"
    return [paint.bold(title), f"  {enough}", *columns(rows, "<<<<<<", indent="  ")]


def key_set_document(keys: KeySet) -> dict[str, object]:
    """The same for machines."""
    return {
        "estate": keys.estate,
        "version": keys.version,
        "issued": keys.issued,
        "thresholds": {role.value: number for role, number in keys.thresholds.items()},
        "keys": [
            {
                "id": name,
                "name": key.name,
                "roles": sorted(role.value for role in key.roles),
                "notBefore": key.not_before,
                "expires": key.expires,
            }
            for name, key in keys.keys.items()
        ],
    }


def _in_full(one: Checked, verdict: Verdict, paint: Paint) -> Iterable[str]:
    found = one.verified
    if found is None:
        return []
    said = found.statement
    left = f"expired {span(verdict.at - said.expires)} ago" if verdict.at >= said.expires else (
        f"{span(said.expires - verdict.at)} left"
    )  # fmt: skip
    if found.expired and verdict.at < said.expires:
        left += ", and a signer's key has expired"
    about = said.subject
    who = f"node bundle of {about.workload} in {about.region}" if about.workload else f"region {about.region}"
    rows = [
        ["commit", printable(said.commit)],
        ["requester", printable(said.requester)],
        ["payload", f"sha256 {said.digest}"],
        ["holds", f"{date_clock(said.not_before)} to {date_clock(said.expires)} UTC, {left}"],
        ["signed by", ", ".join(_named(found.signers, verdict.keys))],
    ]
    if verdict.keys is not None:
        needed, able = verdict.keys.thresholds[Role.BUNDLES], len(verdict.keys.able(Role.BUNDLES))
        rows[-1][1] += f"; {needed} of {able} needed"
    for other in found.uncounted:
        name = _named([other.key_id], verdict.keys)[0]
        rows.append(["not counted", f"{name}, {words(other.reason.value)}"])
    state = paint.warn("expired") if found.expired else paint.good("holds")
    title = f"{state}  {printable(who)} of {printable(said.subject.estate)}, version {said.version}"
    return [title, *columns(rows, "<<", indent="  ")]


def _row(one: Checked) -> dict[str, object]:
    row: dict[str, object] = {"file": one.file, "holds": one.verified is not None}
    if one.verified is None:
        return {**row, "reason": one.reason.value if one.reason else "unreadable", "message": one.message}
    said = one.verified.statement
    return {
        **row,
        "subject": str(said.subject),
        "version": said.version,
        "commit": said.commit,
        "requester": said.requester,
        "digest": said.digest,
        "notBefore": said.not_before,
        "expires": said.expires,
        "expired": one.verified.expired,
        "signers": list(one.verified.signers),
        "uncounted": [{"keyId": other.key_id, "reason": other.reason.value} for other in one.verified.uncounted],
    }


def _named(ids: Iterable[str], keys: KeySet | None) -> list[str]:
    """Key ids as people read them, with the name where the key set has one; an identity as it is."""
    known = keys.keys if keys is not None else {}
    told = []
    for one in ids:
        brief = one[:12] if len(one) == DIGEST_DIGITS else printable(one)
        told.append(f"{printable(known[one].name)} ({brief})" if one in known else brief)
    return told


def _state(key: PublicKey, now: int, paint: Paint) -> str:
    if now < key.not_before:
        return paint.warn("not yet valid")
    if now >= key.expires:
        return paint.bad("expired")
    return f"{span(key.expires - now)} left"

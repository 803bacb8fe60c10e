"""Rules about the calendar: what had expired when a commit was made, and what expires soon after.

Called from the table in `repo_layout.feasibility`. Checking is a function of the commit alone, so the day is the
commit's own, in UTC: the same commit is judged alike for ever, and a work tree, which has no time, is not judged at
all. What has expired by now is the reconciler's to see. A term holds to the end of its day.

What has expired still counts in the other rules: a waiver that ran out is refused here, by name, and not as a hundred
contracts that cannot be spread.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from contracts.errors import Place
from contracts.findings import Finding, Severity, listed
from contracts.model import Contract
from pools.eligibility import class_of
from repo_layout.blame import SPREAD_BY, Attributed, fields_of
from repo_layout.documents import WaiverFile
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.reach import Ground, shares_without_waivers

SOON = dt.timedelta(days=30)
"""How long before its end a term is pointed out: what has to be approved again takes its weeks."""

NAMED = 5
"""Contracts that a message names."""


@dataclass(frozen=True, slots=True)
class _Term:
    """Something that ends: `what` it is in words, who leans on it, and what a finding about it rests on."""

    what: str
    until: dt.date
    place: Place
    relied_on: tuple[str, ...]
    to: frozenset[str]
    hint: str


def committed_on(estate: Estate) -> dt.date | None:
    """The day of the commit in UTC, None for a work tree."""
    if not estate.committed_at:
        return None
    return dt.datetime.fromtimestamp(estate.committed_at / 1000, tz=dt.UTC).date()


def terms_hold(ground: Ground) -> Iterator[Attributed]:
    """Waivers, approvals and people that are relied on were valid on the day of the commit."""
    today = committed_on(ground.estate)
    if today is None:
        return
    for term in _terms(ground):
        if term.until < today:
            message = f"{term.what} expired on {term.until}, before this commit of {today}{_relied(term)}"
            found = Finding("EBT-221", term.place, message, str(term.until), f"{today} or later", term.hint)
            yield Attributed(found, term.to)


def terms_ending(ground: Ground) -> Iterator[Finding]:
    """Those that end within thirty days of the commit."""
    today = committed_on(ground.estate)
    if today is None:
        return
    for term in _terms(ground):
        left = term.until - today
        if dt.timedelta(0) <= left <= SOON:
            message = f"{term.what} expires on {term.until}, {left.days} days after this commit{_relied(term)}"
            yield Finding("EBT-222", term.place, message, str(term.until), hint=term.hint, severity=Severity.NOTE)


def _relied(term: _Term) -> str:
    if not term.relied_on:
        return ""
    return f"; relied on by {listed(term.relied_on, NAMED)}"


def _terms(ground: Ground) -> Iterator[_Term]:
    yield from _waivers(ground)
    yield from _approvals(ground.estate)
    yield from _people(ground.estate)


def _waivers(ground: Ground) -> Iterator[_Term]:
    """Each waiver, with the contracts that could not be spread without it."""
    estate = ground.estate
    plain = shares_without_waivers(estate)
    needing: dict[tuple[str, str], list[Contract]] = {}
    for reach in ground.reaches:
        if reach.usable.waived and reach.first_shortfall_under(plain) is not None:
            scope = reach.region.name, class_of(reach.contract.eligibility)
            needing.setdefault(scope, []).append(reach.contract)
    for waiver in estate.waivers:
        leaning = needing.get((waiver.region, waiver.eligibility_class), [])
        key = f"waiver/{waiver.region}/{waiver.eligibility_class}"
        yield _Term(
            f"the waiver for {waiver.eligibility_class} in {waiver.region}",
            waiver.expires,
            at(estate, f"{key}/expires"),
            tuple(contract.name for contract in leaning),
            frozenset({key, *(part for contract in leaning for part in fields_of(contract, SPREAD_BY))}),
            _renew(waiver),
        )


def _renew(waiver: WaiverFile) -> str:
    return f"have {waiver.approver} renew it, or make do with the bounds of ebbtide.yaml"


def _approvals(estate: Estate) -> Iterator[_Term]:
    """Each approval; what it allowed is over, so only whoever touches it now is told."""
    for approval in estate.approvals:
        yield _Term(
            f"the approval of {approval.subject}",
            approval.expires,
            at(estate, f"{approval.key}/expires"),
            (),
            frozenset({approval.key}),
            f"have {approval.approver} approve it again in a new file, or remove it",
        )


def _people(estate: Estate) -> Iterator[_Term]:
    """Each directory entry with an end that a contract names."""
    named: dict[str, dict[str, None]] = {}
    for contract in estate.contracts:
        fallback = contract.fallback
        for ident in (contract.owner, contract.contact, fallback.authority, fallback.approver):
            if ident is not None:
                named.setdefault(ident, {})[contract.name] = None
    for entry in estate.directory:
        if entry.valid_until is None or entry.id not in named:
            continue
        names = tuple(named[entry.id])
        key, fields = f"directory/{entry.id}", ("owner", "contact", "fallback")
        yield _Term(
            f"the {entry.kind} {entry.id}",
            entry.valid_until,
            at(estate, f"{key}/validUntil"),
            names,
            frozenset(
                {
                    f"directory/{entry.id}/validUntil",
                    *(f"contract/{name}/{field}" for name in names for field in fields),
                }
            ),
            "name somebody else, or prolong the entry",
        )

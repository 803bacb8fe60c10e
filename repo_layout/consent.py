"""Which people a change needs beside the owners of its files: whoever stands behind money, waivers and approvals.

`ebbtide diff` asks. It names ids of the directory, never people, and says what each is asked for. Pure; it must not
know a code host, nor whether anybody has approved yet.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from contracts.values import Money
from repo_layout.change import Effects, Turn
from repo_layout.change_sums import SpendChange
from repo_layout.model import Estate


class Ask(enum.Enum):
    """Why somebody has to approve."""

    SPEND = "answers for more than their authority"
    WAIVER = "a waiver rests on their word"
    APPROVAL = "an approval is given in their name"
    REMOVAL = "units are taken away"


@dataclass(frozen=True, slots=True)
class Asked:
    """Ids of the directory of whom one is asked, and what about.

    `about` is a person (spend), a key of `Estate.sources` (waiver, approval) or a region (removal). `numbers` are the
    sum and the limit as text. Nobody is named where the files name nobody.
    """

    who: tuple[str, ...]
    ask: Ask
    about: str
    numbers: tuple[str, str] = ("", "")


def asked(effects: Effects, head: Estate) -> tuple[Asked, ...]:
    """Everybody that the change needs, spend first."""
    return (*_spend(effects, head), *_words(effects, head), *_removals(effects, head))


def _spend(effects: Effects, head: Estate) -> Iterator[Asked]:
    """Sums that grew, or an authority that shrank, to where the sum is above the authority."""
    for change in effects.spend:
        if not change.above or not (_grew(change.before, change.after) or _shrank(change)):
            continue
        approvers = {
            contract.fallback.approver
            for contract in head.contracts
            if contract.fallback.allowed and contract.fallback.authority == change.person
        }
        own = change.authority_after
        numbers = (str(change.after), str(own) if own is not None else "nothing")
        yield Asked(tuple(sorted(one for one in approvers if one)), Ask.SPEND, change.person, numbers)


def _grew(before: Money, after: Money) -> bool:
    """Whether a sum is more than before; in another currency nobody has agreed to it yet."""
    return before.currency != after.currency or after > before


def _shrank(change: SpendChange) -> bool:
    """Whether the authority before was enough for the sum now."""
    own = change.authority_before
    return own is not None and not _grew(own, change.after)


def _words(effects: Effects, head: Estate) -> Iterator[Asked]:
    """Waivers and approvals that are new or say something else: the person whose word they carry."""
    waivers = {f"waiver/{one.region}/{one.eligibility_class}": one.approver for one in head.waivers}
    approvals = {one.key: one.approver for one in head.approvals}
    for change in effects.things:
        if change.turn is Turn.REMOVED:
            continue
        for by_key, ask in ((waivers, Ask.WAIVER), (approvals, Ask.APPROVAL)):
            if change.key in by_key:
                yield Asked((by_key[change.key],), ask, change.key)


def _removals(effects: Effects, head: Estate) -> Iterator[Asked]:
    """Regions that lose more than goes without an approval; an approval that comes with the change is one."""
    new = [change.key for change in effects.things if change.kind == "approval" and change.turn is Turn.ADDED]
    by = {one.key: one.approver for one in head.approvals}
    for change in effects.units:
        if change.needs_approval:
            who = tuple(sorted({by[key] for key in new if key in by}))
            yield Asked(who, Ask.REMOVAL, change.region, (f"{change.taken:,}", f"{change.before:,}"))

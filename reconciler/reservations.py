"""The money that is reserved for fallback, kept in the store that a partition's replicas share.

Used by `loop`: it reads the wallet before a cycle decides, and writes what the arbiter added before any purchase goes
out. Both compare and swap, so that two leaders never reserve from the same remainder. A write that is not confirmed
takes that cycle's purchases back; what it may have reserved all the same is wasted for an hour, and never exceeded.
What the store lost is rebuilt from our own copy only where nobody can have reserved after it; else the day is closed:
nothing is bought on it until a person says what was spent. Who does not lead writes down what it sees reserved: a store
that shows less later was set back while nobody looked.
"""

from __future__ import annotations

from collections.abc import Mapping

from contracts.errors import EbbtideError
from contracts.frozen import replace
from ledger.events import EventType, Paid
from reconciler.arbiter import Risk, Wallet
from reconciler.cycle import Decision, Memory, Seen
from reconciler.leadership import Leadership
from reconciler.ports import Store
from reconciler.steps import ADDS, Step
from reconciler.wallets import read_wallet, write_wallet


class Reservations:
    """One partition's wallet in the store; `problem` says in a sentence why it could not be used last."""

    def __init__(self, store: Store, *, key: str, leadership: Leadership) -> None:
        self.problem = ""
        self._store, self._key, self._leadership = store, key, leadership
        self._revision = ""

    def read(self, copy: Wallet, *, day: str, leads: bool) -> Wallet | None:
        """What is reserved; None where it cannot be said now. `copy` is what this replica remembers of it.

        A leader puts its epoch on the wallet when it first reads it, and writes what it makes of a lost one.
        """
        try:
            found = self._store.get(self._key)
            stored = read_wallet(found.value) if found else None
        except EbbtideError as error:
            self.problem = str(error)
            return None
        self._revision = found.revision if found else ""
        if not leads:
            return stored or Wallet(day, closed=True)
        if stored is not None and stored.epoch > self._leadership.epoch:
            self.problem = f"a leader with epoch {stored.epoch} has written the wallet"
            return None
        wallet = succeed(stored, copy, day=day, leadership=self._leadership)
        return wallet if wallet == stored or self._write(wallet) else None

    def look_on(self, copy: Wallet) -> Wallet:
        """What a replica that does not lead remembers of the wallet, once it has looked; `copy` where it cannot."""
        try:
            found = self._store.get(self._key)
            return witnessed(copy, read_wallet(found.value)) if found else copy
        except EbbtideError as error:
            self.problem = str(error)
            return copy

    def settle(self, decision: Decision, seen: Seen, before: Memory) -> tuple[Decision, list[Step]]:
        """Write what the decision reserved. Where the store does not confirm it: the decision without its purchases,
        as if the arbiter had not granted them, and the steps that stay at home.
        """
        after = decision.memory.wallet
        if seen.wallet is None or after == seen.wallet:
            return decision, []
        if self._write(after):
            return decision, []
        return _without_purchases(decision, seen.wallet, before.risks)

    def _write(self, wallet: Wallet) -> bool:
        if not self._leadership.holds():
            self.problem = "the lease ended before what is reserved was written"
            return False
        try:
            self._revision = self._store.put(self._key, write_wallet(wallet), expected=self._revision)
        except EbbtideError as error:
            self.problem = str(error)
            return False
        self.problem = ""
        return True


def succeed(stored: Wallet | None, copy: Wallet, *, day: str, leadership: Leadership) -> Wallet:
    """The wallet that the leader goes on with, under its own epoch.

    The stored one is believed unless it is missing, is less than our copy of it, or lies in a store that was brought
    back from earlier days. Our copy then is, where we wrote it in this tenure, or it is of the day in hand and we led
    last before it. Otherwise nobody knows what was reserved: the day is closed.
    """
    epoch = leadership.epoch
    new_here = stored is None or stored.epoch != epoch
    if stored is not None and not _less(stored, copy) and not (new_here and leadership.older):
        return replace(stored, epoch=epoch)
    last = copy.epoch == epoch - 1 and copy.epoch in (leadership.succeeded, leadership.before)
    known = bool(copy.epoch) and (copy.epoch == epoch or (last and copy.day >= day))
    wallet = stored or Wallet()
    latest = max(day, wallet.day, copy.day)
    parts = [part for part in (wallet, copy) if part.day == latest]
    last_word = max((*parts, Wallet()), key=lambda part: part.opened_at)
    return Wallet(
        latest,
        _largest([part.reserved_micro for part in parts]),
        _largest([part.by_workload for part in parts]),
        epoch=epoch,
        closed=any(part.closed for part in parts) or not known,
        opened_by=last_word.opened_by,
        opened_at=last_word.opened_at,
        paid=(copy if known else wallet).paid,  # a paid hour is one, whoever says so
    )


def witnessed(copy: Wallet, stored: Wallet) -> Wallet:
    """What a replica that does not lead remembers once it has seen the stored wallet: of what others wrote since `copy`
    at least the totals. Epoch 0 says that they may have gone on, so that it proves a store older, and nothing else.
    """
    if stored.epoch <= copy.epoch or stored.day < copy.day:
        return copy
    parts = [stored] if stored.day > copy.day else [stored, copy]
    return replace(
        copy,
        day=stored.day,
        reserved_micro=_largest([part.reserved_micro for part in parts]),
        by_workload=_largest([part.by_workload for part in parts]),
        epoch=0,
        closed=False,
    )


def _less(stored: Wallet, copy: Wallet) -> bool:
    """Whether the stored wallet lacks something that stood there before: days and their totals only grow."""
    if stored.day != copy.day:
        return stored.day < copy.day
    pairs = ((stored.reserved_micro, copy.reserved_micro), (stored.by_workload, copy.by_workload))
    return any(have.get(who, 0) < amount for have, had in pairs for who, amount in had.items())


def _largest(totals: list[Mapping[str, int]]) -> dict[str, int]:
    names = sorted({name for total in totals for name in total})
    return {name: max(total.get(name, 0) for total in totals) for name in names}


def _without_purchases(decision: Decision, wallet: Wallet, risks: Mapping[str, Risk]) -> tuple[Decision, list[Step]]:
    bought = {event.workload for event in decision.events if event.type is EventType.FALLBACK_RESERVED}
    kept = dict(decision.memory.risks)
    for name in bought:
        was = risks.get(name, Risk())
        kept[name] = replace(kept.get(name, Risk()), hours=was.hours)
    home = [step for step in decision.allowed if step.kind in ADDS and step.paid is Paid.FALLBACK]
    left = replace(
        decision,
        memory=replace(decision.memory, wallet=wallet, risks=kept),
        allowed=tuple(step for step in decision.allowed if step not in home),
        events=tuple(event for event in decision.events if event.type is not EventType.FALLBACK_RESERVED),
    )
    return left, home

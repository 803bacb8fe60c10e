"""What is still owed for notices and losses, kept in the store that a partition's replicas share.

Used by `loop` alone. A leader writes what it will owe before the steps that pay a debt are told or begun, so that its
successor owes just what nobody paid: what stands there, and what the provider said later. A write that is not confirmed
keeps those steps at home. What the store does not say for sure is not paid again; it comes back as growth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from contracts.errors import EbbtideError, Refused
from ledger.events import Event, EventType
from pools.provider import Conflict
from reconciler.answers import answered
from reconciler.cycle import Decision, Memory, Seen
from reconciler.fleet import Debt
from reconciler.leadership import Leadership
from reconciler.plain import form_of, to_text
from reconciler.ports import LARGEST_VALUE, Store
from reconciler.steps import ADDS, Step

OWING = frozenset({EventType.NOTICE_RECEIVED, EventType.INSTANCE_LOST, EventType.INSTANCE_FAILED})
"""What a debt may come from: from such a cycle on, others must know what became of it."""


Place = tuple[int, int]
"""A time of the provider's, and a number."""


@dataclass(frozen=True, slots=True)
class Owed:
    """What the leader of `epoch` owes: up to when its memory knows what happened and the number of its next instance
    are its `place`, and `before` was the place of the memory that it acts on.
    """

    epoch: int = 0
    place: Place = (0, 0)
    before: Place = (0, 0)
    debts: tuple[Debt, ...] = ()


_FORM = form_of(Owed)
NOTHING = Owed()


class Owing:
    """One partition's debts in the store. Who does not know what the last leader owed vouches for nothing before its
    first whole look.

    A word is written over the one that was read before, by whoever still held the lease after reading it: a leader
    whose term ended meanwhile replaces nothing of its successor's.
    """

    def __init__(self, store: Store, *, seat: str, leadership: Leadership) -> None:
        self._store, self._key, self._leadership = store, f"owed/{seat}", leadership
        self._revision = ""
        self._written = NOTHING
        self._doubt = False
        self._begun = 0
        self._sure = False

    def begin(self, memory: Memory, *, now: int) -> Memory | None:
        """The memory to lead with in this term, owing what is owed; None while the store does not answer, or where
        the term is over.

        Our own word is put there at once: what the last leader still has under way does not land after it.
        """
        leadership = self._leadership
        epoch = leadership.epoch
        if self._begun == epoch:
            return memory
        try:
            found = answered(lambda: self._store.get(self._key))
            last = read_owed(found.value) if found is not None else NOTHING
            self._revision, self._doubt = found.revision if found is not None else "", False
            # the word of the term before this one, in a store that knows of every term
            self._sure = 0 < last.epoch == leadership.succeeded and not leadership.older
            memory = succeed(memory, last, epoch=epoch, proven=self._sure, now=now)
            self._put(self._of(memory, memory, memory.fleet.debts, epoch) if self._sure else NOTHING)
        except EbbtideError:
            return None
        self._begun = epoch
        return memory

    def settle(
        self, decision: Decision, seen: Seen, going: Sequence[Step], before: Memory, untold: Sequence[Event]
    ) -> tuple[list[Step], list[Step]]:
        """Write what is owed once these steps went out; those that may go, and those that stay at home.

        `untold` are events that the ledger does not have yet. What is owed by a word of our own among them is written
        once that was told: a successor would pay beside what never failed in the ledger, or name a loss it never had.
        """
        self._sure = self._sure or (seen.listing is not None and seen.listing.complete and seen.signals.as_of > 0)
        memory = decision.memory
        paid = {step.replaces for step in going if step.replaces}
        ours = _our_words((*untold, *decision.events))
        debts = tuple(debt for debt in memory.fleet.debts if debt.instance not in paid)
        debts = tuple(debt for debt in debts if not {debt.instance, debt.cause_event} & ours)
        epoch = memory.epoch if self._sure else 0
        changed = (epoch, debts) != (self._written.epoch, self._written.debts)
        if changed or any(step.kind in ADDS for step in going) or _heard(decision.events):
            try:
                self._put(self._of(memory, before, debts, epoch))
            except EbbtideError:
                return [step for step in going if not step.replaces], [step for step in going if step.replaces]
        return list(going), []

    def _of(self, memory: Memory, before: Memory, debts: tuple[Debt, ...], epoch: int) -> Owed:
        until, number = _place(memory)
        return Owed(epoch, (max(until, self._written.place[0]), number), _place(before), debts)

    def _put(self, owed: Owed) -> None:
        if self._doubt:
            self._look_again()
        if not self._leadership.holds():
            raise Conflict("the lease ended before what is owed was written")
        self._doubt = True
        self._revision = answered(lambda: self._store.put(self._key, write_owed(owed), expected=self._revision))
        self._written, self._doubt = owed, False

    def _look_again(self) -> None:
        """After a write that was not confirmed: go on from what stands there. It is a word of ours that came late, one
        of a leader of before that had it under way, or none; what a later one wrote stays.
        """
        found = answered(lambda: self._store.get(self._key))
        if found is not None and read_owed(found.value).epoch > self._begun:
            raise Conflict("another leader has written what is owed")
        self._revision = found.revision if found is not None else ""


def succeed(memory: Memory, last: Owed, *, epoch: int, proven: bool, now: int) -> Memory:
    """The memory that owes what the last leader left unpaid. Its own debts hold where it is the last leader's own, as
    it stood then or before that cycle, of which nothing was told or begun; without a word from the store, where no
    other term can lie between.
    """
    fleet, place, own = memory.fleet, _place(memory), memory.guard.judged_at > 0
    if proven:
        until, number = last.place
        later = place[0] >= until and place[1] >= number
        if own and memory.epoch == last.epoch and (later or place == last.before):
            fleet = replace(fleet, known=(last.epoch, max(number, fleet.sequence)))
        else:
            fleet = replace(fleet, debts=last.debts, answered_until=until, known=(last.epoch, number))
    elif own and memory.guard.epoch < epoch - 1:
        fleet = replace(fleet, debts=(), answered_until=now, known=(0, 0))
    else:
        fleet = replace(fleet, known=(0, 0))
    return replace(memory, fleet=fleet)


def _place(memory: Memory) -> Place:
    """Up to when it knows what happened, by the provider's words and listings, or answers for nothing; and what its
    next instance is called.
    """
    return max(memory.told_at, memory.listed_at, memory.fleet.answered_until), memory.fleet.sequence


def write_owed(owed: Owed) -> bytes:
    """What is owed as it stands in the store: as many debts as fit, in their order."""
    debts = owed.debts
    while True:
        value = (to_text(_FORM.dump(replace(owed, debts=debts))) + "\n").encode()
        if len(value) <= LARGEST_VALUE:
            return value
        debts = debts[: len(debts) // 2]


def read_owed(raw: bytes) -> Owed:
    """What was written so; what is damaged says nothing."""
    try:
        read = _FORM.load(json.loads(raw))
    except (Refused, ValueError, TypeError, RecursionError):
        return NOTHING
    return read if isinstance(read, Owed) else NOTHING


def _our_words(events: Iterable[Event]) -> set[str]:
    """What nobody else would tell: which instances failed, and losses that were believed without the provider's word
    (ADR 0025).
    """
    failed = {event.instance for event in events if event.type is EventType.INSTANCE_FAILED}
    lost = (event for event in events if event.type is EventType.INSTANCE_LOST)
    return failed | {event.id for event in lost if event.id.endswith(f"/{event.instance}/{event.occurred_at}")}


def _heard(events: Sequence[Event]) -> bool:
    return any(event.type in OWING for event in events)

"""What a reconciler writes down before it acts, and finds again after a crash: its journal first, then its spool.

Used by `loop` alone. The journal holds what the spool is about to be told, and where the spool stood, so that each
event reaches it exactly once, whatever ends the process when. The spool never runs ahead of the journal: what the
journal does not take stays in memory, and an older entry finds it again by looking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from contracts.errors import EbbtideError
from ledger.events import Event
from reconciler.acting import Ports
from reconciler.answers import answered, asked
from reconciler.appraisal import Appraiser, Learnt
from reconciler.baselines import Baselines
from reconciler.cycle import Memory
from reconciler.lessons import Lessons, learnt_of, lessons_of
from reconciler.resume import Resumed, at_term, resume
from reconciler.saved import Saved, Writer, decode
from reconciler.steps import Step

FRESH_MS = 600_000
"""How old a memory may be that is gone on from although the store does not say whose was the last."""


class Logbook:
    """One replica's journal and spool. `unrecorded` are events that the spool has not taken yet.

    `lineage` names the memory that is kept here, from the first act that rests on it. The store says whose memory the
    last act rested on: a memory that others have acted beyond is no memory to go on with, since what they released
    would look lost.
    """

    def __init__(self, ports: Ports, appraiser: Appraiser, *, seat: str) -> None:
        self.unrecorded: list[Event] = []
        self.lineage = ""
        self._ports, self._appraiser, self._seat = ports, appraiser, seat
        self._writer = Writer()
        self._lessons: tuple[Learnt, Lessons] | None = None
        self.baselines = Baselines(ports.store, seat=seat)
        self._owned_in = 0

    def open(self) -> Memory:
        """The memory that an earlier process left, or an empty one; events that it had not told yet are told first.

        Raises `Refused` for a journal that is damaged, or of another version: that is never an empty disk.
        """
        journal = self._ports.journal
        content = journal.load() if journal is not None else None
        if content is None:
            return Memory()
        saved = decode(content)
        found: Resumed = resume(saved, position=self._ports.recorder.position())
        self._appraiser.take_up(learnt_of(saved.lessons, found.memory.fleet, self._appraiser.outlook))
        self.lineage = saved.lineage
        self._record(found.events)
        return found.memory

    def own(self, memory: Memory, epoch: int, *, older: bool, holds: Callable[[], bool]) -> Memory | None:
        """The memory to act on in this term: the one in hand, or an empty one where others have acted beyond it.

        Asks the store once a term; None while that does not answer, or shows a later leader's writing, and then nothing
        may be done. `older` says that the store is a copy of earlier days, and `holds` whether the lease still does:
        whoever lost it after reading whose memory was the last names none of its own, or a successor would take that
        one's acts for the last.
        """
        if self._owned_in == epoch:
            return memory
        store, key = self._ports.store, f"memory/{self._seat}"
        try:
            found = answered(lambda: store.get(key))
            said = found.value.decode(errors="replace") if found is not None else ""
            # a store that lost its word, or has one of earlier days, is no proof that nobody acted since
            late = self._ports.clock() - memory.guard.judged_at > FRESH_MS or memory.epoch < epoch - 1
            forgot = (not said or older) and not self._ports.sole and late
            beyond = bool(self.lineage) and (forgot or said not in ("", self.lineage))
            lineage = self.lineage if self.lineage and not beyond else f"{self._ports.holder}/{epoch}"
            # what was reserved at least is true, whoever acted since
            owned = Memory(wallet=memory.wallet) if beyond else at_term(memory, self._ports.clock())
            approved = self.baselines.recall()
            if self.baselines.epoch > epoch:
                return None
            if not owned.baseline.commit:  # what somebody approved outlives every memory
                owned = replace(owned, baseline=approved or memory.baseline)
            if said != lineage:
                if not holds():
                    return None
                revision = found.revision if found is not None else ""
                answered(lambda: store.put(key, lineage.encode(), expected=revision))
        except EbbtideError:
            return None
        self.lineage, self._owned_in = lineage, epoch
        return owned

    def note(
        self,
        memory: Memory,
        *,
        at: int,
        commit: str,
        events: Sequence[Event] = (),
        intents: Sequence[Step] = (),
        announced: Sequence[Event] = (),
    ) -> bool:
        """Make `memory`, `intents` and events durable; False when that did not succeed, and nothing may be begun.

        `events` that could not be written are kept for the next time; what was `announced` of the intents is not, since
        they are not begun.
        """
        told = [*self.unrecorded, *events]
        self.unrecorded = told
        position = asked(self._ports.recorder.position)
        if position is None:
            return False
        learnt = self._appraiser.learnt
        saved = Saved(
            at=at,
            commit=commit,
            position=position,
            lineage=self.lineage,
            memory=memory,
            intents=tuple(intents),
            events=(*told, *announced),
        )
        return self._save(_Entry(self, saved, learnt)) and self._record(saved.events, keep=told)

    def encoded(self, saved: Saved, learnt: Learnt) -> bytes:
        """The entry's bytes, with what lasts of all that was learnt; nothing is learnt between most notes."""
        if self._lessons is None or self._lessons[0] is not learnt:
            self._lessons = learnt, lessons_of(learnt)
        return self._writer.encode(replace(saved, lessons=self._lessons[1]))

    def _save(self, entry: _Entry) -> bool:
        journal = self._ports.journal
        if journal is None:
            return True
        try:
            answered(lambda: journal.save(entry))
        except EbbtideError:
            return False
        return True

    def _record(self, events: Sequence[Event], keep: Sequence[Event] | None = None) -> bool:
        """Append to the spool; after a failure its position says whether the batch is there."""
        recorder = self._ports.recorder
        before = asked(recorder.position)
        self.unrecorded = []
        if not events:
            return True
        try:
            answered(lambda: recorder.record(events))
        except EbbtideError:
            after = asked(recorder.position)
            if before is None or after is None or after <= before:
                self.unrecorded = list(events if keep is None else keep)
                return False
        return True


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the journal that is put into words when its bytes are asked for: all in it is frozen."""

    book: Logbook
    saved: Saved
    learnt: Learnt

    def __bytes__(self) -> bytes:
        return self.book.encoded(self.saved, self.learnt)

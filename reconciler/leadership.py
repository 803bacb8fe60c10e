"""Whether this process leads its partition now: a lease in the store, and a fencing epoch that only grows.

Used by `loop` once a cycle and by `acting` before each call. Time is the process's own monotonic clock: no two clocks
are ever compared. It knows no kinds of error: a renewal is confirmed or it is not. While a cycle rests, its caller asks
`ensure` at least every `Terms.renew`; a standby that looks less often than every term never takes over.

A paused guest's monotonic clock stands still, and its lease would seem to hold. So this machine's wall clock is watched
as well: where the two ran apart since the last renewal, nobody can say how long it was away, and the tenure is over.
"""

from __future__ import annotations

from collections.abc import Callable

from contracts.errors import EbbtideError, Refused
from contracts.frozen import replace
from reconciler.clocks import Reading, leap, read
from reconciler.lease import (
    LONGEST_HOLDER,
    NO_LEASE,
    TERMS,
    Lease,
    Tenure,
    Terms,
    Watch,
    free_at,
    lapsed,
    most_terms,
    read_lease,
    watched,
    write_lease,
)
from reconciler.ports import Store

AGAIN = 5
"""A renewal that was not confirmed is tried again after so many parts of the time between two, while a list is worked
off: often enough before the deadline, and never once a call.
"""


class Leadership:
    """One replica's claim to lead one partition.

    `epoch` is the one it leads with or led with last, 0 while it never led, and `before` the one of its tenure before.
    `succeeded` is the epoch that the store named last before ours (0: none), and `older` says that this store knows
    less than was seen elsewhere: it is a copy of earlier days, or empty. `problem` says in a sentence why this replica
    does not lead.

    `clock` is this machine's wall clock; without one a pause of the whole machine goes unnoticed.

    `sole` is the caller's word that no other process can lead over this store, because they share a process, or a file
    lock says so: then nothing is waited for, and a lease that was not renewed in time goes on once it is. A record that
    somebody else wrote all the same ends that for good.
    """

    def __init__(
        self,
        store: Store,
        *,
        key: str,
        holder: str,
        monotonic: Callable[[], int],
        clock: Callable[[], int] | None = None,
        terms: Terms = TERMS,
        sole: bool = False,
    ) -> None:
        self.epoch = self.before = 0
        self.succeeded = 0
        self.older = False
        self.problem = "this replica has not asked for the lease yet"
        self._store, self._key, self._holder, self._monotonic = store, key, holder, monotonic
        self._clock = clock or monotonic
        self._terms, self._sole = terms, sole
        self._sent: Reading | None = None
        self._tenure: Tenure | None = None
        self._confirmed: Tenure | None = None
        self._watch: Watch | None = None
        self._seen = self._seen_at = 0
        self._outdone = -1
        self._tried = 0
        self._resigned = False
        if not 0 < len(holder) <= LONGEST_HOLDER:
            raise Refused(f"a replica needs a name of at most {LONGEST_HOLDER} characters: {holder[:40]!r}")

    def ensure(self) -> bool:
        """Renew the lease, or take it where it is free; whether this replica leads. Never raises."""
        if self._resigned:
            return False
        now = self._monotonic()
        tenure = self._tenure
        if tenure is not None and (self._sole or not (lapsed(tenure, now, self._terms) or self._slept())):
            if now - tenure.renewed < self._terms.renew:
                return True
            self._renew(tenure)
        if not self._current():
            self._take()
        return self._current()

    def holds(self) -> bool:
        """Whether the lease still holds, by this process's own clock; renews it first where half a term has passed."""
        tenure = self._tenure
        if tenure is None or not self._current():
            return False
        now = self._monotonic()
        if now - tenure.renewed >= self._terms.term // 2 and now - self._tried >= self._terms.renew // AGAIN:
            self._renew(tenure)
        return self._current()

    def raise_above(self, epoch: int, *, at: int = 0) -> None:
        """Another's epoch stands on a mark or in a journal: the next tenure exceeds it and what there was time for
        since, and one that does not exceed it ends. `at` is when that was so, by this machine's wall clock, where it is
        not now.
        """
        if self._tenure is None or epoch < self.epoch:
            self._sees(epoch, at)
            return
        # that ours is the newest was the word of a store that forgot this one
        self._tenure, self._outdone = None, epoch
        self._seen, self._seen_at = epoch, at or self._clock()
        self.problem = f"a server carries epoch {epoch}, ours was {self.epoch}"

    def resign(self) -> None:
        """Give the lease up for good, so that a successor that looks on need not wait; for a graceful end."""
        tenure, self._tenure, self._resigned = self._tenure, None, True
        self.problem = "this replica gave the lease up"
        if tenure is not None:
            lease = Lease("", tenure.epoch, self._terms.term, tenure.beat + 1)
            self._write(lease, tenure.revision)

    def _current(self) -> bool:
        """Whether the tenure stands; one that was not renewed in time is over, and the next has another epoch."""
        tenure = self._tenure
        if tenure is None or self._slept():
            return False
        if not lapsed(tenure, self._monotonic(), self._terms):
            return True
        if not self._sole:
            self._tenure = None
        self.problem = f"the lease was not renewed for {self._terms.deadline} ms"
        return False

    def _slept(self) -> bool:
        """Whether this machine may have been away since its last renewal went out; then its tenure is over, and its
        own record is waited for like another's.
        """
        leap_ms = 0 if self._sole else leap(self._sent, self._reading())
        if leap_ms:
            self._tenure = self._confirmed = None
            self.problem = f"the clock was set by {leap_ms / 1000:.1f} s, or this machine was away for so long"
        return leap_ms != 0

    def _reading(self) -> Reading:
        return read(self._clock, self._monotonic)

    def _renew(self, tenure: Tenure) -> None:
        """Write the next beat. Without an answer nothing is confirmed; the record shows whether it is still ours."""
        reading = self._reading()
        sent = self._tried = reading.monotonic
        lease = Lease(self._holder, tenure.epoch, self._terms.term, tenure.beat + 1)
        revision = self._write(lease, tenure.revision)
        if revision:
            self._tenure = self._confirmed = replace(tenure, beat=lease.beat, revision=revision, renewed=sent)
            self._sent = reading
            self._sees(tenure.epoch)
            return
        # a beat is used once, so that a record tells which of our writings it is
        self._tenure = replace(tenure, beat=lease.beat)
        self._look_again(self._tenure)

    def _look_again(self, tenure: Tenure) -> None:
        """After a renewal without an answer: go on from the record if it is ours, and let go if it is another's."""
        watch = self._look()
        if watch is None:
            return
        lease = watch.lease
        if (lease.holder, lease.epoch) == (self._holder, tenure.epoch) and lease.beat <= tenure.beat:
            self._tenure = replace(tenure, revision=watch.revision)
            return
        self._tenure, self._sole = None, False
        self.problem = _whose(lease)

    def _take(self) -> None:
        """Take the lease where it is free."""
        self._tenure = None
        watch = self._look()
        if watch is None:
            return
        if not (self._sole or self._ours(watch)) and self._monotonic() < free_at(watch, self._terms):
            self.problem = _whose(watch.lease)
            return
        epoch = max(watch.lease.epoch, self._seen, self.epoch) + 1
        outdone = watch.lease.epoch <= self._outdone
        older = outdone or watch.older or watch.lease.epoch < max(self._seen, self.epoch)
        if outdone or (older and not self._sole):
            # a store that forgot may have named as many more as there was time for until the record stood still
            stood = self._monotonic() - watch.since
            epoch += most_terms(self._clock() - stood - self._seen_at, self._terms)
        reading = self._reading()
        revision = self._write(Lease(self._holder, epoch, self._terms.term, 0), watch.revision)
        if revision:
            self.before, self.epoch, self.succeeded, self.older = self.epoch, epoch, watch.lease.epoch, older
            self._tenure = self._confirmed = Tenure(epoch, 0, revision, reading.monotonic)
            self._sent = reading
            self._sees(epoch)
            self._watch, self.problem = None, ""

    def _sees(self, epoch: int, at: int = 0) -> None:
        """The newest epoch that is known of, and when it was the newest last."""
        if epoch >= self._seen:
            self._seen, self._seen_at = epoch, max(at or self._clock(), self._seen_at if epoch == self._seen else 0)

    def _ours(self, watch: Watch) -> bool:
        """Whether the record is the one that this very process wrote, so lately that nobody led since.

        After a term somebody may have, and a copy of the store may have brought our record back.
        """
        last = self._confirmed
        return (
            last is not None and watch.revision == last.revision and self._monotonic() - last.renewed < self._terms.term
        )

    def _look(self) -> Watch | None:
        """Read the record and note since when it stands so; None where that cannot be said."""
        try:
            found = self._store.get(self._key)
            lease = read_lease(found.value) if found else NO_LEASE
        except EbbtideError as error:
            self.problem = str(error)
            return None
        revision = found.revision if found else ""
        self._watch = watched(self._watch, lease, revision, self._monotonic(), self._terms)
        if lease.epoch > self._outdone:  # of what it forgot, a store does not say when it was the newest
            self._sees(lease.epoch)
        return self._watch

    def _write(self, lease: Lease, expected: str) -> str:
        """The new revision, or nothing where the store did not confirm it."""
        try:
            return self._store.put(self._key, write_lease(lease), expected=expected)
        except EbbtideError as error:
            self.problem = str(error)
            return ""


def _whose(lease: Lease) -> str:
    if lease.epoch == 0:
        return "the lease store is empty: whoever led is waited for"
    if not lease.holder:
        return f"the lease of epoch {lease.epoch} was given up: waiting until that is sure"
    return f"{lease.holder} holds the lease with epoch {lease.epoch}"

"""The reconciler's loop: observe, decide, guard, apply, record. A thin shell around `cycle.decide`.

It asks its ports, hands values to the pure core, has the steps that the guard let through carried out, and writes
events: what is about to be done before it is done. A side that does not answer is `None` in what was seen; no exception
of a port ends a cycle. Killed between any two of its steps, it goes on from its journal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contracts.frozen import replace
from ledger.events import Event
from pools.provider import Signals
from reconciler import fencing, guard
from reconciler.acting import Acting, Done, Ports
from reconciler.answers import asked
from reconciler.appraisal import Appraiser
from reconciler.cycle import Decision, Memory, Seen, decide
from reconciler.desired import Partition
from reconciler.drafts import Scribe
from reconciler.leadership import Leadership
from reconciler.logbook import Logbook
from reconciler.opening import key_of
from reconciler.outcomes import announced, named
from reconciler.owed import Owing
from reconciler.ports import SchedulerView
from reconciler.reservations import Reservations
from reconciler.steps import Step, StepKind, finishes
from repo_layout.model import Estate
from repo_layout.partitions import has

__all__ = ["Ports", "Reconciler"]


class Reconciler:
    """One partition's leader: holds memory between cycles, and finds it again in its journal after a crash.

    `deferred` steps of the last cycle found no token, lost a race or got no answer; being level-triggered, the next
    cycle finds them again, so the caller may run it soon. `stalled` counts the cycles in a row in which some were and
    nothing got done, whether they were held back before they went out or failed: the caller then waits longer each
    time.
    """

    def __init__(
        self, ports: Ports, appraiser: Appraiser, *, parted: Callable[[Estate], Partition], memory: Memory | None = None
    ) -> None:
        """`memory` is for rehearsals and tests; without one the journal says where to go on, or raises `Refused`."""
        self._parted = parted
        self.desired = ports.desired.look()
        self.part = parted(self.desired.estate)
        self.ports = ports
        self.appraiser = appraiser
        self.logbook = Logbook(ports, appraiser, seat=self.part.seat)
        self.memory = self.logbook.open() if memory is None else memory
        self.leadership = Leadership(
            ports.store,
            key=f"lease/{self.part.seat}",
            holder=ports.holder,
            monotonic=ports.monotonic,
            clock=ports.clock,
            terms=ports.terms,
            sole=ports.sole,
        )
        if self.logbook.lineage:
            self.leadership.raise_above(self.memory.epoch, at=self.memory.guard.judged_at)
        self.reservations = Reservations(ports.store, key=key_of(self.part.seat), leadership=self.leadership)
        self.owing = Owing(ports.store, seat=self.part.seat, leadership=self.leadership)
        self.acting = Acting(self.part, ports, appraiser, self.leadership)
        self.deferred = 0
        self.stalled = 0

    @property
    def unrecorded(self) -> list[Event]:
        """Events that the ledger's spool would not take yet."""
        return self.logbook.unrecorded

    def cycle(self, *, dry_run: bool = False) -> Decision:
        """One cycle; with `dry_run`, or while another replica leads, nothing is acted on, recorded, learnt or
        remembered.
        """
        leads = not dry_run and self._leads()
        self._look()
        seen = self.observe(led=leads or dry_run)
        if leads and self._outdone(seen):
            leads, seen = False, replace(seen, led=False)
        seen = replace(seen, wallet=self.reservations.read(self.memory.wallet, day=seen.day, leads=leads))
        if not leads:
            return decide(self.part, self.memory, seen, self.appraiser.rehearsal(), self.desired.commit)
        decision = decide(self.part, self.memory, seen, self.appraiser, self.desired.commit)
        self.logbook.baselines.keep(decision.memory.baseline, epoch=self.leadership.epoch, holds=self.leadership.holds)
        decision, unpaid = self.reservations.settle(decision, seen, self.memory)
        going, waiting = self.acting.tokens.admit(decision.allowed)
        going = named(going, decision.memory.fleet, self._scribe())
        going, unwritten = self.owing.settle(decision, seen, going, self.memory, self.unrecorded)
        waiting += unpaid + unwritten
        if not self._note(decision.memory, decision.events, going):
            # what cannot be written down is not begun; what was agreed before goes on
            waiting += [step for step in going if not finishes(step)]
            going = [step for step in going if finishes(step)]
        done = self.acting.carry_out(going, decision.memory.fleet, self._scribe())
        waiting += done.undone
        self.memory = replace(
            decision.memory,
            fleet=done.fleet,
            guard=guard.carried(
                guard.give_back(decision.memory.guard, seen.now, waiting, decision.memory.fleet, done.fleet),
                seen.now,
                self.ports.clock(),
            ),
        )
        if going or waiting:
            self._note(self.memory, done.events)
        self.deferred = len(waiting) + done.again
        self.stalled = self.stalled + 1 if self.deferred and not _got_done(going, done) else 0
        return decision

    def _leads(self) -> bool:
        """Whether this replica leads, with a memory that nobody else has acted beyond."""
        if not self.leadership.ensure():
            return False
        leadership = self.leadership
        owned = self.logbook.own(self.memory, leadership.epoch, older=leadership.older, holds=leadership.holds)
        if owned is not None:
            self.memory = owned  # whatever comes of this term: what others acted beyond is never gone on from
            owned = self.owing.begin(owned, now=self.ports.clock())
        if owned is None:
            if self.logbook.baselines.epoch > self.leadership.epoch:
                self.leadership.raise_above(self.logbook.baselines.epoch)
            return False
        self.memory = replace(owned, epoch=self.leadership.epoch)
        return True

    def watch(self) -> bool:
        """Renew the lease, or look on; whether this replica leads. One that does not writes down what it sees reserved:
        it may come back before whoever reserved that, over a store that was set back.
        """
        leads = self.leadership.ensure()
        known = self.memory.wallet
        seen = replace(self.memory, wallet=known if leads else self.reservations.look_on(known))
        if seen.wallet != known and self._note(seen, ()):
            self.memory = seen
        return leads

    def _outdone(self, seen: Seen) -> bool:
        """Whether a server shows a term as late as ours that is not ours; then ours has ended."""
        above = fencing.outdone(
            seen,
            owner=self.part.owner,
            epoch=self.leadership.epoch,
            known=self.memory.fleet.instances,
            begins=self.memory.guard.epoch != self.leadership.epoch,
        )
        if above is not None:
            self.leadership.raise_above(above.epoch, at=above.at)
        return above is not None

    def _look(self) -> None:
        """What the reviewed files say now. Where nobody leads by our name any more, the last that we had holds."""
        desired = self.ports.desired.look()
        moved = desired.commit != self.desired.commit
        if moved and not has(desired.estate, self.part.region, self.part.name):
            divided = f"{desired.commit} has no leader for {self.part.seat}: end this process and run those it has"
            desired = replace(self.desired, trusted=False, problem=divided)
        if desired.commit != self.desired.commit:
            self.part = self._parted(desired.estate)
            self.acting.part = self.part
        self.desired = desired

    def observe(self, *, led: bool = True) -> Seen:
        """Ask every port once; silence is None, never an empty answer."""
        ports = self.ports
        now, leap_ms = self.acting.brake.watch.look()
        began = ports.monotonic()
        signals = asked(lambda: ports.provider.signals(self.memory.cursor))
        view = asked(ports.schedulers.view)
        clusters = frozenset(contract.cluster for contract in self.part.contracts)
        listing = asked(ports.provider.instances)
        looked_ms = ports.monotonic() - began
        return Seen(
            now=now,
            signals=signals or Signals(as_of=0, cursor=self.memory.cursor),
            listing=listing,
            schedulers=view or SchedulerView(0, {}, {}, silent_clusters=clusters),
            rates=asked(ports.provider.rates),
            forward=asked(ports.provider.forward_capacity),
            quota=asked(ports.provider.quota),
            stopped=self.acting.brake.stopped(),
            led=led,
            verified=self.desired.trusted,
            day=ports.local_day(now),
            accepted_at=asked(ports.accepted_at) or 0,
            problem=self.desired.problem,
            outdated=self.desired.outdated,
            leap_ms=leap_ms,
            pending=asked(ports.recorder.pending_bytes),
            orders=tuple(asked(lambda: ports.orders(self.memory.order)) or ()),
            signed=tuple(asked(ports.signed) or ()),
            came_with=self.desired.came_with,
            looked_ms=looked_ms,
        )

    def _scribe(self) -> Scribe:
        return Scribe(
            self.part.region, self.ports.clock(), self.desired.commit, self.memory.epoch, partition=self.part.name
        )

    def _note(self, memory: Memory, events: Sequence[Event], going: Sequence[Step] = ()) -> bool:
        """Write down what is remembered, what happened, and the steps that are about to go out."""
        return self.logbook.note(
            memory,
            at=self.ports.clock(),
            commit=self.desired.commit,
            events=events,
            intents=[step for step in going if step.kind is not StepKind.QUARANTINE],
            announced=announced(going, memory.fleet, self._scribe()),
        )


def _got_done(going: Sequence[Step], done: Done) -> bool:
    """Whether any of the steps that went out was answered; a quarantine asks nobody anything."""
    asking = sum(step.kind is not StepKind.QUARANTINE for step in going)
    return asking > len(done.undone) + done.again

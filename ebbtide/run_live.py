"""`ebbtide run --provider`: the reconciler as a process that may end at any moment and goes on from what it left.

Wires the loop to a sandbox's socket and to the state directory, lets cycle follow cycle, keeps the lease in between,
and ends in order when it is asked to: no further call, the lease given up.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from contracts.errors import EbbtideError
from ebbtide import plan
from ebbtide.advice import Advice
from ebbtide.divided import partition_led
from ebbtide.render_plan import PlanView
from ebbtide.run_log import CycleLine, EndLine, as_json, as_text, counted, end_as_text, standing
from ebbtide.run_ports import Unmoved, desired_in, kept_in, ports_of, rehearsed, remembered
from ebbtide.run_state import ReconcilerState, alone_in, running_in
from ebbtide.taken import estate_or_bundle
from ebbtide.terminal import Terminal
from ebbtide.text import clock
from ledger.spool import Spool
from reconciler import cadence
from reconciler.adapters.spool_recorder import SpoolRecorder
from reconciler.appraisal import Appraiser
from reconciler.arbiter import Wallet
from reconciler.cycle import Decision
from reconciler.desired import Partition
from reconciler.fleet import Phase
from reconciler.loop import Reconciler
from repo_layout.model import Estate
from simulation.adapters.sandbox_client import SandboxLink
from simulation.sandbox_protocol import Hello

SETTLED = frozenset({Phase.JOINED, Phase.SERVING, Phase.GONE})
INTERRUPTED = 130
DAY_MS = 86_400_000


@dataclass
class Ending:
    """Whether this process was asked to end, and by which signal. A second signal ends it at once."""

    by: list[int] = field(default_factory=list)

    def heard(self, number: int, _: FrameType | None) -> None:
        """A signal arrived."""
        if self.by:
            raise KeyboardInterrupt
        self.by.append(number)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Hear SIGTERM and SIGINT instead of dying of them."""
        before = {number: signal.signal(number, self.heard) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def reason(self) -> str:
        """Why nothing more may go out; empty while nobody asked."""
        return f"this process was asked to end ({signal.Signals(self.by[0]).name})" if self.by else ""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when it was told to end or did what was asked; 1 when it ended with something left to do; 130 after Ctrl-C."""
    _understood(args)
    link = SandboxLink(Path(args.provider), client=f"{os.getpid()}")
    try:
        greeting = _greeted(args, link)
        args.region = greeting.region  # the sandbox hosts one
        if args.dry_run:
            return _dry(args, terminal, link)
        ending = Ending()
        with ending.listening():
            code = _run_in(running_in(Path(args.state)), args, terminal, link, greeting, ending=ending)
    finally:
        link.close()
    if ending.by:
        return INTERRUPTED if ending.by[0] == signal.SIGINT else 0
    return code


def _understood(args: argparse.Namespace) -> None:
    """Raises `Advice` for options of the other kind of run."""
    wrong = [name for name in ("once", "hours", "at", "trace", "model") if getattr(args, name)]
    if wrong:
        raise Advice(f"--{wrong[0]} is for a simulated day, not for --provider", hint="leave one of the two out")


def _greeted(args: argparse.Namespace, link: SandboxLink) -> Hello:
    """What the sandbox hosts. `Advice` when nobody serves there."""
    try:
        return link.open()
    except EbbtideError as error:
        raise Advice(str(error), hint=f"start it in another terminal: ebbtide sandbox {args.provider}") from error


def _dry(args: argparse.Namespace, terminal: Terminal, link: SandboxLink) -> int:
    """The plan for the next cycle, from what the state directory remembers; nothing is touched."""
    found, state = estate_or_bundle(args), ReconcilerState(Path(args.state))
    part = _part_for(link.open(), found.estate, args.partition)
    ports = ports_of(link, Unmoved(found.estate), rehearsed(state), holder="dry-run", ending=str)
    appraiser = Appraiser()
    reconciler = Reconciler(ports, appraiser, parted=lambda _: part, memory=remembered(state, appraiser))
    decision = reconciler.cycle(dry_run=True)
    when = f"{clock(link.now() % DAY_MS)} UTC"
    title = f"the sandbox at {args.provider}"
    plan.show(PlanView(part, found.shown, part.estate.commit, when, title, decision), terminal)
    return 1 if decision.refused else 0


def _part_for(greeting: Hello, estate: Estate, name: str | None) -> Partition:
    """The partition to lead of the region that the sandbox hosts. `Advice` where the estate is another's."""
    if greeting.estate != estate.settings.estate:
        raise Advice(
            f"the sandbox hosts estate {greeting.estate}, and these files are of {estate.settings.estate}",
            hint="name the estate that it was started with: --estate or --bundle",
        )
    return partition_led(estate, greeting.region, name)


def _run_in(
    state: ReconcilerState,
    args: argparse.Namespace,
    terminal: Terminal,
    link: SandboxLink,
    greeting: Hello,
    *,
    ending: Ending,
) -> int:
    """Run in a state directory that is ours alone, until the end."""
    with alone_in(state) as journal, Spool(state.spool) as spool:
        kept = kept_in(state, args.store, SpoolRecorder(spool), journal)
        desired = desired_in(args, state, greeting.region, kept.store)
        part = _part_for(greeting, desired.look().estate, args.partition)
        who = state.identified(greeting.estate, greeting.region, part.name)
        link.introduce(f"{who.holder}/{os.getpid()}")
        ports = ports_of(link, desired, kept, holder=who.holder, ending=ending.reason)
        reconciler = Reconciler(ports, Appraiser(), parted=part.again)
        running = _Running(reconciler, link, ending, terminal)
        running.say("started", str(state.folder))
        try:
            code = running.go_on(cycles=args.cycles, until_idle=args.until_idle)
        finally:
            reconciler.leadership.resign()
        running.say("ended", str(state.folder), why=ending.reason() or "what was asked for is done")
        return code


class _Running:
    """Cycle after cycle, and what passes in between."""

    def __init__(self, reconciler: Reconciler, link: SandboxLink, ending: Ending, terminal: Terminal) -> None:
        self._reconciler, self._link, self._ending, self._terminal = reconciler, link, ending, terminal
        self._count = 0

    def go_on(self, *, cycles: int | None, until_idle: bool) -> int:
        """Run until the end; 1 where the cycles that were asked for left something to do."""
        while True:
            decision = self._reconciler.cycle()
            self._count += 1
            leads = self._reconciler.leadership.holds()
            due = self._due(leads)
            self._tell(decision, leads, due)
            idle = leads and self._idle(decision)
            if self._ending.by or (until_idle and idle):
                return 0
            if cycles is not None and self._count >= cycles:
                return 1 if until_idle or decision.refused else 0
            if not self._rest(due):
                return 0

    def say(self, event: str, state: str, *, why: str = "") -> None:
        """Tell of the beginning or the end."""
        reconciler = self._reconciler
        line = EndLine(
            at=self._link.now(),
            event=event,
            holder=reconciler.ports.holder,
            region=reconciler.part.region,
            commit=reconciler.desired.commit,
            state=state,
            why=why,
            partition=reconciler.part.name,
        )
        told = as_json(line) if self._terminal.as_json else end_as_text(line, self._terminal.paint)
        self._terminal.lines([told])

    def _due(self, leads: bool) -> int:
        now, reconciler = self._link.now(), self._reconciler
        if not leads:
            return now + reconciler.ports.terms.renew
        return cadence.following(now, deferred=reconciler.deferred, stalled=reconciler.stalled)

    def _rest(self, due: int) -> bool:
        """Let time pass until the next cycle is due, and keep the lease; False when it was asked to end."""
        leadership = self._reconciler.leadership
        led, renew = leadership.holds(), self._reconciler.ports.terms.renew // 2
        while not self._ending.by:
            now = self._link.now()
            if now >= due:
                return True
            if self._link.wait(min(due - now, renew)):
                due = cadence.after_news(due, self._link.now())
            if self._reconciler.watch() and not led:
                return True
        return False

    def _idle(self, decision: Decision) -> bool:
        """Whether nothing went out, nothing waits, and no instance is on its way in or out."""
        if decision.allowed or self._reconciler.deferred:
            return False
        return all(one.phase in SETTLED for one in decision.memory.fleet.instances.values())

    def _tell(self, decision: Decision, leads: bool, due: int) -> None:
        reconciler, now = self._reconciler, self._link.now()
        line = CycleLine(
            at=now,
            cycle=self._count,
            region=reconciler.part.region,
            commit=reconciler.desired.commit,
            epoch=reconciler.leadership.epoch,
            leads=leads,
            did=counted((step.kind, step.cause) for step in decision.allowed) if leads else {},
            held=counted((refusal.step.kind, refusal.cause) for refusal in decision.refused) if leads else {},
            instances=standing(reconciler.memory.fleet),
            deferred=reconciler.deferred,
            unrecorded=len(reconciler.unrecorded),
            stopped=reconciler.acting.brake.stopped(),
            problem=reconciler.desired.problem
            or (_closed(reconciler.memory.wallet) if leads else reconciler.leadership.problem),
            next_ms=max(0, due - now),
            partition=reconciler.part.name,
        )
        told = as_json(line) if self._terminal.as_json else as_text(line, self._terminal.paint)
        self._terminal.lines([told])


def _closed(wallet: Wallet) -> str:
    """What to say while no fallback may be bought; empty while the day is open."""
    if not wallet.closed:
        return ""
    return f"no fallback is bought on {wallet.day}: ebbtide reservations says what is reserved, and opens the day"

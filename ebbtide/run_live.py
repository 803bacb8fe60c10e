"""`ebbtide run --provider`: the reconciler as a process that may end at any moment and goes on from what it left.

Wires the loop to a sandbox's socket and to the state directory, lets cycle follow cycle, keeps the lease in between,
and ends in order when it is asked to: no further call, the lease given up.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from contracts.errors import EbbtideError, Refused
from ebbtide import plan
from ebbtide.advice import Advice
from ebbtide.estate import known_region
from ebbtide.render_plan import PlanView
from ebbtide.run_log import CycleLine, as_json, as_text, counted, standing
from ebbtide.run_ports import Live, ports_of
from ebbtide.run_state import ReconcilerState, running_in
from ebbtide.taken import estate_or_bundle
from ebbtide.terminal import Terminal
from ebbtide.text import clock
from reconciler import cadence
from reconciler.cycle import Decision
from reconciler.desired import Partition, partition
from reconciler.fleet import Phase
from reconciler.loop import Reconciler
from simulation.adapters.sandbox_client import SandboxLink

RENEW_MS = 5_000
"""Between two cycles the lease is looked after so often."""

STANDBY_MS = 10_000
"""A replica that stands by looks round so often whether it has to take over."""

SETTLED = frozenset({Phase.JOINED, Phase.SERVING, Phase.GONE})
INTERRUPTED = 130


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
    found = estate_or_bundle(args)
    link = SandboxLink(Path(args.provider), client="?")
    part = partition(found.estate, known_region(found.estate, _region(args, link)))
    if args.dry_run:
        return _dry(args, terminal, link, part, found.shown)
    ending = Ending()
    with ending.listening(), running_in(Path(args.state)) as state, _live(args, state, link, part, ending) as live:
        code = _Running(args, terminal, live, ending).go_on()
    if ending.by:
        return INTERRUPTED if ending.by[0] == signal.SIGINT else 0
    return code


def _understood(args: argparse.Namespace) -> None:
    """Raises `Advice` for options of the other kind of run."""
    wrong = [name for name in ("once", "hours", "at", "trace", "model") if getattr(args, name)]
    if wrong:
        raise Advice(f"--{wrong[0]} is for a simulated day, not for --provider", hint="leave one of the two out")


def _region(args: argparse.Namespace, link: SandboxLink) -> str:
    """The region that the sandbox hosts. `Advice` when nobody serves there."""
    try:
        return link.open().region
    except EbbtideError as error:
        raise Advice(str(error), hint=f"start it in another terminal: ebbtide sandbox {args.provider}") from error


def _dry(args: argparse.Namespace, terminal: Terminal, link: SandboxLink, part: Partition, shown: str) -> int:
    """The plan for the next cycle, from what the state directory remembers; nothing is touched."""
    state = ReconcilerState(Path(args.state))
    reconciler = _reconciler(ports_of(link, part, state, None, holder="dry-run"), part)
    decision = reconciler.cycle(dry_run=True)
    when = f"{clock(link.now() % 86_400_000)} UTC"
    plan.show(PlanView(part, shown, part.estate.commit, when, f"the sandbox at {args.provider}", decision), terminal)
    return 1 if decision.refused else 0

"""Whether one more step may go out: asked before each of them, in the middle of a list or not.

Used by `acting` before each step and by `loop` once a cycle. It knows no steps: it reads the stop switch, the lease and
both clocks, and remembers an invariant that was found broken until a person starts the process again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.errors import Breach, EbbtideError
from ledger.causes import Cause
from reconciler import clocks
from reconciler.answers import answered

if TYPE_CHECKING:
    from reconciler.acting import Ports
    from reconciler.leadership import Leadership


class Brake:
    """What ends a list in its middle. `breach` says why everything stands still, empty while nothing is broken."""

    def __init__(self, ports: Ports, leadership: Leadership) -> None:
        self.breach = ""
        self.watch = clocks.Watch(ports.clock, ports.monotonic)
        self._stop, self._leadership = ports.stop, leadership

    def stopped(self) -> str:
        """Why nothing may be done now; a switch that cannot be read is on."""
        if self.breach:
            return f"breach: {self.breach}"
        try:
            return answered(self._stop.reason)
        except EbbtideError as error:
            return f"the stop switch cannot be read: {error}"

    def halt(self) -> tuple[Cause, str] | None:
        """Why nothing more may go out; None while it may."""
        leap_ms = self.watch.leap()
        if leap_ms:
            return Cause.CLOCK_JUMPED, f"the clock was set by {leap_ms / 1000:.1f} s before this step"
        if not self._leadership.holds():
            return Cause.LEASE_LOST, "the lease ended before this step"
        stopped = self.stopped()
        return (Cause.STOPPED, stopped) if stopped else None

    def note(self, error: EbbtideError) -> None:
        """Stop everything where the error is an invariant found broken."""
        if isinstance(error, Breach):
            self.breach = str(error) or self.breach

"""Whether this machine's clock can be believed now: compared with its own monotonic clock, and with the provider's.

Decides by values alone; `Watch` reads the clocks that it is given.
`acting` compares two readings before each step, the loop once a look; `cycle` compares the look with the answers
that came. A wall clock and a monotonic one progress alike while a clock is slewed, and a step, a paused guest or a
restored snapshot shows as a difference. Whose clock is right nobody can know, so everything stops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts.frozen import quick

LEAP_MS = 2_000
"""Differences up to this are no jump: a leap second that is stepped is one second, and two clocks are never read at the
same instant. Nothing that we take from a clock is shorter than fifteen seconds."""

APART_MS = 500
"""A wall clock is read between two looks at the monotonic one that are no further apart: a quarter of a jump."""

TRIES = 4
"""A process that is stopped so often between two looks is told what it read last."""


@quick
@dataclass(frozen=True, slots=True)
class Reading:
    """Both clocks of one machine at one moment: ms since the epoch, and ms that only progress."""

    wall: int
    monotonic: int


def read(clock: Callable[[], int], monotonic: Callable[[], int]) -> Reading:
    """Both clocks at one moment, as far as that can be had. A process may be stopped between two looks for as long as a
    jump is, and that is none: then it looks again. The monotonic time is the one before the wall's, so that what begins
    after this begins no earlier than it says.
    """
    before = monotonic()
    for _ in range(TRIES):
        began, wall = before, clock()
        before = monotonic()
        if before - began <= APART_MS:
            break
    return Reading(wall, began)


@quick
@dataclass(frozen=True, slots=True)
class Answers:
    """The times that the provider gave with this cycle's answers; 0 where none came."""

    listed_at: int
    told_at: int


@quick
@dataclass(frozen=True, slots=True)
class Before:
    """The last cycle that was remembered, which outlives the process: its time (0: there was none), and its doubt."""

    judged_at: int
    doubted: bool = False


def leap(before: Reading | None, after: Reading) -> int:
    """By how many ms the wall clock ran ahead of the monotonic one since `before` (behind: negative).

    0 while it did not jump, or where there is nothing to compare with.
    """
    if before is None:
        return 0
    apart = (after.wall - before.wall) - (after.monotonic - before.monotonic)
    return apart if abs(apart) > LEAP_MS else 0


class Watch:
    """Both clocks, which come in from outside, and the last look at them."""

    def __init__(self, clock: Callable[[], int], monotonic: Callable[[], int]) -> None:
        self._clock, self._monotonic = clock, monotonic
        self._looked: Reading | None = None

    def look(self) -> tuple[int, int]:
        """The time, and by how many ms the clock was set since the last look; `leap` measures from here on."""
        before, now = self._looked, read(self._clock, self._monotonic)
        self._looked = now
        return now.wall, leap(before, now)

    def leap(self) -> int:
        """By how many ms the clock was set since the last look."""
        return leap(self._looked, read(self._clock, self._monotonic))


def doubt(now: int, *, leap_ms: int, before: Before, answers: Answers, allowed_ms: int) -> str:
    """Why the clock is not believed, in a sentence with numbers; empty while it is.

    `allowed_ms` is how far our clock and the provider's may be apart. One answer that is behind is an old answer; where
    all that came are, it is the clock. A doubt stands until an answer of the provider ends it.
    """
    if leap_ms:
        way = "forward" if leap_ms > 0 else "back"
        return f"the clock was set {way} by {abs(leap_ms) / 1000:.1f} s since the last look"
    came = [at for at in (answers.listed_at, answers.told_at) if at]
    if before.judged_at - now > LEAP_MS and not (before.doubted and came):
        return f"the clock is {(before.judged_at - now) / 1000:.1f} s behind the last cycle that was written down"
    if before.doubted and not came:
        return "the clock was in doubt, and no answer of the provider has confirmed it since"
    ahead_ms = max(came, default=now) - now
    if ahead_ms > allowed_ms:
        return f"the clock is {ahead_ms // 1000} s behind the provider's, {allowed_ms // 1000} s are allowed"
    behind_ms = now - max(came, default=now)
    if len(came) > 1 and behind_ms > allowed_ms:
        return f"the clock is {behind_ms // 1000} s ahead of the provider's, {allowed_ms // 1000} s are allowed"
    return ""

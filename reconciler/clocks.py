"""Whether this machine's clock can be believed now: compared with its own monotonic clock, and with the provider's.

Pure. `acting` compares two readings before each step, the loop once a look; `cycle` compares the look with the answers
that came. A wall clock and a monotonic one progress alike while a clock is slewed, and a step, a paused guest or a
restored snapshot shows as a difference. Whose clock is right nobody can know, so everything stops.
"""

from __future__ import annotations

from dataclasses import dataclass

LEAP_MS = 2_000
"""Differences up to this are no jump: a leap second that is stepped is one second, and two clocks are never read at the
same instant. Nothing that we take from a clock is shorter than fifteen seconds."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Both clocks of one machine at one moment: ms since the epoch, and ms that only progress."""

    wall: int
    monotonic: int


@dataclass(frozen=True, slots=True)
class Answers:
    """The times that the provider gave with this cycle's answers; 0 where none came."""

    listed_at: int
    told_at: int


def leap(before: Reading | None, after: Reading) -> int:
    """By how many ms the wall clock ran ahead of the monotonic one since `before` (behind: negative).

    0 while it did not jump, or where there is nothing to compare with.
    """
    if before is None:
        return 0
    apart = (after.wall - before.wall) - (after.monotonic - before.monotonic)
    return apart if abs(apart) > LEAP_MS else 0


def doubt(now: int, *, leap_ms: int, judged_at: int, answers: Answers, allowed_ms: int) -> str:
    """Why the clock is not believed, in a sentence with numbers; empty while it is.

    `judged_at` is the time of the last cycle that was remembered (0: none), which outlives the process; `allowed_ms` is
    how far our clock and the provider's may be apart. One answer that is behind is an old answer; where all that came
    are, it is the clock.
    """
    if leap_ms:
        way = "forward" if leap_ms > 0 else "back"
        return f"the clock was set {way} by {abs(leap_ms) / 1000:.1f} s since the last look"
    if judged_at - now > LEAP_MS:
        return f"the clock is {(judged_at - now) / 1000:.1f} s behind the last cycle that was written down"
    came = [at for at in (answers.listed_at, answers.told_at) if at]
    ahead_ms = max(came, default=now) - now
    if ahead_ms > allowed_ms:
        return f"the clock is {ahead_ms // 1000} s behind the provider's, {allowed_ms // 1000} s are allowed"
    behind_ms = now - max(came, default=now)
    if len(came) > 1 and behind_ms > allowed_ms:
        return f"the clock is {behind_ms // 1000} s ahead of the provider's, {allowed_ms // 1000} s are allowed"
    return ""

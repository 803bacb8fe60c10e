"""When the next cycle is due: at the full five minutes, soon after news, less and less soon while nothing gets done.

Pure. The simulated world and the running process ask it after each cycle, so that both have one rhythm.
"""

from __future__ import annotations

CYCLE_MS = 300_000
"""Ranking and placement every five minutes."""

POKE_MS = 5_000
"""A notice or loss is answered by a cycle this much later, so that a wave is answered once."""

LONGEST_BACKOFF = 6
"""Doublings of that wait while nothing gets done: more would exceed a cycle."""


def following(now: int, *, deferred: int, stalled: int) -> int:
    """When the cycle after one that ended at `now` is due: at the next full five minutes, or soon where steps were
    deferred; each cycle in a row in which nothing got done (`stalled`) doubles that wait.
    """
    regular = (now // CYCLE_MS + 1) * CYCLE_MS
    if not deferred:
        return regular
    return min(regular, now + min(CYCLE_MS, POKE_MS << min(max(0, stalled - 1), LONGEST_BACKOFF)))


def after_news(due: int, now: int) -> int:
    """When the cycle that is due at `due` has to come, now that something wants an answer."""
    return min(due, now + POKE_MS)

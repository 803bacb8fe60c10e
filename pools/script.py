"""What a provider under test is told to do wrong, and what it has said so far: shared by the fake and the simulation.

Tests and simulations write the script, adapters consult it. It must not know servers or capacity.
"""

from __future__ import annotations

import enum
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from contracts.errors import EbbtideError, Transient
from pools.provider import Conflict, Lifecycle, Notice

LOG_LIMIT = 200_000
"""Notices and lifecycle events kept: a region of 800 servers fills it in weeks."""


class Boot(enum.Enum):
    """How a create ends."""

    ACTIVE = "active"
    NO_HOST = "no_host"
    QUOTA = "quota"
    OTHER = "other"
    NEVER = "never"


def unavailable() -> EbbtideError:
    """What a failing call raises unless the script says otherwise."""
    return Transient("503 service unavailable", retry_after_s=5.0)


@dataclass(frozen=True, slots=True)
class Outage:
    """The named calls fail in [start, end); no name means every call."""

    start: int
    end: int
    calls: frozenset[str] = frozenset()


class Script:
    """Failures, boot outcomes and latencies in the order they are to happen; an empty one lets everything succeed."""

    def __init__(self) -> None:
        self.outages: list[Outage] = []
        self.spent_ms = 0
        self._latency_ms: dict[str, int] = {}
        self._failures: defaultdict[str, deque[Callable[[], EbbtideError]]] = defaultdict(deque)
        self._lost: defaultdict[str, int] = defaultdict(int)
        self._pages: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._boots: defaultdict[str, deque[Boot]] = defaultdict(deque)
        self._conflicts: defaultdict[str, int] = defaultdict(int)

    def fail(self, call: str, *, times: int = 1, error: Callable[[], EbbtideError] = unavailable) -> None:
        """The next `times` calls of this method raise what `error` makes."""
        self._failures[call].extend([error] * times)

    def lose_answer(self, call: str, *, times: int = 1) -> None:
        """The next `times` calls of this method take effect, but their answer never comes."""
        self._lost[call] += times

    def fail_page(self, part: str, page: int, *, times: int) -> None:
        """Page `page` (from 1) of this part fails the next `times` times it is read."""
        self._pages[part, page] += times

    def boot(self, pool: str, *outcomes: Boot) -> None:
        """The next creates in this pool end so, one each."""
        self._boots[pool].extend(outcomes)

    def conflict(self, pool: str, *, times: int) -> None:
        """The next `times` creates in this pool lose the race for the inventory."""
        self._conflicts[pool] += times

    def latency(self, call: str, milliseconds: int) -> None:
        """Each call of this method takes so long; the sum stands in `spent_ms`, nobody waits."""
        self._latency_ms[call] = milliseconds

    def on_call(self, call: str, now: int) -> None:
        """Raises what the script holds for this call at this time; adapters begin each method with it."""
        self.spent_ms += self._latency_ms.get(call, 0)
        if self._failures.get(call):
            error = self._failures[call].popleft()
            raise error()
        for outage in self.outages:
            if outage.start <= now < outage.end and (not outage.calls or call in outage.calls):
                raise Transient(f"{call}: 503 service unavailable")

    def on_answer(self, call: str) -> None:
        """Raises `Transient` when this call's answer is to be lost; adapters end a changing method with it."""
        if self._lost.get(call):
            self._lost[call] -= 1
            raise Transient(f"{call}: timed out; it may have taken effect")

    def on_page(self, part: str, page: int) -> None:
        """Raises `Transient` while this page is to fail."""
        if self._pages.get((part, page)):
            self._pages[part, page] -= 1
            raise Transient(f"{part}: 503 on page {page}")

    def on_create(self, pool: str) -> Boot | None:
        """How this create ends, None when nothing is written about it; raises `Conflict` while the race is lost."""
        if self._conflicts.get(pool):
            self._conflicts[pool] -= 1
            raise Conflict(f"{pool}: 409 generation conflict", retry_after_s=1.0)
        queue = self._boots.get(pool)
        return queue.popleft() if queue else None

    @property
    def pages_fail(self) -> bool:
        """Whether any page is still to fail."""
        return any(self._pages.values())


class SignalLog:
    """What was said, in order; a cursor is the number of the next entry as text."""

    def __init__(self, limit: int = LOG_LIMIT) -> None:
        self._limit = limit
        self._first = 0
        self._said: list[Notice | Lifecycle] = []

    def say(self, entry: Notice | Lifecycle) -> None:
        """Adds one entry; the oldest tenth leaves when the limit is reached."""
        self._said.append(entry)
        if len(self._said) > self._limit:
            dropped = max(1, self._limit // 10)
            del self._said[:dropped]
            self._first += dropped

    def since(self, cursor: str) -> tuple[str, tuple[Notice, ...], tuple[Lifecycle, ...]]:
        """The next cursor and what was said from this one on; an unknown cursor means everything that is kept."""
        last = self._first + len(self._said)
        start = int(cursor) if cursor.isascii() and cursor.isdigit() else self._first
        if not self._first <= start <= last:
            start = self._first
        said = self._said[start - self._first :]
        notices = tuple(entry for entry in said if isinstance(entry, Notice))
        return str(last), notices, tuple(entry for entry in said if isinstance(entry, Lifecycle))

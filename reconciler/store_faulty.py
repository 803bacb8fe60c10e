"""A store in front of another that fails as it is told to: for tests of whatever keeps values in one.

It plays what `reconciler.ports.Store` allows: silence before and after the call took effect. An answer that is out of
date breaks the seam's promise, and is here to show that a comparison at the time of writing is what protects.
"""

from __future__ import annotations

from collections import deque

from contracts.errors import Transient
from reconciler.fakes import Failures
from reconciler.ports import Store, Versioned


class FaultyStore(Failures):
    """`fail("get" or "put", errors)` raises before anything happened; the other scripts stand at their methods."""

    def __init__(self, inner: Store) -> None:
        super().__init__()
        self.inner = inner
        self._lost: deque[Exception] = deque()
        self._late: deque[tuple[str, bytes, str]] = deque()
        self._delays = 0
        self._stale = 0
        self._answers: dict[str, Versioned | None] = {}

    def lose_answers(self, *errors: Exception) -> None:
        """The next writes happen, and raise these instead of answering."""
        self._lost.extend(errors)

    def delay_writes(self, count: int) -> None:
        """The next writes raise silence and reach the store when `deliver` is called."""
        self._delays += count

    def deliver(self) -> None:
        """The delayed writes arrive, each for what it expected when it was sent."""
        while self._late:
            key, value, expected = self._late.popleft()
            try:
                self.inner.put(key, value, expected=expected)
            except Transient:  # it came too late; its sender has long gone on
                continue

    def answer_stale(self, times: int) -> None:
        """The next reads answer what the read before them did."""
        self._stale += times

    def get(self, key: str) -> Versioned | None:
        """As the seam promises, but for what the script says."""
        self.enter("get")
        if self._stale and key in self._answers:
            self._stale -= 1
            return self._answers[key]
        self._answers[key] = self.inner.get(key)
        return self._answers[key]

    def put(self, key: str, value: bytes, *, expected: str) -> str:
        """As the seam promises, but for what the script says."""
        self.enter("put")
        if self._delays:
            self._delays -= 1
            self._late.append((key, value, expected))
            raise Transient("no answer, and nothing has happened yet")
        revision = self.inner.put(key, value, expected=expected)
        if self._lost:
            raise self._lost.popleft()
        return revision

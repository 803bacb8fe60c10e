"""The stop in the store that the replicas share: one key that stops every replica of a partition, wherever it runs.

It is read at most every four seconds, whoever asks, so that no action begins five seconds after the key was written and
an action costs no question of its own. While the store does not answer, what it said last stands: the lease ends
seconds later, and with it everything. `EitherStop` puts the local file before it, which needs no network at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contracts.errors import EbbtideError, Refused
from reconciler.ports import StopSwitch, Store

READ_EVERY_MS = 4_000
"""A stop is obeyed within five seconds; one read and the call that follows it fit into the fifth."""

LONGEST_REASON = 500


def key_of(region: str) -> str:
    """The key of a region's stop."""
    return f"stop/{region}"


class StoreStop:
    """`StopSwitch` over `stop/<region>`; an empty value is no stop."""

    def __init__(self, store: Store, *, region: str, monotonic: Callable[[], int]) -> None:
        self._store, self._key, self._monotonic = store, key_of(region), monotonic
        self._said = "the store's stop key was never read"
        self._read_at: int | None = None

    def reason(self) -> str:
        """Why everything is stopped; empty when it is not."""
        now = self._monotonic()
        if self._read_at is None or now - self._read_at >= READ_EVERY_MS:
            try:
                found = self._store.get(self._key)
            except EbbtideError:
                return self._said
            self._read_at = now
            self._said = found.value.decode("utf-8", "replace").strip()[:LONGEST_REASON] if found else ""
        return self._said

    def stop(self, reason: str, who: str, *, stamp: str) -> None:
        """Stop every replica. Raises `Refused` without a reason or a person, `Transient` where the store is silent."""
        if not reason.strip() or not who.strip():
            raise Refused("a stop needs a reason and the id of who asks for it")
        self._put(f"{' '.join(reason.split())} ({who.strip()}, {stamp})".encode())

    def resume(self) -> bool:
        """Take the stop away; False when there was none."""
        found = self._store.get(self._key)
        if found is None or not found.value:
            return False
        self._put(b"")
        return True

    def _put(self, value: bytes) -> None:
        found = self._store.get(self._key)
        self._store.put(self._key, value, expected=found.revision if found else "")
        self._read_at = None


class EitherStop:
    """Several switches as one: whichever stops, stops. The first is asked first."""

    def __init__(self, switches: Sequence[StopSwitch]) -> None:
        self._switches = tuple(switches)

    def reason(self) -> str:
        """The first reason there is; empty when nothing is stopped."""
        for switch in self._switches:
            if why := switch.reason():
                return why
        return ""

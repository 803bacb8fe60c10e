"""The people of a simulated region: they look when they are called, and act slowly, by what is true.

They accept a listing when what it lacks is really gone, approve some of the large removals (in `git_host`), and start a
reconciler again that stands still after a breach. Called after each cycle of a leader.
"""

from __future__ import annotations

from collections.abc import Sequence

from ledger.causes import Cause
from reconciler.breakers import Order
from reconciler.cycle import Decision
from simulation.chronicle import Chronicle
from simulation.replica import Replica
from simulation.world import World

ANSWER_MS = 900_000
"""A quarter of an hour after an alert somebody has looked."""

WHO = "head-of-cloud"


class People:
    """Whoever is on call: `orders` are what they ordered, oldest first, and `accepted_at` the listing they accepted."""

    def __init__(self, world: World, chronicle: Chronicle) -> None:
        self._world, self._chronicle = world, chronicle
        self._improbable_since = 0
        self._broken_since = 0
        self.accepted = 0
        self.orders: list[Order] = []

    def accepted_at(self) -> int:
        """The time of the listing that somebody accepted; 0 for none."""
        return self.accepted

    def orders_after(self, number: int) -> Sequence[Order]:
        """What was ordered after the order of that number."""
        return self.orders[number:]

    def look(self, decision: Decision, replica: Replica) -> None:
        """A cycle is over: whoever was called long enough ago has come by now."""
        now = self._world.now
        called = any(refusal.cause is Cause.IMPROBABLE_LOSS for refusal in decision.refused)
        self._improbable_since = (self._improbable_since or now) if called else 0
        if called and now - self._improbable_since >= ANSWER_MS and self._gone(decision.unexplained):
            self._improbable_since = 0
            self.accepted = now + replica.skew_ms
            order = Order(len(self.orders) + 1, now, WHO, "accept-listing", "they are gone", until=self.accepted)
            self.orders.append(order)
            self._chronicle.accepted.append((now, frozenset(decision.unexplained)))
        self._after_breach(replica)

    def _after_breach(self, replica: Replica) -> None:
        breach = replica.process.reconciler.acting.brake.breach if replica.process else ""
        now = self._world.now
        if not breach:
            self._broken_since = 0
            return
        if not self._broken_since:
            self._broken_since = now
            self._chronicle.breaches.append((now, replica.name, breach))
        elif now - self._broken_since >= ANSWER_MS:
            self._broken_since = 0
            replica.kill()
            replica.start_at = now

    def _gone(self, names: Sequence[str]) -> bool:
        there = {record.server.name for record in self._world.cloud.state.records.values()}
        return not there & set(names)

"""What is reserved for fallback, by the ledger alone: whether nobody's money is behind some of what stands.

Heard by the checkers that judge returns: an authority is never exceeded, whoever cannot see and whatever waits for
approval (DESIGN 12). What is reserved too much or too little is `check_money`'s.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

from ledger.causes import Cause
from ledger.events import Event, EventType
from simulation.check_scene import Scene, term_of
from simulation.chronicle import Act

HOUR_MS = 3_600_000

AHEAD_MS = 600_000
"""What the next hour is not paid for may go back so long before its own is over: a drain takes its time, and no minute
of it may be unpaid.
"""


class Purse:
    """What is reserved for the fallback of each workload, by the ledger: what stands beyond it has to go back. What was
    reserved in an earlier term than the last pays for nothing that its leader knows of.
    """

    hears = frozenset({EventType.RATE_KNOWN, EventType.FALLBACK_RETURNED, EventType.FALLBACK_RESERVED})

    def __init__(self) -> None:
        self._spent: set[str] = set()
        self._reserved: dict[str, list[tuple[int, tuple[int, int], Decimal]]] = defaultdict(list)
        self._rates: dict[str, Decimal] = {}

    def hear(self, scene: Scene, event: Event) -> None:
        """Reservations, the rates they are made at, and what was given back because nothing is left."""
        if event.type is EventType.RATE_KNOWN:
            self._rates[event.pool] = Decimal(str(event.data["rate"]))
        elif event.type is EventType.FALLBACK_RETURNED and event.cause is Cause.AUTHORITY_SPENT:
            self._spent.add(event.workload)
        elif event.type is EventType.FALLBACK_RESERVED:
            self._spent.discard(event.workload)
            ahead = Decimal(str(event.data["amount"])) - Decimal(str(event.data.get("late", 0)))
            self._reserved[event.workload].append((scene.now, term_of(scene, event.epoch), ahead))

    def lacks(self, scene: Scene, workload: str, act: Act) -> bool:
        """Whether nothing is left for the workload, or its hour, less the time that a return takes, is paid for
        less than stood before this act.
        """
        if workload in self._spent:
            return True
        stood = [
            stand
            for stand in scene.by_workload[workload].values()
            if stand.paid == "fallback" and (not stand.asked_at or stand.name == act.name)
        ]
        since = scene.now + AHEAD_MS - HOUR_MS
        hour = [(term, amount) for at, term, amount in self._reserved[workload] if at > since]
        paid = sum((amount for term, amount in hour if term == hour[-1][0]), Decimal(0))
        return paid < sum((self._rates.get(stand.pool, Decimal(0)) for stand in stood), Decimal(0))

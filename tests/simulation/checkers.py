"""Checks over the events of a simulated run, written from what the design promises and not from the code that plans.

Each takes the ledger's events in the order in which they were recorded, and says in sentences what is broken. Only the
formats of estate and events are shared with what is checked.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from ledger.events import Event, EventType
from pools.provider import Lifecycle
from repo_layout.model import Estate

ROOTS = frozenset(
    {
        EventType.RATE_KNOWN,
        EventType.CLAIM_CHANGED,
        EventType.NOTICE_RECEIVED,
        EventType.SHORTFALL_BEGAN,
        EventType.POOL_EXCLUDED,
        EventType.POOL_PROBED,
        EventType.POOL_READMITTED,
        EventType.STORAGE_CHARGED,
        EventType.FOOTPRINT_CHARGED,
        EventType.GUARD_REFUSED,
        EventType.QUARANTINED,
        EventType.LEADER_BEGAN,
        EventType.BREAKER_TRIPPED,
        EventType.STOP_CHANGED,
        EventType.LISTING_ACCEPTED,
        EventType.REMOVAL_APPROVED,
    }
)
"""What may begin a chain of causes: people's files, their work, the provider's word and the passing of time."""


class Stand:
    """What stands where, from events alone: an instance counts from its request until it failed or ended."""

    def __init__(self, estate: Estate, region: str) -> None:
        self.domain = {pool.name: pool.domain for pool in estate.pools}
        self.groups: dict[str, list[str]] = defaultdict(list)
        kinds = estate.settings.bounds.bounding_kinds
        for group in estate.groups_of(region):
            if group.bounding and group.falls_with in kinds:
                for member in group.members:
                    self.groups[member].append(group.name)
        self.floor = {contract.name: contract.floor for contract in estate.contracts}
        self.claimed: dict[str, int] = {}
        self.where: dict[str, tuple[str, tuple[str, ...], int]] = {}
        self.units: Counter[tuple[str, str]] = Counter()

    def see(self, event: Event) -> None:
        """One more event."""
        if event.type is EventType.CLAIM_CHANGED:
            self.claimed[event.workload] = int(event.data["units"])
        elif event.type is EventType.INSTANCE_REQUESTED and event.data["paid"] == "reclaimable":
            self.where[event.instance] = event.workload, self._scopes(event.pool), int(event.data["units"])
            self._count(event.instance, 1)
        elif event.type in (EventType.INSTANCE_FAILED, EventType.INSTANCE_ENDED) and event.instance in self.where:
            self._count(event.instance, -1)
            del self.where[event.instance]

    def move(self, moved: Lifecycle) -> None:
        """The cloud runs an instance in another pool from now on."""
        if moved.name in self.where:
            workload, _, units = self.where[moved.name]
            self._count(moved.name, -1)
            self.where[moved.name] = workload, self._scopes(moved.pool), units
            self._count(moved.name, 1)

    def _scopes(self, pool: str) -> tuple[str, ...]:
        domain = self.domain[pool]
        return (f"domain {domain}", *(f"group {group}" for group in self.groups[domain]))

    def _count(self, instance: str, sign: int) -> None:
        workload, scopes, units = self.where[instance]
        for scope in scopes:
            self.units[workload, scope] += sign * units

    def over(self, instance: str) -> Iterator[str]:
        """The bounds that the instance, asked for just now, breaks: the larger of one instance and the rounded share
        of what the workload wants, 15 % in a domain and 30 % in a group.
        """
        workload, scopes, units = self.where[instance]
        desired = self.claimed[workload] - self.floor[workload]
        for scope in scopes:
            percent = 15 if scope.startswith("domain") else 30
            bound = max(units, -(-desired * percent // 100))
            stands = self.units[workload, scope]
            if stands > bound:
                yield f"{instance}: {workload} has {stands} of {desired} in {scope}, {bound} are allowed"


def bounds_broken(events: Iterable[Event], estate: Estate, region: str, moves: Iterable[Lifecycle] = ()) -> list[str]:
    """Requests of ours that created or enlarged an excess; `moves` are the cloud's own migrations, by time."""
    ahead = deque(moves)
    stand = Stand(estate, region)
    broken: list[str] = []
    for event in events:
        while ahead and event.type is EventType.INSTANCE_REQUESTED and ahead[0].at <= event.occurred_at:
            stand.move(ahead.popleft())
        stand.see(event)
        if event.type is EventType.INSTANCE_REQUESTED and event.instance in stand.where:
            broken += stand.over(event.instance)
    return broken


def payments_misplaced(events: Iterable[Event], estate: Estate) -> list[str]:
    """Floors and fallback off committed capacity, or lent work on it."""
    committed = {pool.name: pool.committed for pool in estate.pools}
    return [
        f"{event.instance} is paid as {event.data['paid']} in {event.pool}"
        for event in events
        if event.type is EventType.INSTANCE_REQUESTED and committed[event.pool] == (event.data["paid"] == "reclaimable")
    ]


def owners_mixed(events: Iterable[Event]) -> list[str]:
    """Instances asked for twice, or that two workloads or two pools had."""
    asked: Counter[str] = Counter()
    owners: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for event in events:
        if event.instance:
            owners[event.instance].add((event.workload, event.pool))
            asked[event.instance] += event.type is EventType.INSTANCE_REQUESTED
    twice = [f"{name} was asked for {count} times" for name, count in asked.items() if count != 1]
    return twice + [f"{name} belongs to {sorted(of)}" for name, of in owners.items() if len(of) > 1]


def losses_open(events: Sequence[Event]) -> list[str]:
    """Losses of a billed instance whose bill has no end."""
    names = {type_: {e.instance for e in events if e.type is type_} for type_ in EventType}
    lost = names[EventType.INSTANCE_LOST] & names[EventType.INSTANCE_STARTED]
    return sorted(lost - names[EventType.INSTANCE_ENDED])


def causes_missing(events: Sequence[Event]) -> list[str]:
    """Events whose cause is not in the ledger, or that name none and may not begin a chain."""
    known = {event.id for event in events}
    return [
        f"{event.id} of {event.caused_by!r}"
        for event in events
        if (event.caused_by not in known if event.caused_by else event.type not in ROOTS)
    ]


def debts_paid_twice(events: Iterable[Event]) -> list[str]:
    """Notices and losses that more than one instance was bought for, those aside whose boot failed."""
    bought: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if event.type is EventType.INSTANCE_REQUESTED and event.caused_by.startswith(("notice.", "instance.lost")):
            bought[event.caused_by].add(event.instance)
        elif event.type is EventType.INSTANCE_FAILED:
            for instances in bought.values():
                instances.discard(event.instance)
    return [f"{cause}: {sorted(instances)}" for cause, instances in bought.items() if len(instances) > 1]

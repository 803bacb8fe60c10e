"""Liveness (DESIGN 2, 9, 10): level-triggered, a region whose faults are over reaches its desired state.

"Over" is `Chronicle.quiet_from`; from then on `SETTLED_LOOKS` clear looks of a leader are enough for what can be put
right at once, and `REACHED_LOOKS` for what also has to be proven (excluded pools that are probed, back-offs that run
out). A unit counts as placeable, by truth alone, where hosts and quota have had room for it at every sample since, no
reclaim, pause or exclusion holds, no bound or team limit is in the way, and the pool is well worth its rate.
"""

from __future__ import annotations

from collections.abc import Iterator

from ledger.causes import Cause
from ledger.events import Event, EventType
from simulation.check_ground import allowed, quantum
from simulation.check_reading import Checker
from simulation.check_scene import SETTLED_LOOKS, Scene, behind, term_of
from simulation.check_worth import Worth
from simulation.chronicle import Act, Call, Ended, Look, Node, NodeWord

REACHED_LOOKS = 36
"""Three hours of cycles: a probe that doubles from one instance to a pool's share takes six, a back-off an hour."""

BREAKERS = frozenset(
    {
        Cause.LISTING_INCOMPLETE,
        Cause.LISTING_STALE,
        Cause.SIGNALS_SILENT,
        Cause.IMPROBABLE_LOSS,
        Cause.DESIRED_STATE_UNVERIFIED,
        Cause.SCHEDULER_SILENT,
        Cause.LEASE_LOST,
        Cause.CLOCK_JUMPED,
        Cause.SPOOL_FULL,
        Cause.RAMP,
    }
)
"""Refusals that only a fault explains: none is left once every look is clear."""

LATCHED_LOOKS = SETTLED_LOOKS + 4
"""A breaker that was met last before the first clear look is told as over within ten minutes, and some looks more."""

APART_MS = 4 * 60_000
"""Looks that follow each other faster than cycles do, because an answer was lost, give what is waited for no more
time."""


class Drained(Checker):
    """Nothing stays draining past its agreed end: some clear looks later the server is gone. A return that its node
    never heard of is known to who asked for it alone; whoever leads after goes by what is (DESIGN 2).
    """

    name = "check_liveness.Drained"

    def __init__(self) -> None:
        self._over: dict[str, int] = {}
        self._asked: dict[str, tuple[str, int]] = {}
        self._drains: set[str] = set()
        self._counted_at = 0

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Who asked last."""
        if act.call is Call.ASK_RETURN:
            self._asked[act.name] = act.replica, act.epoch
        yield from ()

    def on_node(self, scene: Scene, node: Node) -> Iterator[str]:
        """Which nodes heard."""
        if node.word is NodeWord.DRAINING:
            self._drains.add(node.server)
        yield from ()

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """Count the clear looks that found each drained server still there."""
        over = {s.server: s for s in scene.standing.values() if s.asked_at and 0 < s.agreed < look.listed_at}
        self._over = {server: count for server, count in self._over.items() if server in over}
        if scene.trouble(look) or look.at < self._counted_at + APART_MS:
            return
        self._counted_at = look.at
        for server, stand in over.items():
            if server not in self._drains and self._asked.get(stand.name) != (look.replica, look.epoch):
                self._over.pop(server, None)
                continue
            self._over[server] = self._over.get(server, 0) + 1
            if self._over[server] == SETTLED_LOOKS:
                yield f"{stand.name} was to be gone by {stand.agreed} and stands after {SETTLED_LOOKS} clear looks"


class Cleared(Checker):
    """With the faults over, no breaker stays tripped: no refusal is told any more that only a fault explains, and what
    a leader told as tripped in its term it tells as over. An epoch that serves again, because nothing outlived a lost
    site that told of it, is another's term.
    """

    name = "check_liveness.Cleared"
    hears = frozenset({EventType.BREAKER_TRIPPED, EventType.BREAKER_CLEARED, EventType.GUARD_REFUSED})

    def __init__(self) -> None:
        self._clear = 0
        self._counted_at = 0
        self._tripped: dict[str, tuple[Event, tuple[int, int]]] = {}

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """Count clear looks of leaders since the faults are over; what still stands then has latched."""
        if not look.leads:
            return
        if look.at < scene.chronicle.quiet_from or scene.trouble(look):
            self._clear = self._counted_at = 0
        elif look.at >= self._counted_at + APART_MS:
            self._clear += 1
            self._counted_at = look.at
            for name, (event, term) in self._tripped.items():
                if self._clear == LATCHED_LOOKS and term == term_of(scene, look.epoch):
                    yield f"{name} stands since {event.occurred_at}, after {self._clear} clear looks still"

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Judge one refusal, and follow what trips and clears."""
        if event.type is EventType.BREAKER_TRIPPED and event.cause in BREAKERS:
            self._tripped[str(event.data["breaker"])] = event, term_of(scene, event.epoch)
        elif event.type is EventType.BREAKER_CLEARED:
            self._tripped.pop(str(event.data["breaker"]), None)
        if event.type is EventType.GUARD_REFUSED and event.cause in BREAKERS and self._clear > SETTLED_LOOKS:
            what = f"{event.data['action']} for {event.workload} was refused ({event.cause.value})"
            yield f"{what} after {self._clear} clear looks"


class Reached(Checker):
    """With the faults over, what is claimed and placeable runs."""

    name = "check_liveness.Reached"
    hears = Worth.hears

    def __init__(self) -> None:
        self._short: dict[str, int] = {}
        self._worth = Worth()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Rates, as they were told."""
        self._worth.heard(event)
        yield from ()

    def on_ended(self, scene: Scene, ended: Ended) -> Iterator[str]:
        """What was taken from us, by domain."""
        self._worth.ended(scene, ended)
        yield from ()

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """Count the clear looks at which each workload lacked units that could be placed."""
        self._worth.looked(scene, look)
        if not look.leads:
            return
        if look.at < scene.chronicle.quiet_from or behind(scene, look) or scene.room[0] < look.at - 3_600_000:
            self._short.clear()
            return
        for name in scene.ground.contracts:
            missing = min(scene.claims(name)) - scene.supply(name, look.at)
            where = self._placeable(scene, name, look) if missing > 0 else ""
            if not where:
                self._short.pop(name, None)
                continue
            self._short[name] = self._short.get(name, 0) + 1
            if self._short[name] == REACHED_LOOKS:
                yield f"{name} lacks {missing} units after {REACHED_LOOKS} clear looks, and {where} has room"

    def _placeable(self, scene: Scene, workload: str, look: Look) -> str:
        """A pool that could take one lot more of the workload, empty when there is none."""
        ground = scene.ground
        contract = ground.contracts[workload]
        team = ground.estate.team_by_name[contract.team]
        used = sum(
            s.units * ground.milli_ncu[s.workload]
            for s in scene.standing.values()
            if s.workload in ground.contracts and ground.contracts[s.workload].team == contract.team
        )
        desired = min(ground.interruptible(workload, units) for units in scene.wants.believable(workload))
        closed = {domain for _, domain in scene.closing}
        for name, pool in ground.pools.items():
            units = ground.units_in(workload, name)
            gang = contract.gang_size
            room = scene.room[1].get(name, 0) * units
            if pool.committed or not units or room < quantum(units, gang):
                continue
            open_ = pool.domain not in closed and name not in scene.excluded and not ground.paused(workload, name)
            within = used + quantum(units, gang) * ground.milli_ncu[workload] <= team.ncu_limit * 1000
            if open_ and within and self._worth.of(scene, workload, name) and fits(scene, workload, name, desired):
                return name
        return ""


def fits(scene: Scene, workload: str, pool: str, desired: int, useless: frozenset[str] = frozenset()) -> bool:
    """Whether one lot more keeps every bound, and leaves enough to reach the domains that are asked for; servers that
    are `useless` use none of these.
    """
    ground = scene.ground
    gang = ground.contracts[workload].gang_size
    lot, share = quantum(ground.units_in(workload, pool), gang), ground.shares[workload]
    stands = [s for s in scene.by_workload[workload].values() if s.paid == "reclaimable"]
    for scope in ground.scopes[pool]:
        here = sum(s.units for s in stands if not s.pool or scope in ground.scopes.get(s.pool, ()))
        if here + lot > allowed(share.domain if scope[0] == "domain" else share.group, desired, lot):
            return False
    stands = [s for s in stands if s.server not in useless]
    domains = {ground.pools[s.pool].domain for s in stands if s.pool in ground.pools}
    if ground.pools[pool].domain not in domains:
        return True
    largest = max(ground.lot_sizes(workload))
    required = max(1, min(share.domains, desired // largest))
    return (
        len(domains) >= required or sum(s.units for s in stands) + lot + (required - len(domains)) * largest <= desired
    )

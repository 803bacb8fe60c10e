"""What placement is asked and what it answers: frozen values, complete in themselves.

The loop builds a `Problem` from ranking, claims, forward capacity and the census; `reconciler.placement.place` answers
with a `Placement`; diff, guard, explain and the checkers read both. Nothing here knows a clock, a provider or a file:
whatever holds only until some time (exclusions, pauses, quotas, minimum lifetimes) has become a number by now.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from contracts.frozen import quick
from correlation_groups.spread import Lot, Shares, lot

UNKNOWN_POOL = ""
"""The pool of an instance whose pool nobody can tell: it counts against every bound."""


@quick
@dataclass(frozen=True, slots=True)
class Resources:
    """What an instance takes and a domain has, in the four joint dimensions."""

    vcpu: int = 0
    memory_mib: int = 0
    gpu: int = 0
    disk_gib: int = 0

    def plus(self, other: Resources) -> Resources:
        """Both together."""
        return Resources(
            self.vcpu + other.vcpu,
            self.memory_mib + other.memory_mib,
            self.gpu + other.gpu,
            self.disk_gib + other.disk_gib,
        )

    def times(self, count: int) -> Resources:
        """So many of it."""
        return Resources(self.vcpu * count, self.memory_mib * count, self.gpu * count, self.disk_gib * count)

    def share_of(self, percent: int, *, least: Resources, most: Resources) -> Resources:
        """So many hundredths of it, in each dimension at least and at most so much; the least goes first."""
        return Resources(
            max(least.vcpu, min(most.vcpu, self.vcpu * percent // 100)),
            max(least.memory_mib, min(most.memory_mib, self.memory_mib * percent // 100)),
            max(least.gpu, min(most.gpu, self.gpu * percent // 100)),
            max(least.disk_gib, min(most.disk_gib, self.disk_gib * percent // 100)),
        )


@quick
@dataclass(frozen=True, slots=True)
class DomainSupply:
    """One capacity domain: `capacity` is all that we may use there now, free capacity and what our instances hold.

    It may be less than what is held (capacity is being taken back): then nothing is added, and nothing is released
    for that reason; the provider's notice does that.
    """

    name: str
    capacity: Resources


@quick
@dataclass(frozen=True, slots=True)
class PoolSupply:
    """One pool row.

    `groups` are the *bounding* correlation groups it belongs to (reported ones are left out by the caller), `instance`
    is what one server takes, `headroom` how many more servers may be added now (quota; 0 under exclusion, maintenance,
    pause or an open reclaim), `committed` tells floors' capacity from reclaimable.
    """

    name: str
    domain: str
    groups: tuple[str, ...]
    instance: Resources
    headroom: int
    committed: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """One pool that one workload may use: units per instance, and the expected cost of a useful unit-hour (1e-6)."""

    pool: str
    units: int
    cost_micro: int


@quick
@dataclass(frozen=True, slots=True)
class Offers:
    """The eligible pools of one workload, by column. Share `pools` and `units` between workloads of one class: the
    planner then indexes them once.
    """

    pools: tuple[str, ...] = ()
    units: tuple[int, ...] = ()
    cost_micro: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.pools) == len(self.units) == len(self.cost_micro):
            raise ValueError("the columns of offers have different lengths")

    @classmethod
    def of(cls, offers: Iterable[Offer]) -> Offers:
        """The same offers by column."""
        rows = tuple(offers)
        return cls(
            pools=tuple(o.pool for o in rows),
            units=tuple(o.units for o in rows),
            cost_micro=tuple(o.cost_micro for o in rows),
        )

    def __iter__(self) -> Iterator[Offer]:
        for pool, units, cost in zip(self.pools, self.units, self.cost_micro, strict=True):
            yield Offer(pool, units, cost)

    def __len__(self) -> int:
        return len(self.pools)


@dataclass(frozen=True, slots=True)
class Team:
    """A team's weight in max-min sharing, and the milli-NCU that all its workloads may hold (None: no limit)."""

    name: str
    weight: int = 1
    limit_milli_ncu: int | None = None


@quick
@dataclass(frozen=True, slots=True)
class Need:
    """What one workload wants.

    `desired` interruptible units (D of every share), `claimed` of them wanted now (at most D), `floor` units on
    committed capacity, including the `fallback` that was granted. `gang` units start and fall together (1: none); a
    gang is always put into one pool, which keeps it within one aggregate and one hall whatever `gang_within` asks.
    `milli_ncu` is the size of one unit. `move_cost_micro` is what moving one unit costs it (work redone, restart).
    """

    workload: str
    team: str
    tier: int
    desired: int
    claimed: int
    floor: int
    offers: Offers
    gang: int = 1
    fallback: int = 0
    gang_within: str | None = None
    shares: Shares = field(default_factory=Shares)
    weight: int = 1
    milli_ncu: int = 1000
    move_cost_micro: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Held:
    """Instances of one workload in one pool that exist or are asked for (until their join time-out).

    Of `instances`, `movable` are older than the minimum lifetime, `idle` are empty, and `leaving` are alive but no
    supply (draining, or not covered under a strict tier): they count in bounds and capacity only. `units` is what one
    holds. A pool that is `UNKNOWN_POOL` or not in the problem counts against every bound.
    """

    workload: str
    pool: str
    instances: int
    units: int
    movable: int = 0
    idle: int = 0
    leaving: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Problem:
    """One partition's placement, complete.

    `horizon_h` hours over which a move must pay, `max_moves` lots moved for gain in one plan, `max_excess_moves` lots
    moved out of inherited excesses in one plan, `tie_break` a seed that changes daily.
    """

    domains: tuple[DomainSupply, ...]
    pools: tuple[PoolSupply, ...]
    teams: tuple[Team, ...]
    needs: tuple[Need, ...]
    held: tuple[Held, ...] = ()
    horizon_h: int = 24
    max_moves: int = 20
    max_excess_moves: int = 5
    tie_break: int = 0


class Lack(enum.Enum):
    """What stood in the way of a unit that was not placed, or of a cheaper pool."""

    __hash__ = object.__hash__  # a member is itself, and looked up in tables all day

    NO_OFFER = "no_offer"
    CAPACITY = "capacity"
    HEADROOM = "headroom"
    POOL_SHARE = "pool_share"
    GROUP_SHARE = "group_share"
    POOL_COUNT = "pool_count"
    TEAM_LIMIT = "team_limit"


class Scope(enum.Enum):
    """What a bound is counted over."""

    DOMAIN = "domain"
    GROUP = "group"
    POOLS = "pools"


class MoveCause(enum.Enum):
    """Why a running lot changes its pool."""

    GAIN = "gain"
    EXCESS = "excess"


@quick
@dataclass(frozen=True, slots=True)
class Count:
    """Instances that one workload shall have in one pool."""

    workload: str
    pool: str
    instances: int


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Units that could not be placed, and what stood in the way, most frequent first."""

    workload: str
    floor_units: int
    units: int
    lacks: tuple[Lack, ...]


@quick
@dataclass(frozen=True, slots=True)
class BoundState:
    """One bound of one workload: units (or domains, for `Scope.POOLS`) that stand, and the bound."""

    workload: str
    scope: Scope
    name: str
    used: int
    bound: int


@dataclass(frozen=True, slots=True)
class Move:
    """Instances that change pool: acquired at `target` first, then drained at `source`. Gain in 1e-6 over horizon."""

    workload: str
    source: str
    target: str
    instances: int
    cause: MoveCause
    gain_micro: int


@dataclass(frozen=True, slots=True)
class Placement:
    """The answer: instances per workload and pool (sorted; pools with none left out), and what it could not do.

    `cost_micro` is the expected cost of one hour of what is placed; `bound_micro` a proven lower bound of it for the
    units that are placed, where the linear program ran. `exempt` are workloads of a single gang, to which the spread
    bounds do not apply; their hazard is joint. `excesses` are inherited ones that still stand after this plan.
    """

    counts: tuple[Count, ...]
    shortfalls: tuple[Shortfall, ...]
    excesses: tuple[BoundState, ...]
    moves: tuple[Move, ...]
    exempt: tuple[str, ...]
    cost_micro: int
    mode: str
    bound_micro: int | None = None
    problem: Problem | None = field(default=None, compare=False, repr=False)

    def instances(self, workload: str) -> dict[str, int]:
        """Instances per pool of one workload."""
        return {c.pool: c.instances for c in self.counts if c.workload == workload}


def lot_of(need: Need, units: int) -> Lot:
    """The lot of a pool whose instance holds `units` units of this workload."""
    return lot(units, need.gang)

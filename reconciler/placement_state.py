"""The working state of one planning run: what stands, what is free, and whether one more lot may be added.

`Standing.room` is the planner's only judge of an addition: greedy, rounding and moves all add through it, so that a
bound is kept by construction. It counts what is *alive*: what the plan releases still occupies its domain and its
bounds until it is really gone, because it is drained after its replacement is acquired.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from correlation_groups.spread import limit, pools_required
from reconciler.problem import Held, Need, Problem, Resources, lot_of

_UNBOUNDED = 1 << 60

_SORT_WITH_NUMPY = 200
"""Columns from which numpy sorts faster than Python (measured: 150 to 300)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns that all workloads of one eligibility class share; `offers` are their numbers in the offers."""

    offers: list[int]
    pools: list[int]
    quanta: list[int]
    per_lot: list[int]
    sizes: list[tuple[int, ...]]
    domains: list[int]
    groups: list[tuple[int, ...]]
    ties: list[int]
    largest: int
    smallest: int


@dataclass(slots=True, eq=False)
class Line:
    """One workload's interruptible units, or its floor; columns are its eligible pools, counted in lots.

    `have` is the planned count, `fresh` the part of it that this run added; `domain_units` and `group_units` count what
    is alive, leaving and released units included.
    Columns from `addable` on are pools that hold instances but are no longer eligible: they stay, nothing is added.
    """

    need: Need
    team: int
    is_floor: bool
    wanted: int
    shape: Shape
    pools: list[int]
    quanta: list[int]
    per_lot: list[int]
    costs: list[int]
    sizes: list[tuple[int, ...]]
    domains: list[int]
    groups: list[tuple[int, ...]]
    addable: int
    have: list[int]
    sorted_columns: list[int] | None = None
    loose: dict[int, int] = field(default_factory=dict)
    movable: dict[int, int] = field(default_factory=dict)
    idle: dict[int, int] = field(default_factory=dict)
    fresh: dict[int, int] = field(default_factory=dict)
    placed: int = 0
    unknown_instances: int = 0
    unknown_units: int = 0
    domain_units: dict[int, int] = field(default_factory=dict)
    group_units: dict[int, int] = field(default_factory=dict)
    domain_lots: dict[int, int] = field(default_factory=dict)
    largest: int = 1
    smallest: int = 1
    required: int = 0
    pool_share: int = 0
    group_share: int = 0

    @property
    def exempt(self) -> bool:
        """A workload of a single gang cannot be spread."""
        return not self.is_floor and self.need.gang > 1 and self.need.desired <= self.need.gang

    @property
    def short(self) -> int:
        """Units still wanted."""
        return max(0, self.wanted - self.placed)


class Standing:
    """All lines over the shared capacity of one problem."""

    def __init__(self, problem: Problem) -> None:
        self.asked = problem
        # One order whatever order the inputs came in, so that every later tie falls alike.
        self.problem = problem = replace(
            problem,
            domains=tuple(sorted(problem.domains, key=attrgetter("name"))),
            pools=tuple(sorted(problem.pools, key=attrgetter("name"))),
            teams=tuple(sorted(problem.teams, key=attrgetter("name"))),
            needs=tuple(sorted(problem.needs, key=attrgetter("workload"))),
            held=tuple(sorted(problem.held, key=attrgetter("workload", "pool", "units"))),
        )
        self.domain_names = [d.name for d in problem.domains]
        domain_index = {name: i for i, name in enumerate(self.domain_names)}
        self.free = [list(_sizes(d.capacity)) for d in problem.domains]
        self.pool_index = {p.name: i for i, p in enumerate(problem.pools)}
        group_index: dict[str, int] = {}
        self.pool_groups = [tuple(group_index.setdefault(g, len(group_index)) for g in p.groups) for p in problem.pools]
        self.group_names = list(group_index)
        self.pool_domain = [domain_index[p.domain] for p in problem.pools]
        self.pool_size = [_sizes(p.instance) for p in problem.pools]
        self.headroom = [p.headroom for p in problem.pools]
        self.team_index = {t.name: i for i, t in enumerate(problem.teams)}
        self.team_left = [_UNBOUNDED if t.limit_milli_ncu is None else t.limit_milli_ncu for t in problem.teams]
        self.team_used = [0] * len(problem.teams)
        self._pool_salts = [_mix(problem.tie_break, p.name) for p in problem.pools]
        self._shapes: dict[tuple[int, int, int, bool], Shape] = {}
        self.lines: list[Line] = []
        self._by_workload: dict[str, tuple[Line, Line]] = {}
        for need in problem.needs:
            self._open(need)
        for held in problem.held:
            self._load(held)
        for line in self.lines:
            self._seal(line)

    def line_of(self, workload: str) -> tuple[Line, Line]:
        """The floor line and the interruptible line of one workload."""
        return self._by_workload[workload]

    def _open(self, need: Need) -> None:
        floor = self._line(need, is_floor=True)
        rest = self._line(need, is_floor=False)
        self._by_workload[need.workload] = (floor, rest)
        self.lines += (floor, rest)

    def _line(self, need: Need, *, is_floor: bool) -> Line:
        offers = need.offers
        key = (id(offers.pools), id(offers.units), need.gang, is_floor)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = self._shape(need, is_floor=is_floor)
        costs = offers.cost_micro
        return Line(
            need=need,
            team=self.team_index[need.team],
            is_floor=is_floor,
            wanted=need.floor if is_floor else need.claimed,
            shape=shape,
            pools=shape.pools,
            quanta=shape.quanta,
            per_lot=shape.per_lot,
            costs=[costs[k] for k in shape.offers],
            sizes=shape.sizes,
            domains=shape.domains,
            groups=shape.groups,
            addable=len(shape.offers),
            have=[0] * len(shape.offers),
        )

    def _shape(self, need: Need, *, is_floor: bool) -> Shape:
        """The columns of one eligibility class: computed once for all workloads that share the class's tuples."""
        table = self.problem.pools
        chosen: list[int] = []
        pools: list[int] = []
        for k, name in enumerate(need.offers.pools):
            pool = self.pool_index.get(name)
            if pool is not None and table[pool].committed == is_floor:
                chosen.append(k)
                pools.append(pool)
        lots = [lot_of(need, need.offers.units[k]) for k in chosen]
        return Shape(
            offers=chosen,
            pools=pools,
            quanta=[one.units for one in lots],
            per_lot=[one.instances for one in lots],
            sizes=[tuple(r * one.instances for r in self.pool_size[p]) for p, one in zip(pools, lots, strict=True)],
            domains=[self.pool_domain[p] for p in pools],
            groups=[self.pool_groups[p] for p in pools],
            ties=[self._pool_salts[p] for p in pools],
            largest=max((one.units for one in lots), default=1),
            smallest=min((one.units for one in lots), default=1),
        )

    def _load(self, held: Held) -> None:
        floor, rest = self._by_workload[held.workload]
        pool = self.pool_index.get(held.pool)
        if pool is None:
            alive = held.instances * held.units
            rest.unknown_instances += held.instances
            rest.unknown_units += alive
            rest.placed += (held.instances - held.leaving) * held.units
            self._charge(rest, alive)
            return
        line = floor if self.problem.pools[pool].committed else rest
        column = self._column(line, pool, held)
        staying = held.instances - held.leaving
        lots, loose = divmod(staying, line.per_lot[column])
        quantum = line.quanta[column]
        line.have[column] += lots
        if loose:
            line.loose[column] = line.loose.get(column, 0) + loose
        movable = min(lots, held.movable // line.per_lot[column])
        line.movable[column] = line.movable.get(column, 0) + movable
        line.idle[column] = line.idle.get(column, 0) + min(lots, held.idle // line.per_lot[column])
        line.placed += lots * quantum
        free = self.free[line.domains[column]]
        for i, size in enumerate(self.pool_size[pool]):
            free[i] -= size * held.instances
        units = lots * quantum + (loose * quantum) // line.per_lot[column] + held.leaving * held.units
        self._occupy(line, column, units)
        if lots:
            domain = line.domains[column]
            line.domain_lots[domain] = line.domain_lots.get(domain, 0) + lots
        self._charge(line, units)

    def _column(self, line: Line, pool: int, held: Held) -> int:
        """The column of `pool`, appended as one that only stands where the pool is not among the offers."""
        if pool in line.pools:
            return line.pools.index(pool)
        one = lot_of(line.need, held.units)
        # The lists are shared with other workloads of the class, so they are replaced, never changed.
        line.pools = [*line.pools, pool]
        line.quanta = [*line.quanta, one.units]
        line.per_lot = [*line.per_lot, one.instances]
        # A pool that is no longer eligible has no expected cost; the dearest offer keeps it from looking like a gain.
        line.costs.append(max(line.costs, default=0))
        line.sizes = [*line.sizes, tuple(r * one.instances for r in self.pool_size[pool])]
        line.domains = [*line.domains, self.pool_domain[pool]]
        line.groups = [*line.groups, self.pool_groups[pool]]
        line.have.append(0)
        return len(line.pools) - 1

    def _seal(self, line: Line) -> None:
        """Fixes the bounds and the order of preference, once all that is held is known."""
        line.largest = line.shape.largest
        line.smallest = min(line.quanta, default=1)
        if line.is_floor:
            line.pool_share = line.group_share = _UNBOUNDED
            return
        shares = line.need.shares
        line.pool_share = limit(shares.pool_permille, line.need.desired, 1)
        line.group_share = limit(shares.group_permille, line.need.desired, 1)
        line.required = pools_required(line.wanted, line.largest, shares.pools)

    def _charge(self, line: Line, units: int) -> None:
        amount = units * line.need.milli_ncu
        self.team_used[line.team] += amount
        self.team_left[line.team] -= amount

    @staticmethod
    def _occupy(line: Line, column: int, units: int) -> None:
        domain = line.domains[column]
        line.domain_units[domain] = line.domain_units.get(domain, 0) + units
        for group in line.groups[column]:
            line.group_units[group] = line.group_units.get(group, 0) + units

    def room(self, line: Line, k: int, most: int) -> int:
        """How many lots, at most `most`, may be added in column `k` now; 0 where any bound or capacity refuses."""
        quantum = line.quanta[k]
        domain = line.domains[k]
        room = min(most, self.headroom[line.pools[k]] // line.per_lot[k])
        if room <= 0:
            return 0
        for free, size in zip(self.free[domain], line.sizes[k], strict=True):
            if size and free < size * room:
                room = free // size
        if room <= 0:
            return 0
        room = min(room, self.team_left[line.team] // (quantum * line.need.milli_ncu)) if line.need.milli_ncu else room
        if line.is_floor or room <= 0:
            return max(0, room)
        return max(0, min(room, self._room_in_bounds(line, k)))

    def allowed(self, line: Line, k: int) -> bool:
        """Whether the line's own bounds and its team's limit take one more lot in column `k`, whatever is free there."""
        if self.team_left[line.team] < line.quanta[k] * line.need.milli_ncu:
            return False
        return line.is_floor or self._room_in_bounds(line, k) > 0

    @staticmethod
    def _room_in_bounds(line: Line, k: int) -> int:
        quantum = line.quanta[k]
        domain = line.domains[k]
        share = max(quantum, line.pool_share)
        room = (share - line.domain_units.get(domain, 0) - line.unknown_units) // quantum
        share = max(quantum, line.group_share) - line.unknown_units
        for group in line.groups[k]:
            left = (share - line.group_units.get(group, 0)) // quantum
            room = min(room, left)
        fresh = domain not in line.domain_lots
        domains = len(line.domain_lots) + fresh
        if domains < line.required:
            # One lot in a domain that is not used yet never takes the workload further from its count of domains.
            kept = line.wanted - (line.required - domains) * line.largest
            room = min(room, max(int(fresh), (kept - line.placed) // quantum))
        return room

    def add(self, line: Line, k: int, lots: int) -> None:
        """Adds lots that `room` allowed."""
        units = lots * line.quanta[k]
        line.have[k] += lots
        line.placed += units
        domain = line.domains[k]
        line.domain_lots[domain] = line.domain_lots.get(domain, 0) + lots
        self.headroom[line.pools[k]] -= lots * line.per_lot[k]
        free = self.free[domain]
        for i, size in enumerate(line.sizes[k]):
            free[i] -= size * lots
        self._occupy(line, k, units)
        self._charge(line, units)
        fresh = line.fresh.get(k, 0) + lots
        if fresh:
            line.fresh[k] = fresh
        else:
            line.fresh.pop(k, None)

    def undo(self, line: Line, k: int, lots: int) -> None:
        """Takes back lots that this run added, as if they had never been."""
        self.add(line, k, -lots)
        self._drop_empty(line, k)

    def release(self, line: Line, k: int, lots: int) -> None:
        """Plans the end of standing lots; they stay alive, so neither capacity nor bounds come free in this plan."""
        line.have[k] -= lots
        line.placed -= lots * line.quanta[k]
        line.domain_lots[line.domains[k]] -= lots
        self._drop_empty(line, k)

    def restore(self, line: Line, k: int, lots: int) -> None:
        """Takes back a release of this run."""
        line.have[k] += lots
        line.placed += lots * line.quanta[k]
        domain = line.domains[k]
        line.domain_lots[domain] = line.domain_lots.get(domain, 0) + lots

    def complete(self, line: Line, k: int) -> bool:
        """Makes a whole gang of the `loose` instances in column `k`; the missing ones are added, all or none."""
        loose = line.loose[k]
        self._loosen(line, k, loose)
        if self.room(line, k, 1):
            del line.loose[k]
            self.add(line, k, 1)
            # Partly of instances that ran before, so not to be taken back as if it had never been.
            del line.fresh[k]
            return True
        self._loosen(line, k, -loose)
        return False

    def _loosen(self, line: Line, k: int, instances: int) -> None:
        """Counts loose instances out of capacity and bounds (or in again, where negative)."""
        pool = line.pools[k]
        self.headroom[pool] += instances
        free = self.free[line.domains[k]]
        for i, size in enumerate(self.pool_size[pool]):
            free[i] += size * instances
        # The quantum is spread evenly over a gang's instances for this purpose; a gang is one lot in every bound.
        units = instances * line.quanta[k] // line.per_lot[k]
        self._occupy(line, k, -units)
        self._charge(line, -units)

    @staticmethod
    def _drop_empty(line: Line, k: int) -> None:
        if not line.domain_lots[line.domains[k]]:
            del line.domain_lots[line.domains[k]]

    def order(self, line: Line) -> list[int]:
        """The columns that may be added to, cheapest first, ties by the day's hash."""
        if line.sorted_columns is None:
            salt = self.salt(line.need.workload)
            ties = line.shape.ties
            if line.addable > _SORT_WITH_NUMPY:
                keys = (np.bitwise_xor(np.array(ties), salt), np.array(line.costs[: line.addable]))
                line.sorted_columns = [int(k) for k in np.lexsort(keys)]
            else:
                key = [(cost << 32) | (tie ^ salt) for cost, tie in zip(line.costs, ties, strict=False)]
                line.sorted_columns = sorted(range(line.addable), key=key.__getitem__)
        return line.sorted_columns

    def salt(self, name: str) -> int:
        """The day's tie-break of a name."""
        return _mix(self.problem.tie_break, name)


def _sizes(resources: Resources) -> tuple[int, ...]:
    return (resources.vcpu, resources.memory_mib, resources.gpu, resources.disk_gib)


def _mix(tie_break: int, name: str) -> int:
    """A 32-bit hash of a name that changes with the day's seed."""
    return int.from_bytes(hashlib.blake2b(f"{tie_break}/{name}".encode(), digest_size=4).digest(), "big")

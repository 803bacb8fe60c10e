"""The working state of one planning run: what stands, what is free, and whether one more lot may be added.

`Standing.room` is the planner's only judge of an addition: greedy, rounding and moves all add through it, so that a
bound is kept by construction. It counts what is *alive*: what the plan releases still occupies its domain and its
bounds until it is really gone, because it is drained after its replacement is acquired.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from correlation_groups.spread import limit, pools_required
from reconciler.placement_region import Region, Shape, region_of, sizes
from reconciler.problem import Held, Need, Problem, lot_of

_UNBOUNDED = 1 << 60

_SORT_WITH_NUMPY = 200
"""Columns from which numpy sorts faster than Python (measured: 150 to 300)."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the plan keeps of one line, leaving and released units left out, those of unknown pool in every scope.

    `over_domains` and `over_groups` are the bounds that are exceeded; `domains` and `groups` tell the units of those
    scopes (and of others: all where anything is near its bound, none where nothing is).
    """

    domains: dict[int, int]
    over_domains: dict[int, int]
    groups: dict[int, int]
    over_groups: dict[int, int]


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
    kept: Kept | None = None
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
        region = region_of(tuple(d.name for d in problem.domains), problem.pools, problem.tie_break)
        self.region: Region = region
        self.domain_names = region.domain_names
        self.group_names = region.group_names
        self.pool_groups = region.pool_groups
        self.pool_domain = region.pool_domain
        self.pool_size = region.pool_size
        self.free = [list(sizes(d.capacity)) for d in problem.domains]
        self.headroom = [p.headroom for p in problem.pools]
        # Instances that are known not to fit into a pool, so that a full one is asked once.
        self._refused = [_UNBOUNDED] * len(problem.pools)
        self.team_index = {t.name: i for i, t in enumerate(problem.teams)}
        self.team_left = [_UNBOUNDED if t.limit_milli_ncu is None else t.limit_milli_ncu for t in problem.teams]
        self.team_used = [0] * len(problem.teams)
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
        shape = self.region.shape(need.offers, need.gang, is_floor=is_floor)
        costs = need.offers.cost_micro
        return Line(
            need=need,
            team=self.team_index[need.team],
            is_floor=is_floor,
            wanted=need.floor if is_floor else need.claimed,
            shape=shape,
            pools=shape.pools,
            quanta=shape.quanta,
            per_lot=shape.per_lot,
            costs=list(costs) if shape.all_offered else [costs[k] for k in shape.offers],
            sizes=shape.sizes,
            domains=shape.domains,
            groups=shape.groups,
            addable=len(shape.offers),
            have=[0] * len(shape.offers),
        )

    def _load(self, held: Held) -> None:
        pair = self._by_workload[held.workload]
        pool = self.region.pool_index.get(held.pool)
        if pool is None:
            line = pair[1]
            alive = held.instances * held.units
            line.unknown_instances += held.instances
            line.unknown_units += alive
            line.placed += (held.instances - held.leaving) * held.units
            self._charge(line, alive)
            return
        line = pair[0] if self.region.committed[pool] else pair[1]
        column = line.shape.column.get(pool)
        if column is None:
            column = self._column(line, pool, held)
        per_lot = line.per_lot[column]
        quantum = line.quanta[column]
        domain = line.domains[column]
        instances = held.instances
        staying = instances - held.leaving
        lots, loose = (staying, 0) if per_lot == 1 else divmod(staying, per_lot)
        if loose:
            line.loose[column] = line.loose.get(column, 0) + loose
        if lots:
            line.have[column] += lots
            line.placed += lots * quantum
            line.domain_lots[domain] = line.domain_lots.get(domain, 0) + lots
            if held.movable:
                line.movable[column] = line.movable.get(column, 0) + min(lots, held.movable // per_lot)
            if held.idle:
                line.idle[column] = line.idle.get(column, 0) + min(lots, held.idle // per_lot)
        vcpu, memory, gpu, disk = self.pool_size[pool]
        free = self.free[domain]
        free[0] -= vcpu * instances
        free[1] -= memory * instances
        free[2] -= gpu * instances
        free[3] -= disk * instances
        units = lots * quantum + (loose * quantum) // per_lot + held.leaving * held.units
        line.domain_units[domain] = line.domain_units.get(domain, 0) + units
        group_units = line.group_units
        for group in line.groups[column]:
            group_units[group] = group_units.get(group, 0) + units
        amount = units * line.need.milli_ncu
        self.team_used[line.team] += amount
        self.team_left[line.team] -= amount

    def _column(self, line: Line, pool: int, held: Held) -> int:
        """The column of a pool that is not among the offers: one that only stands, appended once."""
        if pool in line.pools[line.addable :]:
            return line.pools.index(pool, line.addable)
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
        pool = line.pools[k]
        if self._refused[pool] <= line.per_lot[k]:
            return 0
        room = most if line.is_floor else min(most, self._room_in_bounds(line, k))
        if room <= 0:
            return 0
        room = min(room, self.headroom[pool] // line.per_lot[k])
        for free, size in zip(self.free[line.domains[k]], line.sizes[k], strict=True):
            if free < size * room and size:
                room = free // size
        if room <= 0:
            self._refused[pool] = line.per_lot[k]
            return 0
        ncu = line.quanta[k] * line.need.milli_ncu
        if ncu * room > self.team_left[line.team] and ncu:
            room = self.team_left[line.team] // ncu
        return max(0, room)

    def allowed(self, line: Line, k: int) -> bool:
        """Whether the line's bounds and its team's limit take one more lot in column `k`, whatever is free there."""
        if self.team_left[line.team] < line.quanta[k] * line.need.milli_ncu:
            return False
        return line.is_floor or self._room_in_bounds(line, k) > 0

    @staticmethod
    def _room_in_bounds(line: Line, k: int) -> int:
        quantum = line.quanta[k]
        domain = line.domains[k]
        share = max(quantum, line.pool_share)
        left = share - line.domain_units.get(domain, 0)
        share = max(quantum, line.group_share)
        units = line.group_units
        for group in line.groups[k]:
            here = share - units.get(group, 0)
            if here < left:  # noqa: PLR1730 - the planner's hottest line, and twice as fast as a call of min
                left = here
        room = (left - line.unknown_units) // quantum
        domains = len(line.domain_lots)
        if room > 0 and domains < line.required:
            fresh = domain not in line.domain_lots
            # One lot in a domain that is not used yet never takes the workload further from its count of domains.
            kept = line.wanted - (line.required - domains - fresh) * line.largest
            if domains + fresh < line.required:
                room = min(room, max(int(fresh), (kept - line.placed) // quantum))
        return room

    def add(self, line: Line, k: int, lots: int) -> None:
        """Adds lots that `room` allowed."""
        units = lots * line.quanta[k]
        line.kept = None
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
        self._ask_again(line.domains[k])

    def release(self, line: Line, k: int, lots: int) -> None:
        """Plans the end of standing lots; they stay alive, so neither capacity nor bounds come free in this plan."""
        line.kept = None
        line.have[k] -= lots
        line.placed -= lots * line.quanta[k]
        line.domain_lots[line.domains[k]] -= lots
        self._drop_empty(line, k)

    def restore(self, line: Line, k: int, lots: int) -> None:
        """Takes back a release of this run."""
        line.kept = None
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
        self._ask_again(line.domains[k])
        pool = line.pools[k]
        self.headroom[pool] += instances
        free = self.free[line.domains[k]]
        for i, size in enumerate(self.pool_size[pool]):
            free[i] += size * instances
        # The quantum is spread evenly over a gang's instances for this purpose; a gang is one lot in every bound.
        units = instances * line.quanta[k] // line.per_lot[k]
        self._occupy(line, k, -units)
        self._charge(line, -units)

    def _ask_again(self, domain: int) -> None:
        for pool in self.region.domain_pools[domain]:
            self._refused[pool] = _UNBOUNDED

    @staticmethod
    def _drop_empty(line: Line, k: int) -> None:
        if not line.domain_lots[line.domains[k]]:
            del line.domain_lots[line.domains[k]]

    @staticmethod
    def kept(line: Line) -> Kept:
        """The line's planned units and the bounds they exceed, judged by the largest lots that stand in each scope."""
        if line.kept is None:
            line.kept = _kept(line)
        return line.kept

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
        return self.region.salt(name)


_NOTHING_OVER = Kept({}, {}, {}, {})


def _within(line: Line) -> bool:
    """Whether even all that is alive keeps every bound, so that what the plan keeps need not be counted."""
    unknown = line.unknown_units
    return (
        max(line.domain_units.values(), default=0) + unknown <= line.pool_share
        and max(line.group_units.values(), default=0) + unknown <= line.group_share
    )


def _kept(line: Line) -> Kept:
    if _within(line):
        return _NOTHING_OVER
    domains: dict[int, int] = {}
    groups: dict[int, int] = {}
    unknown = line.unknown_units
    for k, lots in enumerate(line.have):
        if lots:
            units = lots * line.quanta[k]
            domain = line.domains[k]
            domains[domain] = domains.get(domain, unknown) + units
            for group in line.groups[k]:
                groups[group] = groups.get(group, unknown) + units
    over_domains = {d: units for d, units in domains.items() if units > line.pool_share}
    over_groups = {g: units for g, units in groups.items() if units > line.group_share}
    if over_domains or over_groups:
        largest_in: dict[int, int] = {}
        largest_of: dict[int, int] = {}
        for k, lots in enumerate(line.have):
            if lots:
                quantum = line.quanta[k]
                domain = line.domains[k]
                largest_in[domain] = max(largest_in.get(domain, 0), quantum)
                for group in line.groups[k]:
                    largest_of[group] = max(largest_of.get(group, 0), quantum)
        bounds = {d: max(largest_in[d], line.pool_share) for d in over_domains}
        over_domains = {d: bound for d, bound in bounds.items() if domains[d] > bound}
        bounds = {g: max(largest_of[g], line.group_share) for g in over_groups}
        over_groups = {g: bound for g, bound in bounds.items() if groups[g] > bound}
    return Kept(domains, over_domains, groups, over_groups)

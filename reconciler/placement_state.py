"""The working state of one planning run: what stands, what is free, and whether one more lot may be added.

`Standing.room` is the planner's only judge of an addition: greedy, rounding and moves all add through it, so that a
bound is kept by construction. It counts what is *alive*: what the plan releases still occupies its domain and its
bounds until it is really gone, because it is drained after its replacement is acquired.
"""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from contracts.frozen import replace
from correlation_groups.spread import limit, pools_required
from reconciler.placement_line import Line
from reconciler.placement_region import Region, region_of, sizes
from reconciler.problem import Held, Need, Problem, lot_of

_UNBOUNDED = 1 << 60

_SORT_WITH_NUMPY = 200
"""Columns from which numpy sorts faster than Python (measured: 150 to 300)."""


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
            team = self.team_index[need.team]
            pair = (_line(region, team, need, is_floor=True), _line(region, team, need, is_floor=False))
            self._by_workload[need.workload] = pair
            self.lines += pair
        alive = [0] * len(problem.pools)
        for held in problem.held:
            self._load(held, alive)
        for pool, instances in enumerate(alive):
            free = self.free[self.pool_domain[pool]]
            for i, size in enumerate(self.pool_size[pool]):
                free[i] -= size * instances
        for line in self.lines:
            self._charge(line, sum(line.domain_units.values()) + line.unknown_units)
            _seal(line)

    def line_of(self, workload: str) -> tuple[Line, Line]:
        """The floor line and the interruptible line of one workload."""
        return self._by_workload[workload]

    def _load(self, held: Held, alive: list[int]) -> None:
        """Counts what is held into its line, and its instances into those `alive` in each pool."""
        floor, rest = self._by_workload[held.workload]
        instances = held.instances
        staying = instances - held.leaving
        pool = self.region.pool_index.get(held.pool)
        if pool is None:
            rest.unknown_instances += instances
            rest.unknown_units += instances * held.units
            rest.placed += staying * held.units
            return
        alive[pool] += instances
        line = floor if self.region.committed[pool] else rest
        column = line.shape.column.get(pool)
        if column is None:
            column = _column(self.region, line, pool, held)
        per_lot = line.per_lot[column]
        quantum = line.quanta[column]
        domain = line.domains[column]
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
        line.occupy(column, lots * quantum + (loose * quantum) // per_lot + held.leaving * held.units)

    def _charge(self, line: Line, units: int) -> None:
        amount = units * line.need.milli_ncu
        self.team_used[line.team] += amount
        self.team_left[line.team] -= amount

    def room(self, line: Line, k: int, most: int) -> int:
        """How many lots, at most `most`, may be added in column `k` now; 0 where any bound or capacity refuses."""
        pool = line.pools[k]
        if self._refused[pool] <= line.per_lot[k]:
            return 0
        room = most if line.is_floor else min(most, line.rooms.get(k, 0))
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
        return line.is_floor or k in line.rooms

    def add(self, line: Line, k: int, lots: int) -> None:
        """Adds lots that `room` allowed."""
        units = lots * line.quanta[k]
        line.changed()
        line.have[k] += lots
        line.placed += units
        domain = line.domains[k]
        line.domain_lots[domain] = line.domain_lots.get(domain, 0) + lots
        self.headroom[line.pools[k]] -= lots * line.per_lot[k]
        free = self.free[domain]
        for i, size in enumerate(line.sizes[k]):
            free[i] -= size * lots
        line.occupy(k, units)
        self._charge(line, units)
        fresh = line.fresh.get(k, 0) + lots
        if fresh:
            line.fresh[k] = fresh
        else:
            line.fresh.pop(k, None)

    def undo(self, line: Line, k: int, lots: int) -> None:
        """Takes back lots that this run added, as if they had never been."""
        self.add(line, k, -lots)
        line.drop_empty(k)
        self._ask_again(line.domains[k])

    def release(self, line: Line, k: int, lots: int) -> None:
        """Plans the end of standing lots; they stay alive, so neither capacity nor bounds come free in this plan."""
        line.changed()
        line.have[k] -= lots
        line.placed -= lots * line.quanta[k]
        line.domain_lots[line.domains[k]] -= lots
        line.drop_empty(k)

    def restore(self, line: Line, k: int, lots: int) -> None:
        """Takes back a release of this run."""
        line.changed()
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
        line.changed()
        self._ask_again(line.domains[k])
        pool = line.pools[k]
        self.headroom[pool] += instances
        free = self.free[line.domains[k]]
        for i, size in enumerate(self.pool_size[pool]):
            free[i] += size * instances
        # The quantum is spread evenly over a gang's instances for this purpose; a gang is one lot in every bound.
        units = instances * line.quanta[k] // line.per_lot[k]
        line.occupy(k, -units)
        self._charge(line, -units)

    def _ask_again(self, domain: int) -> None:
        for pool in self.region.domain_pools[domain]:
            self._refused[pool] = _UNBOUNDED

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


def _line(region: Region, team: int, need: Need, *, is_floor: bool) -> Line:
    shape = region.shape(need.offers, need.gang, is_floor=is_floor)
    costs = need.offers.cost_micro
    return Line(
        need=need,
        team=team,
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


def _column(region: Region, line: Line, pool: int, held: Held) -> int:
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
    line.sizes = [*line.sizes, tuple(r * one.instances for r in region.pool_size[pool])]
    line.domains = [*line.domains, region.pool_domain[pool]]
    line.groups = [*line.groups, region.pool_groups[pool]]
    line.have.append(0)
    return len(line.pools) - 1


def _seal(line: Line) -> None:
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

"""One workload's part of a planning run: its columns, what it holds in them, and which of its bounds that exceeds.

`reconciler.placement_state.Standing` makes and changes lines; the planner's steps read them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reconciler.placement_region import Shape
from reconciler.problem import Need


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
    kept_units: Kept | None = None
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

    def occupy(self, column: int, units: int) -> None:
        """Counts units as alive in the column's domain and groups."""
        domain = self.domains[column]
        self.domain_units[domain] = self.domain_units.get(domain, 0) + units
        for group in self.groups[column]:
            self.group_units[group] = self.group_units.get(group, 0) + units

    def room_in_bounds(self, k: int) -> int:
        """How many more lots the line's own bounds take in column `k`; may be negative."""
        quantum = self.quanta[k]
        domain = self.domains[k]
        share = max(quantum, self.pool_share)
        left = share - self.domain_units.get(domain, 0)
        share = max(quantum, self.group_share)
        units = self.group_units
        for group in self.groups[k]:
            here = share - units.get(group, 0)
            if here < left:  # noqa: PLR1730 - the planner's hottest line, and twice as fast as a call of min
                left = here
        room = (left - self.unknown_units) // quantum
        domains = len(self.domain_lots)
        if room > 0 and domains < self.required:
            fresh = domain not in self.domain_lots
            # One lot in a domain that is not used yet never takes the workload further from its count of domains.
            kept = self.wanted - (self.required - domains - fresh) * self.largest
            if domains + fresh < self.required:
                room = min(room, max(int(fresh), (kept - self.placed) // quantum))
        return room

    def drop_empty(self, k: int) -> None:
        """Forgets the column's domain where no lot is left in it."""
        if not self.domain_lots[self.domains[k]]:
            del self.domain_lots[self.domains[k]]

    @property
    def kept(self) -> Kept:
        """The planned units and the bounds they exceed, judged by the largest lots that stand in each scope."""
        if self.kept_units is None:
            self.kept_units = _kept(self)
        return self.kept_units


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

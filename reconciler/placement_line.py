"""One workload's part of a planning run: its columns, what it holds in them, and which of its bounds that exceeds.

`reconciler.placement_state.Standing` makes and changes lines; the planner's steps read them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from contracts.frozen import quick
from reconciler.placement_region import Shape
from reconciler.problem import Need


@quick
@dataclass(frozen=True, slots=True)
class Kept:
    """What the plan keeps of one line, leaving and released units left out, those of unknown pool in every scope.

    `over_domains` and `over_groups` are the bounds that are exceeded; `domains` and `groups` tell the units of those
    scopes, and of others that are near their bound.
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
    open_rooms: dict[int, int] | None = None
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
        short = self.wanted - self.placed
        return short if short > 0 else 0  # noqa: FURB136 - asked all day, and twice as fast as a call of max

    def changed(self) -> None:
        """What was worked out of the line's units no longer holds; told by whoever changes them."""
        self.kept_units = self.open_rooms = None

    def occupy(self, column: int, units: int) -> None:
        """Counts units as alive in the column's domain and groups."""
        domain = self.domains[column]
        self.domain_units[domain] = self.domain_units.get(domain, 0) + units
        for group in self.groups[column]:
            self.group_units[group] = self.group_units.get(group, 0) + units

    @property
    def rooms(self) -> dict[int, int]:
        """How many more lots the line's own bounds take, by column; columns that take none are left out.

        Kept until the line changes: nine of ten columns that a step looks at are refused here, most of them again and
        again.
        """
        if self.open_rooms is None:
            self.open_rooms = _rooms(self)
        return self.open_rooms

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


def _rooms(line: Line) -> dict[int, int]:
    rooms: dict[int, int] = {}
    domain_units, group_units, unknown = line.domain_units, line.group_units, line.unknown_units
    pool_share, group_share = line.pool_share, line.group_share
    lacking = line.required - len(line.domain_lots)
    for k, (quantum, domain, groups) in enumerate(zip(line.quanta, line.domains, line.groups, strict=True)):
        # Conditions, not calls of min and max: this is the planner's hottest loop, and they take twice as long.
        share = pool_share if pool_share > quantum else quantum  # noqa: FURB136
        left = share - domain_units.get(domain, 0) - unknown
        if left < quantum:
            continue
        share = group_share if group_share > quantum else quantum  # noqa: FURB136
        for group in groups:
            here = share - group_units.get(group, 0) - unknown
            if here < left:  # noqa: PLR1730
                left = here
        if left < quantum:
            continue
        room = left // quantum
        if lacking > 0:
            fresh = domain not in line.domain_lots
            if fresh < lacking:
                # One lot in a domain that is not used yet never takes the workload further from its count of domains.
                kept = line.wanted - (lacking - fresh) * line.largest
                room = min(room, max(int(fresh), (kept - line.placed) // quantum))
        if room > 0:
            rooms[k] = room
    return rooms


_NOTHING_OVER = Kept({}, {}, {}, {})


def _kept(line: Line) -> Kept:
    unknown = line.unknown_units
    # What is alive is no less than what the plan keeps, so that only scopes where even that is over need be counted.
    near_domains = {d for d, units in line.domain_units.items() if units + unknown > line.pool_share}
    near_groups = {g for g, units in line.group_units.items() if units + unknown > line.group_share}
    if not near_domains and not near_groups:
        return _NOTHING_OVER
    domains: dict[int, int] = {}
    groups: dict[int, int] = {}
    largest_in: dict[int, int] = {}
    largest_of: dict[int, int] = {}
    for k, lots in enumerate(line.have):
        if not lots:
            continue
        quantum = line.quanta[k]
        domain = line.domains[k]
        if domain in near_domains:
            domains[domain] = domains.get(domain, unknown) + lots * quantum
            largest_in[domain] = max(largest_in.get(domain, line.pool_share), quantum)
        if near_groups.isdisjoint(line.groups[k]):
            continue
        for group in near_groups.intersection(line.groups[k]):
            groups[group] = groups.get(group, unknown) + lots * quantum
            largest_of[group] = max(largest_of.get(group, line.group_share), quantum)
    return Kept(
        domains,
        {d: bound for d, bound in largest_in.items() if domains[d] > bound},
        groups,
        {g: bound for g, bound in largest_of.items() if groups[g] > bound},
    )

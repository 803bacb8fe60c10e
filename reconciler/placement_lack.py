"""What stands in the way of one more lot: for shortfalls, `explain` and the end of progressive filling.

It names the first refusal of `Standing.room`, in the same order, and never decides an addition itself.
"""

from __future__ import annotations

from correlation_groups.spread import keeps_pools
from reconciler.placement_line import Line
from reconciler.placement_state import Standing
from reconciler.problem import Lack


def waits_for_domains(standing: Standing, line: Line, k: int) -> bool:
    """Whether only the count of domains refuses column `k` now, so that it may open again."""
    return len(line.domain_lots) < line.required and _obstacle(standing, line, k) is Lack.POOL_COUNT


def obstacles(standing: Standing, line: Line) -> tuple[Lack, ...]:
    """Why nothing more fits, over all columns, most frequent first."""
    if not line.addable:
        return (Lack.NO_OFFER,)
    seen: dict[Lack, int] = {}
    for k in range(line.addable):
        lack = _obstacle(standing, line, k)
        seen[lack] = seen.get(lack, 0) + 1
    return tuple(sorted(seen, key=lambda lack: (-seen[lack], lack.value)))


def _obstacle(standing: Standing, line: Line, k: int) -> Lack:
    quantum = line.quanta[k]
    if standing.headroom[line.pools[k]] < line.per_lot[k]:
        return Lack.HEADROOM
    for free, size in zip(standing.free[line.domains[k]], line.sizes[k], strict=True):
        if free < size and size:
            return Lack.CAPACITY
    if standing.team_left[line.team] < quantum * line.need.milli_ncu:
        return Lack.TEAM_LIMIT
    used = line.domain_units.get(line.domains[k], 0) + line.unknown_units
    if used + quantum > max(quantum, line.pool_share):
        return Lack.POOL_SHARE
    share = max(quantum, line.group_share) - line.unknown_units
    for group in line.groups[k]:
        if line.group_units.get(group, 0) + quantum > share:
            return Lack.GROUP_SHARE
    kept = line.domains[k] not in line.domain_lots or keeps_pools(
        units=line.placed + quantum,
        domains=len(line.domain_lots),
        desired=line.wanted,
        required=line.required,
        largest_quantum=line.largest,
    )
    return Lack.CAPACITY if kept else Lack.POOL_COUNT

"""The bound: how much of one workload may stand where it can be lost together.

Planner, linear bound, guard, checkers and replay call these functions and no others, so that no two of them can
disagree by a rounding. Everything is integer: shares are per mille (150 is 15 %), units are whole. The module knows
nothing of pools, files or time; the caller counts units per capacity domain and per bounding correlation group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from contracts.frozen import quick


@dataclass(frozen=True, slots=True)
class Shares:
    """The three spread promises of one workload; a waiver may widen the first two or lower the third.

    `pool_permille` bounds one capacity domain, `group_permille` one bounding correlation group, and `pools` is the
    number of capacity domains asked for.
    """

    pool_permille: int = 150
    group_permille: int = 300
    pools: int = 8

    def widened(self, other: Shares) -> Shares:
        """The looser of the two in each term: what holds when a waiver stands beside the rule."""
        return Shares(
            pool_permille=max(self.pool_permille, other.pool_permille),
            group_permille=max(self.group_permille, other.group_permille),
            pools=min(self.pools, other.pools),
        )


@quick
@dataclass(frozen=True, slots=True)
class Lot:
    """The smallest thing that can be placed in one pool: `instances` servers that hold `units` useful units.

    `units` is the quantum of every bound.
    """

    instances: int
    units: int


@lru_cache(maxsize=1 << 10)  # few sizes, asked all day
def lot(units: int, gang: int = 1) -> Lot:
    """The lot of a pool whose instance holds `units` units, for gangs of `gang` units (1: no gangs).

    A gang larger than one instance takes as many instances as hold it; an instance that holds several gangs holds
    whole ones only.
    """
    if units < 1 or gang < 1:
        raise ValueError(f"an instance holds at least one unit and a gang has at least one, not {units} and {gang}")
    if gang > units:
        return Lot(instances=-(-gang // units), units=gang)
    return Lot(instances=1, units=units // gang * gang)


def limit(share_permille: int, desired: int, quantum: int) -> int:
    """The most units one scope (domain or group) may hold: max(quantum, ceil(share x desired)).

    `desired` is the workload's desired interruptible units, never shrunk by losses. `quantum` is the lot's units of
    the pool that is added to; to judge a standing state, of the largest lot that stands in the scope. Both ways agree:
    where a lot larger than the rounded share stands, nothing else fits beside it either way.
    """
    return max(quantum, -(-share_permille * desired // 1000))


def pools_required(desired: int, largest_quantum: int, wanted: int = 8) -> int:
    """How many capacity domains `desired` units must use: `wanted`, but never more than the largest lots allow."""
    if desired <= 0:
        return 0
    return max(1, min(wanted, desired // largest_quantum))


def keeps_pools(*, units: int, domains: int, desired: int, required: int, largest_quantum: int) -> bool:
    """Whether `units` in `domains` domains leave enough of `desired` to reach `required` domains, one lot in each.

    At the full count this is "at least `required` domains are used"; below it (while growing, or in an outage) it
    keeps the last units for domains that are not used yet, so that a shortage never ends as a concentration.
    One lot in a domain that is not used yet never makes this worse, so it is always an allowed addition.
    """
    return domains >= required or units + (required - domains) * largest_quantum <= desired

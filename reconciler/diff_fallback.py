"""What becomes of fallback in the difference: what is granted stands where it is, and what is not goes.

Pure; used by `diff`. A unit of fallback has an hour that is paid for, and the arbiter alone says how many have one: so
nothing else takes a granted unit away or moves it, no unit stands without a grant, and none is bought beyond it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ledger.causes import Cause
from ledger.events import Paid
from reconciler.fleet import Instance


def over_granted(
    bought: Mapping[str, list[Instance]], granted: Mapping[str, int], spent: Collection[str]
) -> list[tuple[Instance, Cause]]:
    """The fallback that nobody's money stands behind, by workload those that work the least first, and why it goes. A
    floor that it stood in for is bought as a floor.
    """
    going: list[tuple[Instance, Cause]] = []
    for workload, standing in bought.items():
        over = sum(instance.units for instance in standing) - granted.get(workload, 0)
        broke = workload in spent
        for instance in sorted(standing, key=dearest_last) if over > 0 else ():
            # without money the rest of a lot goes as well; else a lot that is granted in part is granted
            if over >= (1 if broke else instance.units):
                over -= instance.units
                going.append((instance, Cause.AUTHORITY_SPENT if broke else Cause.RECLAIMABLE_HELD))
    return going


def spare_of(bought: Mapping[str, list[Instance]], granted: Mapping[str, int]) -> dict[str, int]:
    """The units of fallback that are granted and stand nowhere, by workload."""
    spare = dict(granted)
    for workload, standing in bought.items():
        spare[workload] = spare.get(workload, 0) - sum(instance.units for instance in standing)
    return spare


def payable(spare: dict[str, int], workload: str, instances: int, units: int) -> int:
    """How many of the instances, of so many `units` each, the spare units pay for. They are taken from `spare`."""
    left = spare.get(workload, 0)
    paid = min(instances, max(0, -(-left // units)))
    spare[workload] = left - paid * units
    return paid


def bought_in(have: Iterable[Instance]) -> int:
    """How many of them are fallback."""
    return sum(1 for instance in have if instance.paid is Paid.FALLBACK)


def dearest_last(instance: Instance) -> tuple[int, int, int, int, str]:
    """Release order: fallback (the dearest to pay), not yet there, empty, then the one that has worked the shortest."""
    fallback = 0 if instance.paid is Paid.FALLBACK else 1
    not_there = 0 if instance.starting else 1
    return fallback, not_there, instance.busy_units, -instance.joined_at, instance.name

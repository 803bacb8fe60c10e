"""Which partition a command means: one of a region that is divided, or the whole of one that is not."""

from __future__ import annotations

from ebbtide.advice import Advice, unknown
from ebbtide.estate import known_region
from reconciler.desired import Partition, partition
from repo_layout.model import Estate


def partition_named(estate: Estate, region: str, name: str | None) -> Partition:
    """The partition of that name; without one the whole region, divided or not, as reports and plans look at it."""
    entry = estate.region(known_region(estate, region))
    names = [one.name for one in entry.partitions]
    if name and name not in names:
        lists = f"it has {', '.join(names)}" if names else "it is not divided: leave --partition out"
        raise unknown(f"partition of {region}", name, names, lists=lists)
    return partition(estate, region, name or "")


def partition_led(estate: Estate, region: str, name: str | None) -> Partition:
    """The same for whoever acts: of a region that is divided, nobody leads the whole."""
    part = partition_named(estate, region, name)
    names = [one.name for one in estate.region(region).partitions]
    if names and not name:
        raise Advice(
            f"region {region} is divided, and each part has a reconciler of its own",
            hint=f"say which: --partition {' or '.join(names)}",
        )
    return part

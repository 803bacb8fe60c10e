"""What the partitions of one region have together: how much of each capacity domain one of them may use.

Pure; called by `cycle` and `desired` once a cycle. A partition counts what all of them hold, so that a share stays the
same whoever was first, and leaves to the others what is theirs, taken or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pools.provider import Listing
from reconciler.desired import Partition
from reconciler.problem import Resources


def held_beside(part: Partition, listing: Listing | None) -> Mapping[str, Resources]:
    """What the region's other partitions hold in each domain, as far as the listing shows it."""
    if not part.name or listing is None:
        return {}
    estate, region, own = part.owner
    count = Counter(
        server.pool
        for server in listing.servers
        if server.mark is not None
        and (server.mark.estate, server.mark.region) == (estate, region)
        and server.mark.partition != own
    )
    held: dict[str, Resources] = {}
    for name, instances in count.items():
        pool = part.pool_by_name.get(name)
        if pool is not None:
            held[pool.domain] = held.get(pool.domain, Resources()).plus(part.resources[name].times(instances))
    return held

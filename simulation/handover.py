"""Servers of others that a reviewed file hands over to us for a while, and takes back.

Called by `simulation.git_host` when the fault `commit_adoption` begins, and for each commit while it is on. What is
handed over stands in one pool of the fault's domain, runs already, and carries the tag that the file selects by.
"""

from __future__ import annotations

from dataclasses import replace

from pools.model import Pool
from pools.script import Boot
from reconciler.desired import Partition
from repo_layout.documents import AdoptionFile
from simulation.cloud_state import admit
from simulation.faults import Fault
from simulation.world import World

TAG = "handed-over"


def arrive(world: World, part: Partition, fault: Fault) -> None:
    """The servers appear, somebody else's until a reconciler marks them; none where nothing of ours would fit them."""
    taker = _taker(part, fault)
    if taker is None:
        return
    state = world.cloud.state
    pool = state.pools[taker[0].name]
    for number in range(fault.size):
        name = f"other-{fault.number}-{number}"
        record = admit(state, pool=pool, project=pool.project, name=name, mark=None, boot=Boot.ACTIVE)
        state.change(record, replace(record.server, tags=((TAG, _word(fault)),)))


def file_for(part: Partition, fault: Fault) -> AdoptionFile | None:
    """The reviewed file, to the workload of the pool that comes first by name."""
    taker = _taker(part, fault)
    if taker is None:
        return None
    pool, workload = taker
    return AdoptionFile(
        api_version="ebbtide/v1",
        kind="Adoption",
        region=part.region,
        name=_word(fault),
        pool=pool.name,
        workload=workload,
        selector={TAG: _word(fault)},
    )


def _word(fault: Fault) -> str:
    return f"{fault.kind.replace('_', '-')}-{fault.number}"


def _taker(part: Partition, fault: Fault) -> tuple[Pool, str] | None:
    """A pool of the domain and a workload that fits into it."""
    pools = {pool.name: pool for pool in part.pools if pool.domain == fault.target and not pool.committed}
    found = sorted((pool, workload) for (workload, pool), units in part.units.items() if units and pool in pools)
    return (pools[found[0][0]], found[0][1]) if found else None

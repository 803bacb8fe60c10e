"""What one cycle's census says about pools: exposure, losses, failures, what is held; the appraisal's eyes.

Pure translation from the control plane's words (instances, notices, domains) into those of `pools.exclusion`,
`pools.forward` and `pools.interruption`. It decides only what counts:

- a reclaim or host-failure notice is a loss when it is heard, and none when it is withdrawn;
- a loss that had no notice is a loss when it is believed;
- maintenance, drills, our own releases and instances of unknown pools are no losses;
- only reclaims and losses without notice speak against a pool's conduct: a host that breaks is bad luck.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ledger.causes import Cause
from pools import exclusion
from pools.forward import Room, Word
from pools.provider import ForwardCapacities, NoticeKind
from reconciler.desired import Partition
from reconciler.fleet import Fleet, Phase
from reconciler.problem import Resources
from reconciler.sight import Census

if TYPE_CHECKING:
    from reconciler.cycle import Seen

MIB = 2**20
GIB = 2**30
PLENTY_GIB = 1_000_000
"""Forward capacity says nothing of local disk: a flavor's own disk comes with it."""

TEACHING = frozenset({NoticeKind.RECLAIM, NoticeKind.HOST_FAILURE})


@dataclass(frozen=True, slots=True)
class Tally:
    """The fleet by pool and domain: `alive` at risk (booting, joined, serving), `starting` asked for or booting,
    `joined` that have become nodes since the last call, `accepted` when the provider last gave a server, `held`
    everything of ours in a domain, and the names of all that have ever been nodes.
    """

    alive: Mapping[str, int]
    starting: Mapping[str, int]
    joined: Mapping[str, int]
    accepted: Mapping[str, int]
    held: Mapping[str, Room]
    nodes: frozenset[str]


def tally(part: Partition, fleet: Fleet, were_nodes: frozenset[str]) -> Tally:
    """One pass over the fleet; instances of unknown pools are passed over."""
    seen: dict[str, _Row] = {name: _Row() for name in part.pool_by_name}
    nodes = []
    serving, joined, booting, requested, gone = (
        Phase.SERVING,
        Phase.JOINED,
        Phase.BOOTING,
        Phase.REQUESTED,
        Phase.GONE,
    )
    for instance in fleet.instances.values():
        phase = instance.phase
        row = seen.get(instance.pool)
        if row is None or phase is gone:
            continue
        row.count += 1
        if row.accepted < instance.requested_at and instance.server and phase is not Phase.FAILED:
            row.accepted = instance.requested_at
        if instance.joined_at:
            name = instance.name
            nodes.append(name)
            if name not in were_nodes:
                row.joined += 1
        if phase is serving or phase is joined:
            row.alive += 1
        elif phase is booting:
            row.alive += 1
            row.starting += 1
        elif phase is requested:
            row.starting += 1
    return Tally(
        alive={name: row.alive for name, row in seen.items() if row.alive},
        starting={name: row.starting for name, row in seen.items() if row.starting},
        joined={name: row.joined for name, row in seen.items() if row.joined},
        accepted={name: row.accepted for name, row in seen.items() if row.accepted},
        held=_held(part, {name: row.count for name, row in seen.items() if row.count}),
        nodes=frozenset(nodes),
    )


class _Row:
    """What one pool's instances come to while they are counted."""

    __slots__ = ("accepted", "alive", "count", "joined", "starting")

    def __init__(self) -> None:
        self.accepted = self.alive = self.count = self.joined = self.starting = 0


def _held(part: Partition, counts: Mapping[str, int]) -> dict[str, Room]:
    held: dict[str, Room] = {}
    for name, count in counts.items():
        pool = part.pool_by_name[name]
        shape = pool.instance
        more = Room(shape.vcpu * count, shape.memory // MIB * count, shape.gpu * count, shape.local_disk // GIB * count)
        held[pool.domain] = held.get(pool.domain, Room()).plus(more)
    return held


def losses(counted: Census, heard: Mapping[str, str]) -> tuple[dict[str, float], dict[str, str]]:
    """Losses by pool that became known in this cycle (a withdrawn notice gives one back), and the pool of each noticed
    instance that has been counted and is still there.
    """
    found: dict[str, float] = {}
    still = dict(heard)
    for notice in counted.notices:
        pool = counted.fleet.instances[notice.name].pool
        if notice.kind in TEACHING and notice.name not in still and pool:
            still[notice.name] = pool
            found[pool] = found.get(pool, 0.0) + 1.0
    for loss in counted.losses:
        pool = loss.instance.pool
        if loss.cause is Cause.LOST_WITHOUT_NOTICE and pool:
            found[pool] = found.get(pool, 0.0) + 1.0
    for name in list(still):
        known = counted.fleet.instances.get(name)
        if known is None or known.phase is Phase.GONE:
            del still[name]
        elif not known.noticed:
            pool = still.pop(name)
            found[pool] = found.get(pool, 0.0) - 1.0
    return found, still


def signs(
    part: Partition,
    counts: Tally,
    counted: Census,
    seen: Seen,
    *,
    failed: tuple[exclusion.Failed, ...],
    hazard: Mapping[str, float],
) -> exclusion.Signs:
    """What this cycle holds for or against each pool."""
    return exclusion.Signs(
        failed=(*failed, *(exclusion.Failed(f.pool, f.cause, seen.now) for f in counted.failures)),
        interrupted=tuple(_interrupted(part, counted)),
        warned=tuple(exclusion.Warned(a.pool, a.until) for a in seen.signals.advisories if a.pool in part.pool_by_name),
        hazard=hazard,
        alive=counts.alive,
        accepted=counts.accepted,
        joined=counts.joined,
        starting=counts.starting,
    )


def _interrupted(part: Partition, counted: Census) -> Iterable[exclusion.Interrupted]:
    for notice in counted.notices:
        pool = part.pool_by_name.get(counted.fleet.instances[notice.name].pool)
        if pool is not None and notice.kind is NoticeKind.RECLAIM:
            given = notice.ends_at - notice.issued_at
            yield exclusion.Interrupted(pool.name, notice.issued_at, given, pool.notice_window_s * 1000)
    for loss in counted.losses:
        pool = part.pool_by_name.get(loss.instance.pool)
        if pool is None or pool.committed or loss.instance.drill:
            continue
        promised = pool.notice_window_s * 1000
        if loss.cause is Cause.LOST_WITHOUT_NOTICE:
            yield exclusion.Interrupted(pool.name, loss.at, None, promised)
        elif loss.cause is Cause.ENDED_BEFORE_ITS_TIME and loss.instance.busy_units:
            # what was drained already may be taken early: that is no broken promise
            yield exclusion.Interrupted(pool.name, loss.at, 0, promised, told=True)


def words(said: ForwardCapacities) -> dict[str, Word]:
    """The announcement of each domain."""
    return {
        f.domain: Word(Room(f.vcpu, f.memory // MIB, f.gpu, PLENTY_GIB), f.until, f.confidence) for f in said.domains
    }


def resources(rooms: Mapping[str, Room]) -> dict[str, Resources]:
    """Rooms in the planner's words."""
    return {name: Resources(r.vcpu, r.memory_mib, r.gpu, r.disk_gib) for name, r in rooms.items()}

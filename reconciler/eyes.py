"""What the guard is told of one cycle: everything observed, turned into what can be trusted now.

Pure. Called by `cycle` alone. It says what is fresh, complete and verified, and judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ledger.events import Paid
from pools.provider import Reclaim
from reconciler import clocks
from reconciler.arbiter import Ruling
from reconciler.claims import Claim
from reconciler.desired import Partition, closed_pools
from reconciler.fleet import Fleet
from reconciler.guard import Eyes
from reconciler.ports import SchedulerView
from reconciler.removals import Removal
from reconciler.sight import Census

if TYPE_CHECKING:
    from reconciler.cycle import Memory, Seen


@dataclass(frozen=True, slots=True)
class Paused:
    """Workloads and pools that a reviewed line pauses."""

    workloads: frozenset[str]
    pools: frozenset[str]


def paused_in(part: Partition) -> Paused:
    """What reviewed lines pause in this partition."""
    workloads: set[str] = set()
    pools: set[str] = set()
    for pause in part.estate.settings.pauses:
        if pause.scope == "estate" or (pause.scope == "region" and pause.name == part.region):
            workloads.update(part.contract_by_name)
        elif pause.scope == "workload" and pause.name:
            workloads.add(pause.name)
        elif pause.scope == "pool" and pause.name:
            pools.add(pause.name)
    return Paused(frozenset(workloads), frozenset(pools))


def clock_doubt(part: Partition, memory: Memory, seen: Seen) -> str:
    """Why our clock is not believed this cycle; empty while it is."""
    return clocks.doubt(
        seen.now,
        leap_ms=seen.leap_ms,
        before=clocks.Before(memory.guard.judged_at, memory.guard.doubted),
        answers=clocks.Answers(seen.listing.as_of if seen.listing else 0, seen.signals.as_of),
        allowed_ms=part.estate.region(part.region).guard.listing_age * 1000,
    )


def heard(part: Partition, seen: Seen) -> SchedulerView:
    """What the schedulers say; a view that is too old to act on, once the listing is there, is silence."""
    if seen.now + seen.looked_ms - seen.schedulers.as_of <= part.estate.region(part.region).guard.listing_age * 1000:
        return seen.schedulers
    return SchedulerView(seen.schedulers.as_of, {}, {}, frozenset(c.cluster for c in part.contracts))


def behind(seen: Seen) -> bool:
    """Whether the schedulers' view is older than what the provider said at the same look, or nothing tells how old it
    is: what a node did for a notice, it may have undone since. Both clocks are those of the other side, so that no skew
    of ours makes a view look old.
    """
    newest = max(seen.signals.as_of, seen.listing.as_of if seen.listing else 0)
    return not newest or seen.schedulers.as_of < newest - clocks.LEAP_MS


def open_reclaims(before: Mapping[str, Reclaim], seen: Seen) -> dict[str, Reclaim]:
    """Reclaims that stand: what the provider says now, or, while it is silent, what it said last."""
    known = {reclaim.id: reclaim for reclaim in seen.signals.reclaims} if seen.signals.as_of else before
    return {key: reclaim for key, reclaim in known.items() if reclaim.hold_until > seen.now}


def eyes_of(
    part: Partition,
    memory: Memory,
    seen: Seen,
    counted: Census,
    claimed: Mapping[str, Claim],
    *,
    paused: Paused,
    reclaims: Mapping[str, Reclaim],
    removal: Removal | None,
    clock: str,
) -> Eyes:
    """What the guard is told of this cycle; what the arbiter returns is added once it has ruled."""
    listing = seen.listing
    complete = frozenset(p.name for p in listing.parts if p.complete) if listing else frozenset()
    return Eyes(
        now=seen.now,
        listed_at=listing.as_of if listing else memory.listed_at,
        complete_projects=complete,
        owned_projects=frozenset(part.estate.region(part.region).projects),
        led=seen.led,
        epoch=memory.epoch,
        verified=seen.verified,
        problem=seen.problem,
        outdated=seen.outdated,
        stopped=seen.stopped,
        paused_workloads=paused.workloads,
        paused_pools=paused.pools,
        silent_workloads=frozenset(name for name, claim in claimed.items() if claim.held),
        unexplained=len(counted.unexplained),
        alive=counted.stands,
        closed_pools=closed_pools(part, seen.now, reclaims.values()),
        told_at=seen.signals.as_of or memory.told_at,
        complete_at={**memory.complete_at, **dict.fromkeys(complete, listing.as_of if listing else 0)},
        quota=seen.quota,
        clock=clock,
        leap_ms=seen.leap_ms,
        drained=frozenset(counted.drained) if clock else frozenset(),
        pending=seen.pending,
        removal=removal,
        capped=_capped(part, claimed) if removal else frozenset(),
        looked_ms=seen.looked_ms,
    )


def _capped(part: Partition, claimed: Mapping[str, Claim]) -> frozenset[str]:
    """Workloads whose claim is as large as their contract lets it be."""
    return frozenset(c.name for c in part.contracts if claimed[c.name].total + c.gang_size > c.maximum)


def with_returns(eyes: Eyes, ruling: Ruling, fleet: Fleet) -> Eyes:
    """The same, knowing which workloads have fallback standing that nobody's money is behind any more."""
    standing: dict[str, int] = {}
    fallback = Paid.FALLBACK
    for instance in fleet.instances.values():
        if instance.paid is fallback and instance.supply:
            standing[instance.workload] = standing.get(instance.workload, 0) + instance.units
    given = frozenset(name for name, units in standing.items() if ruling.granted.get(name, 0) < units)
    return replace(eyes, returning=given) if given else eyes

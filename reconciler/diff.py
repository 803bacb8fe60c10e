"""What has to happen so that the fleet becomes what the placement says: steps with causes, never actions.

Pure. Called once a cycle after placement; the guard filters the result. A notice or loss leaves a debt in the fleet, and
the first acquisitions of that workload pay it: they are replacements, with the notice or loss as their cause. Capacity is
taken away only when the workload's remaining ready units still carry its claim, so that a move first builds up and then
takes down.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ledger.causes import Cause
from ledger.events import Paid
from reconciler.claims import Claim
from reconciler.fleet import READY, STARTING, Debt, Fleet, Instance, Phase
from reconciler.steps import Step, StepKind


@dataclass(frozen=True, slots=True)
class Wanted:
    """Instances that one workload shall have in one pool, and what each holds."""

    workload: str
    pool: str
    project: str
    instances: int
    units: int
    paid: Paid


@dataclass(frozen=True, slots=True)
class Naming:
    """How new instances get their names: region, epoch, and the next sequence number."""

    region: str
    epoch: int
    first: int

    def name(self, offset: int) -> str:
        """The key of the `offset`th new instance of this cycle."""
        return f"eb-{self.region}-{self.epoch}-{self.first + offset:06d}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Steps in the order in which they should go out: empty or dead first, replacements, growth, releases."""

    steps: tuple[Step, ...]
    debts: tuple[Debt, ...]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the difference is taken of. `claim_events` name the event behind each workload's present claim."""

    wanted: tuple[Wanted, ...]
    fleet: Fleet
    claims: Mapping[str, Claim]
    claim_events: Mapping[str, str]
    naming: Naming
    now: int
    drained: Mapping[str, str]
    extra: tuple[Step, ...] = ()


def difference(inputs: Inputs) -> Difference:
    """All steps from the observed fleet to the wanted one."""
    by_slot: dict[tuple[str, str], list[Instance]] = defaultdict(list)
    for instance in inputs.fleet.instances.values():
        if instance.supply:
            by_slot[instance.workload, instance.pool].append(instance)
    owed: dict[str, list[Debt]] = defaultdict(list)
    for debt in inputs.fleet.debts:
        owed[debt.workload].append(debt)
    wanted: dict[tuple[str, str], list[Wanted]] = defaultdict(list)
    for want in inputs.wanted:
        wanted[want.workload, want.pool].append(want)
    adds: list[Step] = []
    surplus: list[tuple[Instance, Cause]] = []
    for slot in sorted(by_slot.keys() | wanted.keys()):
        have, wants = by_slot.get(slot, []), wanted.get(slot, [])
        count = sum(want.instances for want in wants)
        for _ in range(count - len(have)):
            adds.append(_acquire(inputs, _unfilled(wants, have, adds), owed[slot[0]], len(adds)))
        if len(have) > count:
            cause = Cause.REBALANCE if count else Cause.CLAIM_SHRANK
            surplus += [(i, cause) for i in sorted(have, key=_dearest_last)[: len(have) - count]]
    adds.sort(key=lambda step: step.kind is not StepKind.REPLACE)
    releases = _releases(inputs, surplus)
    remaining = tuple(debt for debts in owed.values() for debt in debts)
    return Difference((*_cleanups(inputs), *inputs.extra, *adds, *releases), _still_owed(remaining, inputs))


def _unfilled(wants: list[Wanted], have: list[Instance], adds: list[Step]) -> Wanted:
    """The first kind of payment (floor before fallback) that is not yet filled in this slot."""
    for want in wants:
        standing = sum(1 for i in have if i.paid is want.paid)
        coming = sum(1 for s in adds if (s.workload, s.pool, s.paid) == (want.workload, want.pool, want.paid))
        if standing + coming < want.instances:
            return want
    return wants[-1]


def _cleanups(inputs: Inputs) -> Iterable[Step]:
    """Servers in ERROR, drained ones and ends of agreed returns: removed without further ado; gone ones leave their
    scheduler."""
    for instance in inputs.fleet.instances.values():
        if instance.phase is Phase.FAILED and instance.server:
            yield _step(StepKind.DELETE, instance, instance.cause)
        elif instance.phase is Phase.DRAINING:
            drained = inputs.drained.get(instance.name, "")
            if drained in ("verified", "overrun") or (instance.released and inputs.now >= instance.ends_at):
                yield _step(StepKind.DELETE, instance, Cause.DRAINED if drained == "verified" else instance.cause)
        elif instance.phase is Phase.GONE and instance.joined_at:
            yield _step(StepKind.DEREGISTER, instance, instance.cause)


def _step(kind: StepKind, instance: Instance, cause: Cause) -> Step:
    return Step(
        kind=kind,
        workload=instance.workload,
        pool=instance.pool,
        project=instance.project,
        instance=instance.name,
        units=instance.units,
        paid=instance.paid,
        cause=cause,
        cause_event=instance.cause_event,
        server=instance.server,
    )


def _acquire(inputs: Inputs, want: Wanted, owed: list[Debt], offset: int) -> Step:
    debt = owed.pop(0) if owed and want.paid is Paid.RECLAIMABLE else None
    if debt:
        kind, cause, cause_event = StepKind.REPLACE, debt.cause, debt.cause_event
    else:
        kind = StepKind.ACQUIRE
        cause = {Paid.FLOOR: Cause.FLOOR, Paid.FALLBACK: Cause.SHORTFALL}.get(want.paid, Cause.CLAIM_GREW)
        cause_event = inputs.claim_events.get(want.workload, "")
    return Step(
        kind=kind,
        workload=want.workload,
        pool=want.pool,
        project=want.project,
        instance=inputs.naming.name(offset),
        units=want.units,
        paid=want.paid,
        cause=cause,
        cause_event=cause_event,
        detail=f"replaces {debt.instance}" if debt else "",
    )


def _dearest_last(instance: Instance) -> tuple[int, int, int, int, str]:
    """Release order: fallback (the dearest to pay), not yet there, empty, then the one that has worked the shortest."""
    fallback = 0 if instance.paid is Paid.FALLBACK else 1
    not_there = 0 if instance.phase in STARTING else 1
    return fallback, not_there, instance.busy_units, -instance.joined_at, instance.name


def _releases(inputs: Inputs, surplus: list[tuple[Instance, Cause]]) -> list[Step]:
    """Releases that leave each workload's ready units at or above its claim; the rest waits for a later cycle."""
    ready: dict[str, int] = defaultdict(int)
    for instance in inputs.fleet.instances.values():
        if instance.phase in READY:
            ready[instance.workload] += instance.units
    steps = []
    for instance, cause in surplus:
        claim = inputs.claims.get(instance.workload)
        needed = claim.total if claim else 0
        if instance.phase in READY and instance.busy_units:
            if ready[instance.workload] - instance.units < needed:
                continue
            ready[instance.workload] -= instance.units
        steps.append(_step(StepKind.RELEASE, instance, cause))
    return steps


def _still_owed(debts: tuple[Debt, ...], inputs: Inputs) -> tuple[Debt, ...]:
    """Debts that stay: those of workloads whose supply is still short of their claim."""
    supply: dict[str, int] = defaultdict(int)
    for instance in inputs.fleet.instances.values():
        if instance.supply:
            supply[instance.workload] += instance.units
    short = {w for w, claim in inputs.claims.items() if supply[w] < claim.total}
    return tuple(debt for debt in debts if debt.workload in short)

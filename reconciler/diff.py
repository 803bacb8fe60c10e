"""What has to happen so that the fleet becomes what the placement says: steps with causes, never actions.

Pure. Called once a cycle after placement; the guard filters the result. A notice or loss leaves a debt in the fleet,
and the first acquisitions of that workload pay it: they are replacements, with the notice or loss as their cause. A
move first builds up: its source is released when the instance that takes over is there. What a smaller claim leaves
over goes only when it is empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ledger.causes import Cause
from ledger.events import Paid
from reconciler.claims import Claim
from reconciler.fleet import Debt, Fleet, Instance, Phase
from reconciler.problem import Move
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
    moves: tuple[Move, ...] = ()
    extra: tuple[Step, ...] = ()


def difference(inputs: Inputs) -> Difference:
    """All steps from the observed fleet to the wanted one."""
    by_slot: dict[tuple[str, str], list[Instance]] = defaultdict(list)
    moved: list[Instance] = []
    for instance in inputs.fleet.instances.values():
        if instance.moving_to and instance.supply:
            moved.append(instance)
        elif instance.supply:
            by_slot[instance.workload, instance.pool].append(instance)
    owed: dict[str, list[Debt]] = defaultdict(list)
    for debt in inputs.fleet.debts:
        owed[debt.workload].append(debt)
    wanted: dict[tuple[str, str], list[Wanted]] = defaultdict(list)
    for want in inputs.wanted:
        wanted[want.workload, want.pool].append(want)
    sources, going = _sources(inputs.moves, by_slot)
    adds: list[Step] = []
    surplus: list[Instance] = []
    for slot in sorted(by_slot.keys() | wanted.keys()):
        have, wants = by_slot.get(slot, []), wanted.get(slot, [])
        count = sum(want.instances for want in wants)
        if len(have) < count:
            for want, instances in _unfilled(wants, have, count - len(have)):
                for _ in range(instances):
                    adds.append(_acquire(inputs, want, owed[slot[0]], sources.get(slot, []), len(adds)))
        elif len(have) > count:
            staying = [i for i in have if i.name not in going]
            surplus += sorted(staying, key=_dearest_last)[: len(have) - count - (len(have) - len(staying))]
    adds.sort(key=lambda step: step.kind is not StepKind.REPLACE)
    remaining = tuple(debt for debts in owed.values() for debt in debts)
    steps = (*_cleanups(inputs), *inputs.extra, *adds, *_moved_away(inputs, moved), *_emptied(surplus))
    return Difference(steps, _still_owed(remaining, inputs))


def _sources(
    moves: tuple[Move, ...], by_slot: Mapping[tuple[str, str], list[Instance]]
) -> tuple[dict[tuple[str, str], list[Instance]], set[str]]:
    """For each slot that a move leads to, the instances whose work it takes over; the cheapest to interrupt first."""
    sources: dict[tuple[str, str], list[Instance]] = defaultdict(list)
    going: set[str] = set()
    for move in moves:
        free = [i for i in by_slot.get((move.workload, move.source), []) if i.name not in going and i.joined_at]
        for instance in sorted(free, key=_dearest_last)[: move.instances]:
            sources[move.workload, move.target].append(instance)
            going.add(instance.name)
    return sources, going


def _moved_away(inputs: Inputs, moved: list[Instance]) -> Iterable[Step]:
    """Releases of instances whose work is taken over by one that is there now."""
    for instance in moved:
        taker = inputs.fleet.instances.get(instance.moving_to)
        if taker is not None and taker.ready:
            yield _step(StepKind.RELEASE, instance, Cause.REBALANCE)


def _emptied(surplus: list[Instance]) -> Iterable[Step]:
    """Releases because less is claimed: only what is empty or not there yet. A busy one waits until its units end or
    fill other nodes: nobody is interrupted to save idle time.
    """
    for instance in surplus:
        if not instance.ready or instance.busy_units == 0:
            yield _step(StepKind.RELEASE, instance, Cause.CLAIM_SHRANK)


def _unfilled(wants: list[Wanted], have: list[Instance], missing: int) -> Iterable[tuple[Wanted, int]]:
    """How many of the missing instances each kind of payment gets, floor before fallback."""
    for want in wants:
        standing = sum(1 for i in have if i.paid is want.paid)
        taken = missing if want is wants[-1] else min(missing, max(0, want.instances - standing))
        if taken:
            yield want, taken
            missing -= taken


def _cleanups(inputs: Inputs) -> Iterable[Step]:
    """Servers in ERROR, drained ones and ends of agreed returns: removed without further ado; gone ones leave their
    scheduler.
    """
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


def _acquire(inputs: Inputs, want: Wanted, owed: list[Debt], sources: list[Instance], offset: int) -> Step:
    source = debt = None
    if sources:
        source = sources.pop(0)
    elif owed and want.paid is Paid.RECLAIMABLE:
        debt = owed.pop(0)
    kind = StepKind.REPLACE if debt else StepKind.ACQUIRE
    cause_event = inputs.claim_events.get(want.workload, "")
    cause = {Paid.FLOOR: Cause.FLOOR, Paid.FALLBACK: Cause.SHORTFALL}.get(want.paid, Cause.CLAIM_GREW)
    if debt:
        cause, cause_event = debt.cause, debt.cause_event
    elif source:
        cause = Cause.REBALANCE
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
        takes_over=source.name if source else "",
        detail=f"replaces {debt.instance}" if debt else f"takes over from {source.name}" if source else "",
    )


def _dearest_last(instance: Instance) -> tuple[int, int, int, int, str]:
    """Release order: fallback (the dearest to pay), not yet there, empty, then the one that has worked the shortest."""
    fallback = 0 if instance.paid is Paid.FALLBACK else 1
    not_there = 0 if instance.starting else 1
    return fallback, not_there, instance.busy_units, -instance.joined_at, instance.name


def _still_owed(debts: tuple[Debt, ...], inputs: Inputs) -> tuple[Debt, ...]:
    """Debts that stay: those of workloads whose supply is still short of their claim."""
    supply: dict[str, int] = defaultdict(int)
    for instance in inputs.fleet.instances.values():
        if instance.supply:
            supply[instance.workload] += instance.units
    short = {w for w, claim in inputs.claims.items() if supply[w] < claim.total}
    return tuple(debt for debt in debts if debt.workload in short)

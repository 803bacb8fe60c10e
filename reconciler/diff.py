"""What has to happen so that the fleet becomes what the placement says: steps with causes, never actions.

Pure. Called once a cycle after placement; the guard filters the result. A notice or loss leaves a debt in the fleet,
and the first acquisitions of that workload pay it: they are replacements, with the notice or loss as their cause. A
move first builds up: its source is released when the instance that takes over is there. What a smaller claim leaves
over goes only when it is empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from contracts.frozen import quick, replace
from ledger.causes import Cause
from ledger.events import Paid
from reconciler.claims import Claim
from reconciler.debts import REPLACING
from reconciler.diff_fallback import bought_in, dearest_last, over_granted, payable, spare_of
from reconciler.fleet import Debt, Fleet, Instance, Phase, name_of, number_in
from reconciler.problem import Move
from reconciler.steps import Step, StepKind, step_of

MOST_ASKED = 6
"""A node whose agent is dead, and that no scheduler shows in a drain, is asked so often, cycle by cycle, before its end
is held to be agreed: an answer is a word, and no drain.
"""

LAST_RANK = 6
"""Behind the five tiers: work without a contract."""


@quick
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
    """How new instances get their names: the partition's seat, epoch, and the next sequence number."""

    seat: str
    epoch: int
    first: int

    def name(self, offset: int) -> str:
        """The key of the `offset`th new instance of this cycle."""
        return name_of(self.seat, self.epoch, self.first + offset)


@dataclass(frozen=True, slots=True)
class Difference:
    """Steps in the order in which they should go out: empty or dead first, replacements, growth, releases.

    `debts` are all that still stand, those that a step would pay among them: whoever carries a step out settles it.
    """

    steps: tuple[Step, ...]
    debts: tuple[Debt, ...]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the difference is taken of.

    `claim_events` name the event behind each workload's present claim, `shortfall_events` the one behind its fallback,
    `ranks` each workload's tier (1 is strictest), `join_timeout_s` how long a node may be away. Nothing is planned
    outside `owned_projects`. `shown` are nodes that a scheduler shows now. `extra` are adoptions, disownings and
    quarantines. `granted` are the units of fallback that are paid, by workload, `spent` names those that no money is
    left for, and `strict` those that only covered nodes serve.
    """

    wanted: tuple[Wanted, ...]
    fleet: Fleet
    claims: Mapping[str, Claim]
    claim_events: Mapping[str, str]
    naming: Naming
    now: int
    drained: Mapping[str, str]
    owned_projects: frozenset[str]
    join_timeout_s: int = 600
    ranks: Mapping[str, int] = field(default_factory=dict)
    shortfall_events: Mapping[str, str] = field(default_factory=dict)
    moves: tuple[Move, ...] = ()
    shown: frozenset[str] = frozenset()
    extra: tuple[Step, ...] = ()
    granted: Mapping[str, int] = field(default_factory=dict)
    spent: frozenset[str] = frozenset()
    strict: frozenset[str] = frozenset()


def difference(inputs: Inputs) -> Difference:
    """All steps from the observed fleet to the wanted one."""
    found = _sorted(inputs)
    by_slot = found.by_slot
    unpaid = over_granted(found.bought, inputs.granted, inputs.spent)
    _without(found, [instance for instance, _ in unpaid])
    owed: dict[str, list[Debt]] = defaultdict(list)
    for debt in inputs.fleet.debts:
        owed[debt.workload].append(debt)
    wanted: dict[tuple[str, str], list[Wanted]] = defaultdict(list)
    for want in inputs.wanted:
        wanted[want.workload, want.pool].append(want)
    sources, going = _sources(inputs.moves, by_slot)
    adds: list[Step] = []
    surplus = sorted(found.bare, key=dearest_last)
    spare = spare_of(found.bought, inputs.granted)
    for slot in sorted(by_slot.keys() | wanted.keys()):
        have, wants = by_slot.get(slot, []), wanted.get(slot, [])
        count = sum(want.instances for want in wants)
        stay = bought_in(have) if slot[0] in found.bought else 0
        # fallback that is granted stays where it is, and fills a place of its own kind
        filled = len(have) - stay + min(stay, sum(want.instances for want in wants if want.paid is Paid.FALLBACK))
        if filled < count:
            for want, instances in _unfilled(wants, have, count - filled):
                paid = payable(spare, want.workload, instances, want.units) if want.paid is Paid.FALLBACK else instances
                for _ in range(paid):
                    adds.append(_acquire(inputs, want, owed[slot[0]], sources.get(slot, []), len(adds)))
        elif filled > count:
            staying = [i for i in have if i.name not in going and i.paid is not Paid.FALLBACK]
            moving = len(have) - stay - len(staying)
            surplus += sorted(staying, key=dearest_last)[: max(0, filled - moving - count)]
    adds.sort(key=lambda step: _urgency(step, inputs.ranks))
    releases = [
        *_moved_away(inputs, found.moved),
        *(step_of(StepKind.RELEASE, instance, cause) for instance, cause in unpaid),
        *_emptied(inputs, [i for i in surplus if not _away(i, inputs)]),
        *_lost_to_scheduler(inputs, by_slot.values(), found.unseen),
    ]
    leaving = {step.instance for step in releases}
    steps = (
        *_cleanups(inputs, found.going),
        *inputs.extra,
        *_asked_before(i for i in found.asked if i.name not in leaving),
        *adds,
        *releases,
    )
    # what is given back stays as it is: nothing else is done to it
    given = {step.instance for step in inputs.extra if step.kind is StepKind.DISOWN}
    return Difference(
        tuple(
            step
            for step in steps
            if step.project in inputs.owned_projects and (step.kind is StepKind.DISOWN or step.instance not in given)
        ),
        _still_owed(inputs, found.units),
    )


@dataclass(slots=True)
class _Sorted:
    """The fleet by what may follow for an instance, each in the fleet's order.

    `by_slot` is supply by workload and pool, `bought` what of it is fallback, by workload. Apart from it stand what is
    being taken over by another (`moved`), and lent nodes of a strict tier that no notice would reach (`bare`): they
    fill no place that the placement wants filled. `units` is all supply by workload, `going` what is none, `asked` what
    no server is known of, and `unseen` names those that a scheduler misses, or may.
    """

    by_slot: dict[tuple[str, str], list[Instance]] = field(default_factory=lambda: defaultdict(list))
    bought: dict[str, list[Instance]] = field(default_factory=lambda: defaultdict(list))
    moved: list[Instance] = field(default_factory=list)
    bare: list[Instance] = field(default_factory=list)
    units: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    going: list[Instance] = field(default_factory=list)
    asked: list[Instance] = field(default_factory=list)
    unseen: set[str] = field(default_factory=set)


def _sorted(inputs: Inputs) -> _Sorted:
    """One pass over the fleet: of a large one, this is what a difference costs."""
    found = _Sorted()
    by_slot, units, strict = found.by_slot, found.units, inputs.strict
    serving, joined, fallback = Phase.SERVING, Phase.JOINED, Paid.FALLBACK
    for instance in inputs.fleet.instances.values():
        phase = instance.phase
        if phase is not serving and phase is not joined and not instance.supply:
            found.going.append(instance)
            continue
        workload = instance.workload
        units[workload] += instance.units
        if instance.left_at or instance.unsure_since:
            found.unseen.add(instance.name)
        if not instance.server and phase is Phase.REQUESTED:
            found.asked.append(instance)
        if instance.moving_to:
            found.moved.append(instance)
        elif not instance.covered and workload in strict and instance.bare:
            found.bare.append(instance)
        else:
            by_slot[workload, instance.pool].append(instance)
            if instance.paid is fallback:
                found.bought[workload].append(instance)
    return found


def _without(found: _Sorted, gone: list[Instance]) -> None:
    """Take what goes out of the supply, whatever the placement makes of its place."""
    names = {instance.name for instance in gone}
    for workload, pool in {(instance.workload, instance.pool) for instance in gone}:
        found.by_slot[workload, pool] = [i for i in found.by_slot[workload, pool] if i.name not in names]
        found.bought[workload] = [i for i in found.bought[workload] if i.name not in names]


def _urgency(step: Step, ranks: Mapping[str, int]) -> tuple[bool, bool, int]:
    """Under a limit the first go out: replacements before growth, floors before the rest, strictest tier first."""
    return step.kind is not StepKind.REPLACE, step.paid is not Paid.FLOOR, ranks.get(step.workload, LAST_RANK)


def _asked_before(asked: Iterable[Instance]) -> Iterable[Step]:
    """Creates whose answer never came: asked again under the same key, which finds the server if there is one."""
    for instance in asked:
        kind = StepKind.REPLACE if instance.cause in REPLACING else StepKind.ACQUIRE
        yield replace(step_of(kind, instance, instance.cause), again=True, detail="no answer came the first time")


def _sources(
    moves: tuple[Move, ...], by_slot: Mapping[tuple[str, str], list[Instance]]
) -> tuple[dict[tuple[str, str], list[Instance]], set[str]]:
    """For each slot that a move leads to, the instances whose work it takes over; the cheapest to interrupt first."""
    sources: dict[tuple[str, str], list[Instance]] = defaultdict(list)
    going: set[str] = set()
    for move in moves:
        have = by_slot.get((move.workload, move.source), [])
        free = [i for i in have if i.name not in going and i.joined_at and i.paid is not Paid.FALLBACK]
        for instance in sorted(free, key=dearest_last)[: move.instances]:
            sources[move.workload, move.target].append(instance)
            going.add(instance.name)
    return sources, going


def _moved_away(inputs: Inputs, moved: list[Instance]) -> Iterable[Step]:
    """Releases of instances whose work is taken over by one that is there now."""
    for instance in moved:
        taker = inputs.fleet.instances.get(instance.moving_to)
        if taker is not None and taker.ready:
            yield step_of(StepKind.RELEASE, instance, Cause.REBALANCE)


def _emptied(inputs: Inputs, surplus: list[Instance]) -> Iterable[Step]:
    """Releases because less is needed: only what is empty or not there yet. A busy one waits until its units end or
    fill other nodes: nobody is interrupted to save idle time. So does one that its scheduler does not show, for as long
    as a join may take: it may be busy, and carry what the rest does not.
    """
    for instance in surplus:
        if instance.starting and instance.cause is Cause.NOTICE:
            yield step_of(StepKind.RELEASE, instance, Cause.NOTICE_WITHDRAWN)
        elif instance.starting or (instance.ready and instance.busy_units == 0):
            told = inputs.claim_events.get(instance.workload, instance.cause_event)
            yield replace(step_of(StepKind.RELEASE, instance, Cause.CLAIM_SHRANK), cause_event=told)


def _away(instance: Instance, inputs: Inputs) -> bool:
    """Whether its scheduler, which answers, has not shown it for longer than a join may take: it left, or nobody knows
    that it ever came. What somebody else started is theirs to judge.
    """
    started_here = number_in(instance.name, inputs.naming.seat) > 0
    since = instance.unsure_since if instance.starting else instance.left_at
    silent = inputs.claims[instance.workload].held if instance.workload in inputs.claims else False
    return started_here and not silent and 0 < since <= inputs.now - inputs.join_timeout_s * 1000


def _lost_to_scheduler(inputs: Inputs, slots: Iterable[list[Instance]], unseen: set[str]) -> Iterable[Step]:
    """Releases of what no scheduler can use: it drains what may still run there, and another one is bought."""
    for have in slots if unseen else ():
        for instance in have:
            if instance.name in unseen and _away(instance, inputs):
                yield step_of(StepKind.RELEASE, instance, Cause.LEFT_SCHEDULER)


def _unfilled(wants: list[Wanted], have: list[Instance], missing: int) -> Iterable[tuple[Wanted, int]]:
    """How many of the missing instances each kind of payment gets, floor before fallback."""
    for want in wants:
        taken = missing
        if want is not wants[-1]:
            standing = sum(1 for i in have if i.paid is want.paid)
            taken = min(missing, max(0, want.instances - standing))
        if taken:
            yield want, taken
            missing -= taken


def _cleanups(inputs: Inputs, going: Iterable[Instance]) -> Iterable[Step]:
    """Servers in ERROR, drained ones and ends of agreed returns: removed without further ado; gone ones leave their
    scheduler. One that became a node after its release was decided is asked to drain before anything else, and so is
    one that answered and does not.
    """
    for instance in going:
        if instance.phase is Phase.FAILED and instance.server:
            # of what ran, that no scheduler showed it is no proof that it is no node: whoever is there drains first
            unseen = instance.unsure_since > 0 or (instance.cause is Cause.NEVER_JOINED and instance.started_at > 0)
            yield step_of(StepKind.RELEASE if unseen else StepKind.DELETE, instance, instance.cause)
        elif instance.phase is Phase.DRAINING and instance.server:
            drained = inputs.drained.get(instance.name, "")
            unheard = instance.released and _unheard(instance, inputs)
            if drained in ("verified", "overrun"):
                yield step_of(StepKind.DELETE, instance, Cause.DRAINED if drained == "verified" else instance.cause)
            elif unheard and not instance.noticed:
                yield step_of(StepKind.RELEASE, instance, instance.cause)
            elif _over(instance, inputs, unheard=unheard):
                yield step_of(StepKind.DELETE, instance, instance.cause)
        elif instance.phase is Phase.GONE and instance.joined_at and not instance.deregistered:
            yield step_of(StepKind.DEREGISTER, instance, instance.cause)


def _over(instance: Instance, inputs: Inputs, *, unheard: bool) -> bool:
    """Whether the end of a release has passed: one that its node knows of. Who was released before it was a node, and
    noticed since, knows of the notice alone; and the end of a drain that was merely seen binds nobody who may work on.
    Of what never was a node for all we know, its scheduler has to say that it is none still.
    """
    if not instance.released or (instance.seen_to_drain and _there(instance, inputs)):
        return False
    if not instance.node_once and _there(instance, inputs):
        return False
    knows = instance.drain_asked or not (unheard or instance.notices)
    ends_at = instance.ends_at if knows else min((end for _, end in instance.notices), default=instance.ends_at)
    return inputs.now >= ends_at


def _there(instance: Instance, inputs: Inputs) -> bool:
    """Whether it is a node, as far as its scheduler can say."""
    held = instance.workload in inputs.claims and inputs.claims[instance.workload].held
    return held or instance.name in inputs.shown


def _unheard(instance: Instance, inputs: Inputs) -> bool:
    """Whether a released node has to be asked (again): no answer came, or it is there, as far as its scheduler can say,
    and was not seen to drain. While its agent lives it cannot have heard; a dead one is given up in time.
    """
    if not instance.node_once or instance.drain_asked:
        return False
    lives = instance.covered and instance.name in inputs.shown
    return not instance.asked or lives or (instance.asked < MOST_ASKED and _there(instance, inputs))


def _acquire(inputs: Inputs, want: Wanted, owed: list[Debt], sources: list[Instance], offset: int) -> Step:
    source = debt = None
    if sources:
        source = sources.pop(0)
    else:
        debt = next((d for d in owed if d.paid is want.paid), None)
    if debt:
        owed.remove(debt)
    kind = StepKind.REPLACE if debt else StepKind.ACQUIRE
    cause_event = inputs.claim_events.get(want.workload, "")
    cause = {Paid.FLOOR: Cause.FLOOR, Paid.FALLBACK: Cause.SHORTFALL}.get(want.paid, Cause.CLAIM_GREW)
    if want.paid is Paid.FALLBACK:
        cause_event = inputs.shortfall_events.get(want.workload, cause_event)
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
        replaces=debt.instance if debt else "",
        detail=f"replaces {debt.instance}" if debt else f"takes over from {source.name}" if source else "",
    )


def _still_owed(inputs: Inputs, units: Mapping[str, int]) -> tuple[Debt, ...]:
    """Debts that stay: those of workloads whose supply, in `units`, is still short of their claim."""
    short = {w for w, claim in inputs.claims.items() if units.get(w, 0) < claim.total}
    return tuple(debt for debt in inputs.fleet.debts if debt.workload in short)

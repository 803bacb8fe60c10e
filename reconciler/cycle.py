"""One cycle's decision, pure: from memory and what was seen to the steps that may go out.

`Memory` is all that lasts between two cycles; `decide` returns the next one. The loop observes before and applies
after; `ebbtide plan` calls `decide` alone and touches nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from contracts.approval import SignedApproval
from contracts.frozen import quick, replace
from ledger.causes import Cause
from ledger.events import Event, EventType, Paid
from pools.provider import ForwardCapacities, Listing, Quota, RateCard, Reclaim, Signals
from reconciler import arbiter, blast_radius, breakers, census, claims, diff, guard, opening, refusals, removals
from reconciler.adoption import adoption_steps
from reconciler.appraisal import Appraisal, Appraiser
from reconciler.desired import Facts, Partition, problem, wanted
from reconciler.drafts import Scribe
from reconciler.eyes import Paused, behind, clock_doubt, eyes_of, heard, open_reclaims, paused_in, with_returns
from reconciler.fleet import Fleet, Phase
from reconciler.placement import place
from reconciler.ports import SchedulerView
from reconciler.problem import Placement
from reconciler.sharing import held_beside
from reconciler.sight import Census, Sight
from reconciler.standing import ground_of, spend_limits, spreads_of
from reconciler.steady import steadied
from reconciler.steps import ADDS, LETS_GO, Refusal, Step
from reconciler.twins import twin_steps


@quick
@dataclass(frozen=True, slots=True)
class Seen:
    """What one round of observation brought; None where the other side did not answer.

    `led` says that this replica holds the lease; `verified` that Git answered with the commit the estate was read from;
    `day` is the region's local date, on which daily limits are counted; `accepted_at` the time up to which a person
    accepted what a listing lacks; `wallet` what the store says is reserved (None: nothing can be reserved now).

    `problem` is why it is not verified, `outdated` that another replica accepted a newer state, `leap_ms` by how much
    the clock was set since the last look, `pending` the bytes in the spool that nobody took further (None: nobody can
    say), `orders` what people ordered beside the reviewed files, `signed` the approvals that lie beside them,
    `came_with` the commit with which each approval file among them came, and `looked_ms` how long after `now` the
    listing was answered.
    """

    now: int
    signals: Signals
    listing: Listing | None
    schedulers: SchedulerView
    rates: RateCard | None
    forward: ForwardCapacities | None
    quota: Quota | None
    stopped: str = ""
    led: bool = True
    verified: bool = True
    day: str = ""
    accepted_at: int = 0
    problem: str = ""
    outdated: bool = False
    leap_ms: int = 0
    pending: int | None = 0
    orders: tuple[breakers.Order, ...] = ()
    signed: tuple[SignedApproval, ...] = ()
    came_with: Mapping[str, str] = field(default_factory=dict)
    wallet: arbiter.Wallet | None = None
    looked_ms: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Memory:
    """What lasts between two cycles. All of it can be rebuilt from the provider, the schedulers and the ledger.

    `complete_at` says when each project was last listed to its end, `baseline` what was desired when removals were last
    approved, `breakers` which are tripped, and `order` the newest order that was told.
    """

    epoch: int = 1
    fleet: Fleet = field(default_factory=Fleet)
    claims: Mapping[str, claims.Claim] = field(default_factory=dict)
    claim_events: Mapping[str, str] = field(default_factory=dict)
    risks: Mapping[str, arbiter.Risk] = field(default_factory=dict)
    wallet: arbiter.Wallet = field(default_factory=arbiter.Wallet)
    guard: blast_radius.GuardState = field(default_factory=blast_radius.GuardState)
    refusals: refusals.Given = field(default_factory=dict)
    reclaims: Mapping[str, Reclaim] = field(default_factory=dict)
    placement: Placement | None = None
    listed_at: int = 0
    told_at: int = 0
    complete_at: Mapping[str, int] = field(default_factory=dict)
    cursor: str = ""
    baseline: removals.Baseline = field(default_factory=removals.Baseline)
    breakers: breakers.Standing = field(default_factory=dict)
    order: int = 0

    @property
    def after_others(self) -> bool:
        """Whether a term of which nothing is remembered lay between the last cycle and this one."""
        return self.guard.epoch < self.epoch - 1


@dataclass(frozen=True, slots=True)
class Decision:
    """What one cycle decided, with everything that explains it."""

    memory: Memory
    allowed: tuple[Step, ...]
    refused: tuple[Refusal, ...]
    events: tuple[Event, ...]
    placement: Placement
    appraisal: Appraisal
    unexplained: tuple[str, ...]
    paged: tuple[str, ...]


def decide(part: Partition, memory: Memory, seen: Seen, appraiser: Appraiser, commit: str) -> Decision:
    """The next memory, the steps that may go out, the refusals, and the events of this cycle."""
    clock = clock_doubt(part, memory, seen)
    memory, seen = steadied(memory, seen, clock)
    scribe = Scribe(part.region, seen.now, commit, memory.epoch, partition=part.name)
    seen = replace(seen, schedulers=heard(part, seen))
    reclaims = open_reclaims(memory.reclaims, seen)
    paused = paused_in(part)
    claimed = claims.claims(part.contracts, seen.schedulers, memory.claims, seen.now, others=memory.after_others)
    claim_events, events = claims.tell(claimed, memory.claims, memory.claim_events, seen.schedulers, scribe)
    counted = _count(part, memory, seen, claimed, scribe, clock=clock)
    lone = counted.fleet.beyond(part.contract_by_name)
    removal = removals.judge(
        part, commit, memory.baseline, signed=seen.signed, came_with=seen.came_with, standing=lone, now=seen.now
    )
    memory = replace(memory, risks=arbiter.recall(memory.risks, counted.restored))
    appraisal = appraiser.appraise(part, counted, seen, scribe)
    eyes = eyes_of(
        part, memory, seen, counted, claimed, paused=paused, reclaims=reclaims, removal=removal.waiting, clock=clock
    )
    ruling = _rule(part, memory, eyes, claimed, counted.fleet, appraisal=appraisal, seen=seen, scribe=scribe)
    eyes = with_returns(eyes, ruling, counted.fleet)
    facts = _facts(part, seen, claimed, counted, appraisal, ruling, reclaims=reclaims, paused=paused)
    placement = place(problem(part, facts), last=memory.placement)
    found = _difference(part, memory, seen, counted, placement, _Told(claimed, claim_events, ruling))
    verdict = _judge(part, memory, found.steps, eyes, counted, claimed=claimed, appraisal=appraisal)
    standing = _standing(part, memory, seen, eyes, removal, scribe)
    told, given = refusals.tell(verdict.refused, memory.refusals, scribe)
    after = replace(
        memory,
        fleet=replace(counted.fleet, debts=found.debts, sequence=counted.fleet.sequence + len(found.steps)),
        claims=claimed,
        claim_events=claim_events,
        risks=ruling.risks,
        wallet=ruling.wallet,
        guard=verdict.state,
        refusals=given,
        reclaims=reclaims,
        placement=placement,
        listed_at=eyes.listed_at,
        told_at=eyes.told_at,
        complete_at=eyes.complete_at,
        cursor=counted.cursor(memory.cursor, seen.signals.cursor),
        baseline=removal.baseline,
        breakers=standing.breakers,
        order=standing.order,
    )
    return Decision(
        memory=after,
        allowed=tuple(verdict.allowed),
        refused=tuple(verdict.refused),
        events=(*standing.events, *counted.events, *events, *appraisal.events, *ruling.events, *told),
        placement=placement,
        appraisal=appraisal,
        unexplained=tuple(counted.unexplained),
        paged=tuple(ruling.paged),
    )


def _judge(
    part: Partition,
    memory: Memory,
    steps: tuple[Step, ...],
    eyes: guard.Eyes,
    counted: Census,
    *,
    claimed: Mapping[str, claims.Claim],
    appraisal: Appraisal,
) -> guard.Verdict:
    growing = frozenset(step.workload for step in steps if step.kind in ADDS)
    leaving = frozenset(step.instance for step in steps if step.kind in LETS_GO)
    return guard.judge(
        steps,
        eyes=eyes,
        fleet=counted.fleet,
        limits=part.estate.region(part.region).guard,
        state=memory.guard,
        ground=ground_of(part),
        spreads=spreads_of(
            part,
            counted.fleet,
            claimed,
            appraisal.offers,
            growing=growing,
            beside=counted.unowned(),
            leaving=leaving,
            unlisted=counted.unlisted,
        ),
        let_go=counted.let_go,
        grown=counted.grown,
    )


@dataclass(frozen=True, slots=True)
class _Standing:
    """What stops the region and what people ordered, told; and what of it stands now."""

    events: tuple[Event, ...]
    breakers: breakers.Standing
    order: int


def _standing(
    part: Partition, memory: Memory, seen: Seen, eyes: guard.Eyes, removal: removals.Judgement, scribe: Scribe
) -> _Standing:
    """A term that began, orders, breakers that tripped or are over, and a removal that was approved: each told once."""
    orders, order = breakers.told(seen.orders, memory.order, scribe)
    found = guard.breakers(eyes, part.estate.region(part.region).guard)
    tripped, standing = breakers.tell(found, memory.breakers, scribe)
    began: tuple[Event, ...] = ()
    if memory.guard.epoch != memory.epoch:
        term = {"term": memory.epoch}
        # where store and disks were lost, a term that touched nothing left no trace of its number
        subject = f"{memory.epoch}/{scribe.now}"
        began = (scribe.event(EventType.LEADER_BEGAN, subject, Cause.LEASE_TAKEN, data=term),)
    opened = opening.told(memory.wallet, seen.wallet, scribe)
    return _Standing((*began, *orders, *opened, *tripped, *removals.told(removal.approved, scribe)), standing, order)


def _facts(
    part: Partition,
    seen: Seen,
    claimed: Mapping[str, claims.Claim],
    counted: Census,
    appraisal: Appraisal,
    ruling: arbiter.Ruling,
    *,
    reclaims: Mapping[str, Reclaim],
    paused: Paused,
) -> Facts:
    """What the placement problem is made of this cycle."""
    return Facts(
        now=seen.now,
        claims=claimed,
        fleet=counted.fleet,
        offers=appraisal.offers,
        room=appraisal.room,
        quota=seen.quota,
        reclaims=tuple(reclaims.values()),
        admitted=appraisal.admitted,
        move_cost_micro=appraisal.move_cost_micro,
        fallback_units=ruling.granted,
        paused_pools=paused.pools,
        beside=held_beside(part, seen.listing),
        unlisted=counted.unlisted,
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """What claims and the arbiter said this cycle."""

    claims: Mapping[str, claims.Claim]
    claim_events: Mapping[str, str]
    ruling: arbiter.Ruling


def _difference(
    part: Partition, memory: Memory, seen: Seen, counted: Census, placement: Placement, told: _Told
) -> diff.Difference:
    """What has to happen so that the fleet becomes what the placement says."""
    projects = frozenset(part.estate.region(part.region).projects)
    risks = told.ruling.risks
    twins = twin_steps(counted.twins, part.region)
    return diff.difference(
        diff.Inputs(
            wanted=wanted(part, placement, told.claims),
            fleet=counted.fleet,
            claims=told.claims,
            claim_events=told.claim_events,
            naming=diff.Naming(part.seat, memory.epoch, counted.fleet.sequence),
            now=seen.now,
            drained=counted.drained,
            owned_projects=projects,
            join_timeout_s=part.estate.region(part.region).join_timeout,
            ranks={c.name: c.tier.rank for c in part.contracts},
            shortfall_events={name: risk.since_event for name, risk in risks.items() if risk.since_event},
            granted={name: risk.granted for name, risk in risks.items()},
            spent=frozenset(name for name, risk in risks.items() if risk.spent),
            moves=placement.moves,
            shown=frozenset(seen.schedulers.nodes),
            strict=part.strict,
            extra=twins + adoption_steps(part, seen.listing, counted.fleet, counted.strays, projects=projects),
        )
    )


def _count(
    part: Partition, memory: Memory, seen: Seen, claimed: Mapping[str, claims.Claim], scribe: Scribe, *, clock: str
) -> Census:
    region = part.estate.region(part.region)
    return census.take(
        memory.fleet,
        Sight(
            now=seen.now,
            estate=part.estate.settings.estate,
            region=part.region,
            join_timeout_s=10**9 if clock else region.join_timeout,  # nobody can tell the time: nothing is late
            signals=seen.signals,
            listing=seen.listing,
            nodes=seen.schedulers.nodes,
            behind=behind(seen),
            # what lost its contract is ours until it is gone
            workloads=frozenset(part.contract_by_name) | memory.baseline.units.keys(),
            projects=frozenset(region.projects),
            silent_workloads=frozenset(name for name, claim in claimed.items() if claim.held),
            improbable_percent=region.guard.improbable_share,
            accepted_at=seen.accepted_at,
            partition=part.name,
            led=frozenset(one.name for one in region.partitions) or frozenset({""}),
            from_beginning=not memory.cursor,
        ),
        scribe,
    )


def _rule(
    part: Partition,
    memory: Memory,
    eyes: guard.Eyes,
    claimed: Mapping[str, claims.Claim],
    fleet: Fleet,
    *,
    appraisal: Appraisal,
    seen: Seen,
    scribe: Scribe,
) -> arbiter.Ruling:
    """The arbiter's ruling. Where the guard would let no purchase out, none is reserved for."""
    running: dict[str, int] = defaultdict(int)
    on_fallback: dict[str, int] = defaultdict(int)
    on_floor: dict[str, int] = defaultdict(int)
    held, failing = defaultdict[str, int](int), defaultdict[str, int](int)
    unseen: set[str] = set()  # fallback stands where nobody knows what else does
    fallback, floor = Paid.FALLBACK, Paid.FLOOR
    for instance in fleet.instances.values():
        paid = instance.paid
        if paid is fallback and instance.project not in eyes.complete_projects:
            unseen.add(instance.workload)
        if paid is fallback and instance.supply:
            held[instance.workload] += instance.units
        elif paid is fallback and instance.phase is Phase.FAILED and instance.billed:
            failing[instance.workload] += instance.units
        if instance.ready:
            running[instance.workload] += instance.units
            if paid is fallback:
                on_fallback[instance.workload] += instance.units
            elif paid is floor:
                on_floor[instance.workload] += instance.units
    everybody = guard.buys_nothing(eyes, part.estate.region(part.region).guard)
    # what stands without a contract is frozen with the rest
    whole = frozenset(part.contract_by_name) | memory.risks.keys()
    frozen = whole if everybody else eyes.silent_workloads | eyes.paused_workloads
    # they need less only because a removal that waits for its approval capped what they claim
    waiting = eyes.capped & eyes.removal.taken.keys() if eyes.removal is not None else frozenset()
    return arbiter.rule(
        part.contracts,
        claims=claimed,
        standings={
            c.name: arbiter.Standing(
                running[c.name],
                on_fallback[c.name],
                appraisal.guaranteed_micro.get(c.name),
                lot=part.committed_lots[c.name],
                floor_owed=max(0, claimed[c.name].floor - on_floor[c.name]),
                held=held[c.name],
                failing=failing[c.name],
            )
            for c in part.contracts
        },
        risks=memory.risks,
        wallet=memory.wallet if seen.wallet is None else seen.wallet,
        money=seen.wallet is not None and not eyes.clock,  # a doubted clock ends no paid hour and opens no day
        limits_micro=spend_limits(part, seen.now),
        day=seen.day,
        scribe=scribe,
        frozen=frozen,
        kept=frozenset(unseen) | waiting,
    )

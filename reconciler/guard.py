"""The gate that every action passes, and that can only take actions away.

Pure: `judge` gets the steps, the reconciler's own account of what it can see, and the rolling history of what it let
through; it answers with the steps that may go out and a refusal with numbers for each other one. It trusts only a
positive, fresh, complete answer. DELETE of what is already drained, in ERROR or at its agreed end, and DEREGISTER of
what is gone, finish something that was agreed before, and so does the word to a node whose release was decided, and the
return of fallback that nobody pays for any more: no breaker blocks them; ownership and `stop` always do.
`docs/guard.md` has the table of inputs with what each stops.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from contracts.frozen import quick
from ledger.causes import Cause
from ledger.events import Paid
from pools.provider import Quota
from reconciler import blast_radius, removals
from reconciler.blast_radius import GuardState, carried, give_back
from reconciler.breakers import Breaker
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.second_look import SUPPLY, Ground, Spread, breaks_bound, breaks_pools, places
from reconciler.steps import ADDS, Refusal, Step, StepKind, finishes
from repo_layout.documents import GuardLimits

__all__ = ["Eyes", "GuardState", "Verdict", "breakers", "buys_nothing", "carried", "give_back", "judge"]

ENDING = frozenset({StepKind.RELEASE, StepKind.DELETE, StepKind.DISOWN, StepKind.DEREGISTER})
FEW = 3
"""Up to this many unexplained absences stop nothing, however small the fleet. The census has a number of its own."""

GIB = 2**30

NOBODY: Mapping[str, int] = {}


@quick
@dataclass(frozen=True, slots=True)
class Eyes:
    """What the control plane can see now.

    `led` says that this replica holds the partition's lease, under `epoch`. `complete_projects` were listed to their
    end at `listed_at`, and `complete_at` says when each project last was; `verified` says that the desired state is the
    last verified commit and Git answers, `problem` why not, `outdated` that a newer one was accepted and
    is not held; `silent_workloads` belong to schedulers that do not answer;
    `unexplained` instances are missing from a complete listing with nothing to explain it, and nobody has accepted
    that; `closed_pools` lie in domains under an open reclaim. `quota` is what the provider says is left in each
    project; None where it does not say. `told_at` is when it last told of notices and reclaims, and `looked_ms` how
    long after `now` the listing was answered.

    `clock` says why the clock is not believed, `leap_ms` by how much it was set since the last look, `drained` whose
    drain their node says has ended. `pending` are the bytes of events that nobody has taken further (None: nobody can
    say). `removal` is what commits took away and nobody approved, `capped` whose claim is at its contract's maximum,
    and `returning` which workloads have fallback standing that the arbiter has given back.
    """

    now: int
    listed_at: int
    complete_projects: frozenset[str]
    owned_projects: frozenset[str]
    verified: bool
    stopped: str
    paused_workloads: frozenset[str]
    paused_pools: frozenset[str]
    silent_workloads: frozenset[str]
    unexplained: int
    alive: int
    closed_pools: frozenset[str]
    told_at: int
    complete_at: Mapping[str, int] = field(default_factory=dict)
    quota: Quota | None = None
    led: bool = True
    epoch: int = 0
    problem: str = ""
    outdated: bool = False
    clock: str = ""
    leap_ms: int = 0
    drained: frozenset[str] = frozenset()
    pending: int | None = 0
    removal: removals.Removal | None = None
    capped: frozenset[str] = frozenset()
    returning: frozenset[str] = frozenset()
    looked_ms: int = 0


@dataclass
class Verdict:
    """The steps that may go out, the refusals, and the state after them."""

    allowed: list[Step] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    state: GuardState = field(default_factory=GuardState)


def judge(
    steps: tuple[Step, ...],
    *,
    eyes: Eyes,
    fleet: Fleet,
    limits: GuardLimits,
    state: GuardState,
    ground: Ground,
    spreads: Mapping[str, Spread],
    let_go: Mapping[str, int] = NOBODY,
    grown: Mapping[str, int] = NOBODY,
) -> Verdict:
    """Which of the steps may go out, and why each other one may not; `let_go` are releases and `grown` acquisitions by
    leaders of before that came to light now, with their times.
    """
    state = blast_radius.aged(
        state, now=eyes.now, epoch=eyes.epoch, leap_ms=eyes.leap_ms, silent=eyes.silent_workloads, limits=limits
    )
    ahead_ms = max(0, eyes.now - max(eyes.listed_at, eyes.told_at)) if eyes.clock else 0
    state = blast_radius.witnessed(state, let_go, grown, now=eyes.now, limits=limits, ahead_ms=ahead_ms)
    blind = _blind(eyes, limits)
    room = blast_radius.rooms(fleet, limits, state)
    left = _quota_left(eyes.quota)
    verdict = Verdict()
    counts: dict[StepKind, int] = defaultdict(int)
    placed: dict[tuple[str, str], int] = defaultdict(int)
    waiting: list[Refusal] = []

    def consider(step: Step) -> Refusal | None:
        spread = spreads.get(step.workload)
        spends = blast_radius.spends(step, fleet)
        refusal = _refuse(step, eyes, fleet, blind, limits)
        if refusal is None and spends is not None:
            refusal = blast_radius.over(step, spends, room, counts)
        if refusal is None and step.kind in ADDS and step.again:
            refusal = breaks_bound(step, ground, spread, placed)
        elif refusal is None and step.kind in ADDS:
            refusal = breaks_bound(step, ground, spread, placed) or _over_quota(step, ground, left)
            if refusal is None:
                refusal = breaks_pools(step, ground, spread, fleet, placed)
                if refusal is not None:
                    waiting.append(refusal)
                else:
                    _take(step, ground, spread, placed, left)
        if refusal is None:
            if spends is not None:
                counts[spends] += 1
            verdict.allowed.append(step)
        return refusal

    refused = [refusal for refusal in map(consider, steps) if refusal is not None]
    # what only waited for other steps to reach new domains gets a second chance behind them
    helped = {refusal.step.instance for refusal in tuple(waiting) if consider(refusal.step) is None}
    verdict.refused += [refusal for refusal in refused if refusal.step.instance not in helped]
    state = blast_radius.after(state, sees=_sees(eyes, limits), doubted=bool(eyes.clock))
    verdict.state = blast_radius.spent(state, eyes.now, counts)
    return verdict


def buys_nothing(eyes: Eyes, limits: GuardLimits) -> bool:
    """Whether no fallback would go out now, whoever it is for: then no money is reserved for it."""
    return _blind(eyes, limits) is not None or not eyes.verified or bool(_spool_full(eyes, limits))


def breakers(eyes: Eyes, limits: GuardLimits) -> tuple[Breaker, ...]:
    """Everything that stops something now, in words with numbers: one for each row of the table that is met."""
    found = [(cause, "", message) for cause, message in _blinding(eyes, limits)]
    unseen = sorted(eyes.owned_projects - eyes.complete_projects)
    found += [(Cause.LISTING_INCOMPLETE, project, _incomplete(project, eyes)) for project in unseen]
    if _too_old(eyes.told_at, eyes, limits):
        found.append((Cause.SIGNALS_SILENT, "", f"no word of notices and reclaims for {_age_s(eyes.told_at, eyes)} s"))
    if not (eyes.verified or eyes.outdated):
        found.append((Cause.DESIRED_STATE_UNVERIFIED, "", _unverified(eyes)))
    if eyes.silent_workloads:
        told = f"the schedulers of {len(eyes.silent_workloads)} workloads do not answer"
        found.append((Cause.SCHEDULER_SILENT, "", told))
    if full := _spool_full(eyes, limits):
        found.append((Cause.SPOOL_FULL, "", full))
    if eyes.removal is not None:
        found.append((Cause.REMOVAL_UNAPPROVED, "", eyes.removal.text))
    return tuple(
        Breaker(f"{cause.value}/{part}" if part else cause.value, cause, message) for cause, part, message in found
    )


def _sees(eyes: Eyes, limits: GuardLimits) -> bool:
    """Whether this cycle counts as one with open eyes, for the ramp."""
    heard = not _too_old(eyes.told_at, eyes, limits)
    whole = eyes.owned_projects <= eyes.complete_projects
    return whole and heard and not buys_nothing(eyes, limits)


def _blind(eyes: Eyes, limits: GuardLimits) -> tuple[Cause, str] | None:
    """Why nothing at all may be done now, if so."""
    found = _blinding(eyes, limits)
    return found[0] if found else None


def _blinding(eyes: Eyes, limits: GuardLimits) -> list[tuple[Cause, str]]:
    """Everything that stops the whole region now, the weightiest first."""
    found = []
    if eyes.stopped:
        found.append((Cause.STOPPED, f"stopped: {eyes.stopped}"))
    if not eyes.led:
        found.append((Cause.LEASE_LOST, "another replica leads this partition, or the lease store does not answer"))
    if eyes.clock:
        found.append((Cause.CLOCK_JUMPED, eyes.clock))
    if eyes.outdated:
        found.append((Cause.DESIRED_STATE_UNVERIFIED, _unverified(eyes)))
    if _too_old(eyes.listed_at, eyes, limits):
        told = f"the last listing is {_age_s(eyes.listed_at, eyes)} s old, {limits.listing_age} s are allowed"
        found.append((Cause.LISTING_STALE, told))
    if eyes.unexplained * 100 > eyes.alive * limits.improbable_share and eyes.unexplained > FEW:
        told = (
            f"{eyes.unexplained} of {eyes.alive} alive are missing and nothing explains it ({eyes.alive} ="
            f" {eyes.alive - eyes.unexplained} others + {eyes.unexplained}), over {limits.improbable_share} %:"
            f" if they are gone, ebbtide stop --accept-listing {_stamp(eyes.listed_at)}"
        )
        found.append((Cause.IMPROBABLE_LOSS, told))
    return found


def _age_ms(at: int, eyes: Eyes) -> int:
    """How old a word of the provider's is once the listing is there: by our clock or by the latest time that the
    provider itself gave, whichever says more. The clocks may be apart, and a slow provider makes its words older.
    """
    return max(eyes.now + eyes.looked_ms, eyes.listed_at, eyes.told_at) - at


def _too_old(at: int, eyes: Eyes, limits: GuardLimits) -> bool:
    """Whether a word is older than is allowed, and be it by a millisecond."""
    return _age_ms(at, eyes) > limits.listing_age * 1000


def _age_s(at: int, eyes: Eyes) -> int:
    """The same age as people read it: a second that has begun counts."""
    return -(-_age_ms(at, eyes) // 1000)


def _stamp(at: int) -> str:
    """A time as people type it, to the next whole second."""
    return dt.datetime.fromtimestamp(-(-at // 1000), tz=dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _spool_full(eyes: Eyes, limits: GuardLimits) -> str:
    """Why no more events should be made than have to be; empty while the spool has room."""
    if eyes.pending is None:
        return "nobody can say how much the spool holds"
    if eyes.pending < limits.spool_limit:
        return ""
    return f"{eyes.pending:,} bytes of events wait in the spool, {limits.spool_limit:,} are allowed"


def _unverified(eyes: Eyes) -> str:
    return (
        f"the desired state is not verified now: {eyes.problem}"
        if eyes.problem
        else "the desired state is not verified now"
    )


def _refuse(
    step: Step, eyes: Eyes, fleet: Fleet, blind: tuple[Cause, str] | None, limits: GuardLimits
) -> Refusal | None:
    """Refusals that do not depend on how many steps went before."""
    refusal = _not_ours(step, eyes, fleet)
    if refusal is not None:
        return refusal
    if eyes.stopped:
        return Refusal(step, Cause.STOPPED, f"stopped: {eyes.stopped}")
    if step.kind is StepKind.QUARANTINE or _was_agreed(step, eyes, fleet):
        return None
    if finishes(step):
        return _too_early(step, eyes, fleet)
    if blind is not None:
        return Refusal(step, *blind)
    if step.project not in eyes.complete_projects:
        return Refusal(step, Cause.LISTING_INCOMPLETE, _incomplete(step.project, eyes))
    if step.workload in eyes.paused_workloads or step.pool in eyes.paused_pools:
        return Refusal(step, Cause.PAUSED, f"{step.workload} in {step.pool} is paused by review")
    refusal = _may_not_add(step, eyes, limits) if step.kind in ADDS else None
    if refusal is not None or step.kind is StepKind.REPLACE:
        return refusal
    return _may_not_change(step, eyes)


def _was_agreed(step: Step, eyes: Eyes, fleet: Fleet) -> bool:
    """Whether a release only carries out what was agreed while everything could be seen."""
    fallback = blast_radius.returns_fallback(step) and step.workload in eyes.returning
    return blast_radius.agreed(step, fleet) or fallback


def _too_early(step: Step, eyes: Eyes, fleet: Fleet) -> Refusal | None:
    """The deletion of what only a clock that nobody believes calls over; where its node saw the end, it goes."""
    if not eyes.clock or step.kind is not StepKind.DELETE:
        return None
    instance = fleet.instances.get(step.instance)
    if instance is None or instance.phase is not Phase.DRAINING or step.instance in eyes.drained:
        return None
    return Refusal(step, Cause.CLOCK_JUMPED, f"{step.instance} drains, and its end cannot be told: {eyes.clock}")


def _may_not_add(step: Step, eyes: Eyes, limits: GuardLimits) -> Refusal | None:
    """Nothing is added where a reclaim is open, or where one could be for all that was told lately; nothing grows and
    nobody's money is spent while the spool is full.
    """
    if step.pool in eyes.closed_pools:
        return Refusal(step, Cause.RECLAIM_OPEN, f"the domain of {step.pool} is under an open reclaim")
    if step.paid is Paid.RECLAIMABLE and _too_old(eyes.told_at, eyes, limits):
        told = f"no word of reclaims for {_age_s(eyes.told_at, eyes)} s: {step.pool} may be in one"
        return Refusal(step, Cause.SIGNALS_SILENT, told)
    if step.kind is not StepKind.REPLACE or step.paid is Paid.FALLBACK:
        full = _spool_full(eyes, limits)
        return Refusal(step, Cause.SPOOL_FULL, full) if full else None
    return None


def _may_not_change(step: Step, eyes: Eyes) -> Refusal | None:
    """What stops growth and release; lost capacity is replaced all the same."""
    if not eyes.verified:
        return Refusal(step, Cause.DESIRED_STATE_UNVERIFIED, _unverified(eyes))
    if step.workload in eyes.silent_workloads:
        return Refusal(step, Cause.SCHEDULER_SILENT, f"the scheduler of {step.workload} does not answer")
    return removals.refuse(step, eyes.removal, eyes.capped)


def _not_ours(step: Step, eyes: Eyes, fleet: Fleet) -> Refusal | None:
    """Why a step touches what is not ours to touch."""
    if step.project not in eyes.owned_projects:
        return Refusal(step, Cause.OUTSIDE_OWNED_PROJECT, f"project {step.project or '(none)'} is not owned")
    instance = fleet.instances.get(step.instance)
    who = step.instance or "(no name)"
    if step.kind in ENDING and (instance is None or instance.project != step.project):
        return Refusal(step, Cause.NOT_OURS, f"{who} is no instance of ours in {step.project}")
    if step.cause is Cause.TWIN:
        return _no_twin(step, instance)
    if step.kind in (StepKind.DELETE, StepKind.DISOWN) and (
        instance is None or not step.server or step.server != instance.server
    ):
        return Refusal(step, Cause.NOT_OURS, f"{who} is not known as server {step.server or '(no id)'}")
    if step.kind is StepKind.DELETE and instance is not None and instance.phase not in (Phase.FAILED, Phase.DRAINING):
        return Refusal(step, Cause.NOT_OURS, f"{who} is {instance.phase.value}: drained first, or not at all")
    stands = instance is not None and instance.phase is not Phase.GONE
    if step.kind is StepKind.ADOPT and (stands or not step.server or not step.instance):
        return Refusal(step, Cause.NOT_OURS, f"{who} cannot be adopted as server {step.server or '(no id)'}")
    return None


def _no_twin(step: Step, kept: Instance | None) -> Refusal | None:
    """A second server goes only while the first is known, shown and working: never both."""
    stays = kept is not None and bool(kept.server) and kept.supply and not kept.missing_since
    if step.kind is StepKind.DELETE and kept is not None and stays and step.server not in ("", kept.server):
        return None
    return Refusal(step, Cause.NOT_OURS, f"{step.server or '(no id)'} is no second server of {step.instance} to delete")


def _incomplete(project: str, eyes: Eyes) -> str:
    last = eyes.complete_at.get(project)
    since = f"the last complete one is {(eyes.now - last) // 1000} s old" if last else "there was no complete one yet"
    return f"the listing of project {project} is not complete; {since}"


def _quota_left(quota: Quota | None) -> dict[str, list[int]]:
    """Instances, vCPU and memory left by project; a project the provider says nothing of has no limit here."""
    return {p.project: [p.instances, p.vcpu, p.memory] for p in quota.projects} if quota else {}


def _over_quota(step: Step, ground: Ground, left: Mapping[str, list[int]]) -> Refusal | None:
    """Room for k gives k: what the quota cannot hold is not asked for."""
    room, shape = left.get(step.project), ground.shape.get(step.pool)
    if room is None or shape is None or step.kind is StepKind.ADOPT:
        return None
    if room[0] >= 1 and room[1] >= shape.vcpu and room[2] >= shape.memory:
        return None
    return Refusal(
        step,
        Cause.QUOTA_EXHAUSTED,
        f"{step.project} has {room[0]} instances, {room[1]} vCPU and {room[2] // GIB} GiB left; one takes "
        f"{shape.vcpu} vCPU and {shape.memory // GIB} GiB",
    )


def _take(
    step: Step,
    ground: Ground,
    spread: Spread | None,
    placed: dict[tuple[str, str], int],
    left: Mapping[str, list[int]],
) -> None:
    """Count a step that goes out against bounds and quota."""
    for name, _, _ in places(step, ground, spread):
        placed[step.workload, name] += step.units
    placed[step.workload, SUPPLY] += step.units
    room, shape = left.get(step.project), ground.shape.get(step.pool)
    if room is not None and shape is not None and step.kind is not StepKind.ADOPT:
        room[0] -= 1
        room[1] -= shape.vcpu
        room[2] -= shape.memory

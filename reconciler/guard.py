"""The gate that every action passes, and that can only take actions away.

Pure: `judge` gets the steps, the reconciler's own account of what it can see, and the rolling history of what it let
through; it answers with the steps that may go out and a refusal with numbers for each other one. It trusts only a
positive, fresh, complete answer. DELETE of what is already drained, in ERROR or at its agreed end, and DEREGISTER of
what is gone, finish something that was agreed before: blast radius never blocks them; ownership and `stop` always do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ledger.causes import Cause
from ledger.events import Paid
from pools.provider import Quota
from reconciler.fleet import Fleet, Phase
from reconciler.pacing import RAMP_CYCLES, ramp_share
from reconciler.second_look import SUPPLY, Ground, Spread, breaks_bound, breaks_pools, places
from reconciler.steps import ADDS, FINISHING, Refusal, Step, StepKind
from repo_layout.documents import GuardLimits

ENDING = frozenset({StepKind.RELEASE, StepKind.DELETE, StepKind.DISOWN, StepKind.DEREGISTER})
FEW = 3
"""Up to this many unexplained absences stop nothing, however small the fleet. The census has a number of its own."""

GIB = 2**30


@dataclass(frozen=True, slots=True)
class Eyes:
    """What the control plane can see now.

    `led` says that this replica holds the partition's lease. `complete_projects` were listed to their end at
    `listed_at`, and `complete_at` says when each project last was; `verified` says that the desired state is the
    last verified commit and Git answers; `silent_workloads` belong to schedulers that do not answer; `unexplained`
    instances are missing from a complete listing with nothing to explain it, and nobody has accepted that;
    `closed_pools` lie in domains under an open reclaim. `quota` is what the provider says is left in each project;
    None where it does not say. `told_at` is when it last told of notices and reclaims.
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


@dataclass(frozen=True, slots=True)
class GuardState:
    """What the guard let through in its window: (time, number) by kind, and complete cycles since it last was blind.

    A new memory has seen nothing yet: it begins as after an outage.
    """

    released: tuple[tuple[int, int], ...] = ()
    acquired: tuple[tuple[int, int], ...] = ()
    replaced: tuple[tuple[int, int], ...] = ()
    cycles_since_blind: int = 0


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
) -> Verdict:
    """Which of the steps may go out, and why each other one may not."""
    horizon = eyes.now - limits.window * 1000
    state = replace(
        state,
        released=tuple(e for e in state.released if e[0] > horizon),
        acquired=tuple(e for e in state.acquired if e[0] > horizon),
        replaced=tuple(e for e in state.replaced if e[0] > horizon),
    )
    blind = _blind(eyes, limits)
    room = _room(fleet, limits, state)
    left = _quota_left(eyes.quota)
    verdict = Verdict()
    counts: dict[StepKind, int] = defaultdict(int)
    placed: dict[tuple[str, str], int] = defaultdict(int)
    waiting: list[Refusal] = []

    def consider(step: Step) -> Refusal | None:
        spread = spreads.get(step.workload)
        refusal = _refuse(step, eyes, fleet, blind, limits)
        if refusal is None and not step.again:
            refusal = _over(step, room, counts)
        if refusal is None and step.kind in ADDS and not step.again:
            refusal = breaks_bound(step, ground, spread, placed) or _over_quota(step, ground, left)
            if refusal is None:
                refusal = breaks_pools(step, ground, spread, fleet, placed)
                if refusal is not None:
                    waiting.append(refusal)
                else:
                    _take(step, ground, spread, placed, left)
        if refusal is None:
            counts[step.kind] += not step.again
            verdict.allowed.append(step)
        return refusal

    refused = [refusal for refusal in map(consider, steps) if refusal is not None]
    # what only waited for other steps to reach new domains gets a second chance behind them
    helped = {refusal.step.instance for refusal in tuple(waiting) if consider(refusal.step) is None}
    verdict.refused += [refusal for refusal in refused if refusal.step.instance not in helped]
    seeing = not blind and eyes.verified and eyes.owned_projects <= eyes.complete_projects
    verdict.state = replace(
        state,
        released=_add(state.released, eyes.now, counts[StepKind.RELEASE]),
        acquired=_add(state.acquired, eyes.now, counts[StepKind.ACQUIRE]),
        replaced=_add(state.replaced, eyes.now, counts[StepKind.REPLACE]),
        cycles_since_blind=min(RAMP_CYCLES, state.cycles_since_blind + 1) if seeing else 0,
    )
    return verdict


def sees_nothing(eyes: Eyes, limits: GuardLimits) -> bool:
    """Whether nothing at all may be done now but what was agreed before."""
    return _blind(eyes, limits) is not None


def give_back(state: GuardState, at: int, steps: Iterable[Step]) -> GuardState:
    """The state without the steps of the cycle at `at` that were allowed and did not go out after all."""
    counts: dict[StepKind, int] = defaultdict(int)
    for step in steps:
        counts[step.kind] += not step.again
    return replace(
        state,
        released=_add(state.released, at, -counts[StepKind.RELEASE]),
        acquired=_add(state.acquired, at, -counts[StepKind.ACQUIRE]),
        replaced=_add(state.replaced, at, -counts[StepKind.REPLACE]),
    )


def _add(history: tuple[tuple[int, int], ...], now: int, count: int) -> tuple[tuple[int, int], ...]:
    return (*history, (now, count)) if count else history


def _blind(eyes: Eyes, limits: GuardLimits) -> tuple[Cause, str] | None:
    """Why nothing at all may be done now, if so."""
    if eyes.stopped:
        return Cause.STOPPED, f"stopped: {eyes.stopped}"
    if not eyes.led:
        return Cause.LEASE_LOST, "another replica leads this partition, or the lease store does not answer"
    age_s = (eyes.now - eyes.listed_at) // 1000
    if age_s > limits.listing_age:
        return Cause.LISTING_STALE, f"the last listing is {age_s} s old, {limits.listing_age} s are allowed"
    if eyes.unexplained * 100 > eyes.alive * limits.improbable_share and eyes.unexplained > FEW:
        return (
            Cause.IMPROBABLE_LOSS,
            f"{eyes.unexplained} of {eyes.alive} are missing, over {limits.improbable_share} %; gone? accept it",
        )
    return None


def _refuse(
    step: Step, eyes: Eyes, fleet: Fleet, blind: tuple[Cause, str] | None, limits: GuardLimits
) -> Refusal | None:
    """Refusals that do not depend on how many steps went before."""
    refusal = _not_ours(step, eyes, fleet)
    if refusal is not None:
        return refusal
    if eyes.stopped:
        return Refusal(step, Cause.STOPPED, f"stopped: {eyes.stopped}")
    if step.kind in FINISHING or step.kind is StepKind.QUARANTINE:
        return None
    if blind is not None:
        return Refusal(step, *blind)
    if step.project not in eyes.complete_projects:
        return Refusal(step, Cause.LISTING_INCOMPLETE, _incomplete(step.project, eyes))
    if step.workload in eyes.paused_workloads or step.pool in eyes.paused_pools:
        return Refusal(step, Cause.PAUSED, f"{step.workload} in {step.pool} is paused by review")
    refusal = _under_reclaim(step, eyes, limits) if step.kind in ADDS else None
    if refusal is not None or step.kind is StepKind.REPLACE:
        return refusal
    return _may_not_change(step, eyes)


def _under_reclaim(step: Step, eyes: Eyes, limits: GuardLimits) -> Refusal | None:
    """Nothing is added where a reclaim is open, or where one could be for all that was told lately."""
    if step.pool in eyes.closed_pools:
        return Refusal(step, Cause.RECLAIM_OPEN, f"the domain of {step.pool} is under an open reclaim")
    silence_s = (eyes.now - eyes.told_at) // 1000
    if step.paid is Paid.RECLAIMABLE and silence_s > limits.listing_age:
        return Refusal(step, Cause.SIGNALS_SILENT, f"no word of reclaims for {silence_s} s: {step.pool} may be in one")
    return None


def _may_not_change(step: Step, eyes: Eyes) -> Refusal | None:
    """What stops growth and release; lost capacity is replaced all the same."""
    if not eyes.verified:
        return Refusal(step, Cause.DESIRED_STATE_UNVERIFIED, "the desired state is not verified now")
    if step.workload in eyes.silent_workloads:
        return Refusal(step, Cause.SCHEDULER_SILENT, f"the scheduler of {step.workload} does not answer")
    return None


def _not_ours(step: Step, eyes: Eyes, fleet: Fleet) -> Refusal | None:
    """Why a step touches what is not ours to touch."""
    if step.project not in eyes.owned_projects:
        return Refusal(step, Cause.OUTSIDE_OWNED_PROJECT, f"project {step.project or '(none)'} is not owned")
    instance = fleet.instances.get(step.instance)
    who = step.instance or "(no name)"
    if step.kind in ENDING and (instance is None or instance.project != step.project):
        return Refusal(step, Cause.NOT_OURS, f"{who} is no instance of ours in {step.project}")
    if step.kind in (StepKind.DELETE, StepKind.DISOWN) and (
        instance is None or not step.server or step.server != instance.server
    ):
        return Refusal(step, Cause.NOT_OURS, f"{who} is not known as server {step.server or '(no id)'}")
    if step.kind is StepKind.DELETE and instance is not None and instance.phase not in (Phase.FAILED, Phase.DRAINING):
        return Refusal(step, Cause.NOT_OURS, f"{who} is {instance.phase.value}: drained first, or not at all")
    if step.kind is StepKind.ADOPT and (instance is not None or not step.server or not step.instance):
        return Refusal(step, Cause.NOT_OURS, f"{who} cannot be adopted as server {step.server or '(no id)'}")
    return None


def _incomplete(project: str, eyes: Eyes) -> str:
    last = eyes.complete_at.get(project)
    since = f"the last complete one is {(eyes.now - last) // 1000} s old" if last else "there was no complete one yet"
    return f"the listing of project {project} is not complete; {since}"


@dataclass(frozen=True, slots=True)
class Room:
    """What of one limit is left in this window: `full` without the ramp, and the numbers in words."""

    left: int
    full: int
    text: str


def _room(fleet: Fleet, limits: GuardLimits, state: GuardState) -> dict[StepKind, Room]:
    """Room by kind of step. Shares are of everything alive, and the text shows it class by class."""
    ramp = ramp_share(state.cycles_since_blind)
    minutes = limits.window // 60
    alive = fleet.alive()
    by_phase = Counter(instance.phase for instance in alive)
    classes = " + ".join(f"{by_phase[phase]} {phase.value}" for phase in Phase if by_phase[phase]) or "none"
    share = max(1, len(alive) * limits.release_share // 100)
    shown = f"at most {limits.release_share} % of {len(alive)} alive ({classes}) and at most {limits.release_count}"
    spent = (
        (StepKind.RELEASE, "released", state.released, min(limits.release_count, share), shown),
        (StepKind.ACQUIRE, "acquired", state.acquired, limits.acquire_count, ""),
        (StepKind.REPLACE, "replaced", state.replaced, limits.replace_count, ""),
    )
    rooms = {}
    for kind, done, history, whole, more in spent:
        used = sum(number for _, number in history)
        allowed = max(1, int(whole * ramp))
        text = f"{used} {done} in {minutes} min, {allowed} allowed"
        if more:
            text += f": {more}"
        if ramp < 1:
            text += f"; {ramp:g} of {whole} while limits grow back"
        rooms[kind] = Room(max(0, allowed - used), max(0, whole - used), text)
    return rooms


def _over(step: Step, rooms: Mapping[StepKind, Room], counts: Mapping[StepKind, int]) -> Refusal | None:
    room = rooms.get(step.kind)
    done = counts[step.kind]
    if room is None or done < room.left:
        return None
    cause = Cause.BLAST_RADIUS if step.kind is StepKind.RELEASE else Cause.ACQUIRE_LIMIT
    return Refusal(step, Cause.RAMP if done < room.full else cause, f"{room.text}; this cycle already {done}")


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

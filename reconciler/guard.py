"""The gate that every action passes, and that can only take actions away.

Pure: `judge` gets the steps, the reconciler's own account of what it can see, and the rolling history of what it let
through; it answers with the steps that may go out and a refusal with numbers for each other one. It trusts only a
positive, fresh, complete answer. DELETE of what is already drained, in ERROR or at its agreed end, and DEREGISTER of
what is gone, finish something that was agreed before: blast radius never blocks them; ownership and `stop` always do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from correlation_groups.spread import Shares, limit, lot
from ledger.causes import Cause
from ledger.events import Paid
from reconciler.fleet import Fleet, Phase
from reconciler.pacing import RAMP_CYCLES, ramp_share
from reconciler.steps import ADDS, Refusal, Step, StepKind
from repo_layout.documents import GuardLimits


@dataclass(frozen=True, slots=True)
class Eyes:
    """What the control plane can see now.

    `complete_projects` were listed to their end at `listed_at`; `verified` says that the desired state is the last
    verified commit and Git answers; `silent_workloads` belong to schedulers that do not answer; `unexplained` instances
    are missing from a complete listing with nothing to explain it; `closed_pools` lie in domains under an open reclaim.
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
    accepted_loss: bool
    closed_pools: frozenset[str]


@dataclass(frozen=True, slots=True)
class Spread:
    """What a second look at the bounds needs of one workload: D, the shares, and units already in each place."""

    desired: int
    gang: int
    shares: Shares
    domain_units: Mapping[str, int]
    group_units: Mapping[str, int]
    unknown_units: int


@dataclass(frozen=True, slots=True)
class Ground:
    """Pool -> domain and bounding groups."""

    domain: Mapping[str, str]
    groups: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class GuardState:
    """What the guard let through in its window: (time, number) by kind, and complete cycles since it last was blind."""

    released: tuple[tuple[int, int], ...] = ()
    acquired: tuple[tuple[int, int], ...] = ()
    replaced: tuple[tuple[int, int], ...] = ()
    cycles_since_blind: int = RAMP_CYCLES


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
    room = _room(eyes, limits, state)
    verdict = Verdict()
    counts: dict[StepKind, int] = defaultdict(int)
    placed: dict[tuple[str, str], int] = defaultdict(int)
    for step in steps:
        refusal = _refuse(step, eyes, fleet, blind) or _over(step, room, counts)
        if refusal is None and step.kind in ADDS:
            refusal = _breaks_bound(step, ground, spreads.get(step.workload), placed)
        if refusal is not None:
            verdict.refused.append(refusal)
            continue
        counts[step.kind] += 1
        verdict.allowed.append(step)
    seeing = not blind
    verdict.state = replace(
        state,
        released=_add(state.released, eyes.now, counts[StepKind.RELEASE]),
        acquired=_add(state.acquired, eyes.now, counts[StepKind.ACQUIRE]),
        replaced=_add(state.replaced, eyes.now, counts[StepKind.REPLACE]),
        cycles_since_blind=min(RAMP_CYCLES, state.cycles_since_blind + 1) if seeing else 0,
    )
    return verdict


def _add(history: tuple[tuple[int, int], ...], now: int, count: int) -> tuple[tuple[int, int], ...]:
    return (*history, (now, count)) if count else history


def _blind(eyes: Eyes, limits: GuardLimits) -> tuple[Cause, str] | None:
    """Why nothing at all may be done now, if so."""
    if eyes.stopped:
        return Cause.STOPPED, f"stopped: {eyes.stopped}"
    age_s = (eyes.now - eyes.listed_at) // 1000
    if age_s > limits.listing_age:
        return Cause.LISTING_STALE, f"the last listing is {age_s} s old, {limits.listing_age} s are allowed"
    improbable = eyes.unexplained * 100 > eyes.alive * limits.improbable_share and eyes.unexplained > 3
    if improbable and not eyes.accepted_loss:
        return (
            Cause.IMPROBABLE_LOSS,
            f"{eyes.unexplained} of {eyes.alive} missing unexplained, over {limits.improbable_share} %: accept it if true",
        )
    return None


FINISHING = frozenset({StepKind.DELETE, StepKind.DEREGISTER})


def _refuse(step: Step, eyes: Eyes, fleet: Fleet, blind: tuple[Cause, str] | None) -> Refusal | None:
    """Refusals that do not depend on how many steps went before."""
    if step.project not in eyes.owned_projects:
        return Refusal(step, Cause.OUTSIDE_OWNED_PROJECT, f"project {step.project or '(none)'} is not owned")
    instance = fleet.instances.get(step.instance)
    touches = step.kind in (StepKind.RELEASE, StepKind.DELETE)
    if touches and (instance is None or (step.kind is StepKind.DELETE and not step.server)):
        return Refusal(step, Cause.NOT_OURS, f"{step.instance or '(no name)'} is no instance of ours")
    if step.kind is StepKind.DELETE and instance is not None and instance.phase not in (Phase.FAILED, Phase.DRAINING):
        return Refusal(step, Cause.NOT_OURS, f"{step.instance} is {instance.phase.value}: drained first, or not at all")
    if eyes.stopped:
        return Refusal(step, Cause.STOPPED, f"stopped: {eyes.stopped}")
    if step.kind in FINISHING:
        return None
    if blind is not None:
        return Refusal(step, *blind)
    if step.project not in eyes.complete_projects:
        return Refusal(step, Cause.LISTING_INCOMPLETE, f"the listing of project {step.project} is not complete")
    if step.kind is StepKind.REPLACE:
        return _no_room_there(step, eyes)
    if not eyes.verified:
        return Refusal(step, Cause.DESIRED_STATE_UNVERIFIED, "the desired state is not verified now")
    if step.workload in eyes.silent_workloads:
        return Refusal(step, Cause.SCHEDULER_SILENT, f"the scheduler of {step.workload} does not answer")
    if step.workload in eyes.paused_workloads or step.pool in eyes.paused_pools:
        return Refusal(step, Cause.PAUSED, f"{step.workload} in {step.pool} is paused by review")
    return _no_room_there(step, eyes) if step.kind in ADDS else None


def _no_room_there(step: Step, eyes: Eyes) -> Refusal | None:
    if step.pool in eyes.closed_pools:
        return Refusal(step, Cause.RECLAIM_OPEN, f"the domain of {step.pool} is under an open reclaim")
    return None


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of each limit in this window, and of how much."""

    release: int
    acquire: int
    replace: int
    text: Mapping[StepKind, str]


def _room(eyes: Eyes, limits: GuardLimits, state: GuardState) -> Room:
    share = ramp_share(state.cycles_since_blind)
    spent = {
        StepKind.RELEASE: sum(n for _, n in state.released),
        StepKind.ACQUIRE: sum(n for _, n in state.acquired),
        StepKind.REPLACE: sum(n for _, n in state.replaced),
    }
    release = max(1, int(min(limits.release_count, max(1, eyes.alive * limits.release_share // 100)) * share))
    acquire = max(1, int(limits.acquire_count * share))
    minutes = limits.window // 60
    return Room(
        release=max(0, release - spent[StepKind.RELEASE]),
        acquire=max(0, acquire - spent[StepKind.ACQUIRE]),
        replace=max(0, limits.replace_count - spent[StepKind.REPLACE]),
        text={
            StepKind.RELEASE: f"{spent[StepKind.RELEASE]} released in {minutes} min, {release} allowed "
            f"({limits.release_share} % of {eyes.alive}, at most {limits.release_count}"
            + (f", ramp {share:g})" if share < 1 else ")"),
            StepKind.ACQUIRE: f"{spent[StepKind.ACQUIRE]} acquired in {minutes} min, {acquire} allowed"
            + (f" (ramp {share:g})" if share < 1 else ""),
            StepKind.REPLACE: f"{spent[StepKind.REPLACE]} replaced in {minutes} min, {limits.replace_count} allowed",
        },
    )


def _over(step: Step, room: Room, counts: Mapping[StepKind, int]) -> Refusal | None:
    left = {StepKind.RELEASE: room.release, StepKind.ACQUIRE: room.acquire, StepKind.REPLACE: room.replace}
    if step.kind not in left or counts[step.kind] < left[step.kind]:
        return None
    cause = Cause.BLAST_RADIUS if step.kind is StepKind.RELEASE else Cause.ACQUIRE_LIMIT
    return Refusal(step, cause, f"{room.text[step.kind]}; this cycle already {counts[step.kind]}")


def _breaks_bound(
    step: Step, ground: Ground, spread: Spread | None, placed: dict[tuple[str, str], int]
) -> Refusal | None:
    """A second look at the spread, written apart from the planner: what would stand after this step."""
    exempt = spread is None or step.paid is not Paid.RECLAIMABLE or spread.desired <= spread.gang > 1
    if spread is None or exempt:
        return None
    quantum = lot(step.units, spread.gang).units
    domain = ground.domain[step.pool]
    places = [("domain " + domain, spread.domain_units.get(domain, 0), spread.shares.pool_permille)]
    places += [
        ("group " + group, spread.group_units.get(group, 0), spread.shares.group_permille)
        for group in ground.groups[step.pool]
    ]
    for name, standing, share in places:
        allowed = limit(share, spread.desired, quantum)
        after = standing + spread.unknown_units + placed[step.workload, name] + step.units
        if after > allowed:
            return Refusal(
                step,
                Cause.BOUND,
                f"{step.workload} would have {after} units in {name}, {allowed} of {spread.desired} are allowed",
            )
    for name, _, _ in places:
        placed[step.workload, name] += step.units
    return None

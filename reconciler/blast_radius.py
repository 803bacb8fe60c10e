"""How much may go out in one rolling window: releases by share and number, growth and replacements by number.

Used by `guard` alone. Pure. What the window let through is a history of (time, number); after an outage of any length,
a restart, another leader's term or a long pause the limits grow back over some cycles, so that no burst reconciles what
drifted meanwhile. Each limit says its numbers in words that add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contracts.frozen import quick, replace
from ledger.causes import Cause
from ledger.events import Paid
from reconciler.fleet import Fleet, Phase
from reconciler.pacing import RAMP_CYCLES, ramp_share
from reconciler.steps import Refusal, Step, StepKind
from repo_layout.documents import GuardLimits

PAUSE_MS = 900_000
"""Three cycles of five minutes: whoever did not decide for so long was away, whatever the reason."""

RETURNS = frozenset({Cause.RECLAIMABLE_HELD, Cause.AUTHORITY_SPENT})
"""Why fallback goes back: it is needed no longer, or nobody's money is left for it."""

History = tuple[tuple[int, int], ...]

NO_FLEET = Fleet()


@quick
@dataclass(frozen=True, slots=True)
class GuardState:
    """What the guard let through in its window: (time, number) by kind, and complete cycles since it last was blind.

    `judged_at` and `epoch` are those of the last cycle, `silent` the workloads whose scheduler did not answer in it,
    and `doubted` says that its clock was not believed. `others` are instances that leaders of before released, and
    `grown` those that they asked for, with the time: in whose place, nobody remembers. A new memory has seen nothing
    yet: it begins as after an outage.
    """

    released: History = ()
    acquired: History = ()
    replaced: History = ()
    cycles_since_blind: int = 0
    judged_at: int = 0
    epoch: int = 0
    silent: frozenset[str] = frozenset()
    doubted: bool = False
    others: tuple[tuple[str, int], ...] = ()
    grown: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Room:
    """What of one limit is left in this window: `full` without the ramp, and the numbers in words."""

    left: int
    full: int
    text: str


def spends(step: Step, fleet: Fleet) -> StepKind | None:
    """Whose limit a step counts against, if any.

    A release is whatever ends or lets go of something that may still run: a release, a disownment, the deletion of a
    second server under one key, and of a server that had been a node and is broken only by the provider's word. What is
    asked again, and what was agreed before, counted the first time. Fallback that goes back counts nowhere, nor does a
    second server of it: it was bought under the limit of growth, and nobody's money stands behind a minute more of it.
    """
    if step.again or agreed(step, fleet) or returns_fallback(step):
        return None
    if step.kind in (StepKind.ACQUIRE, StepKind.REPLACE, StepKind.RELEASE):
        return step.kind
    if step.kind is StepKind.DISOWN:
        return StepKind.RELEASE
    if step.kind is StepKind.DELETE:
        instance = fleet.instances.get(step.instance)
        twin = instance is not None and bool(instance.server) and step.server != instance.server
        twin = twin and step.paid is not Paid.FALLBACK
        broken = instance is not None and instance.phase is Phase.FAILED and instance.joined_at > 0
        return StepKind.RELEASE if twin or broken else None
    return None


def returns_fallback(step: Step) -> bool:
    """Whether a release gives fallback back that the arbiter grants no longer."""
    return step.kind is StepKind.RELEASE and step.paid is Paid.FALLBACK and step.cause in RETURNS


def agreed(step: Step, fleet: Fleet) -> bool:
    """Whether a release was decided before, and only its word to the node goes out again. It stands in its event: what
    is on its way out for another reason, as a node that turned up after it was given up, was never judged here.
    """
    instance = fleet.instances.get(step.instance)
    return step.kind is StepKind.RELEASE and instance is not None and bool(instance.release_event)


def aged(
    state: GuardState, *, now: int, epoch: int, leap_ms: int, silent: frozenset[str], limits: GuardLimits
) -> GuardState:
    """The state as it stands at `now`, before this cycle: the window moved on, and the ramp begun again where a term, a
    process, a pause or a scheduler's silence ended since.

    Times move with a clock that was set, so that the window is as long as ever; none lies ahead.
    """
    horizon = now - limits.window * 1000

    def kept(history: History) -> History:
        moved = ((min(at + leap_ms, now), count) for at, count in history)
        return tuple(entry for entry in moved if entry[0] > horizon)

    def named(others: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        return tuple((name, min(at + leap_ms, now)) for name, at in others if at + leap_ms > horizon)

    another = bool(state.epoch) and state.epoch != epoch
    paused = bool(state.judged_at) and now - state.judged_at > PAUSE_MS
    heard_again = bool(state.silent - silent)
    return replace(
        state,
        released=kept(state.released),
        acquired=kept(state.acquired),
        replaced=kept(state.replaced),
        cycles_since_blind=0 if another or paused or heard_again else state.cycles_since_blind,
        judged_at=now,
        epoch=epoch,
        silent=silent,
        others=named(state.others),
        grown=named(state.grown),
    )


def witnessed(
    state: GuardState,
    let_go: Mapping[str, int],
    grown: Mapping[str, int],
    *,
    now: int,
    limits: GuardLimits,
    ahead_ms: int = 0,
) -> GuardState:
    """The state, `aged` to `now`, with what leaders of before released and asked for in this window, as far as it can
    be told: the windows outlast a takeover. What comes to light again is counted once.

    The times are the provider's, which no leap of our clock moves; `ahead_ms` is by how much ours may run ahead of it.
    """
    horizon = now - limits.window * 1000

    def more(known: tuple[tuple[str, int], ...], found: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        names = {name for name, _ in known}
        dated = ((name, min(at + ahead_ms, now)) for name, at in found.items() if name not in names)
        return (*known, *sorted((name, at) for name, at in dated if at > horizon))

    return replace(state, others=more(state.others, let_go), grown=more(state.grown, grown))


def carried(state: GuardState, before: int, after: int) -> GuardState:
    """The state of the cycle of `before`, whose steps went out by `after`: a window is as long for the last of them."""

    def moved(history: History) -> History:
        return tuple((max(at, after) if at == before else at, count) for at, count in history)

    return replace(
        state, released=moved(state.released), acquired=moved(state.acquired), replaced=moved(state.replaced)
    )


def spent(state: GuardState, at: int, counts: Mapping[StepKind, int]) -> GuardState:
    """The state with so many more steps by kind, or fewer."""
    return replace(
        state,
        released=_add(state.released, at, counts.get(StepKind.RELEASE, 0)),
        acquired=_add(state.acquired, at, counts.get(StepKind.ACQUIRE, 0)),
        replaced=_add(state.replaced, at, counts.get(StepKind.REPLACE, 0)),
    )


def after(state: GuardState, *, sees: bool, doubted: bool) -> GuardState:
    """The state after one cycle: one more with open eyes, or none; and whether its clock was in doubt."""
    cycles = min(RAMP_CYCLES, state.cycles_since_blind + 1) if sees else 0
    return replace(state, cycles_since_blind=cycles, doubted=doubted)


def give_back(
    state: GuardState, at: int, steps: Iterable[Step], fleet: Fleet = NO_FLEET, after: Fleet = NO_FLEET
) -> GuardState:
    """The state without the steps of the cycle at `at` that were allowed and did not go out after all; `fleet` is the
    one that they were judged by, `after` what became of it: a release that stands there as agreed is asked again
    without counting, and so counts now.
    """
    counts: dict[StepKind, int] = Counter()
    for step in steps:
        kind = spends(step, fleet)
        if kind is not None and not agreed(step, after):
            counts[kind] -= 1
    return spent(state, at, counts)


def rooms(fleet: Fleet, limits: GuardLimits, state: GuardState) -> dict[StepKind, Room]:
    """Room by kind of step. Shares are of everything alive that stands, and the text shows it class by class."""
    ramp = ramp_share(state.cycles_since_blind)
    minutes = limits.window // 60
    alive = [instance for instance in fleet.instances.values() if instance.stands]
    by_phase = Counter(instance.phase for instance in alive)
    classes = " + ".join(f"{by_phase[phase]} {phase.value}" for phase in Phase if by_phase[phase]) or "none"
    share = max(1, len(alive) * limits.release_share // 100)
    shown = f"at most {limits.release_share} % of {len(alive)} alive ({classes}) and at most {limits.release_count}"
    released = (*state.released, (0, len(state.others)))
    grown = (0, len(state.grown))  # replacements or not: they are held against both limits
    limited = (
        (StepKind.RELEASE, "released", released, min(limits.release_count, share), shown),
        (StepKind.ACQUIRE, "acquired", (*state.acquired, grown), limits.acquire_count, ""),
        (StepKind.REPLACE, "replaced", (*state.replaced, grown), limits.replace_count, ""),
    )
    left = {}
    for kind, done, history, whole, more in limited:
        used = sum(number for _, number in history)
        allowed = max(1, int(whole * ramp))
        text = f"{used} {done} in {minutes} min, {allowed} allowed"
        if more:
            text += f": {more}"
        if ramp < 1:
            text += f"; {ramp:g} of {whole} while limits grow back"
        left[kind] = Room(max(0, allowed - used), max(0, whole - used), text)
    return left


def over(step: Step, kind: StepKind, left: Mapping[StepKind, Room], counts: Mapping[StepKind, int]) -> Refusal | None:
    """The refusal of a step for whose kind nothing is left."""
    room, done = left[kind], counts.get(kind, 0)
    if done < room.left:
        return None
    cause = Cause.BLAST_RADIUS if kind is StepKind.RELEASE else Cause.ACQUIRE_LIMIT
    return Refusal(step, Cause.RAMP if done < room.full else cause, f"{room.text}; this cycle already {done}")


def _add(history: History, at: int, count: int) -> History:
    """So many more at `at`: one entry for each time, and none for what came to nothing."""
    if not count:
        return history
    if history and history[-1][0] == at:
        *earlier, (_, already) = history
        return (*earlier, (at, already + count)) if already + count else tuple(earlier)
    return (*history, (at, count))

"""What it means that a whole listing lacks a server of ours: explained, contradicted, too young, or unexplained.

Pure; called by `absence` and `census`. A listing alone is one witness, and one that is known to lie: rows left out of
an answer that calls itself whole, or an old answer that calls itself new. What a second source bears out is believed
at once. What a second source contradicts (its scheduler shows the node now), or the listing itself (a row without an id
has its mark), is never believed from listings, however many, and waits for the provider's own word of its end or for a
person. Where nobody else can speak for it, several whole listings over some minutes are believed, unless too many are
missing at once.
"""

from __future__ import annotations

import enum
from collections.abc import Container, Iterable

from contracts.frozen import replace
from reconciler.fleet import Instance, Phase
from reconciler.ports import NodeView
from reconciler.sight import Sight

FEW = 3
"""Up to this many unexplained absences are never called improbable: a small fleet loses one now and then."""

BELIEVED_AFTER_MS = 300_000
"""An unexplained absence is believed no sooner than one round of ranking after it was first seen."""

BELIEVED_LISTINGS = 3
"""And only when so many whole listings, each of another time, lacked it: one bad answer is never enough."""

UNSEEN_MS = 60_000
"""How long after it was asked for a server may be absent from a listing without meaning anything."""


class Absence(enum.Enum):
    """What to make of it: GONE for a stated reason, UNANSWERED when nobody ever spoke of a server with its key, YOUNG
    while a listing may not have it yet, MISSING while nobody can say.
    """

    GONE = "gone"
    UNANSWERED = "unanswered"
    YOUNG = "young"
    MISSING = "missing"


def judge(instance: Instance, ended_at: int, view: NodeView | None, sight: Sight, *, believable: bool) -> Absence:
    """What the absence of an instance from a whole listing means. `ended_at` is when the provider said that it ended
    (0: it did not), `view` what its scheduler shows, and `believable` says that not too many are missing.
    """
    abandoned = instance.released or instance.phase is Phase.FAILED
    unmade = not instance.server and not ended_at
    if abandoned and unmade and _age_ms(instance, sight) < UNSEEN_MS:
        return Absence.YOUNG
    if ended_at or instance.end_told or accepted(instance, sight):
        return Absence.GONE
    if instance.name in sight.unidentified or contradicted(instance, view, sight):
        return Absence.MISSING
    if abandoned or _expired(instance, sight) or borne_out(instance, sight):
        return Absence.GONE
    if too_young(instance, sight):
        return Absence.YOUNG
    if instance.starting and not (instance.server or instance.started_at):
        return Absence.UNANSWERED
    if instance.noticed:
        # that says until when it stands, and its replacement is owed already: nothing is won by believing it sooner
        return Absence.MISSING
    return Absence.GONE if believable and _outlasted(instance, sight) else Absence.MISSING


def missed(instance: Instance, sight: Sight) -> Instance:
    """The instance with one more listing that lacks it; the same listing again counts once, and one in which a row
    without an id has its mark is no witness that it is gone.
    """
    if instance.missing_at == sight.listed_at:
        return instance
    since = instance.missing_since or sight.listed_at
    return replace(
        instance,
        missing_since=since,
        missing_at=sight.listed_at,
        missing_listings=0 if instance.name in sight.unidentified else instance.missing_listings + 1,
    )


def shown(instance: Instance) -> Instance:
    """The instance that a listing shows: nothing is missing any more."""
    return replace(instance, missing_since=0, missing_at=0, missing_listings=0)


def improbable(
    changed: Iterable[Instance], rows: Container[str], told: Container[str], sight: Sight, *, beside: int, shown: int
) -> bool:
    """Whether more is missing at once than is believable, with nothing to explain it: of the fleet, and `beside` it.
    Beyond those that `changed`, so many of the fleet are `shown` as ever. `told` are those whose end the provider says
    now. It is a share of what stands for all that anybody can tell: whose absence is explained is not counted there.
    """
    alive, missing = beside + shown, beside
    for instance in changed:
        if instance.phase is Phase.GONE or instance.end_told:
            continue  # whatever an old or untrue listing shows
        if instance.name in rows:
            alive += 1
        elif instance.project not in sight.complete:
            alive += bool(instance.server) or instance.name in sight.nodes
        elif _unexplained(instance, told, sight):
            alive += 1
            missing += 1
    return missing > FEW and missing * 100 > alive * sight.improbable_percent


def may_stand(instance: Instance, ended_at: int, view: NodeView | None, sight: Sight) -> bool:
    """Whether the own server of one that drains may be there still, though a listing shows another one under its key
    instead: its end has not come, nobody said that it did, and its node is there, or a row without an id has its mark.
    """
    if instance.phase is not Phase.DRAINING or sight.now >= instance.ends_at:
        return False
    if ended_at or instance.end_told or accepted(instance, sight):
        return False
    # the other one's node joined at another time
    same = view is not None and view.joined_at == instance.joined_at
    return same or instance.name in sight.unidentified


def let_go(instance: Instance) -> bool:
    """Whether its absence is no riddle: it was asked back, noticed, or failed."""
    return instance.released or instance.noticed or instance.phase is Phase.FAILED


def _unexplained(instance: Instance, told: Container[str], sight: Sight) -> bool:
    """Whether nothing explains that a whole listing lacks it."""
    ended = instance.end_told or instance.ended_at or instance.name in told
    if let_go(instance) or ended or accepted(instance, sight):
        return False
    return instance.name in sight.unidentified or not (borne_out(instance, sight) or too_young(instance, sight))


def contradicted(instance: Instance, view: NodeView | None, sight: Sight) -> bool:
    """Whether its scheduler, which answers, shows the node and its end is not due: then the listing is wrong about it,
    or nobody knows. One whose drain is over, or whose agreed end has passed, may well be gone.
    """
    if view is None or instance.workload in sight.silent_workloads or instance.phase is Phase.FAILED:
        return False
    return not view.drained and not (instance.released and sight.now >= instance.ends_at)


def too_young(instance: Instance, sight: Sight) -> bool:
    """Whether the listing may simply not show it yet: providers list a new server seconds after they made it."""
    return instance.starting and _age_ms(instance, sight) < UNSEEN_MS


def _age_ms(instance: Instance, sight: Sight) -> int:
    """How long before the listing it was asked for, by whichever clock says less: ours wrote down when it was, and may
    differ from the provider's as far as the guard allows.
    """
    return min(sight.now, sight.listed_at) - instance.requested_at


def borne_out(instance: Instance, sight: Sight) -> bool:
    """Whether a second source says the same as the listing, and none the opposite: its scheduler, which answers and no
    longer shows a node that was there, or an advisory for its pool.
    """
    view = sight.nodes.get(instance.name)
    answers = instance.workload not in sight.silent_workloads
    node_left = instance.joined_at > 0 and answers and view is None
    return node_left or (instance.pool in sight.advised and not contradicted(instance, view, sight))


def accepted(instance: Instance, sight: Sight) -> bool:
    """Whether a person accepted a listing that already lacked it."""
    return 0 < instance.missing_since <= sight.accepted_at


def _expired(instance: Instance, sight: Sight) -> bool:
    """Whether its notice explains that it is gone: that says when."""
    return instance.noticed and sight.now >= instance.ends_at


def _outlasted(instance: Instance, sight: Sight) -> bool:
    """Whether enough whole listings lacked it for long enough, this one included."""
    counted = missed(instance, sight)
    return (
        counted.missing_listings >= BELIEVED_LISTINGS and sight.listed_at - counted.missing_since >= BELIEVED_AFTER_MS
    )

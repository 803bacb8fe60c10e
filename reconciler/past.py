"""What happened to servers of ours that came and went while this leader did not look, told from the provider's stream.

Called by `census` once a cycle, pure. A leader with an empty or an old memory hears the stream from the beginning of
what the provider keeps. Of what is in no listing any more, and that it does not know, it tells start, notices, end and
loss, with the provider's own times: whoever led before told the same events or never came to it. What vanished without
a word has no end and no loss; its start and its notices were said like any other's. Nothing follows from them: they
teach no estimate, leave no debt, and touch no server.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from contracts.frozen import replace
from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Lifecycle, LifecycleKind, Notice
from reconciler import billing
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance, Phase
from reconciler.hearing import hear
from reconciler.sight import Sight
from reconciler.sighting import from_mark

_BILL = frozenset({EventType.INSTANCE_STARTED, EventType.INSTANCE_MOVED, EventType.INSTANCE_ENDED})


@dataclass
class Past:
    """What is told of it, and as gone who ended and is still shown by a scheduler, where no other server of its key may
    stand. `partly` says that the stream was heard from the middle of somebody's life on, of whom nothing is told: what
    came before may say more of it, under the same ids.
    """

    events: list[Event] = field(default_factory=list)
    left: list[Instance] = field(default_factory=list)
    partly: bool = False


def past(sight: Sight, known: Container[str], scribe: Scribe) -> Past:
    """The lives of servers whose names are not `known` (remembered or listed), as far as the stream says them."""
    lives = _lives(sight, known)
    notices: dict[str, list[Notice]] = defaultdict(list)
    for notice in sight.signals.notices:
        if notice.name in lives:
            notices[notice.name].append(notice)
    found = Past()
    for name, life in lives.items():
        if not sight.from_beginning and _began(life) < {one.server for one in life}:
            found.partly = True
            continue
        gone = _relive(life, notices[name], found.events, scribe)
        view = sight.nodes.get(name)
        # the node may be another's that had the same key: a row without an id shows one, or its end was never said
        stands = name in sight.unidentified or not {one.server for one in life} <= _ended(life)
        if view is not None and gone is not None and not stands:
            found.left.append(replace(gone, joined_at=view.joined_at))
    return found


def _lives(sight: Sight, known: Container[str]) -> dict[str, list[Lifecycle]]:
    """What is said of servers of ours that are not `known`, by name. An adopted one began without a word: it is told by
    whoever marked it, or once its end is said.
    """
    said = [
        (one, one.mark.since)
        for one in sight.signals.lifecycle
        if one.name not in known
        and one.project in sight.projects
        and one.mark is not None
        and (one.mark.owner, one.mark.name) == (sight.owner, one.name)
    ]
    ended = _ended(one for one, _ in said)
    lives: dict[str, list[Lifecycle]] = defaultdict(list)
    for one, since in said:
        if one.server in ended or not since:
            lives[one.name].append(one)
    return lives


def _ended(life: Iterable[Lifecycle]) -> set[str]:
    """The servers of which it is said that they ended."""
    return {one.server for one in life if one.kind in billing.ENDS}


def _began(life: Iterable[Lifecycle]) -> set[str]:
    """The servers of which it is said that they were made."""
    return {one.server for one in life if one.kind is LifecycleKind.CREATED}


def lost(instance: Instance, at: int, scribe: Scribe, *, believed: bool = False) -> tuple[Cause, Event]:
    """The loss of an instance that ended at `at` and that nobody let go: its kind, and the event of it. What is only
    `believed`, for want of the provider's word, is an event beside the one that its word makes; so is that of a server
    whose notices nobody kept, since who heard them all tells more.
    """
    believed = believed or instance.stepped_in
    ends_at, notice = instance.first_notice if not instance.stepped_in else (0, "")
    if notice:
        cause = Cause.LOST_AFTER_NOTICE if at >= ends_at - 1000 else Cause.ENDED_BEFORE_ITS_TIME
    else:
        cause = Cause.LOST_WITHOUT_NOTICE
    event = scribe.event(
        EventType.INSTANCE_LOST,
        f"{instance.name}/{at}" if believed else billing.life_of(instance),
        cause,
        at=at,
        caused_by=notice or event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
        workload=instance.workload,
        pool=instance.pool,
        instance=instance.name,
        data={"noticed": int(bool(notice)), **({"drill": 1} if notice and instance.drill else {})},
    )
    return cause, event


def twin_lost(said: Lifecycle, instance: Instance, scribe: Scribe) -> list[Event]:
    """The loss of a second server that had the instance's key, when the provider took it; none otherwise. Its notices
    nobody keeps: who hears the stream from the beginning tells more of it, under the id that its own server gives.
    """
    if said.kind not in billing.ENDS or not said.taken:
        return []
    twin = replace(instance, server=said.server, pool=said.pool, twinned=True, stepped_in=True)
    return [lost(twin, said.at, scribe)[1]]


def step_in(instance: Instance, server: str, scribe: Scribe) -> tuple[Instance, list[Event]]:
    """The instance as another server that has its key, once its own is shown no more: what the provider said of the end
    of its own is not said of this one. The loss of its own, where the provider took it, is told. A notice, a release or
    a failure of its own went with it, and so did the deletion that was asked for.
    """
    gone = replace(instance, twinned=True)
    events = [lost(gone, gone.ended_at, scribe)[1]] if gone.taken and gone.ended_at else []
    if gone.phase in (Phase.DRAINING, Phase.FAILED):
        gone = anew(gone, scribe)
    return replace(gone, server=server, ended_at=0, end_told=False, taken=False, stepped_in=True), events


def anew(instance: Instance, scribe: Scribe) -> Instance:
    """The instance as a server under its key of which nothing was decided yet: nobody agreed on its end, nor asked its
    node to drain, and it may be one that works.
    """
    return replace(
        instance,
        phase=Phase.BOOTING,
        unsure_since=scribe.now,
        busy_units=0,
        covered=False,
        ends_at=0,
        gone_at=0,
        reclaim="",
        notices=(),
        noticed=False,
        released=False,
        release_event="",
        drain_asked=False,
        asked=0,
        cause=billing.purpose(instance, scribe.seat),
        cause_event=event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
    )


def taken_away(instance: Instance) -> bool:
    """Whether the provider took what ran and no release was agreed for: lost, though we may have asked for its end."""
    agreed = instance.release_event.startswith(f"{EventType.RELEASE_ASKED.value}/")
    return instance.taken and instance.started_at > 0 and not agreed


def word_owed(instance: Instance, region: str) -> bool:
    """Whether it is gone and lost, and its loss was not told by the provider's word on its end: believed without that,
    or held to be our own doing until the provider said that it was not.
    """
    told = event_id(EventType.INSTANCE_LOST, region, billing.life_of(instance))
    lost_at = instance.cause_event.startswith(event_id(EventType.INSTANCE_LOST, region, instance.name))
    ours = instance.phase is Phase.GONE and instance.released and taken_away(instance)
    # of one whose notices nobody kept, every word of ours is a belief, and one is enough
    owed = ours and not lost_at if instance.stepped_in else lost_at or ours
    return instance.phase in (Phase.GONE, Phase.FAILED) and owed and instance.cause_event != told


def _relive(life: list[Lifecycle], notices: Iterable[Notice], events: list[Event], scribe: Scribe) -> Instance | None:
    """The lives of the servers under one name, each from its first word to its last; as gone, the one that went last,
    or None where nothing can be told. Of two servers under one key a twin goes first: it is lost like any other, and
    the bill is the other one's. Whose end nobody said comes before them all: of it the start alone can be billed.
    """
    words: dict[str, list[Lifecycle]] = defaultdict(list)
    ends: dict[str, Lifecycle] = {}
    # a stream that tells things in another order tells the same things
    for one in sorted(life, key=lambda one: one.at):
        words[one.server].append(one)
        if one.kind in billing.ENDS:
            ends.setdefault(one.server, one)
    ran = {one.server for one in life if one.kind is LifecycleKind.ACTIVE}
    order = [*(server for server in words if server not in ends), *ends]
    billed = next((server for server in reversed(order) if server in ran), order[-1])
    left = None
    for server in order:
        about = [notice for notice in notices if notice.server in ("", server)]
        gone, told = _one_life(words[server], ends.get(server), about, scribe, twinned=len(words) > 1)
        events += [event for event in told if server == billed or event.type not in _BILL]
        left = gone if server == billed else left
    return left


def _one_life(
    life: list[Lifecycle], end: Lifecycle | None, notices: Iterable[Notice], scribe: Scribe, *, twinned: bool
) -> tuple[Instance | None, list[Event]]:
    first, last = life[0], end or life[-1]
    back = last.mark and from_mark(last.mark, server=last.server, project=last.project, pool=first.pool, at=first.at)
    if not back:
        return None, []
    instance, told = billing.found_again(replace(back, twinned=twinned), last.mark, scribe)
    events = [*told]
    for one in life:
        instance, told = billing.heard(one, instance, scribe)
        events += told
    for notice in sorted(notices, key=lambda said: (said.withdrawn_at or said.issued_at, said.withdrawn, said.id)):
        instance, told, _ = hear(notice, instance, {}, scribe)
        events += told
    if end is None:
        return None, events
    if end.taken or (instance.started_at and end.kind is LifecycleKind.FAILED):
        events.append(lost(instance, end.at, scribe)[1])
    return replace(instance, phase=Phase.GONE, end_told=True), events

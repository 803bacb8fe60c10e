"""What happened to servers of ours that came and went while this leader did not look, told from the provider's stream.

Called by `census` once a cycle, pure. A leader with an empty or an old memory hears the stream from the beginning of
what the provider keeps. Of what is in no listing any more, and that it does not know, it tells start, notices, end and
loss, with the provider's own times: whoever led before told the same events or never came to it. Nothing follows from
them: they teach no estimate, leave no debt, and touch no server.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping

from contracts.frozen import replace
from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Lifecycle, LifecycleKind, Mark, Notice, Signals
from reconciler import billing
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance, Phase
from reconciler.hearing import hear
from reconciler.ports import NodeView
from reconciler.sighting import from_mark

_BILL = frozenset({EventType.INSTANCE_STARTED, EventType.INSTANCE_MOVED, EventType.INSTANCE_ENDED})


def past(
    said: Signals,
    known: Container[str],
    *,
    estate: str,
    projects: frozenset[str],
    nodes: Mapping[str, NodeView],
    scribe: Scribe,
) -> tuple[list[Event], list[Instance]]:
    """The events of servers whose names are not `known` (remembered or listed) and whose end was said; and, as gone,
    those that a scheduler still shows.
    """
    ended = {one.name for one in said.lifecycle if one.kind in billing.ENDS and one.name not in known}
    lives: dict[str, list[Lifecycle]] = defaultdict(list)
    for one in said.lifecycle:
        if (
            one.name in ended
            and one.project in projects
            and _ours(one.mark, (estate, scribe.region, scribe.partition), one.name)
        ):
            lives[one.name].append(one)
    notices: dict[str, list[Notice]] = defaultdict(list)
    for notice in said.notices:
        if notice.name in lives:
            notices[notice.name].append(notice)
    events: list[Event] = []
    left: list[Instance] = []
    for name, life in lives.items():
        gone = _relive(life, notices[name], events, scribe)
        view = nodes.get(name)
        if view is not None and gone is not None:
            left.append(replace(gone, joined_at=view.joined_at))
    return events, left


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
    of its own is not said of this one. The loss of its own, where the provider took it, is told. A notice or a release
    of a server that has ended went with it: nobody agreed on the end of this one, nor asked its node to drain.
    """
    gone = replace(instance, twinned=True)
    events = [lost(gone, gone.ended_at, scribe)[1]] if gone.taken and gone.ended_at else []
    if gone.end_told and gone.phase is Phase.DRAINING:
        gone = replace(
            gone,
            phase=Phase.BOOTING,
            unsure_since=scribe.now,
            busy_units=0,
            covered=False,
            ends_at=0,
            reclaim="",
            notices=(),
            noticed=False,
            released=False,
            release_event="",
            drain_asked=False,
            asked=0,
            cause=billing.purpose(gone, scribe.seat),
            cause_event=event_id(EventType.INSTANCE_REQUESTED, scribe.region, gone.name),
        )
    return replace(gone, server=server, ended_at=0, end_told=False, taken=False, stepped_in=True), events


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


def _ours(mark: Mark | None, owner: tuple[str, str, str], name: str) -> bool:
    return mark is not None and (mark.owner, mark.name) == (owner, name)


def _relive(life: list[Lifecycle], notices: Iterable[Notice], events: list[Event], scribe: Scribe) -> Instance | None:
    """The lives of the servers under one name, each from its first word to its last; as gone, the one that went last,
    or None where nothing can be told. Of two servers under one key a twin goes first: it is lost like any other, and
    the bill is the other one's.
    """
    ends: dict[str, Lifecycle] = {}
    for one in sorted(life, key=lambda one: one.at):
        if one.kind in billing.ENDS:
            ends.setdefault(one.server, one)
    ran = {one.server for one in life if one.kind is LifecycleKind.ACTIVE}
    twinned = len({one.server for one in life}) > 1
    billed = next((server for server in reversed(ends) if server in ran), next(reversed(ends), ""))
    left = None
    for server, end in ends.items():
        own = [one for one in life if one.server == server]
        about = [notice for notice in notices if notice.server in ("", server)]
        gone, told = _one_life(own, end, about, scribe, twinned=twinned)
        events += [event for event in told if server == billed or event.type not in _BILL]
        left = gone if server == billed else left
    return left


def _one_life(
    life: list[Lifecycle], end: Lifecycle, notices: Iterable[Notice], scribe: Scribe, *, twinned: bool
) -> tuple[Instance | None, list[Event]]:
    back = end.mark and from_mark(end.mark, server=end.server, project=end.project, pool=life[0].pool, at=life[0].at)
    if not back:
        return None, []
    instance, told = billing.found_again(replace(back, twinned=twinned), end.mark, scribe)
    events = [*told]
    # a stream that tells things in another order tells the same things
    for one in sorted(life, key=lambda one: one.at):
        instance, told = billing.heard(one, instance, scribe)
        events += told
    for notice in sorted(notices, key=lambda said: (said.withdrawn_at or said.issued_at, said.withdrawn, said.id)):
        instance, told, _ = hear(notice, instance, {}, scribe)
        events += told
    if end.taken or (instance.started_at and end.kind is LifecycleKind.FAILED):
        events.append(lost(instance, end.at, scribe)[1])
    return replace(instance, phase=Phase.GONE, end_told=True), events
